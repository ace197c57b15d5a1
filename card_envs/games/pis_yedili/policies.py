"""Built-in players of Pis Yedili.

Each of them gives a value to every card that it may play and plays the one with the highest; `best` may also draw, take or
pass although a card fits. They use their own hand, the pile, and how many cards the other seats and the stock hold.
"""

from typing import NamedTuple

import numpy as np

from card_envs.engine.game import Policy
from card_envs.engine.bits import lowest_bit, popcount
from card_envs.engine.jitable import register_jitable
from card_envs.engine.random import below
from card_envs.games.deck import (
    ACE, CLUBS, EIGHT, EMPTY, FULL, IN_SUIT, JACK, RANK, SEVEN, TEN, bit, chance_of_any, count_fewest, nth, without_lowest,
)  # fmt: skip
from card_envs.games.pis_yedili.rules import JACKS, count_points, count_rank, fits_card, fits_jack, playable
from card_envs.games.pis_yedili.state import (
    ACTION_DRAW, ACTION_PASS, ACTION_SUIT, ACTION_TAKE, DRAWN, LEAD, SEVENS, SUIT_PHASE, TURN,
)  # fmt: skip


ALL_SEVENS = RANK << np.uint64(SEVEN)
NOTHING = -1e300  # less than any value that parameters in their range can give

# ---- cards


@register_jitable
def longest_suit(hand):
    """The suit of which a hand has the most cards that fit a jack; the first one if several have as many."""
    longest = 0
    most = -1
    for suit in range(4):
        size = popcount(hand & fits_jack(suit))
        if size > most:
            most = size
            longest = suit
    return longest


