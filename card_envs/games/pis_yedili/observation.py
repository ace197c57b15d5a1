"""What a seat sees of Pis Yedili: its own hand, the pile, the sizes of other hands, and what choices show of them (P29)."""

import numpy as np

from card_envs.engine.game import NOBODY, FieldSpec, locate_fields
from card_envs.engine.bits import copy_pairs, popcount, tabulate_pairs, write_difference
from card_envs.engine.jitable import register_jitable
from card_envs.games.deck import DECK_SIZE, IN_SUIT, JACK, NO_CARD, bit
from card_envs.games.pis_yedili.state import GROUPS, NO_SUIT, OVER, PROVED, SUGGESTED
from card_envs.games.pis_yedili.tactics import find_unseen

POINTS_SCALE = 100.0
HAND_SCALE = 20.0
SEVENS_SCALE = 4.0
SHOWN_SCALE = 3.0
SHOWN = GROUPS - 1  # all groups but the jacks, which nearly always go with another rank

MEANING = (
    "groups of cards that each other seat lacked, by what it chose: the ranks A … K but J, then the suits c d h s without their"
    " jacks. 2 stands for proved, 1 for suggested, 3 for both, 0 for neither. Who lacks a rank but 7 lacks jacks too."
)
DRAWN = (
    "cards that each other seat has drawn since it lacked what is proved, and what is suggested, less those played out of it"
)

FIELDS = (
    FieldSpec("cards", (DECK_SIZE,), "1 in the own hand, -1 unseen, 0 in the pile: suits c d h s, each A … K", 1.0, -1.0),
    FieldSpec("top", (IN_SUIT,), "the rank of the top card of the pile: A … K"),
    FieldSpec("suit", (4,), "the suit to be followed: c d h s"),
    FieldSpec("phase", (6,), "what is being decided: lead, turn, drawn, sevens, suit, ace"),
    FieldSpec("sevens", (1,), "open sevens", SEVENS_SCALE),
    FieldSpec("direction", (1,), "1 clockwise, -1 counter-clockwise", 1.0, -1.0),
    FieldSpec("stock", (1,), "cards in the stock", float(DECK_SIZE)),
    FieldSpec("deal", (1,), "the deal's number", "deals"),
    FieldSpec("lap", (1,), "first turns that must be a club and are still to come, this one included", "players"),
    FieldSpec("shown", ("others", SHOWN), MEANING, SHOWN_SCALE),
    FieldSpec("shown_drawn", ("others", 2), DRAWN, HAND_SCALE, 0.0, 2.2),
    FieldSpec("hand_size", ("players",), "cards in each hand", HAND_SCALE, 0.0, 2.2),
    FieldSpec("total", ("players",), "penalty points of the finished deals", POINTS_SCALE, 0.0, 10.0),
    FieldSpec("to_move", ("players",), "who decides"),
    FieldSpec("dealer", ("players",), "who deals"),
)
FIRST, PER_PLAYER = locate_fields(FIELDS)
SIZES = (np.arange(DECK_SIZE + 1) / HAND_SCALE).astype(np.float32)  # a number of cards of a hand as it is shown
THIRDS = tabulate_pairs(2.0 / SHOWN_SCALE, 1.0 / SHOWN_SCALE)
_BELOW_JACK = bit(JACK) - np.uint64(1)


@register_jitable
def find_distance(seat, other, players):
    """How many seats after ``seat`` the ``other`` sits, clockwise."""
    return other - seat if other >= seat else other - seat + players


@register_jitable
def drop_jack(groups):
    """The flags of all groups but the jacks."""
    groups = np.uint64(groups)
    return (groups & _BELOW_JACK) | ((groups >> np.uint64(1)) & ~_BELOW_JACK)


@register_jitable
def observe(s, seat, o):
    """Write all fields of ``FIELDS``: first zeros where flags are, then what is not zero."""
    players = np.int64(s.players)
    hand = np.uint64(s.hands[seat])
    write_difference(o, FIRST.cards, hand, find_unseen(s, hand), DECK_SIZE)
    for i in range(FIRST.top, FIRST.shown):
        o[i] = 0.0
    if s.top != NO_CARD:
        o[FIRST.top + s.top % IN_SUIT] = 1.0
    if s.suit != NO_SUIT:
        o[FIRST.suit + s.suit] = 1.0
    if s.phase != OVER:
        o[FIRST.phase + s.phase] = 1.0
    o[FIRST.sevens] = s.sevens / SEVENS_SCALE
    o[FIRST.direction] = s.direction
    o[FIRST.stock] = (s.deck_size - s.drawn) * (1.0 / DECK_SIZE)
    o[FIRST.deal] = s.deal / float(s.deals)
    o[FIRST.lap] = s.lap / float(players)
    shown_drawn = FIRST.shown_drawn + PER_PLAYER.shown_drawn * players
    hand_size = FIRST.hand_size + PER_PLAYER.hand_size * players
    total = FIRST.total + PER_PLAYER.total * players
    to_move = FIRST.to_move + PER_PLAYER.to_move * players
    dealer = FIRST.dealer + PER_PLAYER.dealer * players
    for distance in range(players - 1):
        other = seat + distance + 1
        other = other if other < players else other - players
        proved, suggested = drop_jack(s.lacks[PROVED, other]), drop_jack(s.lacks[SUGGESTED, other])
        copy_pairs(THIRDS, o, FIRST.shown + distance * SHOWN, proved, suggested, SHOWN)
    for distance in range(players - 1):
        other = seat + distance + 1
        other = other if other < players else other - players
        o[np.uint64(shown_drawn + 2 * distance)] = SIZES[s.drawn_since[PROVED, other]]
        o[np.uint64(shown_drawn + 2 * distance + 1)] = SIZES[s.drawn_since[SUGGESTED, other]]
    for distance in range(players):
        other = seat + distance
        other = other if other < players else other - players
        o[np.uint64(hand_size + distance)] = SIZES[popcount(np.uint64(s.hands[other]))]
        o[np.uint64(total + distance)] = min(s.totals[other] * (1.0 / POINTS_SCALE), 10.0)
        o[np.uint64(to_move + distance)] = 0.0
        o[np.uint64(dealer + distance)] = 0.0
    if s.to_move != NOBODY:
        o[to_move + find_distance(seat, s.to_move, players)] = 1.0
    o[dealer + find_distance(seat, s.dealer, players)] = 1.0
