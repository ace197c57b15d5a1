"""How the features of Rummy's actions are computed. What they mean stands in ``feature_fields.py``."""

import numpy as np

from card_envs.engine.bits import lowest_bit, popcount
from card_envs.engine.jitable import register_jitable
from card_envs.games.deck import (
    ACES, DECK_SIZE, EMPTY, IN_SUIT, NO_CARD, RANK, SUIT, bit, count_fewest, holds, of_rank, without_lowest,
)  # fmt: skip
from card_envs.games.figures import copy_first, write_few
from card_envs.games.melds import above, below, in_melds, outs
from card_envs.games.rummy.best import BEST, appraise, find_best
from card_envs.games.rummy.feature_fields import (
    ACTION_FIELDS, DISCARD_KIND, DRAW_KIND, END_KIND, FAR, FIRST, LAYOFF_KIND, LIMIT, RUN_KIND, SET_KIND, TAKE_KIND,
    UNSEEN_WEIGHT,
)  # fmt: skip
from card_envs.games.rummy.history import sort_choices
from card_envs.games.rummy.observation import pile_cards, unseen_cards
from card_envs.games.rummy.rules import count_laid, count_points, fitting_cards, laid_cards, may_lay_off, playable
from card_envs.games.rummy.state import (
    ACTION_DISCARD, ACTION_END, ACTION_LAYOFF, ACTION_RUN, ACTION_SET, ACTION_TAKE, DECLINED, DISCARDED, IDLE_TURNS, MAX_MELDS,
    MAX_PLAYERS, SPREAD, UNIVERSAL,
)  # fmt: skip
from card_envs.games.rummy.tactics import find_fits_after, nearness_to, reachable_pile

__all__ = ["ACTION_FIELDS", "action_features"]

_SUIT_1, _SUIT_2, _SUIT_3 = (np.uint64(suit * IN_SUIT) for suit in (1, 2, 3))


@register_jitable
def write_decision(s, seat, hand, can, unseen, f):
    """The fields before ``next_size``."""
    players = np.int64(s.players)
    stock = np.int64(s.deck_size) - s.drawn
    f[FIRST.players] = players / float(MAX_PLAYERS)
    f[FIRST.phase + s.phase] = 1.0
    f[FIRST.options] = 1.0 if s.aces == UNIVERSAL else 0.0
    f[FIRST.options + 1] = 1.0 if s.pile == SPREAD else 0.0
    f[FIRST.options + 2] = s.limit
    f[FIRST.scoring + s.scoring] = 1.0
    f[FIRST.stock] = stock / float(DECK_SIZE)
    f[FIRST.late] = players / float(players + stock)
    f[FIRST.pile] = s.pile_size / float(DECK_SIZE)
    f[FIRST.idle] = s.idle / float(IDLE_TURNS * players)
    f[FIRST.melds] = s.melds / float(MAX_MELDS)
    fits = fitting_cards(s)
    f[FIRST.unseen_fits] = popcount(fits & unseen) / 10.0
    f[FIRST.hand_size] = popcount(hand) / 10.0
    f[FIRST.hand_points] = count_points(s, hand) / 50.0
    f[FIRST.hand_loose] = popcount(hand & ~can) / 10.0
    f[FIRST.hand_loose_points] = count_points(s, hand & ~can) / 50.0
    f[FIRST.hand_plays] = 1.0 if in_melds(hand, s.aces == UNIVERSAL) != EMPTY else 0.0
    f[FIRST.hand_plays + 1] = 1.0 if may_lay_off(s, seat) and hand & fits != EMPTY else 0.0
    f[FIRST.has_laid] = 1.0 if np.uint64(s.laid[seat]) != EMPTY else 0.0
    f[FIRST.has_laid + 1] = 1.0 if np.uint64(s.laid[(seat + 1) % players]) != EMPTY else 0.0
    f[FIRST.melded] = s.melded


