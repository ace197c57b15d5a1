"""What all command lines of the package share: how they print tables and JSON, and how they read files."""

from __future__ import annotations

import io
import json
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table as Grid

WIDTH = 200  # the least width of a console for tables, in characters

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def table_console() -> Console:
    """Make a console that prints tables at full width; a narrower terminal wraps their lines."""
    return Console(highlight=False, markup=False, soft_wrap=True, width=max(WIDTH, shutil.get_terminal_size().columns))


def make_grid(columns: Iterable[str], rows: Iterable[Iterable[str]], justify: Any = "left") -> Grid:
    """Make a table without lines; ``justify`` says how all columns but the first are aligned."""
    grid = Grid(*columns, box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in grid.columns[1:]:
        column.justify = justify
    for row in rows:
        grid.add_row(*row)
    return grid


def allow_any_output() -> None:
    """Let stdout and stderr print a question mark in place of a character that their encoding does not have."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def print_json(value: Any) -> None:
    """Print a value as indented JSON, with escapes if stdout cannot print all of its characters."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(value, indent=2)
    print(text)


def read_json(file: Path, kind: str) -> dict[str, Any]:
    """Read the JSON object in a file.

    Args:
        file: The file.
        kind: What error messages call the object, such as ``"record"``.

    Raises:
        ValueError: The file holds no JSON object.
        OSError: The file cannot be read.
    """
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file}: this is not JSON ({error})") from None
    if not isinstance(value, dict):
        raise ValueError(f"{file}: a {kind} is a JSON object, not {type(value).__name__}")
    return value
