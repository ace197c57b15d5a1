"""What several commands share: options of a game as words, and how they print."""

from __future__ import annotations

from typing import Annotated

import typer

from card_envs.engine.table import Table

GameName = Annotated[str, typer.Argument(metavar="GAME", help="A name that `card-envs games` lists.", show_default=False)]
Players = Annotated[int | None, typer.Option("--players", help="Seats at the table.", show_default=False)]
OptionWords = Annotated[
    list[str] | None, typer.Option("--option", metavar="NAME=VALUE", help="An option of the game; may be repeated.")
]


def print_deal(table: Table, finished: int, indent: str = "") -> None:
    """How the deal has ended, if one has since ``finished`` were."""
    if len(table.deals) > finished:
        print(f"{indent}deal {len(table.deals)}: {table.endings[-1]}; scores {table.deals[-1]}, totals {table.scores}")
