"""What tests of batches share: option sets as parameters, comparison of batches, play on them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from card_envs import Batch
from tests.helpers import GAMES, label, some_options

SETS = [(game, options) for game in GAMES for options in some_options(game)]
OUTPUT = ("observation", "action_mask", "to_move", "rewards", "terminated", "truncated", "final_observation")

every_game = pytest.mark.parametrize("game", GAMES)
every_set = pytest.mark.parametrize(("game", "options"), SETS, ids=label)


def assert_equal(a: Batch, b: Batch, story: object = "", rows: Any = slice(None), others: Any = slice(None)) -> None:
    """Assert that ``rows`` of one batch and ``others`` of another have the same outputs and the same states."""
    for name in OUTPUT:
        np.testing.assert_array_equal(getattr(a, name)[rows], getattr(b, name)[others], f"{name} {story}")
    assert a.matches.states[rows].tobytes() == b.matches.states[others].tobytes(), f"states {story}"
    np.testing.assert_array_equal(a.identity()[rows], b.identity()[others], f"identity {story}")
    np.testing.assert_array_equal(a.decisions()[rows], b.decisions()[others], f"decisions {story}")


def advance(batch: Batch, steps: int) -> Batch:
    """Take so many random steps."""
    for _ in range(steps):
        batch.step(batch.sample())
    return batch


def keep_all(batch: Batch) -> dict[str, Any]:
    """Copy all outputs and the states."""
    return {name: getattr(batch, name).copy() for name in OUTPUT} | {"states": batch.matches.states.tobytes()}


def are_same(a: dict[str, Any], b: dict[str, Any]) -> bool:
    """Whether two results of :func:`keep_all` are equal."""
    return all(np.array_equal(a[name], b[name]) for name in a)