@register_jitable
def write_others(s, seat, unseen, known, size, past, f):
    """The fields from ``next_size`` to ``next_past_size``, of a next player with ``size`` cards of which some are ``known``."""
    f[FIRST.next_size] = size / 10.0
    f[FIRST.next_inverse] = 1.0 / size
    write_few(f, FIRST.next_few, size)
    points = count_points(s, known)
    hidden = (size - popcount(known)) / float(max(1, popcount(unseen)))
    f[FIRST.next_known] = popcount(known) / 10.0
    f[FIRST.next_known_points] = points / 50.0
    f[FIRST.next_points] = (points + hidden * count_points(s, unseen)) / 50.0
    f[FIRST.next_waiting] = popcount(known & in_melds(known | unseen, s.aces == UNIVERSAL)) / 10.0
    fewest = count_fewest(s, seat)
    f[FIRST.fewest_size] = fewest / 10.0
    f[FIRST.fewest_inverse] = 1.0 / fewest
    write_few(f, FIRST.fewest_few, fewest)
    for choice in range(len(past)):
        f[FIRST.next_past_size + choice] = popcount(past[choice]) / 10.0


@register_jitable
def taken_cards(s, action):
    """The cards that an action takes from the pile (R6, R8); none if it is no take."""
    cards = EMPTY
    if ACTION_TAKE <= action < ACTION_DISCARD:
        i = s.pile_size - 1
        while s.discards[i] != action - ACTION_TAKE:
            cards |= bit(s.discards[i])
            i -= 1
        cards |= bit(action - ACTION_TAKE)
    return cards


@register_jitable
def card_of(action):
    """The card that an action takes, discards or lays off; NO_CARD if there is none."""
    if action < ACTION_TAKE or action >= ACTION_SET:
        return NO_CARD
    return (action - ACTION_TAKE) % DECK_SIZE


@register_jitable
def write_kind(s, rest, taken, laid, action, f):
    """The fields from ``kind`` to ``laid_points``."""
    kind = DRAW_KIND
    ends = rest == EMPTY  # R17
    if action >= ACTION_LAYOFF:
        kind = LAYOFF_KIND if action < ACTION_SET else SET_KIND if action < ACTION_RUN else RUN_KIND
        f[FIRST.laid] = popcount(laid) / 4.0
        f[FIRST.laid_points] = count_laid(s, action) / 30.0
    elif action >= ACTION_DISCARD:
        kind = DISCARD_KIND
        ends = ends or s.idle >= IDLE_TURNS * s.players  # R10
    elif action >= ACTION_TAKE:
        kind = TAKE_KIND
        f[FIRST.taken] = popcount(taken) / 10.0
    elif action == ACTION_END:
        kind = END_KIND
        ends = True  # R9
    f[FIRST.kind + kind] = 1.0
    f[FIRST.ends] = 1.0 if ends else 0.0


@register_jitable
def find_mates(card, universal):
    """The cards of the same rank as a card, beside it in its suit, and one further."""
    one = bit(card)
    up = above(one, universal)
    down = below(one, universal)
    second = above(up & ~ACES, universal) | below(down & ~ACES, universal)  # no run goes around the corner
    return of_rank(card % IN_SUIT) & ~one, up | down, second


@register_jitable
def write_mates(cards, mates, beside, second, f, first):
    """How many of ``cards`` are of the same rank as a card, beside it in its suit, one further."""
    f[first] = popcount(cards & mates) / 2.0
    f[first + 1] = popcount(cards & beside) / 2.0
    f[first + 2] = popcount(cards & second) / 2.0


@register_jitable
def close_cards(cards, universal):
    """The cards of the same rank as one of ``cards``, or beside one in its suit."""
    ranks = (cards | (cards >> _SUIT_1) | (cards >> _SUIT_2) | (cards >> _SUIT_3)) & SUIT
    return (ranks * RANK) | above(cards, universal) | below(cards, universal)


@register_jitable
def join_choices(s, seat):
    """The cards that any player but ``seat`` discarded, declined, took."""
    discarded = declined = taken = EMPTY
    for other in range(s.players):
        if other != seat:
            one, two, three = sort_choices(s, other)
            discarded |= one
            declined |= two
            taken |= three
    return discarded, declined, taken


