"""Compiled code on disk that is damaged, or cannot be kept: the answers stay right, and one line tells (item 13)."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

import card_envs
from card_envs.engine import code_cache
from card_envs.engine.compiled import COUNTED


def double(x: int) -> int:
    return 2 * x


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of numba's cache."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(code_cache, "told", set())
    return tmp_path


def compile_anew() -> tuple[Any, int]:
    """As another process would: return the answer, and how often it came from the cache."""
    dispatcher, cached = code_cache.compile_cached(double, COUNTED)
    assert cached
    return dispatcher(21), sum(dispatcher.stats.cache_hits.values())


def list_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix in (".nbi", ".nbc"))


def test_what_is_whole_is_used(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert code_cache.is_supported(), "otherwise a damaged cache is not noticed"
    assert compile_anew() == (42, 0)
    assert len(list_files(folder)) == 2, "an index and the machine code"
    assert compile_anew() == (42, 1)
    assert capfd.readouterr().err == ""


def flip(data: bytes, rng: np.random.Generator) -> bytes:
    changed = bytearray(data)
    changed[rng.integers(len(data))] ^= 1 << int(rng.integers(8))
    return bytes(changed)


DAMAGES: dict[str, Callable[[bytes, np.random.Generator], bytes]] = {
    "empty": lambda data, rng: b"",
    "cut": lambda data, rng: data[: rng.integers(len(data))],
    "garbage": lambda data, rng: rng.bytes(rng.integers(1, 2 * len(data))),
    "flipped": flip,
    "longer": lambda data, rng: data + rng.bytes(3),
}


@pytest.mark.parametrize("which", [".nbi", ".nbc"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_noticed_and_compiled_anew(
    which: str, damage: str, folder: Path, seed: int, capfd: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    rng = np.random.default_rng(seed)
    compile_anew()
    for _ in range(60 if request.config.getoption("--long") else 2):
        code_cache.told.clear()
        [file] = [path for path in list_files(folder) if path.suffix == which]
        file.write_bytes(DAMAGES[damage](file.read_bytes(), rng))
        capfd.readouterr()
        assert compile_anew() == (42, 0)
        assert capfd.readouterr().err == f"card_envs: compiled code in {file} is damaged, so it is compiled anew\n"
        assert compile_anew() == (42, 1), "and it is whole again"


def test_a_missing_half_is_compiled_anew(folder: Path) -> None:
    for file in (0, 1):
        compile_anew()
        list_files(folder)[file].unlink()
        assert compile_anew() == (42, 0)


def test_a_full_disk_is_told_once(folder: Path, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder) -> None:
    def full(self: Any, path: str, value: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(code_cache.SealedCacheFile, "_write", full)
    assert compile_anew() == compile_anew() == (42, 0)
    [warning] = recwarn.list
    assert "cannot cache its compiled code (No space left on device" in str(warning.message)


UNCACHED = """
import card_envs
for game in ("flip7", "rummy"):
    table = card_envs.table(game, players=2, seed=1)
    table.play(table.legal_actions()[0])
"""


@pytest.mark.long
def test_a_read_only_place_is_told_once(tmp_path: Path) -> None:
    """No line claims that the result is cached."""
    (tmp_path / "file").touch()
    places = dict.fromkeys(["NUMBA_CACHE_DIR", "HOME", "XDG_CACHE_HOME"], str(tmp_path / "file"))
    environment = os.environ | places | {"NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator"}
    command = [sys.executable, "-c", UNCACHED]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    assert done.stderr.count("cannot cache its compiled code (no folder for it can be written to)") == 1
    assert "compiling flip7.step …" in done.stderr
    assert "the result is cached" not in done.stderr


@pytest.mark.long
def test_a_game_survives_a_damaged_cache(folder: Path, seed: int) -> None:
    """Every loop of the process at once: it compiles anew what it finds damaged, and plays the same match."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder)}
    script = "import card_envs; t = card_envs.table('flip7', players=2, seed=5); t.play(t.legal_actions()[0]); print(t.state())"
    rng = np.random.default_rng(seed)

    def play() -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-c", script], env=environment, check=True, capture_output=True, text=True)

    first = play()
    for file in list_files(folder):
        file.write_bytes(flip(file.read_bytes(), rng))
    again = play()
    assert again.stdout == first.stdout
    assert "is damaged, so it is compiled anew" in again.stderr
    assert play().stderr == ""
    table = card_envs.table("flip7", players=2, seed=5)
    table.play(table.legal_actions()[0])
    assert first.stdout == f"{table.state()}\n"
