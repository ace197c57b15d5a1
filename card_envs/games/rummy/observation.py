"""What a seat sees of Rummy: its own hand, the pile in order of reach, the melds, what is known of other hands (R30)."""

import numpy as np

from card_envs.engine.game import FieldSpec, locate_fields
from card_envs.engine.bits import popcount, write_set
from card_envs.engine.jitable import register_jitable
from card_envs.games.deck import ACE, DECK_SIZE, EMPTY, FULL, IN_SUIT, NO_CARD, bit
from card_envs.games.melds import HIGH_ACE
from card_envs.games.rummy.rules import table_cards
from card_envs.games.rummy.state import DRAW, IDLE_TURNS, MAX_PLAYERS, OVER, SET

HAND_SCALE = 20.0
POINTS_SCALE = 100.0
IDLE_SCALE = float(IDLE_TURNS * MAX_PLAYERS)
CARDS = (DECK_SIZE,)

FIELDS = (
    FieldSpec("hand", CARDS, "the own hand: suits c d h s, each A … K"),
    FieldSpec("unseen", CARDS, "cards in the stock or unknown in other hands"),
    FieldSpec("pile", CARDS, "cards in the pile by reach: what taking the card brings, 1 the top card alone", float(DECK_SIZE)),
    FieldSpec("top", CARDS, "the top card of the pile"),
    FieldSpec("sets", CARDS, "cards in sets on the table"),
    FieldSpec("runs", CARDS, "cards in runs on the table"),
    FieldSpec("high_aces", (4,), "aces that lie above a king: c d h s"),
    FieldSpec("fits_set", CARDS, "cards that can be laid off on a set"),
    FieldSpec("fits_below", CARDS, "cards that can be laid off below a run"),
    FieldSpec("fits_above", CARDS, "cards that can be laid off above a run"),
    FieldSpec("taken", CARDS, "the card that may not be discarded in this turn"),
    FieldSpec("must", CARDS, "the card that has to be played next"),
    FieldSpec("phase", (2,), "what is being decided: draw, play"),
    FieldSpec("melded", (1,), "the mover has melded in this turn"),
    FieldSpec("idle", (1,), "idle turns in a row, of those that end the deal (R10)", IDLE_SCALE),
    FieldSpec("stock", (1,), "cards in the stock", float(DECK_SIZE)),
    FieldSpec("deal", (1,), "the deal's number", "max_deals"),
    FieldSpec("known", ("players", DECK_SIZE), "cards that everybody knows to be in each hand"),
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


# what a card of the pile that is reached with n cards is shown as
REACH = (np.arange(DECK_SIZE + 1) / DECK_SIZE).astype(np.float32)


@register_jitable
def show_pile(s, o):
    """The cards of the pile by reach, and the top one."""
    for i in range(FIRST.pile, FIRST.sets):
        o[i] = 0.0
    for i in range(s.pile_size):
        o[FIRST.pile + np.uint64(s.discards[i])] = REACH[s.pile_size - i]
    if s.pile_size > 0:
        o[FIRST.top + np.uint64(s.discards[s.pile_size - 1])] = 1.0


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
    for i in range(FIRST.taken, FIRST.melded):
        o[i] = 0.0
    if s.taken != NO_CARD:
        o[FIRST.taken + np.uint64(s.taken)] = 1.0
    if s.must != NO_CARD:
        o[FIRST.must + np.uint64(s.must)] = 1.0
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
        write_set(o, FIRST.known + distance * DECK_SIZE, np.uint64(s.known[other]), DECK_SIZE)
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
def show_melds(s, o):
    """The cards on the table, and what fits them."""
    for i in range(FIRST.sets, FIRST.fits_set):
        o[i] = 0.0
    write_set(o, FIRST.fits_set, np.uint64(s.fits_set), DECK_SIZE)
    write_set(o, FIRST.fits_below, np.uint64(s.fits_below), DECK_SIZE)
    write_set(o, FIRST.fits_above, np.uint64(s.fits_above), DECK_SIZE)
    for i in range(s.melds):
        of = s.meld_of[i]
        if s.meld_kind[i] == SET:
            for suit in range(4):
                if (s.meld_low[i] >> suit) & 1:
                    o[FIRST.sets + IN_SUIT * suit + of] = 1.0
        else:
            for rank in range(s.meld_low[i], s.meld_high[i] + 1):
                o[FIRST.runs + IN_SUIT * of + (ACE if rank == HIGH_ACE else rank)] = 1.0
            if s.meld_high[i] == HIGH_ACE:
                o[FIRST.high_aces + of] = 1.0