@register_jitable
def write_past(s, within, unseen, wanted, known, size, past, others, card, f):
    """The fields from ``next_choice`` to ``feed_wanted``."""
    universal = s.aces == UNIVERSAL
    f[FIRST.next_choice] = 1.0 if holds(past[DISCARDED], card) else 0.0
    f[FIRST.next_choice + 1] = 1.0 if holds(past[DECLINED], card) else 0.0
    mates, beside, second = find_mates(card, universal)
    for choice in range(len(past)):
        write_mates(past[choice], mates, beside, second, f, FIRST.next_past + 3 * choice)
        write_mates(others[choice], mates, beside, second, f, FIRST.others_past + 3 * choice)
    low, high = np.uint64(s.fits_below) & ~ACES, np.uint64(s.fits_above) & ~ACES  # nothing fits beyond an ace
    likely = (size - popcount(known)) / float(max(1, popcount(unseen)))
    f[FIRST.feed_wanted] = nearness_to(universal, low, high, card, known, within, wanted, 1.0, likely) / 3.0


@register_jitable
def write_card(s, cards, then, within, unseen, known, size, card, f):
    """The fields from ``rank`` to ``unseen_mates`` for a card of the hand ``cards``, of which ``then`` can be played."""
    universal = s.aces == UNIVERSAL
    one = bit(card)
    f[FIRST.rank + card % IN_SUIT] = 1.0
    f[FIRST.points] = count_points(s, one) / 10.0
    f[FIRST.place] = 1.0 if holds(in_melds(cards, universal), card) else 0.0
    f[FIRST.place + 1] = 1.0 if holds(then, card) else 0.0
    f[FIRST.place + 2] = 0.0 if holds(then, card) else 1.0
    f[FIRST.place + 3] = 1.0 if holds(fitting_cards(s), card) else 0.0
    others = cards & ~one
    low, high = np.uint64(s.fits_below) & ~ACES, np.uint64(s.fits_above) & ~ACES  # nothing fits beyond an ace
    f[FIRST.near] = nearness_to(universal, low, high, card, others, within, unseen, 1.0, UNSEEN_WEIGHT) / 3.0
    f[FIRST.near + 1] = nearness_to(universal, low, high, card, others, within, unseen, 1.0, 0.0) / 3.0
    f[FIRST.near + 2] = nearness_to(universal, low, high, card, others, within, unseen, 1.0, 1.0) / 3.0
    likely = (size - popcount(known)) / float(max(1, popcount(unseen)))
    f[FIRST.feed] = nearness_to(universal, low, high, card, known, within, unseen, 1.0, likely) / 3.0
    f[FIRST.feed_known] = nearness_to(universal, low, high, card, known, EMPTY, unseen, 1.0, 0.0) / 3.0
    f[FIRST.feed_known + 1] = nearness_to(universal, low, high, card, known, EMPTY, unseen, 1.0, 1.0) / 3.0
    mates, beside, second = find_mates(card, universal)
    write_mates(known, mates, beside, second, f, FIRST.next_mates)
    write_mates(unseen, mates, beside, second, f, FIRST.unseen_mates)


@register_jitable
def write_loose(s, rest, loose, below_runs, above_runs, within, unseen, f):
    """The fields from ``loose`` to ``loose_far_points``."""
    low, high = below_runs & ~ACES, above_runs & ~ACES  # nothing fits beyond an ace
    universal = s.aces == UNIVERSAL
    number = popcount(loose)
    points = count_points(s, loose)
    waiting = popcount(outs(loose, universal) & unseen)
    near = 0.0
    dearest = 0
    far = EMPTY
    left = loose
    while left != EMPTY:
        card = lowest_bit(left)
        left = without_lowest(left)
        dearest = max(dearest, count_points(s, bit(card)))
        one = nearness_to(universal, low, high, card, rest, within, unseen, 1.0, UNSEEN_WEIGHT)
        near += one
        if one < FAR:
            far |= bit(card)
    f[FIRST.loose] = number / 10.0
    f[FIRST.loose_few] = 1.0 if number == 0 else 0.0
    write_few(f, FIRST.loose_few + 1, number)
    f[FIRST.loose_points] = points / 50.0
    f[FIRST.loose_dearest] = dearest / 10.0
    f[FIRST.loose_spared] = (points - dearest) / 50.0
    f[FIRST.loose_outs] = waiting / 10.0
    f[FIRST.loose_outs_share] = waiting / float(max(1, popcount(unseen)))
    f[FIRST.loose_near] = min(near / 5.0, LIMIT)
    f[FIRST.loose_far] = popcount(far) / 5.0
    f[FIRST.loose_far_points] = count_points(s, far) / 50.0


