"""Built-in players of Rummy, for both presets.

They share three measures of a set of cards, all bit tricks: what can be melded (:func:`in_melds`), what would complete a meld
(:func:`outs`), and how near a card is to melds (:func:`chance`). ``chance`` serves twice: with the own hand it says what a card
is worth keeping for, with what is known and possible of an opponent's hand what a discard feeds.

They read what a seat may know: its hand, the pile, the table, the cards known to be in hands, sizes, options.
"""

import numpy as np
from numba.extending import register_jitable

from card_envs.engine.game import Policy
from card_envs.engine.random import choose_random, popcount
from card_envs.games.french_deck import ACE, DECK_SIZE, EMPTY, IN_SUIT, KING, ONE, RANK, SUIT, bit, holds, of_rank
from card_envs.games.rummy.actions import (
    ACTION_DISCARD, ACTION_DRAW, ACTION_END, ACTION_LAYOFF, ACTION_RUN, ACTION_SET, ACTION_TAKE, BELOW, PER_SUIT, RUN_HIGH,
    RUN_LOW,
)  # fmt: skip
from card_envs.games.rummy.melds import set_cards, span, table_cards
from card_envs.games.rummy.rules import may_lay_off
from card_envs.games.rummy.state import DRAW, NO_CARD, SPREAD, UNIVERSAL

NOTHING = -1e9
NO_ACTION = -1
BREAKS_MELD = 100.0  # what a card of a meld in hand is worth more than a loose one

FULL = (ONE << np.uint64(DECK_SIZE)) - ONE
ACES = RANK
TWOS = RANK << ONE
KINGS = RANK << np.uint64(KING)
TENS = KINGS | KINGS >> ONE | KINGS >> np.uint64(2) | KINGS >> np.uint64(3)
NUMBERS = FULL & ~TENS & ~ACES
_KING, _SUIT_1, _SUIT_2, _SUIT_3 = (np.uint64(n) for n in (KING, IN_SUIT, 2 * IN_SUIT, 3 * IN_SUIT))
# the cards 2 … 9 whose value has bit 0, 1, 2, 3: four popcounts add up a hand
_VALUE_1, _VALUE_2, _VALUE_4, _VALUE_8 = (
    np.uint64(sum(int(RANK) << rank for rank in range(1, 9) if (rank + 1) & value)) for value in (1, 2, 4, 8)
)


# ---- sets of cards


@register_jitable
def lowest(cards):
    """The lowest card of a set that is not empty."""
    return popcount((cards & (~cards + ONE)) - ONE)


@register_jitable
def is_legal(words, action):
    """Whether the mask viewed as uint64 words (eight flags each) allows ``action``."""
    return (words[action >> 3] >> np.uint64(8 * (action & 7))) & ONE != EMPTY


@register_jitable
def points_of(s, cards):
    """R20, R21: the values of cards as they count in a hand."""
    aces = popcount(cards & ACES)
    points = 10 * popcount(cards & TENS)
    if s.aces == UNIVERSAL:
        points += 15 * aces
    else:
        points += 5 * aces if s.simple else aces
    if s.simple:
        return points + 5 * popcount(cards & NUMBERS)
    points += popcount(cards & _VALUE_1) + 2 * popcount(cards & _VALUE_2)
    return points + 4 * popcount(cards & _VALUE_4) + 8 * popcount(cards & _VALUE_8)


@register_jitable
def above(s, cards):
    """The cards next above in suit; a universal ace is above its king."""
    up = (cards & ~KINGS) << ONE
    if s.aces == UNIVERSAL:
        up |= (cards & KINGS) >> _KING
    return up


@register_jitable
def below(s, cards):
    """The cards next below in suit."""
    down = (cards & ~ACES) >> ONE
    if s.aces == UNIVERSAL:
        down |= (cards & ACES) << _KING
    return down


@register_jitable
def in_melds(s, cards):
    """Those of ``cards`` that are in some meld of them; not all at once if melds overlap."""
    middle = cards & above(s, cards) & below(s, cards) & ~ACES  # no run goes around the corner (R11)
    c, d = cards & SUIT, (cards >> _SUIT_1) & SUIT
    h, p = (cards >> _SUIT_2) & SUIT, cards >> _SUIT_3
    thrice = (c & d & (h | p)) | (h & p & (c | d))
    return middle | above(s, middle) | below(s, middle) | (cards & (thrice * RANK))


@register_jitable
def outs(s, cards):
    """The other cards that make a meld with two of ``cards``."""
    up = above(s, cards)
    down = below(s, cards)
    c, d = cards & SUIT, (cards >> _SUIT_1) & SUIT
    h, p = (cards >> _SUIT_2) & SUIT, cards >> _SUIT_3
    twice = (c & d) | (h & p) | ((c | d) & (h | p))
    runs = (up & above(s, up) & ~TWOS) | (down & below(s, down) & ~KINGS) | (up & down & ~ACES)
    return ((twice * RANK) | runs) & ~cards


