"""How the decisions of one interface are timed.

A measurement prepares something to run and returns a function that plays a portion of it. That function returns the number of
decisions and the seconds they took, without what does not belong to them, such as choosing the actions.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

Portion = Callable[[], tuple[int, float]]
PORTION = 4096  # the approximate number of decisions in a portion


@dataclass(frozen=True)
class Measurement:
    """One line of the table.

    Attributes:
        name: The interface that is measured.
        what: How it is used, in words.
        prepare: Sets the measurement up and returns the function that plays a portion.
        game: The game that is played; empty for a game of another library.
        peer: The name of the measurement of another library that it is compared with.
        needs: Modules that may not be installed.
    """

    name: str
    what: str
    prepare: Callable[[], Portion]
    game: str = ""
    peer: str = ""
    needs: tuple[str, ...] = ()


def measure_rates(measurement: Measurement, repeat: int, seconds: float) -> list[float]:
    """Measure decisions per second, ``repeat`` times over at least so many seconds each, after a warm-up."""
    portion = measurement.prepare()
    portion()  # compiles and fills caches
    rates = []
    for _ in range(repeat):
        decisions, spent = portion()
        while spent < seconds:
            more, took = portion()
            decisions, spent = decisions + more, spent + took
        rates.append(decisions / spent)
    return rates


def choose_by_nonzero(mask: NDArray[np.int8]) -> int:
    """Choose a random legal action, the quick way."""
    legal = mask.nonzero()[0]
    return int(legal[int(random.random() * len(legal))])


def time_aec(env: Any, choose: Callable[[NDArray[np.int8]], int]) -> Portion:
    """Time a PettingZoo environment that has been reset: ``last()``, an action chosen by its mask, ``step()``."""

    def portion() -> tuple[int, float]:
        decisions = 0
        start = perf_counter()
        while decisions < PORTION:
            observation, _, terminated, truncated, _ = env.last()
            if terminated or truncated:
                env.reset()
            else:
                env.step(choose(observation["action_mask"]))
                decisions += 1
        return decisions, perf_counter() - start

    return portion
