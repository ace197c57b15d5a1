"""Panels: the players, options and boards by which agents of a game are compared across papers.

Each game keeps its panel beside its rules, in ``panel.json``. A panel that changes in any way gets a new version, and so does
the panel of a game whose rules change.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

from card_envs.engine.game import Game, OptionValue, unknown
from card_envs.games import available_games, load_game


@dataclass(frozen=True)
class Panel:
    """What is played, in the terms of :func:`card_envs.arena.run_benchmark`."""

    version: int
    players: tuple[str, ...]
    tables: tuple[int, ...]
    options: Mapping[str, OptionValue]
    board_list: str
    seed: int
    matches: int


def available_panels() -> list[str]:
    """Return the names of the games that have a panel."""
    return [name for name in available_games() if _locate_panel(load_game(name)).is_file()]


def load_panel(game: str) -> Panel:
    """Load the panel of a game.

    Raises:
        ValueError: The game has no panel; the message names those that have one.
    """
    if game not in available_panels():
        raise unknown("panel", game, available_panels())
    data = json.loads(_locate_panel(load_game(game)).read_text(encoding="utf-8"))
    return Panel(**data | {"players": tuple(data["players"]), "tables": tuple(data["tables"])})


def _locate_panel(game: Game) -> Traversable:
    return files(game.module) / "panel.json"
