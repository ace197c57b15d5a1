"""What a seat sees of Pis Yedili: its own hand, the pile, and of the other hands and the stock their sizes (P29)."""

import numpy as np

from card_envs.engine.game import FieldSpec, locate_fields
from card_envs.engine.bits import popcount, write_set
from card_envs.engine.jitable import register_jitable
from card_envs.games.deck import DECK_SIZE, NO_CARD
from card_envs.games.pis_yedili.state import NO_SUIT, OVER

POINTS_SCALE = 100.0
HAND_SCALE = 20.0
SEVENS_SCALE = 4.0

FIELDS = (
    FieldSpec("hand", (DECK_SIZE,), "the own hand: suits c d h s, each A … K"),
    FieldSpec("pile", (DECK_SIZE,), "the cards in the pile"),
    FieldSpec("top", (DECK_SIZE,), "the top card of the pile"),
    FieldSpec("suit", (4,), "the suit to be followed: c d h s"),
    FieldSpec("phase", (6,), "what is being decided: lead, turn, drawn, sevens, suit, ace"),
    FieldSpec("sevens", (1,), "open sevens", SEVENS_SCALE),
    FieldSpec("direction", (1,), "1 clockwise, -1 counter-clockwise", 1.0, -1.0),
    FieldSpec("stock", (1,), "cards in the stock", float(DECK_SIZE)),
    FieldSpec("deal", (1,), "the deal's number", "deals"),
    FieldSpec("lap", (1,), "first turns that must be a club and are still to come, this one included", "players"),
    FieldSpec("hand_size", ("players",), "cards in each hand", HAND_SCALE, 0.0, 2.2),
    FieldSpec("total", ("players",), "penalty points of the finished deals", POINTS_SCALE, 0.0, 10.0),
    FieldSpec("to_move", ("players",), "who decides"),
    FieldSpec("dealer", ("players",), "who deals"),
)
FIRST, PER_PLAYER = locate_fields(FIELDS)


@register_jitable
def observe(s, seat, o):
    """Write all fields of ``FIELDS``: first zeros where flags are, then what is not zero."""
    players = np.int64(s.players)
    write_set(o, FIRST.hand, np.uint64(s.hands[seat]), DECK_SIZE)
    write_set(o, FIRST.pile, np.uint64(s.seen), DECK_SIZE)
    for i in range(FIRST.top, FIRST.hand_size):
        o[i] = 0.0
    if s.top != NO_CARD:
        o[FIRST.top + s.top] = 1.0
    if s.suit != NO_SUIT:
        o[FIRST.suit + s.suit] = 1.0
    if s.phase != OVER:
        o[FIRST.phase + s.phase] = 1.0
    o[FIRST.sevens] = s.sevens / SEVENS_SCALE
    o[FIRST.direction] = s.direction
    o[FIRST.stock] = (s.deck_size - s.drawn) / float(DECK_SIZE)
    o[FIRST.deal] = s.deal / float(s.deals)
    o[FIRST.lap] = s.lap / float(players)
    total = FIRST.total + PER_PLAYER.total * players
    to_move = FIRST.to_move + PER_PLAYER.to_move * players
    dealer = FIRST.dealer + PER_PLAYER.dealer * players
    other = seat
    for distance in range(players):
        o[np.uint64(FIRST.hand_size + distance)] = popcount(np.uint64(s.hands[other])) / HAND_SCALE
        o[np.uint64(total + distance)] = min(s.totals[other] / POINTS_SCALE, 10.0)
        o[np.uint64(to_move + distance)] = 1.0 if other == s.to_move else 0.0
        o[np.uint64(dealer + distance)] = 1.0 if other == s.dealer else 0.0
        other += 1
        if other == players:
            other = 0