@register_jitable
def playable(s, seat, cards):
    """Those of ``cards`` that are in some meld of them, or can be laid off."""
    can = in_melds(s, cards)
    if may_lay_off(s, seat):
        can |= cards & (np.uint64(s.fits_set) | np.uint64(s.fits_below) | np.uint64(s.fits_above))
    return can


@register_jitable
def pile_cards(s):
    cards = EMPTY
    for i in range(s.pile_size):
        cards |= bit(s.discards[i])
    return cards


@register_jitable
def unseen_cards(s, hand, pile):
    """The cards in the stock, or in other hands and not known to be there."""
    cards = FULL & ~hand & ~pile & ~table_cards(s)
    for other in range(s.players):
        cards &= ~np.uint64(s.known[other])
    return cards


@register_jitable
def free_cards(s, hand):
    """What may be discarded (R6)."""
    return hand if s.taken == NO_CARD else hand & ~bit(s.taken)


@register_jitable
def shortest(s, seat):
    """The size of the shortest hand of the others."""
    size = DECK_SIZE
    for other in range(s.players):
        if other != seat:
            size = min(size, popcount(np.uint64(s.hands[other])))
    return size


# ---- how near a card is to melds


@register_jitable
def weigh(card, held, pile, maybe, in_pile, likely):
    """The weight of a set of one card or none."""
    if card & held:
        return 1.0
    if card & pile:
        return in_pile
    return likely if card & maybe else 0.0


@register_jitable
def chance(s, card, held, pile, maybe, in_pile, likely):
    """How near ``card`` is to melds: over all melds of three with it the product of the weights of the other two, summed.

    A card weighs 1 if ``held``, ``in_pile`` in the pile, ``likely`` if it may yet come. A run of the table that lacks one card
    up to ``card`` counts too.
    """
    one = bit(card)
    up = above(s, one)
    down = below(s, one)
    up_2 = EMPTY if up & ACES else above(s, up)
    down_2 = EMPTY if down & ACES else below(s, down)
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
    """Draw; with an empty stock take the top card if it can be played or is cheaper than a loose one, else end the deal."""
    if is_legal(words, ACTION_DRAW):
        return ACTION_DRAW
    top = np.int64(s.discards[s.pile_size - 1])
    after = playable(s, seat, hand | bit(top))
    loose = hand & ~after
    if holds(after, top) or (loose != EMPTY and points_of(s, bit(top)) < points_of(s, bit(dearest(s, loose)))):
        return ACTION_TAKE + top
    return ACTION_END


@register_jitable
def take_useful(s, seat, hand, words):
    """The top card if it can be played at once."""
    top = np.int64(s.discards[s.pile_size - 1])
    if holds(playable(s, seat, hand | bit(top)), top):
        return ACTION_TAKE + top
    return draw_or_end(s, seat, hand, words)


@register_jitable
def take_best(s, seat, hand, words, points, out, carry, stock):
    """The card of the pile that brings most, if more than a card from the stock, which counts ``stock``; else draw.

    Counted are ``points`` for each point that can be laid more, ``out`` for each unseen card that would complete a meld more,
    and ``-carry`` for each point of what stays in hand of the cards taken.
    """
    before = playable(s, seat, hand)
    unseen = unseen_cards(s, hand, pile_cards(s))
    laid = points_of(s, before)
    waiting = popcount(outs(s, hand & ~before) & unseen)
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
                gain = points * (points_of(s, after) - laid) - carry * points_of(s, rest & ~hand)
                gain += out * (popcount(outs(s, rest) & unseen) - waiting)
                if gain > best:
                    best = gain
                    action = ACTION_TAKE + card
    return action


# ---- melding and laying off


