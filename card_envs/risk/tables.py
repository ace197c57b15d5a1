"""Real tables as the solver sees them, many at a time: who has what, and whether drawing or staying is worth more.

The values are exact but for one thing: the rest of the round after Unlucky 7 is priced by its distribution from a full deck
instead of being a problem of its own for every set of wiped cards. ``solve`` does that too, for one position at a time.
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
    """The public facts of ``n`` tables as one seat of each sees them, own seat first; from its observation alone.

    Attributes:
        lines: The cards of the live lines as sets, modifiers included, int64 [n, players].
        deck: The cards in the deck by kind, int64 [n, 27].
        discard: The cards in the discard pile by kind, int64 [n, 27].
        totals: The points of the finished rounds, int64 [n, players].
        scores: What the lines score as they lie, int64 [n, players].
        status: 0 active, 1 stayed, 2 busted, int64 [n, players].
        turn: Whether it is to be decided between drawing and staying, bool [n].
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
        """The view that observations, float32 [n, D], give of tables with these options."""
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
        """The position of the seat ``distance`` places clockwise from the one that sees the table ``row``."""
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
    """Where the fields of the observation lie. Kept, because players ask for it at every decision."""
    return GAME.observation_fields(dict(options))


def check_game(table: Table) -> None:
    """Check that a table is one of Flip 7.

    Raises:
        ValueError: It is a table of another game.
    """
    if table.game.name != GAME.name:
        raise ValueError(f"bust risk is of {GAME.name}, not of {table.game.name}")


def read_positions(table: Table) -> list[tuple[str, Position]]:
    """The status and the position of every seat of a table, in the order of the seats.

    Raises:
        ValueError: The table is one of another game than Flip 7.
    """
    check_game(table)
    view = View.read(table.observation(0)[None], table.options)
    return [(STATUS[view.status[0, seat]], view.position(0, seat)) for seat in range(table.players)]


@cache
def solve_wiped_round() -> Array:
    """The distribution of the round's score once Unlucky 7 has wiped a line, from a full deck: float64 [160]."""
    deck = list(MODELS["special"].deck)
    deck[UNLUCKY_7] = 0
    return evaluate(Position(1 << UNLUCKY_7, tuple(deck)), optimal()).probabilities


def value_choices(
    view: View, rows: NDArray[np.int64], payoffs: Array, seats: NDArray[np.int64] | int = 0
) -> tuple[Array, Array]:
    """What drawing and what staying are worth at many tables.

    Args:
        view: The tables.
        rows: Those to look at, int64 [n].
        payoffs: What a score is worth there, float64 [n, 160], the score x at ``x + 32``.
        seats: Whose line, in places clockwise from the seat that sees the table: int64 [n], or one for all.

    Returns:
        ``(draw, stay)``, float64 [n] each, in the units of ``payoffs``.
    """
    lines, decks, discards, rules = _build_problems(view, rows, seats)
    stay, draw = np.empty(len(rows)), np.empty(len(rows))
    _compare_choices(lines, decks, discards, rules, payoffs, solve_wiped_round(), stay, draw)
    return draw, stay


def find_sure_draws(view: View, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Where one more card alone brings more points than staying, bool [n]: drawing is best there, and that is quickly found.

    Args:
        view: The tables.
        rows: Those to look at, int64 [n].
    """
    sure = np.empty(len(rows), np.bool_)
    _find_sure_draws(*_build_problems(view, rows, 0), sure)
    return sure


def build_rules(lines: NDArray[np.int64], pair_counts_twice: bool, brutal: bool) -> NDArray[np.int64]:
    """The kernel's rules for many lines, int64 [n, 5]: its fields are those of ``kernel.Rules``."""
    rules = np.empty((len(lines), len(Rules._fields)), np.int64)
    rules[:] = Rules(1, int(pair_counts_twice), 0, 0, int(brutal))
    rules[:, Rules._fields.index("half")] = has_card(lines, HALF)
    rules[:, Rules._fields.index("minus")] = sum_minus(lines)
    return rules


def _build_problems(view: View, rows: NDArray[np.int64], seats: NDArray[np.int64] | int) -> tuple[NDArray[np.int64], ...]:
    """``(lines, decks, discards, rules)`` as the kernel takes them."""
    lines = view.lines[rows, seats]
    rules = build_rules(lines, bool(view.options["pair_counts_twice"]), bool(view.options["brutal"]))
    decks, discards = (np.ascontiguousarray(cards[rows, :NUMBER_KINDS]) for cards in (view.deck, view.discard))
    return lines & NUMBERS, decks, discards, rules
