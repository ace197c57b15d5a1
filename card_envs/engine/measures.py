"""What the players of a game are measured by, beside who wins: what the game counts, and what decisions gave away."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from card_envs.engine.batch import Batch
from card_envs.engine.game import Game, Metric

LOST, DEALS = "millionths lost", "deals appraised"  # the counts that an appraiser's metric is made of


@dataclass(frozen=True)
class Appraiser:
    """What decisions give away, by values that only this game has.

    ``lost(batch, rows)``: int64 [n], millionths of the metric's unit that the actions about to be played in these rows give
    away; a function of each row alone. ``metric`` is made of the counts :data:`LOST` and :data:`DEALS`.
    """

    metric: Metric
    lost: Callable[[Batch, NDArray[np.int64]], NDArray[np.int64]]


@dataclass(frozen=True)
class Measures:
    """The counts of a game by name, the metrics made of them, and who appraises decisions, if anybody."""

    names: tuple[str, ...]
    metrics: tuple[Metric, ...]
    appraiser: Appraiser | None


_registered: dict[str, str] = {}


def register_appraiser(game: str, where: str) -> None:
    """Let the :class:`Appraiser` at ``where``, a ``"module:name"`` imported when needed, appraise a game's decisions."""
    _registered[game] = where


@cache
def measures_of(game: Game) -> Measures:
    """What players of this game are measured by."""
    if game.name not in _registered:
        return Measures(game.count_names, game.metrics, None)
    module, name = _registered[game.name].split(":")
    appraiser: Appraiser = getattr(importlib.import_module(module), name)
    return Measures((*game.count_names, LOST, DEALS), (*game.metrics, appraiser.metric), appraiser)
