"""One learner against other players, in many matches at once: the core of the Gymnasium and Stable-Baselines3 environments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from card_envs.engine.batch import make_matches
from card_envs.engine.checks import check_integers, check_seat
from card_envs.engine.game import Deck, Game, OptionValue
from card_envs.engine.identity import write_identity
from card_envs.engine.keys import OPPONENTS
from card_envs.engine.loops import MATCH, REFRESH, RESET
from card_envs.engine.matches import write_saved
from card_envs.engine.random import unit
from card_envs.players import Player, resolve
from card_envs.players.runner import Runner

Opponents = str | Player | Sequence[str | Player] | Mapping[str, float] | None
Rows = NDArray[np.int64]

LEARNER = -1  # in a seating: the learner themselves


@dataclass
class Outcome:
    """What a step brought the learners, one value for each row. All arrays are fresh.

    Attributes:
        rewards: float64 [size].
        terminated, truncated: bool [size], whether the match has ended.
        final_observation: float32 [size, D], of the rows whose match has ended, otherwise zeros.
        illegal: bool [size], whether the match was ended by an action that was not legal.
        skipped: int64 [size], matches that ended before the learner's first decision.
        skipped_rewards: float64 [size], what those paid the learner; it is not part of ``rewards``.
    """

    rewards: NDArray[np.float64]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    final_observation: NDArray[np.float32]
    illegal: NDArray[np.bool_]
    skipped: NDArray[np.int64]
    skipped_rewards: NDArray[np.float64]


@dataclass
class _Opposition:
    """The players who can sit opposite the learner, and how they are seated.

    Attributes:
        players: the players.
        by_distance: which of them sits so many seats clockwise from the learner.
        weights: cumulated weights by which a player is drawn for each seat of each match, instead of ``by_distance``.
    """

    players: list[Player]
    by_distance: list[int]
    weights: NDArray[np.float64] | None = None


def _resolve_opponents(opponents: Opponents, game: Game, options: Mapping[str, OptionValue], players: int) -> _Opposition:
    if opponents is None:
        opponents = game.default_opponent
    if isinstance(opponents, Mapping):
        weights = np.array([float(weight) for weight in opponents.values()])
        if not len(weights) or not np.isfinite(weights).all() or (weights < 0).any() or weights.sum() == 0:
            raise ValueError(f"opponents = {dict(opponents)!r}: weights are numbers >= 0, one of them > 0")
        return _Opposition([resolve(spec, game, options) for spec in opponents], [], np.cumsum(weights / weights.sum()))
    if isinstance(opponents, Sequence) and not isinstance(opponents, str):
        if len(opponents) != players - 1:
            raise ValueError(f"opponents: {len(opponents)} are given, {players} players need {players - 1} (or one for all)")
        return _Opposition([resolve(spec, game, options) for spec in opponents], [*range(LEARNER, players - 1)])
    return _Opposition([resolve(opponents, game, options)], [LEARNER] + [0] * (players - 1))


class SingleAgentBatch:
    """``size`` matches with one learner each; :meth:`step` returns when every learner is to move again.

    The learner's reward is the sum of *their* rewards over everybody's moves until they are to move again or the match is
    over; what is paid before their first decision is added to their first step. A match that ends before that decision is
    counted as skipped, and the row is dealt its next one. When a match ends, the row goes on to its next one in the same step.

    Attributes:
        matches: the matches.
        seat: the learner's seat in all matches, or ``None``.

    Args:
        game: the game.
        size: the number of matches.
        opponents: a spec or player for all other seats, a list of n-1 of them (clockwise from the learner), or
            ``{spec: weight}``, drawn for each seat of each match. ``None`` stands for the game's default opponent.
        seat: the learner's seat; with ``None`` the seats take turns: (seed + row + match) modulo the number of players.
        auto_forced: whether decisions of the learner with only one legal action are made for them.
        auto_next: whether a row is dealt its next match when one is over; otherwise it stays as it is until :meth:`reset`.
        seed: as for :meth:`reset`.
        **arguments: ``reward``, ``episode``, ``threads`` and the game's options, as for :class:`card_envs.Batch`.
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
        # the learner's view of a match's end is read before the next one is dealt; what the others see need not be written
        self.matches = make_matches(game, size, auto_reset=False, write_observations=False, **arguments)
        matches = self.matches
        self.seat = None if seat is None else check_seat(seat, matches.players)
        self.auto_forced = bool(auto_forced)
        self.auto_next = auto_next
        self._opposition = _resolve_opponents(opponents, game, matches.options, matches.players)
        self._runner = Runner(matches, self._opposition.players, play_forced=self.auto_forced)
        self._fresh = np.ones(matches.size, np.bool_)  # the match has not asked the learner yet
        self.reset(seed)

    # -- looking: all arrays are fresh

    def observation(self) -> NDArray[np.float32]:
        """Return what each learner, who is to move, knows: float32 [size, D]."""
        return self._observe(self.matches.rows)

    def _observe(self, rows: Rows) -> NDArray[np.float32]:
        return self.matches.observe(rows, self._runner.learner[rows])

    def action_mask(self) -> NDArray[np.int8]:
        """Return the learners' legal actions, int8 [size, A]."""
        return self.matches.action_mask.copy()

    @property
    def learner_seat(self) -> NDArray[np.int64]:
        """The learner's seat in each row, int64 [size]."""
        return self._runner.learner.copy()

    @property
    def seating(self) -> NDArray[np.int8]:
        """Which opponent sits in each seat, int8 [size, players]: their number, -1 for the learner."""
        return self._runner.seating.copy()

    @property
    def opponents(self) -> list[Player]:
        """The players who can sit opposite the learner."""
        return list(self._opposition.players)

    # -- saving

    def save(self) -> list[bytes]:
        """Return all that the next steps depend on, except for what players of your own remember."""
        return [array.tobytes() for array in self._saved()]

    def restore(self, data: Sequence[bytes]) -> None:
        """Go on from what :meth:`save` returned for matches that were made with the same arguments.

        Raises:
            ValueError: the data are those of another game, size or version.
        """
        write_saved(self._saved(), data)

    def _saved(self) -> tuple[NDArray[Any], ...]:
        runner = self._runner
        return *self.matches.saved(), runner.learner, runner.seating, runner.earned, self._fresh

    # -- playing

    def reset(self, seed: int | ArrayLike | None = None, deck: Deck = None) -> Outcome:
        """Deal new matches everywhere, and play up to each learner's first decision.

        Args:
            seed: as for :meth:`card_envs.Batch.reset`.
            deck: a given order, as for :class:`card_envs.Table`; only with one row.
        """
        matches = self.matches
        orders = matches.game.deck_orders(deck)
        write_identity(matches, seed)
        matches.later_orders = {}
        if deck is not None:
            matches.deal_ordered(matches.read_identity(0), orders)
        outcome = self._start_outcome()
        self._play(self._seat_matches(matches.rows, deal=deck is None), outcome)
        return outcome

    def step(self, actions: ArrayLike, rows: Rows | None = None) -> Outcome:
        """Play the learners' actions. An illegal action ends its match, and the learner gets -1.

        Args:
            actions: an integer array [size].
            rows: int64, the only rows in which they are played; by default all.

        Raises:
            ValueError: a wrong shape or dtype.
        """
        matches, earned = self.matches, self._runner.earned
        given = check_integers(actions, matches.size, "actions")
        which = matches.rows if rows is None else rows
        outcome = self._start_outcome()
        matches.actions[:] = given
        legal = matches.is_legal(given[which], which)
        bad = which[~legal]
        self._fresh[which] = False
        self._play(which[legal].copy(), outcome)
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
        """Carry out the actions of ``rows`` (a scratch array), then the others' until the learners are to move."""
        self._runner.play(rows, lambda over: self._finish(over, outcome))

    def _finish(self, over: Rows, outcome: Outcome) -> Rows:
        """Note how matches ended, and return the rows that go on to their next match."""
        matches, earned = self.matches, self._runner.earned
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
        self.matches.later_orders = {}
        return self._seat_matches(rows)

    def _seat_matches(self, rows: Rows, *, deal: bool = True) -> Rows:
        """Seat new matches, which are dealt when their actions are carried out; return a copy of the rows."""
        self._seat(rows)
        self._runner.earned[rows] = 0.0
        self._fresh[rows] = True
        self.matches.actions[rows] = RESET if deal else REFRESH
        return rows.copy()

    def _seat(self, rows: Rows) -> None:
        opposition, players = self._opposition, self.matches.players
        learner, seating = self._runner.learner, self._runner.seating
        _, numbers, matches = self.matches.identity[rows].T
        if self.seat is None:
            words = (self.matches.seeds[rows] % np.uint64(players)).astype(np.int64)
            seeds = words @ [pow(2, 64 * place, players) for place in range(words.shape[1])]
            learner[rows] = (seeds + numbers % players + matches % players) % players
        else:
            learner[rows] = self.seat
        distance = (np.arange(players) - learner[rows][:, None]) % players
        if opposition.weights is None:
            seating[rows] = np.array(opposition.by_distance, np.int8)[distance]
        else:
            drawn_from = [self.matches.derive(OPPONENTS, rows, np.full(len(rows), seat)) for seat in range(players)]
            uniform = np.stack([unit(keys) for keys in drawn_from], axis=1)
            drawn = np.minimum(np.searchsorted(opposition.weights, uniform, side="right"), len(opposition.players) - 1)
            seating[rows] = np.where(distance == 0, LEARNER, drawn)
