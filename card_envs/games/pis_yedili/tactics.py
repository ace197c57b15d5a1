"""What players of Pis Yedili look at: which cards go together, and the table as a seat sees it."""

import numpy as np
from card_envs.engine.jitable import register_jitable

from card_envs.engine.bits import lowest_bit, popcount
from card_envs.games.deck import CLUBS, EMPTY, FULL, IN_SUIT, JACK, RANK, SEVEN, bit, of_suit, without_lowest
from card_envs.games.pis_yedili.rules import JACKS, count_points, fits_card, fits_jack
from card_envs.games.pis_yedili.state import ACTION_DRAW, ACTION_PASS, ACTION_TAKE, LEAD, SEVENS, TURN

ALL_SEVENS = RANK << np.uint64(SEVEN)
NOTHING = -1e300  # less than any value that parameters in their range can give

# ---- cards


@register_jitable
def longest_suit(hand):
    """The suit of which a hand has the most cards that fit a jack; the first one if several have as many."""
    longest = 0
    most = -1
    for suit in range(4):
        size = popcount(hand & fits_jack(suit))
        if size > most:
            most = size
            longest = suit
    return longest


@register_jitable
def fitting(hand, card):
    """The cards that may lie on ``card``; on a jack, those of the longest suit of ``hand``."""
    if card % IN_SUIT == JACK:
        return fits_jack(longest_suit(hand))
    return fits_card(card // IN_SUIT, card % IN_SUIT)


@register_jitable
def fits_pile(s):
    """What may lie on the pile as it is, apart from what open sevens ask for."""
    if s.phase == LEAD:  # P3, P4
        return of_suit(CLUBS)
    rank = s.top % IN_SUIT
    return fits_jack(s.suit) if rank == JACK else fits_card(s.suit, rank)


@register_jitable
def count_lonely(hand):
    """How many cards of a hand, not counting jacks, share neither suit nor rank with another one."""
    cards = hand & ~JACKS
    left = cards
    lonely = 0
    while left != EMPTY:
        card = lowest_bit(left)
        left = without_lowest(left)
        if cards & ~bit(card) & fitting(cards, card) == EMPTY:
            lonely += 1
    return lonely


# ---- the table


@register_jitable
def find_unseen(s, hand):
    """The cards that are neither in the pile nor in ``hand``: those in the stock and in other hands."""
    return FULL & ~(hand | np.uint64(s.seen))


@register_jitable
def find_seat(s, seat, distance):
    """The seat whose turn comes ``distance`` turns after that of ``seat``."""
    return (seat + distance * s.direction) % s.players


@register_jitable
def count_held(s, seat, distance):
    """How many cards the player holds whose turn comes ``distance`` turns after that of ``seat``."""
    return popcount(np.uint64(s.hands[find_seat(s, seat, distance)]))


@register_jitable
def lateness(s):
    """How near the end of the stock is, from 0 to 1: a half when it has one card for each seat, 1 when it is empty."""
    return s.players / float(s.players + s.deck_size - s.drawn)


@register_jitable
def expected_lead(s, hand, unseen):
    """By how many points the mean of the other hands is expected to exceed ``hand``."""
    mean = count_points(unseen) / float(max(1, popcount(unseen)))
    others = popcount(unseen) - (s.deck_size - s.drawn)
    return mean * others / (s.players - 1.0) - count_points(hand)


@register_jitable
def without_card(s):
    """The action of a player who plays no card."""
    if s.phase == SEVENS:
        return ACTION_TAKE
    return ACTION_DRAW if s.phase == TURN or s.phase == LEAD else ACTION_PASS
