"""Rummy and Rummy 500 – the rules, as functions over one record (``state.STATE``). # R8 is a number of RULES.md."""

import numpy as np
from numba.extending import register_jitable

from card_envs.engine.random import REDEAL, popcount, shuffle
from card_envs.games.french_deck import (
    ACE, DECK_SIZE, EMPTY, IN_SUIT, ONE, bit, build_deck, gather_hidden, holds, stock,
)  # fmt: skip
from card_envs.games.rummy.actions import (
    ABOVE, ACTION_DISCARD, ACTION_DRAW, ACTION_END, ACTION_LAYOFF, ACTION_RUN, ACTION_SET, ACTION_TAKE, ALL_FOUR, BELOW,
    HIGH_ACE, ON_SET, PER_RANK, PER_SUIT, RUN_HIGH, RUN_LOW,
)  # fmt: skip
from card_envs.games.rummy.melds import (
    add_meld, extend_above, extend_below, extend_set, find_fits, fits, in_some_meld, mask_runs, mask_sets, set_cards, span,
)  # fmt: skip
from card_envs.games.rummy.state import (
    DRAW, EACH, IDLE_TURNS, LAID, NEGATIVE, NO_CARD, NOBODY, OVER, PLAY, RUN, SET, SPREAD, UNIVERSAL,
)  # fmt: skip

# ---- values


@register_jitable
def value_of(s, card, low_in_run):
    """R20, R21: the value of a card; ``low_in_run``: it lies as the lowest of a run."""
    rank = card % IN_SUIT
    if rank == ACE:
        if s.aces == UNIVERSAL:
            return 1 if low_in_run else 15
        return 5 if s.simple else 1
    if rank >= 9:
        return 10
    return 5 if s.simple else rank + 1


@register_jitable
def sum_hand(s, seat):
    """The values of the cards in a hand."""
    hand = np.uint64(s.hands[seat])
    points = 0
    for card in range(DECK_SIZE):
        if (hand >> np.uint64(card)) & ONE:
            points += value_of(s, card, False)
    return points


# ---- what may be done


@register_jitable
def may_lay_off(s, seat):
    """R19: with ``limit`` only who has melded in this deal."""
    return not s.limit or s.has_melded[seat] == 1


@register_jitable
def mask_takes(s, seat, mask):
    """R6: the top card; R8: with ``spread`` a lower card that can be played at once."""
    top = s.pile_size - 1
    mask[ACTION_TAKE + s.discards[top]] = 1
    if s.pile == SPREAD:
        cards = np.uint64(s.hands[seat]) | bit(s.discards[top])
        for i in range(top - 1, -1, -1):
            card = s.discards[i]
            cards |= bit(card)
            if in_some_meld(s, cards, card) or (may_lay_off(s, seat) and fits(s, card)):
                mask[ACTION_TAKE + card] = 1


@register_jitable
def mask_layoffs(s, hand, alone, mask):
    """R13, R14: each card in each place; not one that leaves ``alone`` without a place (R7)."""
    pair = alone != NO_CARD and popcount(hand) == 2
    for card in range(DECK_SIZE):
        if (hand >> np.uint64(card)) & ONE:
            stuck = pair and card != alone and not fits(s, alone)
            if holds(np.uint64(s.fits_set), card) and not stuck:
                mask[ACTION_LAYOFF + ON_SET * DECK_SIZE + card] = 1
            if holds(np.uint64(s.fits_below), card) and not (stuck and not is_next(alone, card, -1)):
                mask[ACTION_LAYOFF + BELOW * DECK_SIZE + card] = 1
            if holds(np.uint64(s.fits_above), card) and not (stuck and not is_above(s, alone, card)):
                mask[ACTION_LAYOFF + ABOVE * DECK_SIZE + card] = 1


@register_jitable
def is_next(card, other, step):
    """Whether ``card`` is of the suit of ``other`` and its rank is that of ``other`` plus ``step``."""
    return card // IN_SUIT == other // IN_SUIT and card % IN_SUIT == other % IN_SUIT + step


@register_jitable
def is_above(s, card, other):
    """Whether ``card`` fits above ``other`` when that has become a run's highest: not above an ace (R11)."""
    if other % IN_SUIT == ACE:
        return False
    if other % IN_SUIT == IN_SUIT - 1:
        return s.aces == UNIVERSAL and card == other - IN_SUIT + 1
    return is_next(card, other, 1)


