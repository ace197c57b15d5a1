"""Rummy and Rummy 500 – the rules, as functions over one record (``state.STATE``). # R8 is a number of RULES.md."""

import numpy as np

from card_envs.engine.game import CUT_OFF, DECIDED, GOES_ON
from card_envs.engine.bits import lowest_bit, mark_set, popcount
from card_envs.engine.jitable import register_jitable
from card_envs.engine.random import REDEAL, shuffle
from card_envs.games.deck import (
    ACE, ACES, DECK_SIZE, EMPTY, FULL_DECK, IN_SUIT, NO_CARD, NUMBERS, TENS, bit, build_deck, collect_stock, deal_hands,
    draw_card, gather_hidden, holds, replace_hidden, sum_numbers,
    without_lowest,
)  # fmt: skip
from card_envs.games.melds import (
    HIGH_ACE, PER_RANK, PER_SUIT, RUN_HIGH, RUN_LOW, fits_above, fits_below, in_melds, mark_runs, mark_sets, run_cards,
    set_cards,
)  # fmt: skip
from card_envs.games.rummy.history import forget_choices, note_choice
from card_envs.games.rummy.scoring import score_deal
from card_envs.games.rummy.state import (
    ABOVE, ACTION_DISCARD, ACTION_DRAW, ACTION_END, ACTION_LAYOFF, ACTION_RUN, ACTION_SET, ACTION_TAKE, BELOW, DECLINED,
    DISCARDED, DRAW, HAND_SIZES, IDLE_TURNS, ON_SET, PLAY, RUN, SET, SPREAD, TAKEN, UNIVERSAL,
)  # fmt: skip

# ---- points

LOW_ACE = 14  # points that a universal ace counts less where it lies lowest in a run


@register_jitable
def count_points(s, cards):
    """R20, R21: what cards count in a hand."""
    aces = popcount(cards & ACES)
    points = 10 * popcount(cards & TENS)
    if s.aces == UNIVERSAL:
        points += 15 * aces
    else:
        points += 5 * aces if s.simple else aces
    if s.simple:
        return points + 5 * popcount(cards & NUMBERS)
    return points + sum_numbers(cards)


@register_jitable
def laid_cards(action):
    """The cards that a meld or a lay-off brings to the table."""
    if action < ACTION_SET:
        return bit((action - ACTION_LAYOFF) % DECK_SIZE)
    return set_cards(action - ACTION_SET) if action < ACTION_RUN else run_cards(action - ACTION_RUN)


@register_jitable
def count_laid(s, action):
    """R22: what a meld or a lay-off scores; a universal ace counts 1 where it lies lowest in a run (R21)."""
    points = count_points(s, laid_cards(action))
    if s.aces == UNIVERSAL:
        if action >= ACTION_RUN:
            low_ace = RUN_LOW[(action - ACTION_RUN) % PER_SUIT] == ACE
        else:
            place = (action - ACTION_LAYOFF) // DECK_SIZE
            low_ace = place == BELOW and (action - ACTION_LAYOFF) % DECK_SIZE % IN_SUIT == ACE
        if low_ace:
            points -= LOW_ACE
    return points


# ---- what may be done


@register_jitable
def table_cards(s):
    """All cards in melds."""
    cards = EMPTY
    for seat in range(s.players):
        cards |= np.uint64(s.laid[seat])
    return cards


@register_jitable
def fitting_cards(s):
    """R13: all cards that fit a meld on the table."""
    return np.uint64(s.fits_set) | np.uint64(s.fits_below) | np.uint64(s.fits_above)


@register_jitable
def may_lay_off(s, seat):
    """R19: with ``limit`` only a player who has melded in this deal."""
    return not s.limit or s.has_melded[seat] == 1


@register_jitable
def playable(s, seat, cards):
    """R8: those of ``cards`` that are in some meld of them, or can be laid off."""
    can = in_melds(cards, s.aces == UNIVERSAL)
    if may_lay_off(s, seat):
        can |= cards & fitting_cards(s)
    return can


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
            if holds(playable(s, seat, cards), card):
                mask[ACTION_TAKE + card] = 1


