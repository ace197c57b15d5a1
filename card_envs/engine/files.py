"""Writing files so that nothing is lost: a reader sees either the old file or the whole new one."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from pathlib import Path
from typing import TextIO

MODE = 0o644  # of a new file


def is_replaceable(path: Path) -> bool:
    """Return whether a file can be written by putting a new one in its place.

    A device, a pipe or a socket is not: there is only the one that is there. Neither is the file that standard output or
    standard error is redirected to, because the process would go on writing to the old one.
    """
    return not path.exists() or (path.is_file() and _find_stream(path) is None)


def write_file(path: Path, data: bytes) -> None:
    """Write a file atomically, through a temporary file beside it. A symbolic link is followed, not replaced.

    What exists and cannot be replaced (see :func:`is_replaceable`) is written to as it is.

    Raises:
        OSError: The file cannot be written; it is then as it was before.
    """
    if not is_replaceable(path):
        stream = _find_stream(path)
        with open(path if stream is None else os.dup(stream.fileno()), "wb") as existing:
            existing.write(data)
        return
    path = path.resolve()
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else MODE
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        try:
            os.chmod(file.name, mode)  # temporary files are readable only by their owner
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise


def check_writable(path: Path) -> None:
    """Raise ``ValueError`` if a file obviously cannot be written."""
    folder = path.resolve().parent
    if path.is_dir():
        raise ValueError(f"{path} cannot be written: it is a folder")
    if not is_replaceable(path):
        if not os.access(path, os.W_OK):
            raise ValueError(f"{path} cannot be written: it is read-only")
        return
    if not folder.is_dir():
        raise ValueError(f"{path} cannot be written: {folder} is not a folder")
    if not os.access(folder, os.W_OK):
        raise ValueError(f"{path} cannot be written: {folder} is read-only")


def _find_stream(path: Path) -> TextIO | None:
    """Return standard output or standard error, if it leads to this file, with everything flushed that was printed to it."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if os.path.samestat(os.fstat(stream.fileno()), path.stat()):
                stream.flush()
                return stream
        except (AttributeError, OSError, ValueError):  # there is no such stream, or nothing behind it
            continue
    return None
