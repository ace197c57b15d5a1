"""The protocol of players, and the built-in ones."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from card_envs.engine import loops
from card_envs.engine.batch import Batch
from card_envs.engine.game import Game, IllegalAction, OptionValue, Policy
from card_envs.engine.random import match_key, mix
from card_envs.engine.table import Table


class Decisions:
    """The decisions that a player is asked for: ``n`` rows of a batch, in each of which it is to move.

    Attributes:
        game, options, players: what is played, and by how many.
        observation: float32 [n, D], what the seat to move knows.
        action_mask: int8 [n, A], 1 where an action is legal.
        seat: int64 [n].
        match: uint64 [n], one number for each match: what a player remembers between calls belongs to one.
        key: uint64 [n], a random stream of this decision alone.
    """

    def __init__(self, batch: Batch, rows: NDArray[np.int64]) -> None:
        self._batch = batch
        self._rows = rows
        self.game: Game = batch.game
        self.options: dict[str, OptionValue] = dict(batch.options)  # the player's own: he may write into it
        self.players: int = batch.players

    @classmethod
    def at(cls, table: Table) -> Decisions:
        """The one decision that is to be made at a table."""
        return cls(table.batch, np.zeros(1, np.int64))

    def __len__(self) -> int:
        return len(self._rows)

    @cached_property
    def observation(self) -> NDArray[np.float32]:
        observation = np.empty((len(self._rows), self._batch.observation_size), np.float32)
        self._batch._loops.observe(self._batch._states, self._rows, self.seat, observation)
        return observation

    @cached_property
    def action_mask(self) -> NDArray[np.int8]:
        return self._batch.action_mask[self._rows]

    @cached_property
    def seat(self) -> NDArray[np.int64]:
        return self._batch.to_move[self._rows].astype(np.int64)

    @cached_property
    def match(self) -> NDArray[np.uint64]:
        # not the identity: whoever has that can deal the true deck
        seeds, rows, matches = self._batch.identity()[self._rows, : loops.DECISION].T
        with np.errstate(over="ignore"):
            number: NDArray[np.uint64] = mix(match_key(seeds, rows, matches)) >> np.uint64(1)
        return number

    @cached_property
    def key(self) -> NDArray[np.uint64]:
        with np.errstate(over="ignore"):
            key: NDArray[np.uint64] = loops.decision_key(self._batch.identity(), self._batch._keys, self._rows, self.seat)
        return key

    def tables(self) -> list[Table]:
        """A copy of each table to search in. What the seat may not know is dealt anew, so no search can see it."""
        return [
            Table.of_row(self._batch, int(row), redeal=(int(seat), int(key) >> 1))
            for row, seat, key in zip(self._rows, self.seat, self.key, strict=True)
        ]


@runtime_checkable
class Player(Protocol):
    """Anybody who can sit at a table.

    A player is a function of one row and its key. Where that holds to the last bit, whatever the other rows of the batch
    are, it may say so by an attribute ``batch_invariant = True``: the arena then asks it in large batches.
    """

    def act(self, decisions: Decisions) -> NDArray[np.int64]:
        """An action for every decision, an integer array [n]. A function of each row and its key alone."""
        ...


class BuiltIn:
    """A compiled policy of a game, with its parameters."""

    batch_invariant = True

    def __init__(self, policy: Policy, parameters: NDArray[np.float64], name: str) -> None:
        self.policy = policy
        self.parameters = parameters
        self.name = name

    def act(self, decisions: Decisions) -> NDArray[np.int64]:
        actions = np.empty(decisions._batch.size, np.int64)
        decisions._batch.choose(self.policy.name, self.parameters, actions, decisions._rows)
        return actions[decisions._rows]

    def __repr__(self) -> str:
        return f"<player {self.name}>"


class Function:
    """A player made of a plain function ``decisions -> actions``."""

    def __init__(self, act: Callable[[Decisions], NDArray[np.int64]], name: str) -> None:
        self.act = act
        self.name = name
        self.batch_invariant = bool(getattr(act, "batch_invariant", False))


def seat_players(
    batch: Batch, rows: NDArray[np.int64], who: NDArray[np.int8], players: list[Player], actions: NDArray[np.int64]
) -> None:
    """Write into ``actions`` [size] what the players choose: in each of ``rows`` it is ``players[who[row]]`` who is to move.

    ``IllegalAction`` names a player whose answer is not legal; ``ValueError`` one whose answer is none.
    """
    for index, player in enumerate(players):
        if isinstance(player, BuiltIn):
            batch.choose(player.policy.name, player.parameters, actions, rows, who, index)
        else:
            mine = rows[who[rows] == index]
            if len(mine):
                actions[mine] = checked(player.act(Decisions(batch, mine)), len(mine), player)
                legal = batch._legal(actions[mine], mine)
                if not legal.all():
                    raise IllegalAction(f"{player!r}: {batch._explain(mine[~legal])}")


def checked(actions: object, n: int, player: Player) -> NDArray[np.int64]:
    """A player's answer as int64 [n]; ``ValueError`` if it is none."""
    array = np.asarray(actions)
    if array.shape != (n,) or array.dtype.kind not in "iu":
        raise ValueError(f"{player!r} answered {array.dtype} of shape {array.shape}; expected are integers of shape ({n},)")
    return array.astype(np.int64, copy=False)
