"""Pis Yedili – the rules, as functions over one record (``state.STATE``). # P15 is a number of RULES.md."""

import numpy as np

from card_envs.engine.game import DECIDED, GOES_ON, NOBODY
from card_envs.engine.bits import mark_set, popcount
from card_envs.engine.jitable import register_jitable
from card_envs.engine.random import REDEAL, shuffle
from card_envs.games.deck import (
    ACE, CLUBS, DECK_SIZE, EIGHT, EMPTY, FULL_DECK, IN_SUIT, JACK, KING, NO_CARD, QUEEN, RANK, SEVEN, TEN, bit,
    build_deck, collect_stock, deal_hands, draw_card, gather_hidden, of_rank, of_suit, replace_hidden,
)  # fmt: skip
from card_envs.games.pis_yedili.state import (
    ACE_PHASE, ACTION_DRAW, ACTION_PASS, ACTION_SUIT, ACTION_TAKE, DRAWN, HAND_SIZE, LEAD, NO_SUIT, PROVED, SEVENS,
    SUGGESTED, SUIT_PHASE, TURN,
)  # fmt: skip
from card_envs.games.pis_yedili.shown import count_drawn, count_played, forget, note_lack

PENALTY = 3  # cards for each open seven (P14)

# ---- cards


@register_jitable
def count_rank(rank):
    """P25: the points of a card of this rank: J 25, 7 20, A 15, K and Q 10, the others their number."""
    if rank == JACK:
        return 25
    if rank == SEVEN:
        return 20
    if rank == ACE:
        return 15
    if rank == QUEEN or rank == KING:
        return 10
    return rank + 1


@register_jitable
def count_points(hand):
    """P25: the points of a hand."""
    points = 0
    for rank in range(IN_SUIT):
        points += count_rank(rank) * popcount(np.uint64(hand) & of_rank(rank))
    return points


# ---- what may be done


JACKS = RANK << np.uint64(JACK)


@register_jitable
def fits_jack(suit):
    """P11, P13: what may lie on a jack whose player has named ``suit``."""
    return of_suit(suit) & ~JACKS


@register_jitable
def fits_card(suit, rank):
    """What may lie on a card that is no jack: its suit, its rank, any jack."""
    return of_suit(suit) | of_rank(rank) | JACKS


@register_jitable
def fits_now(s):
    """All cards that whoever holds them may play now."""
    if s.phase == LEAD:  # P3, P4
        return of_suit(CLUBS)
    if s.phase == SEVENS:  # P14
        return of_rank(SEVEN)
    if s.phase == SUIT_PHASE:
        return EMPTY
    if s.phase == ACE_PHASE:  # P18
        return fits_card(s.suit, ACE)
    rank = s.top % IN_SUIT
    return fits_jack(s.suit) if rank == JACK else fits_card(s.suit, rank)


@register_jitable
def playable(s, seat):
    """The cards that ``seat`` may play now, as a set: the table of legal sets, column ``play``."""
    return np.uint64(s.hands[seat]) & fits_now(s)


@register_jitable
def action_mask(s, mask):
    """Set the legal actions of the seat to move in ``mask``, which is all zero."""
    if s.phase == SUIT_PHASE:  # P12
        for suit in range(4):
            mask[ACTION_SUIT + suit] = 1
        return
    cards = playable(s, s.to_move)
    mark_set(mask, 0, cards, DECK_SIZE)
    if s.phase == SEVENS:
        mask[ACTION_TAKE] = 1
    elif s.phase == TURN:  # P7
        mask[ACTION_DRAW] = 1
    elif s.phase == LEAD:  # P4
        mask[ACTION_DRAW] = cards == EMPTY
    else:
        mask[ACTION_PASS] = 1  # P8, P9, P18
        mask[ACTION_DRAW] = s.phase == DRAWN and cards == EMPTY


# ---- what happens

# By rank, how many seats the turn passes on, and what the direction is multiplied by. These are tables because a processor that
# has to guess which rank is played guesses wrongly.
ADVANCE = np.ones(IN_SUIT, np.int8)
ADVANCE[[JACK, ACE, EIGHT]] = 0, 0, 2  # P12, P18, P20
REVERSE = np.ones(IN_SUIT, np.int8)
REVERSE[TEN] = -1  # P21


@register_jitable
def begin_deal(s):
    """P19: seven cards each from a newly shuffled deck, a given order on top."""
    build_deck(s, FULL_DECK)
    deal_hands(s, HAND_SIZE)
    forget(s)
    s.pile_size = 0
    s.seen = EMPTY
    s.top = NO_CARD
    s.suit = NO_SUIT
    s.sevens = 0
    s.direction = 1  # P22
    s.to_move = (s.dealer + 1) % s.players  # P2
    s.phase = LEAD
    s.lap = s.players if s.club_lap else 1  # P3, P6


