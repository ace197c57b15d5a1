"""What several commands share: their common arguments, and how they print."""

from __future__ import annotations

import json
import shutil
from typing import Annotated, Any

import typer
from rich.console import Console

from card_envs.engine.table import Table

GameName = Annotated[str, typer.Argument(metavar="GAME", help="A game that `card-envs games` lists.", show_default=False)]
Players = Annotated[int | None, typer.Option("--players", help="Seats at the table.", show_default=False)]
OptionWords = Annotated[
    list[str] | None, typer.Option("--option", metavar="NAME=VALUE", help="An option of the game; may be repeated.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


WIDTH = 200  # the least width of a console for tables, in characters


def table_console() -> Console:
    """Make a console that prints tables at full width; a narrower terminal wraps their lines."""
    return Console(highlight=False, markup=False, soft_wrap=True, width=max(WIDTH, shutil.get_terminal_size().columns))


def print_deal(table: Table, finished: int, indent: str = "") -> None:
    """Print how the latest deal ended, if more than ``finished`` deals are over."""
    if len(table.deals) > finished:
        print(f"{indent}deal {len(table.deals)}: {table.endings[-1]}; scores {table.deals[-1]}, totals {table.scores}")


def print_json(value: Any) -> None:
    """Print a value as indented JSON."""
    print(json.dumps(value, indent=2, ensure_ascii=False))
