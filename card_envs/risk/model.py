"""What a solo round is played with: the decks of the three models, positions read from a table or typed in.

Solo means that Swap, Steal, Discard and being given cards are left out: :data:`CAVEAT`, said wherever a figure is printed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from card_envs.engine.game import Field, unknown
from card_envs.engine.table import Table
from card_envs.games.flip7 import GAME
from card_envs.games.flip7.state import (
    CARDS,
    COPIES,
    FIRST_ACTION,
    FIRST_MODIFIER,
    HALF,
    KINDS,
    LINE_KINDS,
    NUMBERS,
    STATUS,
    UNLUCKY_7,
)  # fmt: skip
from card_envs.risk.kernel import FLIP, NUMBER_KINDS, count_line, score_of, sum_line

CAVEAT = "solo: Swap, Steal, Discard and being given cards are left out"
BONUS = 15
Rules = tuple[int, int, int, int, int, int]


@dataclass(frozen=True)
class Position:
    """A line and the cards that are still to come; everything that a solo round depends on.

    Attributes:
        line: the number cards in the line, as a set: bit ``card``.
        deck: cards in the deck by kind, number kinds first (16, or all 27).
        discard: cards in the discard pile likewise; they follow when the deck is drawn out.
        half, minus: the modifiers in the line.
        zero_rule: with Zero in the line one must draw, and scores 0 unless seven cards come.
        pair_counts_twice, brutal: the game's options.
    """

    line: int
    deck: tuple[int, ...]
    discard: tuple[int, ...] = (0,) * NUMBER_KINDS
    half: bool = False
    minus: int = 0
    zero_rule: bool = True
    pair_counts_twice: bool = True
    brutal: bool = False

    @property
    def rules(self) -> Rules:
        return (
            int(self.zero_rule), int(self.pair_counts_twice), int(self.half), self.minus, int(not self.brutal), BONUS,
        )  # fmt: skip

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The deck's number cards by kind, int64 [16]."""
        return np.array(self.deck[:NUMBER_KINDS], np.int64)

    @property
    def discarded(self) -> NDArray[np.int64]:
        """The discard pile's number cards by kind, int64 [16]."""
        return np.array(self.discard[:NUMBER_KINDS], np.int64)

    @property
    def cards(self) -> int:
        """Number cards in the line, as the seven count."""
        return int(count_line(self.line, self.rules))

    @property
    def must_draw(self) -> bool:
        return self.zero_rule and self.line & 1 == 1 and self.cards < FLIP

    @property
    def score(self) -> int:
        """What the line scores as it lies, the 15 for seven cards included."""
        return int(score_of(sum_line(self.line), self.line & 1 == 1, self.cards >= FLIP, self.rules))

    @property
    def states(self) -> int:
        """States of the solo round from here: sets of cards that can have come, beside the cards that Unlucky 7 has wiped."""
        kinds = [kind for kind in range(NUMBER_KINDS) if self.deck[kind] and kind != UNLUCKY_7 and not self.line >> kind & 1]
        open_cards = FLIP - self.line.bit_count()
        own = sum(math.comb(len(kinds), k) for k in range(open_cards + 1))
        if not self.deck[UNLUCKY_7]:
            return own
        single = [kind for kind in kinds if self.deck[kind] == 1 and kind != 7]
        more = [kind for kind in range(NUMBER_KINDS) if self.deck[kind] and kind not in (7, UNLUCKY_7, *single)]
        others = len(kinds) - len(single)
        for gone in range(len(single) + 1):
            ways = math.comb(len(single), gone)
            for k in range(open_cards - gone):
                after = sum(math.comb(len(more) + len(single) - gone, n) for n in range(FLIP))
                own += ways * math.comb(others, k) * after
        return own


@dataclass(frozen=True)
class Model:
    """A deck of number cards, and the rules for its special ones."""

    name: str
    meaning: str
    deck: tuple[int, ...]
    zero_rule: bool

    @property
    def start(self) -> Position:
        """The beginning of a round."""
        return Position(0, self.deck, zero_rule=self.zero_rule)


MODELS = {
    model.name: model
    for model in (
        Model("base", "base Flip 7: 79 number cards 0 … 12, n copies of n, one 0", (1, *range(1, 13), 0, 0, 0), False),
        Model("plain", "the 92 number cards 0 … 13 of Vengeance without their special rules", (1, *range(1, 14), 0, 0), False),
        Model("special", "Vengeance with Zero, Unlucky 7 and Lucky 13 exact", COPIES[:NUMBER_KINDS], True),
    )
}


def model_of(name: str) -> Model:
    """A model by its name; ``ValueError`` names those there are."""
    if name not in MODELS:
        raise unknown("model", name, MODELS)
    return MODELS[name]


# ---- typed in


def cards_of(text: str | Sequence[str]) -> list[int]:
    """Card names, in one string parted by blanks or commas or in a list, as indices; ``12:3`` is three 12s.

    ``ValueError`` names a wrong card or count.
    """
    cards = []
    for word in text.replace(",", " ").split() if isinstance(text, str) else text:
        name, colon, count = word.partition(":")
        if name not in CARDS:
            raise unknown("card", name, CARDS)
        if colon and not count.isdecimal():
            raise ValueError(f"card {word!r}: {count!r} is no count; allowed is a whole number from 0, as {name}:2")
        cards += [CARDS.index(name)] * (int(count) if colon else 1)
    return cards


