"""What an action of Pis Yedili does, in figures without seats, from what the seat to move knows.

The *next* player is the one whose turn comes next in the direction of play if nothing is skipped or turned; the one who
*replies* is the first other player to be asked after the action has had its effect. The cards *kept* are the hand after the
action, without those that are drawn, of which only the number is known. All unseen cards are weighed alike, but in the
*weighted* fields by what the player's choices have shown of their hand: see shown.py.
"""

import numpy as np
from card_envs.engine.jitable import register_jitable

from card_envs.engine.bits import popcount
from card_envs.engine.game import FieldSpec, locate_fields
from card_envs.games.deck import (
    ACE, CLUBS, DECK_SIZE, EIGHT, EMPTY, FULL, IN_SUIT, JACK, RANK, SEVEN, SUIT, TEN, bit, chance_of_any, count_fewest, of_suit,
)  # fmt: skip
from card_envs.games.figures import copy_first, write_few
from card_envs.games.pis_yedili.best import Best, appraise, find_best
from card_envs.games.pis_yedili.rules import JACKS, PENALTY, count_points, count_rank, fits_card, fits_jack
from card_envs.games.pis_yedili.shown import sum_weights, weigh, weighted_chance
from card_envs.games.pis_yedili.state import ACTION_DRAW, ACTION_SUIT, ACTION_TAKE, LEAD, MAX_PLAYERS
from card_envs.games.pis_yedili.tactics import (
    ALL_SEVENS, count_held, count_lonely, expected_lead, find_seat, find_unseen, fits_pile, fitting, lateness,
)  # fmt: skip

BEST = np.array([*Best()])
ALL_ACES, ALL_EIGHTS = RANK << np.uint64(ACE), RANK << np.uint64(EIGHT)
LIMIT = 5.0  # of the appraisal

