"""The player `best`: what it finds each action worth, in points, and which it chooses."""

from typing import NamedTuple

import numpy as np
from card_envs.engine.jitable import register_jitable

from card_envs.engine.bits import lowest_bit, popcount
from card_envs.games.deck import (
    ACE, CLUBS, EIGHT, EMPTY, IN_SUIT, JACK, SEVEN, TEN, bit, chance_of_any, count_fewest, without_lowest,
)  # fmt: skip
from card_envs.games.pis_yedili.rules import JACKS, count_points, count_rank, fits_jack, playable
from card_envs.games.pis_yedili.state import ACTION_DRAW, ACTION_PASS, ACTION_SUIT, ACTION_TAKE, DRAWN, LEAD, SUIT_PHASE
from card_envs.games.pis_yedili.tactics import (
    ALL_SEVENS, NOTHING, count_held, count_lonely, expected_lead, find_unseen, fitting, lateness, without_card,
)  # fmt: skip


class Best(NamedTuple):
    """The parameters of `best`, in points.

    The value of an action is linear in all of them. They were found by policy gradients on the points of a deal, in self-play
    with 2, 4 and 6 players on the deals of ``"train"``; parameters that made no difference on those of ``"tune"`` were dropped.
    """

    # the points of a card
    short: float = 1.0  # divided by the number of cards of the opponent who has fewest
    late: float = 1.38  # times the lateness of the stock
    # the rest of the hand
    follow: float = 4.9  # times the share of it that could follow
    follow_two: float = -0.8  # with two players, for each card that could follow: a long suit is worth keeping
    lonely_two: float = -1.4  # with two players, for each card that goes with no other
    finish: float = 9.6  # one card is left, and it could follow
    finish_seven: float = 4.5  # one card is left, a 7: it would count three times
    # another card at once: after an ace, and with two players after an 8
    again: float = 7.3  # there is one that follows
    again_follow: float = -9.4  # times the share that does: a player with many of them does not need the ace
    again_eight: float = -4.5  # with an 8
    again_seven: float = 2.8  # with two players, a 7: times the chance that it is not answered
    out: float = 11.7  # it would be the last
    # the others
    eight: float = 5.6  # divided by the number of cards of the player who is skipped
    reply: float = -11.4  # times the chance that a player with a single card can play it
    # what is kept for later
    jack: float = -11.1
    jack_late: float = 13.1  # times the lateness
    jack_only: float = -5.9  # the only one in the hand
    jack_lead: float = -10.0  # in the lead
    seven: float = -7.4
    seven_late: float = 4.3
    seven_only: float = -1.7  # the only one in the hand, which protects against other sevens
    seven_few: float = -13.9  # divided by the number of cards in the hand
    seven_back: float = -15.1  # with two players, the only one: times the chance that it is answered
    seven_lead: float = -13.2
    # no card, although one fits
    draw: float = -6.5
    draw_short: float = -8.9  # divided by the number of cards of the opponent who has fewest
    take: float = -5.2
    take_more: float = -7.9  # for each open 7 after the first
    decline: float = -1.8  # to pass
    decline_two: float = -2.3  # with two players
    # the suit for a jack
    suit: float = 10.0  # times the share of the hand
    suit_late: float = 0.46  # for each point, times the lateness
    suit_seven: float = -5.5  # the player holds its 7
    suit_finish: float = 5.0  # one or two cards are left, one of the suit
    suit_none: float = 0.53  # none is left: for each point of lead, times the lateness
    suit_reply: float = -19.3  # times the chance that the next player can play


AT = Best(*range(len(Best._fields)))
LAST = 20.0  # more than any other action is worth with the parameters above


@register_jitable
def appraise_card(s, seat, rest, unseen, fewest, late, card, w):
    """What it is worth to play a card and keep ``rest``, which is not empty."""
    rank = card % IN_SUIT
    two = s.players == 2
    size = popcount(rest)
    fit = fitting(rest, card)
    follow = popcount(rest & fit)
    value = count_rank(rank) * (w[AT.short] / fewest + w[AT.late] * late) + w[AT.follow] * follow / size
    if two:
        value += w[AT.follow_two] * follow + w[AT.lonely_two] * count_lonely(rest)
    if size == 1:
        if follow > 0:
            value += w[AT.finish]
        if rest & ALL_SEVENS != EMPTY:
            value += w[AT.finish_seven]

    replier = count_held(s, seat, 1)
    again = False
    if s.phase == LEAD:
        if rank == JACK:
            value += w[AT.jack_lead]
            fit = fits_jack(CLUBS)
        elif rank == SEVEN:
            value += w[AT.seven_lead]
    elif rank == ACE:
        again = True
    elif rank == EIGHT:
        value += w[AT.eight] / replier
        again = two
        if two:
            value += w[AT.again_eight]
        replier = count_held(s, seat, 2)
    elif rank == TEN:
        replier = count_held(s, seat, -1)
    elif rank == JACK:
        value += w[AT.jack] + w[AT.jack_late] * late
        if rest & JACKS == EMPTY:
            value += w[AT.jack_only]
    elif rank == SEVEN:
        return value + appraise_seven(s, rest, unseen, replier, late, w)

    if again:
        if follow > 0:
            value += w[AT.again] + w[AT.again_follow] * follow / size
            if size == 1:
                value += w[AT.out]
    elif replier == 1:
        value += w[AT.reply] * chance_of_any(fit, unseen, 1)
    return value


