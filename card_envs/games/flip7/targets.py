"""Whom to give a card, which card to pick, whom to give the 15: the built-in players of Flip 7 decide that all in one way.

Each change on the table is appraised in points (:func:`appraise`: what a line is worth to its owner). It counts fully for the
player, fully against the leader, and less against the other opponents.
"""

import numpy as np

from card_envs.engine.bits import is_legal
from card_envs.engine.jitable import register_jitable
from card_envs.games.flip7.deck import count_cards, count_next
from card_envs.games.flip7.lines import (
    BONUS_POINTS, BUST, FLIP_SEVEN, add_card, count_line, get_value, has_card, is_double, score_seat, sum_line, sum_minus,
)  # fmt: skip
from card_envs.games.flip7.state import (
    ACTION_BONUS, ACTION_GIVE, ACTION_PICK, ACTIVE, BONUS, BUSTED, DISCARD, FIRST_ACTION, FIRST_MODIFIER, FLIP_FOUR, GIVE, HALF,
    JUST_ONE_MORE, NOBODY, PER_SEAT, SEATS_FROM, STEAL, SWAP, ZERO,
)  # fmt: skip

# Rough fits to play of `ev` against itself. (With a small line it scored 19 on average, but 24 won more.)
OTHERS = 0.3  # what a point of an opponent who is not the leader counts; the leader's counts 1
HOPE, HOPE_SLOPE = 24.0, 0.1  # to an active player a line with the sum x is worth HOPE + HOPE_SLOPE * x, and at least x
ZERO_HOPE = 13.0  # what a small line with Zero is worth at least
SMALL = 0.85  # the cards in a line that survives forced draws are smaller than the mean by this factor
KEPT = 0.7  # how often an active player comes to score, and so feels a minus card
REACH = 30  # points that one round may well bring

NOTHING = -1e9
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


# ---- giving: the receiver for whom the card is worst


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
def give_away(s, seat, words, card):
    """Give a modifier, Flip Four or Just One More to the opponent for whom it is worst; ``seat`` keeps it only if they must."""
    leader = find_leader(s, seat, card)
    best = NOTHING
    action = SEATS_FROM + ACTION_GIVE
    for distance in range(1, s.players):
        option = SEATS_FROM + distance * PER_SEAT + ACTION_GIVE
        if is_legal(words, option):
            other = (seat + distance) % s.players
            held = get_line(s, other)
            change = appraise_given(s, other, held, card) - appraise_line(s, held, is_active(s, other))
            gain = weigh_point(seat, leader, other) * change
            if gain > best:
                best = gain
                action = option
    return action


@register_jitable
def give_to_act(s, seat, words, card):
    """Keep a Steal, Swap or Discard, since its receiver chooses; if it could only hurt ``seat``, give it to the hindmost."""
    own = SEATS_FROM + ACTION_GIVE
    if is_legal(words, own) and (card != STEAL or pick_steal(s, seat)[1] >= 0.0):
        return own
    action = own
    lowest = -NO_POINTS
    for distance in range(1, s.players):
        option = SEATS_FROM + distance * PER_SEAT + ACTION_GIVE
        points = project_total(s, (seat + distance) % s.players)
        if is_legal(words, option) and points < lowest:
            lowest = points
            action = option
    return action


# ---- picking


@register_jitable
def index_pick(s, seat, other, card):
    return SEATS_FROM + (other - seat) % s.players * PER_SEAT + ACTION_PICK + card


@register_jitable
def appraise_loss(s, other, held, card):
    """What it changes for ``other`` to lose ``card`` from the line ``held``."""
    active = is_active(s, other)
    return appraise_line(s, held & ~(1 << card), active) - appraise_line(s, held, active)


@register_jitable
def pick_steal(s, seat):
    """``(action, gain)``: the card that brings ``seat`` and costs its owner most; a double would bust."""
    leader = find_leader(s, seat, STEAL)
    mine = get_line(s, seat)
    best = NOTHING
    action = 0
    for distance in range(1, s.players):
        other = (seat + distance) % s.players
        if s.status[other] != BUSTED:
            held = get_line(s, other)
            for i in range(s.void[other], s.length[other]):
                card = s.cards[other, i]
                gain = appraise_line(s, add_card(mine, card), is_active(s, seat)) - appraise_line(s, mine, is_active(s, seat))
                gain += weigh_point(seat, leader, other) * appraise_loss(s, other, held, card)
                if gain > best:
                    best = gain
                    action = index_pick(s, seat, other, card)
    return action, best