@register_jitable
def action_mask(s, mask):
    """Set the legal actions of the seat to move in ``mask``, which is all zero."""
    seat = s.to_move
    if s.phase == DRAW:  # R5
        mask_takes(s, seat, mask)
        mask[ACTION_DRAW if s.drawn < s.deck_size else ACTION_END] = 1  # R9
        return
    hand = np.uint64(s.hands[seat])
    needed = EMPTY if s.must == NO_CARD else bit(s.must)  # R8
    if not (s.limit and s.melded):  # R19
        mask_sets(s, hand, needed, s.taken, mask)
        mask_runs(s, hand, needed, s.taken, mask)
    if may_lay_off(s, seat):
        mask_layoffs(s, hand if s.must == NO_CARD else needed, s.taken, mask)
    if s.must == NO_CARD:
        for card in range(DECK_SIZE):
            if (hand >> np.uint64(card)) & ONE and card != s.taken:  # R6
                mask[ACTION_DISCARD + card] = 1


# ---- what happens


@register_jitable
def begin_deal(s):
    """R2, R3: a newly shuffled deck, a given order on top; the hands one card at a time, then one card starts the pile."""
    build_deck(s)
    for seat in range(s.players):
        s.hands[seat] = EMPTY
        s.known[seat] = EMPTY
        s.laid[seat] = EMPTY
        s.points[seat] = 0
        s.has_melded[seat] = 0
    leader = (s.dealer + 1) % s.players
    size = 13 if s.players == 2 else 7
    for _ in range(size):
        for distance in range(s.players):
            seat = (leader + distance) % s.players
            s.hands[seat] = np.uint64(s.hands[seat]) | bit(s.deck[s.drawn])
            s.drawn += 1
    s.discards[0] = s.deck[s.drawn]
    s.drawn += 1
    s.pile_size = 1
    s.melds = 0
    s.fits_set = EMPTY
    s.fits_below = EMPTY
    s.fits_above = EMPTY
    s.idle = 0
    begin_turn(s, leader)  # R4


@register_jitable
def begin_turn(s, seat):
    s.to_move = seat
    s.phase = DRAW
    s.taken = NO_CARD
    s.must = NO_CARD
    s.melded = 0


@register_jitable
def end_deal(s):
    """R22–R29: score; then the match is over or the next deal begins."""
    for seat in range(s.players):
        s.last_laid[seat] = s.points[seat]
        s.last_caught[seat] = sum_hand(s, seat)
    if s.scoring == LAID:  # R22, R23
        for seat in range(s.players):
            s.scores[seat] = s.last_laid[seat] - s.last_caught[seat]
    elif s.scoring == NEGATIVE:  # R28
        for seat in range(s.players):
            s.scores[seat] = s.last_caught[seat]
    else:
        score_positive(s)
    best = -2147483648
    for seat in range(s.players):
        s.totals[seat] += s.scores[seat]
        best = max(best, s.totals[seat])
    s.finished += 1
    if best >= s.target or s.single_deal or s.finished == s.max_deals:
        s.truncated = best < s.target and not s.single_deal  # R10
        s.over = 1
        s.phase = OVER
        s.to_move = NOBODY
        s.taken = NO_CARD
        s.must = NO_CARD
    else:
        s.deal += 1
        s.dealer = (s.dealer + 1) % s.players
        begin_deal(s)


@register_jitable
def score_positive(s):
    """R24–R26: the lowest hands share the others' hands, less their own; R24 is the case of an empty hand."""
    lowest = s.last_caught[0]
    for seat in range(1, s.players):
        lowest = min(lowest, s.last_caught[seat])
    pool = 0
    winners = 0
    for seat in range(s.players):
        points = s.last_caught[seat]
        if points == lowest:
            winners += 1
        elif s.settle == EACH:
            pool += points - lowest
        else:
            pool += points
    if winners == s.players:
        pool = 0
    elif s.settle != EACH:
        pool -= lowest
    for seat in range(s.players):
        s.scores[seat] = pool // winners if s.last_caught[seat] == lowest else 0


@register_jitable
def take(s, seat, card):
    """R6, R8: ``card`` and all above it go from the pile to the hand, seen by everybody."""
    lower = s.discards[s.pile_size - 1] != card
    while True:
        s.pile_size -= 1
        taken = s.discards[s.pile_size]
        s.hands[seat] = np.uint64(s.hands[seat]) | bit(taken)
        s.known[seat] = np.uint64(s.known[seat]) | bit(taken)
        if taken == card:
            break
    if lower:
        s.must = card
    else:
        s.taken = card
        s.idle += 1  # R10
    s.phase = PLAY


@register_jitable
def leave_hand(s, seat, cards):
    """Cards leave a hand; what was to be done with them is done."""
    s.hands[seat] = np.uint64(s.hands[seat]) & ~cards
    s.known[seat] = np.uint64(s.known[seat]) & ~cards
    if s.taken != NO_CARD and holds(cards, s.taken):
        s.taken = NO_CARD
    if s.must != NO_CARD and holds(cards, s.must):
        s.must = NO_CARD


