"""What several commands share: options of a game as words, and how they print."""

from __future__ import annotations

import json
import shutil
from typing import Annotated, Any

import typer
from rich.console import Console

GameName = Annotated[str, typer.Argument(metavar="GAME", help="A name that `card-envs games` lists.", show_default=False)]
Players = Annotated[int | None, typer.Option("--players", help="Seats at the table.", show_default=False)]
OptionWords = Annotated[
    list[str] | None, typer.Option("--option", metavar="NAME=VALUE", help="An option of the game; may be repeated.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


WIDTH = 200  # of a console for tables, at least


def table_console() -> Console:
    """Where tables are printed as they are, never squeezed: a narrower terminal wraps their lines."""
    return Console(highlight=False, markup=False, soft_wrap=True, width=max(WIDTH, shutil.get_terminal_size().columns))


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False))
