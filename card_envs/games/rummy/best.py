"""The player `best`: what it finds each action worth, and which it chooses. Other built-in players share parts of it."""

import numpy as np

from card_envs.engine.bits import is_legal, lowest_bit, popcount
from card_envs.engine.jitable import register_jitable
from card_envs.games.deck import EMPTY, NO_CARD, bit, count_fewest, holds, without_lowest
from card_envs.games.melds import in_melds, outs
from card_envs.games.rummy.observation import pile_cards, unseen_cards
from card_envs.games.rummy.rules import count_laid, count_points, laid_cards, playable
from card_envs.games.rummy.state import (
    ACTION_DISCARD,
    ACTION_LAYOFF,
    ACTION_SET,
    ACTION_TAKE,
    DRAW,
    HAND_SIZES,
    SPREAD,
    UNIVERSAL,
)
from card_envs.games.rummy.tactics import NO_ACTION, NOTHING, draw_or_end, feeds, free_cards, nearness, reachable_pile

BREAKS_MELD = 100.0  # how much more a card of a meld in hand is worth than a loose one

# The parameters of `guard`, and their places in the array. `best` has those of holds_back, too, and all of them twice: once for
# games in which only the top card can be taken, and once for a spread pile.
GUARD = {
    "unseen": 0.1, "keep": 10.0, "keep_points": 0.0, "dear": 0.08, "feed": 5.0, "feed_points": 0.0, "likely": 1.0,
    "in_pile": 1.0, "others": 0.0, "points": 1.0, "out": 0.0, "carry": 0.5, "stock": 0.0,
}  # fmt: skip
TOP = {
    "unseen": 0.17, "keep": 13.0, "keep_points": 0.0, "dear": 0.05, "feed": 1.9, "feed_points": 0.0, "likely": 1.0,
    "in_pile": 0.0, "others": 0.0, "points": 1.0, "out": 0.0, "carry": 1.0, "stock": -13.0,
    "hold": 6.0, "loose": 5.0, "early": 12.0,
}  # fmt: skip
SPREAD_PILE = {
    "unseen": 0.13, "keep": 13.0, "keep_points": 1.0, "dear": 0.02, "feed": 3.2, "feed_points": 1.2, "likely": 1.4,
    "in_pile": 3.4, "others": 0.5, "points": 1.25, "out": 1.0, "carry": 0.4, "stock": -13.0,
    "hold": 4.0, "loose": 99.0, "early": 8.0,
}  # fmt: skip
(
    UNSEEN, KEEP, KEEP_POINTS, DEAR, FEED, FEED_POINTS, LIKELY, IN_PILE, OTHERS, POINTS, OUT, CARRY, STOCK, HOLD, LOOSE, EARLY,
) = range(len(TOP))  # fmt: skip
WEIGHTS = len(TOP)

BEST = np.array([[*TOP.values()], [*SPREAD_PILE.values()]])

# ---- drawing


@register_jitable
def count_waiting(s, cards, can, unseen):
    """How many unseen cards would make a meld with two of those ``cards`` that cannot be played yet."""
    return popcount(outs(cards & ~can, s.aces == UNIVERSAL) & unseen)


@register_jitable
def appraise_take(s, hand, can, cards, then, unseen, points, out, carry):
    """What it is worth to have ``cards`` in place of ``hand``, of which ``then`` and ``can`` can be played.

    That is ``points`` for each further point that can be laid, ``out`` for each further unseen card that would complete a meld,
    and minus ``carry`` for each point of those taken cards that stay in the hand.
    """
    gain = points * (count_points(s, then) - count_points(s, can)) - carry * count_points(s, cards & ~then & ~hand)
    return gain + out * (count_waiting(s, cards, then, unseen) - count_waiting(s, hand, can, unseen))


@register_jitable
def take_best(s, seat, hand, words, points, out, carry, stock):
    """Take the card of the pile that is worth most, of those that can be played, if that is more than ``stock``.

    This is the worth of a card from the stock. See :func:`appraise_take` for the other parameters.
    """
    can = playable(s, seat, hand)
    unseen = unseen_cards(s, hand, pile_cards(s))
    best = stock
    action = draw_or_end(s, seat, hand, words)
    top = s.pile_size - 1
    cards = hand
    for i in range(top, -1 if s.pile == SPREAD else top - 1, -1):
        card = np.int64(s.discards[i])
        cards |= bit(card)
        if is_legal(words, ACTION_TAKE + card):
            then = playable(s, seat, cards)
            if holds(then, card):
                gain = appraise_take(s, hand, can, cards, then, unseen, points, out, carry)
                if gain > best:
                    best = gain
                    action = ACTION_TAKE + card
    return action


