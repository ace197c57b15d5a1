"""What an action of Rummy does, in figures without seats, from what the seat to move knows.

The *next* player is the one after the seat to move, who may take what it discards. A card is *playable* if it is in a meld of
the hand or can be laid off, and *loose* if it is not. The *hand after the action* has the cards taken, lacks those laid or
discarded, and is unchanged by a draw, since nobody knows the card; what can be laid off then depends on the table as the
action leaves it.

The *nearness* of a card to melds is a sum over all melds of three that hold the card: of each, the product of the weights of
its other two cards. A run on the table that the card would fit after one more card counts as much as that card weighs. In
nearness to a hand, its cards weigh 1, and so do those that are left in a pile from which lower cards can be taken, but for the
card that is being discarded.
"""

import numpy as np

from card_envs.engine.bits import lowest_bit, popcount
from card_envs.engine.game import FieldSpec, locate_fields
from card_envs.engine.jitable import register_jitable
from card_envs.games.deck import ACES, DECK_SIZE, EMPTY, IN_SUIT, NO_CARD, bit, count_fewest, holds, of_rank, without_lowest
from card_envs.games.figures import copy_first, write_few
from card_envs.games.melds import above, below, in_melds, outs
from card_envs.games.rummy.best import BEST, appraise, find_best
from card_envs.games.rummy.observation import pile_cards, unseen_cards
from card_envs.games.rummy.rules import count_laid, count_points, fitting_cards, laid_cards, may_lay_off, playable
from card_envs.games.rummy.state import (
    ACTION_DISCARD, ACTION_END, ACTION_LAYOFF, ACTION_RUN, ACTION_SET, ACTION_TAKE, IDLE_TURNS, MAX_MELDS, MAX_PLAYERS, SPREAD,
    UNIVERSAL,
)  # fmt: skip
from card_envs.games.rummy.tactics import find_fits_after, nearness_to, reachable_pile

UNSEEN_WEIGHT = 0.15  # of an unseen card in nearness to the own hand
FAR = 0.25  # nearness of a loose card that is far from any meld; no sum of products of weights comes near it
LIMIT = 5.0

KINDS = 7
DRAW_KIND, TAKE_KIND, DISCARD_KIND, LAYOFF_KIND, SET_KIND, RUN_KIND, END_KIND = range(KINDS)

