"""What all command lines of the package share: how they print tables and JSON, and how they read a record."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

WIDTH = 200  # the least width of a console for tables, in characters

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def table_console() -> Console:
    """Make a console that prints tables at full width; a narrower terminal wraps their lines."""
    return Console(highlight=False, markup=False, soft_wrap=True, width=max(WIDTH, shutil.get_terminal_size().columns))


def print_json(value: Any) -> None:
    """Print a value as indented JSON."""
    print(json.dumps(value, indent=2, ensure_ascii=False))


def read_record(file: Path) -> dict[str, Any]:
    """The record in a file.

    Raises:
        ValueError: The file holds no JSON object.
        OSError: The file cannot be read.
    """
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file}: this is not JSON ({error})") from None
    if not isinstance(record, dict):
        raise ValueError(f"{file}: a record is a JSON object, not {type(record).__name__}")
    return record
