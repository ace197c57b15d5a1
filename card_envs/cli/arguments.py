"""What several commands share: common arguments, how numbers are read, and how the end of a deal is printed."""

from __future__ import annotations

from typing import Annotated

import typer

from card_envs.engine.table import Table

GameName = Annotated[str, typer.Argument(metavar="GAME", help="A game that `card-envs games` lists.", show_default=False)]
Players = Annotated[int | None, typer.Option("--players", help="Seats at the table.", show_default=False)]
OptionWords = Annotated[
    list[str] | None, typer.Option("--option", metavar="NAME=VALUE", help="An option of the game; may be repeated.")
]


def parse_numbers(option: str, text: str, example: str) -> list[int]:
    """Parse whole numbers from 1, separated by commas; a ``ValueError`` names the option and shows an example."""
    parts = text.split(",")
    if not all(part.strip().isdecimal() and int(part) for part in parts):
        raise ValueError(f"{option} = {text!r}: expected are whole numbers from 1, such as {example}")
    return [int(part) for part in parts]


def print_deal(table: Table, finished: int, indent: str = "") -> None:
    """Print how the latest deal ended, if more than ``finished`` deals are over."""
    if len(table.deals) > finished:
        print(f"{indent}deal {len(table.deals)}: {table.endings[-1]}; scores {table.deals[-1]}, totals {table.scores}")