@register_jitable
def write_rest(s, seat, rest, within, unseen, known, offered, action, f):
    """The fields ``opens`` and from ``rest_size`` to ``pile_offers_points``."""
    universal = s.aces == UNIVERSAL
    on_sets, below_runs, above_runs = find_fits_after(s, action)
    fits = on_sets | below_runs | above_runs
    new = fits & ~fitting_cards(s)
    f[FIRST.opens] = popcount(new & unseen) / 2.0
    f[FIRST.opens + 1] = popcount(new & known) / 2.0

    in_own = in_melds(rest, universal)
    can = in_own
    if action >= ACTION_SET or may_lay_off(s, seat):
        can |= rest & fits
    out = outs(rest, universal) & unseen
    useful = popcount(out)
    f[FIRST.rest_size] = popcount(rest) / 10.0
    f[FIRST.rest_empty] = 1.0 if rest == EMPTY else 0.0
    f[FIRST.rest_points] = count_points(s, rest) / 50.0
    f[FIRST.rest_melds] = popcount(in_own) / 10.0
    f[FIRST.rest_playable] = popcount(can) / 10.0
    f[FIRST.rest_fits] = popcount(can & ~in_own) / 5.0
    f[FIRST.outs] = useful / 10.0
    f[FIRST.outs_share] = useful / float(max(1, popcount(unseen)))
    write_loose(s, rest, rest & ~can, below_runs, above_runs, within, unseen, f)
    f[FIRST.outs_offered] = popcount(out & offered) / 10.0
    reach = within
    if ACTION_DISCARD <= action < ACTION_LAYOFF:
        reach |= bit(action - ACTION_DISCARD)
    offers = reach & (in_melds(known | reach, universal) | fits)
    f[FIRST.pile_offers] = popcount(offers) / 5.0
    f[FIRST.pile_offers_points] = count_points(s, offers) / 50.0


@register_jitable
def action_features(s, seat, words, actions, features):
    """Write all fields of ``ACTION_FIELDS`` for every action that is not below 0. What is zero already is left alone."""
    seat = np.int64(seat)  # all helpers are then compiled for one type of seat
    hand = np.uint64(s.hands[seat])
    pile = pile_cards(s)
    unseen = unseen_cards(s, hand, pile)
    can = playable(s, seat, hand)
    ahead = (seat + 1) % np.int64(s.players)
    known = np.uint64(s.known[ahead])
    size = popcount(np.uint64(s.hands[ahead]))
    past, others = sort_choices(s, ahead), join_choices(s, seat)
    wanted = unseen & ~close_cards(past[DISCARDED] | past[DECLINED], s.aces == UNIVERSAL)
    before = sort_choices(s, (seat - 1) % np.int64(s.players))
    offered = close_cards(before[DISCARDED] | before[DECLINED], s.aces == UNIVERSAL)
    v = BEST[s.pile]
    chosen = find_best(s, seat, hand, words, v)
    first = -1
    for n in range(len(actions)):
        action = np.int64(actions[n])
        if action < 0:
            continue
        f = features[n]
        if first < 0:
            first = n
            write_decision(s, seat, hand, can, unseen, f)
            write_others(s, seat, unseen, known, size, past, f)
        else:
            copy_first(features, first, n, FIRST.kind)
        taken = taken_cards(s, action)
        cards = hand | taken
        then = playable(s, seat, cards) if taken != EMPTY else can
        laid = laid_cards(action) if action >= ACTION_LAYOFF else EMPTY
        within = reachable_pile(s, pile & ~taken)
        card = card_of(action)
        rest = cards & ~laid
        if card != NO_CARD:
            write_card(s, cards, then, within, unseen, known, size, card, f)
            write_past(s, within, unseen, wanted, known, size, past, others, card, f)
            if action >= ACTION_DISCARD:
                rest &= ~bit(card)
        write_kind(s, rest, taken, laid, action, f)
        write_rest(s, seat, rest, within, unseen, known, offered, action, f)
        value = appraise(s, seat, hand, can, within, unseen, cards, then, action, v)
        f[FIRST.appraisal] = min(max(value / 20.0, -LIMIT), LIMIT)
        f[FIRST.best] = 1.0 if action == chosen else 0.0
