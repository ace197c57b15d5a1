"""What compiled code does with the arrays of many matches. Nothing is checked here; :class:`Batch` does that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.engine import loops, rollouts
from card_envs.engine.compiled import unwrap
from card_envs.engine.features import compute_features
from card_envs.engine.forward import make_score_loop
from card_envs.engine.game import Policy
from card_envs.engine.keys import derive_roots
from card_envs.engine.loops import REFRESH, RESET
from card_envs.engine.match_arrays import Flags, MatchArrays, Rows
from card_envs.engine.networks import SCORER, NetworkParameters, ScoredActions
from card_envs.engine.pairs import PairParameters, copy_any_parameters
from card_envs.engine.parameters import Parameters
from card_envs.engine.pool import share
from card_envs.engine.posts import CARRIES_OUT, CHECKS
from card_envs.engine.rollouts import prepare_forks
from card_envs.engine.rows import States
from card_envs.engine.share import make_share_loop
from card_envs.engine.threads import Team, make_team

REWARDS = {"win": loops.WIN, "score": loops.SCORE, "margin": loops.MARGIN}
EPISODES = ("match", "deal")
NO_PARAMETERS = np.empty(0)
PLAYOUTS_PER_THREAD = 64  # with fewer play-outs of forks, waking a thread costs more than it saves


class Matches(MatchArrays):
    """``size`` matches of one game, which are played by compiled loops or, if ``interpreted``, by the same loops in Python.

    The arrays and the arguments are those of :class:`MatchArrays`.
    """

    def _allocate(self, states: States, template: States) -> None:
        super()._allocate(states, template)
        self._team: Team | None = None  # the threads that share the rows
        self._step = unwrap(self._load_loop(loops.make_step_loop))
        self._sort = unwrap(self._load_loop(loops.make_sort_loop))
        self._count_illegal = unwrap(self._load_loop(loops.make_legal_loop))
        self._choosers: dict[str | Policy, Callable[..., Any]] = {}
        self.everyone = np.zeros(self.size, np.int8)  # as ``who`` of :meth:`choose`: one policy for all rows

    # -- playing

    def run(self, rows: Rows) -> None:
        """Carry out ``actions`` in these rows, and prepare the given order of the next deck if there is one."""
        self._carry_out(rows, self._run, CARRIES_OUT)

    def run_legal(self, rows: Rows) -> Rows:
        """Do as :meth:`run` does if all ``actions`` are legal. Return the rows where they are not; then nothing has changed."""
        done = self._carry_out(rows, self._run_legal, CHECKS)
        return rows[:0] if done else self.find_illegal(rows)

    def _carry_out(self, rows: Rows, alone: Callable[[Rows], bool], task: int) -> bool:
        if self.threads < 2 or self.interpreted:
            done = alone(rows)
        else:
            done = self._find_team().run(rows, alone, task, int(self.auto_reset), int(self.write_observations))
        if done and self.legal_features is not None:
            self.legal_features.write(rows)
        if done and self.later_orders:
            self.later_orders.lay_due(self.states)
        return done

    def _run(self, rows: Rows) -> bool:
        self._step(self.arrays, rows, *self._settings())
        self._step = unwrap(self._step)
        return True

    def _run_legal(self, rows: Rows) -> bool:
        return not len(self.find_illegal(rows)) and self._run(rows)

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

    # -- looking

    def is_legal(self, rows: Rows) -> Flags:
        """Return whether the ``actions`` of these rows, which may be any integers, are legal, bool [len(rows)]."""
        legal = np.empty(len(rows), np.bool_)
        self._count_illegal(self.arrays, rows, legal)
        return legal

    def find_illegal(self, rows: Rows) -> Rows:
        """Return those of the rows whose ``actions`` are not legal."""
        legal = np.empty(len(rows), np.bool_)
        illegal = self._count_illegal(self.arrays, rows, legal)
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

    def _load_policy_loop(self, make: Callable[..., loops.Loop], policy: str | Policy) -> Callable[..., Any]:
        return self._load_loop(make, self.game.policy(policy))

    def choose(
        self,
        policy: str | Policy,
        parameters: Parameters,
        actions: NDArray[np.int64],
        rows: Rows,
        who: NDArray[np.int8],
        index: int,
    ) -> int:
        """Write the actions of a policy, or of the built-in one of that name, into ``actions`` [size].

        It chooses in those of ``rows`` where ``who[row] == index``.

        Matches that are over are left alone. Return how many there were.
        """
        choose = self._choosers.get(policy)
        if choose is not None:
            return choose(self.arrays, rows, who, index, parameters, actions)  # type: ignore[no-any-return]
        choose = self._load_policy_loop(loops.make_choose_loop, policy)
        over: int = choose(self.arrays, rows, who, index, parameters, actions)
        self._choosers[policy] = unwrap(choose)
        return over

    def score_actions(self, rows: Rows, policy: Policy, parameters: NetworkParameters) -> ScoredActions:
        """Return the scores that a network gives to the legal actions of the seats to move in these rows."""
        size = int(np.count_nonzero(self.mask[rows]))
        width = parameters.inputs.shape[1] if policy.form == SCORER else 0
        scored = ScoredActions(
            counts=np.zeros(len(rows), np.int64),
            actions=np.zeros(size, np.int64),
            scores=np.zeros(size, np.float32),
            inputs=np.zeros((size if width else 0, width), np.float32),
        )
        self._load_policy_loop(make_score_loop, policy)(self.arrays, rows, parameters, *scored)
        return scored

    def sample(self) -> tuple[NDArray[np.int64], int]:
        """Return a random legal action for every row, int64 [size], and how many matches are over, which have none."""
        if self._team is not None:
            sampled = self._team.sample(self.rows)
            if sampled is not None:
                return sampled, 0
        actions = np.empty(self.size, np.int64)
        return actions, self.choose("random", NO_PARAMETERS, actions, self.rows, self.everyone, 0)

    def sort(self, rows: Rows, *arguments: Any) -> tuple[int, int]:
        """Sort rows that have just been run by who acts next: see :func:`card_envs.engine.loops.make_sort_loop`."""
        waiting, over = self._sort(self.arrays, rows, *arguments)
        self._sort = unwrap(self._sort)
        return waiting, over

    def playout(self, steps: int, policy: str | Policy, parameters: Parameters) -> tuple[int, NDArray[np.float64]]:
        """Play ``steps`` decisions in every row by one policy: see :func:`card_envs.engine.loops.make_playout_loop`."""
        wins = np.zeros(self.players)
        playout = self._load_policy_loop(loops.make_playout_loop, policy)
        ended = playout(self.arrays, self.rows, steps, self.scale, parameters, wins)
        self.refresh()
        return ended, wins

    def rollout(self, policy: str | Policy, parameters: Parameters, whole_match: bool) -> NDArray[np.float64]:
        """Carry out ``actions`` and play on by one policy: see :func:`card_envs.engine.loops.make_rollout_loop`.

        Returns:
            What the match or the deal pays each seat, float64 [size, players].
        """
        values = np.zeros((self.size, self.players))
        rollout = self._load_policy_loop(rollouts.make_rollout_loop, policy)
        rollout(self.arrays, self.rows, whole_match, self.scale, parameters, self.later_orders.to_arrays(), values)
        self.refresh()
        return values

    def fork_values(
        self,
        rows: Rows,
        candidates: NDArray[np.int64],
        policy: str | Policy,
        parameters: Parameters | PairParameters,
        decks: int,
        whole_match: bool,
        seeds: NDArray[np.int64] | None = None,
        value_match: bool = False,
    ) -> NDArray[np.float64]:
        """Return what the ``candidates`` of ``rows`` are worth, float64 [n, C]: see :class:`card_envs.engine.rollouts.Forks`.

        With ``value_match`` the end of a deal is valued by the ``match_value`` of the game, which must have one.
        With ``decks`` 0 they are played once on the true deck. The policy draws from ``seeds``, int64 [n], if they are given.
        """
        forks = prepare_forks(self.arrays, rows, candidates, seeds)
        make = rollouts.make_match_fork_loop if value_match else rollouts.make_fork_loop
        fork = self._load_policy_loop(make, policy)
        orders = self.later_orders.to_arrays()

        def run(part: slice) -> None:
            scratch = self.gather(rows[:1]).arrays
            fork(
                self.arrays,
                scratch,
                forks.select(part),
                decks,
                whole_match,
                self.scale,
                copy_any_parameters(parameters),
                orders,
            )

        threads = min(self.threads, len(rows), candidates.size * max(1, decks) // PLAYOUTS_PER_THREAD)
        share(run, len(rows), 1 if self.interpreted else threads)
        return forks.values

    def redeal(self, seats: NDArray[np.int64], seed: int) -> None:
        """Resample what the given seat of each row cannot know, including future shuffles: row i from ``seed`` and i."""
        low, high = derive_roots([seed])[0]
        self._load_loop(loops.make_redeal_loop)(self.arrays, self.rows, seats, low, high)
        self.later_orders.forget()
        self.refresh()
