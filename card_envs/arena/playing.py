"""Play a shard: the matches of consecutive boards, and what is counted in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from hashlib import sha256
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from card_envs.arena.boards import assign_seats
from card_envs.arena.roster import Roster
from card_envs.arena.shard import APPRAISED, FAULTS_TOLD, SAMPLE, Shard, Task, count_win_units
from card_envs.engine.loops import RESET
from card_envs.engine.matches import Matches
from card_envs.engine.measures import DEALS, LOST, load_measures
from card_envs.players import Player
from card_envs.players.player import is_compiled, is_stateless
from card_envs.players.runner import Failure, Runner, Watcher

BOARDS_COMPILED, BOARDS_INVARIANT = 256, 32  # in a shard: if all players are compiled; if all are batch-invariant


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


class Stopped(Exception):  # noqa: N818 (it is not an error)
    """Raised when playing is stopped before the end of the matches."""


class _Counter(Watcher):
    """Counts decisions and what the game's metrics are made of.

    Attributes:
        decisions: The decisions that each player of the line-up has made, int64 [players].
        player_of: The number of the player of the line-up that each player of the present runner is.
        counts: The counts of the measures, int64 [matches, seats, C].
        actions: The actions of the matches in the sample, by row.
    """

    def __init__(self, matches: Matches, task: Task, stop: Event | None) -> None:
        self.decisions = np.zeros(len(set(task.lineup)), np.int64)
        self.player_of: NDArray[np.int8] = np.arange(len(self.decisions), dtype=np.int8)  # by the numbers of the runner
        self._matches = matches
        self._stop = stop
        self._measures = load_measures(task.game) if task.measured else None
        self._appraised = task.first + matches.rows // matches.players < APPRAISED
        self._finished = np.zeros(matches.size, np.int64)
        names = self._measures.names if self._measures else ()
        self.counts = np.zeros((matches.size, matches.players, len(names)), np.int64)
        board = task.first + matches.rows // matches.players
        self._sampled = np.isin(board, SAMPLE) & task.sampled
        self.actions: dict[int, list[int]] = {int(row): [] for row in np.flatnonzero(self._sampled)}

    def before_choice(self, rows: NDArray[np.int64], who: NDArray[np.int8]) -> None:
        if self._stop is not None and self._stop.is_set():
            raise Stopped
        self.decisions += np.bincount(self.player_of[who[rows]], minlength=len(self.decisions))

    def after_choice(self, rows: NDArray[np.int64], who: NDArray[np.int8]) -> None:
        self.after_end(rows)
        if self.actions:
            for row in rows[self._sampled[rows]].tolist():
                self.actions[row].append(int(self._matches.actions[row]))

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


def play_shard(task: Task, roster: Roster, stop: Event | None = None) -> Shard:
    """Play a shard within :func:`limit_blas`.

    Args:
        task: What is played.
        roster: The players.
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
        salts: NDArray[np.uint64] = np.uint64(salt) + rotation.astype(np.uint64)
    matches = Matches(task.game, task.matches, task.options, episode=task.episode, auto_reset=False, write_observations=False)
    matches.identify(rows, task.seed, board, 0)
    matches.actions[:] = RESET
    counter = _Counter(matches, task, stop)
    played = _Played(matches, counter, player_at_place[place_at], np.zeros(len(names)), [])
    players = roster.make_players(names, task.options)
    seating: NDArray[np.int8] = place_at.astype(np.int8)
    player_of: NDArray[np.int8] = player_at_place
    if all(is_stateless(player) for player in players.values()):  # one object may then sit everywhere
        parts = [(rows, [players[name] for name in names])]
        seating, player_of = played.seating, np.arange(len(names), dtype=np.int8)
    else:
        parts = [(rows[rotation == k], roster.seat_players(task.lineup, task.options, k)) for k in range(n)]
    counter.player_of = player_of
    for part, seated in parts:
        runner = Runner(matches, seated, forgiving=task.forgiving, salt=salts, watcher=counter)
        runner.seating[:] = seating
        runner.play(part.copy())
        np.add.at(played.seconds, player_of, runner.seconds)
        played.failures.extend(replace(failure, player=int(player_of[failure.player])) for failure in runner.failures)
    return _summarize(task, names, played, place_at)


@dataclass
class _Played:
    """The matches of a shard after they were played.

    Attributes:
        matches: The matches.
        counter: What was counted in them.
        seating: The number of the line-up's player in each seat, int8 [matches, seats].
        seconds: How long each player took to answer, float64 [players].
        failures: The matches lost by a player that failed.
    """

    matches: Matches
    counter: _Counter
    seating: NDArray[np.int8]
    seconds: NDArray[np.float64]
    failures: list[Failure]


def _summarize(task: Task, names: Sequence[str], played: _Played, place_at: NDArray[np.int64]) -> Shard:
    """Sum what happened in the matches by board and player; ``place_at`` [matches, seats] is the line-up's place in a seat."""
    n, boards, matches, counter = len(task.lineup), task.boards, played.matches, played.counter
    is_at = np.array([[name == here for name in names] for here in task.lineup], np.int64)  # [place, player]
    totals = np.empty((task.matches, n), np.int64)  # by place
    np.put_along_axis(totals, place_at, matches.states["totals"][:, :n].astype(np.int64), axis=1)
    direction = 1 if task.game.score_scale(task.options) > 0 else -1  # -1 if the lowest total wins
    standing = direction * totals
    margins = direction * (n * totals - totals.sum(axis=1, keepdims=True))
    faults = np.zeros(len(names), np.int64)
    for failure in played.failures:  # the player that failed is last, the others are level
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
    sits = played.seating[:, :, None] == np.arange(len(names))  # [match, seat, player]
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
            for failure in sorted(played.failures, key=lambda failure: failure.row)[:FAULTS_TOLD]
        ],
        seconds=played.seconds,
        timed=counter.decisions,
        actions={
            board: [counter.actions[n * (board - task.first) + rotation] for rotation in range(n)]
            for board in sorted({task.first + row // n for row in counter.actions})
        },
    )
