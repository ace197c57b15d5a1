"""What several commands share: options of a game as words, and how they print."""

from __future__ import annotations

import json
import shutil
from typing import Annotated, Any

import typer
from rich.console import Console

from card_envs.engine.table import Table

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


def print_deal(table: Table, finished: int, indent: str = "") -> None:
    """How the deal has ended, if one has since ``finished`` were."""
    if len(table.deals) > finished:
        print(f"{indent}deal {len(table.deals)}: {table.endings[-1]}; scores {table.deals[-1]}, totals {table.scores}")


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False))
