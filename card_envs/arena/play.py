"""The loop that plays matches side by side to their ends, and what happens to a player that fails in one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Event
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.engine import loops
from card_envs.engine.batch import Batch
from card_envs.engine.game import Game, IllegalAction
from card_envs.engine.measures import DEALS, LOST, Measures
from card_envs.engine.random import mix
from card_envs.players import Player
from card_envs.players.player import BuiltIn, Decisions, checked

NO_ACTION = -3


class Stopped(Exception):  # noqa: N818 (it is not an error)
    """The matches were stopped before their ends."""


def is_compiled(player: Player) -> bool:
    """Whether a player is a compiled policy of the game, whose actions are always legal."""
    return isinstance(player, BuiltIn)


@dataclass(frozen=True)
class Fault:
    """A failure that lost a player the match of a row on the spot, and the reason for it."""

    row: int
    player: int
    reason: str


class BoardDecisions(Decisions):
    """Decisions in matches that are dealt alike.

    ``match`` differs between the matches of a board and between line-ups, so that players do not confuse what they remember of
    them.

    Args:
        batch, rows: the rows of the batch that a player is asked about.
        salt: uint64 [size], different for all matches that have one identity.
    """

    def __init__(self, batch: Batch, rows: NDArray[np.int64], salt: NDArray[np.uint64]) -> None:
        super().__init__(batch, rows)
        self._salt = salt

    @cached_property
    def match(self) -> NDArray[np.uint64]:
        with np.errstate(over="ignore"):
            number: NDArray[np.uint64] = mix(super().match ^ self._salt[self._rows]) >> np.uint64(1)
        return number


class Playing:
    """Matches played side by side to their ends.

    Args:
        game, options: what is played.
        identity: int64 [matches, 3], the identity (seed, row, match) of each.
        players: who plays.
        seating: int8 [matches, players], the index in ``players`` of whoever sits in each seat.
        salt: see :class:`BoardDecisions`.
        episode: ``"match"`` or ``"deal"``.
        forgiving: whether a player that fails loses the match (see ``faults``) instead of ending the run.
        measures: what is counted; nothing if it is ``None``.
        appraised: bool [matches], the matches in which decisions are appraised too, if the game has an appraiser.
        stop: once it is set, :meth:`play` raises :class:`Stopped`.

    Attributes:
        decisions, seconds: int64 and float64 [len(players)], the number of decisions of each and the time they took.
        faults: one for each match that was lost by a failure.
        counts: int64 [matches, players, len(measures.names)], by seat.
    """

    def __init__(
        self,
        game: Game,
        options: Mapping[str, Any],
        identity: NDArray[np.int64],
        players: Sequence[Player],
        seating: NDArray[np.int8],
        salt: NDArray[np.uint64],
        *,
        episode: str = "match",
        forgiving: bool = False,
        measures: Measures | None = None,
        appraised: NDArray[np.bool_] | None = None,
        stop: Event | None = None,
    ) -> None:
        self.batch = Batch(game, len(identity), seed=0, episode=episode, **options)
        self.batch._identity[:] = np.column_stack([identity, np.zeros(len(identity), np.int64)])
        self.batch._settings[loops.AUTO_RESET] = False
        self.batch._settings[loops.SHOW] = False  # observations are made for the players that ask for them
        self.players = players
        self.seating = seating
        self.salt = salt
        self.forgiving = forgiving
        self.measures = measures
        self.appraised = appraised
        self.stop = stop
        self.faults: list[Fault] = []
        self.decisions = np.zeros(len(players), np.int64)
        self.seconds = np.zeros(len(players))
        names = measures.names if measures else ()
        self.counts = np.zeros((self.batch.size, self.batch.players, len(names)), np.int64)
        self._finished = np.zeros(self.batch.size, np.int64)

    @property
    def totals(self) -> NDArray[np.int64]:
        """int64 [matches, players], the points of each seat."""
        totals: NDArray[np.int64] = self.batch._states["totals"][:, : self.batch.players].astype(np.int64)
        return totals

    @property
    def deals(self) -> NDArray[np.int64]:
        """int64 [matches], the number of deals that were played to their end."""
        deals: NDArray[np.int64] = self.batch._states["finished"].astype(np.int64)
        return deals

    @property
    def truncated(self) -> NDArray[np.bool_]:
        """bool [matches], whether a technical cap ended the match."""
        return self.batch._truncated

    @property
    def to_move(self) -> NDArray[np.int8]:
        """int8 [matches], the seat to move: after a failure the seat that failed."""
        return self.batch._to_move

    def play(self) -> None:
        """Deal the matches and play them to their ends.

        Raises:
            IllegalAction: A player has answered with an illegal action, and failures are not forgiven.
            Stopped: ``stop`` was set.
        """
        batch, who = self.batch, np.zeros(self.batch.size, np.int8)
        rows = np.arange(batch.size)
        trusted = all(is_compiled(player) for player in self.players)
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
            who[rows] = self.seating[rows, batch._to_move[rows]]
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
        """Count the deals that have just ended in these rows and the actions that are about to be played there."""
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
        """Write the actions of one player, and return the reasons for the rows that got none."""
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
        except (Exception, SystemExit):  # a failure in one row must not spoil the others
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
                self.batch._actions[batch_row], reasons[batch_row] = NO_ACTION, reason
                continue
            if answers.shape != (1,) or answers.dtype.kind not in "iuf":
                self.batch._actions[row] = NO_ACTION
                reasons[int(row)] = f"answered {answers.dtype} of shape {answers.shape}, not one integer"
            else:
                reasons |= self._take(only, answers)
        return reasons

    def _take(self, mine: NDArray[np.int64], answers: NDArray[np.generic]) -> dict[int, str]:
        """Take numbers as actions. Whole floats count as integers, because one NaN turns all integers beside it into floats."""
        numbers = answers.astype(np.float64)
        whole = (np.abs(numbers) < 2**31) & (numbers == np.round(numbers))
        self.batch._actions[mine] = np.where(whole, numbers, NO_ACTION).astype(np.int64)
        return {int(mine[i]): f"answered {answers[i]}, no action" for i in np.flatnonzero(~whole)}

    def _legal(self, rows: NDArray[np.int64], who: NDArray[np.int8], reasons: dict[int, str]) -> NDArray[np.int64]:
        """Return the rows with a legal answer; the matches of the others are lost."""
        batch = self.batch
        legal = batch._legal(batch._actions[rows], rows)
        illegal = rows[~legal]
        if len(illegal) and not self.forgiving:
            raise IllegalAction(f"{self.players[who[illegal[0]]]!r}: {batch._explain(illegal)}")
        for row in illegal.tolist():
            reason = reasons.get(row) or batch._explain(np.array([row])).split(": ", 1)[1]
            self.faults.append(Fault(row, int(who[row]), reason))
            batch._actions[row] = NO_ACTION
        self._count(illegal, appraise=False)  # deals that ended before the failure
        return rows[legal]

    def _ask(self, rows: NDArray[np.int64]) -> Decisions:
        return BoardDecisions(self.batch, rows, self.salt)


def hash_decks(game: Game, options: Mapping[str, Any], identity: NDArray[np.int64], digest: Any) -> None:
    """Add the first deck of each match, and the key that its later shuffles are drawn from, to a digest.

    Args:
        game, options: what is played.
        identity: int64 [matches, 3], (seed, row, match) of each.
        digest: of :mod:`hashlib`.
    """
    batch = Batch(game, len(identity), seed=0, **options)
    batch._identity[:] = np.column_stack([identity, np.zeros(len(identity), np.int64)])
    batch._actions[:] = loops.RESET
    batch._run(np.arange(len(identity)))
    digest.update(np.ascontiguousarray(batch._states["deck"]).tobytes())
    digest.update(np.ascontiguousarray(batch._states["key"]).tobytes())
