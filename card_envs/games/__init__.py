"""The games, by name. A game is one folder here and one line in ``_GAMES``."""

from __future__ import annotations

import importlib

from card_envs.engine.game import Game, unknown

_GAMES = {
    "flip7": "card_envs.games.flip7",
    "pis_yedili": "card_envs.games.pis_yedili",
    "rummy": "card_envs.games.rummy",
}


def available_games() -> list[str]:
    """The names of all games."""
    return list(_GAMES)


def load_game(name: str) -> Game:
    """The game of this name; ``ValueError`` names the nearest one."""
    if name not in _GAMES:
        raise unknown("game", name, _GAMES)
    game: Game = importlib.import_module(_GAMES[name]).GAME
    return game
