"""Shards: the unit of work, consecutive boards of one line-up.

What happens on a board depends on its line-up and its number alone, not on who plays the shard or on the boards beside it. The
matches of many boards are played side by side if all players declare that their answers do not depend on the batch they are
asked in (``batch_invariant``). Nothing is known about other players, whose floating-point products may depend on it, so each of
their matches is played alone, with linear algebra on one thread.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.arena.boards import Lineup
from card_envs.engine.game import Game

SAMPLE = (0, 1, 10, 100)  # boards of each line-up whose actions are kept in a contest
APPRAISED = 64  # boards of each line-up, the first ones: appraising decisions takes longer than playing them
FAULTS_TOLD = 20  # the first faults are described in words; all are counted


@dataclass(frozen=True)
class Task:
    """A shard to be played.

    Attributes:
        game, options: What is played.
        lineup: Who plays.
        seed: The seed of the board list.
        first, boards: The number of the first board, and how many boards follow each other from there.
        episode: ``"match"``, or ``"deal"`` for only the first deal of each match.
        forgiving: Whether a player that fails loses the match instead of ending the run.
        measured: Whether the game's metrics are counted.
        sampled: Whether the actions on the boards of the ``SAMPLE`` are kept.
    """

    game: Game
    options: Mapping[str, Any]
    lineup: Lineup
    seed: int
    first: int
    boards: int
    episode: str = "match"
    forgiving: bool = True
    measured: bool = True
    sampled: bool = False

    @property
    def matches(self) -> int:
        """The number of matches."""
        return self.boards * len(self.lineup)


def count_win_units(players: int) -> int:
    """Return the units that a win is counted in, lcm(1 … players), so that each of k winners gets a whole number of them."""
    return math.lcm(*range(1, players + 1))


# What is kept of every board: summed over its rotations, integers for each different player of the line-up.
PER_BOARD = ("pairs", "shares", "margins", "places", "counts")
# What is kept of a shard as a whole.
PER_SHARD = ("seat_shares", "seat_squares", "points", "faults", "decisions")


@dataclass
class Shard:
    """What the P different players of a line-up, sorted by name, did on consecutive boards at a table of n.

    Attributes:
        first, boards: The number of the first board, and how many boards there are.
        pairs: The half wins of i over j by placement, 2 if i is ahead and 1 if they are level, int64 [boards, P, P].
        shares: The shares of the wins in units of :func:`count_win_units`, int64 [boards, P].
        margins: The points ahead of the mean of the others, times n - 1; 0 in a match lost by a failure. int64 [boards, P].
        places: Twice the placements; players that tie have the mean of their placements. int64 [boards, P].
        counts: The counts of :func:`~card_envs.engine.measures.load_measures`, int64 [boards, P, C].
        seat_shares, seat_squares: The sums of the shares and of their squares by seat, int64 [P, n].
        points, faults, decisions: The points, the matches lost by a failure, and the decisions made, int64 [P].
        deals: The number of deals played to their end in all matches.
        truncated: The number of matches ended by a technical cap.
        told: The first faults in words.
        seconds: The time spent on ``timed`` decisions in this process, float64 [P]. Not part of the results.
        timed: The number of decisions that were timed, int64 [P]. Not part of the results.
        actions: The actions of each rotation of the boards of the ``SAMPLE``, by board, if they are kept.
    """

    first: int
    boards: int
    pairs: NDArray[np.int64]
    shares: NDArray[np.int64]
    margins: NDArray[np.int64]
    places: NDArray[np.int64]
    counts: NDArray[np.int64]
    seat_shares: NDArray[np.int64]
    seat_squares: NDArray[np.int64]
    points: NDArray[np.int64]
    faults: NDArray[np.int64]
    decisions: NDArray[np.int64]
    deals: int
    truncated: int
    told: list[str]
    seconds: NDArray[np.float64]
    timed: NDArray[np.int64]
    actions: dict[int, list[list[int]]] = field(default_factory=dict)

    @property
    def end(self) -> int:
        """The first board after it."""
        return self.first + self.boards

    def join(self, others: Sequence[Shard]) -> Shard:
        """Return one shard of this one and the others, which follow it without a gap."""
        parts = [self, *others]
        joined: dict[str, Any] = {name: np.concatenate([getattr(s, name) for s in parts]) for name in PER_BOARD}
        sums = (*PER_SHARD, "boards", "deals", "truncated", "seconds", "timed")
        added: dict[str, Any] = {name: sum(getattr(s, name) for s in parts) for name in sums}
        told = [text for s in parts for text in s.told][:FAULTS_TOLD]
        return Shard(self.first, **joined, **added, told=told, actions={b: a for s in parts for b, a in s.actions.items()})


def merge_shards(shards: Mapping[int, Shard]) -> dict[int, Shard]:
    """Return the same boards in as few shards as possible, by first board."""
    runs: list[list[Shard]] = []
    for _, shard in sorted(shards.items()):
        if runs and runs[-1][-1].end == shard.first:
            runs[-1].append(shard)
        else:
            runs.append([shard])
    return {run[0].first: run[0].join(run[1:]) if len(run) > 1 else run[0] for run in runs}
