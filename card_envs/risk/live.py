"""Drawing against staying at real tables, many at a time: the solver's recursion over each table's own deck.

Exact but for one thing: the rest of the round after Unlucky 7 is priced by its distribution from a full deck, instead of a
problem of its own for every set of wiped cards. ``solve`` does that too, for one position at a time.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from card_envs.games.flip7.state import FIRST_MODIFIER, HALF, NUMBERS, UNLUCKY_7
from card_envs.risk.kernel import NUMBER_KINDS, live_values, sure_draws
from card_envs.risk.model import BONUS, MODELS, Position, View
from card_envs.risk.solve import Array, evaluate, optimal

_MINUS = 2 * (np.arange(FIRST_MODIFIER, HALF) - FIRST_MODIFIER + 1)


@cache
def after_unlucky_7() -> Array:
    """The distribution of the round's score once Unlucky 7 has wiped a line, from a full deck: float64 [160]."""
    deck = list(MODELS["special"].deck)
    deck[UNLUCKY_7] = 0
    return evaluate(Position(1 << UNLUCKY_7, tuple(deck)), optimal()).probabilities


def draw_and_stay(
    view: View, rows: NDArray[np.int64], payoffs: Array, seats: NDArray[np.int64] | int = 0
) -> tuple[Array, Array]:
    """What drawing and staying are worth, float64 [n] each, in the units of ``payoffs`` float64 [n, 160] (by score + 32).

    Args:
        rows: of the view; seats: whose line, in places clockwise from the one that sees.
    """
    lines, decks, discards, rules = _problems(view, rows, seats)
    stay, draw = np.empty(len(rows)), np.empty(len(rows))
    live_values(lines, decks, discards, rules, payoffs, after_unlucky_7(), stay, draw)
    return draw, stay


def surely_draws(view: View, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Where one more card alone brings more points than to stay, bool [n]: there drawing is best, and that is quickly found."""
    sure = np.empty(len(rows), np.bool_)
    sure_draws(*_problems(view, rows, 0), sure)
    return sure


def _problems(view: View, rows: NDArray[np.int64], seats: NDArray[np.int64] | int) -> tuple[NDArray[np.int64], ...]:
    """(lines, decks, discards, rules) as the kernel takes them."""
    lines = view.lines[rows, seats]
    rules = np.empty((len(rows), 6), np.int64)
    rules[:, 0] = 1
    rules[:, 1] = bool(view.options["pair_counts_twice"])
    rules[:, 2] = lines >> HALF & 1
    rules[:, 3] = (lines[:, None] >> np.arange(FIRST_MODIFIER, HALF) & 1) @ _MINUS
    rules[:, 4] = not view.options["brutal"]
    rules[:, 5] = BONUS
    decks, discards = (np.ascontiguousarray(cards[rows, :NUMBER_KINDS]) for cards in (view.deck, view.discard))
    return lines & NUMBERS, decks, discards, rules
