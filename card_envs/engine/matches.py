"""The arrays of many matches, and all that compiled code does with them. Nothing here is checked: :class:`Batch` does that."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.engine import loops
from card_envs.engine.compiled import load_loops, unwrap
from card_envs.engine.game import Game, OptionValue
from card_envs.engine.keys import NO_SALT, REDEALS, SEED_WORDS, derive, derive_roots, join_seed, split_seed
from card_envs.engine.loops import LONG_SEED, MATCH, REFRESH, RESET, ROOT_HIGH, ROOT_LOW, ROW, SEED, STREAM, UNSEEDED, Arrays
from card_envs.engine.random import mix, stream
from card_envs.engine.rows import States, copy_rows, view_bytes

REWARDS = {"win": loops.WIN, "score": loops.SCORE, "margin": loops.MARGIN}
EPISODES = ("match", "deal")
ROWS_PER_THREAD = 1024  # with fewer rows, waking a thread costs more than it saves

Rows = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Matches:
    """``size`` matches of one game, whose arrays are public. Row ``r`` of every array belongs to match ``r``.

    Everything is trusted: an illegal action, a row or seat out of range, an array of another dtype corrupts memory.

    Attributes:
        states: structured [size], the game's record of each match.
        template: structured [1], the options, from which every match begins.
        identity: int64 [size, 3], (seed, row, match) of each match. ``UNSEEDED`` stands where there is no seed yet, and
            ``LONG_SEED`` where it needs more than 63 bits: :meth:`identify` writes identities, :meth:`read_identity` reads them.
        seeds: uint64 [size, 4], the seed of each row, the lowest word first.
        decisions: int64 [size], how many decisions were made in the match.
        keys: uint64 [size, 3], the root key of the row's seed (two words), and the stream of the match's compiled policies.
        actions: int64 [size], what :meth:`run` carries out: an action, or ``RESET`` or ``REFRESH`` of ``loops``.
        mask: int8 [size, A rounded up to a multiple of 8], 1 where an action is legal for the seat to move.
        action_mask: int8 [size, A], the same memory without the padding.
        words: uint64 [size, …], the same memory as ``mask``, eight flags in each word.
        observation: float32 [size, D], what the seat to move knows.
        to_move: int8 [size], the seat to move, -1 when the match is over.
        rewards: float64 [size, players], what the row's last action paid each seat.
        terminated, truncated: bool [size], whether that action ended the match, by the rules or by a technical cap.
        final_observation: float32 [size, D], with ``auto_reset``: the end of a match as its last mover sees it.
        arrays: all of these in one bundle, as the loops take them.
        rows: int64 [size], the numbers of all rows.
        auto_reset: whether :meth:`run` deals a row its next match when one ends.
        write_observations: whether :meth:`run` writes ``observation``.
        scale: what a point counts in ``reward="score"``; negative where the lowest total wins.
        later_orders: given orders of decks that row 0 has still to be dealt, by the number of finished deals.

    Args:
        game: the game.
        size: the number of matches.
        options: all options of the game, resolved.
        reward: ``"win"``, ``"score"`` or ``"margin"``.
        episode: ``"match"`` or ``"deal"``.
        threads: how many threads share the rows.
        interpreted: whether to run the rules in plain Python.
        auto_reset, write_observations: see the attributes.
    """

    def __init__(
        self,
        game: Game,
        size: int,
        options: Mapping[str, OptionValue],
        *,
        reward: str = "win",
        episode: str = "match",
        threads: int = 1,
        interpreted: bool = False,
        auto_reset: bool = True,
        write_observations: bool = True,
    ) -> None:
        self.game = game
        self.options = dict(options)
        self.players = int(options["players"])
        self.reward = reward
        self.episode = episode
        self.threads = threads
        self.interpreted = interpreted
        self.auto_reset = auto_reset
        self.write_observations = write_observations
        self.scale = game.score_scale(options)
        self.later_orders: dict[int, list[int]] = {}
        template = np.zeros(1, game.state_dtype)
        for option in game.options:
            template[option.name] = option.encode(options[option.name])
        template["single_deal"] = episode == "deal"
        self._loops = load_loops(game, not interpreted)
        self._step: Any = unwrap(self._loops.step)
        self._sort: Any = unwrap(self._loops.sort)
        self._choosers: dict[str, Callable[..., Any]] = {}
        self._allocate(np.zeros(size, game.state_dtype), template)
        self.identity[:] = UNSEEDED

    def _allocate(self, states: States, template: States) -> None:
        n = self.size = len(states)
        self.num_actions = self.game.num_actions(self.players)
        self.observation_size = self.game.observation_size(self.options)
        self.rows: Rows = np.arange(n)
        self.states = states
        self.template = template
        self.identity: NDArray[np.int64] = np.zeros((n, loops.IDENTITY), np.int64)
        self.decisions: NDArray[np.int64] = np.zeros(n, np.int64)
        self.seeds: NDArray[np.uint64] = np.zeros((n, SEED_WORDS), np.uint64)
        self.keys: NDArray[np.uint64] = np.zeros((n, loops.KEYS), np.uint64)
        self.actions: NDArray[np.int64] = np.zeros(n, np.int64)
        self.words: NDArray[np.uint64] = np.zeros((n, -(-self.num_actions // 8)), np.uint64)
        self.mask: NDArray[np.int8] = self.words.view(np.int8)
        self.action_mask: NDArray[np.int8] = self.mask[:, : self.num_actions]
        self.observation: NDArray[np.float32] = np.zeros((n, self.observation_size), np.float32)
        self.to_move: NDArray[np.int8] = np.zeros(n, np.int8)
        self.rewards: NDArray[np.float64] = np.zeros((n, self.players))
        self.terminated: Flags = np.zeros(n, np.bool_)
        self.truncated: Flags = np.zeros(n, np.bool_)
        self.final_observation: NDArray[np.float32] = np.zeros_like(self.observation)
        self.arrays = Arrays(
            states=self.states, template=self.template, identity=self.identity, decisions=self.decisions, keys=self.keys,
            actions=self.actions, mask=self.mask, words=self.words, observation=self.observation, to_move=self.to_move,
            rewards=self.rewards, terminated=self.terminated, truncated=self.truncated,
            final_observation=self.final_observation,
        )  # fmt: skip

    # -- identity

    def identify(
        self, rows: Rows, seed: int | NDArray[np.int64], row: int | NDArray[np.int64], match: int | NDArray[np.int64]
    ) -> None:
        """Give these rows the identity (seed, row, match), of which each may be an array [len(rows)]; nothing is dealt yet.

        A seed that is an int may have up to 256 bits.
        """
        if isinstance(seed, int):
            self.seeds[rows] = split_seed(seed)
            self.keys[rows, :STREAM] = derive_roots([seed])
            self.identity[rows, SEED] = seed if seed < 2**63 else LONG_SEED
        else:
            self.seeds[rows] = 0
            self.seeds[rows, 0] = seed
            self.keys[rows, :STREAM] = derive_roots(seed.tolist())
            self.identity[rows, SEED] = seed
        self.identity[rows, ROW] = row
        self.identity[rows, MATCH] = match

    def read_identity(self, row: int) -> tuple[int, int, int]:
        """Return (seed, row, match) of a row, whose seed may have up to 256 bits."""
        _, number, match = self.identity[row].tolist()
        return join_seed(self.seeds[row]), number, match

    def derive(
        self, purpose: int, rows: Rows, numbers: NDArray[np.int64], salts: NDArray[np.uint64] | None = None
    ) -> NDArray[np.uint64]:
        """Return for each of ``rows`` an output of its root key, uint64 [len(rows)]: see :func:`card_envs.engine.keys.derive`.

        Args:
            purpose: what it is for.
            rows: the rows.
            numbers: int64 [len(rows)], tell outputs of one purpose apart.
            salts: uint64 [size], tell apart matches that are played from the same decks.
        """
        derived = np.empty(len(rows), np.uint64)
        salts = np.zeros(self.size, np.uint64) if salts is None else salts
        self._loops.derive(self.arrays, rows, purpose, numbers, salts, derived)
        return derived

    # -- playing

    def run(self, rows: Rows) -> None:
        """Carry out ``actions`` in these rows, and lay ready the given order of the next deck, if there is one."""
        threads = min(self.threads, len(rows) // ROWS_PER_THREAD)
        if threads < 2 or self.interpreted:
            self._run(rows)
        else:
            parts = np.array_split(rows, threads)
            waiting = [_thread_pool().submit(self._run, part) for part in parts[1:]]
            self._run(parts[0])  # the calling thread takes a part as well
            for part in waiting:
                part.result()
        if self.later_orders:
            self._lay_order()

    def _run(self, rows: Rows) -> None:
        self._step(self.arrays, rows, *self._settings())
        self._step = unwrap(self._step)

    def _settings(self) -> tuple[int, int, int, float]:
        return int(self.auto_reset), int(self.write_observations), REWARDS[self.reward], self.scale

    def bind_run(self) -> Callable[[], Any]:
        """Return a call without arguments that runs all rows: the fastest way to step a single match.

        It is bound to the settings and given decks of this moment: bind again after a change.
        """
        if self.later_orders:
            return partial(self.run, self.rows)
        return partial(self._step, self.arrays, self.rows, *self._settings())

    def deal(self, rows: Rows) -> None:
        """Deal these rows the matches of their ``identity``."""
        self.actions[rows] = RESET
        self.run(rows)

    def deal_ordered(self, identity: Sequence[int], orders: Sequence[Sequence[int]]) -> None:
        """Deal row 0 the match of an identity, from decks that begin with these orders of card indices."""
        self.identify(self.rows[:1], *identity)
        self._give_order(self.template, orders[0] if orders else [])
        self.later_orders = {}
        self.deal(self.rows[:1])
        self.template["ordered"] = 0  # the next match is dealt from decks of its own
        self.later_orders = {finished: list(order) for finished, order in enumerate(orders[1:])}
        self._lay_order()

    def _lay_order(self) -> None:
        order = self.later_orders.pop(int(self.states["finished"][0]), None)
        if order is not None:
            self._give_order(self.states, order)

    def _give_order(self, states: States, order: Sequence[int]) -> None:
        states["order" if self.game.shuffles_every_deal else "deck"][0, : len(order)] = order
        states["ordered"][0] = len(order)

    def refresh(self, rows: Rows | None = None) -> None:
        """Write observation, mask and seat to move of these rows (all) anew, after their states were changed."""
        rows = self.rows if rows is None else rows
        self.actions[rows] = REFRESH
        self.run(rows)

    # -- looking

    def is_legal(self, actions: NDArray[np.int64], rows: Rows) -> Flags:
        """Return whether ``actions[n]`` is legal in ``rows[n]``, bool [len(rows)]; the actions may be any integers."""
        legal: Flags = (actions >= 0) & (actions < self.num_actions)
        legal &= self.mask[rows, np.where(legal, actions, 0)] != 0
        return legal

    def explain_illegal(self, rows: Rows) -> str:
        """Say in words which of ``rows`` have an illegal action laid ready, and what is legal in the first of them."""
        row = int(rows[0])
        seat, index = int(self.to_move[row]), int(self.actions[row])
        legal = [self.game.action_string(int(a), seat, self.players) for a in np.flatnonzero(self.action_mask[row])]
        name = self.game.action_string(index, seat, self.players) if 0 <= index < self.num_actions else "no action"
        listed = ", ".join(str(i) for i in rows[:10]) + (" …" if len(rows) > 10 else "")
        return (
            f"illegal action in row{'s' * (len(rows) > 1)} {listed}: in row {row} seat {seat} is to move, {index} is"
            f" {name!r}; legal are {', '.join(legal)}"
        )

    def observe(self, rows: Rows, seats: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return what ``seats[n]`` of ``rows[n]`` knows, float32 [len(rows), D]."""
        observation = np.empty((len(rows), self.observation_size), np.float32)
        self._loops.observe(self.arrays, rows, seats, observation)
        return observation

    def count(self, rows: Rows, finished: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
        """Count what the game's metrics are made of: see :func:`card_envs.engine.loops.count_loop`."""
        self._loops.count(self.arrays, rows, finished, counts)

    # -- choosing

    def choose(
        self,
        policy: str,
        parameters: NDArray[np.float64],
        actions: NDArray[np.int64],
        rows: Rows,
        who: NDArray[np.int8],
        index: int,
    ) -> None:
        """Write a built-in policy's actions for those of ``rows`` in which ``who[row] == index`` into ``actions`` [size]."""
        choose = self._choosers.get(policy) or self._loops.choose(policy)
        choose(self.arrays, rows, who, index, parameters, actions)
        self._choosers[policy] = unwrap(choose)

    def sort(self, rows: Rows, *arguments: Any) -> tuple[int, int]:
        """Sort rows that have just been run by who acts next: see :func:`card_envs.engine.loops.sort_loop`."""
        waiting, over = self._sort(self.arrays, rows, *arguments)
        self._sort = unwrap(self._sort)
        return waiting, over

    def playout(self, steps: int, policy: str, parameters: NDArray[np.float64]) -> tuple[int, NDArray[np.float64]]:
        """Play ``steps`` decisions in every row by one policy: see :func:`card_envs.engine.loops.playout_loop`."""
        wins = np.zeros(self.players)
        ended = self._loops.playout(policy)(self.arrays, self.rows, steps, self.scale, parameters, wins)
        self.refresh()
        return ended, wins

    def rollout(self, policy: str, parameters: NDArray[np.float64], whole_match: bool) -> NDArray[np.float64]:
        """Carry out ``actions`` and play on by one policy: see :func:`card_envs.engine.loops.rollout_loop`.

        Returns:
            float64 [size, players], what the match or the deal pays each seat.
        """
        values = np.zeros((self.size, self.players))
        self._loops.rollout(policy)(self.arrays, self.rows, whole_match, self.scale, parameters, values)
        self.refresh()
        return values

    def seed_players(self, seeds: NDArray[np.int64]) -> None:
        """Let the compiled policies of row i draw from the seed ``seeds[i]``, instead of from the match's own stream."""
        with np.errstate(over="ignore"):
            self.keys[:, STREAM] = stream(mix(seeds.astype(np.uint64)), 0)

    # -- copying

    def gather(
        self, rows: NDArray[np.integer[Any]], *, auto_reset: bool | None = None, write_observations: bool | None = None
    ) -> Matches:
        """Return new matches that are copies of these rows, in this order, with the same future. A row may be repeated.

        The flags are those of these matches unless they are given.
        """
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.later_orders = dict(self.later_orders)
        other._allocate(copy_rows(self.states, rows), copy_rows(self.template))
        copied = ("identity", "seeds", "decisions", "keys", "words", "observation", "to_move", "rewards", "terminated", "truncated",
                  "final_observation")  # fmt: skip
        for name in copied:
            np.take(getattr(self, name), rows, axis=0, out=getattr(other, name))
        if auto_reset is not None:
            other.auto_reset = auto_reset
        if write_observations is not None:
            other.write_observations = write_observations
        return other

    def redeal(self, seats: NDArray[np.int64], seed: int) -> None:
        """Resample in every row what its given seat cannot know, future shuffles included; row i from ``seed`` and i."""
        low, high = derive_roots([seed])[0]
        with np.errstate(over="ignore"):
            keys = derive(low, high, REDEALS, self.rows.astype(np.uint64), 0, 0, NO_SALT)
        self._loops.redeal(self.arrays, self.rows, seats, keys)
        self.later_orders = {}
        self.refresh()

    def save(self) -> list[bytes]:
        """Return the bytes of everything that the matches' future depends on, for :meth:`restore`."""
        return [array.tobytes() for array in self.saved()]

    def restore(self, data: Sequence[bytes]) -> None:
        """Go on from what :meth:`save` returned for matches that were made with the same arguments.

        Raises:
            ValueError: the data are those of another game, size or version.
        """
        write_saved(self.saved(), data)

    def saved(self) -> tuple[NDArray[Any], ...]:
        """Return the arrays that :meth:`save` saves."""
        return self.seeds, *(array for array in self.arrays if array is not self.mask and array is not self.actions)

    def __deepcopy__(self, memo: dict[int, Any]) -> Matches:
        return self.gather(self.rows)

    def __getstate__(self) -> dict[str, Any]:
        names = (
            "game", "size", "options", "reward", "episode", "threads", "interpreted", "auto_reset", "write_observations",
        )  # fmt: skip
        return {"arguments": {name: getattr(self, name) for name in names}, "orders": self.later_orders, "data": self.save()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state["arguments"])  # type: ignore[misc]
        self.later_orders = state["orders"]
        self.restore(state["data"])


def write_saved(arrays: Sequence[NDArray[Any]], data: Sequence[bytes]) -> None:
    """Write saved bytes back into the arrays that they were taken from; ``ValueError`` if they do not fit."""
    if [len(part) for part in data] != [array.nbytes for array in arrays]:
        raise ValueError("the saved state is one of another game, size or version")
    for array, part in zip(arrays, data, strict=True):
        view_bytes(array)[:] = np.frombuffer(part, np.uint8)


_pools: dict[int, ThreadPoolExecutor] = {}


def _thread_pool() -> ThreadPoolExecutor:
    """Return the process's pool of threads, made when it is first needed, since threads do not survive a fork."""
    pid = os.getpid()
    if pid not in _pools:
        _pools.clear()
        _pools[pid] = ThreadPoolExecutor(max(1, (os.cpu_count() or 1) - 1), thread_name_prefix="card_envs")
    return _pools[pid]
