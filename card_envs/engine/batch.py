"""Many matches in lock step over preallocated arrays."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from card_envs.engine import loops, rows
from card_envs.engine.compiled import direct, loops_of
from card_envs.engine.game import Deck, Game, IllegalAction, OptionValue, unknown
from card_envs.engine.random import PLAYERS, REDEAL, match_key, stream

REWARDS = {"win": loops.WIN, "score": loops.SCORE, "margin": loops.MARGIN}
EPISODES = ("match", "deal")
ROWS_PER_THREAD = 1024  # with fewer rows a thread, waking it costs more than it does


def check_choice(what: str, value: object, known: Sequence[str]) -> str:
    if value not in known:
        raise unknown(what, value, known)
    return cast(str, value)


def check_seed(seed: object) -> int:
    """A seed as an int; ``ValueError`` says what is allowed."""
    if isinstance(seed, int | np.integer) and not isinstance(seed, bool) and 0 <= seed < 2**63:
        return int(seed)
    raise ValueError(f"seed = {seed!r}: allowed is an integer from 0 to 2**63 - 1")


class Batch:
    """``size`` matches of one game in lock step.

    Attributes, refreshed in place by :meth:`reset` and :meth:`step` (views of the batch's own buffers, read-only: copy what
    you keep):

    * ``observation`` float32 [size, D]: what the seat to move knows,
    * ``action_mask`` int8 [size, A]: 1 where an action is legal,
    * ``to_move`` int8 [size]: the seat to move,
    * ``rewards`` float64 [size, players]: what the last step paid each seat,
    * ``terminated``, ``truncated`` bool [size]: whether that step ended the row's match, by the rules or by a technical cap,
    * ``final_observation`` float32 [size, D]: of a row whose match has just ended, as its last mover sees the end.

    A row whose match ends is dealt its next match in the same step: ``rewards``, ``terminated`` and ``truncated`` are the old
    match's, all else is the new one's. A row's matches depend on its identity (seed, row, match) alone: not on ``size``,
    ``threads`` or the other rows.

    Args:
        game: a game of :func:`card_envs.load_game`.
        size: number of rows, at least 1.
        seed: as for :meth:`reset`.
        threads: how many threads share the rows of a step; small batches stay on one.
        reward: ``"win"`` (sum zero: k winners of n share (n-k)/(k(n-1)) each, the others get -1/(n-1)), ``"score"`` (each
            deal's score as it falls, divided by the target) or ``"margin"`` (own score minus the others' mean, same scale).
        episode: ``"match"`` or ``"deal"`` (one deal from a new deck, ranked by its scores).
        interpreted: run the rules in plain Python (slow; for debugging).
        **options: the game's options, as ``players=4``.

    Raises:
        ValueError: an unknown option or name, or a value out of range.
    """

    def __init__(
        self,
        game: Game,
        size: int,
        *,
        seed: int | ArrayLike | None = None,
        threads: int = 1,
        reward: str = "win",
        episode: str = "match",
        interpreted: bool = False,
        **options: OptionValue,
    ) -> None:
        for name, value in (("size", size), ("threads", threads)):
            if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name} = {value!r}: allowed is a whole number from 1")
        self.game = game
        self.size = int(size)
        self.options = game.resolve(options)
        self.players = int(self.options["players"])
        self.reward = check_choice("reward", reward, tuple(REWARDS))
        self.episode = check_choice("episode", episode, EPISODES)
        self.threads = int(threads)
        self._interpreted = interpreted
        self._loops = loops_of(game, not interpreted)
        self._step: Any = self._loops.step
        self._choosers: dict[str, Callable[..., Any]] = {}
        self._scale = game.score_scale(self.options)
        self._settings = np.zeros(loops.SETTINGS, np.int64)
        self._settings[loops.AUTO_RESET] = True
        self._settings[loops.SHOW] = True
        self._settings[loops.REWARD] = REWARDS[reward]
        self._template = np.zeros(1, game.state_dtype)
        for option in game.options:
            self._template[option.name] = option.encode(self.options[option.name])
        self._template["single_deal"] = episode == "deal"
        self._orders: dict[int, list[int]] = {}  # given orders of decks to come: by deals finished when to lay them ready
        self._allocate(np.zeros(self.size, game.state_dtype), np.full((self.size, loops.IDENTITY), -1, np.int64))
        self.reset(seed)

    def _allocate(self, states: rows.States, identity: NDArray[np.int64]) -> None:
        n = self.size = len(states)
        self.num_actions = self.game.num_actions(self.players)
        self.observation_size = self.game.observation_size(self.options)
        self._states = states
        self._identity = identity
        self._keys = np.zeros(n, np.uint64)  # of the players' streams
        self._rows = np.arange(n)
        self._actions = np.empty(n, np.int64)
        self._observation = np.zeros((n, self.observation_size), np.float32)
        self._words = np.zeros((n, -(-self.num_actions // 8)), np.uint64)
        self._mask = self._words.view(np.int8)
        self._to_move = np.zeros(n, np.int8)
        self._rewards = np.zeros((n, self.players))
        self._terminated = np.zeros(n, np.bool_)
        self._truncated = np.zeros(n, np.bool_)
        self._final_observation = np.zeros_like(self._observation)
        self._output: tuple[NDArray[Any], ...] = (
            self._observation, self._mask, self._words, self._to_move,
            self._rewards, self._terminated, self._truncated, self._final_observation,
        )  # fmt: skip
        self._rest = (self._actions, self._settings, self._scale, *self._output)
        self.observation = _read_only(self._observation)
        self.action_mask = _read_only(self._mask[:, : self.num_actions])
        self.to_move = _read_only(self._to_move)
        self.rewards = _read_only(self._rewards)
        self.terminated = _read_only(self._terminated)
        self.truncated = _read_only(self._truncated)
        self.final_observation = _read_only(self._final_observation)

    # -- playing

    def reset(self, seed: int | ArrayLike | None = None) -> None:
        """Deal every row a new match.

        An int gives row i the identity (seed, i, 0); an integer array [size] gives it (seed[i], 0, 0); ``None`` goes on to
        each row's next match, and to matches from system entropy if the batch was never seeded.
        """
        self.identify(seed)
        self._actions[:] = loops.RESET
        self._run(self._rows)

    def step(self, actions: ArrayLike) -> None:
        """Play one action in every row: an integer array [size].

        Raises:
            IllegalAction: names the rows whose action is not legal; no row is stepped.
            ValueError: a wrong shape or dtype, a NaN.
        """
        self._take(actions)
        self._run(self._rows)

    def _take(self, actions: ArrayLike) -> None:
        """Lay an action ready for every row, if all are legal."""
        self._actions[:] = self._integers(actions, "actions")
        illegal = np.flatnonzero(~self._legal(self._actions, self._rows))
        if len(illegal):
            raise IllegalAction(self._explain(illegal))

    def sample(self) -> NDArray[np.int64]:
        """A uniformly random legal action for every row, int64 [size], drawn from the stream of each row's decision."""
        actions = np.empty(self.size, np.int64)
        self.choose("random", np.empty(0), actions)
        return actions

    def choose(
        self,
        policy: str,
        parameters: NDArray[np.float64],
        actions: NDArray[np.int64],
        rows: NDArray[np.int64] | None = None,
        who: NDArray[np.int8] | None = None,
        index: int = 0,
    ) -> None:
        """Write a built-in policy's actions for ``rows`` (all), where ``who[row] == index`` if given, into ``actions``."""
        if who is None:
            who = np.full(self.size, index, np.int8)
        which = self._rows if rows is None else rows
        expected = (which, np.int64), (who, np.int8), (parameters, np.float64), (actions, np.int64)
        for array, dtype in expected:
            if array.dtype != dtype or not array.flags.c_contiguous:
                raise TypeError(f"choose: a contiguous array of {dtype.__name__} is expected, got {array.dtype}")
        self._parameters(policy, parameters)
        choose = self._choosers.get(policy) or self._loops.choose(policy)
        choose(self._states, self._identity, self._keys, which, who, index, self._words, parameters, actions)
        self._choosers[policy] = direct(choose)

    def _parameters(self, policy: str, given: NDArray[np.float64] | None) -> NDArray[np.float64]:
        """The policy's parameters: those given, of which compiled code trusts that they are all there, or the defaults."""
        defaults = self.game.policy(policy).defaults
        if given is None:
            return np.array([*defaults.values()], np.float64)
        if given.shape != (len(defaults),):
            names = f" ({', '.join(defaults)})" if defaults else ""
            raise ValueError(f"{policy} takes {len(defaults)} parameters{names}, an array of shape {given.shape} is given")
        return given

    def playout(
        self, steps: int, policy: str = "random", parameters: NDArray[np.float64] | None = None
    ) -> tuple[int, NDArray[np.float64]]:
        """Play ``steps`` decisions in every row, all seats by one built-in policy, in one compiled call.

        A match that ends is followed by the row's next one. Returns the number of matches that ended and the sum of
        their ``reward="win"`` for each seat, float64 [players]. ``observation`` and ``action_mask`` are those of the end.
        """
        wins = np.zeros(self.players)
        parameters = self._parameters(policy, parameters)
        playout = self._loops.playout(policy)
        ended = playout(
            self._states,
            self._template,
            self._identity,
            self._keys,
            self._rows,
            steps,
            self._scale,
            self._mask,
            self._words,
            parameters,
            wins,
        )
        self.look()
        return ended, wins

    def rollout(
        self,
        actions: ArrayLike,
        policy: str = "random",
        parameters: NDArray[np.float64] | None = None,
        *,
        until: str = "match",
        seeds: ArrayLike | None = None,
    ) -> NDArray[np.float64]:
        """Play an action in every row, then on by one built-in policy in all seats, in one compiled call.

        For search: of copies (:meth:`gather`) that were dealt anew (:meth:`redeal`), the mean says what the action is worth.

        Args:
            actions: an integer array [size], legal ones.
            policy, parameters: the policy, and its parameters, float64; by default its own.
            until: ``"match"``, or ``"deal"``: the end of the deal that is being played.
            seeds: an integer array [size]: from here on the policy draws its choices in row i from ``seeds[i]``, instead of the
                match's own stream for players.

        Returns:
            What it brings each seat, float64 [size, players]: of a match ``reward="win"``, of a deal ``reward="margin"``.

        Raises:
            IllegalAction, ValueError: as :meth:`step`; an unknown policy.
        """
        parameters = self._parameters(policy, parameters)
        whole_match = check_choice("until", until, ("match", "deal")) == "match"
        self._take(actions)
        if seeds is not None:
            with np.errstate(over="ignore"):
                self._keys[:] = stream(match_key(self._integers(seeds, "seeds").astype(np.uint64), 0, 0), PLAYERS)
        values = np.zeros((self.size, self.players))
        self._loops.rollout(policy)(
            self._states, self._identity, self._keys, self._rows, self._actions, whole_match, self._scale, self._mask,
            self._words, parameters, values,
        )  # fmt: skip
        self.look()
        return values

    # -- looking, copying

    def observe(self, seats: ArrayLike) -> NDArray[np.float32]:
        """What the given seat of each row knows, float32 [size, D]; ``seats`` an int or an integer array [size]."""
        seats = self._seats(seats)
        observation = np.empty((self.size, self.observation_size), np.float32)
        self._loops.observe(self._states, self._rows, seats, observation)
        return observation

    def identity(self) -> NDArray[np.int64]:
        """(seed, row, match, decisions made in it) of every row, int64 [size, 4]."""
        return self._identity.copy()

    def gather(self, indices: ArrayLike) -> Batch:
        """A new batch whose rows are copies of these rows (an index may repeat): same matches, same future."""
        which = np.asarray(indices)
        if which.ndim != 1 or which.dtype.kind not in "iu" or not len(which):
            raise ValueError("indices: a non-empty list of row numbers is expected")
        if which.min() < 0 or which.max() >= self.size:
            raise ValueError(f"indices: rows are 0 … {self.size - 1}")
        other = object.__new__(Batch)
        other.__dict__.update(self.__dict__)
        other._settings, other._template = self._settings.copy(), rows.copy(self._template)
        other._orders = dict(self._orders)
        other._allocate(rows.copy(self._states, which), self._identity[which])
        other._keys[:] = self._keys[which]
        for mine, its in zip(self._output, other._output, strict=True):
            np.take(mine, which, axis=0, out=its)
        return other

    def clone(self) -> Batch:
        """An independent copy of all rows."""
        return self.gather(self._rows)

    def redeal(self, seats: ArrayLike, seed: int) -> None:
        """Resample in every row what its given seat cannot know, future shuffles too; row i from stream i of ``seed``."""
        with np.errstate(over="ignore"):
            key = stream(match_key(check_seed(seed), 0, 0), REDEAL)  # never the key of a match
            keys = np.array([stream(key, i) for i in range(self.size)], np.uint64)
        self._loops.redeal(self._states, self._rows, self._seats(seats), keys)
        self._orders = {}
        self.look()

    def look(self) -> None:
        """Refresh observations, masks and ``to_move`` after the states were changed from outside."""
        self._actions[:] = loops.LOOK
        self._run(self._rows)

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        return f"<Batch {self.game.id} of {self.size}, {self.players} players>"

    def _saved(self) -> tuple[NDArray[Any], ...]:
        return self._states, self._template, self._identity, self._keys, self._settings, *self._output

    def __deepcopy__(self, memo: dict[int, Any]) -> Batch:
        return self.clone()

    def __getstate__(self) -> dict[str, Any]:
        keep = ("size", "options", "reward", "episode", "threads", "_interpreted", "_orders")
        buffers = [array.tobytes() for array in self._saved()]
        return {"game": self.game, "buffers": buffers, **{name: getattr(self, name) for name in keep}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(  # type: ignore[misc]
            state["game"], state["size"], seed=0, threads=state["threads"], reward=state["reward"],
            episode=state["episode"], interpreted=state["_interpreted"], **state["options"],
        )  # fmt: skip
        self._orders = state["_orders"]
        for array, data in zip(self._saved(), state["buffers"], strict=True):
            array.view(np.uint8).reshape(-1)[:] = np.frombuffer(data, np.uint8)

    # -- for the doors

    def identify(self, seed: int | ArrayLike | None) -> None:
        """Give every row the identity that :meth:`reset` deals."""
        self._orders = {}
        identity = self._identity
        if seed is None and identity[0, loops.SEED] >= 0:
            identity[:, loops.MATCH] += 1
        else:
            if seed is None:
                seed = secrets.randbits(63)
            if np.ndim(seed) == 0:
                identity[:, loops.SEED] = check_seed(seed if isinstance(seed, int) else np.asarray(seed)[()])
                identity[:, loops.ROW] = self._rows
            else:
                seeds = self._integers(seed, "seed")
                if (seeds < 0).any():
                    raise ValueError(f"seed of row {int(np.argmax(seeds < 0))} is negative")
                identity[:, loops.SEED] = seeds
                identity[:, loops.ROW] = 0
            identity[:, loops.MATCH] = 0

    def deal(self, identity: Sequence[int], deck: Deck = None) -> None:
        """Deal row 0 the match (seed, row, match), from decks with these orders on top if any are given."""
        orders = self.game.deck_orders(deck)
        self._identity[0, : loops.DECISION] = identity
        self._give(self._template, orders[0] if orders else [])
        self._actions[0] = loops.RESET
        self._run(self._rows[:1])
        self._template["ordered"] = 0  # the next match is dealt from its own decks
        self._orders = dict(enumerate(orders[1:]))
        self.give_order()

    def give_order(self) -> None:
        """To be called when row 0 has been dealt a deal: the given order, if any, of its next one."""
        order = self._orders.pop(int(self._states["finished"][0]), None)
        if order is not None:
            self._give(self._states, order)

    def _give(self, states: rows.States, order: list[int]) -> None:
        states["order" if self.game.shuffles_every_deal else "deck"][0, : len(order)] = order
        states["ordered"][0] = len(order)

    def _run(self, which: NDArray[np.int64]) -> None:
        """Carry out ``_actions`` in these rows."""
        threads = min(self.threads, len(which) // ROWS_PER_THREAD)
        if threads < 2 or self._interpreted:
            self._call(which)
        else:
            parts = np.array_split(which, threads)
            waiting = [_pool().submit(self._call, part) for part in parts[1:]]
            self._call(parts[0])  # the caller works too
            for part in waiting:
                part.result()

    def _call(self, which: NDArray[np.int64]) -> None:
        self._step(self._states, self._template, self._identity, self._keys, which, *self._rest)
        self._step = direct(self._step)

    def bound(self) -> Callable[[], Any]:
        """A call without arguments that carries out ``_actions`` in all rows: the fastest way to step a batch of one."""
        return partial(self._step, self._states, self._template, self._identity, self._keys, self._rows, *self._rest)

    def _legal(self, actions: NDArray[np.int64], which: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether ``actions`` [n] are legal in the rows ``which`` [n]."""
        legal: NDArray[np.bool_] = (actions >= 0) & (actions < self.num_actions)
        legal &= self._mask[which, np.where(legal, actions, 0)] != 0
        return legal

    def _explain(self, illegal: NDArray[np.int64]) -> str:
        row = int(illegal[0])
        seat, index = int(self._to_move[row]), int(self._actions[row])
        legal = [self.game.action_string(int(a), seat, self.players) for a in np.flatnonzero(self.action_mask[row])]
        name = self.game.action_string(index, seat, self.players) if 0 <= index < self.num_actions else "no action"
        listed = ", ".join(str(i) for i in illegal[:10]) + (" …" if len(illegal) > 10 else "")
        return (
            f"illegal action in row{'s' * (len(illegal) > 1)} {listed}: in row {row} seat {seat} is to move, {index} is"
            f" {name!r}; legal are {', '.join(legal)}"
        )

    def _integers(self, values: ArrayLike, what: str) -> NDArray[np.int64]:
        array = np.asarray(values)
        if array.shape != (self.size,):
            raise ValueError(f"{what}: expected an integer array of shape ({self.size},), got shape {array.shape}")
        if array.dtype.kind not in "iu":
            bad = ~np.isfinite(array) if array.dtype.kind == "f" else np.zeros(self.size, bool)
            where = f" ({array[np.argmax(bad)]} in row {int(np.argmax(bad))})" if bad.any() else ""
            raise ValueError(f"{what}: expected integers, got {array.dtype}{where}")
        if array.dtype == np.uint64 and (array > np.uint64(2**63 - 1)).any():
            raise ValueError(f"{what}: row {int(np.argmax(array > np.uint64(2**63 - 1)))} is over 2**63 - 1")
        return array.astype(np.int64, copy=False)

    def _seats(self, seats: ArrayLike) -> NDArray[np.int64]:
        array = np.asarray(seats)
        array = self._integers(np.full(self.size, array) if array.ndim == 0 else array, "seats")
        if (array < 0).any() or (array >= self.players).any():
            raise ValueError(f"seats: allowed are 0 … {self.players - 1}")
        return array


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view


_pools: dict[int, ThreadPoolExecutor] = {}


def _pool() -> ThreadPoolExecutor:
    """One pool a process, made when first needed: threads do not survive a fork."""
    pid = os.getpid()
    if pid not in _pools:
        _pools.clear()
        _pools[pid] = ThreadPoolExecutor(max(1, (os.cpu_count() or 1) - 1), thread_name_prefix="card_envs")
    return _pools[pid]
