"""Decks of suits and ranks: their cards, sets of cards as bits, dealing, and how the cards look.

A card of the French deck is the index 13·suit + rank, and a set of cards is a uint64 with the bit of each. Functions over a
state ``s`` read and write its common fields, ``order``, and ``hands``, where each hand is such a set.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from card_envs.engine.jitable import register_jitable
from card_envs.engine.picture import BACK, Card, CardStyle
from card_envs.engine.bits import lowest_bit, popcount
from card_envs.engine.random import shuffle


class Pack(NamedTuple):
    """The kinds of cards in a deck, and how many there are of each."""

    cards: tuple[str, ...]  # names by index
    copies: tuple[int, ...]


def make_pack(ranks: str, suits: str, copies: int = 1, others: Mapping[str, int] | None = None) -> Pack:
    """A pack of ``copies`` cards of each rank and suit, ordered by suit, then rank; last come the ``others``, such as jokers.

    Args:
        ranks: A letter for each rank.
        suits: A letter for each suit. A card is named by its rank and its suit.
        copies: How many cards there are of each rank and suit.
        others: The names of further cards, with how many there are of each.
    """
    suited = tuple(rank + suit for suit in suits for rank in ranks)
    others = others or {}
    return Pack((*suited, *others), ((copies,) * len(suited)) + tuple(others.values()))


def list_cards(copies: Iterable[int]) -> NDArray[np.int8]:
    """All cards of a full deck by index, int8 [size]; of card ``i`` there are ``copies[i]``."""
    numbers = [*copies]
    return np.repeat(np.arange(len(numbers)), numbers).astype(np.int8)


RANKS = "A23456789TJQK"
SUITS = "cdhs"
CARDS, COPIES = make_pack(RANKS, SUITS)
DECK_SIZE = 52
IN_SUIT = 13
ACE, SEVEN, EIGHT, TEN, JACK, QUEEN, KING = 0, 6, 7, 9, 10, 11, 12
CLUBS, DIAMONDS, HEARTS, SPADES = range(4)
NO_CARD = -1  # in place of a card
FULL_DECK = list_cards(COPIES)

# ---- sets of cards

EMPTY = np.uint64(0)
ONE = np.uint64(1)
FULL = (ONE << np.uint64(DECK_SIZE)) - ONE
SUIT = np.uint64((1 << IN_SUIT) - 1)  # all clubs; shifted by 13, 26, 39 the other suits
RANK = np.uint64(1 | 1 << 13 | 1 << 26 | 1 << 39)  # all aces; shifted by 1 … 12 the other ranks
ACES, TWOS, KINGS = RANK, RANK << ONE, RANK << np.uint64(KING)
NUMBERS = np.uint64(sum(int(RANK) << rank for rank in range(1, TEN)))  # 2 … 9
TENS = FULL & ~ACES & ~NUMBERS  # ten, jack, queen, king
# Those of the cards 2 … 9 whose number has bit 0, 1, 2, 3: four counts of cards add up a hand.
_NUMBER_1, _NUMBER_2, _NUMBER_4, _NUMBER_8 = (
    np.uint64(sum(int(RANK) << rank for rank in range(1, TEN) if (rank + 1) & value)) for value in (1, 2, 4, 8)
)


@register_jitable
def bit(card):
    """The set of one card."""
    return ONE << np.uint64(card)


@register_jitable
def of_suit(suit):
    """All cards of a suit."""
    return SUIT << np.uint64(IN_SUIT * suit)


@register_jitable
def of_rank(rank):
    """All cards of a rank."""
    return RANK << np.uint64(rank)


@register_jitable
def holds(cards, card):
    """Whether a set holds a card."""
    return (np.uint64(cards) >> np.uint64(card)) & ONE != EMPTY


@register_jitable
def without_lowest(cards):
    """A set that is not empty without its first card: the rest of a walk through its cards."""
    return cards & (cards - ONE)


@register_jitable
def nth(cards, n):
    """The n-th card of a set, counted from 0."""
    for _ in range(n):
        cards = without_lowest(cards)
    return lowest_bit(cards)


@register_jitable
def sum_numbers(cards):
    """The sum of the numbers on the cards 2 … 9 of a set."""
    points = popcount(cards & _NUMBER_1) + 2 * popcount(cards & _NUMBER_2)
    return points + 4 * popcount(cards & _NUMBER_4) + 8 * popcount(cards & _NUMBER_8)


def name_cards(cards: int) -> list[str]:
    """The names of the cards of a set, by suit (c d h s), then rank (A … K)."""
    return [name for index, name in enumerate(CARDS) if cards >> index & 1]


def name_counts(names: Iterable[str], counts: Iterable[int]) -> list[str]:
    """Each of the names as often as ``counts`` says: cards that are known only by how many there are of each kind."""
    return [name for name, count in zip(names, counts, strict=True) for _ in range(count)]


# ---- dealing


@register_jitable
def complete_deck(deck, given, cards):
    """Put all other ``cards`` of the full deck (:func:`list_cards`) under its ``given`` first ones; returns its size."""
    if given == 0:  # nearly always: one copy of memory
        for i in range(len(cards)):
            deck[i] = cards[i]
        return len(cards)
    n = given
    previous = NO_CARD
    skipped = 0  # how many copies of the card lie on top already
    for i in range(len(cards)):
        card = cards[i]
        if card != previous:
            previous = card
            skipped = 0
            for k in range(given):
                skipped += deck[k] == card
        if skipped > 0:
            skipped -= 1
        else:
            deck[n] = card
            n += 1
    return n


@register_jitable
def build_deck(s, cards):
    """A newly shuffled deck of ``cards`` for the next deal: those of a given order (``s.order``) on top, then the others."""
    for i in range(s.ordered):
        s.deck[i] = s.order[i]
    n = complete_deck(s.deck, s.ordered, cards)
    shuffle(s.deck, s.ordered, n, s.key, s.finished)
    s.ordered = 0
    s.drawn = 0
    s.deck_size = n


@register_jitable
def draw_card(s, seat):
    """The next card of the stock goes to the hand of ``seat``."""
    s.hands[seat] = np.uint64(s.hands[seat]) | bit(s.deck[s.drawn])
    s.drawn += 1


@register_jitable
def deal_hands(s, size):
    """Every seat gets a hand of ``size`` cards, one at a time, clockwise from the seat after the dealer."""
    for seat in range(s.players):
        s.hands[seat] = EMPTY
    seat = s.dealer
    for _ in range(size * s.players):
        seat = 0 if seat + 1 == s.players else seat + 1
        draw_card(s, seat)


@register_jitable
def count_fewest(s, seat):
    """How many cards the opponent of ``seat`` with the smallest hand holds."""
    fewest = DECK_SIZE
    for other in range(s.players):
        if other != seat:
            fewest = min(fewest, popcount(np.uint64(s.hands[other])))
    return fewest


@register_jitable
def chance_of_any(cards, unseen, size):
    """About how likely it is that a hand of ``size`` of the ``unseen`` cards holds one of ``cards``."""
    miss = 1.0 - popcount(cards & unseen) / float(max(1, popcount(unseen)))
    none = 1.0
    for _ in range(size):  # not a power: that would be rounded differently when compiled
        none *= miss
    return 1.0 - none


@register_jitable
def collect_stock(s):
    """The cards that are still to be drawn, as a set."""
    cards = EMPTY
    for i in range(s.drawn, s.deck_size):
        cards |= bit(s.deck[i])
    return cards


@register_jitable
def gather_hidden(s, cards):
    """Put the hidden ``cards`` at the end of the deck, by index, so that nothing of how they lay is left; returns their start.

    The cards that were drawn before, and a given order of the next deck, are forgotten.
    """
    first = s.deck_size - popcount(cards)
    for i in range(DECK_SIZE):
        s.deck[i] = 0
        s.order[i] = 0
    s.ordered = 0
    n = first
    for card in range(DECK_SIZE):
        if holds(cards, card):
            s.deck[n] = card
            n += 1
    return first


@register_jitable
def replace_hidden(s, seat, known, first):
    """Replace the cards of a hand that are not ``known`` by those from ``deck[first]`` on; returns where these end."""
    end = first + popcount(np.uint64(s.hands[seat]) & ~np.uint64(known))
    s.hands[seat] = known
    for i in range(first, end):
        s.hands[seat] = np.uint64(s.hands[seat]) | bit(s.deck[i])
    return end


# ---- pictures

RED, BLACK = CardStyle("#b9281f"), CardStyle("#222")
SYMBOLS = dict(zip(SUITS, "♣♦♥♠", strict=True))


def draw_face(name: str, *, marked: bool = False) -> Card:
    """A card of the French deck, face up, in a picture."""
    rank, suit = name[0], name[1]
    face = f"{rank.replace('T', '10')}\n{SYMBOLS[suit]}"
    return Card(name, RED if suit in "dh" else BLACK, face, marked=marked)


def draw_row(cards: Iterable[str] | int) -> tuple[Card, ...]:
    """The cards of a hand in a picture; backs if only their number is known."""
    if isinstance(cards, int):
        return (Card("?", BACK, count=cards),) if cards else ()
    return tuple(draw_face(name) for name in cards)
