"""One learner against other players, in many matches at once: what the Gymnasium and Stable-Baselines3 doors are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from card_envs.engine import loops
from card_envs.engine.batch import Batch
from card_envs.engine.compiled import direct
from card_envs.engine.game import Deck, Game, OptionValue
from card_envs.engine.random import PLAYERS, match_key, stream, unit
from card_envs.players import Player, resolve
from card_envs.players.player import seat_players

TURNS = 8  # of the others between two looks at the matches that have ended: their successors are played beside the rest

Opponents = str | Player | Sequence[str | Player] | Mapping[str, float] | None


@dataclass
class Outcome:
    """What a step brought the learner, one value a row; all arrays are fresh."""

    rewards: NDArray[np.float64]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    final_observation: NDArray[np.float32]  # of the rows whose match has ended, else zeros
    illegal: NDArray[np.bool_]  # ended by an action that was not legal
    skipped: NDArray[np.int64]  # matches that ended before the learner's first decision
    skipped_rewards: NDArray[np.float64]  # what those paid the learner: not part of ``rewards``


@dataclass
class _Pool:
    """The players that can sit opposite the learner, and how they are seated."""

    players: list[Player]
    by_distance: list[int]  # which of them sits d seats clockwise from the learner, who is -1 himself
    weights: NDArray[np.float64] | None = None  # or cumulated weights: drawn for each seat of each match


def _pool(opponents: Opponents, game: Game, options: Mapping[str, OptionValue], players: int) -> _Pool:
    if opponents is None:
        opponents = game.default_opponent
    if isinstance(opponents, Mapping):
        weights = np.array([float(weight) for weight in opponents.values()])
        if not len(weights) or not np.isfinite(weights).all() or (weights < 0).any() or weights.sum() == 0:
            raise ValueError(f"opponents = {dict(opponents)!r}: weights are numbers >= 0, one of them > 0")
        return _Pool([resolve(spec, game, options) for spec in opponents], [-1], np.cumsum(weights / weights.sum()))
    if isinstance(opponents, Sequence) and not isinstance(opponents, str):
        if len(opponents) != players - 1:
            raise ValueError(f"opponents: {len(opponents)} are given, {players} players need {players - 1} (or one for all)")
        return _Pool([resolve(spec, game, options) for spec in opponents], [*range(-1, players - 1)])
    return _Pool([resolve(opponents, game, options)], [-1] + [0] * (players - 1))


class SingleAgentBatch:
    """``size`` matches, each with one learner; :meth:`step` returns when every learner is to move again.

    The learner's reward is the sum of *his* rewards over everybody's moves until he is to move again or the match is over;
    what falls before his first decision is added to his first step. A match that ends before it is counted as skipped, and
    the row's next one is dealt. After a match the row goes on to its next one in the same step.

    Args:
        game, size, reward, episode, threads, **options: as for :class:`card_envs.Batch`.
        opponents: a spec or player for all other seats, a list of n-1 of them (clockwise from the learner), or
            ``{spec: weight}``, drawn for each seat of each match. ``None``: the game's default opponent.
        seat: the learner's seat; ``None``: the seats take turns, (seed + row + match) modulo players.
        auto_forced: play the learner's choices of one for him.
        auto_next: deal a row its next match when one is over; otherwise the row stays as it is until :meth:`reset`.
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
        self.batch = Batch(game, size, seed=0, **arguments)
        batch = self.batch
        # the learner's view of the end is read before the next match is dealt; what the others see is not looked at
        batch._settings[loops.AUTO_RESET] = False
        batch._settings[loops.SHOW] = False
        self.seat = None if seat is None else int(batch._seats(seat)[0])
        self.auto_forced = bool(auto_forced)
        self.auto_next = auto_next
        self._pool = _pool(opponents, game, batch.options, batch.players)
        n = batch.size
        self._learner = np.zeros(n, np.int64)
        self._seating = np.zeros((n, batch.players), np.int8)
        self._who = np.zeros(n, np.int8)
        self._earned = np.zeros(n)
        self._over = np.empty(n, np.int64)
        self._fresh = np.ones(n, np.bool_)  # the match has not asked the learner yet
        self._sort = batch._loops.sort
        batch._identity[:, loops.SEED] = -1  # not seeded yet
        self.reset(seed)

    # -- what is to be seen: fresh arrays

    def observation(self) -> NDArray[np.float32]:
        """What each learner, who is to move, knows: float32 [size, D]."""
        return self._observe(self.batch._rows)

    def _observe(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        views = np.empty((len(rows), self.batch.observation_size), np.float32)
        self.batch._loops.observe(self.batch._states, rows, self._learner[rows], views)
        return views

    def action_mask(self) -> NDArray[np.int8]:
        """int8 [size, A]."""
        return self.batch.action_mask.copy()

    @property
    def learner_seat(self) -> NDArray[np.int64]:
        """The learner's seat in each row, int64 [size]."""
        return self._learner.copy()

    # -- saving

    def state(self) -> list[bytes]:
        """All that the next steps depend on, for :meth:`restore` (but for what players of your own remember)."""
        return [array.tobytes() for array in self._saved()]

    def restore(self, state: Sequence[bytes]) -> None:
        """Go on from a :meth:`state` of a learner made with the same arguments; ``ValueError`` for one of another shape."""
        saved = self._saved()
        if [len(data) for data in state] != [array.nbytes for array in saved]:
            raise ValueError("the state is one of another game, size or version")
        for array, data in zip(saved, state, strict=True):
            array.view(np.uint8).reshape(-1)[:] = np.frombuffer(data, np.uint8)

    def _saved(self) -> tuple[NDArray[Any], ...]:
        return *self.batch._saved(), self._learner, self._seating, self._earned, self._fresh

    # -- playing

    def reset(self, seed: int | ArrayLike | None = None, deck: Deck = None) -> Outcome:
        """New matches everywhere (seeds as for ``Batch.reset``), played up to each learner's first decision.

        ``deck``, a given order as for :class:`card_envs.Table`, only with one row.
        """
        batch = self.batch
        if deck is not None:
            batch.game.deck_orders(deck)
        batch.identify(seed)
        if deck is not None:
            batch.deal(batch._identity[0, : loops.DECISION].tolist(), deck)
        outcome = self._outcome()
        self._play(self._begin(batch._rows, deal=deck is None), outcome)
        return outcome

    def step(self, actions: ArrayLike, rows: NDArray[np.int64] | None = None) -> Outcome:
        """Play the learners' actions, an integer array [size]; with ``rows`` only in these.

        An illegal action ends its match: the learner gets -1. ``ValueError`` for a wrong shape or dtype.
        """
        batch = self.batch
        given = batch._integers(actions, "actions")
        which = batch._rows if rows is None else rows
        outcome = self._outcome()
        batch._actions[:] = given
        legal = batch._legal(given[which], which)
        bad = which[~legal]
        self._fresh[which] = False
        self._play(which[legal].copy(), outcome)
        if len(bad):
            outcome.illegal[bad] = True
            outcome.terminated[bad] = True
            outcome.final_observation[bad] = self._observe(bad)
            self._earned[bad] -= 1.0
            outcome.rewards[bad] = self._earned[bad]
            if self.auto_next:
                self._play(self._next(bad), outcome)
        going_on = which[legal & ~(outcome.terminated | outcome.truncated)[which]]
        outcome.rewards[going_on] = self._earned[going_on]
        self._earned[going_on] = 0.0
        return outcome

    def _outcome(self) -> Outcome:
        n = self.batch.size
        return Outcome(
            np.zeros(n), np.zeros(n, np.bool_), np.zeros(n, np.bool_), np.zeros_like(self.batch._observation),
            np.zeros(n, np.bool_), np.zeros(n, np.int64), np.zeros(n),
        )  # fmt: skip

    def _play(self, rows: NDArray[np.int64], outcome: Outcome) -> None:
        """Carry out the actions of ``rows`` (a scratch array), then the others' until the learners are to move."""
        batch = self.batch
        ended_rows: list[NDArray[np.int64]] = []
        turns = 0
        while len(rows):
            batch._run(rows)
            if batch._orders:
                batch.give_order()
            going, ended = self._sort(
                rows, batch._to_move, self._learner, self._seating, batch._words, batch._rewards, self._earned,
                self.auto_forced, self._who, batch._actions, self._over,
            )  # fmt: skip
            self._sort = direct(self._sort)
            rows = rows[:going]
            if going:
                seat_players(batch, rows, self._who, self._pool.players, batch._actions)
            if ended:
                ended_rows.append(self._over[:ended].copy())
            turns += 1
            if ended_rows and (not going or turns % TURNS == 0):
                rows = np.concatenate([rows, self._finish(np.concatenate(ended_rows), outcome)])
                ended_rows = []

    def _finish(self, over: NDArray[np.int64], outcome: Outcome) -> NDArray[np.int64]:
        """Note how matches ended, and go on to the next ones of these rows, which are returned."""
        batch = self.batch
        fresh = over[self._fresh[over]]  # over before the learner's first decision
        outcome.skipped[fresh] += 1
        outcome.skipped_rewards[fresh] += self._earned[fresh]
        played = over[~self._fresh[over]]
        outcome.terminated[played] = batch._terminated[played]
        outcome.truncated[played] = batch._truncated[played]
        outcome.rewards[played] = self._earned[played]
        outcome.final_observation[played] = self._observe(played)
        return self._next(over if self.auto_next else fresh)

    def _next(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        self.batch._identity[rows, loops.MATCH] += 1
        self.batch._orders = {}
        return self._begin(rows)

    def _begin(self, rows: NDArray[np.int64], *, deal: bool = True) -> NDArray[np.int64]:
        """Seat new matches, to be dealt when their actions are carried out."""
        self._seat(rows)
        self._earned[rows] = 0.0
        self._fresh[rows] = True
        self.batch._actions[rows] = loops.RESET if deal else loops.LOOK
        return rows.copy()

    def _seat(self, rows: NDArray[np.int64]) -> None:
        batch, pool, players = self.batch, self._pool, self.batch.players
        seeds, numbers, matches = batch._identity[rows, : loops.DECISION].T
        self._learner[rows] = (seeds % players + numbers + matches) % players if self.seat is None else self.seat
        distance = (np.arange(players) - self._learner[rows][:, None]) % players
        if pool.weights is None:
            self._seating[rows] = np.array(pool.by_distance, np.int8)[distance]
        else:
            with np.errstate(over="ignore"):
                key = match_key(seeds, numbers, matches)
                uniform = np.stack([unit(stream(key, PLAYERS + 1 + seat)) for seat in range(players)], axis=1)
            drawn = np.minimum(np.searchsorted(pool.weights, uniform, side="right"), len(pool.players) - 1)
            self._seating[rows] = np.where(distance == 0, -1, drawn)
