"""Shards: the unit of work, consecutive boards of one line-up.

What happens on a board depends on its line-up and its number alone, not on who plays the shard or on the boards beside it. The
matches of many boards are played side by side if all players declare that their answers do not depend on the batch they are
asked in (``batch_invariant``). Nothing is known about other players, whose floating-point products may depend on it, so each of
their boards is played alone, with its rows in a fixed order and linear algebra on one thread.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from hashlib import sha256
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from card_envs.arena.boards import Lineup, assign_seats
from card_envs.engine.game import Game
from card_envs.engine.loops import RESET
from card_envs.engine.matches import Matches
from card_envs.engine.measures import DEALS, LOST, load_measures
from card_envs.engine.random import mix
from card_envs.players import Player
from card_envs.players.player import is_compiled
from card_envs.players.runner import Runner, Watcher

BOARDS_COMPILED, BOARDS_INVARIANT = 256, 32  # in a shard: if all players are compiled; if all are batch-invariant
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
        return Shard(self.first, **joined, **added, told=[text for s in parts for text in s.told][:FAULTS_TOLD])


def merge_shards(shards: Mapping[int, Shard]) -> dict[int, Shard]:
    """Return the same boards in as few shards as possible, by first board."""
    runs: list[list[Shard]] = []
    for _, shard in sorted(shards.items()):
        if runs and runs[-1][-1].end == shard.first:
            runs[-1].append(shard)
        else:
            runs.append([shard])
    return {run[0].first: run[0].join(run[1:]) if len(run) > 1 else run[0] for run in runs}


def limit_blas() -> AbstractContextManager[Any]:
    """Keep linear algebra on one thread, in the whole process: it goes around all shards that are played at the same time."""
    limits: AbstractContextManager[Any] = threadpool_limits(limits=1, user_api="blas")
    return limits


def choose_shard_size(players: Iterable[Player]) -> int:
    """Return how many boards a shard of these players has at most."""
    kinds = [(is_compiled(player), bool(getattr(player, "batch_invariant", False))) for player in players]
    if all(compiled for compiled, _ in kinds):
        return BOARDS_COMPILED
    return BOARDS_INVARIANT if all(invariant for _, invariant in kinds) else 1


# ---- playing


class Stopped(Exception):  # noqa: N818 (it is not an error)
    """Raised when playing is stopped before the end of the matches."""


class _Counter(Watcher):
    """Counts decisions and what the game's metrics are made of.

    Attributes:
        decisions: The decisions that each player of the runner has made, int64 [players].
        counts: The counts of the measures, int64 [matches, seats, C].
    """

    def __init__(self, matches: Matches, task: Task, stop: Event | None) -> None:
        self.decisions = np.zeros(len(set(task.lineup)), np.int64)
        self._matches = matches
        self._stop = stop
        self._measures = load_measures(task.game) if task.measured else None
        self._appraised = task.first + matches.rows // matches.players < APPRAISED
        self._finished = np.zeros(matches.size, np.int64)
        names = self._measures.names if self._measures else ()
        self.counts = np.zeros((matches.size, matches.players, len(names)), np.int64)

    def before_choice(self, rows: NDArray[np.int64], who: NDArray[np.int8]) -> None:
        if self._stop is not None and self._stop.is_set():
            raise Stopped
        self.decisions += np.bincount(who[rows], minlength=len(self.decisions))

    def after_choice(self, rows: NDArray[np.int64], who: NDArray[np.int8]) -> None:
        self.after_end(rows)

    def after_failure(self, rows: NDArray[np.int64]) -> None:
        if self._measures is not None:
            self._matches.count(rows, self._finished, self.counts)

    def after_end(self, rows: NDArray[np.int64]) -> None:
        self.after_failure(rows)
        if self._measures is None or self._measures.appraiser is None:
            return
        rows = rows[self._appraised[rows]]
        self.counts[rows, :, self._measures.names.index(DEALS)] = self._finished[rows, None]
        rows = rows[self._matches.to_move[rows] >= 0]
        if len(rows):
            lost = self._measures.appraiser.lost(self._matches, rows)
            self.counts[rows, self._matches.to_move[rows], self._measures.names.index(LOST)] += lost


def play_shard(task: Task, players: Mapping[str, Player], stop: Event | None = None) -> Shard:
    """Play a shard within :func:`limit_blas`.

    Args:
        task: What is played.
        players: The players by the names of the line-up.
        stop: An event that ends the shard early when it is set.

    Raises:
        IllegalAction: A player has answered with an illegal action, and the task is not forgiving.
        Stopped: ``stop`` was set.
    """
    n = len(task.lineup)
    names = sorted(set(task.lineup))
    rows = np.arange(task.matches)
    board, rotation = task.first + rows // n, rows % n
    place_at = assign_seats(task.seed, board, rotation, n)
    player_at_place = np.array([names.index(name) for name in task.lineup], np.int8)
    salt = int.from_bytes(sha256("\n".join(task.lineup).encode()).digest()[:8], "little")
    with np.errstate(over="ignore"):
        salts: NDArray[np.uint64] = mix(np.uint64(salt) + rotation.astype(np.uint64))
    matches = Matches(task.game, task.matches, task.options, episode=task.episode, auto_reset=False, write_observations=False)
    matches.identity[:] = np.column_stack([0 * rows + task.seed, board, 0 * rows])
    matches.actions[:] = RESET
    counter = _Counter(matches, task, stop)
    runner = Runner(matches, [players[name] for name in names], forgiving=task.forgiving, salt=salts, watcher=counter)
    runner.seating[:] = player_at_place[place_at]
    runner.play(rows.copy())
    return _summarize(task, names, runner, counter, place_at)


def _summarize(task: Task, names: Sequence[str], runner: Runner, counter: _Counter, place_at: NDArray[np.int64]) -> Shard:
    """Sum what happened in the matches by board and player; ``place_at`` [matches, seats] is the line-up's place in a seat."""
    n, boards, matches = len(task.lineup), task.boards, runner.matches
    is_at = np.array([[name == here for name in names] for here in task.lineup], np.int64)  # [place, player]
    totals = np.empty((task.matches, n), np.int64)  # by place
    np.put_along_axis(totals, place_at, matches.states["totals"][:, :n].astype(np.int64), axis=1)
    direction = 1 if task.game.score_scale(task.options) > 0 else -1  # -1 if the lowest total wins
    standing = direction * totals
    margins = direction * (n * totals - totals.sum(axis=1, keepdims=True))
    faults = np.zeros(len(names), np.int64)
    for failure in runner.failures:  # the player that failed is last, the others are level
        standing[failure.row] = 0
        standing[failure.row, place_at[failure.row, matches.to_move[failure.row]]] = -1
        margins[failure.row] = 0
        faults[failure.player] += 1
    ahead = np.sign(standing[:, :, None] - standing[:, None, :])
    winners = standing == standing.max(axis=1, keepdims=True)
    shares = np.where(winners, count_win_units(n) // winners.sum(axis=1, keepdims=True), 0)
    doubled_places = 2 + (1 - ahead).sum(axis=2) - 1  # every player is level with themselves

    def sum_boards(values: NDArray[np.int64]) -> NDArray[np.int64]:
        summed: NDArray[np.int64] = values.reshape(boards, n, n).sum(axis=1) @ is_at
        return summed

    half_wins = (ahead + 1).reshape(boards, n, n, n).sum(axis=1)
    pairs: NDArray[np.int64] = np.einsum("dpq,pi,qj->dij", half_wins, is_at, is_at)
    pairs[:, np.arange(len(names)), np.arange(len(names))] = 0
    sits = runner.seating[:, :, None] == np.arange(len(names))  # [match, seat, player]
    counts: NDArray[np.int64] = np.einsum("rsp,rsc->rpc", sits, counter.counts)
    seat_shares = sits * np.take_along_axis(shares, place_at, axis=1)[:, :, None]
    return Shard(
        first=task.first,
        boards=boards,
        pairs=pairs,
        shares=sum_boards(shares),
        margins=sum_boards(margins),
        places=sum_boards(doubled_places),
        counts=counts.reshape(boards, n, *counts.shape[1:]).sum(axis=1),
        seat_shares=seat_shares.sum(axis=0).T,
        seat_squares=(seat_shares**2).sum(axis=0).T,
        points=totals.sum(axis=0) @ is_at,
        faults=faults,
        decisions=counter.decisions,
        deals=int(matches.states["finished"].sum()),
        truncated=int(matches.truncated.sum()),
        told=[
            f"{names[failure.player]} on board {task.first + failure.row // n}, rotation {failure.row % n},"
            f" seat {matches.to_move[failure.row]}: {failure.reason}"
            for failure in sorted(runner.failures, key=lambda failure: failure.row)[:FAULTS_TOLD]
        ],
        seconds=runner.seconds,
        timed=counter.decisions,
    )
