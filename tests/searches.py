"""What tests of searches share: decisions in the middle of random play."""

from __future__ import annotations

from typing import Any

import numpy as np

import card_envs
from card_envs import Batch, Game
from card_envs.players import Decisions
from tests.batches import advance


def decide_at(batch: Batch, rows: Any = None) -> Decisions:
    """The decisions of a batch, or of some of its rows."""
    return Decisions(batch.matches, batch.matches.rows if rows is None else np.array(rows))


def make_batch(game: Game | str, size: int, steps: int, seed: int, **options: Any) -> Batch:
    """A batch after so many random steps."""
    game = card_envs.load_game(game) if isinstance(game, str) else game
    return advance(Batch(game, size, seed=seed, **options), steps)
