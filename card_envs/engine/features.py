"""Action features: what each action of a decision does, in figures by which a network can score one action at a time.

A game that has them declares them in its module ``features``. They do not depend on the numbers of seats, so that one network
can play at tables of any size, and they are made from what the seat to move knows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.engine.game import Game
from card_envs.engine.loops import Arrays, Loop
from card_envs.engine.pool import share

LoadLoop = Callable[..., Callable[..., Any]]
ROWS_PER_THREAD = 64  # with fewer rows, waking a thread costs more than it saves


def make_features_loop(game: Game) -> Loop:
    """Make the loop that writes the features of ``actions[places[n]]`` in ``rows[n]`` into ``features[places[n]]``.

    An action below 0 leaves its features as they are. With ``all_legal`` the loop first writes the legal actions of the row
    into ``actions[places[n]]`` [A], each at its own index and -1 at the others, and clears the features of the former ones.
    """
    action_features = game.action_features
    assert action_features is not None

    def write(m: Any, rows: Any, places: Any, all_legal: bool, actions: Any, features: Any) -> int:
        for n in range(len(rows)):
            r = rows[n]
            p = places[n]
            if all_legal:
                for action in range(actions.shape[1]):
                    if actions[p, action] >= 0:
                        for i in range(features.shape[2]):
                            features[p, action, i] = 0.0
                    actions[p, action] = action if m.mask[r, action] != 0 else -1
            s = m.states[r]
            if not s.over:
                action_features(s, s.to_move, m.words[r], actions[p], features[p])
        return 0

    return Loop("features", write, (action_features,))


class LegalFeatures:
    """The features of all legal actions in each of many matches, which are written anew after each step.

    Attributes:
        values: The features, float32 [size, A, F]. They are zero where an action is not legal.
    """

    def __init__(self, game: Game, arrays: Arrays, num_actions: int, load_loop: LoadLoop) -> None:
        size = len(arrays.states)
        self.values = np.zeros((size, num_actions, game.action_feature_size), np.float32)
        self._actions = np.full((size, num_actions), -1)  # those whose features stand in ``values``
        self._arrays = arrays
        self._loop = load_loop(make_features_loop)

    def write(self, rows: NDArray[np.int64]) -> None:
        """Write the features in these rows, whose states and masks have changed."""
        self._loop(self._arrays, rows, rows, True, self._actions, self.values)


def compute_features(
    game: Game, arrays: Arrays, load_loop: LoadLoop, threads: int, rows: NDArray[np.int64], actions: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Return the features of ``actions[n]`` [C] in ``rows[n]``, float32 [len(rows), C, F], in up to ``threads`` threads."""
    loop = load_loop(make_features_loop)
    features = np.zeros((*actions.shape, game.action_feature_size), np.float32)
    places = np.arange(len(rows))
    share(
        lambda part: loop(arrays, rows[part], places[part], False, actions, features),
        len(rows),
        min(threads, len(rows) // ROWS_PER_THREAD),
    )
    return features
