"""What the players of a game are measured by besides their wins: counts, and what their decisions gave away."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from card_envs.engine.game import Game, Metric
from card_envs.engine.matches import Matches

LOST, DEALS = "millionths lost", "deals appraised"  # the counts behind an appraiser's metric


@dataclass(frozen=True)
class Appraiser:
    """A measure of what decisions give away, which only one game has.

    Attributes:
        metric: The metric, which is computed from the counts :data:`LOST` and :data:`DEALS`.
        lost: Takes matches and rows, int64 [n], and returns how many millionths of the metric's unit the action about to be
            played in each row gives away, int64 [n]. It is a function of each row alone.
    """

    metric: Metric
    lost: Callable[[Matches, NDArray[np.int64]], NDArray[np.int64]]


@dataclass(frozen=True)
class Measures:
    """The measures of a game.

    Attributes:
        names: What is counted.
        metrics: The metrics computed from these counts.
        appraiser: The appraiser of decisions, if the game has one.
    """

    names: tuple[str, ...]
    metrics: tuple[Metric, ...]
    appraiser: Appraiser | None


_registered: dict[str, str] = {}


def register_appraiser(game: str, target: str) -> None:
    """Register the :class:`Appraiser` of a game as ``"module:name"``. The module is imported when it is needed."""
    _registered[game] = target


@cache
def load_measures(game: Game) -> Measures:
    """Return the measures of a game, including those of its appraiser."""
    if game.name not in _registered:
        return Measures(game.count_names, game.metrics, None)
    module, name = _registered[game.name].split(":")
    appraiser: Appraiser = getattr(importlib.import_module(module), name)
    return Measures((*game.count_names, LOST, DEALS), (*game.metrics, appraiser.metric), appraiser)