@register_jitable
def end_deal(s, factor, winners_sum):
    """P25, P24: players whose hand counts ``winners_sum`` score 0, the others ``factor`` times their hand."""
    for seat in range(s.players):
        points = count_points(s.hands[seat])
        s.scores[seat] = 0 if points == winners_sum else factor * points
    s.sevens = 0
    s.suit = NO_SUIT
    s.deal_over = 1


@register_jitable
def judge_match(s):
    """P27: a match is a number of deals."""
    return DECIDED if s.finished >= s.deals else GOES_ON


@register_jitable
def go_out(s, seat, card):
    """P23: a hand is empty; after a last 7 the points count three times, after a last jack twice."""
    rank = card % IN_SUIT
    s.last_out = seat
    s.last_card = card
    end_deal(s, 3 if rank == SEVEN else 2 if rank == JACK else 1, 0)


@register_jitable
def run_out(s):
    """P24: the stock is empty; the lowest hand wins, or several if they are equally low."""
    s.last_out = NOBODY
    s.last_card = NO_CARD
    lowest = count_points(s.hands[0])
    for seat in range(1, s.players):
        lowest = min(lowest, count_points(s.hands[seat]))
    end_deal(s, 1, lowest)


@register_jitable
def draw(s, seat):
    """Draw one card from the stock; returns whether it was the last (P24)."""
    draw_card(s, seat)
    count_drawn(s, seat)
    return s.drawn == s.deck_size


@register_jitable
def pass_on(s, seats):
    """The turn passes on by ``seats`` seats."""
    seat = s.to_move + s.direction * seats
    seat = seat + s.players if seat < 0 else seat
    s.to_move = seat - s.players if seat >= s.players else seat
    s.phase = SEVENS if s.sevens > 0 else TURN


@register_jitable
def play(s, card):
    """A card goes from the mover's hand to the pile, and has its effect."""
    seat = s.to_move
    rank = card % IN_SUIT
    s.hands[seat] = np.uint64(s.hands[seat]) & ~bit(card)
    count_played(s, seat, card)
    s.seen = np.uint64(s.seen) | bit(card)
    s.pile[s.pile_size] = card
    s.pile_size += 1
    s.top = card
    s.suit = card // IN_SUIT
    if np.uint64(s.hands[seat]) == EMPTY:
        go_out(s, seat, card)
    elif s.phase == LEAD:  # P5: no effect
        s.lap -= 1
        pass_on(s, 1)
        if s.lap > 0:
            s.phase = LEAD
    else:
        s.sevens += rank == SEVEN  # P14
        s.direction *= REVERSE[rank]  # P21
        s.suit = NO_SUIT if rank == JACK else s.suit  # P12
        pass_on(s, ADVANCE[rank])  # P12, P18, P20
        s.phase = SUIT_PHASE if rank == JACK else ACE_PHASE if rank == ACE else s.phase


@register_jitable
def take_penalty(s):
    """P14–P16: three cards for each open seven; P17: as many as the stock has."""
    for _ in range(PENALTY * s.sevens):
        if draw(s, s.to_move):
            run_out(s)
            return
    s.sevens = 0
    if s.penalty_keeps_turn:  # P15
        s.phase = DRAWN
    else:
        pass_on(s, 1)


# ---- what the engine calls


@register_jitable
def step(s, action):
    """Play a legal action of the seat to move."""
    if ACTION_DRAW <= action < ACTION_SUIT:  # P29
        forced = action == ACTION_DRAW and s.phase != TURN  # P4, P8
        note_lack(s, PROVED if forced else SUGGESTED, s.to_move, fits_now(s))
    if action < ACTION_DRAW:
        play(s, action)
    elif action == ACTION_DRAW:
        if draw(s, s.to_move):
            run_out(s)
        elif s.phase == TURN:
            s.phase = DRAWN
    elif action == ACTION_TAKE:
        take_penalty(s)
    elif action == ACTION_PASS:
        pass_on(s, 1)
    else:
        s.suit = action - ACTION_SUIT
        pass_on(s, 1)


@register_jitable
def redeal(s, seat, key):
    """P29: the other hands, which keep their sizes, and the stock, from the unseen cards, shuffled; with a new key."""
    s.key = key
    hidden = collect_stock(s)
    for other in range(s.players):
        if other != seat:
            hidden |= np.uint64(s.hands[other])
    start = gather_hidden(s, hidden)
    shuffle(s.deck, start, s.deck_size, key, REDEAL)
    for other in range(s.players):
        if other != seat:
            start = replace_hidden(s, other, EMPTY, start)
