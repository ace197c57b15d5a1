"""The arrays of many matches, and what compiled code does with them. Nothing is checked here; :class:`Batch` does that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.engine import loops, rollouts
from card_envs.engine.compiled import load_loop, unwrap
from card_envs.engine.features import LegalFeatures, compute_features
from card_envs.engine.game import Game, OptionValue
from card_envs.engine.keys import SEED_WORDS, derive_roots, join_seed, split_seeds
from card_envs.engine.loops import LONG_SEED, MATCH, REFRESH, RESET, ROW, SEED, STREAM, UNSEEDED, Arrays
from card_envs.engine.orders import LaterOrders
from card_envs.engine.pool import share
from card_envs.engine.rollouts import prepare_forks
from card_envs.engine.rows import States, copy_bytes, copy_rows, restore_bytes
from card_envs.engine.share import make_share_loop
from card_envs.engine.threads import Team, make_team

REWARDS = {"win": loops.WIN, "score": loops.SCORE, "margin": loops.MARGIN}
EPISODES = ("match", "deal")
PLAYOUTS_PER_THREAD = 64  # with fewer play-outs of forks, waking a thread costs more than it saves

Rows = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Matches:
    """``size`` matches of one game, whose arrays are public. Row ``r`` of every array belongs to match ``r``.

    Arguments are trusted: an illegal action, a row or seat out of range, or an array of another dtype corrupts memory.

    Attributes:
        states: The state of each match, structured [size].
        template: The state with which every match begins, which holds the options, structured [1].
        identity: The identity (seed, row, match) of each match, int64 [size, 3]. In place of a seed that needs more than 63
            bits stands ``LONG_SEED``, and ``UNSEEDED`` if there is none yet. :meth:`identify` writes identities, and
            :meth:`read_identity` reads one with the whole seed.
        seeds: The whole seed of each row, lowest word first, uint64 [size, 4].
        decisions: How many decisions have been made in each match, int64 [size].
        keys: The root key of each row's seed in two words, and the key from which the compiled policies of its match draw,
            uint64 [size, 3].
        actions: What :meth:`run` carries out, int64 [size]: an action, or ``RESET`` or ``REFRESH`` of ``loops``.
        mask: 1 where an action is legal for the seat to move, int8 [size, A rounded up to a multiple of 8].
        action_mask: The same memory without the padding, int8 [size, A].
        words: The same memory as ``mask`` with eight flags in each word, uint64 [size, …].
        observation: What the seat to move knows, float32 [size, D].
        to_move: The seat to move, or -1 when the match is over, int8 [size].
        rewards: What the last action of the row paid each seat, float64 [size, players].
        terminated, truncated: Whether that action ended the match, by the rules or by a technical cap, bool [size].
        final_observation: With ``auto_reset``, the end of a match as its last mover sees it, float32 [size, D].
        arrays: All of these in one bundle, as the loops take them.
        rows: The numbers of all rows, int64 [size].
        legal_features: The features of the legal actions, which :meth:`run` writes; ``None`` without ``action_features``.
        auto_reset: Whether :meth:`run` deals the next match of a row when one ends.
        write_observations: Whether :meth:`run` writes ``observation``.
        scale: The factor of ``reward="score"``, negative if the lowest total wins.
        later_orders: The given orders of later decks.

    Args:
        game: The game.
        size: The number of matches.
        options: The values of all options of the game.
        reward: ``"win"``, ``"score"`` or ``"margin"``.
        episode: ``"match"`` or ``"deal"``.
        threads: How many threads share the rows.
        interpreted: Whether to run the rules in plain Python.
        auto_reset, write_observations: See the attributes.
        action_features: Whether to keep ``legal_features``.
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
        action_features: bool = False,
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
        self.action_features = action_features
        self.scale = game.score_scale(options)
        self.num_actions = game.num_actions(self.players)
        self.observation_size = game.observation_size(options)
        self.later_orders = LaterOrders("order" if game.shuffles_every_deal else "deck", sum(game.copies))
        template = np.zeros(1, game.state_dtype)
        for option in game.options:
            template[option.name] = option.encode(options[option.name])
        template["single_deal"] = episode == "deal"
        self._load_loop: Callable[..., Callable[..., Any]] = partial(load_loop, game, interpreted)
        self._step = unwrap(self._load_loop(loops.make_step_loop))
        self._sort = unwrap(self._load_loop(loops.make_sort_loop))
        self._count_illegal = unwrap(self._load_loop(loops.make_legal_loop))
        self._choosers: dict[str, Callable[..., Any]] = {}
        self._allocate(np.zeros(size, game.state_dtype), template)
        self.identity[:] = UNSEEDED

    def _allocate(self, states: States, template: States) -> None:
        n = self.size = len(states)
        self._team: Team | None = None  # the threads that share the rows
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
        self.legal_features: LegalFeatures | None = None
        if self.action_features:
            self.legal_features = LegalFeatures(self.game, self.arrays, self.num_actions, self._load_loop)

    # -- identities

    def identify(
        self, rows: Rows, seed: int | Sequence[int], row: int | NDArray[np.int64], match: int | NDArray[np.int64]
    ) -> None:
        """Give these rows the identity (seed, row, match). Nothing is dealt yet.

        Args:
            rows: The rows.
            seed: A seed for all of them, or one for each.
            row, match: Likewise; for each in an array, int64 [len(rows)].
        """
        seeds = [seed] if isinstance(seed, int) else seed
        where: Any = slice(rows[0], rows[0] + 1) if len(rows) == 1 else rows  # a single match is reset often: this is faster
        self.seeds[where] = split_seeds(seeds)
        self.keys[where, :STREAM] = derive_roots(seeds)
        self.identity[where, SEED] = [number if number < 2**63 else LONG_SEED for number in seeds]
        self.identity[where, ROW] = row
        self.identity[where, MATCH] = match

    def read_identity(self, row: int) -> tuple[int, int, int]:
        """Return the identity of a row's match, with the whole seed."""
        _, number, match = self.identity[row].tolist()
        return join_seed(self.seeds[row]), number, match

    def derive(
        self, purpose: int, rows: Rows, numbers: NDArray[np.int64], salts: NDArray[np.uint64] | None = None
    ) -> NDArray[np.uint64]:
        """Return an output of the root key for each of ``rows``, uint64 [len(rows)]: see :func:`card_envs.engine.keys.derive`.

        Args:
            purpose: What the outputs are for.
            rows: The rows.
            numbers: Numbers that tell outputs for one purpose apart, int64 [len(rows)].
            salts: Numbers that tell matches apart that are dealt the same decks, uint64 [size].
        """
        derived = np.empty(len(rows), np.uint64)
        salts = np.zeros(self.size, np.uint64) if salts is None else salts
        self._load_loop(loops.make_derive_loop)(self.arrays, rows, purpose, numbers, salts, derived)
        return derived

    # -- playing

    def run(self, rows: Rows) -> None:
        """Carry out ``actions`` in these rows, and prepare the given order of the next deck if there is one."""
        if self.threads < 2 or self.interpreted:
            self._run(rows)
        else:
            self._find_team().run(rows, self._run, int(self.auto_reset), int(self.write_observations))
        if self.legal_features is not None:
            self.legal_features.write(rows)
        if self.later_orders:
            self.later_orders.lay_due(self.states)

    def _run(self, rows: Rows) -> None:
        self._step(self.arrays, rows, *self._settings())
        self._step = unwrap(self._step)

    def prepare_threads(self) -> None:
        """Compile what several threads need, or find it in the cache."""
        self._find_team().prepare()

    def _find_team(self) -> Team:
        if self._team is None:
            loop = self._load_loop(make_share_loop)
            self._team = make_team(self.threads, loop, self.arrays, REWARDS[self.reward], self.scale)
        return self._team

    def _settings(self) -> tuple[int, int, int, float]:
        return int(self.auto_reset), int(self.write_observations), REWARDS[self.reward], self.scale

    def bind_run(self) -> Callable[[], Any]:
        """Return a function without arguments that runs all rows, which is the fastest way to step a single match.

        It keeps the present settings and given decks, so bind again after they have changed.
        """
        if self.later_orders or self.legal_features is not None:
            return partial(self.run, self.rows)
        return partial(self._step, self.arrays, self.rows, *self._settings())

    def deal(self, rows: Rows) -> None:
        """Deal the matches of these rows' ``identity``."""
        self.actions[rows] = RESET
        self.run(rows)

    def deal_ordered(self, identity: tuple[int, int, int], orders: Sequence[Sequence[int]], row: int = 0) -> None:
        """Deal the match of an identity in a row, from decks that begin with these orders of card indices."""
        self.identify(self.rows[row : row + 1], *identity)
        self.later_orders.lay(self.template, 0, orders[0] if orders else [])
        self.later_orders.keep(row, orders[1:])
        self.deal(self.rows[row : row + 1])
        self.template["ordered"] = 0  # the next match has decks of its own

    def refresh(self, rows: Rows | None = None) -> None:
        """Write the observation, mask and seat to move again after the states of these rows (by default all) were changed."""
        rows = self.rows if rows is None else rows
        self.actions[rows] = REFRESH
        self.run(rows)

    # -- looking

    def is_legal(self, rows: Rows) -> Flags:
        """Return whether the ``actions`` of these rows, which may be any integers, are legal, bool [len(rows)]."""
        legal = np.empty(len(rows), np.bool_)
        self._count_illegal(self.arrays, rows, self.num_actions, legal)
        return legal

    def find_illegal(self, rows: Rows) -> Rows:
        """Return those of the rows whose ``actions`` are not legal."""
        legal = np.empty(len(rows), np.bool_)
        illegal = self._count_illegal(self.arrays, rows, self.num_actions, legal)
        self._count_illegal = unwrap(self._count_illegal)
        return rows[~legal] if illegal else rows[:0]

    def list_legal(self, rows: Rows, width: int | None = None) -> NDArray[np.int64]:
        """Return the legal actions of these rows in the order of their indices, padded with -1, int64 [len(rows), width].

        The width is by default the largest number of them in one of the rows; with a smaller one the last are left out.
        """
        write = self._load_loop(loops.make_list_loop)
        if width is None:
            width = write(self.arrays, rows, np.empty((len(rows), 0), np.int64))
        legal = np.empty((len(rows), width), np.int64)
        write(self.arrays, rows, legal)
        return legal

    def observe(self, rows: Rows, seats: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return what ``seats[n]`` of ``rows[n]`` knows, float32 [len(rows), D]."""
        observation = np.empty((len(rows), self.observation_size), np.float32)
        self._load_loop(loops.make_observe_loop)(self.arrays, rows, seats, observation)
        return observation

    def write_action_features(self, rows: Rows, actions: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the features of some actions of the seat to move, float32 [len(rows), C, F].

        Args:
            rows: The rows.
            actions: Legal actions in each of the rows, contiguous int64 [len(rows), C]. Those below 0 have zeros for features,
                as has every action of a match that is over.
        """
        threads = 1 if self.interpreted else self.threads
        return compute_features(self.game, self.arrays, self._load_loop, threads, rows, actions)

    def count(self, rows: Rows, finished: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
        """Count for the metrics of the game: see :func:`card_envs.engine.loops.make_count_loop`."""
        self._load_loop(loops.make_count_loop)(self.arrays, rows, finished, counts)

    # -- choosing

    def choose(
        self,
        policy: str,
        parameters: NDArray[np.float64],
        actions: NDArray[np.int64],
        rows: Rows,
        who: NDArray[np.int8],
        index: int,
    ) -> int:
        """Write the actions of a built-in policy into ``actions`` [size] in those of ``rows`` where ``who[row] == index``.

        Matches that are over are left alone. Return how many there were.
        """
        choose = self._choosers.get(policy)
        if choose is not None:
            return choose(self.arrays, rows, who, index, parameters, actions)  # type: ignore[no-any-return]
        choose = self._load_loop(loops.make_choose_loop, policy)
        over: int = choose(self.arrays, rows, who, index, parameters, actions)
        self._choosers[policy] = unwrap(choose)
        return over

    def sort(self, rows: Rows, *arguments: Any) -> tuple[int, int]:
        """Sort rows that have just been run by who acts next: see :func:`card_envs.engine.loops.make_sort_loop`."""
        waiting, over = self._sort(self.arrays, rows, *arguments)
        self._sort = unwrap(self._sort)
        return waiting, over

    def playout(self, steps: int, policy: str, parameters: NDArray[np.float64]) -> tuple[int, NDArray[np.float64]]:
        """Play ``steps`` decisions in every row by one policy: see :func:`card_envs.engine.loops.make_playout_loop`."""
        wins = np.zeros(self.players)
        playout = self._load_loop(loops.make_playout_loop, policy)
        ended = playout(self.arrays, self.rows, steps, self.scale, parameters, wins)
        self.refresh()
        return ended, wins

    def rollout(self, policy: str, parameters: NDArray[np.float64], whole_match: bool) -> NDArray[np.float64]:
        """Carry out ``actions`` and play on by one policy: see :func:`card_envs.engine.loops.make_rollout_loop`.

        Returns:
            What the match or the deal pays each seat, float64 [size, players].
        """
        values = np.zeros((self.size, self.players))
        rollout = self._load_loop(rollouts.make_rollout_loop, policy)
        rollout(self.arrays, self.rows, whole_match, self.scale, parameters, self.later_orders.to_arrays(), values)
        self.refresh()
        return values

    def fork_values(
        self,
        rows: Rows,
        candidates: NDArray[np.int64],
        policy: str,
        parameters: NDArray[np.float64],
        decks: int,
        whole_match: bool,
        seeds: NDArray[np.int64] | None = None,
    ) -> NDArray[np.float64]:
        """Return what the ``candidates`` of ``rows`` are worth, float64 [n, C]: see :class:`card_envs.engine.rollouts.Forks`.

        With ``decks`` 0 they are played once on the true deck. The policy draws from ``seeds``, int64 [n], if they are given.
        """
        forks = prepare_forks(self.arrays, rows, candidates, seeds)
        fork = self._load_loop(rollouts.make_fork_loop, policy)
        orders = self.later_orders.to_arrays()

        def run(part: slice) -> None:
            scratch = self.gather(rows[:1]).arrays
            fork(self.arrays, scratch, forks.select(part), decks, whole_match, self.scale, parameters, orders)

        threads = min(self.threads, len(rows), candidates.size * max(1, decks) // PLAYOUTS_PER_THREAD)
        share(run, len(rows), 1 if self.interpreted else threads)
        return forks.values

    # -- copying

    def gather(
        self, rows: NDArray[np.integer[Any]], *, auto_reset: bool | None = None, write_observations: bool | None = None
    ) -> Matches:
        """Return new matches that are copies of these rows, in this order and with the same future. A row may be repeated.

        Flags that are not given stay as they are.
        """
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.later_orders = self.later_orders.gather(rows)
        other._allocate(copy_rows(self.states, rows), copy_rows(self.template))
        copied = ("identity", "seeds", "decisions", "keys", "words", "observation", "to_move", "rewards", "terminated",
                  "truncated", "final_observation")  # fmt: skip
        for name in copied:
            np.take(getattr(self, name), rows, axis=0, out=getattr(other, name))
        if auto_reset is not None:
            other.auto_reset = auto_reset
        if write_observations is not None:
            other.write_observations = write_observations
        if other.legal_features is not None:
            other.legal_features.write(other.rows)
        return other

    def redeal(self, seats: NDArray[np.int64], seed: int) -> None:
        """Resample what the given seat of each row cannot know, including future shuffles: row i from ``seed`` and i."""
        low, high = derive_roots([seed])[0]
        self._load_loop(loops.make_redeal_loop)(self.arrays, self.rows, seats, low, high)
        self.later_orders.forget()
        self.refresh()

    def list_arrays_to_save(self) -> list[NDArray[Any]]:
        """Return the arrays on which the future of the matches depends, for :func:`copy_bytes` and :func:`restore_bytes`."""
        return [self.seeds, *(array for array in self.arrays if array is not self.mask and array is not self.actions)]

    def __deepcopy__(self, memo: dict[int, Any]) -> Matches:
        return self.gather(self.rows)

    def __getstate__(self) -> dict[str, Any]:
        names = (
            "game", "size", "options", "reward", "episode", "threads", "interpreted", "auto_reset", "write_observations",
            "action_features",
        )  # fmt: skip
        return {
            "arguments": {name: getattr(self, name) for name in names},
            "orders": self.later_orders,
            "data": copy_bytes(self.list_arrays_to_save()),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state["arguments"])  # type: ignore[misc]
        self.later_orders = state["orders"]
        restore_bytes(self.list_arrays_to_save(), state["data"])
        if self.legal_features is not None:
            self.legal_features.write(self.rows)
