"""Writing files: whole or not at all, and never in place of what is no file (item 3)."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from card_envs.engine import files
from card_envs.engine.files import check_writable, write_file

CLI = "from card_envs.cli import main; main()"


def test_a_file_is_replaced_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.json"
    write_file(file, b"old")
    assert stat.S_IMODE(file.stat().st_mode) == files.MODE
    file.chmod(0o600)

    def fail(source: str, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="No space left"):
        write_file(file, b"new")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"], "and no temporary file is left"
    monkeypatch.undo()
    write_file(file, b"new")
    assert file.read_bytes() == b"new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600, "a private file stays private"


def test_a_device_stays_one(tmp_path: Path) -> None:
    """`--json /dev/null` as root removed the device."""
    null = tmp_path / "null"
    try:
        os.mknod(null, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        null.read_bytes()
    except PermissionError:  # not root, or nothing is a device here
        null.unlink(missing_ok=True)
        null.symlink_to("/dev/null")
    check_writable(null)
    write_file(null, b"gone")
    assert stat.S_ISCHR(null.stat().st_mode)
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert list(tmp_path.iterdir()) == [null]


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_file(pipe, b"through")
    reader.join(10)
    assert read == [b"through"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="no /dev/stdout here")
@pytest.mark.parametrize("redirected", [True, False])
def test_standard_output_keeps_what_is_printed(redirected: bool, tmp_path: Path) -> None:
    """Redirected to a file, it is one that may not be replaced: the process goes on writing to it."""
    script = (
        "from pathlib import Path; from card_envs.engine.files import write_file\n"
        "print('before'); write_file(Path('/dev/stdout'), b'data\\n'); print('after')"
    )
    with open(tmp_path / "out", "wb") as out:
        target = out if redirected else subprocess.PIPE
        done = subprocess.run([sys.executable, "-c", script], stdout=target, check=True)
    assert ((tmp_path / "out").read_bytes() if redirected else done.stdout) == b"before\ndata\nafter\n"


@pytest.mark.parametrize("name", [".", "missing/a.json"])
def test_what_cannot_be_written_is_told_before(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"cannot be written: .* folder"):
        check_writable(tmp_path / name)


def test_the_benchmark_writes_to_a_device(tmp_path: Path) -> None:
    (tmp_path / "null").symlink_to("/dev/null")
    command = [sys.executable, "-c", CLI, "bench", "flip7", "random", "count3", "--matches", "8", "--json"]
    done = subprocess.run([*command, str(tmp_path / "null")], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    with open(tmp_path / "out", "wb") as out:
        assert subprocess.run([*command, "/dev/stdout"], stdout=out, check=False).returncode == 0
    printed = (tmp_path / "out").read_text()
    assert json.loads(next(line for line in printed.splitlines() if line.startswith("{")))["schema"]
    assert "League of 4 players" in printed