# ---- melding and laying off


@register_jitable
def appraise_lay(s, seat, hand, action):
    """The points of a meld or a lay-off and of what can be laid after it."""
    return count_laid(s, action) + count_points(s, playable(s, seat, hand & ~laid_cards(action)))


@register_jitable
def lay_most(s, seat, hand, words):
    """The meld or lay-off with the most points, counting what can be laid after it; NO_ACTION if none is legal."""
    best = NOTHING
    action = NO_ACTION
    for w in range(ACTION_LAYOFF >> 3, len(words)):
        word = words[w]
        while word != EMPTY:
            option = 8 * w + (lowest_bit(word) >> 3)
            word = without_lowest(word)
            if option >= ACTION_LAYOFF:
                points = appraise_lay(s, seat, hand, option)
                if points > best:
                    best = points
                    action = option
    return action


# ---- discarding


@register_jitable
def appraise_discard(s, seat, hand, kept, within, unseen, card, v):
    """What it is worth to discard a card: its points, less its worth in the own hand, less its help to the others.

    ``kept`` are the cards of melds in the hand, ``within`` those of the pile that can be reached.
    """
    points = count_points(s, bit(card))
    # a bigger hand costs more when the player is caught with it
    value = v[DEAR] * HAND_SIZES[s.players] * points
    value -= (v[KEEP] + v[KEEP_POINTS] * points) * nearness(s, card, hand, within, unseen, 1.0, v[UNSEEN])
    near = feeds(s, seat, card, within, unseen, v[IN_PILE], v[LIKELY], v[OTHERS])
    value -= (v[FEED] + v[FEED_POINTS] * points) * near
    if holds(kept, card):
        value -= BREAKS_MELD
    return value


@register_jitable
def discard_wisely(s, seat, hand, v):
    """Discard the card that is worth the least to keep, costs the most at the end of the deal, and helps the others least."""
    pile = pile_cards(s)
    unseen = unseen_cards(s, hand, pile)
    within = reachable_pile(s, pile)
    kept = in_melds(hand, s.aces == UNIVERSAL)
    left = free_cards(s, hand)
    best = NOTHING
    action = NO_ACTION
    while left != EMPTY:
        card = lowest_bit(left)
        left = without_lowest(left)
        value = appraise_discard(s, seat, hand, kept, within, unseen, card, v)
        if value > best:
            best = value
            action = ACTION_DISCARD + card
    return action


@register_jitable
def holds_back(s, seat, hand, v):
    """Whether to keep melds in the hand, where nobody can lay off on them: with few loose cards, while all hands are long."""
    if count_fewest(s, seat) <= v[HOLD] or s.deck_size - s.drawn <= v[EARLY]:
        return False
    loose = popcount(hand & ~playable(s, seat, hand))
    return 1 < loose <= v[LOOSE]


# ---- the player


@register_jitable
def find_best(s, seat, hand, words, v):
    """The action of `best` with the parameters ``v`` for the pile of the game, a row of ``BEST`` by default."""
    if s.phase == DRAW:
        return take_best(s, seat, hand, words, v[POINTS], v[OUT], v[CARRY], v[STOCK])
    action = lay_most(s, seat, hand, words)
    free = s.must == NO_CARD  # R8
    if action == NO_ACTION or (free and action >= ACTION_SET and holds_back(s, seat, hand, v)):
        return discard_wisely(s, seat, hand, v)
    return action


@register_jitable
def appraise(s, seat, hand, can, within, unseen, cards, then, action, v):
    """What an action is worth by the measure that `best` has for its kind: draw and take, meld and lay off, or discard.

    ``cards`` are the hand after cards are taken; ``can`` and ``then`` are what can be played of the hand and of ``cards``.
    ``within`` are the cards of the pile that can be reached.
    """
    if action >= ACTION_LAYOFF:
        return float(appraise_lay(s, seat, hand, action))
    if action >= ACTION_DISCARD:
        kept = in_melds(hand, s.aces == UNIVERSAL)
        return appraise_discard(s, seat, hand, kept, within, unseen, action - ACTION_DISCARD, v)
    if action >= ACTION_TAKE:
        return appraise_take(s, hand, can, cards, then, unseen, v[POINTS], v[OUT], v[CARRY])
    return v[STOCK]
