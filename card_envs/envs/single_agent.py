"""One learner against other players in many matches: the core of the Gymnasium and Stable-Baselines3 environments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from card_envs.engine.batch import make_matches
from card_envs.engine.checks import check_integers, check_seat
from card_envs.engine.game import Deck, Game, OptionValue
from card_envs.engine.identity import Seeds, write_identity
from card_envs.engine.keys import OPPONENTS
from card_envs.engine.loops import MATCH, REFRESH, RESET, ROW
from card_envs.engine.match_arrays import Rows
from card_envs.engine.random import unit
from card_envs.engine.rows import copy_bytes, restore_bytes
from card_envs.players import Player, resolve
from card_envs.players.runner import Runner

Opponents = str | Player | Sequence[str | Player] | Mapping[str, float] | Mapping[Player, float] | None

LEARNER = -1  # the learner, in place of the number of an opponent


@dataclass
class Outcome:
    """What a step brought the learners, in new arrays with one entry for each row.

    Attributes:
        rewards: What the learner was paid, float64 [size].
        terminated, truncated: Whether the match has ended, by the rules or by a technical cap, bool [size].
        final_observation: The last observation of the match if it has ended, otherwise zeros, float32 [size, D].
        illegal: Whether an illegal action has ended the match, bool [size].
        skipped: The number of matches that ended before the learner's first decision, int64 [size].
        skipped_rewards: What the skipped matches paid the learner, which is not part of ``rewards``, float64 [size].
    """

    rewards: NDArray[np.float64]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    final_observation: NDArray[np.float32]
    illegal: NDArray[np.bool_]
    skipped: NDArray[np.int64]
    skipped_rewards: NDArray[np.float64]


def _resolve_opponents(
    opponents: Opponents, game: Game, options: Mapping[str, OptionValue], players: int
) -> tuple[list[Player], NDArray[np.int8], NDArray[np.float64] | None]:
    """Return the players who can sit opposite the learner, and how they are seated.

    Returns:
        players: The players.
        by_distance: Entry i is the number of the player who sits i seats clockwise from the learner.
        weights: If given, a player is drawn for each seat of each match by these cumulative weights instead.
    """
    by_distance = np.array([LEARNER] + [0] * (players - 1), np.int8)
    if opponents is None:
        opponents = game.default_opponent
    if isinstance(opponents, Mapping):
        weights = np.array([float(weight) for weight in opponents.values()])
        if not len(weights) or not np.isfinite(weights).all() or (weights < 0).any() or weights.sum() == 0:
            raise ValueError(f"opponents = {dict(opponents)!r}: weights must be at least 0, and one of them greater than 0")
        return [resolve(spec, game, options) for spec in opponents], by_distance, np.cumsum(weights / weights.sum())
    if isinstance(opponents, Sequence) and not isinstance(opponents, str):
        if len(opponents) != players - 1:
            raise ValueError(
                f"opponents: {len(opponents)} are given, but {players} players need {players - 1} (or one for all)"
            )
        return [resolve(spec, game, options) for spec in opponents], np.arange(LEARNER, players - 1, dtype=np.int8), None
    return [resolve(opponents, game, options)], by_distance, None


class SingleAgentBatch:
    """``size`` matches with one learner in each. :meth:`step` returns when every learner is to move again.

    The reward of a step is the sum of what the learner is paid until they are to move again or the match is over. What is paid
    before their first decision is added to their first step. A match that ends before that decision is counted as skipped, and
    the next match of the row is dealt. When a match ends, the next one is dealt in the same step.

    Attributes:
        matches: The matches.
        runner: The runner, with the opponents as its players.
        seat: The seat of the learner in all matches, or ``None``.

    Args:
        game: The game.
        size: The number of matches.
        opponents: A spec or player for all other seats, a list of n-1 of them clockwise from the learner, or
            ``{spec or player: weight}``, from which they are drawn for each seat of each match. ``None`` stands for the default
            opponent.
        seat: The seat of the learner. With ``None`` it is (seed + row + match) modulo the number of players.
        auto_forced: Whether decisions of the learner with only one legal action are made for them.
        auto_next: Whether the next match of a row is dealt when one is over. Otherwise the row waits for :meth:`reset`.
        seed: As for :meth:`reset`.
        **arguments: ``reward``, ``episode``, ``threads`` and the options of the game, as for :class:`card_envs.Batch`.
    """

    def __init__(
        self,
        game: Game,
        size: int,
        *,
        opponents: Opponents = None,
        seat: int | None = None,
        auto_forced: bool = False,
        auto_next: bool = True,
        seed: int | ArrayLike | None = None,
        **arguments: Any,
    ) -> None:
        # observations are written only for the learners, and at the end of a match before the next one is dealt
        self.matches = make_matches(game, size, auto_reset=False, write_observations=False, **arguments)
        matches = self.matches
        self.seat = None if seat is None else check_seat(seat, matches.players)
        self.auto_next = auto_next
        opposite, self._by_distance, self._weights = _resolve_opponents(opponents, game, matches.options, matches.players)
        self.runner = Runner(matches, opposite, play_forced=bool(auto_forced))
        self._fresh = np.ones(matches.size, np.bool_)  # the learner has not been asked yet
        self.reset(seed)

    # -- looking, in new arrays

    def observation(self) -> NDArray[np.float32]:
        """Return what the learners know, float32 [size, D]."""
        return self._observe(self.matches.rows)

    def _observe(self, rows: Rows) -> NDArray[np.float32]:
        return self.matches.observe(rows, self.runner.learner[rows])

    def action_mask(self) -> NDArray[np.int8]:
        """Return 1 where an action is legal for the learner, int8 [size, A]."""
        return self.matches.action_mask.copy()

    @property
    def learner_seat(self) -> NDArray[np.int64]:
        """The seat of the learner in each row, int64 [size]."""
        return self.runner.learner.copy()

    # -- saving

    def save(self) -> list[bytes]:
        """Return everything that the next steps depend on, except for what players themselves remember."""
        return copy_bytes(self._list_arrays_to_save())

    def restore(self, data: Sequence[bytes]) -> None:
        """Go on from what :meth:`save` returned for matches that were made with the same arguments.

        Raises:
            ValueError: The data belong to another game, size or version.
        """
        restore_bytes(self._list_arrays_to_save(), data)

    def _list_arrays_to_save(self) -> list[NDArray[Any]]:
        runner = self.runner
        return [*self.matches.list_arrays_to_save(), runner.learner, runner.seating, runner.earned, self._fresh]

    # -- playing

    def reset(
        self,
        seed: Seeds = None,
        decks: Sequence[Deck] | None = None,
        rows: Rows | None = None,
    ) -> Outcome:
        """Deal a match in every row, and play up to the first decision of each learner.

        Args:
            seed: As for :meth:`card_envs.Batch.reset`, with one number for each of ``rows``. Where a list holds ``None``, the
                row goes on to its next match.
            decks: The order of the deck in each of ``rows``, as for :class:`card_envs.Table`.
            rows: The rows in which to deal, int64; by default all. The others stay as they are.

        Raises:
            ValueError: A seed or deck is not allowed. Nothing has changed.
        """
        matches = self.matches
        which = matches.rows if rows is None else rows
        orders = [matches.game.read_deck(deck) for deck in decks or ()]
        write_identity(matches, seed, which)
        matches.later_orders.forget(which)
        outcome = self._start_outcome()
        self._seat_matches(which)
        for row, deck in zip(which.tolist(), orders):
            if deck:
                matches.deal_ordered(matches.read_identity(row), deck, row)
                matches.actions[row] = REFRESH  # it has been dealt
        self._play(which.copy(), outcome)
        return outcome

    def step(self, actions: ArrayLike, rows: Rows | None = None, next_rows: Rows | None = None) -> Outcome:
        """Play the actions of the learners. An illegal action ends the match, and the learner gets -1.

        Args:
            actions: An integer array [size].
            rows: The rows in which to play, int64; by default all.
            next_rows: Other rows, int64, in which the next match is dealt instead.

        Raises:
            ValueError: The array has a wrong shape or dtype.
        """
        matches, earned = self.matches, self.runner.earned
        matches.actions[:] = check_integers(actions, matches.size, "actions")
        which = matches.rows if rows is None else rows
        outcome = self._start_outcome()
        legal = matches.is_legal(which)
        bad = which[~legal]
        self._fresh[which] = False
        playing = which[legal].copy()
        if next_rows is not None:
            playing = np.concatenate([playing, self._next_matches(next_rows)])
        self._play(playing, outcome)
        if len(bad):
            outcome.illegal[bad] = True
            outcome.terminated[bad] = True
            outcome.final_observation[bad] = self._observe(bad)
            earned[bad] -= 1.0
            outcome.rewards[bad] = earned[bad]
            if self.auto_next:
                self._play(self._next_matches(bad), outcome)
        going_on = which[legal & ~(outcome.terminated | outcome.truncated)[which]]
        outcome.rewards[going_on] = earned[going_on]
        earned[going_on] = 0.0
        return outcome

    def _start_outcome(self) -> Outcome:
        n = self.matches.size
        return Outcome(
            rewards=np.zeros(n),
            terminated=np.zeros(n, np.bool_),
            truncated=np.zeros(n, np.bool_),
            final_observation=np.zeros_like(self.matches.observation),
            illegal=np.zeros(n, np.bool_),
            skipped=np.zeros(n, np.int64),
            skipped_rewards=np.zeros(n),
        )

    def _play(self, rows: Rows, outcome: Outcome) -> None:
        """Carry out the actions of ``rows``, which is overwritten, then those of the others until the learners are to move."""
        self.runner.play(rows, lambda over: self._finish(over, outcome))

    def _finish(self, over: Rows, outcome: Outcome) -> Rows:
        """Note how matches have ended, and return the rows that go on to their next match."""
        matches, earned = self.matches, self.runner.earned
        fresh = over[self._fresh[over]]  # over before the learner's first decision
        outcome.skipped[fresh] += 1
        outcome.skipped_rewards[fresh] += earned[fresh]
        played = over[~self._fresh[over]]
        outcome.terminated[played] = matches.terminated[played]
        outcome.truncated[played] = matches.truncated[played]
        outcome.rewards[played] = earned[played]
        outcome.final_observation[played] = self._observe(played)
        return self._next_matches(over if self.auto_next else fresh)

    def _next_matches(self, rows: Rows) -> Rows:
        self.matches.identity[rows, MATCH] += 1
        self.matches.later_orders.forget(rows)
        return self._seat_matches(rows)

    def _seat_matches(self, rows: Rows) -> Rows:
        """Seat the players of new matches, prepare the deal, and return a copy of the rows."""
        players, learner, seating = self.matches.players, self.runner.learner, self.runner.seating
        if self.seat is None:
            words = (self.matches.seeds[rows] % np.uint64(players)).astype(np.int64)
            seeds = words @ [pow(2, 64 * place, players) for place in range(words.shape[1])]
            learner[rows] = (seeds + (self.matches.identity[rows][:, [ROW, MATCH]] % players).sum(axis=1)) % players
        else:
            learner[rows] = self.seat
        distance = (np.arange(players) - learner[rows][:, None]) % players
        if self._weights is None:
            seating[rows] = self._by_distance[distance]
        else:
            keys = [self.matches.derive(OPPONENTS, rows, np.full(len(rows), seat)) for seat in range(players)]
            uniform = unit(np.stack(keys, axis=1))
            drawn = np.minimum(np.searchsorted(self._weights, uniform, side="right"), len(self._weights) - 1)
            seating[rows] = np.where(distance == 0, LEARNER, drawn)
        self.runner.earned[rows] = 0.0
        self._fresh[rows] = True
        self.matches.actions[rows] = RESET
        return rows.copy()
