"""Melds of the French deck – sets of a rank, runs of a suit – as functions of sets of cards (bit 13·suit + rank).

Every meld has a number. Sets: five for each rank, the four that lack one suit, then all four cards; 65 in all. Runs: for each
suit those with low aces by lowest and highest rank, then those that end with an ace above the king; 308 in all. ``universal``
says whether aces are high, too: then a run may end Q-K-A, but it never goes around the corner.
"""

import numpy as np

from card_envs.engine.bits import lowest_bit
from card_envs.engine.jitable import register_jitable
from card_envs.games.deck import (
    ACE, ACES, CARDS, EMPTY, IN_SUIT, KING, KINGS, RANK, SUIT, SUITS, TWOS, bit, holds, of_rank, without_lowest,
)  # fmt: skip

HIGH_ACE = IN_SUIT  # the rank of an ace above the king
PER_RANK = 5  # sets of a rank
ALL_FOUR = 4  # the last of them
SETS = PER_RANK * IN_SUIT

_RANGES = [(low, high) for low in range(IN_SUIT) for high in range(low + 2, IN_SUIT)]
_RANGES += [(low, HIGH_ACE) for low in range(1, IN_SUIT - 1)]
PER_SUIT = len(_RANGES)  # runs of a suit
RUN_LOW = np.array([low for low, _ in _RANGES], np.int8)
RUN_HIGH = np.array([high for _, high in _RANGES], np.int8)
RUN_NUMBER = np.full((IN_SUIT, HIGH_ACE + 1), -1, np.int16)  # by lowest and highest rank
for _number, (_low, _high) in enumerate(_RANGES):
    RUN_NUMBER[_low, _high] = _number

SET_NAMES = [
    [CARDS[IN_SUIT * suit + rank] for suit in range(4) if suit != missing]
    for rank in range(IN_SUIT)
    for missing in range(PER_RANK)
]
RUN_NAMES = [
    [CARDS[IN_SUIT * suit + rank % IN_SUIT] for rank in range(low, high + 1)]
    for suit in range(len(SUITS))
    for low, high in _RANGES
]

_TO_ACE = np.uint64(KING)  # how far the king of a suit lies from its ace
_SUIT_1, _SUIT_2, _SUIT_3 = (np.uint64(suit * IN_SUIT) for suit in (1, 2, 3))

# ---- single melds


@register_jitable
def set_cards(number):
    """The cards of the set with this number."""
    rank = number // PER_RANK
    missing = number % PER_RANK
    cards = of_rank(rank)
    if missing != ALL_FOUR:
        cards &= ~bit(IN_SUIT * missing + rank)
    return cards


@register_jitable
def range_cards(suit, low, high):
    """The cards of a suit from one rank to another, which may be a high ace."""
    cards = EMPTY
    for rank in range(low, high + 1):
        cards |= bit(IN_SUIT * suit + (ACE if rank == HIGH_ACE else rank))
    return cards


@register_jitable
def run_cards(number):
    """The cards of the run with this number."""
    return range_cards(number // PER_SUIT, np.int64(RUN_LOW[number % PER_SUIT]), np.int64(RUN_HIGH[number % PER_SUIT]))


@register_jitable
def fits_below(suit, low):
    """The card that fits below a run with this lowest rank, as a set."""
    return bit(IN_SUIT * suit + low - 1) if low > ACE else EMPTY


@register_jitable
def fits_above(suit, high, universal):
    """The card that fits above a run with this highest rank, as a set; the ace of the suit may be the run's lowest card."""
    if high < KING:
        return bit(IN_SUIT * suit + high + 1)
    return bit(IN_SUIT * suit + ACE) if high == KING and universal else EMPTY


# ---- neighbours


@register_jitable
def above(cards, universal):
    """The cards next above ``cards`` in their suits."""
    up = (cards & ~KINGS) << np.uint64(1)
    if universal:
        up |= (cards & KINGS) >> _TO_ACE
    return up


@register_jitable
def below(cards, universal):
    """The cards next below ``cards`` in their suits."""
    down = (cards & ~ACES) >> np.uint64(1)
    if universal:
        down |= (cards & ACES) << _TO_ACE
    return down


# ---- all melds of some cards


@register_jitable
def find_thrice(cards):
    """The ranks of which there are at least three cards, as a set of clubs."""
    c, d = cards & SUIT, (cards >> _SUIT_1) & SUIT
    h, p = (cards >> _SUIT_2) & SUIT, cards >> _SUIT_3
    return (c & d & (h | p)) | (h & p & (c | d))


@register_jitable
def find_middles(cards, universal):
    """The cards that lie between two neighbours; no run goes around the corner."""
    return cards & above(cards, universal) & below(cards, universal) & ~ACES


@register_jitable
def in_melds(cards, universal):
    """Those of ``cards`` that are in some meld of them; if melds overlap they cannot all be melded at once."""
    middle = find_middles(cards, universal)
    return middle | above(middle, universal) | below(middle, universal) | (cards & (find_thrice(cards) * RANK))


@register_jitable
def outs(cards, universal):
    """The other cards that make a meld with two of ``cards``."""
    up = above(cards, universal)
    down = below(cards, universal)
    c, d = cards & SUIT, (cards >> _SUIT_1) & SUIT
    h, p = (cards >> _SUIT_2) & SUIT, cards >> _SUIT_3
    twice = (c & d) | (h & p) | ((c | d) & (h | p))
    runs = (up & above(up, universal) & ~TWOS) | (down & below(down, universal) & ~KINGS) | (up & down & ~ACES)
    return ((twice * RANK) | runs) & ~cards


@register_jitable
def mark_sets(cards, needed, last, marks, first):
    """Set ``marks[first + number]`` for every set of ``cards`` that holds all cards ``needed``.

    ``last`` is empty, or a card that may not be left over as the only one, unless it fits the new set.
    """
    thrice = find_thrice(cards)
    while thrice != EMPTY:
        rank = lowest_bit(thrice)
        thrice = without_lowest(thrice)
        for number in range(PER_RANK * rank, PER_RANK * (rank + 1)):
            meld = set_cards(number)
            if meld & ~cards == EMPTY and meld & needed == needed:
                stuck = last != EMPTY and cards & ~meld == last
                if not stuck or last & of_rank(rank) != EMPTY:
                    marks[first + number] = 1


@register_jitable
def mark_runs(cards, needed, last, universal, marks, first):
    """Set ``marks[first + number]`` for every run of ``cards``, as :func:`mark_sets` does for sets."""
    if find_middles(cards, universal) == EMPTY:
        return
    for suit in range(4):
        ranks = (cards >> np.uint64(IN_SUIT * suit)) & SUIT
        if universal:
            ranks |= (ranks & np.uint64(1)) << np.uint64(HIGH_ACE)
        lows = ranks & (ranks >> np.uint64(1)) & (ranks >> np.uint64(2))  # the lowest ranks of all runs of three
        while lows != EMPTY:
            low = lowest_bit(lows)
            lows = without_lowest(lows)
            high = low + 2
            while high <= HIGH_ACE and high - low < IN_SUIT and holds(ranks, high):
                meld = range_cards(suit, low, high)
                if meld & needed == needed:
                    stuck = last != EMPTY and cards & ~meld == last
                    if not stuck or last & (fits_below(suit, low) | fits_above(suit, high, universal)) != EMPTY:
                        marks[first + PER_SUIT * suit + RUN_NUMBER[low, high]] = 1
                high += 1
