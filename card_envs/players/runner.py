"""The one loop in which matches are played: players are seated, and asked until their matches are over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from card_envs.engine.game import IllegalAction
from card_envs.engine.legality import explain_illegal
from card_envs.engine.loops import NOBODY
from card_envs.engine.match_arrays import Rows
from card_envs.engine.matches import Matches
from card_envs.players.player import Decisions, Player, check_answer

NO_ACTION = -3  # in place of an action that a player has failed to give
PATIENCE = 8  # steps between two calls of `succeed`, so that many new matches start together


class Watcher:
    """A base class for objects that watch a :class:`Runner` play. Its methods do nothing; override the ones you need."""

    def before_choice(self, rows: Rows, who: NDArray[np.int8]) -> None:
        """Take note that the players ``who[rows]`` are about to be asked in these rows."""

    def after_choice(self, rows: Rows, who: NDArray[np.int8]) -> None:
        """Take note that the players ``who[rows]`` have chosen ``matches.actions[rows]``, which are about to be carried out."""

    def after_end(self, rows: Rows) -> None:
        """Take note that the matches of these rows have just ended."""

    def after_failure(self, rows: Rows) -> None:
        """Take note that a player has failed and lost the matches of these rows: see :attr:`Runner.failures`."""


@dataclass(frozen=True)
class Failure:
    """Why a player lost the match of a row at once.

    Attributes:
        row: The row of the match.
        player: The number of the player among the runner's players.
        reason: What went wrong, in words.
    """

    row: int
    player: int
    reason: str


class Runner:
    """Players seated at matches.

    Attributes:
        seating: The number of the player in each seat, int8 [size, players].
        learner: The seat whose decisions are made elsewhere, or NOBODY, int64 [size]. The row waits for them.
        earned: The sum of what the learner was paid, float64 [size]. The caller resets it.
        who: The number of the player who is to move, int8 [size].
        seconds: How long each player took to answer, float64 [len(players)].
        failures: With ``forgiving``, one for each match that a player lost by failing.

    Args:
        matches: The matches. Their ``auto_reset`` must be off, and ``write_observations`` may be off.
        players: The players who can be seated.
        play_forced: Whether to play the learner's decisions that have only one legal action.
        forgiving: Whether a player that raises or answers with an illegal action loses its match instead of stopping the run.
        salt: See :class:`~card_envs.players.player.Decisions`.
        watcher: An object that is told what happens.
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
        self.watcher = watcher or Watcher()
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
            rows: The rows, int64. The array is overwritten.
            succeed: Takes rows whose matches are over and returns those that go on, after it has written into
                ``matches.actions`` how (such as RESET). By default none do.

        Raises:
            IllegalAction: A player's answer is not legal, and the runner is not forgiving.
            ValueError: A player's answer is not an array of integers, and the runner is not forgiving.
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
                self.watcher.after_end(ended[-1])
            if waiting:
                rows = self._choose(rows)
            steps += 1
            if ended and (not len(rows) or steps % PATIENCE == 0):
                if succeed is not None:
                    rows = np.concatenate([rows, succeed(np.concatenate(ended))])
                ended = []

    def choose(self, rows: Rows) -> None:
        """Ask the players who are to move in these rows, and write their choices into ``matches.actions``."""
        self.who[rows] = self.seating[rows, self.matches.to_move[rows]]
        self._choose(rows)

    def _choose(self, rows: Rows) -> Rows:
        """Ask the players in ``who``, and return the rows in which they have not failed."""
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
            self.watcher.after_failure(lost)
        if len(rows):
            self.watcher.after_choice(rows, self.who)
        return rows

    def _ask(self, mine: Rows, index: int) -> list[Failure]:
        """Write the answer of one player, and return its failures if the runner is forgiving."""
        matches, player = self.matches, self.players[index]
        if self.forgiving:
            reasons = self._ask_forgivingly(mine, player)
        else:
            reasons = {}
            matches.actions[mine] = check_answer(player.act(Decisions(matches, mine, self.salt)), len(mine), player)
        illegal = matches.find_illegal(mine)
        if not len(illegal):
            return []
        if not self.forgiving:
            raise IllegalAction(f"{player!r}: {explain_illegal(matches, illegal)}")
        failures = []
        for row in illegal.tolist():
            reason = reasons.get(row) or explain_illegal(matches, np.array([row])).split(": ", 1)[1]
            failures.append(Failure(row, index, reason))
            matches.actions[row] = NO_ACTION
        return failures

    def _ask_forgivingly(self, mine: Rows, player: Player, *, alone: bool = False) -> dict[int, str]:
        """Write the answer of one player, and return the reasons in rows without one; ``alone`` means that there is one row."""
        try:
            answers = np.asarray(player.act(Decisions(self.matches, mine, self.salt)))
        except (Exception, SystemExit) as error:
            reason = " ".join(f"raised {type(error).__name__}: {error}".split())
        else:
            if answers.shape == mine.shape and answers.dtype.kind in "iuf":
                return self._write_numbers(mine, answers)
            reason = f"answered {answers.dtype} of shape {answers.shape}, not one integer"
        if alone:
            self.matches.actions[mine] = NO_ACTION
            return {int(mine[0]): reason}
        reasons: dict[int, str] = {}
        for row in mine.tolist():  # a failure in one row must not affect the others, so the player is asked for each of them
            reasons |= self._ask_forgivingly(np.array([row]), player, alone=True)
        return reasons

    def _write_numbers(self, mine: Rows, answers: NDArray[np.generic]) -> dict[int, str]:
        """Write numbers as actions. Whole floats count as integers, since one NaN makes floats of all numbers in an array."""
        numbers = answers.astype(np.float64)
        whole = (np.abs(numbers) < 2**31) & (numbers == np.round(numbers))
        self.matches.actions[mine] = np.where(whole, numbers, NO_ACTION).astype(np.int64)
        return {int(mine[i]): f"answered {answers[i]}, no action" for i in np.flatnonzero(~whole)}
