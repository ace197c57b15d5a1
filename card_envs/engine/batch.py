"""Many matches in lock step: the public interface to :class:`~card_envs.engine.matches.Matches`, which checks its arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from card_envs.engine.checks import (
    check_candidates,
    check_choice,
    check_count,
    check_features,
    check_integers,
    check_rows,
    check_seats,
    check_value,
    copy_integers,
)
from card_envs.engine.game import Game, IllegalAction, OptionValue, Policy, check_keywords
from card_envs.engine.identity import check_seed, write_identity
from card_envs.engine.legality import explain_illegal, find_illegal_candidates
from card_envs.engine.loops import LONG_SEED, SEED, STREAM
from card_envs.engine.matches import EPISODES, REWARDS, Matches
from card_envs.engine.parameters import AnyParameters, check_policy
from card_envs.engine.rollouts import start_streams


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
    action_features: bool = False,
    **options: OptionValue,
) -> Matches:
    """Check the arguments, which are those of :class:`Batch`, and return matches that have not been dealt yet."""
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
        action_features=check_features(game, action_features),
    )


class Batch:
    """``size`` matches of one game in lock step.

    When the match of a row ends, the next one is dealt in the same step: ``rewards``, ``terminated`` and ``truncated`` then
    belong to the old match, and everything else to the new one. The matches of a row depend only on its identity (seed, row,
    match), not on ``size``, ``threads`` or the other rows.

    Attributes:
        matches: The arrays themselves, writable and unchecked, for trusted code.
        game, options, players, num_actions, observation_size: What is played.
        observation: What the seat to move knows, float32 [size, D].
        action_mask: 1 where an action is legal, int8 [size, A].
        to_move: The seat to move, int8 [size].
        rewards: What the last step paid each seat, float64 [size, players].
        terminated, truncated: Whether that step ended the match, by the rules or by a technical cap, bool [size].
        final_observation: The end of a match as its last mover sees it, in rows whose match has just ended, float32 [size, D].
        action_features: What each legal action does, zeros where an action is illegal, float32 [size, A, F]; ``None`` unless
            asked for. ``game.action_fields()`` names the features.

    The arrays are read-only views of buffers that :meth:`reset` and :meth:`step` overwrite, so copy what you want to keep.

    Args:
        game: The game, as from :func:`card_envs.load_game`.
        size: The number of rows, at least 1.
        seed: As for :meth:`reset`.
        threads: How many threads share the rows of a step. Small batches use only one.
        reward: ``"win"`` (each of k winners among n players gets (n-k)/(k(n-1)) and the others get -1/(n-1), which sums to
            zero), ``"score"`` (the score of each deal when it ends, divided by the target) or ``"margin"`` (the same, minus
            the mean of the other players' scores).
        episode: ``"match"``, or ``"deal"`` for one deal from a new deck, ranked by its scores.
        action_features: Whether to keep :attr:`action_features`, for games that have them.
        interpreted: Whether to run the rules in plain Python, which is slow and meant for debugging.
        **options: The options of the game, such as ``players=4``.

    Raises:
        UnexpectedKeyword: A keyword is unknown. This is a ``TypeError`` and a ``ValueError``.
        ValueError: A name is unknown, or a value is out of range.
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
        action_features: bool = False,
        interpreted: bool = False,
        **options: OptionValue,
    ) -> None:
        known = [*game.option_names, "seed", "threads", "reward", "episode", "action_features", "interpreted"]
        check_keywords("Batch", options, known)
        settings: Any = {"reward": reward, "episode": episode, "action_features": action_features, **options}
        self._bind(make_matches(game, size, threads=threads, interpreted=interpreted, **settings))
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
        self.size, self.num_actions, self.observation_size = matches.size, matches.num_actions, matches.observation_size
        self.observation = _view_read_only(matches.observation)
        self.action_mask = _view_read_only(matches.action_mask)
        self.to_move = _view_read_only(matches.to_move)
        self.rewards = _view_read_only(matches.rewards)
        self.terminated = _view_read_only(matches.terminated)
        self.truncated = _view_read_only(matches.truncated)
        self.final_observation = _view_read_only(matches.final_observation)
        self.action_features = matches.legal_features and _view_read_only(matches.legal_features.values)

    # -- playing

    def reset(self, seed: int | ArrayLike | None = None) -> None:
        """Deal every row a new match.

        Args:
            seed: An int below 2**256 gives row i the identity (seed, i, 0), and an integer array [size] gives it
                (seed[i], 0, 0). ``None`` goes on to the next match of each row, or draws a seed from the operating system if
                there was none before.

        Raises:
            ValueError: A seed is out of range, or has a wrong shape or dtype. Nothing has changed.
        """
        write_identity(self.matches, seed)
        self.matches.later_orders.forget()
        self.matches.deal(self.matches.rows)

    def step(self, actions: ArrayLike) -> None:
        """Play one action in every row.

        Args:
            actions: An integer array [size].

        Raises:
            IllegalAction: Some actions are not legal; the message names their rows. No row is stepped.
            ValueError: The array has a wrong shape or dtype, or holds a NaN.
        """
        matches = self.matches
        matches.actions[:] = check_integers(actions, self.size, "actions")
        self._refuse(matches.run_legal(matches.rows))

    def _refuse(self, illegal: NDArray[np.int64]) -> None:
        """Raise ``IllegalAction`` if there are rows whose actions are not legal."""
        if len(illegal):
            raise IllegalAction(explain_illegal(self.matches, illegal))

    def sample(self) -> NDArray[np.int64]:
        """Return a uniformly random legal action for every row, int64 [size], drawn from the random stream of its decision."""
        actions, over = self.matches.sample()
        if over:
            self._check_open(self.matches.rows)
        return actions

    def choose(
        self,
        policy: str | Policy,
        parameters: AnyParameters,
        actions: NDArray[np.int64],
        rows: ArrayLike | None = None,
        who: ArrayLike | None = None,
        index: int = 0,
    ) -> None:
        """Write a built-in policy's actions for some rows into ``actions``.

        Args:
            policy: The name of a built-in policy, or the policy of a network.
            parameters: The parameters of the policy, numbers from -1e9 to 1e9; ``None`` stands for its own. A network needs its
                :class:`~card_envs.engine.networks.NetworkParameters`.
            actions: Where the actions are written, int64 [size]. Other rows are left alone.
            rows: The rows to choose for; by default all.
            who: If given, the policy chooses only in rows with ``who[row] == index``, integers [size].
            index: See ``who``.

        Raises:
            ValueError: The policy is unknown or its parameters are not allowed, a row is out of range or its match is over.
            TypeError: ``actions`` is not a writable, contiguous array of int64.
        """
        if not isinstance(actions, np.ndarray) or actions.dtype != np.int64 or not actions.flags.carray:
            kind = actions.dtype if isinstance(actions, np.ndarray) else type(actions).__name__
            raise TypeError(f"choose: a writable, contiguous array of int64 is expected for actions, got {kind}")
        check_integers(actions, self.size, "actions")
        chosen, checked = check_policy(self.matches, policy, parameters)
        which = self.matches.rows if rows is None else check_rows(rows, self.size)
        if who is not None:
            which = which[check_integers(who, self.size, "who")[which] == index]
        self._check_open(which)
        self.matches.choose(chosen, checked, actions, which, self.matches.everyone, 0)

    def _check_open(self, rows: NDArray[np.int64]) -> None:
        """Raise ``ValueError`` if the match of a row is over: nobody is to move there."""
        over = self.to_move[rows] < 0
        if over.any():
            raise ValueError(f"the match of row {int(rows[np.argmax(over)])} is over")

    def playout(
        self, steps: int, policy: str | Policy = "random", parameters: AnyParameters = None
    ) -> tuple[int, NDArray[np.float64]]:
        """Play ``steps`` decisions in every row in one compiled call, with one built-in policy in all seats.

        When a match ends, the next one of its row is dealt. Afterwards ``observation`` and ``action_mask`` are those of the
        next decisions.

        Returns:
            The number of matches that ended, and the sum of their ``reward="win"`` for each seat, float64 [players].

        Raises:
            ValueError: ``steps`` is not a whole number from 1, the policy is unknown or its parameters are not allowed, or a
                match is over.
        """
        self._check_open(self.matches.rows)
        chosen, checked = check_policy(self.matches, policy, parameters)
        return self.matches.playout(check_count("steps", steps), chosen, checked)

    def rollout(
        self,
        actions: ArrayLike,
        policy: str | Policy = "random",
        parameters: AnyParameters = None,
        *,
        until: str = "match",
        seeds: ArrayLike | None = None,
    ) -> NDArray[np.float64]:
        """Play an action in every row and go on with one built-in policy in all seats, in one compiled call.

        This is made for search: the mean over copies (:meth:`gather`) with other hidden cards (:meth:`redeal`) estimates the
        value of the action.

        Args:
            actions: An integer array [size] of legal actions.
            policy: The name of a built-in policy, or the policy of a network.
            parameters: The parameters of the policy; see :meth:`choose`.
            until: Whether to play to the end of the ``"match"`` or of the current ``"deal"``.
            seeds: An integer array [size]. If it is given, the policy draws its choices in row i from ``seeds[i]``, no longer
                from the stream that the match has for its players.

        Returns:
            What each seat is paid, float64 [size, players]: ``reward="win"`` of a match, ``reward="margin"`` of a deal.

        Raises:
            IllegalAction: As for :meth:`step`.
            ValueError: As for :meth:`step`, or the policy is unknown or its parameters are not allowed.
        """
        chosen, checked = check_policy(self.matches, policy, parameters)
        whole_match = check_choice("until", until, ("match", "deal")) == "match"
        drawn_from = None if seeds is None else check_integers(seeds, self.size, "seeds")
        self.matches.actions[:] = check_integers(actions, self.size, "actions")
        self._refuse(self.matches.find_illegal(self.matches.rows))
        if drawn_from is not None:
            self.matches.keys[:, STREAM] = start_streams(drawn_from)
        return self.matches.rollout(chosen, checked, whole_match)

    def fork_values(
        self,
        candidates: ArrayLike,
        policy: str | Policy = "random",
        parameters: AnyParameters = None,
        *,
        decks: int = 1,
        until: str = "deal",
        value: str = "margin",
        rows: ArrayLike | None = None,
        seeds: ArrayLike | None = None,
    ) -> NDArray[np.float64]:
        """Play several actions at each decision and return what each is worth to the seat to move, in one compiled call.

        The match is copied once for every candidate. The action is played, and one built-in policy plays on in all seats. All
        candidates of a row meet the same decks, and the policy draws from the same random streams, so that luck hardly
        influences their comparison. The matches themselves do not change.

        These are *training labels*. They depend on the true hands of all seats, so a player that acts on them cheats. A network
        that learns them does not: the true hands are one draw from all that the mover has to reckon with, after what everybody
        has done. Therefore a regression on what the mover sees, by squared error, tends to the expectation of the values given
        just that. It holds for the behaviour that led to these decisions, and for no other.

        Args:
            candidates: An integer array [n, C] of legal actions, as from :meth:`legal_actions`. A negative number stands for
                no action.
            policy: The name of a built-in policy, or the policy of a network.
            parameters: The parameters of the policy; see :meth:`choose`.
            decks: On how many decks each candidate is played. In every one of them the cards that are still to be drawn are
                shuffled anew, and later shuffles are others, but the hands stay as they are. 0 plays once on the true deck.
            until: Whether to play to the end of the ``"match"`` or of the current ``"deal"``.
            value: What the end of a deal is worth: the ``"margin"`` of its scores, or what the ``"match"`` is expected to pay.
            rows: The rows of the decisions; by default all. A row may be named more than once.
            seeds: An integer array [n]. If it is given, the decks and the choices of the policy at the n-th decision are drawn
                from ``seeds[n]`` alone, no longer from the identity of the match and the number of the decision.

        Returns:
            The mean over the decks of what the seat to move is paid, float64 [n, C]: ``reward="win"`` of a match or with
            ``value="match"``, else ``reward="margin"`` of a deal. It is NaN where there is no action.

        Raises:
            IllegalAction: Some candidates are not legal; the message names their rows.
            ValueError: An array has a wrong shape or dtype, ``decks`` is not a whole number from 0, a row is out of range or
                its match is over, the policy, its parameters or ``value`` are unknown or not allowed.
        """
        chosen, checked = check_policy(self.matches, policy, parameters)
        whole_match = check_choice("until", until, ("match", "deal")) == "match"
        value_match = check_value(value, self.game) == "match"
        decks = check_count("decks", decks, least=0)
        which = self.matches.rows if rows is None else check_rows(rows, self.size)
        actions = check_candidates(candidates, len(which))
        drawn_from = None if seeds is None else copy_integers(check_integers(seeds, len(which), "seeds"))
        self._check_open(which)
        wrong, refused = find_illegal_candidates(self.matches, which, actions)
        if len(wrong):
            raise IllegalAction(explain_illegal(self.matches, wrong, refused))
        return self.matches.fork_values(which, actions, chosen, checked, decks, whole_match, drawn_from, value_match)

    # -- looking and copying

    def legal_actions(self, rows: ArrayLike | None = None) -> NDArray[np.int64]:
        """Return the legal actions of some rows, by default of all, in the order of their indices and padded with -1.

        Returns:
            An array int64 [n, C], where C is the largest number of legal actions in one of these rows. A match that is over has
            none.
        """
        return self.matches.list_legal(self.matches.rows if rows is None else check_rows(rows, self.size))

    def observe(self, seats: ArrayLike) -> NDArray[np.float32]:
        """Return what the given seat of each row knows, float32 [size, D]; ``seats`` is an int or an integer array [size]."""
        return self.matches.observe(self.matches.rows, check_seats(seats, self.size, self.players))

    def identity(self) -> NDArray[Any]:
        """Return the identity (seed, row, match) of every row's match, int64 [size, 3]; objects if a seed has over 63 bits."""
        if (self.matches.identity[:, SEED] != LONG_SEED).all():
            return self.matches.identity.copy()
        return np.array([self.matches.read_identity(row) for row in range(self.size)], object)

    def decisions(self) -> NDArray[np.int64]:
        """Return how many decisions were made in every row's match, int64 [size]."""
        return self.matches.decisions.copy()

    def gather(self, indices: ArrayLike) -> Batch:
        """Return a new batch whose rows are copies of these rows: the same matches with the same future.

        Args:
            indices: The numbers of the rows, at least one. A row may be named more than once.
        """
        return Batch.wrap(self.matches.gather(check_rows(indices, self.size)))

    def clone(self) -> Batch:
        """Return an independent copy of all rows."""
        return self.gather(self.matches.rows)

    def redeal(self, seats: ArrayLike, seed: int) -> None:
        """Resample in every row what the given seat cannot know, including future shuffles.

        Args:
            seats: One seat for all rows, or an integer array [size].
            seed: The seed to deal from. Every row has a random stream of its own.
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