@register_jitable
def appraise_seven(s, rest, unseen, replier, late, w):
    """What the effect of a 7 is worth now, less what it would be worth later."""
    value = w[AT.seven] + w[AT.seven_late] * late + w[AT.seven_few] / (popcount(rest) + 1)
    only = rest & ALL_SEVENS == EMPTY
    if only:
        value += w[AT.seven_only]
    if s.players == 2:
        back = chance_of_any(ALL_SEVENS, unseen, replier)
        value += w[AT.again_seven] * (1.0 - back)
        if only:
            value += w[AT.seven_back] * back
    return value


@register_jitable
def appraise_other(s, action, fewest, w):
    """What it is worth to draw, take or pass, which costs something although a card may fit.

    A further draw in the same turn, where a player may pass as well, costs both.
    """
    if action == ACTION_TAKE:
        return w[AT.take] + w[AT.take_more] * (s.sevens - 1)
    value = 0.0
    if action == ACTION_PASS or s.phase == DRAWN:
        value = w[AT.decline] + (w[AT.decline_two] if s.players == 2 else 0.0)
    if action == ACTION_DRAW:
        value = value + (w[AT.draw] + w[AT.draw_short] / fewest)
    return value


@register_jitable
def appraise_suit(s, seat, hand, unseen, suit, w):
    """What it is worth to name a suit for a jack."""
    fit = fits_jack(suit)
    own = hand & fit
    late = lateness(s)
    value = w[AT.suit] * popcount(own) / popcount(hand) + w[AT.suit_late] * late * count_points(own)
    value += w[AT.suit_reply] * chance_of_any(fit, unseen, count_held(s, seat, 1))
    if own & ALL_SEVENS != EMPTY:
        value += w[AT.suit_seven]
    if own == EMPTY:
        value += w[AT.suit_none] * late * expected_lead(s, hand, unseen)
    elif popcount(hand) <= 2:
        value += w[AT.suit_finish]
    return value


@register_jitable
def appraise(s, seat, hand, unseen, fewest, late, action, w):
    """What an action is worth to the seat to move: the higher, the better, on one scale for all actions of a decision.

    ``unseen``, ``fewest`` and ``late`` are the same for all actions: see `find_unseen`, `count_fewest` and `lateness`. The last
    card, which wins the deal, is worth ``LAST`` whatever the parameters are.
    """
    if action >= ACTION_SUIT:
        return appraise_suit(s, seat, hand, unseen, action - ACTION_SUIT, w)
    if action >= ACTION_DRAW:
        return appraise_other(s, action, fewest, w)
    rest = hand & ~bit(action)
    return LAST if rest == EMPTY else appraise_card(s, seat, rest, unseen, fewest, late, action, w)


@register_jitable
def find_best(s, seat, w):
    """The action with the highest appraisal.

    Whatever the parameters are, the last card is played if it fits, and in the lead a club.
    """
    hand = np.uint64(s.hands[seat])
    unseen = find_unseen(s, hand)
    best = NOTHING
    if s.phase == SUIT_PHASE:
        action = ACTION_SUIT
        for suit in range(4):
            value = appraise_suit(s, seat, hand, unseen, suit, w)
            if value > best:
                best = value
                action = ACTION_SUIT + suit
        return action
    action = without_card(s)
    cards = playable(s, seat)
    if cards == EMPTY:
        return action
    if without_lowest(hand) == EMPTY:
        return lowest_bit(cards)
    fewest = float(count_fewest(s, seat))
    late = lateness(s)
    if s.phase != LEAD:
        best = appraise_other(s, action, fewest, w)
    while cards != EMPTY:
        card = lowest_bit(cards)
        cards = without_lowest(cards)
        value = appraise_card(s, seat, hand & ~bit(card), unseen, fewest, late, card, w)
        if value > best:
            best = value
            action = card
    return action


@register_jitable
def choose_best(s, seat, words, key, w):
    """The policy `best`."""
    return find_best(s, seat, w)
