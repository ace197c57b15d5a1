"""Built-in players of Rummy, for both presets.

They share three measures of a set of cards: what can be melded (:func:`~card_envs.games.melds.in_melds`), what would complete
a meld (:func:`~card_envs.games.melds.outs`), and how near a card is to melds (:func:`nearness`). The last of them serves twice:
with the player's own hand it says how much a card is worth keeping, and with what is known and possible of an opponent's hand
how much a discard helps them.

They read what a seat may know: its hand, the pile, the table, the cards known to be in hands, the sizes of hands, the options.
"""

import numpy as np

from card_envs.engine.game import Policy
from card_envs.engine.bits import is_legal, lowest_bit, popcount
from card_envs.engine.jitable import register_jitable
from card_envs.engine.random import choose_random
from card_envs.games.deck import ACES, EMPTY, IN_SUIT, NO_CARD, bit, count_fewest, holds, of_rank, without_lowest
from card_envs.games.melds import above, below, in_melds, outs
from card_envs.games.rummy.observation import pile_cards, unseen_cards
from card_envs.games.rummy.rules import count_laid, count_points, laid_cards, playable
from card_envs.games.rummy.state import (
    ACTION_DISCARD, ACTION_DRAW, ACTION_END, ACTION_LAYOFF, ACTION_SET, ACTION_TAKE, DRAW, HAND_SIZES, SPREAD, UNIVERSAL,
)  # fmt: skip

NOTHING = -1e300  # less than any value that parameters in their range can give
NO_ACTION = -1
BREAKS_MELD = 100.0  # how much more a card of a meld in hand is worth than a loose one


@register_jitable
def free_cards(s, hand):
    """What may be discarded (R6)."""
    return hand if s.taken == NO_CARD else hand & ~bit(s.taken)


# ---- how near a card is to melds


@register_jitable
def weigh(card, held, pile, maybe, in_pile, likely):
    """The weight of a set of at most one card: 1 in ``held``, ``in_pile`` in ``pile``, ``likely`` in ``maybe``, else 0."""
    if card & held:
        return 1.0
    if card & pile:
        return in_pile
    return likely if card & maybe else 0.0


@register_jitable
def nearness(s, card, held, pile, maybe, in_pile, likely):
    """How near ``card`` is to melds: the sum, over all melds of three that hold it, of the product of the other two weights.

    Other cards weigh what :func:`weigh` says. A run on the table that ``card`` would fit after one more card counts, too.
    """
    universal = s.aces == UNIVERSAL
    one = bit(card)
    up = above(one, universal)
    down = below(one, universal)
    up_2 = EMPTY if up & ACES else above(up, universal)
    down_2 = EMPTY if down & ACES else below(down, universal)
    next_up = weigh(up, held, pile, maybe, in_pile, likely)
    next_down = weigh(down, held, pile, maybe, in_pile, likely)
    total = 0.0
    if next_up > 0.0:
        total += next_up * weigh(up_2, held, pile, maybe, in_pile, likely)
        if up & np.uint64(s.fits_below):
            total += next_up
    if next_down > 0.0:
        total += next_down * weigh(down_2, held, pile, maybe, in_pile, likely)
        if down & np.uint64(s.fits_above):
            total += next_down
    if not one & ACES:
        total += next_up * next_down
    mates = of_rank(card % IN_SUIT) & ~one
    n, k, m = popcount(mates & held), popcount(mates & pile), popcount(mates & maybe)
    weight = n + in_pile * k + likely * m
    return total + 0.5 * (weight * weight - n - in_pile * in_pile * k - likely * likely * m)  # all pairs of mates


# ---- drawing


@register_jitable
def draw_or_end(s, seat, hand, words):
    """Draw; with an empty stock, take the top card if it can be played or costs less than a loose one, else end the deal."""
    if is_legal(words, ACTION_DRAW):
        return ACTION_DRAW
    top = np.int64(s.discards[s.pile_size - 1])
    after = playable(s, seat, hand | bit(top))
    loose = hand & ~after
    if holds(after, top) or (loose != EMPTY and count_points(s, bit(top)) < count_points(s, bit(dearest(s, loose)))):
        return ACTION_TAKE + top
    return ACTION_END


