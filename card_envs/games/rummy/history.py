"""What everybody has seen the players choose in this deal: the cards that each of them discarded, declined and took.

A player declines the top card of the pile by drawing from the stock instead. Only the latest choice of a player about a card
counts, so that each card stands for one thing: it was discarded or declined, and the player can have no use for it, or it was
taken, and the player holds it, where everybody knows it to be, or has laid it.
"""

import numpy as np

from card_envs.engine.bits import popcount
from card_envs.engine.jitable import register_jitable
from card_envs.games.deck import DECK_SIZE, EMPTY, bit, holds
from card_envs.games.rummy.state import DECLINED, TAKEN


@register_jitable
def forget_choices(s):
    """A new deal begins."""
    for seat in range(s.players):
        s.chosen[seat] = EMPTY


@register_jitable
def note_choice(s, seat, choice, card):
    """``card`` becomes the last in the sequence of the cards about which ``seat`` has made choices."""
    cards = np.uint64(s.chosen[seat])
    last = popcount(cards)
    if holds(cards, card):
        last -= 1
        found = 0
        while s.choices[seat, found] % DECK_SIZE != card:
            found += 1
        for i in range(found, last):
            s.choices[seat, i] = s.choices[seat, i + 1]
    s.choices[seat, last] = DECK_SIZE * choice + card
    s.chosen[seat] = cards | bit(card)


@register_jitable
def sort_choices(s, seat):
    """The cards about which a seat has made choices, as three sets: by its latest choice, the discarded, declined and taken."""
    discarded = declined = taken = EMPTY
    for i in range(popcount(np.uint64(s.chosen[seat]))):
        entry = np.int64(s.choices[seat, i])
        card = bit(entry % DECK_SIZE)
        if entry < DECLINED * DECK_SIZE:
            discarded |= card
        elif entry < TAKEN * DECK_SIZE:
            declined |= card
        else:
            taken |= card
    return discarded, declined, taken
