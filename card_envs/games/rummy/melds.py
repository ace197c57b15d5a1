"""What can be melded and laid off: bit tricks on sets of cards (bit 13·suit + rank)."""

import numpy as np
from numba.extending import register_jitable

from card_envs.engine.random import popcount
from card_envs.games.french_deck import ACE, EMPTY, IN_SUIT, KING, ONE, SUIT, bit, holds, of_rank
from card_envs.games.rummy.actions import ACTION_RUN, ACTION_SET, ALL_FOUR, HIGH_ACE, PER_RANK, PER_SUIT, RUN_INDEX
from card_envs.games.rummy.state import NO_CARD, RUN, SET, UNIVERSAL


@register_jitable
def ranks_in_suit(s, cards, suit):
    """The cards of a suit as bits 0 … 12; a universal ace is bit 13 too."""
    ranks = (cards >> np.uint64(IN_SUIT * suit)) & SUIT
    if s.aces == UNIVERSAL:
        ranks |= (ranks & ONE) << np.uint64(HIGH_ACE)
    return ranks


@register_jitable
def span(suit, low, high):
    """The cards of a run."""
    cards = EMPTY
    for rank in range(low, high + 1):
        cards |= bit(IN_SUIT * suit + (ACE if rank == HIGH_ACE else rank))
    return cards


@register_jitable
def set_cards(index):
    """The cards of the set with this index (actions.py)."""
    rank = index // PER_RANK
    missing = index % PER_RANK
    cards = of_rank(rank)
    if missing != ALL_FOUR:
        cards &= ~bit(IN_SUIT * missing + rank)
    return cards


@register_jitable
def in_some_meld(s, cards, card):
    """Whether some legal meld of ``cards``, which hold it, contains ``card`` (R8, R11, R12)."""
    rank = card % IN_SUIT
    if popcount(cards & of_rank(rank)) >= 3:
        return True
    ranks = ranks_in_suit(s, cards, card // IN_SUIT)
    threes = ranks & (ranks >> np.uint64(1)) & (ranks >> np.uint64(2))  # the lowest ranks of all runs of three
    if threes == EMPTY:
        return False
    if in_threes(threes, rank):
        return True
    return rank == ACE and s.aces == UNIVERSAL and in_threes(threes, HIGH_ACE)


@register_jitable
def in_threes(threes, rank):
    """Whether one of the runs of three with these lowest ranks holds ``rank``."""
    for low in range(max(0, rank - 2), rank + 1):
        if holds(threes, low):
            return True
    return False


@register_jitable
def fits(s, card):
    """Whether ``card`` fits a meld on the table (R13)."""
    return holds(np.uint64(s.fits_set) | np.uint64(s.fits_below) | np.uint64(s.fits_above), card)


@register_jitable
def find_fits(s):
    """Note which cards fit the melds on the table: at most one meld fits each card and place (R13, R14)."""
    on_set = EMPTY
    below = EMPTY
    above = EMPTY
    for i in range(s.melds):
        of = s.meld_of[i]
        if s.meld_kind[i] == SET:
            for suit in range(4):
                if not (s.meld_low[i] >> suit) & 1:
                    on_set |= bit(IN_SUIT * suit + of)
        else:
            if s.meld_low[i] > ACE:
                below |= bit(IN_SUIT * of + s.meld_low[i] - 1)
            if s.meld_high[i] < KING:
                above |= bit(IN_SUIT * of + s.meld_high[i] + 1)
            elif s.meld_high[i] == KING and s.aces == UNIVERSAL:
                above |= bit(IN_SUIT * of + ACE)
    on_table = table_cards(s)  # the ace of a run of thirteen is there already, at its other end
    s.fits_set = on_set
    s.fits_below = below & ~on_table
    s.fits_above = above & ~on_table


@register_jitable
def table_cards(s):
    """All cards in melds."""
    cards = EMPTY
    for seat in range(s.players):
        cards |= np.uint64(s.laid[seat])
    return cards


@register_jitable
def set_makes_room(index, card):
    """Whether ``card`` fits the set with this index, once it is laid (R7)."""
    return holds(of_rank(index // PER_RANK) & ~set_cards(index), card)


@register_jitable
def run_makes_room(s, suit, low, high, card):
    """Whether ``card`` fits the run once it is laid (R7)."""
    if card // IN_SUIT != suit:
        return False
    rank = card % IN_SUIT
    if rank == low - 1 or (rank == high + 1 and high < KING):
        return True
    return rank == ACE and high == KING and low > ACE and s.aces == UNIVERSAL


@register_jitable
def mask_sets(s, hand, needed, alone, mask):
    """Set the legal sets of a hand: those with ``needed`` (if any), not those that leave ``alone`` without a place (R7)."""
    size = popcount(hand)
    twice = hand & ((hand >> np.uint64(13)) | (hand >> np.uint64(26)) | (hand >> np.uint64(39)))
    if twice == EMPTY:
        return
    for rank in range(IN_SUIT):
        count = popcount(hand & of_rank(rank))
        if count >= 3:
            for missing in range(PER_RANK):
                index = PER_RANK * rank + missing
                cards = set_cards(index)
                if cards & ~hand == EMPTY and cards & needed == needed:
                    stuck = size - popcount(cards) == 1 and alone != NO_CARD and not holds(cards, alone)
                    if not stuck or fits(s, alone) or set_makes_room(index, alone):
                        mask[ACTION_SET + index] = 1


@register_jitable
def mask_runs(s, hand, needed, alone, mask):
    """Set the legal runs of a hand, likewise."""
    size = popcount(hand)
    for suit in range(4):
        ranks = ranks_in_suit(s, hand, suit)
        threes = ranks & (ranks >> np.uint64(1)) & (ranks >> np.uint64(2))
        low = 0
        while threes != EMPTY:
            if threes & ONE:
                high = low + 2
                while high <= HIGH_ACE and high - low < IN_SUIT and holds(ranks, high):
                    cards = span(suit, low, high)
                    if cards & needed == needed:
                        stuck = size - (high - low + 1) == 1 and alone != NO_CARD and not holds(cards, alone)
                        if not stuck or fits(s, alone) or run_makes_room(s, suit, low, high, alone):
                            mask[ACTION_RUN + PER_SUIT * suit + RUN_INDEX[low, high]] = 1
                    high += 1
            threes = threes >> np.uint64(1)
            low += 1


@register_jitable
def add_meld(s, kind, of, low, high):
    i = s.melds
    s.meld_kind[i] = kind
    s.meld_of[i] = of
    s.meld_low[i] = low
    s.meld_high[i] = high
    s.melds = i + 1


@register_jitable
def extend_set(s, card):
    """R13: ``card`` joins the set of its rank."""
    for i in range(s.melds):
        if s.meld_kind[i] == SET and s.meld_of[i] == card % IN_SUIT:
            s.meld_low[i] |= 1 << card // IN_SUIT


@register_jitable
def extend_below(s, card):
    """R14: ``card`` becomes the lowest of the run above it."""
    for i in range(s.melds):
        if s.meld_kind[i] == RUN and s.meld_of[i] == card // IN_SUIT and s.meld_low[i] == card % IN_SUIT + 1:
            s.meld_low[i] -= 1


@register_jitable
def extend_above(s, card):
    """R14: ``card`` becomes the highest of the run below it."""
    rank = card % IN_SUIT
    if rank == ACE:
        rank = HIGH_ACE
    for i in range(s.melds):
        if s.meld_kind[i] == RUN and s.meld_of[i] == card // IN_SUIT and s.meld_high[i] == rank - 1:
            s.meld_high[i] += 1
