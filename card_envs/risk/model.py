"""What a solo round is played with: positions, which can be typed in, and the decks of the three models.

Solo means that Swap, Steal, Discard and being given cards are left out, as :data:`CAVEAT` says wherever a figure is printed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from card_envs.engine.game import unknown
from card_envs.games.flip7.lines import FLIP_SEVEN, count_line, has_card, is_double, is_flip_seven, sum_minus
from card_envs.games.flip7.state import CARDS, COPIES, FIRST_ACTION, HALF, KINDS, LINE_KINDS, NUMBERS, SEVEN, UNLUCKY_7
from card_envs.risk.kernel import NUMBER_KINDS, Rules, must_draw, score_round

CAVEAT = "solo: Swap, Steal, Discard and being given cards are left out"


@dataclass(frozen=True)
class Position:
    """A line and the cards that are still to come: everything that a solo round depends on.

    Attributes:
        line: The number cards in the line as a set, bit ``card`` of an int.
        deck: The number of cards of each kind in the deck, for the 16 kinds of number cards or for all 27 kinds.
        discard: The same for the discard pile, whose cards follow when the deck is empty.
        half: Whether ``/2`` lies in the line.
        minus: The points that the minus cards in the line take away, at least 0.
        zero_rule: Whether a line with Zero must draw, and scores 0 unless it has seven cards.
        pair_counts_twice: The game's option that two 13s are two of the seven cards.
        brutal: The game's option that a round may score less than 0.
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
        """What the kernel scores the round by."""
        return Rules(int(self.zero_rule), int(self.pair_counts_twice), int(self.half), self.minus, int(self.brutal))

    @property
    def flips(self) -> bool:
        """Whether the line is a Flip 7."""
        return bool(is_flip_seven(self.line, self.pair_counts_twice))

    @property
    def must_draw(self) -> bool:
        """Whether Zero forbids staying."""
        return bool(must_draw(self.line, self.flips, self.rules))

    @property
    def score(self) -> int:
        """What the line scores as it lies, the 15 of a Flip 7 included."""
        return int(score_round(self.line, self.flips, self.rules))

    @property
    def states(self) -> int:
        """The number of states of the solo round from here on.

        A state is the set of cards that have come, together with the set of those that Unlucky 7 has wiped, if it has come.
        """
        numbers = [kind for kind in range(NUMBER_KINDS) if self.deck[kind] and kind != UNLUCKY_7]
        kinds = [kind for kind in numbers if not has_card(self.line, kind)]
        open_cards = FLIP_SEVEN - self.line.bit_count()
        own = sum(math.comb(len(kinds), k) for k in range(open_cards + 1))
        if not self.deck[UNLUCKY_7]:
            return own
        single = [kind for kind in kinds if self.deck[kind] == 1 and kind != SEVEN]
        more = [kind for kind in numbers if kind not in (SEVEN, *single)]
        others = len(kinds) - len(single)
        for gone in range(len(single) + 1):
            ways = math.comb(len(single), gone)
            for k in range(open_cards - gone):
                after = sum(math.comb(len(more) + len(single) - gone, n) for n in range(FLIP_SEVEN))
                own += ways * math.comb(others, k) * after
        return own


@dataclass(frozen=True)
class Model:
    """A deck of number cards, and the rules for its special ones.

    Attributes:
        name: The name of the model, as ``--model`` takes it.
        deck: The number of cards of each of the 16 kinds of number cards.
        zero_rule: Whether a line with Zero must draw, and scores 0 without a Flip 7.
    """

    name: str
    deck: tuple[int, ...]
    zero_rule: bool

    @property
    def start(self) -> Position:
        """The beginning of a round."""
        return Position(0, self.deck, zero_rule=self.zero_rule)


