"""The French deck: 52 cards as indices 13·suit + rank, sets of them as the bits of a uint64."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numba.extending import register_jitable

from card_envs.engine.picture import Card
from card_envs.engine.random import popcount, shuffle

RANKS = "A23456789TJQK"
SUITS = "cdhs"
CARDS = tuple(rank + suit for suit in SUITS for rank in RANKS)
COPIES = (1,) * 52
DECK_SIZE = 52
IN_SUIT = 13
ACE, SEVEN, EIGHT, TEN, JACK, QUEEN, KING = 0, 6, 7, 9, 10, 11, 12

EMPTY = np.uint64(0)
ONE = np.uint64(1)
SUIT = np.uint64((1 << IN_SUIT) - 1)  # all clubs; shifted by 13, 26, 39 the other suits
RANK = np.uint64(1 | 1 << 13 | 1 << 26 | 1 << 39)  # all aces; shifted by 1 … 12 the other ranks


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
def build_deck(s):
    """A newly shuffled deck for the next deal: the cards of a given order (``s.order``) on top, then the others."""
    left = (ONE << np.uint64(DECK_SIZE)) - ONE
    for i in range(s.ordered):
        s.deck[i] = s.order[i]
        left &= ~bit(s.order[i])
    n = s.ordered
    for card in range(DECK_SIZE):
        if holds(left, card):
            s.deck[n] = card
            n += 1
    shuffle(s.deck, s.ordered, DECK_SIZE, s.key, s.finished)
    s.ordered = 0
    s.drawn = 0
    s.deck_size = DECK_SIZE


@register_jitable
def gather_hidden(s, cards):
    """Put the hidden ``cards`` at the end of the deck, by index: what is dealt of them then says nothing of how they lay.

    Returns where they begin. What was drawn before, and a given order of the next deck, are forgotten.
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
def stock(s):
    """The cards that are still to be drawn, as a set."""
    cards = EMPTY
    for i in range(s.drawn, s.deck_size):
        cards |= bit(s.deck[i])
    return cards


def names(cards: int) -> list[str]:
    """The cards of a set by suit (c d h s), then rank (A … K)."""
    return [name for index, name in enumerate(CARDS) if cards >> index & 1]


SYMBOLS = dict(zip(SUITS, "♣♦♥♠", strict=True))


def card(name: str, *, marked: bool = False, label: str = "") -> Card:
    """A card of a picture."""
    rank, suit = name[0], name[1]
    face = f"{rank.replace('T', '10')}\n{SYMBOLS[suit]}"
    return Card(name, "red" if suit in "dh" else "black", face, label, marked=marked)


def row(cards: Iterable[str] | int) -> tuple[Card, ...]:
    """The cards of a hand in a picture; so many backs if only their number is known."""
    if isinstance(cards, int):
        return (Card("?", "back", count=cards),) if cards else ()
    return tuple(card(name) for name in cards)