@register_jitable
def mask_layoffs(s, hand, last, mask):
    """R13, R14: each card in each place; ``last`` is a card that may not be left over alone without a place (R7)."""
    universal = s.aces == UNIVERSAL
    pair = last != EMPTY and popcount(hand) == 2
    left = hand & fitting_cards(s)
    while left != EMPTY:
        card = lowest_bit(left)
        left = without_lowest(left)
        suit = card // IN_SUIT
        rank = card % IN_SUIT
        stuck = pair and not holds(last, card)
        if holds(s.fits_set, card) and not stuck:
            mask[ACTION_LAYOFF + ON_SET * DECK_SIZE + card] = 1
        if holds(s.fits_below, card) and (not stuck or fits_below(suit, rank) == last):
            mask[ACTION_LAYOFF + BELOW * DECK_SIZE + card] = 1
        if holds(s.fits_above, card):
            high = HIGH_ACE if rank == ACE else rank
            if not stuck or fits_above(suit, high, universal) == last:
                mask[ACTION_LAYOFF + ABOVE * DECK_SIZE + card] = 1


@register_jitable
def action_mask(s, mask):
    """Set the legal actions of the seat to move in ``mask``, which is all zero."""
    seat = s.to_move
    if s.phase == DRAW:  # R5
        mask_takes(s, seat, mask)
        mask[ACTION_DRAW if s.drawn < s.deck_size else ACTION_END] = 1  # R9
        return
    hand = np.uint64(s.hands[seat])
    last = EMPTY  # the card that R7 does not allow to be left over alone
    if s.taken != NO_CARD and not holds(fitting_cards(s), s.taken):
        last = bit(s.taken)
    if s.must == NO_CARD:
        needed = EMPTY
        usable = hand
        mark_set(mask, ACTION_DISCARD, hand if s.taken == NO_CARD else hand & ~bit(s.taken), DECK_SIZE)  # R6
    else:
        needed = bit(s.must)  # R8
        usable = needed
    if may_lay_off(s, seat):
        mask_layoffs(s, usable, last, mask)
    if not (s.limit and s.melded):  # R19
        mark_sets(hand, needed, last, mask, ACTION_SET)
        mark_runs(hand, needed, last, s.aces == UNIVERSAL, mask, ACTION_RUN)


# ---- what happens


@register_jitable
def begin_deal(s):
    """R2, R3: the hands from a newly shuffled deck, a given order on top; then one card starts the pile."""
    build_deck(s, FULL_DECK)
    deal_hands(s, HAND_SIZES[s.players])
    for seat in range(s.players):
        s.known[seat] = EMPTY
        s.laid[seat] = EMPTY
        s.points[seat] = 0
        s.has_melded[seat] = 0
    s.discards[0] = s.deck[s.drawn]
    s.drawn += 1
    s.pile_size = 1
    s.melds = 0
    s.fits_set = s.fits_below = s.fits_above = EMPTY
    s.idle = 0
    forget_choices(s)
    begin_turn(s, (s.dealer + 1) % s.players)  # R4


@register_jitable
def begin_turn(s, seat):
    s.to_move = seat
    s.phase = DRAW
    s.taken = s.must = NO_CARD
    s.melded = 0


@register_jitable
def end_deal(s):
    """The deal is over and scored."""
    for seat in range(s.players):
        s.last_laid[seat] = s.points[seat]
        s.last_caught[seat] = count_points(s, np.uint64(s.hands[seat]))
    score_deal(s)
    s.taken = s.must = NO_CARD
    s.deal_over = 1


@register_jitable
def judge_match(s):
    """R29: a total has reached the target; R10: the cap on the number of deals."""
    for seat in range(s.players):
        if s.totals[seat] >= s.target:
            return DECIDED
    return CUT_OFF if s.finished >= s.max_deals else GOES_ON


@register_jitable
def take(s, seat, card):
    """R6, R8: ``card`` and all above it go from the pile to the hand, seen by everybody."""
    lower = s.discards[s.pile_size - 1] != card
    while True:
        s.pile_size -= 1
        taken = s.discards[s.pile_size]
        s.hands[seat] = np.uint64(s.hands[seat]) | bit(taken)
        s.known[seat] = np.uint64(s.known[seat]) | bit(taken)
        note_choice(s, seat, TAKEN, taken)
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
    """Cards leave a hand; a duty that one of them brought with it is done."""
    s.hands[seat] = np.uint64(s.hands[seat]) & ~cards
    s.known[seat] = np.uint64(s.known[seat]) & ~cards
    if s.taken != NO_CARD and holds(cards, s.taken):
        s.taken = NO_CARD
    if s.must != NO_CARD and holds(cards, s.must):
        s.must = NO_CARD


