"""What a line is: doubles, lawful pairs, wipes, the count of seven, sums and scores.

A line is a set of cards, bit ``card`` of an int, since it never holds two cards alike. The functions in the first part of this
module are pure functions of such a set; those without a branch also work on an int64 array of sets when Python calls them. The
rest is about the lines on a table: how they change, what they score, and which cards would bust them.
"""

import numpy as np
from numba.extending import overload

from card_envs.engine.bits import popcount
from card_envs.engine.jitable import register_jitable
from card_envs.games.flip7.deck import get_packed, pack_next, sum_packed, sum_values
from card_envs.games.flip7.state import (
    BUSTED, COPIES, FIRST_MODIFIER, HALF, KINDS, LUCKY_13, MAX_PLAYERS, NUMBERS, SEVEN, THIRTEEN, UNLUCKY_7, ZERO,
)  # fmt: skip

FLIP_SEVEN = 7  # so many number cards end the round (F29)
BONUS_POINTS = 15  # what a Flip 7 earns
BUST = -1  # stands for a line that has busted
ALL = np.array(COPIES, np.int8)
PAIR = 1 << THIRTEEN | 1 << LUCKY_13
PLAIN = (1 << LUCKY_13) - 1  # the number cards 0 … 13 without a name of their own


@register_jitable
def get_value(card):
    """The value of a number card."""
    if card == LUCKY_13:
        return THIRTEEN
    if card == UNLUCKY_7:
        return SEVEN
    return card


@register_jitable
def get_minus(card):
    """The points that a minus card takes away."""
    return 2 * (card - FIRST_MODIFIER + 1)


# To add up a set without a loop: the cards whose points have the bit 1, 2, 4 or 8, each as a set.
VALUE_1, VALUE_2, VALUE_4, VALUE_8 = (
    sum(1 << card for card in range(FIRST_MODIFIER) if get_value(card) & bit) for bit in (1, 2, 4, 8)
)
PLAIN_VALUE = ~(1 << ZERO | 1 << UNLUCKY_7)  # all cards but the two that may take points away when they come
BENT = 1 << ZERO | 1 << HALF  # with one of these a card does not simply add its value to the score
MINUS_2, MINUS_4, MINUS_8 = (
    sum(1 << card for card in range(FIRST_MODIFIER, HALF) if get_minus(card) & bit) for bit in (2, 4, 8)
)


@register_jitable
def has_card(held, card):
    """1 if ``card`` lies in the line, else 0."""
    return (held >> card) & 1


def count_set(cards):
    """How many cards a set has."""
    if np.ndim(cards) == 0:
        return int(cards).bit_count()  # popcount wraps, which NumPy's scalars warn of
    return popcount(np.uint64(cards))


@overload(count_set)
def _compile_count_set(cards):
    return lambda cards: popcount(np.uint64(cards))


@register_jitable
def find_doubles(held):
    """The cards that would bust the line as a second of their value, as a set (F22).

    A 13 is among them exactly if another plain 13 lies there, with Lucky 13 (F28) or without it (F27). Lucky 13 and Unlucky 7
    never are: there is one of each, the former may join a 13, and the latter wipes the line.
    """
    return held & PLAIN | has_card(held, UNLUCKY_7) << SEVEN


@register_jitable
def is_double(held, card):
    """Whether ``card`` would bust the line (F22)."""
    return has_card(find_doubles(held), card) == 1


@register_jitable
def add_card(held, card):
    """The line once ``card`` has arrived: wiped by Unlucky 7 (F30), or :data:`BUST` after a double."""
    if card == UNLUCKY_7:
        return 1 << UNLUCKY_7
    if is_double(held, card):
        return BUST
    return held | 1 << card


@register_jitable
def count_line(held, pair_counts_twice):
    """How many of the seven cards of a Flip 7 the line has; without ``pair_counts_twice`` two 13s are one (F29)."""
    numbers = count_set(held & NUMBERS)
    if not pair_counts_twice and held & PAIR == PAIR:
        numbers -= 1
    return numbers


@register_jitable
def is_flip_seven(held, pair_counts_twice):
    """F29: whether the line has seven number cards."""
    return count_line(held, pair_counts_twice) >= FLIP_SEVEN


@register_jitable
def sum_line(held):
    """The sum of the line's number cards; a pair counts both."""
    return (
        count_set(held & VALUE_1)
        + 2 * count_set(held & VALUE_2)
        + 4 * count_set(held & VALUE_4)
        + 8 * count_set(held & VALUE_8)
    )


@register_jitable
def sum_minus(held):
    """The points that the line's minus cards take away."""
    return 2 * count_set(held & MINUS_2) + 4 * count_set(held & MINUS_4) + 8 * count_set(held & MINUS_8)


@register_jitable
def score_sum(total, minus, half, zero, brutal):
    """F39: the score, without the 15, of a line whose numbers sum to ``total``; ``zero`` says that Zero makes it nothing."""
    points = (total >> half) - minus
    if not brutal:
        points = max(points, 0)  # F41
    return 0 if zero else points  # F31, F44


@register_jitable
def score_line(held, flips, brutal):
    """F39: the score of a line, without the 15; ``flips`` says that its owner has flipped 7."""
    zero = has_card(held, ZERO) and not flips
    return score_sum(sum_line(held), sum_minus(held), has_card(held, HALF), zero, brutal)


