"""What several commands share: options of a game as words, and JSON."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from card_envs.engine.game import Game, Option, OptionValue, unknown

GameName = Annotated[str, typer.Argument(metavar="GAME", help="A name that `card-envs games` lists.", show_default=False)]
Players = Annotated[int | None, typer.Option("--players", help="Seats at the table.", show_default=False)]
OptionWords = Annotated[
    list[str] | None, typer.Option("--option", metavar="NAME=VALUE", help="An option of the game; may be repeated.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

FLAGS = {"true": True, "false": False}


def game_options(game: Game, words: list[str] | None, players: int | None = None) -> dict[str, Any]:
    """``["brutal=true"]`` → ``{"brutal": True}``, checked; ``ValueError`` names what is wrong and what is allowed."""
    table = {option.name: option for option in game.options}
    options: dict[str, Any] = {} if players is None else {"players": players}
    for word in words or ():
        name, equals, value = word.partition("=")
        if not equals:
            raise ValueError(f"option {word!r}: expected is NAME=VALUE, as {game.options[-1].name}={game.options[-1].default}")
        if name not in table:
            raise unknown(f"option of {game.name}", name, table)
        if name in options:
            raise ValueError(f"option {name} is given twice")
        options[name] = _value(table[name], value)
    game.resolve(options)
    return options


def _value(option: Option, text: str) -> OptionValue:
    """The text as the option's type where it can be read so; ``Option.check`` refuses the rest."""
    if isinstance(option.default, bool):
        return FLAGS.get(text.lower(), text)
    if isinstance(option.default, int):
        try:
            return int(text)
        except ValueError:
            return text
    return text


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False))
