"""The loop that plays matches side by side, and what becomes of a player that fails in one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from threading import Event
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from card_envs.engine import loops
from card_envs.engine.batch import Batch
from card_envs.engine.game import IllegalAction
from card_envs.engine.measures import DEALS, LOST, Measures
from card_envs.engine.random import mix
from card_envs.players import Player
from card_envs.players.player import BuiltIn, Decisions, checked

NONE = -3  # as an answer: no action


class Stopped(Exception):  # noqa: N818 (no error)
    """The matches were asked to stop before their end."""


@dataclass(frozen=True)
class Fault:
    """Why a player has lost the match of a row there and then."""

    row: int
    player: int
    reason: str


class DuplicateDecisions(Decisions):
    """Decisions in matches that are played several times from one deal.

    ``match`` is a number for each playing, so that what a player remembers of one is not taken for another. ``salt``: uint64
    [size], different for all rows of one deal.
    """

    def __init__(self, batch: Batch, rows: NDArray[np.int64], salt: NDArray[np.uint64]) -> None:
        super().__init__(batch, rows)
        self._salt = salt

    @cached_property
    def match(self) -> NDArray[np.uint64]:
        with np.errstate(over="ignore"):
            number: NDArray[np.uint64] = mix(super().match ^ self._salt[self._rows]) >> np.uint64(1)
        return number


@dataclass
class Playing:
    """Rows of a batch with players in their seats.

    Args:
        batch: it neither resets rows by itself nor shows them (the settings are made here).
        players: who plays.
        salt: see :class:`DuplicateDecisions`.
        forgiving: whether a player that fails loses the match (see ``faults``) instead of stopping the run.
        measures: what is counted in ``counts``; nothing without it.
        appraised: bool [size], in which rows decisions are appraised too, if anybody can.
        stop: when set, :meth:`play` raises :class:`Stopped`.

    Attributes:
        decisions, seconds: int64, float64 [len(players)], how many each has made and the time that they took.
        faults: of a forgiving run, one for each match that was lost by a failure.
        counts: int64 [size, players, len(measures.names)], by seat.
    """

    batch: Batch
    players: Sequence[Player]
    salt: NDArray[np.uint64]
    forgiving: bool = False
    measures: Measures | None = None
    appraised: NDArray[np.bool_] | None = None
    stop: Event | None = None
    faults: list[Fault] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.batch._settings[loops.AUTO_RESET] = False
        self.batch._settings[loops.SHOW] = False  # a player who looks is shown what he may see; nobody else pays for it
        self.decisions = np.zeros(len(self.players), np.int64)
        self.seconds = np.zeros(len(self.players))
        names = self.measures.names if self.measures else ()
        self.counts = np.zeros((self.batch.size, self.batch.players, len(names)), np.int64)
        self._finished = np.zeros(self.batch.size, np.int64)

    def play(self, rows: NDArray[np.int64], seating: NDArray[np.int8]) -> None:
        """Deal the matches of ``rows`` and play them to their ends; ``players[seating[n, seat]]`` sits in ``rows[n]``.

        Raises:
            IllegalAction: unless forgiving, a player has answered with an action that is not legal.
        """
        batch, who = self.batch, np.zeros(self.batch.size, np.int8)
        seats = np.zeros((batch.size, batch.players), np.int8)
        seats[rows] = seating
        trusted = all(isinstance(player, BuiltIn) for player in self.players)
        batch._actions[rows] = loops.RESET
        while True:
            if self.stop is not None and self.stop.is_set():
                raise Stopped
            batch._run(rows)
            over = batch._to_move[rows] < 0
            self._count(rows[over])
            rows = rows[~over]
            if not len(rows):
                return
            who[rows] = seats[rows, batch._to_move[rows]]
            self.decisions += np.bincount(who[rows], minlength=len(self.players))
            reasons: dict[int, str] = {}
            for index in range(len(self.players)):
                start = perf_counter()
                reasons |= self._answer(rows, who, index)
                self.seconds[index] += perf_counter() - start
            if not trusted:
                rows = self._legal(rows, who, reasons)
            self._count(rows)

    def _count(self, rows: NDArray[np.int64], appraise: bool = True) -> None:
        """Count the deals that have just ended in these rows, and the actions that are about to be played."""
        if self.measures is None or not len(rows):
            return
        batch = self.batch
        batch._loops.count(batch._states, rows, batch._actions, self._finished, self.counts)
        if self.measures.appraiser is None or self.appraised is None or not appraise:
            return
        rows = rows[self.appraised[rows]]
        if not len(rows):
            return
        lost, deals = (self.measures.names.index(name) for name in (LOST, DEALS))
        self.counts[rows, :, deals] = self._finished[rows, None]
        asked = rows[batch._to_move[rows] >= 0]
        self.counts[asked, batch._to_move[asked], lost] += self.measures.appraiser.lost(batch, asked)

    def _answer(self, rows: NDArray[np.int64], who: NDArray[np.int8], index: int) -> dict[int, str]:
        """Write one player's actions; returns for each row that got none the reason."""
        batch, player = self.batch, self.players[index]
        if isinstance(player, BuiltIn):
            batch.choose(player.policy.name, player.parameters, batch._actions, rows, who, index)
            return {}
        mine = rows[who[rows] == index]
        if not len(mine):
            return {}
        if not self.forgiving:
            batch._actions[mine] = checked(player.act(self._ask(mine)), len(mine), player)
            return {}
        try:
            answers = np.asarray(player.act(self._ask(mine)))
            if answers.shape != mine.shape or answers.dtype.kind not in "iuf":
                raise ValueError
        except (Exception, SystemExit):  # the others' rows are not to suffer
            return self._row_by_row(mine, player)
        return self._take(mine, answers)

    def _row_by_row(self, mine: NDArray[np.int64], player: Player) -> dict[int, str]:
        reasons = {}
        for row in mine:
            only = np.array([row])
            try:
                answers = np.asarray(player.act(self._ask(only)))
            except (Exception, SystemExit) as error:
                batch_row, reason = int(row), " ".join(f"raised {type(error).__name__}: {error}".split())
                self.batch._actions[batch_row], reasons[batch_row] = NONE, reason
                continue
            if answers.shape != (1,) or answers.dtype.kind not in "iuf":
                self.batch._actions[row] = NONE
                reasons[int(row)] = f"answered {answers.dtype} of shape {answers.shape}, not one integer"
            else:
                reasons |= self._take(only, answers)
        return reasons

    def _take(self, mine: NDArray[np.int64], answers: NDArray[np.generic]) -> dict[int, str]:
        """Take numbers as actions: one NaN makes floats of all integers beside it, so whole floats count as integers."""
        numbers = answers.astype(np.float64)
        whole = (np.abs(numbers) < 2**31) & (numbers == np.round(numbers))
        self.batch._actions[mine] = np.where(whole, numbers, NONE).astype(np.int64)
        return {int(mine[i]): f"answered {answers[i]}, no action" for i in np.flatnonzero(~whole)}

    def _legal(self, rows: NDArray[np.int64], who: NDArray[np.int8], reasons: dict[int, str]) -> NDArray[np.int64]:
        """The rows whose answer is legal; the others' matches are lost."""
        batch = self.batch
        legal = batch._legal(batch._actions[rows], rows)
        illegal = rows[~legal]
        if len(illegal) and not self.forgiving:
            raise IllegalAction(f"{self.players[who[illegal[0]]]!r}: {batch._explain(illegal)}")
        for row in illegal.tolist():
            reason = reasons.get(row) or batch._explain(np.array([row])).split(": ", 1)[1]
            self.faults.append(Fault(row, int(who[row]), reason))
            batch._actions[row] = NONE
        self._count(illegal, appraise=False)  # what ended before it
        return rows[legal]

    def _ask(self, rows: NDArray[np.int64]) -> Decisions:
        return DuplicateDecisions(self.batch, rows, self.salt)
