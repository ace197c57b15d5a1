"""What everybody has seen the players choose in this deal: the cards that each of them discarded, declined and took.

A player declines the top card of the pile by drawing from the stock instead. Only the latest choice of a player about a card
counts, so that each card stands for one thing: it was discarded or declined, and the player can have no use for it, or it was
taken, and the player holds it, where everybody knows it to be, or has laid it.
"""

import numpy as np

from card_envs.engine.bits import popcount
from card_envs.engine.jitable import register_jitable
from card_envs.games.deck import DECK_SIZE, EMPTY, NO_CARD, bit, holds
from card_envs.games.rummy.state import CHOICES, DECLINED, DISCARDED, MOST_CHOICES, TAKEN


@register_jitable
def forget_choices(s):
    """A new deal begins."""
    for seat in range(s.players):
        for choice in range(len(CHOICES)):
            s.past[seat, choice] = EMPTY
        s.past_size[seat] = 0


@register_jitable
def sort_choices(s, seat):
    """The cards about which a seat has made choices, as three sets: by its latest choice, the discarded, declined and taken."""
    return np.uint64(s.past[seat, DISCARDED]), np.uint64(s.past[seat, DECLINED]), np.uint64(s.past[seat, TAKEN])


@register_jitable
def note_choice(s, seat, choice, card):
    """``seat`` makes a choice about a card, which takes the place of an earlier one."""
    one = bit(card)
    for other in range(len(CHOICES)):
        s.past[seat, other] = np.uint64(s.past[seat, other]) & ~one
    s.past[seat, choice] = np.uint64(s.past[seat, choice]) | one
    if s.past_size[seat] == MOST_CHOICES:
        number_anew(s, seat)
    s.past_number[seat, card] = s.past_size[seat]
    s.past_size[seat] += 1


@register_jitable
def number_anew(s, seat):
    """Give the choices of a seat the numbers from 0 on, in the same order.

    All numbers are different, so that the n-th of them is at least n: those that are smaller have been given already.
    """
    discarded, declined, taken = sort_choices(s, seat)
    cards = discarded | declined | taken
    size = popcount(cards)
    for n in range(size):
        oldest = NO_CARD
        for card in range(DECK_SIZE):
            later = holds(cards, card) and s.past_number[seat, card] >= n
            if later and (oldest == NO_CARD or s.past_number[seat, card] < s.past_number[seat, oldest]):
                oldest = card
        s.past_number[seat, oldest] = n
    s.past_size[seat] = size