@register_jitable
def fitting(hand, card):
    """The cards that may lie on ``card``; on a jack, those of the longest suit of ``hand``."""
    if card % IN_SUIT == JACK:
        return fits_jack(longest_suit(hand))
    return fits_card(card // IN_SUIT, card % IN_SUIT)


@register_jitable
def count_lonely(hand):
    """How many cards of a hand, not counting jacks, share neither suit nor rank with another one."""
    cards = hand & ~JACKS
    left = cards
    lonely = 0
    while left != EMPTY:
        card = lowest_bit(left)
        left = without_lowest(left)
        if cards & ~bit(card) & fitting(cards, card) == EMPTY:
            lonely += 1
    return lonely


# ---- the table


@register_jitable
def count_held(s, seat, distance):
    """How many cards the player holds whose turn comes ``distance`` turns after that of ``seat``."""
    return popcount(np.uint64(s.hands[(seat + distance * s.direction) % s.players]))


@register_jitable
def lateness(s):
    """How near the end of the stock is, from 0 to 1: a half when it has one card for each seat, 1 when it is empty."""
    return s.players / float(s.players + s.deck_size - s.drawn)


@register_jitable
def expected_lead(s, hand, unseen):
    """By how many points the mean of the other hands is expected to exceed ``hand``."""
    mean = count_points(unseen) / float(max(1, popcount(unseen)))
    others = popcount(unseen) - (s.deck_size - s.drawn)
    return mean * others / (s.players - 1.0) - count_points(hand)


@register_jitable
def without_card(s):
    """The action of a player who plays no card."""
    if s.phase == SEVENS:
        return ACTION_TAKE
    return ACTION_DRAW if s.phase == TURN or s.phase == LEAD else ACTION_PASS


# ---- random


@register_jitable
def choose_random(s, seat, words, key, parameters):
    """A uniformly random legal action, chosen without a mask: in playouts making one would cost more than the game itself."""
    if s.phase == SUIT_PHASE:
        return ACTION_SUIT + below(key, 4)[0]
    cards = playable(s, seat)
    size = popcount(cards)
    others = 1  # how many of draw, take and pass are legal
    if s.phase == LEAD and size > 0:
        others = 0
    elif s.phase == DRAWN and size == 0:
        others = 2
    n = below(key, size + others)[0]
    if n < size:
        return nth(cards, n)
    return ACTION_DRAW if n > size else without_card(s)


# ---- high, keepjack, full


@register_jitable
def value_high(s, seat, rest, card, w):
    """The points of the card."""
    return float(count_rank(card % IN_SUIT))


@register_jitable
def value_keepjack(s, seat, rest, card, w):
    """The points of the card, but less than those of any other card for a jack."""
    return -1.0 if card % IN_SUIT == JACK else float(count_rank(card % IN_SUIT))


class Full(NamedTuple):
    """The parameters of `full`."""

    follow: float = 1.0  # for each card of the hand that could follow
    points: float = 0.05  # for each point
    jack: float = -4.0
    ace: float = 2.0
    seven: float = -0.5
    eight: float = 1.0
    danger: float = 2.0  # if the next player holds at most this many cards, these count instead:
    seven_danger: float = 6.0
    eight_danger: float = 4.0
    ten_danger: float = 4.0  # only if the other neighbour holds more


IN_FULL = Full(*range(len(Full._fields)))


@register_jitable
def value_full(s, seat, rest, card, w):
    """What could follow the card, some of its points, and its effect, which counts more if the next player has few cards."""
    rank = card % IN_SUIT
    value = w[IN_FULL.follow] * popcount(rest & fitting(rest, card)) + w[IN_FULL.points] * count_rank(rank)
    ahead = count_held(s, seat, 1)
    danger = ahead <= w[IN_FULL.danger]
    if rank == JACK:
        value += w[IN_FULL.jack]
    elif rank == ACE:
        value += w[IN_FULL.ace]
    elif rank == SEVEN:
        value += w[IN_FULL.seven_danger] if danger else w[IN_FULL.seven]
    elif rank == EIGHT:
        value += w[IN_FULL.eight_danger] if danger else w[IN_FULL.eight]
    elif rank == TEN and danger and count_held(s, seat, -1) > ahead:
        value += w[IN_FULL.ten_danger]
    return value


def make_chooser(value):
    """The player who plays the card with the highest ``value`` whenever one fits, and who names their longest suit."""

    @register_jitable
    def choose(s, seat, words, key, parameters):
        hand = np.uint64(s.hands[seat])
        if s.phase == SUIT_PHASE:
            return ACTION_SUIT + longest_suit(hand)
        action = without_card(s)
        best = NOTHING
        cards = playable(s, seat)
        while cards != EMPTY:
            card = lowest_bit(cards)
            cards = without_lowest(cards)
            points = value(s, seat, hand & ~bit(card), card, parameters)
            if points > best:
                best = points
                action = card
        return action

    return choose


# ---- best


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
def appraise_none(s, fewest, w):
    """What it is worth to draw, take or pass although a card fits."""
    if s.phase == SEVENS:
        return w[AT.take] + w[AT.take_more] * (s.sevens - 1)
    if s.phase == TURN:
        return w[AT.draw] + w[AT.draw_short] / fewest
    return w[AT.decline] + (w[AT.decline_two] if s.players == 2 else 0.0)


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
def choose_best(s, seat, words, key, w):
    """The action with the highest appraisal."""
    hand = np.uint64(s.hands[seat])
    unseen = FULL & ~(hand | np.uint64(s.seen))  # in the stock or in another hand
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
    if without_lowest(hand) == EMPTY:  # the last card wins the deal
        return lowest_bit(cards)
    fewest = float(count_fewest(s, seat))
    late = lateness(s)
    if s.phase != LEAD:
        best = appraise_none(s, fewest, w)
    while cards != EMPTY:
        card = lowest_bit(cards)
        cards = without_lowest(cards)
        value = appraise_card(s, seat, hand & ~bit(card), unseen, fewest, late, card, w)
        if value > best:
            best = value
            action = card
    return action


POLICIES = (
    Policy("random", choose_random, "a uniformly random legal action", reads_mask=False),
    Policy("high", make_chooser(value_high), "sheds the card of the most points"),
    Policy("keepjack", make_chooser(value_keepjack), "sheds the card of the most points, a jack only when nothing else fits"),
    Policy(
        "full", make_chooser(value_full),
        "plays what most cards of its hand could follow, keeps its jacks, and stops the next player when they have at most"
        " `danger` cards",
        Full()._asdict(),
    ),
    Policy(
        "best", choose_best,
        "appraises every card, and playing none, in points: those it sheds now, how the rest of the hand goes with it, its"
        " effect, and what jacks and sevens are worth later",
        Best()._asdict(),
    ),
)  # fmt: skip
ALIASES: dict[str, str] = {}