@register_jitable
def take_useful(s, seat, hand, words):
    """Take the top card if it can be played at once; else draw."""
    top = np.int64(s.discards[s.pile_size - 1])
    if holds(playable(s, seat, hand | bit(top)), top):
        return ACTION_TAKE + top
    return draw_or_end(s, seat, hand, words)


@register_jitable
def take_best(s, seat, hand, words, points, out, carry, stock):
    """Take the card of the pile that is worth most, if that is more than ``stock``, the worth of a card from the stock.

    What is taken is worth ``points`` for each further point that can be laid, ``out`` for each further unseen card that would
    complete a meld, and minus ``carry`` for each point of those taken cards that stay in the hand.
    """
    universal = s.aces == UNIVERSAL
    before = playable(s, seat, hand)
    unseen = unseen_cards(s, hand, pile_cards(s))
    laid = count_points(s, before)
    waiting = popcount(outs(hand & ~before, universal) & unseen)
    best = stock
    action = draw_or_end(s, seat, hand, words)
    top = s.pile_size - 1
    cards = hand
    for i in range(top, -1 if s.pile == SPREAD else top - 1, -1):
        card = np.int64(s.discards[i])
        cards |= bit(card)
        if is_legal(words, ACTION_TAKE + card):
            after = playable(s, seat, cards)
            if holds(after, card):
                rest = cards & ~after
                gain = points * (count_points(s, after) - laid) - carry * count_points(s, rest & ~hand)
                gain += out * (popcount(outs(rest, universal) & unseen) - waiting)
                if gain > best:
                    best = gain
                    action = ACTION_TAKE + card
    return action


# ---- melding and laying off


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
                points = count_laid(s, option) + count_points(s, playable(s, seat, hand & ~laid_cards(option)))
                if points > best:
                    best = points
                    action = option
    return action


# ---- discarding


@register_jitable
def dearest(s, cards):
    """The card with the most points, if possible among those that are in no meld."""
    loose = cards & ~in_melds(cards, s.aces == UNIVERSAL)
    left = loose if loose != EMPTY else cards
    best = -1
    dear = NO_CARD
    while left != EMPTY:
        card = lowest_bit(left)
        left = without_lowest(left)
        points = count_points(s, bit(card))
        if points > best:
            best = points
            dear = card
    return dear


@register_jitable
def feeds(s, seat, card, pile, unseen, in_pile, likely, others):
    """How near a discard is to the melds of the next player, and, weighted by ``others``, of the players after them."""
    total = 0.0
    left = max(1, popcount(unseen))
    for distance in range(1, s.players if others > 0.0 else 2):
        other = (seat + distance) % s.players
        known = np.uint64(s.known[other])
        hidden = popcount(np.uint64(s.hands[other])) - popcount(known)
        near = nearness(s, card, known, pile, unseen, in_pile, likely * hidden / left)
        total += near if distance == 1 else others * near
    return total


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


@register_jitable
def discard_wisely(s, seat, hand, v):
    """Discard the card that is worth the least to keep, costs the most at the end of the deal, and helps the others least."""
    pile = pile_cards(s)
    unseen = unseen_cards(s, hand, pile)
    within = pile if s.pile == SPREAD else EMPTY
    dear = v[DEAR] * HAND_SIZES[s.players]  # a bigger hand costs more when the player is caught with it
    kept = in_melds(hand, s.aces == UNIVERSAL)
    left = free_cards(s, hand)
    best = NOTHING
    action = NO_ACTION
    while left != EMPTY:
        card = lowest_bit(left)
        left = without_lowest(left)
        points = count_points(s, bit(card))
        value = dear * points
        value -= (v[KEEP] + v[KEEP_POINTS] * points) * nearness(s, card, hand, within, unseen, 1.0, v[UNSEEN])
        near = feeds(s, seat, card, within, unseen, v[IN_PILE], v[LIKELY], v[OTHERS])
        value -= (v[FEED] + v[FEED_POINTS] * points) * near
        if holds(kept, card):
            value -= BREAKS_MELD
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


