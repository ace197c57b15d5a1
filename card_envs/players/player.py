"""The protocol of players: what they are given, and players made of built-in policies or functions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from card_envs.engine.game import Game, OptionValue, Policy
from card_envs.engine.keys import DECISION, MATCH_NUMBER, POLICIES, SEARCH
from card_envs.engine.loops import SEATS, STREAM
from card_envs.engine.matches import Matches
from card_envs.engine.parameters import AnyParameters, Parameters, check_parameters, check_policy
from card_envs.engine.searching import conceal
from card_envs.engine.table import Table


class Decisions:
    """The decisions that a player is asked for, in ``n`` rows of many matches.

    Attributes:
        game, options, players: What is played, and by how many.
        observation: What the seat to move knows, float32 [n, D].
        action_mask: 1 where an action is legal, int8 [n, A].
        seat: The seat to move, int64 [n].
        match: A number for each match, uint64 [n]. Players that remember something between calls keep it by this number.
        key: The key of a random stream for this decision alone, uint64 [n].

    Neither ``match`` nor ``key`` tells anything about the decks or about other keys: see :mod:`card_envs.engine.keys`.

    Args:
        matches: The matches.
        rows: The rows in which the player is to move, int64 [n].
        salt: Numbers that tell matches apart that are dealt the same decks, uint64 [size], so that neither ``match`` nor
            ``key`` agrees between them.
    """

    def __init__(self, matches: Matches, rows: NDArray[np.int64], salt: NDArray[np.uint64] | None = None) -> None:
        self._matches = matches
        self._rows = rows
        self._salt = salt
        self.game: Game = matches.game
        self.options: dict[str, OptionValue] = dict(matches.options)  # a copy, which the player may change
        self.players: int = matches.players

    @classmethod
    def at(cls, table: Table) -> Decisions:
        """Return the decision that is to be made at a table."""
        return cls(table.matches, table.matches.rows)

    def __len__(self) -> int:
        return len(self._rows)

    @cached_property
    def observation(self) -> NDArray[np.float32]:
        return self._matches.observe(self._rows, self.seat)

    @cached_property
    def action_mask(self) -> NDArray[np.int8]:
        return self._matches.action_mask[self._rows]

    @cached_property
    def seat(self) -> NDArray[np.int64]:
        return self._matches.to_move[self._rows].astype(np.int64)

    @cached_property
    def match(self) -> NDArray[np.uint64]:
        # the identity itself would reveal the true deck
        return self._matches.derive(MATCH_NUMBER, self._rows, np.zeros(len(self._rows), np.int64), self._salt)

    @cached_property
    def key(self) -> NDArray[np.uint64]:
        return self._matches.derive(DECISION, self._rows, self._numbers, self._salt)

    @property
    def _numbers(self) -> NDArray[np.int64]:
        """One number for each decision of a match and the seat that makes it, int64 [n]."""
        return self._matches.decisions[self._rows] * SEATS + self.seat

    def tables(self) -> list[Table]:
        """Return a copy of each table for search. What the seat cannot know is dealt anew, so that no search can see it."""
        seeds = self._matches.derive(SEARCH, self._rows, self._numbers, self._salt)
        return [
            Table.from_row(self._matches, row, redeal=(seat, seed))
            for row, seat, seed in zip(self._rows.tolist(), self.seat.tolist(), seeds.tolist(), strict=True)
        ]

    def copies(self, which: NDArray[np.int64] | None = None) -> Matches:
        """Return a copy of each match for search, in one piece: row n holds the state of ``tables()[n]``.

        Args:
            which: The numbers of the decisions, int64; by default all.
        """
        which = np.arange(len(self)) if which is None else which
        seeds = self._matches.derive(SEARCH, self._rows[which], self._numbers[which], self._salt)
        matches = self._matches.gather(self._rows[which], auto_reset=False, write_observations=True)
        matches.identify(matches.rows, seeds.tolist(), 0, 0)
        matches.keys[:, STREAM] = matches.derive(POLICIES, matches.rows, np.zeros(len(which), np.int64))
        conceal(matches)
        return matches

    def choose(self, policy: str | Policy, parameters: AnyParameters = None) -> NDArray[np.int64]:
        """Return what a policy of the game chooses, int64 [n]; a built-in one, by default, with its own parameters."""
        found, checked = check_policy(self._matches, policy, parameters)
        actions = np.empty(self._matches.size, np.int64)
        who = np.zeros(self._matches.size, np.int8)
        self._matches.choose(found, checked, actions, self._rows, who, 0)
        return actions[self._rows]


@runtime_checkable
class Player(Protocol):
    """A player at a table.

    The answer of a player in a row should depend only on that row and its key. If that is true to the last bit, whatever the
    other rows are, the player may have an attribute ``batch_invariant = True``. The arena then asks it in large batches.

    A player may also have a method ``write_actions(matches, rows, who, index)``, which writes into ``matches.actions`` in those
    of ``rows`` where ``who[row] == index``. It is called instead of ``act``, and its actions are trusted to be legal, so it is
    meant for the compiled players of this package.
    """

    def act(self, decisions: Decisions) -> NDArray[np.int64]:
        """Return an action for every decision, an integer array [n]."""
        ...


@runtime_checkable
class Bindable(Protocol):
    """A player that chooses in compiled code, and so can play on in rollouts: a built-in one, or a network."""

    def bind(self, game: Game, options: Mapping[str, OptionValue]) -> tuple[Policy, Parameters]:
        """Return the player as a policy of the game, and the parameters of the policy.

        Raises:
            ValueError: The player cannot play this game with these options.
        """
        ...


class Particular(ABC):
    """A base class of players that play some games only, or only with some options."""

    @abstractmethod
    def check(self, game: Game, options: Mapping[str, OptionValue]) -> None:
        """Raise ``ValueError`` unless the player can play this game with these options."""


class BuiltIn:
    """A compiled policy of a game with its parameters."""

    batch_invariant = stateless = True

    def __init__(self, game: Game, policy: str, parameters: ArrayLike | None, name: str) -> None:
        self.game = game
        self.policy: Policy = game.policy(policy)
        self.parameters = check_parameters(self.policy, parameters)
        self.name = name

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"policy": self.policy.name}  # its function may have been made by another

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state | {"policy": state["game"].policy(state["policy"])})

    def act(self, decisions: Decisions) -> NDArray[np.int64]:
        return decisions.choose(self.policy.name, self.parameters)

    def bind(self, game: Game, options: Mapping[str, OptionValue]) -> tuple[Policy, Parameters]:
        """Return the policy and its parameters, for compiled code."""
        if game is not self.game:
            raise ValueError(f"{self.name}: a built-in player of {self.game.name}, but the table's game is {game.name}")
        return self.policy, self.parameters

    def write_actions(self, matches: Matches, rows: NDArray[np.int64], who: NDArray[np.int8], index: int) -> None:
        matches.choose(self.policy.name, self.parameters, matches.actions, rows, who, index)

    def __repr__(self) -> str:
        return f"<player {self.name}>"


class Function:
    """A player made of a function ``decisions -> actions``."""

    def __init__(self, act: Callable[[Decisions], NDArray[np.int64]], name: str) -> None:
        self.act = act
        self.name = name
        self.batch_invariant = bool(getattr(act, "batch_invariant", False))

    def __repr__(self) -> str:
        return f"<player {self.name}>"


def is_stateless(player: Player) -> bool:
    """Return whether a player keeps nothing between two calls, so that one object can sit in all seats of all matches.

    Classes of this package say so by an attribute ``stateless = True``. Nobody else's word is taken for it.
    """
    return type(player).__module__.startswith("card_envs.") and bool(getattr(player, "stateless", False))


def is_compiled(player: Player) -> bool:
    """Return whether a player writes its actions itself, in compiled code. Such players are fast and always play legally."""
    return hasattr(player, "write_actions")


def check_answer(answer: object, n: int, player: Player) -> NDArray[np.int64]:
    """Return a player's answer as int64 [n].

    Raises:
        ValueError: The answer is not an array of n integers.
    """
    array = np.asarray(answer)
    if array.shape != (n,) or array.dtype.kind not in "iu":
        raise ValueError(f"{player!r} answered {array.dtype} of shape {array.shape}, but integers of shape ({n},) are expected")
    return array.astype(np.int64, copy=False)
