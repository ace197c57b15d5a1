"""The deck of Flip 7 and its discard pile: how they are shuffled, and where the next card comes from."""

import numpy as np

from card_envs.engine.jitable import register_jitable
from card_envs.engine.random import shuffle
from card_envs.games.deck import complete_deck, list_cards
from card_envs.games.flip7.state import COPIES, FIRST_MODIFIER, KINDS

FULL_DECK = list_cards(COPIES)


@register_jitable
def lay_out(s, counts, first):
    """Lay ``counts[kind]`` cards of each kind into the deck, from place ``first`` on, and return where they end."""
    end = first
    for kind in range(KINDS):
        for _ in range(counts[kind]):
            s.deck[end] = kind
            end += 1
    return end


@register_jitable
def shuffle_deck(s, first, end):
    """Begin a new deck of ``end`` cards; those from place ``first`` on are shuffled."""
    shuffle(s.deck, first, end, s.key, s.shuffles)
    s.shuffles += 1
    s.drawn = 0
    s.deck_size = end


@register_jitable
def build_deck(s):
    """F1: the full deck, shuffled under the cards of a given order."""
    for kind in range(KINDS):
        s.unseen[kind] = COPIES[kind]
    shuffle_deck(s, 0 + s.ordered, complete_deck(s.deck, s.ordered, FULL_DECK))


@register_jitable
def reshuffle(s):
    """F7: the discard pile becomes the new deck."""
    end = lay_out(s, s.discard, 0)
    for kind in range(KINDS):
        s.unseen[kind] = s.discard[kind]
        s.discard[kind] = 0
    shuffle_deck(s, 0, end)


@register_jitable
def draw_card(s):
    """Take the next card off the deck."""
    if s.drawn == s.deck_size:  # F7: when the next card is needed, not when the last one leaves
        reshuffle(s)
    card = s.deck[s.drawn]
    s.drawn += 1
    s.unseen[card] -= 1
    return card


# ---- the next card


@register_jitable
def count_next(s, kind):
    """How many cards of ``kind`` there are where the next card is drawn from: the deck or, once empty, the discard pile."""
    return s.unseen[kind] if s.drawn < s.deck_size else s.discard[kind]  # F7


@register_jitable
def count_cards(s):
    """How many cards the next one is drawn from."""
    cards = s.deck_size - s.drawn
    if cards == 0:
        for kind in range(KINDS):
            cards += s.discard[kind]
    return cards


# To add up counts without a loop: SPREAD[b] has all bits of byte i where bit i of b is set.
SPREAD = np.array([sum(0xFF << 8 * i for i in range(8) if b >> i & 1) for b in range(256)], np.uint64)
BYTE = np.uint64(0xFF)
ONES = np.uint64(0x0101010101010101)


@register_jitable
def pack_counts(counts, first):
    """Eight counts, from ``first`` on, as the bytes of a uint64."""
    packed = np.uint64(0)
    for i in range(8):
        packed |= np.uint64(np.uint8(counts[first + i])) << np.uint64(8 * i)
    return packed


@register_jitable
def pack_next(s):
    """``(low, high)``: how many cards there are of each kind 0 … 7 and 8 … 15 where the next card is drawn from, packed."""
    if s.drawn < s.deck_size:
        return pack_counts(s.unseen, 0), pack_counts(s.unseen, 8)
    return pack_counts(s.discard, 0), pack_counts(s.discard, 8)  # F7


@register_jitable
def sum_packed(low, high, kinds):
    """How many cards there are, by the counts of :func:`pack_next`, of a set of kinds below 16; a deck has less than 256."""
    counts = (low & SPREAD[np.uint64(kinds) & BYTE]) + (high & SPREAD[np.uint64(kinds) >> np.uint64(8)])
    return np.int64((counts * ONES) >> np.uint64(56))


# The values of the kinds 0, 2, 4, 6 and 1, 3, 5, 7, and of those from 8 on, in 16 bits each, the last kind lowest.
EVEN_BYTES = np.uint64(0x00FF00FF00FF00FF)
EVEN_LOW, ODD_LOW, EVEN_HIGH, ODD_HIGH = (
    np.uint64(sum(value << 16 * (3 - i) for i, value in enumerate(values)))
    for values in ((0, 2, 4, 6), (1, 3, 5, 7), (8, 10, 12, 13), (9, 11, 13, 7))
)


@register_jitable
def sum_values(low, high, kinds):
    """The sum of the values of all number cards of a set of kinds, by the counts of :func:`pack_next`."""
    low &= SPREAD[np.uint64(kinds) & BYTE]
    high &= SPREAD[np.uint64(kinds) >> np.uint64(8)]
    even = (low & EVEN_BYTES) * EVEN_LOW + (high & EVEN_BYTES) * EVEN_HIGH
    odd = ((low >> np.uint64(8)) & EVEN_BYTES) * ODD_LOW + ((high >> np.uint64(8)) & EVEN_BYTES) * ODD_HIGH
    return np.int64((even + odd) >> np.uint64(48))


@register_jitable
def get_packed(packed, place):
    """The count in one byte of those of :func:`pack_next`."""
    return np.int64((packed >> np.uint64(8 * place)) & BYTE)


@register_jitable
def count_numbers(s):
    """How many number cards the next card is drawn from."""
    numbers = 0
    for kind in range(FIRST_MODIFIER):
        numbers += count_next(s, kind)
    return numbers
