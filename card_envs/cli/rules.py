"""``card-envs rules GAME``: the numbered rules of a game, which its code and its tests quote."""

from __future__ import annotations

import sys
from importlib.resources import files

from rich.console import Console
from rich.markdown import Markdown

import card_envs
from card_envs.cli.arguments import GameName


def show_rules(game: GameName) -> None:
    """Show the rules of a game.

    If the output is not a terminal, it is plain Markdown.
    """
    text = files(card_envs.load_game(game).module).joinpath("RULES.md").read_text(encoding="utf-8")
    if sys.stdout.isatty():
        Console().print(Markdown(text))
    else:
        print(text, end="")
