"""The given orders of the decks of later deals, in games with a new deck for every deal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from card_envs.engine.rows import States


class OrderArrays(NamedTuple):
    """Given orders for compiled loops: ``cards[i, :sizes[i]]`` belong to ``rows[i]`` once ``finished[i]`` deals are over."""

    rows: NDArray[np.int64]
    finished: NDArray[np.int64]
    sizes: NDArray[np.int64]
    cards: NDArray[np.int8]


class LaterOrders:
    """The given orders of later decks in many matches. An order is laid into the state when the deal before it begins.

    Args:
        field: The field of a state that holds the order of the next deck, ``"order"`` or ``"deck"``.
        deck_size: The number of cards in a deck.
    """

    def __init__(self, field: str, deck_size: int) -> None:
        self.field = field
        self.deck_size = deck_size
        self._orders: dict[int, dict[int, list[int]]] = {}  # by the row and the number of finished deals

    def __bool__(self) -> bool:
        return bool(self._orders)

    def lay(self, states: States, row: int, order: Sequence[int]) -> None:
        """Give the next deck of a row this order."""
        states[self.field][row, : len(order)] = order
        states["ordered"][row] = len(order)

    def keep(self, row: int, orders: Sequence[Sequence[int]]) -> None:
        """Keep the orders of a row's second deck and those after it, in place of others."""
        self.forget([row])
        if orders:
            self._orders[row] = {finished: list(order) for finished, order in enumerate(orders)}

    def lay_due(self, states: States) -> None:
        """Give the next deck of every row its order if it has one, which is not kept any longer."""
        for row, orders in list(self._orders.items()):
            order = orders.pop(int(states["finished"][row]), None)
            if order is not None:
                self.lay(states, row, order)
            if not orders:
                del self._orders[row]

    def forget(self, rows: Iterable[int] | None = None) -> None:
        """Let the later decks of these rows, by default of all, be shuffled."""
        if rows is None:
            self._orders.clear()
        elif self._orders:
            for row in rows:
                self._orders.pop(int(row), None)

    def gather(self, rows: NDArray[np.integer[Any]]) -> LaterOrders:
        """Return the orders of matches that are copies of these rows, in this order. A row may be repeated."""
        other = LaterOrders(self.field, self.deck_size)
        if self._orders:
            old = self._orders
            other._orders = {new: dict(old[row]) for new, row in enumerate(rows.tolist()) if row in old}
        return other

    def to_arrays(self) -> OrderArrays:
        """Return all orders as arrays."""
        listed = [(row, finished, order) for row, orders in self._orders.items() for finished, order in orders.items()]
        cards = np.zeros((len(listed), self.deck_size), np.int8)
        for i, (_, _, order) in enumerate(listed):
            cards[i, : len(order)] = order
        numbers = np.array([(row, finished, len(order)) for row, finished, order in listed], np.int64).reshape(-1, 3)
        rows, finished, sizes = numbers.T.copy()
        return OrderArrays(rows, finished, sizes, cards)
