"""One match in progress, for people, tests, search and tools."""

from __future__ import annotations

import copy
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.engine import loops, rows
from card_envs.engine.batch import Batch, check_seed
from card_envs.engine.game import Deck, Game, IllegalAction
from card_envs.engine.picture import Picture

Seed = int | Sequence[int] | None


def check_identity(seed: Seed) -> tuple[int, int, int]:
    """The identity (seed, row, match) that a seed names: an int s is (s, 0, 0), ``None`` is drawn from the system."""
    if seed is None:
        return secrets.randbits(63), 0, 0
    if isinstance(seed, Sequence) and not isinstance(seed, str):
        if len(seed) != 3:
            raise ValueError(f"seed = {seed!r}: an identity is (seed, row, match)")
        s, r, m = (check_seed(part) for part in seed)
        return s, r, m
    return check_seed(seed), 0, 0


@dataclass(frozen=True)
class Start:
    """Where a table goes on from that did not begin with the deal of its identity."""

    state: bytes
    decisions: int  # made in the match before
    deals: list[list[int]]  # finished before
    endings: list[str]  # of those


class Table:
    """One match of a game.

    Args:
        game: a game of :func:`card_envs.load_game`.
        seed: an int, or the match's identity (seed, row, match); ``None`` for entropy from the system.
        deck: card names, the next card first: the order of the first deck, or of its top; where every deal is dealt from a
            new deck also a list of such orders, one for each deal.
        interpreted: run the rules in plain Python.
        **options: the game's options.

    Raises:
        ValueError: an unknown option, a value out of range, a card too many.
    """

    def __init__(
        self,
        game: Game,
        *,
        seed: Seed = None,
        deck: Deck = None,
        interpreted: bool = False,
        **options: Any,
    ) -> None:
        identity = check_identity(seed)
        self.game = game
        self._batch = Batch(game, 1, seed=0, interpreted=interpreted, **options)
        self._batch._settings[loops.AUTO_RESET] = False
        self.options = self._batch.options
        self.players = self._batch.players
        self._batch.deal(identity, deck)
        self._begin()
        self.later_orders += [[game.cards[card] for card in order] for order in game.deck_orders(deck)[1:]]

    @classmethod
    def of_row(cls, batch: Batch, row: int, redeal: tuple[int, int] | None = None) -> Table:
        """A table that goes on from one row of a batch; with ``redeal=(seat, seed)`` redealt before anything is seen."""
        table = object.__new__(cls)
        table.game, table.options, table.players = batch.game, batch.options, batch.players
        table._batch = batch.gather([row])
        table._batch._settings[loops.AUTO_RESET] = False
        table._begin()
        if redeal is not None:
            seat, seed = redeal
            # neither the true identity nor the players' true key: with these the true deck and the others' choices are known
            table._batch._identity[0, : loops.DECISION] = seed, 0, 0
            table._batch._keys[0] = seed
            table._batch.redeal(seat, seed)
        table._restarted()
        return table

    def _begin(self) -> None:
        self._look()
        self.actions: list[str] = []
        """The actions played since the start, as strings."""
        # the first deal needs no second deck: the order of the first is still there, cards drawn included
        self.order: list[str] = [self.game.cards[self._row.deck[i]] for i in range(sum(self.game.copies))]
        """The order of the first deck, the next card first; empty if :attr:`start` is given."""
        self.later_orders: list[list[str]] = []
        """The given orders of later deals' decks."""
        self.start: Start | None = None
        """What :attr:`actions` start from, if that is not the deal of :attr:`identity`."""
        self._deals: list[list[int]] = []
        self._endings: list[str] = []

    def _look(self) -> None:
        self._row: Any = rows.row_class(self.game.state_dtype)(self._batch._states, 0)  # type: ignore[call-arg]

    # -- looking

    @property
    def to_move(self) -> int | None:
        """The seat to move; ``None`` when the match is over."""
        return None if self.is_over else self._row.to_move

    @property
    def is_over(self) -> bool:
        return bool(self._row.over)

    @property
    def rewards(self) -> NDArray[np.float64]:
        """What the last action paid each seat, float64 [players]: zeros before the end; then, of n players, k winners share."""
        return np.array(self._batch.rewards[0])

    @property
    def scores(self) -> list[int]:
        """The totals per seat, in points."""
        return [self._row.totals[seat] for seat in range(self.players)]

    @property
    def deals(self) -> list[list[int]]:
        """The scores per seat of every finished deal."""
        return copy.deepcopy(self._deals)

    @property
    def endings(self) -> list[str]:
        """How each of the :attr:`deals` has ended, in words."""
        return list(self._endings)

    @property
    def batch(self) -> Batch:
        """The batch of one that the table is played on."""
        return self._batch

    @property
    def identity(self) -> tuple[int, int, int]:
        """(seed, row, match)."""
        s, r, m = (int(part) for part in self._batch._identity[0, : loops.DECISION])
        return s, r, m

    def action_mask(self) -> NDArray[np.int8]:
        """1 where an action is legal for the seat to move, int8 [A]; all zero when over."""
        return np.array(self._batch.action_mask[0])

    def legal_actions(self) -> list[str]:
        """The legal actions as strings, in the order of their indices."""
        return [self.action_string(int(index)) for index in np.flatnonzero(self._batch.action_mask[0])]

    def action_string(self, index: int) -> str:
        """The string of an action index of the seat to move."""
        return self.game.action_string(index, self._row.to_move, self.players)

    def action_index(self, action: str) -> int | None:
        """The index of a string for the seat to move, ``None`` if it is no action of this table."""
        return self.game.action_index(action, self._row.to_move, self.players)

    def observation(self, seat: int) -> NDArray[np.float32]:
        """What ``seat`` knows, float32 [D]."""
        return np.array(self._batch.observe(self._seat(seat))[0])

    def state(self) -> dict[str, Any]:
        """Everything, as JSON-able values."""
        row = self._row
        totals = self.scores
        best = max(totals) if self._batch._scale > 0 else min(totals)
        common = {
            "game": self.game.name,
            "players": self.players,
            "options": dict(self.options),
            "deal": row.deal,
            "dealer": row.dealer,
            "to_move": self.to_move,
            "phase": self.game.phases[row.phase],
            "totals": totals,
            "deck": [self.game.cards[row.deck[i]] for i in range(row.drawn, row.deck_size)],
            "over": self.is_over,
            "winners": [seat for seat in range(self.players) if totals[seat] == best] if self.is_over else [],
            "truncated": bool(row.truncated),
        }
        return common | self.game.details(row, self.options)

    def view(self, seat: int) -> dict[str, Any]:
        """:meth:`state` with the deck and the other seats' hands replaced by their sizes; when over nothing is hidden."""
        seat = self._seat(seat)
        state = self.state()
        if not self.is_over:
            state["deck"] = len(state["deck"])
            if "hands" in state:
                state["hands"] = [hand if other == seat else len(hand) for other, hand in enumerate(state["hands"])]
        return state

    def picture(self, seat: int | None = None) -> Picture:
        """The table as a picture for :mod:`card_envs.render`; with ``seat`` only what that seat sees."""
        return self.game.picture(self.state() if seat is None else self.view(seat))

    def __str__(self) -> str:
        return str(self.picture())

    def __repr__(self) -> str:
        return f"<Table {self.game.id}, {self.players} players, {'over' if self.is_over else f'seat {self.to_move} to move'}>"

    # -- playing

    def play(self, action: str | int) -> None:
        """Play an action: its string, or its index.

        Raises:
            IllegalAction: names the action, the mover and the legal ones; nothing has changed.
        """
        index = self.action_index(action) if isinstance(action, str) else action
        batch = self._batch
        if not isinstance(index, int | np.integer) or isinstance(index, bool):
            index = None
        if index is None or not 0 <= index < batch.num_actions or not batch._mask[0, index]:
            if self.is_over:
                raise IllegalAction(f"illegal action {action!r}: the match is over")
            raise IllegalAction(
                f"illegal action {action!r}: seat {self.to_move} is to move, legal are {', '.join(self.legal_actions())}"
            )
        self.actions.append(self.action_string(int(index)))
        finished = self._row.finished
        batch._actions[0] = index
        batch._run(batch._rows)
        if self._row.finished != finished:
            batch.give_order()
            self._deals.append([self._row.scores[seat] for seat in range(self.players)])
            self._endings.append(self.game.ending(self._row))

    def clone(self) -> Table:
        """An independent copy with the same future."""
        other = copy.copy(self)
        other._batch = self._batch.clone()
        other.actions = list(self.actions)
        other._deals, other._endings = self.deals, self.endings
        other._look()
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> Table:
        return self.clone()

    def redeal(self, seat: int, seed: int) -> None:
        """Resample all that ``seat`` cannot know – hidden cards, the deck's order, future shuffles – and nothing else."""
        self._batch.redeal(self._seat(seat), seed)
        self._restarted()

    def restart(self, start: Start) -> None:
        """Go on from another state of this game, which is not checked."""
        rows.raw(self._batch._states)[:] = rows.raw(rows.from_bytes(start.state, self.game.state_dtype))
        self._batch._identity[0, loops.DECISION] = start.decisions
        self._batch.look()
        self._deals, self._endings = copy.deepcopy(start.deals), list(start.endings)
        self._restarted()

    def _restarted(self) -> None:
        decisions = int(self._batch._identity[0, loops.DECISION])
        self.start = Start(self._batch._states.tobytes(), decisions, self.deals, self.endings)
        self.order, self.later_orders = [], []
        self.actions = []

    def record(self) -> dict[str, Any]:
        """The match so far, as JSON-able values that :func:`card_envs.replay` plays again."""
        from card_envs.engine.record import make_record

        return make_record(self)

    def _seat(self, seat: int) -> int:
        if not isinstance(seat, int | np.integer) or isinstance(seat, bool) or not 0 <= seat < self.players:
            raise ValueError(f"seat = {seat!r}: allowed are 0 … {self.players - 1}")
        return int(seat)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_row"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._look()