@register_jitable
def cards_of(action):
    """The cards that a meld or lay-off lays."""
    if action < ACTION_SET:
        return bit((action - ACTION_LAYOFF) % DECK_SIZE)
    if action < ACTION_RUN:
        return set_cards(action - ACTION_SET)
    run = action - ACTION_RUN
    return span(run // PER_SUIT, np.int64(RUN_LOW[run % PER_SUIT]), np.int64(RUN_HIGH[run % PER_SUIT]))


@register_jitable
def points_laid(s, action):
    """R22: what a meld or lay-off scores; an ace that lies lowest in a run counts 1, not 15."""
    points = points_of(s, cards_of(action))
    if s.aces == UNIVERSAL:
        if action >= ACTION_RUN:
            low_ace = RUN_LOW[(action - ACTION_RUN) % PER_SUIT] == ACE
        else:
            place = (action - ACTION_LAYOFF) // DECK_SIZE
            low_ace = place == BELOW and (action - ACTION_LAYOFF) % DECK_SIZE % IN_SUIT == ACE
        if low_ace:
            points -= 14
    return points


@register_jitable
def lay_most(s, seat, hand, words):
    """The meld or lay-off with the most points, those that can be laid after it included; NO_ACTION if none is legal."""
    best = NOTHING
    action = NO_ACTION
    for w in range(ACTION_LAYOFF >> 3, len(words)):
        word = words[w]
        while word != EMPTY:
            option = 8 * w + (lowest(word) >> 3)
            word &= word - ONE
            if option >= ACTION_LAYOFF:
                points = points_laid(s, option) + points_of(s, playable(s, seat, hand & ~cards_of(option)))
                if points > best:
                    best = points
                    action = option
    return action


# ---- discarding


@register_jitable
def dearest(s, cards):
    """The card with the most points, of those in no meld if there are any."""
    loose = cards & ~in_melds(s, cards)
    left = loose if loose != EMPTY else cards
    best = -1
    dear = NO_CARD
    while left != EMPTY:
        card = lowest(left)
        left &= left - ONE
        points = points_of(s, bit(card))
        if points > best:
            best = points
            dear = card
    return dear


@register_jitable
def feeds(s, seat, card, pile, unseen, in_pile, likely, others):
    """How near a discard is to melds of the next player, and so much as ``others`` of those after him."""
    total = 0.0
    left = max(1, popcount(unseen))
    for distance in range(1, s.players if others > 0.0 else 2):
        other = (seat + distance) % s.players
        known = np.uint64(s.known[other])
        hidden = popcount(np.uint64(s.hands[other])) - popcount(known)
        near = chance(s, card, known, pile, unseen, in_pile, likely * hidden / left)
        total += near if distance == 1 else others * near
    return total


# Parameters of `guard`, and their places in the array; `best` has those of holds_back too, and all twice: for taking only the
# top card, and for the spread pile.
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
    """The card that is worth least to keep, costs most if caught, and feeds the others least."""
    pile = pile_cards(s)
    unseen = unseen_cards(s, hand, pile)
    within = pile if s.pile == SPREAD else EMPTY
    dear = v[DEAR] * (13 if s.players == 2 else 7)  # a bigger hand costs more when caught
    kept = in_melds(s, hand)
    left = free_cards(s, hand)
    best = NOTHING
    action = NO_ACTION
    while left != EMPTY:
        card = lowest(left)
        left &= left - ONE
        points = points_of(s, bit(card))
        value = dear * points
        value -= (v[KEEP] + v[KEEP_POINTS] * points) * chance(s, card, hand, within, unseen, 1.0, v[UNSEEN])
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
    """Whether to keep melds in the hand, where they feed nobody: with few loose cards, while nobody is about to go out."""
    if shortest(s, seat) <= v[HOLD] or s.deck_size - s.drawn <= v[EARLY]:
        return False
    loose = popcount(hand & ~playable(s, seat, hand))
    return 1 < loose <= v[LOOSE]


# ---- the players


@register_jitable
def choose_greedy(s, seat, words, key, parameters):
    seat = np.int64(seat)  # all helpers are then compiled for one type of seat
    hand = np.uint64(s.hands[seat])
    if s.phase == DRAW:
        return take_useful(s, seat, hand, words)
    action = lay_most(s, seat, hand, words)
    return action if action != NO_ACTION else ACTION_DISCARD + dearest(s, free_cards(s, hand))


@register_jitable
def choose_pile(s, seat, words, key, parameters):
    seat = np.int64(seat)  # all helpers are then compiled for one type of seat
    hand = np.uint64(s.hands[seat])
    if s.phase == DRAW:
        return take_best(s, seat, hand, words, 1.0, 0.0, parameters[0], parameters[1])
    action = lay_most(s, seat, hand, words)
    return action if action != NO_ACTION else ACTION_DISCARD + dearest(s, free_cards(s, hand))


@register_jitable
def choose_guard(s, seat, words, key, parameters):
    seat = np.int64(seat)  # all helpers are then compiled for one type of seat
    hand = np.uint64(s.hands[seat])
    v = parameters
    if s.phase == DRAW:
        return take_best(s, seat, hand, words, v[POINTS], v[OUT], v[CARRY], v[STOCK])
    action = lay_most(s, seat, hand, words)
    return action if action != NO_ACTION else discard_wisely(s, seat, hand, v)


@register_jitable
def choose_best(s, seat, words, key, parameters):
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
        "`greedy` that takes lower cards of a spread pile too, if what it can lay of them is worth more than `carry` times what"
        " it cannot, and than a card from the stock, `stock`",
        {"carry": 0.5, "stock": 0.0},
    ),
    Policy(
        "guard", choose_guard,
        "`pile` that discards by points (`dear`, for each card dealt), by what a card is worth to keep (`keep`, `keep_points`;"
        " a card not seen yet weighs `unseen`), and by what it feeds the next player (`feed`, `feed_points`, `likely`,"
        " `in_pile`) and so much as `others` of those after him",
        GUARD,
    ),
    Policy(
        "best", choose_best,
        "`guard` with weights tuned on duplicate deals, others for a spread pile, that keeps melds back while every other hand"
        " is bigger than `hold`, the stock than `early`, and it has no more loose cards than `loose`",
        {**TOP, **{f"spread_{name}": value for name, value in SPREAD_PILE.items()}},
    ),
)  # fmt: skip
ALIASES: dict[str, str] = {}