ACTION_FIELDS = (
    # the decision, the same for all its actions
    FieldSpec("players", (1,), "players at the table", float(MAX_PLAYERS)),
    FieldSpec("phase", (6,), "what is being decided: lead, turn, drawn, sevens, suit, ace"),
    FieldSpec("sevens", (1,), "open sevens", 4.0),
    FieldSpec("stock", (1,), "cards in the stock", float(DECK_SIZE)),
    FieldSpec("late", (1,), "how near the end of the stock is: players / (players + cards in the stock)"),
    FieldSpec("hand_size", (1,), "cards in the own hand", 10.0, 0.0, 4.5),
    FieldSpec("hand_inverse", (1,), "1 / cards in the own hand"),
    FieldSpec("hand_points", (1,), "points of the own hand", 50.0, 0.0, 10.2),
    FieldSpec("hand_jacks", (1,), "jacks in the own hand", 2.0, 0.0, 2.0),
    FieldSpec("hand_sevens", (1,), "sevens in the own hand", 2.0, 0.0, 2.0),
    FieldSpec("expected_lead", (1,), "expected mean points of the other hands, minus the points of the own", 50.0, -10.2, 10.2),
    FieldSpec("next_size", (1,), "cards in the hand of the next player in the direction of play", 10.0, 0.0, 4.5),
    FieldSpec("next_inverse", (1,), "1 / cards in the hand of the next player"),
    FieldSpec("next_few", (2,), "the next player has one card, two cards"),
    FieldSpec("fewest_size", (1,), "cards in the smallest hand among the others", 10.0, 0.0, 4.5),
    FieldSpec("fewest_inverse", (1,), "1 / cards in the smallest hand among the others"),
    FieldSpec("fewest_few", (2,), "the smallest hand among the others has one card, two cards"),
    FieldSpec("others_size", (1,), "mean number of cards in the other hands", 10.0, 0.0, 4.5),
    FieldSpec("unseen_jacks", (1,), "jacks in the stock and in the other hands", 4.0),
    FieldSpec("unseen_sevens", (1,), "sevens in the stock and in the other hands", 4.0),
    FieldSpec("next_jack", (1,), "about how likely the next player holds a jack"),
    FieldSpec("next_seven", (1,), "about how likely the next player holds a seven"),
    FieldSpec("next_jack_weighted", (1,), "the same, weighted by what their choices have shown"),
    FieldSpec("next_seven_weighted", (1,), "the same for a seven"),
    FieldSpec("next_weight", (1,), "the mean weight of the unseen cards for the next player: 1 if nothing is shown"),
    # the action
    FieldSpec("kind", (5,), "what the action is: play, draw, take, pass, suit"),
    FieldSpec("rank", (IN_SUIT,), "the rank of the card played: A … K"),
    FieldSpec("points", (1,), "the points of the card played", 20.0, 0.0, 1.25),
    FieldSpec("ends", (1,), "the deal is over: the last card was played, or the stock runs out"),
    FieldSpec("again", (1,), "the same player decides next"),
    FieldSpec("reply_size", (1,), "cards of the player who replies, the first other one to be asked after it", 10.0, 0.0, 4.5),
    FieldSpec("reply_inverse", (1,), "1 / cards of the player who replies"),
    FieldSpec("reply", (1,), "about how likely they hold a card that may be played; after a seven, a seven"),
    FieldSpec("reply_card", (1,), "how many of the unseen cards may be played in reply, as a share of them"),
    FieldSpec("reply_ranks", (4,), "about how likely they hold a jack, seven, ace, eight that may be played"),
    FieldSpec("reply_weighted", (1,), "as reply, weighted by what their choices have shown"),
    FieldSpec("reply_one", (1,), "as reply_card, weighted: about how likely one card of theirs may be played"),
    FieldSpec("reply_ranks_weighted", (4,), "as reply_ranks, weighted"),
    FieldSpec("reply_weight", (1,), "the mean weight of the unseen cards for them"),
    # the hand after the action
    FieldSpec("rest_size", (1,), "cards in the hand after it, with those drawn", 7.0, 0.0, 6.5),
    FieldSpec("rest_few", (2,), "one card, two cards are in the hand after it, with those drawn"),
    FieldSpec("rest_points", (1,), "points of the cards kept: the hand after it, without those drawn", 50.0, 0.0, 10.2),
    FieldSpec("rest_ranks", (4,), "jacks, sevens, aces, eights kept", 2.0, 0.0, 2.0),
    FieldSpec(
        "follow", (1,), "cards kept that fit the pile as the action leaves it; after a jack, those of the longest suit",
        5.0, 0.0, 4.0,
    ),
    FieldSpec("follow_any", (1,), "a card that is kept fits the pile then"),
    FieldSpec("follow_share", (1,), "how many of the cards kept fit the pile then, as a share of them"),
    FieldSpec("follow_points", (1,), "points of the cards kept that fit the pile then", 30.0, 0.0, 9.0),
    FieldSpec("comeback", (1,), "of the unseen cards but jacks that may be played in reply, the share on which one kept fits"),
    FieldSpec("comeback_weighted", (1,), "the weight of those on which one kept fits, divided by the number of all of them"),
    FieldSpec("lonely", (1,), "cards kept, not counting jacks, that share neither suit nor rank with another", 3.0, 0.0, 1.5),
    FieldSpec("longest", (1,), "cards kept in the longest suit, not counting jacks", 5.0, 0.0, 2.4),
    FieldSpec("suits", (1,), "suits kept, not counting jacks", 4.0),
    FieldSpec("ranks", (1,), "ranks kept", 7.0, 0.0, 2.0),
    FieldSpec("same_suit", (1,), "cards kept in the suit of the card played, or but jacks in the suit named", 5.0, 0.0, 2.4),
    # the player `best`
    FieldSpec("appraisal", (1,), "what the player best finds the action worth, in points", 20.0, -LIMIT, LIMIT),
    FieldSpec("best", (1,), "the player best would choose the action"),
)  # fmt: skip
FIRST, _ = locate_fields(ACTION_FIELDS)