MODELS = {
    model.name: model
    for model in (
        # base Flip 7: 79 number cards 0 … 12, n copies of n and one 0
        Model("base", (1, *range(1, 13), 0, 0, 0), False),
        # the 92 number cards 0 … 13 of Vengeance without their special rules
        Model("plain", (1, *range(1, 14), 0, 0), False),
        # Vengeance with Zero, Unlucky 7 and Lucky 13
        Model("special", COPIES[:NUMBER_KINDS], True),
    )
}


def load_model(name: str) -> Model:
    """Return the model of this name.

    Raises:
        ValueError: There is no such model; the message names those that exist.
    """
    if name not in MODELS:
        raise unknown("model", name, MODELS)
    return MODELS[name]


def name_cards(line: int) -> list[str]:
    """Return the names of the cards in a set, in the order of the kinds."""
    return [CARDS[card] for card in range(LINE_KINDS) if has_card(line, card)]


# ---- typed in


def parse_cards(text: str | Sequence[str]) -> list[int]:
    """Parse the names of cards.

    Args:
        text: The names, in one string separated by blanks or commas, or as a list; ``12:3`` stands for three 12s.

    Returns:
        The kinds of the cards, 0 … 26, in the order given.

    Raises:
        ValueError: A card or a count is wrong; the message names it.
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


def parse_position(
    line: str | Sequence[str], gone: str | Sequence[str] = (), *, counts: Sequence[int] | None = None
) -> Position:
    """Parse a position that somebody types in, with the rules of the real game.

    Args:
        line: The cards of the line, as :func:`parse_cards` reads them.
        gone: Other cards that are out of the deck, such as those in other lines and the discard pile.
        counts: The number of cards of each of the 27 kinds in the deck, in the order of ``CARDS``, instead of ``gone``.

    Raises:
        ValueError: A card is unknown, more are named than the deck holds, the rules do not allow the line, or a count is wrong.
    """
    held = parse_cards(line)
    error = find_line_error(held)
    if error:
        raise ValueError(f"line {' '.join(CARDS[card] for card in held)!r}: {error}")
    if counts is None:
        deck = list(COPIES)
        for card in [*held, *parse_cards(gone)]:
            deck[card] -= 1
            if deck[card] < 0:
                copies = COPIES[card]
                raise ValueError(
                    f"card {CARDS[card]!r}: the deck has {copies} of it, and line and gone together name it {copies + 1} times"
                )
    else:
        deck = list(counts)
        check_counts(deck, held)
    cards = sum(1 << card for card in held)
    return Position(line=cards & NUMBERS, deck=tuple(deck), half=has_card(cards, HALF) == 1, minus=int(sum_minus(cards)))


def check_counts(counts: Sequence[int], held: Sequence[int] = ()) -> None:
    """Check that a deck can hold so many cards of each kind while the cards ``held`` are out of it.

    Raises:
        ValueError: There are not 27 counts, or the deck cannot hold one of these numbers of cards.
    """
    if len(counts) != KINDS:
        raise ValueError(f"{len(counts)} counts are given; expected is one for each of the {KINDS} kinds of cards")
    for card, count in enumerate(counts):
        most = COPIES[card] - list(held).count(card)
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or not 0 <= count <= most:
            raise ValueError(f"count of {CARDS[card]!r} = {count!r}: allowed is a whole number from 0 to {most}")


def find_line_error(cards: Sequence[int]) -> str | None:
    """Return why these cards cannot lie in a line that has not busted; ``None`` if they can."""
    held = 0
    for card in cards:
        if card >= FIRST_ACTION:
            return f"{CARDS[card]} is an action, it never lies in a line"
        if has_card(held, card):
            return f"a second {CARDS[card]} " + ("is not in the deck" if COPIES[card] == 1 else "busts")
        held |= 1 << card
    if any(is_double(held & ~(1 << card), card) for card in cards):
        return "a 7 and unlucky7 never lie together: it wipes a 7, and a 7 after it busts"
    if count_line(held, True) > FLIP_SEVEN:
        return "more than seven number cards: the seventh has ended the round"
    return None