@register_jitable
def pick_discard(s, seat):
    """The card whose loss helps ``seat`` most: an opponent's, or their own Zero or minus card."""
    leader = find_leader(s, seat, DISCARD)
    best = NOTHING
    action = 0
    for distance in range(s.players):
        other = (seat + distance) % s.players
        held = get_line(s, other)
        for i in range(s.void[other], s.length[other]):
            card = s.cards[other, i]
            gain = weigh_point(seat, leader, other) * appraise_loss(s, other, held, card)
            if gain > best:
                best = gain
                action = index_pick(s, seat, other, card)
    return action


@register_jitable
def pick_swap(s, seat):
    """The first pick of the best pair of cards; the second once the first is picked."""
    leader = find_leader(s, seat, SWAP)
    fixed = s.picked_seat
    best = NOTHING
    action = 0
    for i in range(s.players):
        first = (seat + i) % s.players
        if s.status[first] == BUSTED or (fixed != NOBODY and first != fixed):
            continue
        first_line = get_line(s, first)
        first_stake = weigh_point(seat, leader, first)
        first_before = appraise_line(s, first_line, is_active(s, first))
        for j in range(0 if fixed != NOBODY else i + 1, s.players):
            second = (seat + j) % s.players
            if s.status[second] == BUSTED or second == first:
                continue
            second_line = get_line(s, second)
            second_stake = weigh_point(seat, leader, second)
            second_before = appraise_line(s, second_line, is_active(s, second))
            for m in range(s.void[first], s.length[first]):
                card = s.cards[first, m]
                if fixed != NOBODY and card != s.picked_card:
                    continue
                for n in range(s.void[second], s.length[second]):
                    other = s.cards[second, n]
                    after = appraise_line(s, add_card(first_line & ~(1 << card), other), is_active(s, first))
                    gain = first_stake * (after - first_before)
                    after = appraise_line(s, add_card(second_line & ~(1 << other), card), is_active(s, second))
                    gain += second_stake * (after - second_before)
                    if gain > best:
                        best = gain
                        action = index_pick(s, seat, first, card)
                        if fixed != NOBODY:
                            action = index_pick(s, seat, second, other)
    return action


# ---- the 15 of a Flip 7 (Brutal)


@register_jitable
def share_win(players, winners):
    """What each of so many winners is paid (``reward="win"``)."""
    return (players - winners) / (winners * (players - 1.0))


@register_jitable
def is_last_round(s):
    return s.single_deal or s.deal >= s.max_rounds


@register_jitable
def choose_bonus(s, seat):
    """F43: what wins the match now or keeps another from it; otherwise +15 when ahead, and -15 to a leader within reach."""
    mine = project_total(s, seat)
    leader = find_leader(s, seat, 0)
    ahead = mine + BONUS_POINTS >= project_total(s, leader)
    near = s.players == 2 or project_total(s, leader) + REACH >= s.target
    best = NOTHING
    action = 0
    for distance in range(s.players):
        option = (seat + distance) % s.players
        own = mine + (BONUS_POINTS if distance == 0 else 0)
        top = NO_POINTS
        winners = 1
        for d in range(1, s.players):
            other = (seat + d) % s.players
            points = project_total(s, other) - (BONUS_POINTS if other == option else 0)
            winners = 1 if points > top else winners + (points == top)
            top = max(top, points)
        gain = 0.0
        if is_last_round(s) or max(own, top) >= s.target:
            if own > top:
                gain = 1.0
            elif own == top:
                gain = share_win(s.players, winners + 1)
            else:
                gain = -1.0
        elif option == (leader if near and not ahead else seat):
            gain = 0.01
        if gain > best:
            best = gain
            action = SEATS_FROM + distance * PER_SEAT + ACTION_BONUS
    return action


# ---- all of these decisions


@register_jitable
def choose_target(s, seat, words):
    """Every decision but draw or stay."""
    if s.phase == BONUS:
        return choose_bonus(s, seat)
    card = s.agenda[s.depth - 1, 2]
    if s.phase == GIVE:
        if card == STEAL or card == SWAP or card == DISCARD:
            return give_to_act(s, seat, words, card)
        return give_away(s, seat, words, card)
    if card == STEAL:
        return pick_steal(s, seat)[0]
    if card == SWAP:
        return pick_swap(s, seat)
    return pick_discard(s, seat)