@register_jitable
def lay(s, seat, action):
    """R11–R14: a meld or a lay-off; with the last card of the hand the deal is over (R17)."""
    if action < ACTION_SET:
        extend_meld(s, (action - ACTION_LAYOFF) % DECK_SIZE, (action - ACTION_LAYOFF) // DECK_SIZE)
    else:
        add_meld(s, action)
        s.melded = 1
        s.has_melded[seat] = 1
    cards = laid_cards(action)
    leave_hand(s, seat, cards)
    s.laid[seat] = np.uint64(s.laid[seat]) | cards
    s.points[seat] += count_laid(s, action)
    s.idle = 0
    find_fits(s)
    if np.uint64(s.hands[seat]) == EMPTY:
        end_deal(s)


@register_jitable
def add_meld(s, action):
    """R12: a set; R11: a run."""
    i = s.melds
    if action < ACTION_RUN:
        number = action - ACTION_SET
        s.meld_kind[i] = SET
        s.meld_of[i] = number // PER_RANK
        s.meld_low[i] = 15 & ~(1 << number % PER_RANK)  # all suits but the one that is missing, if any
        s.meld_high[i] = 0
    else:
        number = action - ACTION_RUN
        s.meld_kind[i] = RUN
        s.meld_of[i] = number // PER_SUIT
        s.meld_low[i] = RUN_LOW[number % PER_SUIT]
        s.meld_high[i] = RUN_HIGH[number % PER_SUIT]
    s.melds = i + 1


@register_jitable
def extend_meld(s, card, place):
    """R13: a card joins the set of its rank; R14: it becomes the lowest or the highest card of a run."""
    suit = card // IN_SUIT
    rank = card % IN_SUIT
    for i in range(s.melds):
        if place == ON_SET:
            if s.meld_kind[i] == SET and s.meld_of[i] == rank:
                s.meld_low[i] |= 1 << suit
        elif s.meld_kind[i] == RUN and s.meld_of[i] == suit:
            if place == BELOW:
                if s.meld_low[i] == rank + 1:
                    s.meld_low[i] = rank
            elif s.meld_high[i] + 1 == (HIGH_ACE if rank == ACE else rank):
                s.meld_high[i] += 1


@register_jitable
def find_fits(s):
    """Note which cards fit the melds on the table: at most one meld fits each card and place (R13, R14)."""
    on_set = EMPTY
    low = EMPTY
    high = EMPTY
    for i in range(s.melds):
        if s.meld_kind[i] == SET:
            for suit in range(4):
                if not (s.meld_low[i] >> suit) & 1:
                    on_set |= bit(IN_SUIT * suit + s.meld_of[i])
        else:
            low |= fits_below(s.meld_of[i], s.meld_low[i])
            high |= fits_above(s.meld_of[i], s.meld_high[i], s.aces == UNIVERSAL)
    free = ~table_cards(s)  # the ace above a run of thirteen is there already, at its other end
    s.fits_set = on_set
    s.fits_below = low & free
    s.fits_above = high & free


@register_jitable
def discard(s, seat, card):
    """R17: the turn ends; with the last card of the hand, or after too many idle turns (R10), the deal does."""
    leave_hand(s, seat, bit(card))
    note_choice(s, seat, DISCARDED, card)
    s.discards[s.pile_size] = card
    s.pile_size += 1
    if np.uint64(s.hands[seat]) == EMPTY or s.idle >= IDLE_TURNS * s.players:
        end_deal(s)
    else:
        begin_turn(s, (seat + 1) % s.players)


# ---- what the engine calls


@register_jitable
def step(s, action):
    """Play a legal action of the seat to move."""
    seat = s.to_move
    if action == ACTION_DRAW:
        draw_card(s, seat)
        note_choice(s, seat, DECLINED, s.discards[s.pile_size - 1])
        s.idle = 0
        s.phase = PLAY
    elif action == ACTION_END:  # R9
        end_deal(s)
    elif action < ACTION_DISCARD:
        take(s, seat, action - ACTION_TAKE)
    elif action < ACTION_LAYOFF:
        discard(s, seat, action - ACTION_DISCARD)
    else:
        lay(s, seat, action)


@register_jitable
def redeal(s, seat, key):
    """R30: what is not known of the other hands, and the stock, from the unseen cards, shuffled; with a new key.

    While the mover has to play a card, the cards are dealt again until the mover can play it (R8).
    """
    s.key = key
    hidden = collect_stock(s)
    for other in range(s.players):
        if other != seat:
            hidden |= np.uint64(s.hands[other]) & ~np.uint64(s.known[other])
    first = gather_hidden(s, hidden)
    number = REDEAL
    while True:
        number += 1
        shuffle(s.deck, first, s.deck_size, key, number)
        start = first
        for other in range(s.players):
            if other != seat:
                start = replace_hidden(s, other, s.known[other], start)
        if s.over or s.must == NO_CARD or holds(playable(s, s.to_move, np.uint64(s.hands[s.to_move])), s.must):
            return