def position_of(line: str | Sequence[str], gone: str | Sequence[str] = (), *, counts: Sequence[int] | None = None) -> Position:
    """A position typed in: the cards of a line, and those that are gone from the deck besides (other lines, the discard pile).

    Args:
        counts: cards in the deck by kind instead, in the order of ``card-envs games``' card names; then ``gone`` is empty.

    Raises:
        ValueError: an unknown card, more of one than the deck holds, a line that the rules do not allow, a negative count.
    """
    held = cards_of(line)
    impossible = line_error(held)
    if impossible:
        raise ValueError(f"line {' '.join(CARDS[card] for card in held)!r}: {impossible}")
    if counts is None:
        deck = list(COPIES)
        for card in [*held, *cards_of(gone)]:
            deck[card] -= 1
            if deck[card] < 0:
                copies = COPIES[card]
                raise ValueError(
                    f"card {CARDS[card]!r}: the deck has {copies} of it, and line and gone together name it {copies + 1} times"
                )
    else:
        deck = list(counts)
        check_counts(deck, held)
    return Position(
        line=sum(1 << card for card in held if card < FIRST_MODIFIER),
        deck=tuple(deck),
        half=HALF in held,
        minus=sum(2 * (card - FIRST_MODIFIER + 1) for card in held if FIRST_MODIFIER <= card < HALF),
    )


def check_counts(counts: Sequence[int], held: Sequence[int] = ()) -> None:
    """``ValueError`` unless these can be the numbers of cards in a deck by kind, beside the cards held."""
    if len(counts) != KINDS:
        raise ValueError(f"{len(counts)} counts are given; expected is one for each of the {KINDS} kinds of cards")
    for card, count in enumerate(counts):
        most = COPIES[card] - list(held).count(card)
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or not 0 <= count <= most:
            raise ValueError(f"count of {CARDS[card]!r} = {count!r}: allowed is a whole number from 0 to {most}")


def line_error(held: Sequence[int]) -> str | None:
    """Why these cards cannot lie in a line that has not busted; ``None`` if they can."""
    for card in held:
        if card >= FIRST_ACTION:
            return f"{CARDS[card]} is an action, it never lies in a line"
        if list(held).count(card) > 1:
            return f"a second {CARDS[card]} " + ("is not in the deck" if COPIES[card] == 1 else "busts")
    if 7 in held and UNLUCKY_7 in held:
        return "a 7 and unlucky7 never lie together: it wipes a 7, and a 7 after it busts"
    if sum(card < FIRST_MODIFIER for card in held) > FLIP:
        return "more than seven number cards: the seventh has ended the round"
    return None


# ---- read from a table


@dataclass(frozen=True)
class View:
    """The public facts of ``n`` tables as one seat of each sees them, own seat first; from its observation alone.

    Attributes:
        lines: int64 [n, players], cards of the live lines as sets, modifiers included.
        deck, discard: int64 [n, 27], cards by kind.
        totals, scores: int64 [n, players], points of the finished rounds, and what the lines score as they lie.
        status: int64 [n, players], 0 active, 1 stayed, 2 busted.
        turn: bool [n], whether it is to be decided between drawing and staying.
        options: the game's.
    """

    lines: NDArray[np.int64]
    deck: NDArray[np.int64]
    discard: NDArray[np.int64]
    totals: NDArray[np.int64]
    scores: NDArray[np.int64]
    status: NDArray[np.int64]
    turn: NDArray[np.bool_]
    options: dict[str, bool | int | str]

    @classmethod
    def of(cls, observation: NDArray[np.float32], options: dict[str, bool | int | str]) -> View:
        """Read observations, float32 [n, D]."""
        fields = _fields(tuple(options.items()))

        def read(name: str) -> NDArray[np.int64]:
            field = fields[name]
            plain = np.rint(observation[:, field.slice].astype(np.float64) * field.scale).astype(np.int64)
            return plain.reshape(len(observation), *field.shape)

        return cls(
            lines=read("line") @ (1 << np.arange(LINE_KINDS)),
            deck=read("unseen"),
            discard=read("discard"),
            totals=read("total"),
            scores=read("line_score"),
            status=read("status").argmax(axis=2),
            turn=read("phase")[:, 0] == 1,
            options=options,
        )

    def position(self, row: int, distance: int = 0) -> Position:
        """The position of the seat ``distance`` places clockwise from the one that sees."""
        line = int(self.lines[row, distance])
        return Position(
            line=line & NUMBERS,
            deck=tuple(int(n) for n in self.deck[row]),
            discard=tuple(int(n) for n in self.discard[row]),
            half=bool(line >> HALF & 1),
            minus=sum(2 * (card - FIRST_MODIFIER + 1) for card in range(FIRST_MODIFIER, HALF) if line >> card & 1),
            pair_counts_twice=bool(self.options["pair_counts_twice"]),
            brutal=bool(self.options["brutal"]),
        )


@cache
def _fields(options: tuple[tuple[str, bool | int | str], ...]) -> Mapping[str, Field]:
    """Where the observation's fields lie: asked for at every decision."""
    return GAME.observation_fields(dict(options))


def positions_of(table: Table) -> list[tuple[str, Position]]:
    """The status and the position of every seat of a Flip 7 table, in the order of the seats."""
    if table.game.name != GAME.name:
        raise ValueError(f"bust risk is of {GAME.name}, not of {table.game.name}")
    view = View.of(table.observation(0)[None], table.options)
    return [(STATUS[view.status[0, seat]], view.position(0, seat)) for seat in range(table.players)]


def names_of(line: int) -> list[str]:
    """The cards of a set."""
    return [CARDS[card] for card in range(LINE_KINDS) if line >> card & 1]
