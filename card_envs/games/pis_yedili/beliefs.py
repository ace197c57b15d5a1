"""How well given hands agree with what choices have shown (P29): what a search weighs its redealt worlds by."""

import numpy as np

from card_envs.engine.bits import popcount
from card_envs.engine.jitable import register_jitable
from card_envs.games.pis_yedili.shown import DOUBT, DOUBT_KEPT, KEPT, find_lacks
from card_envs.games.pis_yedili.state import PROVED, SUGGESTED

FLOOR = 0.05  # of the factor of a card, since a redeal and the player who uses it may know less than the rules


@register_jitable
def allow(cards, drawn, size, floor):
    """How likely ``cards`` cards of a hand of ``size`` are all among the ``drawn`` ones that its player has drawn since.

    If any cards of the hand may be those drawn, this is the product of (drawn − i) / (size − i) for i from 0 to cards − 1. Each
    factor is moved up to ``floor`` + (1 − ``floor``) × factor, so that the result is never 0.
    """
    likelihood = 1.0
    for i in range(cards):
        share = min(1.0, max(0.0, float(drawn - i)) / (size - i))
        likelihood *= floor + (1.0 - floor) * share
    return likelihood


@register_jitable
def likelihood(s, seat):
    """How likely everybody's choices but those of ``seat`` would have shown what they did, if the hands are those of ``s``.

    It is the product over the other seats of three factors of `allow`: with ``FLOOR`` for the cards of their hand in the set
    *proved*, and for those in *suggested* alone with ``DOUBT_KEPT`` for jacks and sevens, with ``DOUBT`` for the others. Hands
    that agree with all that is shown have 1.
    """
    product = 1.0
    for other in range(s.players):
        if other != seat:
            hand = np.uint64(s.hands[other])
            size = popcount(hand)
            proved = find_lacks(s, PROVED, other)
            suggested = hand & find_lacks(s, SUGGESTED, other) & ~proved
            drawn = s.drawn_since[SUGGESTED, other]
            product *= allow(popcount(hand & proved), s.drawn_since[PROVED, other], size, FLOOR)
            product *= allow(popcount(suggested & ~KEPT), drawn, size, DOUBT)
            product *= allow(popcount(suggested & KEPT), drawn, size, DOUBT_KEPT)
    return product
