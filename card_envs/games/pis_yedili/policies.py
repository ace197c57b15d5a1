"""Built-in players of Pis Yedili.

Each of them gives a value to every card that it may play and plays the one with the highest; `best` may also draw, take or
pass although a card fits. They use their own hand, the pile, and how many cards the other seats and the stock hold.
"""

from typing import NamedTuple

import numpy as np
from card_envs.engine.jitable import register_jitable

from card_envs.engine.bits import lowest_bit, popcount
from card_envs.engine.game import Policy
from card_envs.engine.random import below
from card_envs.games.deck import ACE, EIGHT, EMPTY, IN_SUIT, JACK, SEVEN, TEN, bit, nth, without_lowest
from card_envs.games.pis_yedili.best import Best, choose_best
from card_envs.games.pis_yedili.rules import count_rank, playable
from card_envs.games.pis_yedili.state import ACTION_DRAW, ACTION_SUIT, DRAWN, LEAD, SUIT_PHASE
from card_envs.games.pis_yedili.tactics import NOTHING, count_held, fitting, longest_suit, without_card

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
