"""What several commands share: options of a game as words, and JSON."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

GameName = Annotated[str, typer.Argument(metavar="GAME", help="A name that `card-envs games` lists.", show_default=False)]
Players = Annotated[int | None, typer.Option("--players", help="Seats at the table.", show_default=False)]
OptionWords = Annotated[
    list[str] | None, typer.Option("--option", metavar="NAME=VALUE", help="An option of the game; may be repeated.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False))
