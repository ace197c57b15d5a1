"""Many matches in lock step over preallocated arrays: the checked face of :class:`~card_envs.engine.matches.Matches`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from card_envs.engine.checks import check_choice, check_count, check_integers, check_rows, check_seats
from card_envs.engine.game import Game, IllegalAction, OptionValue
from card_envs.engine.identity import check_seed, write_identity
from card_envs.engine.loops import LONG_SEED, SEED
from card_envs.engine.matches import EPISODES, REWARDS, Matches


def make_matches(
    game: Game,
    size: int,
    *,
    threads: int = 1,
    reward: str = "win",
    episode: str = "match",
    interpreted: bool = False,
    auto_reset: bool = True,
    write_observations: bool = True,
    **options: OptionValue,
) -> Matches:
    """Return matches made from checked arguments, those of :class:`Batch`; none of them is dealt yet."""
    return Matches(
        game,
        check_count("size", size),
        game.resolve(options),
        reward=check_choice("reward", reward, tuple(REWARDS)),
        episode=check_choice("episode", episode, EPISODES),
        threads=check_count("threads", threads),
        interpreted=interpreted,
        auto_reset=auto_reset,
        write_observations=write_observations,
    )


class Batch:
    """``size`` matches of one game in lock step.

    A row whose match ends is dealt its next match in the same step: ``rewards``, ``terminated`` and ``truncated`` are then
    those of the old match, everything else is that of the new one. A row's matches depend on its identity (seed, row, match)
    alone, and neither on ``size`` and ``threads`` nor on the other rows.

    Attributes:
        matches: the arrays themselves, writable and unchecked, for code that is trusted.
        game, options, players, num_actions, observation_size: what is played.
        observation: float32 [size, D], what the seat to move knows.
        action_mask: int8 [size, A], 1 where an action is legal.
        to_move: int8 [size], the seat to move.
        rewards: float64 [size, players], what the last step paid each seat.
        terminated, truncated: bool [size], whether that step ended the row's match, by the rules or by a technical cap.
        final_observation: float32 [size, D], of a row whose match has just ended: the end as its last mover sees it.

    The arrays are read-only views of buffers that :meth:`reset` and :meth:`step` refresh in place: copy what you keep.

    Args:
        game: a game, as from :func:`card_envs.load_game`.
        size: number of rows, at least 1.
        seed: as for :meth:`reset`.
        threads: how many threads share the rows of a step; small batches stay on one.
        reward: ``"win"`` (sums to zero: each of k winners among n players gets (n-k)/(k(n-1)), the others get -1/(n-1)),
            ``"score"`` (the score of each deal as it ends, divided by the target) or ``"margin"`` (the own score minus the
            mean of the others', on the same scale).
        episode: ``"match"``, or ``"deal"`` (one deal from a new deck, ranked by its scores).
        interpreted: whether to run the rules in plain Python, which is slow and meant for debugging.
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
        given: dict[str, Any] = {"interpreted": interpreted, **options}
        self._bind(make_matches(game, size, threads=threads, reward=reward, episode=episode, **given))
        self.reset(seed)

    @classmethod
    def wrap(cls, matches: Matches) -> Batch:
        """Return a batch over existing matches, whose arrays it shares."""
        batch = object.__new__(cls)
        batch._bind(matches)
        return batch

    def _bind(self, matches: Matches) -> None:
        self.matches = matches
        self.game, self.options, self.players = matches.game, matches.options, matches.players
        self.size, self.threads = matches.size, matches.threads
        self.reward, self.episode = matches.reward, matches.episode
        self.num_actions, self.observation_size = matches.num_actions, matches.observation_size
        self.observation = _view_read_only(matches.observation)
        self.action_mask = _view_read_only(matches.action_mask)
        self.to_move = _view_read_only(matches.to_move)
        self.rewards = _view_read_only(matches.rewards)
        self.terminated = _view_read_only(matches.terminated)
        self.truncated = _view_read_only(matches.truncated)
        self.final_observation = _view_read_only(matches.final_observation)

    # -- playing

    def reset(self, seed: int | ArrayLike | None = None) -> None:
        """Deal every row a new match.

        Args:
            seed: an int below 2**256 gives row i the identity (seed, i, 0); an integer array [size] gives it
                (seed[i], 0, 0); ``None`` goes on to each row's next match, or draws a seed from the operating system if the batch was never seeded.

        Raises:
            ValueError: a seed is out of range, or of a wrong shape or dtype. Nothing has changed.
        """
        write_identity(self.matches, seed)
        self.matches.later_orders = {}
        self.matches.deal(self.matches.rows)

    def step(self, actions: ArrayLike) -> None:
        """Play one action in every row.

        Args:
            actions: an integer array [size].

        Raises:
            IllegalAction: names the rows whose action is not legal; no row is stepped.
            ValueError: a wrong shape or dtype, or a NaN.
        """
        self._lay_actions(actions)
        self.matches.run(self.matches.rows)

    def _lay_actions(self, actions: ArrayLike) -> None:
        matches = self.matches
        matches.actions[:] = check_integers(actions, self.size, "actions")
        illegal = np.flatnonzero(~matches.is_legal(matches.actions, matches.rows))
        if len(illegal):
            raise IllegalAction(matches.explain_illegal(illegal))

    def sample(self) -> NDArray[np.int64]:
        """Return a uniformly random legal action for every row, int64 [size], drawn from the stream of each row's decision."""
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
        """Write a built-in policy's actions for some rows into ``actions``.

        Args:
            policy: its name.
            parameters: float64, as many as the policy takes.
            actions: int64 [size], written where a row is asked for.
            rows: int64, the rows; all by default.
            who: int8 [size]; only rows with ``who[row] == index`` are asked for.
            index: see ``who``.

        Raises:
            ValueError: an unknown policy, or a wrong number of parameters.
            TypeError: an array of another dtype, or one that is not contiguous.
        """
        which = self.matches.rows if rows is None else rows
        who = np.full(self.size, index, np.int8) if who is None else who
        for array, dtype in ((which, np.int64), (who, np.int8), (parameters, np.float64), (actions, np.int64)):
            if array.dtype != dtype or not array.flags.c_contiguous:
                raise TypeError(f"choose: a contiguous array of {dtype.__name__} is expected, got {array.dtype}")
        self._check_parameters(policy, parameters)
        self.matches.choose(policy, parameters, actions, which, who, index)

    def _check_parameters(self, policy: str, given: NDArray[np.float64] | None) -> NDArray[np.float64]:
        """Return the policy's parameters, those given or its defaults: compiled code trusts that all of them are there."""
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

        A match that ends is followed by the row's next one. Afterwards ``observation`` and ``action_mask`` are those of the
        decisions that come next.

        Returns:
            The number of matches that ended, and the sum of their ``reward="win"`` for each seat, float64 [players].
        """
        return self.matches.playout(steps, policy, self._check_parameters(policy, parameters))

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

        This is made for search: over copies (:meth:`gather`) that were dealt anew (:meth:`redeal`), the mean says what the
        action is worth.

        Args:
            actions: an integer array [size] of legal actions.
            policy: the policy's name.
            parameters: its parameters, float64; by default its own.
            until: ``"match"``, or ``"deal"``: the end of the deal that is being played.
            seeds: an integer array [size]: from here on the policy draws its choices in row i from ``seeds[i]`` instead of the
                match's own stream for players.

        Returns:
            What it brings each seat, float64 [size, players]: ``reward="win"`` of a match, ``reward="margin"`` of a deal.

        Raises:
            IllegalAction, ValueError: as :meth:`step`; an unknown policy.
        """
        parameters = self._check_parameters(policy, parameters)
        whole_match = check_choice("until", until, ("match", "deal")) == "match"
        self._lay_actions(actions)
        if seeds is not None:
            self.matches.seed_players(check_integers(seeds, self.size, "seeds"))
        return self.matches.rollout(policy, parameters, whole_match)

    # -- looking and copying

    def observe(self, seats: ArrayLike) -> NDArray[np.float32]:
        """Return what the given seat of each row knows, float32 [size, D]; ``seats`` is an int or an integer array [size]."""
        return self.matches.observe(self.matches.rows, check_seats(seats, self.size, self.players))

    def identity(self) -> NDArray[Any]:
        """Return (seed, row, match) of every row, int64 [size, 3]; with dtype object if a seed needs more than 63 bits."""
        if (self.matches.identity[:, SEED] != LONG_SEED).all():
            return self.matches.identity.copy()
        return np.array([self.matches.read_identity(row) for row in range(self.size)], object)

    def decisions(self) -> NDArray[np.int64]:
        """Return how many decisions were made in every row's match, int64 [size]."""
        return self.matches.decisions.copy()

    def gather(self, indices: ArrayLike) -> Batch:
        """Return a new batch whose rows are copies of these rows: the same matches with the same future.

        Args:
            indices: row numbers, at least one; a row may be named more than once.
        """
        return Batch.wrap(self.matches.gather(check_rows(indices, self.size)))

    def clone(self) -> Batch:
        """Return an independent copy of all rows."""
        return Batch.wrap(self.matches.gather(self.matches.rows))

    def redeal(self, seats: ArrayLike, seed: int) -> None:
        """Resample in every row what its given seat cannot know, future shuffles included.

        Args:
            seats: a seat for all rows, or an integer array [size].
            seed: what row i is dealt from, together with i.
        """
        self.matches.redeal(check_seats(seats, self.size, self.players), check_seed(seed))

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        return f"<Batch {self.game.id} of {self.size}, {self.players} players>"

    def __deepcopy__(self, memo: dict[int, Any]) -> Batch:
        return self.clone()

    def __getstate__(self) -> dict[str, Any]:
        return {"matches": self.matches}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._bind(state["matches"])


def _view_read_only(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view
