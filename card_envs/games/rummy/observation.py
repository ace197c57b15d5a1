"""What a seat sees of Rummy: its own hand, the pile in order of reach, the melds, and what the players have chosen (R30)."""

import numpy as np

from card_envs.engine.game import FieldSpec, locate_fields
from card_envs.engine.bits import FLOATS, popcount, write_set
from card_envs.engine.jitable import register_jitable
from card_envs.games.deck import ACE, DECK_SIZE, EMPTY, FULL, IN_SUIT, NO_CARD, bit
from card_envs.games.melds import HIGH_ACE
from card_envs.games.rummy.history import sort_choices
from card_envs.games.rummy.rules import fitting_cards, table_cards
from card_envs.games.rummy.state import DRAW, IDLE_TURNS, MAX_PLAYERS, OVER, SET

BYTE = np.uint64(0xFF)
HAND_SCALE = 20.0
POINTS_SCALE = 100.0
IDLE_SCALE = float(IDLE_TURNS * MAX_PLAYERS)
CARDS = (DECK_SIZE,)

FIELDS = (
    FieldSpec("hand", CARDS, "the own hand: suits c d h s, each A … K"),
    FieldSpec("unseen", CARDS, "cards in the stock or unknown in other hands"),
    FieldSpec("pile", CARDS, "cards in the pile: 1 / the number of cards that taking the card brings, so 1 for the top card"),
    FieldSpec("table", CARDS, "1 for cards that fit a meld on the table; -1/2 for its cards in runs, -1 in sets", low=-1.0),
    FieldSpec("high_aces", (4,), "aces that lie above a king: c d h s"),
    FieldSpec("duty", (2,), "a card may not be discarded in this turn, or has to be played next"),
    FieldSpec("duty_rank", (IN_SUIT,), "the rank of that card: A … K"),
    FieldSpec("duty_suit", (4,), "its suit: c d h s"),
    FieldSpec("phase", (2,), "what is being decided: draw, play"),
    FieldSpec("melded", (1,), "the mover has melded in this turn"),
    FieldSpec("idle", (1,), "idle turns in a row, of those that end the deal (R10)", IDLE_SCALE),
    FieldSpec("stock", (1,), "cards in the stock", float(DECK_SIZE)),
    FieldSpec("deal", (1,), "the deal's number", "max_deals"),
    FieldSpec(
        "past",
        ("players", DECK_SIZE),
        "what everybody has seen each do with a card: 1 it was taken and is in the hand, 1/2 it was taken and laid,"
        " -1/2 it was declined, -1 discarded",
        low=-1.0,
    ),
    FieldSpec("hand_size", ("players",), "cards in each hand", HAND_SCALE, 0.0, 2.6),
    FieldSpec("laid", ("players",), "points of the cards that each has laid in this deal", POINTS_SCALE, 0.0, 5.0),
    FieldSpec("total", ("players",), "points of the finished deals", "target", -2.0, 2.0),
    FieldSpec("has_melded", ("players",), "who has melded in this deal"),
    FieldSpec("to_move", ("players",), "who decides"),
    FieldSpec("dealer", ("players",), "who deals"),
)
FIRST, PER_PLAYER = locate_fields(FIELDS)


@register_jitable
def pile_cards(s):
    """All cards in the pile."""
    cards = EMPTY
    for i in range(s.pile_size):
        cards |= bit(s.discards[i])
    return cards


# what a card of the pile that is reached with n cards is shown as; n is never 0
REACH = (1.0 / np.maximum(np.arange(DECK_SIZE + 1), 1)).astype(np.float32)


@register_jitable
def show_pile(s, o):
    """The cards of the pile by reach."""
    for i in range(FIRST.pile, FIRST.table):
        o[i] = 0.0
    for i in range(s.pile_size):
        o[FIRST.pile + np.uint64(s.discards[i])] = REACH[s.pile_size - i]


@register_jitable
def unseen_cards(s, hand, pile):
    """To the owner of ``hand``: the cards in the stock, or in other hands and not known to be there."""
    cards = FULL & ~hand & ~pile & ~table_cards(s)
    for seat in range(s.players):
        cards &= ~np.uint64(s.known[seat])
    return cards


