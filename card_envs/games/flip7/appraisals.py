"""What lines and changes on the table are worth in Flip 7, in points, as the built-in players reckon.

A change counts fully for the player, fully against the leader, and less against the other opponents.
"""

import numpy as np

from card_envs.engine.jitable import register_jitable
from card_envs.games.flip7.deck import count_cards, count_next
from card_envs.games.flip7.lines import (
    BONUS_POINTS, BUST, FLIP_SEVEN, add_card, count_line, get_value, has_card, is_double, score_seat, sum_line, sum_minus,
)  # fmt: skip
from card_envs.games.flip7.state import (
    ACTIVE, BUSTED, FIRST_ACTION, FIRST_MODIFIER, FLIP_FOUR, HALF, JUST_ONE_MORE, NOBODY, ZERO,
)  # fmt: skip

# Rough fits to play of `ev` against itself. (With a small line it scored 19 on average, but 24 won more.)
OTHERS = 0.3  # what a point of an opponent who is not the leader counts; the leader's counts 1
HOPE, HOPE_SLOPE = 24.0, 0.1  # to an active player a line with the sum x is worth HOPE + HOPE_SLOPE * x, and at least x
ZERO_HOPE = 13.0  # what a small line with Zero is worth at least
SMALL = 0.85  # the cards in a line that survives forced draws are smaller than the mean by this factor
KEPT = 0.7  # how often an active player comes to score, and so feels a minus card

NO_POINTS = -(1 << 40)
ALMOST_SEVEN = FLIP_SEVEN - 0.5  # counts of number cards are floats here, and expected ones are not whole


# ---- what lines are worth


@register_jitable
def get_line(s, seat):
    """The live line of ``seat``, always as int64 so that no helper is compiled for two types."""
    return np.int64(s.held[seat])


@register_jitable
def read_numbers(s, held):
    """``(sum, count)`` of the number cards of a line, as floats; with a count of seven it is a Flip 7."""
    return float(sum_line(held)), float(count_line(held, s.pair_counts_twice))


@register_jitable
def read_modifiers(held):
    """``(minus, share)`` of a line, as floats: the points that its minus cards take away, and 0.5 if it is halved, else 1."""
    return float(sum_minus(held)), 0.5 if has_card(held, HALF) else 1.0


@register_jitable
def appraise(s, minus, share, zero, total, numbers, active):
    """What a line is worth to its owner, in points: what it scores or, if they are ``active``, what it may yet become."""
    flips = numbers > ALMOST_SEVEN
    points = 0.0 if zero and not flips else total * share - minus
    if active and not flips:
        if zero:  # its owner must go on for the Flip 7, or be rid of Zero
            points = max(ZERO_HOPE, (total * share - minus + BONUS_POINTS) * (numbers - 1.0) / 8.0)
        else:
            points = max(points, (HOPE + HOPE_SLOPE * total) * share - KEPT * minus)
    if not s.brutal:
        points = max(points, 0.0)
    return points + BONUS_POINTS if flips else points


@register_jitable
def appraise_line(s, held, active):
    """:func:`appraise` of a line as it lies."""
    if held == BUST:
        return 0.0
    total, numbers = read_numbers(s, held)
    minus, share = read_modifiers(held)
    return appraise(s, minus, share, has_card(held, ZERO), total, numbers, active)


@register_jitable
def appraise_drawn(s, held, active, draws):
    """What the line is worth after so many forced draws: the chance to survive them times the mean of what they bring."""
    total, numbers = read_numbers(s, held)
    minus, share = read_modifiers(held)
    zero = has_card(held, ZERO)
    cards = count_cards(s)
    good = 0  # number cards that do not bust, their sum, and how many more each makes dangerous
    points = 0
    adds = 0
    bad = 0
    for card in range(FIRST_MODIFIER):
        n = count_next(s, card)
        if is_double(held, card):
            bad += n
        else:
            good += n
            points += n * get_value(card)
            adds += n * (n - 1)
    if good == 0 or cards == 0:
        return appraise(s, minus, share, zero, total, numbers, active) * (0.0 if bad else 1.0)
    alive = 1.0
    risk = bad / cards
    number = good / max(1, cards - bad)  # how often a card that does not bust is a number
    for _ in range(draws):
        alive *= 1.0 - risk
        total += SMALL * number * points / good
        numbers += number
        risk = min(1.0, risk + number * adds / good / cards)
        if numbers > ALMOST_SEVEN:
            break
    return alive * appraise(s, minus, share, zero, total, numbers, active)


@register_jitable
def is_active(s, seat):
    return s.status[seat] == ACTIVE


@register_jitable
def project_total(s, seat):
    """The total of ``seat`` if the round ended now."""
    return s.totals[seat] + score_seat(s, seat)


@register_jitable
def find_leader(s, seat, card):
    """The opponent of ``seat`` who stands highest, of those that ``card`` can touch."""
    leader = NOBODY
    highest = NO_POINTS
    for distance in range(1, s.players):
        other = (seat + distance) % s.players
        if s.status[other] != BUSTED or (s.brutal and card < FIRST_ACTION):  # F42
            points = project_total(s, other)
            if points > highest:
                highest = points
                leader = other
    return leader


@register_jitable
def weigh_point(seat, leader, other):
    """What a point of ``other`` is worth to ``seat``."""
    if other == seat:
        return 1.0
    return -1.0 if other == leader else -OTHERS


# ---- what changes are worth


@register_jitable
def appraise_given(s, other, held, card):
    """What the line of ``other`` is worth once they have been given ``card``."""
    active = is_active(s, other)
    if card == FLIP_FOUR:
        return appraise_drawn(s, held, active, 4)
    if card == JUST_ONE_MORE:
        return appraise_drawn(s, held, False, 1)
    return appraise_line(s, held | 1 << card, active)


@register_jitable
def appraise_gift(s, seat, leader, other, card):
    """What it brings ``seat`` that ``other`` is given a modifier, Flip Four or Just One More."""
    held = get_line(s, other)
    change = appraise_given(s, other, held, card) - appraise_line(s, held, is_active(s, other))
    return weigh_point(seat, leader, other) * change


@register_jitable
def appraise_discard(s, seat, leader, other, card):
    """What it brings ``seat`` that ``other`` loses ``card``."""
    held = get_line(s, other)
    active = is_active(s, other)
    change = appraise_line(s, held & ~(1 << card), active) - appraise_line(s, held, active)
    return weigh_point(seat, leader, other) * change


@register_jitable
def appraise_steal(s, seat, leader, other, card):
    """What it brings ``seat`` to steal ``card`` from ``other``."""
    mine = get_line(s, seat)
    active = is_active(s, seat)
    gain = appraise_line(s, add_card(mine, card), active) - appraise_line(s, mine, active)
    return gain + appraise_discard(s, seat, leader, other, card)


@register_jitable
def appraise_exchange(s, seat, leader, other, card, received):
    """What it brings ``seat`` that ``other`` loses ``card`` and receives another one: half of a swap."""
    held = get_line(s, other)
    active = is_active(s, other)
    change = appraise_line(s, add_card(held & ~(1 << card), received), active) - appraise_line(s, held, active)
    return weigh_point(seat, leader, other) * change
