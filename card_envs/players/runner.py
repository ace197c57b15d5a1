"""Players seated at matches, played on until a condition: the one loop in which matches are played."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from card_envs.engine.game import IllegalAction
from card_envs.engine.loops import NOBODY
from card_envs.engine.matches import Matches
from card_envs.players.player import Decisions, Player, check_answer

NO_ACTION = -3  # laid ready where a player has given none
PATIENCE = 8  # steps of the rows that go on between two looks at those that are over: so new matches are played beside the rest

Rows = NDArray[np.int64]


class Watcher:
    """Is told what happens in the rows that a :class:`Runner` plays. This one does nothing: override what matters."""

    def before_choice(self, rows: Rows, who: NDArray[np.int8]) -> None:
        """In these rows the players ``who[rows]`` are about to be asked."""

    def after_choice(self, rows: Rows, who: NDArray[np.int8]) -> None:
        """The players ``who[rows]`` have chosen ``matches.actions[rows]``, which are about to be carried out."""

    def after_end(self, rows: Rows) -> None:
        """The matches of these rows have just ended."""

    def after_failure(self, rows: Rows) -> None:
        """The matches of these rows were lost by a player that failed: see :attr:`Runner.failures`."""


@dataclass(frozen=True)
class Failure:
    """Why a player lost the match of a row there and then.

    Attributes:
        row: of the matches.
        player: its number among the runner's players.
        reason: in words.
    """

    row: int
    player: int
    reason: str


class Runner:
    """Players seated at matches.

    Attributes:
        seating: int8 [size, players], the number of the player who sits in each seat.
        learner: int64 [size], the seat whose decisions are made elsewhere: the row waits for them. NOBODY if there is none.
        earned: float64 [size], the sum of what was paid to the learner; the caller resets it.
        who: int8 [size], the number of the player who is to move.
        seconds: float64 [len(players)], how long each player took to answer.
        failures: with ``forgiving``, one for each match that was lost by a player that failed.

    Args:
        matches: the matches; the runner needs no observations in them, and deals no next match (``auto_reset`` is off).
        players: who can be seated.
        play_forced: whether to play the learner's decisions that have only one legal action.
        forgiving: whether a player that raises, or whose answer is not legal, loses its match instead of stopping the run.
        salt: see :class:`~card_envs.players.player.Decisions`.
        watcher: is told what happens.
    """

    def __init__(
        self,
        matches: Matches,
        players: Sequence[Player],
        *,
        play_forced: bool = False,
        forgiving: bool = False,
        salt: NDArray[np.uint64] | None = None,
        watcher: Watcher | None = None,
    ) -> None:
        self.matches = matches
        self.players = list(players)
        self.play_forced = int(play_forced)
        self.forgiving = forgiving
        self.salt = salt
        self.watcher = watcher
        n = matches.size
        self.seating = np.zeros((n, matches.players), np.int8)
        self.learner = np.full(n, NOBODY, np.int64)
        self.earned = np.zeros(n)
        self.who = np.zeros(n, np.int8)
        self.seconds = np.zeros(len(self.players))
        self.failures: list[Failure] = []
        self._over = np.empty(n, np.int64)
        self._writers = [getattr(player, "write_actions", None) for player in self.players]

    def play(self, rows: Rows, succeed: Callable[[Rows], Rows] | None = None) -> None:
        """Carry out ``matches.actions`` in these rows, then ask the players until every row is over or waits for its learner.

        Args:
            rows: int64, the rows. The array is used as scratch space.
            succeed: is given the rows that are over and returns those that go on with an action laid ready, such as the deal
                of the next match. By default none do.

        Raises:
            IllegalAction: a player's answer is not legal (unless the runner is forgiving).
            ValueError: a player's answer is no array of integers (likewise).
        """
        ended: list[Rows] = []
        steps = 0
        while len(rows):
            self.matches.run(rows)
            waiting, over = self.matches.sort(
                rows, self.seating, self.learner, self.play_forced, self.earned, self.who, self._over
            )
            rows = rows[:waiting]
            if over:
                ended.append(self._over[:over].copy())
                if self.watcher is not None:
                    self.watcher.after_end(ended[-1])
            if waiting:
                rows = self._choose(rows)
            steps += 1
            if ended and (not len(rows) or steps % PATIENCE == 0):
                if succeed is not None:
                    rows = np.concatenate([rows, succeed(np.concatenate(ended))])
                ended = []

    def choose(self, rows: Rows) -> None:
        """Ask the players who are to move in these rows, and write what they choose into ``matches.actions``."""
        self.who[rows] = self.seating[rows, self.matches.to_move[rows]]
        self._choose(rows)

    def _choose(self, rows: Rows) -> Rows:
        """Ask the players named in ``who``; return the rows that have an action to be carried out."""
        if self.watcher is not None:
            self.watcher.before_choice(rows, self.who)
        failed: list[Failure] = []
        for index, write in enumerate(self._writers):
            start = perf_counter()
            if write is not None:
                write(self.matches, rows, self.who, index)
            else:
                mine = rows[self.who[rows] == index]
                if len(mine):
                    failed += self._ask(mine, index)
            self.seconds[index] += perf_counter() - start
        if failed:
            self.failures += sorted(failed, key=lambda failure: failure.row)
            lost = np.array([failure.row for failure in failed], np.int64)
            rows = rows[~np.isin(rows, lost)]
            if self.watcher is not None:
                self.watcher.after_failure(lost)
        if self.watcher is not None and len(rows):
            self.watcher.after_choice(rows, self.who)
        return rows

    def _ask(self, mine: Rows, index: int) -> list[Failure]:
        """Write one player's answer; return what went wrong, if the runner forgives it."""
        matches, player = self.matches, self.players[index]
        if self.forgiving:
            reasons = self._write_forgiving(mine, player)
        else:
            reasons = {}
            matches.actions[mine] = check_answer(player.act(self._decisions(mine)), len(mine), player)
        illegal = mine[~matches.is_legal(matches.actions[mine], mine)]
        if not len(illegal):
            return []
        if not self.forgiving:
            raise IllegalAction(f"{player!r}: {matches.explain_illegal(illegal)}")
        failures = []
        for row in illegal.tolist():
            reason = reasons.get(row) or matches.explain_illegal(np.array([row])).split(": ", 1)[1]
            failures.append(Failure(row, index, reason))
            matches.actions[row] = NO_ACTION
        return failures

    def _write_forgiving(self, mine: Rows, player: Player) -> dict[int, str]:
        """Write a player's answer where it is one; return for every row without an answer the reason."""
        try:
            answers = np.asarray(player.act(self._decisions(mine)))
            if answers.shape != mine.shape or answers.dtype.kind not in "iuf":
                raise ValueError
        except (Exception, SystemExit):  # a failure in one row is not to harm the others, so each is asked by itself
            return self._write_row_by_row(mine, player)
        return self._write_numbers(mine, answers)

    def _write_row_by_row(self, mine: Rows, player: Player) -> dict[int, str]:
        reasons: dict[int, str] = {}
        for row in mine.tolist():
            only = np.array([row])
            try:
                answers = np.asarray(player.act(self._decisions(only)))
            except (Exception, SystemExit) as error:
                self.matches.actions[row] = NO_ACTION
                reasons[row] = " ".join(f"raised {type(error).__name__}: {error}".split())
                continue
            if answers.shape != (1,) or answers.dtype.kind not in "iuf":
                self.matches.actions[row] = NO_ACTION
                reasons[row] = f"answered {answers.dtype} of shape {answers.shape}, not one integer"
            else:
                reasons |= self._write_numbers(only, answers)
        return reasons

    def _write_numbers(self, mine: Rows, answers: NDArray[np.generic]) -> dict[int, str]:
        """Write numbers as actions. Whole floats count as integers, since one NaN turns all numbers beside it into floats."""
        numbers = answers.astype(np.float64)
        whole = (np.abs(numbers) < 2**31) & (numbers == np.round(numbers))
        self.matches.actions[mine] = np.where(whole, numbers, NO_ACTION).astype(np.int64)
        return {int(mine[i]): f"answered {answers[i]}, no action" for i in np.flatnonzero(~whole)}

    def _decisions(self, rows: Rows) -> Decisions:
        return Decisions(self.matches, rows, self.salt)