@register_jitable
def write_decision(s, seat, hand, unseen, fewest, late, weights, f):
    """The fields before ``kind``."""
    size = popcount(hand)
    ahead = count_held(s, seat, 1)
    stock = s.deck_size - s.drawn
    f[FIRST.players] = s.players / float(MAX_PLAYERS)
    f[FIRST.phase + s.phase] = 1.0
    f[FIRST.sevens] = s.sevens / 4.0
    f[FIRST.stock] = stock / float(DECK_SIZE)
    f[FIRST.late] = late
    f[FIRST.hand_size] = size / 10.0
    f[FIRST.hand_inverse] = 1.0 / size
    f[FIRST.hand_points] = count_points(hand) / 50.0
    f[FIRST.hand_jacks] = popcount(hand & JACKS) / 2.0
    f[FIRST.hand_sevens] = popcount(hand & ALL_SEVENS) / 2.0
    f[FIRST.expected_lead] = expected_lead(s, hand, unseen) / 50.0
    f[FIRST.next_size] = ahead / 10.0
    f[FIRST.next_inverse] = 1.0 / ahead
    write_few(f, FIRST.next_few, ahead)
    f[FIRST.fewest_size] = fewest / 10.0
    f[FIRST.fewest_inverse] = 1.0 / fewest
    write_few(f, FIRST.fewest_few, fewest)
    f[FIRST.others_size] = (popcount(unseen) - stock) / (10.0 * (s.players - 1))
    f[FIRST.unseen_jacks] = popcount(unseen & JACKS) / 4.0
    f[FIRST.unseen_sevens] = popcount(unseen & ALL_SEVENS) / 4.0
    f[FIRST.next_jack] = chance_of_any(JACKS, unseen, ahead)
    f[FIRST.next_seven] = chance_of_any(ALL_SEVENS, unseen, ahead)
    f[FIRST.next_jack_weighted] = weighted_chance(unseen & JACKS, weights, ahead)
    f[FIRST.next_seven_weighted] = weighted_chance(unseen & ALL_SEVENS, weights, ahead)
    f[FIRST.next_weight] = weights[6] / max(1, popcount(unseen))


@register_jitable
def fits_after(s, rest, action):
    """What may lie on the pile as the action leaves it, apart from what open sevens ask for."""
    if action >= ACTION_SUIT:
        return fits_jack(action - ACTION_SUIT)
    if action >= ACTION_DRAW:
        return fits_pile(s)
    rank = action % IN_SUIT
    if s.phase != LEAD:
        return fitting(rest, action)
    if s.lap > 1:  # P3: the next player leads a club, too
        return of_suit(CLUBS)
    return fits_jack(CLUBS) if rank == JACK else fits_card(CLUBS, rank)  # P5


@register_jitable
def write_kind(s, seat, rest, drawn, action, f):
    """The fields from ``kind`` to ``again``."""
    stock = s.deck_size - s.drawn
    if action < ACTION_DRAW:
        rank = action % IN_SUIT
        f[FIRST.kind] = 1.0
        f[FIRST.rank + rank] = 1.0
        f[FIRST.points] = count_rank(rank) / 20.0
        ends = rest == EMPTY  # P23
        again = s.phase != LEAD and (rank == JACK or rank == ACE or (rank == EIGHT and s.players == 2))  # P12, P18, P20
    else:
        f[FIRST.kind + 1 + min(action, ACTION_SUIT) - ACTION_DRAW] = 1.0
        ends = drawn > 0 and drawn == stock  # P24
        again = action == ACTION_DRAW or (action == ACTION_TAKE and s.penalty_keeps_turn != 0)  # P8, P15
    f[FIRST.ends] = 1.0 if ends else 0.0
    f[FIRST.again] = 1.0 if again and not ends else 0.0


@register_jitable
def write_reply(s, seat, unseen, next_weights, action, fit, f):
    """The fields from ``reply_size`` to ``reply_weight``.

    Returns:
        The unseen cards that may be played after the action, and the weights of unseen cards for the player who replies.
    """
    distance = 1
    answers = fit & unseen
    if action < ACTION_DRAW and s.phase != LEAD:
        rank = action % IN_SUIT
        if rank == EIGHT and s.players > 2:  # P20
            distance = 2
        elif rank == TEN:  # P21
            distance = -1
        elif rank == SEVEN:  # P14
            answers = ALL_SEVENS & unseen
    size = count_held(s, seat, distance)
    f[FIRST.reply_size] = size / 10.0
    f[FIRST.reply_inverse] = 1.0 / size
    f[FIRST.reply] = chance_of_any(answers, unseen, size)
    f[FIRST.reply_card] = chance_of_any(answers, unseen, 1)
    f[FIRST.reply_ranks] = chance_of_any(answers & JACKS, unseen, size)
    f[FIRST.reply_ranks + 1] = chance_of_any(answers & ALL_SEVENS, unseen, size)
    f[FIRST.reply_ranks + 2] = chance_of_any(answers & ALL_ACES, unseen, size)
    f[FIRST.reply_ranks + 3] = chance_of_any(answers & ALL_EIGHTS, unseen, size)
    weights = next_weights if distance == 1 else weigh(s, find_seat(s, seat, distance), unseen)
    f[FIRST.reply_weighted] = weighted_chance(answers, weights, size)
    f[FIRST.reply_one] = weighted_chance(answers, weights, 1)
    f[FIRST.reply_ranks_weighted] = weighted_chance(answers & JACKS, weights, size)
    f[FIRST.reply_ranks_weighted + 1] = weighted_chance(answers & ALL_SEVENS, weights, size)
    f[FIRST.reply_ranks_weighted + 2] = weighted_chance(answers & ALL_ACES, weights, size)
    f[FIRST.reply_ranks_weighted + 3] = weighted_chance(answers & ALL_EIGHTS, weights, size)
    f[FIRST.reply_weight] = weights[6] / max(1, popcount(unseen))
    return answers, weights