@register_jitable
def lay(s, seat, cards, points):
    """Cards of a hand come to the table; with the last one the deal is over (R17)."""
    leave_hand(s, seat, cards)
    s.laid[seat] = np.uint64(s.laid[seat]) | cards
    s.points[seat] += points
    s.idle = 0
    find_fits(s)
    if np.uint64(s.hands[seat]) == EMPTY:
        end_deal(s)


@register_jitable
def meld_set(s, seat, index):
    """R12: three or four of a rank."""
    rank = index // PER_RANK
    missing = index % PER_RANK
    cards = set_cards(index)
    add_meld(s, SET, rank, 15 if missing == ALL_FOUR else 15 - (1 << missing), 0)
    s.melded = 1
    s.has_melded[seat] = 1
    lay(s, seat, cards, popcount(cards) * value_of(s, rank, False))


@register_jitable
def meld_run(s, seat, index):
    """R11: three or more consecutive cards of a suit."""
    suit = index // PER_SUIT
    low = np.int64(RUN_LOW[index % PER_SUIT])
    high = np.int64(RUN_HIGH[index % PER_SUIT])
    points = 0
    for rank in range(low, high + 1):
        points += value_of(s, ACE if rank == HIGH_ACE else rank, rank == low)
    add_meld(s, RUN, suit, low, high)
    s.melded = 1
    s.has_melded[seat] = 1
    lay(s, seat, span(suit, low, high), points)


@register_jitable
def lay_off(s, seat, card, place):
    """R13, R14: one card on anybody's meld."""
    if place == ON_SET:
        extend_set(s, card)
    elif place == BELOW:
        extend_below(s, card)
    else:
        extend_above(s, card)
    lay(s, seat, bit(card), value_of(s, card, place == BELOW))


@register_jitable
def discard(s, seat, card):
    """R17: the turn ends; with the last card of the hand, or after too many idle turns (R10), the deal does."""
    leave_hand(s, seat, bit(card))
    s.discards[s.pile_size] = card
    s.pile_size += 1
    if np.uint64(s.hands[seat]) == EMPTY or s.idle == IDLE_TURNS * s.players:
        end_deal(s)
    else:
        begin_turn(s, (seat + 1) % s.players)


# ---- what the engine calls


@register_jitable
def init(s):
    """Deal the first deal; the options, the key and a given order are already in ``s``."""
    s.deal = 1
    s.dealer = s.players - 1
    begin_deal(s)


@register_jitable
def step(s, action):
    """Play a legal action of the seat to move, and go on to the next decision."""
    seat = s.to_move
    if action == ACTION_DRAW:
        s.hands[seat] = np.uint64(s.hands[seat]) | bit(s.deck[s.drawn])
        s.drawn += 1
        s.idle = 0
        s.phase = PLAY
    elif action == ACTION_END:  # R9
        end_deal(s)
    elif action < ACTION_DISCARD:
        take(s, seat, action - ACTION_TAKE)
    elif action < ACTION_LAYOFF:
        discard(s, seat, action - ACTION_DISCARD)
    elif action < ACTION_SET:
        lay_off(s, seat, (action - ACTION_LAYOFF) % DECK_SIZE, (action - ACTION_LAYOFF) // DECK_SIZE)
    elif action < ACTION_RUN:
        meld_set(s, seat, action - ACTION_SET)
    else:
        meld_run(s, seat, action - ACTION_RUN)


@register_jitable
def redeal(s, seat, key):
    """R30: the unseen cards, shuffled, over the other hands, beside what is known of them, and the stock; with a new key.

    While the mover has to play a card it is dealt again until he can.
    """
    s.key = key
    hidden = stock(s)
    for other in range(s.players):
        if other != seat:
            hidden |= np.uint64(s.hands[other]) & ~np.uint64(s.known[other])
    first = gather_hidden(s, hidden)
    number = REDEAL
    while True:
        number += 1
        shuffle(s.deck, first, s.deck_size, key, number)
        i = first
        for other in range(s.players):
            if other != seat:
                size = popcount(np.uint64(s.hands[other]) & ~np.uint64(s.known[other]))
                s.hands[other] = s.known[other]
                for _ in range(size):
                    s.hands[other] = np.uint64(s.hands[other]) | bit(s.deck[i])
                    i += 1
        if s.over or s.must == NO_CARD or can_play(s, s.to_move, s.must):
            return


@register_jitable
def can_play(s, seat, card):
    """R8: whether ``seat`` can play ``card`` at once."""
    return in_some_meld(s, np.uint64(s.hands[seat]), card) or (may_lay_off(s, seat) and fits(s, card))
