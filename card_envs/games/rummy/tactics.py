"""What the built-in players of Rummy look at.

They share three measures of a set of cards: what can be melded (:func:`~card_envs.games.melds.in_melds`), what would complete
a meld (:func:`~card_envs.games.melds.outs`), and how near a card is to melds (:func:`nearness`). The last of them serves twice:
with the player's own hand it says how much a card is worth keeping, and with what is known and possible of an opponent's hand
how much a discard helps them.

They read what a seat may know: its hand, the pile, the table, the cards known to be in hands, the sizes of hands, the options.
"""

import numpy as np

from card_envs.engine.bits import is_legal, lowest_bit, popcount
from card_envs.engine.jitable import register_jitable
from card_envs.games.deck import ACE, ACES, DECK_SIZE, EMPTY, IN_SUIT, NO_CARD, bit, holds, of_rank, without_lowest
from card_envs.games.melds import (
    HIGH_ACE, PER_RANK, PER_SUIT, RUN_HIGH, RUN_LOW, above, below, fits_above, fits_below, in_melds,
)  # fmt: skip
from card_envs.games.rummy.rules import count_points, playable
from card_envs.games.rummy.state import (
    ABOVE, ACTION_DRAW, ACTION_END, ACTION_LAYOFF, ACTION_RUN, ACTION_SET, ACTION_TAKE, BELOW, SPREAD, UNIVERSAL,
)  # fmt: skip

NOTHING = -1e300  # less than any value that parameters in their range can give
NO_ACTION = -1


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
    """How near ``card`` is to melds, with the table as it is: see :func:`nearness_to`."""
    below_runs, above_runs = np.uint64(s.fits_below), np.uint64(s.fits_above)
    return nearness_to(s.aces == UNIVERSAL, below_runs, above_runs, card, held, pile, maybe, in_pile, likely)


@register_jitable
def nearness_to(universal, below_runs, above_runs, card, held, pile, maybe, in_pile, likely):
    """How near ``card`` is to melds: the sum, over all melds of three that hold it, of the product of the other two weights.

    Other cards weigh what :func:`weigh` says. A run on the table that ``card`` would fit after one more card counts, too, with
    the weight of that card; ``below_runs`` and ``above_runs`` are the cards that fit runs on the table.
    """
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
        if up & below_runs:
            total += next_up
    if next_down > 0.0:
        total += next_down * weigh(down_2, held, pile, maybe, in_pile, likely)
        if down & above_runs:
            total += next_down
    if not one & ACES:
        total += next_up * next_down
    mates = of_rank(card % IN_SUIT) & ~one
    n, k, m = popcount(mates & held), popcount(mates & pile), popcount(mates & maybe)
    weight = n + in_pile * k + likely * m
    return total + 0.5 * (weight * weight - n - in_pile * in_pile * k - likely * likely * m)  # all pairs of mates


@register_jitable
def reachable_pile(s, pile):
    """The cards of the pile, if lower ones can be taken, too (R8); else none."""
    return pile if s.pile == SPREAD else EMPTY


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


@register_jitable
def find_fits_after(s, action):
    """The cards that fit sets, below runs and above runs (R13, R14) after an action.

    Cards that lie on the table may be among them.
    """
    universal = s.aces == UNIVERSAL
    on_sets, below_runs, above_runs = np.uint64(s.fits_set), np.uint64(s.fits_below), np.uint64(s.fits_above)
    if action >= ACTION_RUN:
        number = action - ACTION_RUN
        suit, low, high = number // PER_SUIT, np.int64(RUN_LOW[number % PER_SUIT]), np.int64(RUN_HIGH[number % PER_SUIT])
        below_runs |= fits_below(suit, low)
        above_runs |= fits_above(suit, high, universal)
    elif action >= ACTION_SET:
        on_sets |= of_rank((action - ACTION_SET) // PER_RANK)
    elif action >= ACTION_LAYOFF:
        place = (action - ACTION_LAYOFF) // DECK_SIZE
        suit = (action - ACTION_LAYOFF) % DECK_SIZE // IN_SUIT
        rank = (action - ACTION_LAYOFF) % IN_SUIT
        if place == BELOW:
            below_runs |= fits_below(suit, rank)
        elif place == ABOVE:
            above_runs |= fits_above(suit, HIGH_ACE if rank == ACE else rank, universal)
    return on_sets, below_runs, above_runs


# ---- what needs no parameters


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