@register_jitable
def write_rest(rest, drawn, action, fit, answers, weights, f):
    """The fields from ``rest_size`` to ``same_suit``."""
    known = popcount(rest)
    follow = rest & fit
    f[FIRST.rest_size] = (known + drawn) / 7.0
    write_few(f, FIRST.rest_few, known + drawn)
    f[FIRST.rest_points] = count_points(rest) / 50.0
    f[FIRST.rest_ranks] = popcount(rest & JACKS) / 2.0
    f[FIRST.rest_ranks + 1] = popcount(rest & ALL_SEVENS) / 2.0
    f[FIRST.rest_ranks + 2] = popcount(rest & ALL_ACES) / 2.0
    f[FIRST.rest_ranks + 3] = popcount(rest & ALL_EIGHTS) / 2.0
    f[FIRST.follow] = popcount(follow) / 5.0
    f[FIRST.follow_any] = 1.0 if follow != EMPTY else 0.0
    f[FIRST.follow_share] = popcount(follow) / float(max(1, known))
    f[FIRST.follow_points] = count_points(follow) / 30.0
    f[FIRST.lonely] = count_lonely(rest) / 3.0

    longest = 0
    suits = 0
    ranks = EMPTY
    covered = FULL if rest & JACKS != EMPTY else EMPTY  # the cards on which one of the hand could lie
    for suit in range(4):
        size = popcount(rest & fits_jack(suit))
        longest = max(longest, size)
        suits += size > 0
        ranks |= (rest >> np.uint64(IN_SUIT * suit)) & SUIT
        if size > 0:
            covered |= of_suit(suit)
    covered |= ranks * RANK
    f[FIRST.longest] = longest / 5.0
    f[FIRST.suits] = suits / 4.0
    f[FIRST.ranks] = popcount(ranks) / 7.0
    plain = answers & ~JACKS
    f[FIRST.comeback] = popcount(plain & covered) / float(max(1, popcount(plain)))
    f[FIRST.comeback_weighted] = sum_weights(plain & covered, weights) / max(1, popcount(plain))
    if action < ACTION_DRAW:
        f[FIRST.same_suit] = popcount(rest & of_suit(action // IN_SUIT)) / 5.0
    elif action >= ACTION_SUIT:
        f[FIRST.same_suit] = popcount(follow) / 5.0


@register_jitable
def action_features(s, seat, words, actions, features):
    """Write all fields of ``ACTION_FIELDS`` for every action that is not below 0. What is zero already is left alone."""
    hand = np.uint64(s.hands[seat])
    unseen = find_unseen(s, hand)
    fewest = count_fewest(s, seat)
    late = lateness(s)
    chosen = find_best(s, seat, BEST)
    next_weights = weigh(s, find_seat(s, seat, 1), unseen)
    first = -1
    for n in range(len(actions)):
        action = np.int64(actions[n])
        if action < 0:
            continue
        f = features[n]
        if first < 0:
            first = n
            write_decision(s, seat, hand, unseen, fewest, late, next_weights, f)
        else:
            copy_first(features, first, n, FIRST.kind)
        rest = hand & ~bit(action) if action < ACTION_DRAW else hand
        drawn = 1 if action == ACTION_DRAW else 0
        if action == ACTION_TAKE:
            drawn = min(PENALTY * s.sevens, s.deck_size - s.drawn)  # P14, P17
        fit = fits_after(s, rest, action)
        write_kind(s, seat, rest, drawn, action, f)
        answers, weights = write_reply(s, seat, unseen, next_weights, action, fit, f)
        write_rest(rest, drawn, action, fit, answers, weights, f)
        value = appraise(s, seat, hand, unseen, float(fewest), late, action, BEST)
        f[FIRST.appraisal] = min(max(value / 20.0, -LIMIT), LIMIT)
        f[FIRST.best] = 1.0 if action == chosen else 0.0
