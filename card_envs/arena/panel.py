"""A panel for each game: the built-in players, options and deals by which agents are compared across papers.

A panel that changes in any way gets a new version; so does a game whose rules change.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from card_envs.engine.game import OptionValue, unknown


@dataclass(frozen=True)
class Panel:
    """What is played, as :func:`card_envs.arena.bench` takes it."""

    version: int
    players: tuple[str, ...]
    tables: tuple[int, ...]
    options: Mapping[str, OptionValue]
    deal_list: str
    seed: int
    matches: int


@cache
def _data() -> dict[str, dict[str, Any]]:
    data: dict[str, dict[str, Any]] = json.loads(files(__package__).joinpath("panels.json").read_text(encoding="utf-8"))
    return data


def panels() -> list[str]:
    """The games that have a panel."""
    return list(_data())


def panel(game: str) -> Panel:
    """The panel of a game; ``ValueError`` names the games that have one."""
    if game not in _data():
        raise unknown("panel", game, panels())
    data = _data()[game]
    return Panel(**data | {"players": tuple(data["players"]), "tables": tuple(data["tables"])})