@register_jitable
def observe(s, seat, o):
    """Write all fields of ``FIELDS``; those of which few are not 0 are cleared first."""
    players = np.int64(s.players)
    hand = np.uint64(s.hands[seat])
    write_set(o, FIRST.hand, hand, DECK_SIZE)
    write_set(o, FIRST.unseen, unseen_cards(s, hand, pile_cards(s)), DECK_SIZE)
    show_pile(s, o)
    show_melds(s, o)
    for i in range(FIRST.duty, FIRST.melded):
        o[i] = 0.0
    if s.taken != NO_CARD:
        show_duty(0, np.int64(s.taken), o)
    elif s.must != NO_CARD:
        show_duty(1, np.int64(s.must), o)
    if s.phase != OVER:
        o[FIRST.phase + s.phase - DRAW] = 1.0
    o[FIRST.melded] = s.melded
    o[FIRST.idle] = s.idle / IDLE_SCALE
    o[FIRST.stock] = (s.deck_size - s.drawn) / float(DECK_SIZE)
    o[FIRST.deal] = s.deal / float(s.max_deals)

    hand_size = FIRST.hand_size + PER_PLAYER.hand_size * players
    laid = FIRST.laid + PER_PLAYER.laid * players
    total = FIRST.total + PER_PLAYER.total * players
    has_melded = FIRST.has_melded + PER_PLAYER.has_melded * players
    to_move = FIRST.to_move + PER_PLAYER.to_move * players
    dealer = FIRST.dealer + PER_PLAYER.dealer * players
    other = seat
    for distance in range(players):
        show_past(s, other, FIRST.past + distance * DECK_SIZE, o)
        o[np.uint64(hand_size + distance)] = popcount(np.uint64(s.hands[other])) / HAND_SCALE
        o[np.uint64(laid + distance)] = s.points[other] / POINTS_SCALE
        o[np.uint64(total + distance)] = min(max(s.totals[other] / float(s.target), -2.0), 2.0)
        o[np.uint64(has_melded + distance)] = s.has_melded[other]
        o[np.uint64(to_move + distance)] = 1.0 if other == s.to_move else 0.0
        o[np.uint64(dealer + distance)] = 1.0 if other == s.dealer else 0.0
        other += 1
        if other == players:
            other = 0


@register_jitable
def show_duty(duty, card, o):
    """The card that may not be discarded, or has to be played."""
    o[FIRST.duty + duty] = 1.0
    o[FIRST.duty_rank + card % IN_SUIT] = 1.0
    o[FIRST.duty_suit + card // IN_SUIT] = 1.0


HALVES = 0.5 * FLOATS


@register_jitable
def show_past(s, seat, first, o):
    """What a player has chosen, in the places from ``first`` on: each set of cards that holds a card adds or takes a half."""
    discarded, declined, taken = sort_choices(s, seat)
    known = np.uint64(s.known[seat])  # those of the cards taken that are in the hand
    dropped = discarded | declined
    for i in range(0, DECK_SIZE, 8):
        shift = np.uint64(i)
        one, two = (taken >> shift) & BYTE, (known >> shift) & BYTE
        three, four = (dropped >> shift) & BYTE, (discarded >> shift) & BYTE
        for j in range(min(8, DECK_SIZE - i)):
            o[np.uint64(first + i + j)] = HALVES[one, j] + HALVES[two, j] - HALVES[three, j] - HALVES[four, j]


@register_jitable
def show_melds(s, o):
    """The cards on the table, and those that fit them."""
    write_set(o, FIRST.table, fitting_cards(s), DECK_SIZE)
    for i in range(FIRST.high_aces, FIRST.duty):
        o[i] = 0.0
    for i in range(s.melds):
        of = s.meld_of[i]
        if s.meld_kind[i] == SET:
            for suit in range(4):
                if (s.meld_low[i] >> suit) & 1:
                    o[FIRST.table + IN_SUIT * suit + of] = -1.0
        else:
            for rank in range(s.meld_low[i], s.meld_high[i] + 1):
                o[FIRST.table + IN_SUIT * of + (ACE if rank == HIGH_ACE else rank)] = -0.5
            if s.meld_high[i] == HIGH_ACE:
                o[FIRST.high_aces + of] = 1.0