# ---- the players


@register_jitable
def choose_greedy(s, seat, words, key, parameters):
    """Lay whatever can be laid, and discard the dearest card."""
    seat = np.int64(seat)  # all helpers are then compiled for one type of seat
    hand = np.uint64(s.hands[seat])
    if s.phase == DRAW:
        return take_useful(s, seat, hand, words)
    action = lay_most(s, seat, hand, words)
    return action if action != NO_ACTION else ACTION_DISCARD + dearest(s, free_cards(s, hand))


@register_jitable
def choose_pile(s, seat, words, key, parameters):
    """As `greedy`, and take from a spread pile what is worth it."""
    seat = np.int64(seat)  # all helpers are then compiled for one type of seat
    hand = np.uint64(s.hands[seat])
    if s.phase == DRAW:
        return take_best(s, seat, hand, words, 1.0, 0.0, parameters[0], parameters[1])
    action = lay_most(s, seat, hand, words)
    return action if action != NO_ACTION else ACTION_DISCARD + dearest(s, free_cards(s, hand))


@register_jitable
def choose_guard(s, seat, words, key, parameters):
    """As `pile`, and discard what helps the others least."""
    seat = np.int64(seat)  # all helpers are then compiled for one type of seat
    hand = np.uint64(s.hands[seat])
    v = parameters
    if s.phase == DRAW:
        return take_best(s, seat, hand, words, v[POINTS], v[OUT], v[CARRY], v[STOCK])
    action = lay_most(s, seat, hand, words)
    return action if action != NO_ACTION else discard_wisely(s, seat, hand, v)


@register_jitable
def choose_best(s, seat, words, key, parameters):
    """As `guard`, and hold melds back while that is safe."""
    seat = np.int64(seat)  # all helpers are then compiled for one type of seat
    hand = np.uint64(s.hands[seat])
    v = parameters[WEIGHTS:] if s.pile == SPREAD else parameters
    if s.phase == DRAW:
        return take_best(s, seat, hand, words, v[POINTS], v[OUT], v[CARRY], v[STOCK])
    action = lay_most(s, seat, hand, words)
    free = s.must == NO_CARD  # R8
    if action == NO_ACTION or (free and action >= ACTION_SET and holds_back(s, seat, hand, v)):
        return discard_wisely(s, seat, hand, v)
    return action


POLICIES = (
    Policy("random", choose_random, "a uniformly random legal action"),
    Policy("greedy", choose_greedy, "takes the top card if it can be played, lays all it can, discards the dearest loose card"),
    Policy(
        "pile", choose_pile,
        "like `greedy`, but also takes lower cards of a spread pile if what it can lay of them is worth more than `carry` times"
        " what it cannot, and more than a card from the stock, `stock`",
        {"carry": 0.5, "stock": 0.0},
    ),
    Policy(
        "guard", choose_guard,
        "like `pile`, but discards by points (`dear`, for each card dealt), by how much a card is worth keeping (`keep`,"
        " `keep_points`; a card not seen yet weighs `unseen`), and by how much it helps the next player (`feed`, `feed_points`,"
        " `likely`, `in_pile`) and, weighted by `others`, the players after them",
        GUARD,
    ),
    Policy(
        "best", choose_best,
        "like `guard`, with weights tuned on duplicate deals, others for a spread pile; keeps melds back while every other hand"
        " has more than `hold` cards, the stock more than `early`, and its own hand at most `loose` loose ones",
        {**TOP, **{f"spread_{name}": value for name, value in SPREAD_PILE.items()}},
    ),
)  # fmt: skip
ALIASES: dict[str, str] = {}