ACTION_FIELDS = (
    # the decision, the same for all its actions
    FieldSpec("players", (1,), "players at the table", float(MAX_PLAYERS)),
    FieldSpec("phase", (2,), "what is being decided: draw, play"),
    FieldSpec("options", (3,), "aces are low and high, lower cards of the pile can be taken, one meld a turn"),
    FieldSpec("scoring", (3,), "what a deal scores: positive, laid, negative"),
    FieldSpec("stock", (1,), "cards in the stock", float(DECK_SIZE)),
    FieldSpec("late", (1,), "how near the end of the stock is: players / (players + cards in the stock)"),
    FieldSpec("pile", (1,), "cards in the pile", float(DECK_SIZE)),
    FieldSpec("idle", (1,), "the share of the idle turns in a row that end the deal (R10)"),
    FieldSpec("melds", (1,), "melds on the table", float(MAX_MELDS)),
    FieldSpec("unseen_fits", (1,), "unseen cards that fit a meld on the table", 10.0, 0.0, 5.2),
    FieldSpec("hand_size", (1,), "cards in the own hand", 10.0, 0.0, 5.2),
    FieldSpec("hand_points", (1,), "points of the own hand", 50.0, 0.0, 8.0),
    FieldSpec("hand_loose", (1,), "loose cards in the own hand", 10.0, 0.0, 5.2),
    FieldSpec("hand_loose_points", (1,), "points of the loose cards in the own hand", 50.0, 0.0, 8.0),
    FieldSpec("hand_plays", (2,), "the own hand holds a meld, a card that can be laid off"),
    FieldSpec("has_laid", (2,), "who has laid cards in this deal: the seat to move, the next player"),
    FieldSpec("melded", (1,), "the seat to move has melded in this turn"),
    FieldSpec("next_size", (1,), "cards in the hand of the next player", 10.0, 0.0, 5.2),
    FieldSpec("next_inverse", (1,), "1 / that number"),
    FieldSpec("next_few", (2,), "the next player has one card, two cards"),
    FieldSpec("next_known", (1,), "cards known to be in the next player's hand", 10.0, 0.0, 5.2),
    FieldSpec("next_known_points", (1,), "the points of these", 50.0, 0.0, 8.0),
    FieldSpec("next_points", (1,), "expected points of the next player's hand", 50.0, 0.0, 8.0),
    FieldSpec("next_waiting", (1,), "those of the known cards that make melds with known or unseen ones", 10.0, 0.0, 5.2),
    FieldSpec("fewest_size", (1,), "cards in the smallest hand among the others", 10.0, 0.0, 5.2),
    FieldSpec("fewest_inverse", (1,), "1 / that number"),
    FieldSpec("fewest_few", (2,), "the smallest hand among the others has one card, two cards"),
    # the action
    FieldSpec("kind", (KINDS,), "what the action is: draw, take, discard, layoff, meld a set, meld a run, end"),
    FieldSpec("ends", (1,), "the deal is over: the last card leaves the hand, the stock is empty, or too many turns were idle"),
    FieldSpec("taken", (1,), "cards taken from the pile", 10.0, 0.0, 5.2),
    FieldSpec("laid", (1,), "cards laid", 4.0, 0.0, 3.25),
    FieldSpec("laid_points", (1,), "the points that they score", 30.0, 0.0, 3.4),
    FieldSpec("opens", (2,), "unseen cards, cards known in the next player's hand, that fit the table only now", 2.0),
    # its card, which is taken, discarded or laid off; zeros if there is none
    FieldSpec("rank", (IN_SUIT,), "the rank of the card: A … K"),
    FieldSpec("points", (1,), "the points of the card", 10.0, 0.0, 1.5),
    FieldSpec(
        "place", (4,), "the card is, in the hand with the cards taken: in a meld, playable, loose; it fits the table before"
    ),
    FieldSpec(
        "near", (3,), "nearness of the card to the rest of that hand, where an unseen card weighs 0.15, 0, 1", 3.0, 0.0, 2.7
    ),
    FieldSpec(
        "feed", (1,), "nearness to the next player's hand: an unseen card weighs the chance that it is there", 3.0, 0.0, 2.7
    ),
    FieldSpec(
        "feed_known", (2,),
        "nearness to the known cards of the next player, where an unseen card weighs 0, 1, and the pile does not count",
        3.0, 0.0, 2.7,
    ),
    FieldSpec(
        "next_mates", (3,), "cards known in the next player's hand: of the same rank, beside the card in its suit, one further",
        2.0, 0.0, 1.5,
    ),
    FieldSpec("unseen_mates", (3,), "unseen cards: of the same rank, beside the card in its suit, one further", 2.0, 0.0, 1.5),
    # the hand after the action
    FieldSpec("rest_size", (1,), "cards in the hand", 10.0, 0.0, 5.2),
    FieldSpec("rest_empty", (1,), "the hand is empty"),
    FieldSpec("rest_points", (1,), "points of the hand", 50.0, 0.0, 8.0),
    FieldSpec("rest_melds", (1,), "cards of the hand in melds", 10.0, 0.0, 5.2),
    FieldSpec("rest_playable", (1,), "playable cards of the hand", 10.0, 0.0, 5.2),
    FieldSpec("rest_fits", (1,), "cards of the hand that are in no meld but can be laid off", 5.0, 0.0, 10.4),
    FieldSpec("outs", (1,), "unseen cards that make a meld with two of the hand", 10.0, 0.0, 5.2),
    FieldSpec("outs_share", (1,), "the share of these in all unseen cards"),
    FieldSpec("loose", (1,), "loose cards of the hand", 10.0, 0.0, 5.2),
    FieldSpec("loose_few", (3,), "none, one, two are loose"),
    FieldSpec("loose_points", (1,), "points of the loose cards", 50.0, 0.0, 8.0),
    FieldSpec("loose_dearest", (1,), "the most points of a loose card", 10.0, 0.0, 1.5),
    FieldSpec("loose_spared", (1,), "points of the loose cards but that one", 50.0, 0.0, 8.0),
    FieldSpec("loose_outs", (1,), "unseen cards that make a meld with two loose cards", 10.0, 0.0, 5.2),
    FieldSpec("loose_outs_share", (1,), "the share of these in all unseen cards"),
    FieldSpec("loose_near", (1,), "nearness of the loose cards to the hand, where an unseen card weighs 0.15", 5.0, 0.0, LIMIT),
    FieldSpec("loose_far", (1,), "loose cards whose nearness is below a quarter", 5.0, 0.0, 10.4),
    FieldSpec("loose_far_points", (1,), "the points of these", 50.0, 0.0, 8.0),
    # the player `best`
    FieldSpec(
        "appraisal", (1,),
        "what the player best finds the action worth by the measure that it has for its kind: draw and take, lay, discard",
        20.0, -LIMIT, LIMIT,
    ),
    FieldSpec("best", (1,), "the player best would choose the action"),
)  # fmt: skip
FIRST, _ = locate_fields(ACTION_FIELDS)


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
def write_others(s, seat, unseen, known, size, f):
    """The fields from ``next_size`` to ``fewest_few``, of a next player with ``size`` cards of which some are ``known``."""
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
def write_mates(cards, mates, nearest, second, f, first):
    """How many of ``cards`` are of the same rank as a card, beside it in its suit, one further."""
    f[first] = popcount(cards & mates) / 2.0
    f[first + 1] = popcount(cards & nearest) / 2.0
    f[first + 2] = popcount(cards & second) / 2.0


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
    mates = of_rank(card % IN_SUIT) & ~one
    up = above(one, universal)
    down = below(one, universal)
    second = above(up & ~ACES, universal) | below(down & ~ACES, universal)  # no run goes around the corner
    write_mates(known, mates, up | down, second, f, FIRST.next_mates)
    write_mates(unseen, mates, up | down, second, f, FIRST.unseen_mates)


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
def write_rest(s, seat, rest, within, unseen, known, action, f):
    """The fields ``opens`` and from ``rest_size`` to ``loose_far_points``."""
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
    useful = popcount(outs(rest, universal) & unseen)
    f[FIRST.rest_size] = popcount(rest) / 10.0
    f[FIRST.rest_empty] = 1.0 if rest == EMPTY else 0.0
    f[FIRST.rest_points] = count_points(s, rest) / 50.0
    f[FIRST.rest_melds] = popcount(in_own) / 10.0
    f[FIRST.rest_playable] = popcount(can) / 10.0
    f[FIRST.rest_fits] = popcount(can & ~in_own) / 5.0
    f[FIRST.outs] = useful / 10.0
    f[FIRST.outs_share] = useful / float(max(1, popcount(unseen)))
    write_loose(s, rest, rest & ~can, below_runs, above_runs, within, unseen, f)


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
            write_others(s, seat, unseen, known, size, f)
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
            if action >= ACTION_DISCARD:
                rest &= ~bit(card)
        write_kind(s, rest, taken, laid, action, f)
        write_rest(s, seat, rest, within, unseen, known, action, f)
        value = appraise(s, seat, hand, can, within, unseen, cards, then, action, v)
        f[FIRST.appraisal] = min(max(value / 20.0, -LIMIT), LIMIT)
        f[FIRST.best] = 1.0 if action == chosen else 0.0