# ---- the lines on a table


@register_jitable
def change_sums(s, seat, card, sign):
    """Keep the sums of a live line: ``card`` comes (sign 1) or leaves (-1)."""
    s.held[seat] ^= 1 << card
    if card < FIRST_MODIFIER:
        s.numbers[seat] += sign * get_value(card)
    elif card < HALF:
        s.minus[seat] += sign * get_minus(card)


@register_jitable
def append_card(s, seat, card):
    """``card`` joins the live line of ``seat``."""
    s.cards[seat, s.length[seat]] = card
    s.length[seat] += 1
    change_sums(s, seat, card, 1)


@register_jitable
def remove_card(s, seat, card):
    """Take ``card`` out of the live line of ``seat``; the others keep their order."""
    n = s.length[seat] - 1
    moved = card
    for i in range(n, s.void[seat] - 1, -1):
        here = s.cards[seat, i]
        s.cards[seat, i] = moved
        moved = here
        if here == card:
            break
    s.length[seat] = n
    change_sums(s, seat, card, -1)


@register_jitable
def clear_line(s, seat):
    """Forget the live line of ``seat``: its cards are void or have been discarded."""
    s.held[seat] = 0
    s.numbers[seat] = 0
    s.minus[seat] = 0


@register_jitable
def wipe_line(s, seat):
    """F30: Unlucky 7 comes and discards every other card of the line."""
    for i in range(s.void[seat], s.length[seat]):
        s.discard[s.cards[seat, i]] += 1
    s.length[seat] = s.void[seat]
    clear_line(s, seat)
    append_card(s, seat, UNLUCKY_7)


@register_jitable
def bust_line(s, seat, card):
    """F38: the line is out of play until the round ends, and the double with it."""
    append_card(s, seat, card)
    s.status[seat] = BUSTED
    s.void[seat] = s.length[seat]
    clear_line(s, seat)


@register_jitable
def discard_lines(s):
    """F9: the round is over, and all cards but those in the deck lie in the discard pile."""
    for kind in range(KINDS):
        s.discard[kind] = ALL[kind] - s.unseen[kind]
    for seat in range(MAX_PLAYERS):
        s.void[seat] = 0
        s.length[seat] = 0
        s.held[seat] = 0
        s.numbers[seat] = 0
        s.minus[seat] = 0


@register_jitable
def place_card(s, seat, card):
    """A number or modifier comes to a line and wipes it, busts it or joins it (F22–F24, F30)."""
    if card == UNLUCKY_7:
        wipe_line(s, seat)
    elif is_double(s.held[seat], card):
        bust_line(s, seat, card)
    else:
        append_card(s, seat, card)


@register_jitable
def score_seat(s, seat):
    """F39: what the line of ``seat`` scores as it lies, without the 15.

    The live line of a busted player holds no numbers, so that its minus cards come off 0 (F42).
    """
    held = s.held[seat]
    zero = has_card(held, ZERO) and s.flipper != seat
    return score_sum(s.numbers[seat], s.minus[seat], has_card(held, HALF), zero, s.brutal)


@register_jitable
def count_busting(s, seat):
    """How many of the cards to come would bust ``seat`` as their next card; the live line of a busted player has no doubles."""
    low, high = pack_next(s)
    return sum_packed(low, high, find_doubles(s.held[seat]))


@register_jitable
def expect_points(s, seat, low, high):
    """What one card drawn now is expected to bring the line of ``seat`` in points, times the cards that it is drawn from.

    The cards to come are counted by ``low`` and ``high`` (:func:`pack_next`). An action or modifier brings nothing by itself.
    """
    held = np.int64(s.held[seat])
    lacks_one = count_line(held, s.pair_counts_twice) == FLIP_SEVEN - 1
    unlucky = get_packed(high, UNLUCKY_7 - 8)
    if has_card(held, ZERO) and not lacks_one:
        return SEVEN * unlucky  # F30, F31
    if held & BENT or (s.numbers[seat] < s.minus[seat] and not s.brutal):
        return expect_line(s, held, low, high)
    now = np.int64(s.numbers[seat]) - np.int64(s.minus[seat])
    doubles = find_doubles(held)
    good = NUMBERS & ~doubles & PLAIN_VALUE
    zero = get_packed(low, ZERO)
    points = sum_values(low, high, good) - now * (sum_packed(low, high, doubles) + zero)  # F31, F38
    points += (SEVEN - now) * unlucky  # F30
    if lacks_one:
        seventh = sum_packed(low, high, good)
        if not s.pair_counts_twice and held & PAIR:
            seventh -= sum_packed(low, high, good & PAIR)
        points += BONUS_POINTS * seventh + (BONUS_POINTS + now) * zero
    return points


@register_jitable
def expect_line(s, held, low, high):
    """The same for any line, card by card."""
    now = score_line(held, False, s.brutal)
    points = 0
    for card in range(FIRST_MODIFIER):
        n = sum_packed(low, high, 1 << card)
        if n > 0:
            line = add_card(held, card)
            if line == BUST:
                points -= n * now
            else:
                flips = is_flip_seven(line, s.pair_counts_twice)
                points += n * (score_line(line, flips, s.brutal) - now)
                if flips:
                    points += n * BONUS_POINTS
    return points
