"""Many real tables as the solver sees them: who has what, and what drawing and staying are worth.

The values are exact with one exception: the rest of the round after Unlucky 7 is valued by its distribution from a full deck,
and not solved for every set of wiped cards. The module ``solve`` does solve it, for one position at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from card_envs.engine.game import Field, OptionValue
from card_envs.engine.table import Table
from card_envs.games.flip7 import GAME
from card_envs.games.flip7.lines import has_card, sum_minus
from card_envs.games.flip7.state import HALF, LINE_KINDS, NUMBERS, STATUS, UNLUCKY_7
from card_envs.risk import kernel
from card_envs.risk.kernel import NUMBER_KINDS, Rules, compile_kernel
from card_envs.risk.model import MODELS, Position
from card_envs.risk.solve import Array, evaluate, optimal

_compare_choices = compile_kernel(kernel.compare_choices)
_find_sure_draws = compile_kernel(kernel.find_sure_draws)


@dataclass(frozen=True)
class View:
    """The public facts of ``n`` tables as one seat of each sees them in its observation, own seat first.

    Attributes:
        lines: The cards in the lines as sets, modifiers included, int64 [n, players].
        deck: The cards in the deck by kind, int64 [n, 27].
        discard: The cards in the discard pile by kind, int64 [n, 27].
        totals: The points of the finished rounds, int64 [n, players].
        scores: What the lines score as they lie, int64 [n, players].
        status: Whether each seat is active (0), has stayed (1) or has busted (2), int64 [n, players].
        turn: Whether the decision is one between drawing and staying, bool [n].
        options: The options of the game.
    """

    lines: NDArray[np.int64]
    deck: NDArray[np.int64]
    discard: NDArray[np.int64]
    totals: NDArray[np.int64]
    scores: NDArray[np.int64]
    status: NDArray[np.int64]
    turn: NDArray[np.bool_]
    options: Mapping[str, OptionValue]

    @classmethod
    def read(cls, observation: NDArray[np.float32], options: Mapping[str, OptionValue]) -> View:
        """Read observations, float32 [n, D], of tables with these options."""
        fields = _find_fields(tuple(options.items()))

        def unscale(name: str) -> NDArray[np.int64]:
            field = fields[name]
            plain = np.rint(observation[:, field.slice].astype(np.float64) * field.scale).astype(np.int64)
            return plain.reshape(len(observation), *field.shape)

        return cls(
            lines=unscale("line") @ (1 << np.arange(LINE_KINDS)),
            deck=unscale("unseen"),
            discard=unscale("discard"),
            totals=unscale("total"),
            scores=unscale("line_score"),
            status=unscale("status").argmax(axis=2),
            turn=unscale("phase")[:, 0] == 1,
            options=options,
        )

    def position(self, row: int, distance: int = 0) -> Position:
        """Return the position, in table ``row``, of the seat ``distance`` places clockwise from the one that observes it."""
        line = int(self.lines[row, distance])
        return Position(
            line=line & NUMBERS,
            deck=tuple(int(n) for n in self.deck[row]),
            discard=tuple(int(n) for n in self.discard[row]),
            half=has_card(line, HALF) == 1,
            minus=int(sum_minus(line)),
            pair_counts_twice=bool(self.options["pair_counts_twice"]),
            brutal=bool(self.options["brutal"]),
        )


@cache
def _find_fields(options: tuple[tuple[str, OptionValue], ...]) -> Mapping[str, Field]:
    """Return the fields of the observation. They are cached, because players need them at every decision."""
    return GAME.observation_fields(dict(options))


def check_game(table: Table) -> None:
    """Raise ``ValueError`` if a table is not one of Flip 7."""
    if table.game.name != GAME.name:
        raise ValueError(f"bust risk is of {GAME.name}, not of {table.game.name}")


def read_positions(table: Table) -> list[tuple[str, Position]]:
    """Return the status and the position of every seat of a table, in the order of the seats.

    Raises:
        ValueError: The table is not one of Flip 7.
    """
    check_game(table)
    view = View.read(table.observation(0)[None], table.options)
    return [(STATUS[view.status[0, seat]], view.position(0, seat)) for seat in range(table.players)]


@cache
def solve_wiped_round() -> Array:
    """Return the distribution of the round's score once Unlucky 7 has wiped a line, from a full deck, float64 [160]."""
    deck = list(MODELS["special"].deck)
    deck[UNLUCKY_7] = 0
    return evaluate(Position(1 << UNLUCKY_7, tuple(deck)), optimal()).probabilities


def value_choices(
    view: View, rows: NDArray[np.int64], payoffs: Array, seats: NDArray[np.int64] | int = 0
) -> tuple[Array, Array]:
    """Compute the values of drawing and of staying at many tables.

    Args:
        view: The tables.
        rows: The rows of the view to consider, int64 [n].
        payoffs: The payoff of the score x there at ``x + 32``, float64 [n, 160].
        seats: Whose line it is, in places clockwise from the seat that observes the table: int64 [n], or one for all.

    Returns:
        The values ``(draw, stay)``, float64 [n] each, in the units of ``payoffs``.
    """
    lines, decks, discards, rules = _build_problems(view, rows, seats)
    stay, draw = np.empty(len(rows)), np.empty(len(rows))
    _compare_choices(lines, decks, discards, rules, payoffs, solve_wiped_round(), stay, draw)
    return draw, stay


def find_sure_draws(view: View, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return where one more card alone brings more points than staying, bool [n].

    Drawing is best there, and this is much quicker to compute than the values.

    Args:
        view: The tables.
        rows: The rows of the view to consider, int64 [n].
    """
    sure = np.empty(len(rows), np.bool_)
    _find_sure_draws(*_build_problems(view, rows, 0), sure)
    return sure


def build_rules(lines: NDArray[np.int64], pair_counts_twice: bool, brutal: bool) -> NDArray[np.int64]:
    """Return the kernel's rules for many lines, int64 [n, 5], with the fields of ``kernel.Rules`` as columns."""
    rules = np.empty((len(lines), len(Rules._fields)), np.int64)
    rules[:] = Rules(1, int(pair_counts_twice), 0, 0, int(brutal))
    rules[:, Rules._fields.index("half")] = has_card(lines, HALF)
    rules[:, Rules._fields.index("minus")] = sum_minus(lines)
    return rules


def _build_problems(view: View, rows: NDArray[np.int64], seats: NDArray[np.int64] | int) -> tuple[NDArray[np.int64], ...]:
    """Return ``(lines, decks, discards, rules)`` as the kernel takes them."""
    lines = view.lines[rows, seats]
    rules = build_rules(lines, bool(view.options["pair_counts_twice"]), bool(view.options["brutal"]))
    decks, discards = (np.ascontiguousarray(cards[rows, :NUMBER_KINDS]) for cards in (view.deck, view.discard))
    return lines & NUMBERS, decks, discards, rules
