"""Built-in players of Pis Yedili.

Each gives every card that it may play a value and plays the highest; `best` weighs drawing, taking and passing too. They
know their own hand, the pile and how many cards each other seat and the stock hold; sets of cards are the bits of a uint64.
"""

import numpy as np
from numba.extending import register_jitable

from card_envs.engine.game import Policy
from card_envs.engine.random import choose_random, popcount
from card_envs.games.french_deck import ACE, DECK_SIZE, EIGHT, EMPTY, IN_SUIT, JACK, ONE, RANK, SEVEN, TEN, bit, of_rank, of_suit
from card_envs.games.pis_yedili.actions import ACTION_DRAW, ACTION_PASS, ACTION_SUIT, ACTION_TAKE
from card_envs.games.pis_yedili.rules import CLUBS, PENALTY, playable, points_of, sum_hand
from card_envs.games.pis_yedili.state import ACE as ACE_PHASE, DRAWN, LEAD, SEVENS, SUIT as SUIT_PHASE, TURN  # fmt: skip

DECK = (ONE << np.uint64(DECK_SIZE)) - ONE
JACKS = RANK << np.uint64(JACK)
NOTHING = -1e9

# ---- sets of cards


@register_jitable
def lowest(cards):
    """The first card of a set that is not empty."""
    return popcount((cards & (~cards + ONE)) - ONE)


@register_jitable
def asked_by(suit):
    """The cards that fit a jack whose player has named ``suit``."""
    return of_suit(suit) & ~JACKS


@register_jitable
def fitting(hand, card):
    """The cards that may lie on ``card``; on a jack those of the suit of which ``hand`` has most."""
    if card % IN_SUIT == JACK:
        return asked_by(longest_suit(hand))
    return of_suit(card // IN_SUIT) | of_rank(card % IN_SUIT) | JACKS


@register_jitable
def longest_suit(hand):
    """The suit of which a hand has most cards that fit a jack."""
    most = -1
    longest = 0
    for suit in range(4):
        size = popcount(hand & asked_by(suit))
        if size > most:
            most = size
            longest = suit
    return longest


# ---- the table


@register_jitable
def size_at(s, seat, distance):
    """How many cards the seat holds that comes so many turns after ``seat``."""
    other = (seat + distance * s.direction + s.players) % s.players
    return popcount(np.uint64(s.hands[other]))


@register_jitable
def shortest_hand(s, seat):
    """How many cards the opponent holds who has fewest."""
    fewest = DECK_SIZE
    for other in range(s.players):
        if other != seat:
            fewest = min(fewest, popcount(np.uint64(s.hands[other])))
    return fewest


@register_jitable
def without_card(s):
    """What to do if no card is played."""
    if s.phase == SEVENS:
        return ACTION_TAKE
    return ACTION_DRAW if s.phase == TURN or s.phase == LEAD else ACTION_PASS


# ---- high, keepjack, full: a value for each card


@register_jitable
def value_high(s, seat, rest, card, parameters):
    return float(points_of(card % IN_SUIT))


@register_jitable
def value_keepjack(s, seat, rest, card, parameters):
    return -1.0 if card % IN_SUIT == JACK else float(points_of(card % IN_SUIT))


FULL = {
    "follow": 1.0, "points": 0.05, "jack": -4.0, "ace": 2.0, "seven": -0.5, "seven_danger": 6.0, "eight": 1.0,
    "eight_danger": 4.0, "ten_danger": 4.0, "danger": 2.0,
}  # fmt: skip
(
    FULL_FOLLOW, FULL_POINTS, FULL_JACK, FULL_ACE, FULL_SEVEN, FULL_SEVEN_DANGER, FULL_EIGHT,
    FULL_EIGHT_DANGER, FULL_TEN_DANGER, FULL_DANGER,
) = range(len(FULL))  # fmt: skip


@register_jitable
def value_full(s, seat, rest, card, w):
    """What may follow it, some of its points, and what its effect is worth – more if the next player is short of cards."""
    rank = card % IN_SUIT
    value = w[FULL_FOLLOW] * popcount(rest & fitting(rest, card)) + w[FULL_POINTS] * points_of(rank)
    following = size_at(s, seat, 1)
    danger = following <= w[FULL_DANGER]
    if rank == JACK:
        value += w[FULL_JACK]
    elif rank == ACE:
        value += w[FULL_ACE]
    elif rank == SEVEN:
        value += w[FULL_SEVEN_DANGER] if danger else w[FULL_SEVEN]
    elif rank == EIGHT:
        value += w[FULL_EIGHT_DANGER] if danger else w[FULL_EIGHT]
    elif rank == TEN and danger and size_at(s, seat, -1) > following:
        value += w[FULL_TEN_DANGER]
    return value


def player(value):
    """The player of the highest value, who plays whenever he can and names his longest suit."""

    @register_jitable
    def choose(s, seat, words, key, parameters):
        hand = np.uint64(s.hands[seat])
        if s.phase == SUIT_PHASE:
            return ACTION_SUIT + longest_suit(hand)
        action = without_card(s)
        best = NOTHING
        cards = playable(s, seat)
        while cards != EMPTY:
            card = lowest(cards)
            cards &= cards - ONE
            points = value(s, seat, hand & ~bit(card), card, parameters)
            if points > best:
                best = points
                action = card
        return action

    return choose


# ---- best

BEST = {
    "short": 1.0, "late": 1.4, "follow": 4.0, "finish": 10.0, "reply": -2.5, "reply_last": -18.0, "ace": 8.0, "ace_short": 10.0,
    "again": 8.0, "again_out": 10.0, "jack": -12.0, "jack_late": 14.0, "seven": -9.0, "seven_few": -14.0, "seven_late": 3.0,
    "shield": -3.0, "return": -14.0, "eight_short": 5.0, "ten_short": 2.5, "jack_left": 3.0, "seven_left": 6.0,
    "draw": -5.5, "draw_short": -8.0, "pass": -2.2, "pass_short": -3.0, "take": -6.0, "take_short": -3.0, "take_more": -8.0, "end": 0.5,
    "suit": 12.0, "suit_reply": -20.0, "suit_reply_last": -35.0, "suit_seven": -5.0, "suit_late": 0.6, "lead_jack": -9.0, "lead_seven": -11.0,
    "empty_suit": 5.0,
}  # fmt: skip
(
    SHORT, LATE, FOLLOW, FINISH, REPLY, REPLY_LAST, ACE_, ACE_SHORT, AGAIN, AGAIN_OUT, JACK_, JACK_LATE, SEVEN_, SEVEN_FEW, SEVEN_LATE,
    SHIELD, RETURN, EIGHT_SHORT, TEN_SHORT, JACK_LEFT, SEVEN_LEFT, DRAW, DRAW_SHORT, PASS, PASS_SHORT, TAKE, TAKE_SHORT, TAKE_MORE, END,
    SUIT_, SUIT_REPLY, SUIT_REPLY_LAST, SUIT_SEVEN, SUIT_LATE, LEAD_JACK, LEAD_SEVEN, EMPTY_SUIT,
) = range(len(BEST))  # fmt: skip


@register_jitable
def lateness(s):
    """From almost 0 to 1 when the stock is empty."""
    return s.players / (s.players + float(s.deck_size - s.drawn))


@register_jitable
def chance(cards, unseen, size):
    """About how likely a hand of ``size`` unseen cards has one of ``cards``."""
    total = popcount(unseen)
    share = popcount(cards & unseen) / (total + 1e-9)
    return 1.0 - (1.0 - share) ** size


@register_jitable
def lead_of(s, seat, hand, unseen, drawn):
    """By how many points the own hand and so many cards more are expected to be lower than the shortest other hand."""
    mean = sum_hand(unseen) / (popcount(unseen) + 1e-9)
    return (shortest_hand(s, seat) - drawn) * mean - sum_hand(hand)


@register_jitable
def appraise_card(s, seat, rest, unseen, fewest, card, w):
    n = popcount(rest)
    rank = card % IN_SUIT
    points = points_of(rank)
    late = lateness(s)
    fit = fitting(rest, card)
    follow = popcount(rest & fit)
    value = points * (w[SHORT] / fewest + w[LATE] * late) + w[FOLLOW] * follow / n
    if n == 1:
        if follow > 0:
            value += w[FINISH]
        if rest & of_rank(SEVEN) != EMPTY:
            value += w[SEVEN_LEFT]
        elif rest & JACKS != EMPTY:
            value += w[JACK_LEFT]
    h = size_at(s, seat, 1)
    if s.phase == LEAD:
        if rank == JACK:
            value += w[LEAD_JACK]
            fit = asked_by(CLUBS)
        elif rank == SEVEN:
            value += w[LEAD_SEVEN]
    elif rank == ACE:
        value += w[ACE_] + w[ACE_SHORT] / fewest
        h = 0
    elif rank == JACK:
        value += w[JACK_] + w[JACK_LATE] * late
    elif rank == SEVEN:
        value += w[SEVEN_] + w[SEVEN_FEW] / n + w[SEVEN_LATE] * late
        if rest & of_rank(SEVEN) == EMPTY:
            value += w[SHIELD] / h
            if s.players == 2:
                value += w[RETURN] * chance(of_rank(SEVEN), unseen, h)
        h = -1
    elif rank == EIGHT:
        value += w[EIGHT_SHORT] / h
        h = 0 if s.players == 2 else size_at(s, seat, 2)
    elif rank == TEN and s.players > 2:
        value += w[TEN_SHORT] * (1.0 / h - 1.0 / size_at(s, seat, -1))
        h = size_at(s, seat, -1)
    if h == 0:
        if follow > 0:
            value += w[AGAIN]
            if n == 1:
                value += w[AGAIN_OUT]
    elif h > 0:
        reply = chance(fit, unseen, h)
        value += w[REPLY] * reply
        if h == 1:
            value += w[REPLY_LAST] * reply
    return value


@register_jitable
def appraise_suit(s, seat, hand, unseen, suit, w):
    fit = asked_by(suit)
    own = hand & fit
    h = size_at(s, seat, 1)
    reply = chance(fit, unseen, h)
    value = w[SUIT_] * popcount(own) / popcount(hand) + w[SUIT_REPLY] * reply + w[SUIT_LATE] * lateness(s) * sum_hand(own)
    if h == 1:
        value += w[SUIT_REPLY_LAST] * reply
    if own & of_rank(SEVEN) != EMPTY:
        value += w[SUIT_SEVEN]
    if own == EMPTY:
        value += w[EMPTY_SUIT] * lateness(s) * max(-3.0, min(3.0, lead_of(s, seat, hand, unseen, 0) / 20.0))
    return value


@register_jitable
def appraise_no_card(s, seat, hand, unseen, fewest, action, w):
    if action == ACTION_PASS:
        return w[PASS] + w[PASS_SHORT] / fewest
    stock = s.deck_size - s.drawn
    drawn = PENALTY * s.sevens if action == ACTION_TAKE else 1
    value = 0.0
    if drawn >= stock:
        value += w[END] * lead_of(s, seat, hand, unseen, stock)
    if action == ACTION_TAKE:
        return value + w[TAKE] + w[TAKE_MORE] * (s.sevens - 1) + w[TAKE_SHORT] / fewest
    return value + w[DRAW] + w[DRAW_SHORT] / fewest


@register_jitable
def appraise(s, seat, action, w):
    hand = np.uint64(s.hands[seat])
    unseen = DECK & ~(hand | np.uint64(s.seen))
    if action >= ACTION_SUIT:
        return appraise_suit(s, seat, hand, unseen, action - ACTION_SUIT, w)
    fewest = shortest_hand(s, seat)
    if action >= ACTION_DRAW:
        return appraise_no_card(s, seat, hand, unseen, fewest, action, w)
    rest = hand & ~bit(action)
    if rest == EMPTY:
        return 1e3
    return appraise_card(s, seat, rest, unseen, fewest, action, w)


choose_full = player(value_full)
POLICIES = (
    Policy("random", choose_random, "a uniformly random legal action"),
    Policy("high", player(value_high), "sheds the card of the most points"),
    Policy("keepjack", player(value_keepjack), "sheds the card of the most points, a jack only when nothing else fits"),
    Policy("full", choose_full, "sheds what most others can follow", FULL),
)
ALIASES: dict[str, str] = {}
