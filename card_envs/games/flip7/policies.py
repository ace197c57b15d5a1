"""Built-in players of Flip 7.

They differ in when to stop; whom to give a card and which card to pick they all decide in one way: each change on the table is
appraised in points (:func:`appraise`: what a line is worth to its owner), and counts fully for the player himself, fully
against the leader, and less against the others. A line is a set of cards, bit ``card`` of an int.

All is public but the deck's order, and that none of them reads: only how many cards of each kind are still to come.
"""

import numpy as np
from numba.extending import register_jitable

from card_envs.engine.game import Policy, Rule
from card_envs.engine.random import choose_random, popcount
from card_envs.games.flip7.state import (
    ACTION_BONUS, ACTION_DRAW, ACTION_GIVE, ACTION_PICK, ACTION_STAY, PER_SEAT, SEATS_FROM,
)  # fmt: skip
from card_envs.games.flip7.odds import count_busting, count_cards, count_next, count_numbers
from card_envs.games.flip7.rules import line_score, value_of
from card_envs.games.flip7.state import (
    ACTIVE, BONUS, BUSTED, DISCARD, FIRST_ACTION, FIRST_MODIFIER, FLIP_FOUR, GIVE, HALF, JUST_ONE_MORE, LUCKY_13, NOBODY,
    NUMBERS, SEVEN, STEAL, SWAP, THIRTEEN, TURN, UNLUCKY_7, ZERO,
)  # fmt: skip

FLIP_SEVEN = 15  # points for seven cards

# Figures of the appraisal, rough fits to play of `ev` against itself. (With a small line it scored 19 on average; 24 won more.)
OTHERS = 0.3  # how much a point of an opponent counts who is not the leader; the leader's counts 1
HOPE, HOPE_SLOPE = 24.0, 0.1  # a line with the sum x is worth HOPE + HOPE_SLOPE * x to an active player, at least x
ZERO_HOPE = 13.0  # at least this with Zero, while the line is small
SMALL = 0.85  # the cards in a line that survives forced draws are smaller than the mean
KEPT = 0.7  # how often an active player comes to score, and so feels a minus card
NEAR = 60  # an opponent who lacks no more points than this may soon end the match
REACH = 30  # points that one round may well bring

OPEN = -1  # draw or stay? the end of the match does not say
NOTHING = -1e9
NO_POINTS = -(1 << 40)
BUST = -1  # in the place of a line
PAIR = 1 << THIRTEEN | 1 << LUCKY_13


@register_jitable
def is_legal(words, action):
    """Whether the mask viewed as uint64 words (eight flags each) allows ``action``."""
    return (words[action >> 3] >> np.uint64(8 * (action & 7))) & np.uint64(1) != np.uint64(0)


# ---- lines


@register_jitable
def line_of(s, seat):
    """The live line of ``seat`` as a set; it never holds two cards alike."""
    return np.int64(s.held[seat])


@register_jitable
def is_double(held, card):
    """Whether the number ``card`` would bust the line ``held`` (F22, F28, F30)."""
    if card == THIRTEEN:
        return held >> THIRTEEN & 1 == 1
    if card == SEVEN:
        return held & (1 << SEVEN | 1 << UNLUCKY_7) != 0
    return held >> card & 1 == 1


@register_jitable
def with_card(held, card):
    """The line when ``card`` has arrived: wiped by Unlucky 7, or BUST by a double."""
    if card == UNLUCKY_7:
        return 1 << UNLUCKY_7
    if is_double(held, card):
        return BUST
    return held | 1 << card


@register_jitable
def add_up(s, held):
    """``(sum, numbers)`` of a line, floats: seven numbers are a Flip 7 (F29)."""
    total = 0
    numbers = 0
    left = held & NUMBERS
    while left:  # card by card, the lowest first
        total += value_of(popcount(np.uint64((left & -left) - 1)))
        numbers += 1
        left &= left - 1
    if not s.pair_counts_twice and held & PAIR == PAIR:
        numbers -= 1
    return float(total), float(numbers)


@register_jitable
def modifiers_of(held):
    """``(minus, share)`` of a line, floats: what its minus cards take, and 0.5 if it is halved."""
    minus = 0.0
    if held >> FIRST_MODIFIER:
        for card in range(FIRST_MODIFIER, HALF):
            if held >> card & 1:
                minus += 2.0 * (card - FIRST_MODIFIER + 1)
    return minus, 0.5 if held >> HALF & 1 else 1.0


@register_jitable
def appraise(s, minus, share, zero, total, numbers, active):
    """What a line is worth to its owner, in points: what it scores, or what it may yet become if he is ``active``."""
    flips = numbers > 6.5
    points = 0.0 if zero and not flips else total * share - minus
    if active and not flips:
        if zero:  # he must go on for the Flip 7, or be rid of it
            points = max(ZERO_HOPE, (total * share - minus + FLIP_SEVEN) * (numbers - 1.0) / 8.0)
        else:
            points = max(points, (HOPE + HOPE_SLOPE * total) * share - KEPT * minus)
    if not s.brutal:
        points = max(points, 0.0)
    return points + FLIP_SEVEN if flips else points


@register_jitable
def worth(s, held, active):
    """:func:`appraise` of a line as it lies."""
    if held == BUST:
        return 0.0
    total, numbers = add_up(s, held)
    minus, share = modifiers_of(held)
    return appraise(s, minus, share, held >> ZERO & 1, total, numbers, active)


@register_jitable
def worth_drawn(s, held, active, draws):
    """What the line is worth after so many forced draws: the chance to survive them times the mean of what they bring."""
    total, numbers = add_up(s, held)
    minus, share = modifiers_of(held)
    zero = held >> ZERO & 1
    cards = count_cards(s)
    good = 0  # number cards that do not bust, their sum, and how many more each makes dangerous
    points = 0
    adds = 0
    bad = 0
    for card in range(FIRST_MODIFIER):
        n = count_next(s, card)
        if card != UNLUCKY_7 and is_double(held, card):
            bad += n
        else:
            good += n
            points += n * value_of(card)
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
        if numbers > 6.5:
            break
    return alive * appraise(s, minus, share, zero, total, numbers, active)


@register_jitable
def is_active(s, seat):
    return s.status[seat] == ACTIVE


@register_jitable
def standing(s, seat):
    """The total of ``seat`` if the round ended now."""
    return s.totals[seat] + line_score(s, seat)


@register_jitable
def leader_of(s, seat, card):
    """The opponent of ``seat`` who stands highest, of those that ``card`` can touch."""
    leader = NOBODY
    highest = NO_POINTS
    for distance in range(1, s.players):
        other = (seat + distance) % s.players
        if s.status[other] != BUSTED or (s.brutal and card < FIRST_ACTION):  # F42
            points = standing(s, other)
            if points > highest:
                highest = points
                leader = other
    return leader


@register_jitable
def stake(seat, leader, other):
    """What a point of ``other`` is worth to ``seat``."""
    if other == seat:
        return 1.0
    return -1.0 if other == leader else -OTHERS


# ---- giving: the receiver for whom the card is worst


@register_jitable
def worth_given(s, other, held, card):
    """What the line of ``other`` is worth once he has been given ``card``."""
    active = is_active(s, other)
    if card == FLIP_FOUR:
        return worth_drawn(s, held, active, 4)
    if card == JUST_ONE_MORE:
        return worth_drawn(s, held, False, 1)
    return worth(s, held | 1 << card, active)


@register_jitable
def give_away(s, seat, words, card):
    """A modifier, Flip Four or Just One More: to the opponent for whom it is worst; ``seat`` keeps it only if he must."""
    leader = leader_of(s, seat, card)
    best = NOTHING
    action = SEATS_FROM + ACTION_GIVE
    for distance in range(1, s.players):
        option = SEATS_FROM + distance * PER_SEAT + ACTION_GIVE
        if is_legal(words, option):
            other = (seat + distance) % s.players
            held = line_of(s, other)
            change = worth_given(s, other, held, card) - worth(s, held, is_active(s, other))
            gain = stake(seat, leader, other) * change
            if gain > best:
                best = gain
                action = option
    return action


@register_jitable
def give_to_act(s, seat, words, card):
    """A Steal, Swap or Discard: the receiver chooses, so ``seat`` keeps it; if it could only hurt him, the hindmost gets it."""
    own = SEATS_FROM + ACTION_GIVE
    if is_legal(words, own) and (card != STEAL or pick_steal(s, seat)[1] >= 0.0):
        return own
    action = own
    lowest = -NO_POINTS
    for distance in range(1, s.players):
        option = SEATS_FROM + distance * PER_SEAT + ACTION_GIVE
        points = standing(s, (seat + distance) % s.players)
        if is_legal(words, option) and points < lowest:
            lowest = points
            action = option
    return action


# ---- picking


@register_jitable
def pick_action(s, seat, other, card):
    return SEATS_FROM + (other - seat) % s.players * PER_SEAT + ACTION_PICK + card


@register_jitable
def pick_steal(s, seat):
    """``(action, gain)``: the card that brings ``seat`` and costs its owner most; a double would bust."""
    leader = leader_of(s, seat, STEAL)
    mine = line_of(s, seat)
    best = NOTHING
    action = 0
    for distance in range(1, s.players):
        other = (seat + distance) % s.players
        if s.status[other] != BUSTED:
            held = line_of(s, other)
            for i in range(s.void[other], s.length[other]):
                card = s.cards[other, i]
                gain = worth(s, with_card(mine, card), is_active(s, seat)) - worth(s, mine, is_active(s, seat))
                change = worth(s, held & ~(1 << card), is_active(s, other)) - worth(s, held, is_active(s, other))
                gain += stake(seat, leader, other) * change
                if gain > best:
                    best = gain
                    action = pick_action(s, seat, other, card)
    return action, best


@register_jitable
def pick_discard(s, seat):
    """The card whose loss helps ``seat`` most: an opponent's, or an own Zero or minus card."""
    leader = leader_of(s, seat, DISCARD)
    best = NOTHING
    action = 0
    for distance in range(s.players):
        other = (seat + distance) % s.players
        held = line_of(s, other)
        for i in range(s.void[other], s.length[other]):
            card = s.cards[other, i]
            change = worth(s, held & ~(1 << card), is_active(s, other)) - worth(s, held, is_active(s, other))
            if stake(seat, leader, other) * change > best:
                best = stake(seat, leader, other) * change
                action = pick_action(s, seat, other, card)
    return action


@register_jitable
def pick_swap(s, seat):
    """The first pick of the best pair of cards; the second once the first is picked."""
    leader = leader_of(s, seat, SWAP)
    fixed = s.picked_seat
    best = NOTHING
    action = 0
    for i in range(s.players):
        first = (seat + i) % s.players
        if s.status[first] == BUSTED or (fixed != NOBODY and first != fixed):
            continue
        first_line = line_of(s, first)
        first_stake = stake(seat, leader, first)
        first_before = worth(s, first_line, is_active(s, first))
        for j in range(0 if fixed != NOBODY else i + 1, s.players):
            second = (seat + j) % s.players
            if s.status[second] == BUSTED or second == first:
                continue
            second_line = line_of(s, second)
            second_stake = stake(seat, leader, second)
            second_before = worth(s, second_line, is_active(s, second))
            for m in range(s.void[first], s.length[first]):
                card = s.cards[first, m]
                if fixed != NOBODY and card != s.picked_card:
                    continue
                for n in range(s.void[second], s.length[second]):
                    other = s.cards[second, n]
                    after = worth(s, with_card(first_line & ~(1 << card), other), is_active(s, first))
                    gain = first_stake * (after - first_before)
                    after = worth(s, with_card(second_line & ~(1 << other), card), is_active(s, second))
                    gain += second_stake * (after - second_before)
                    if gain > best:
                        best = gain
                        action = pick_action(s, seat, first, card)
                        if fixed != NOBODY:
                            action = pick_action(s, seat, second, other)
    return action


# ---- the end of the match


@register_jitable
def win_share(players, winners):
    """What each of so many winners is paid (``reward="win"``)."""
    return (players - winners) / (winners * (players - 1.0))


@register_jitable
def is_last_round(s):
    return s.single_deal or s.deal >= s.max_rounds


@register_jitable
def choose_bonus(s, seat):
    """F43: what wins the match now, or keeps another from it; else +15 in front, and behind -15 to a leader within reach."""
    mine = standing(s, seat)
    leader = leader_of(s, seat, 0)
    ahead = mine + FLIP_SEVEN >= standing(s, leader)
    near = s.players == 2 or standing(s, leader) + REACH >= s.target
    best = NOTHING
    action = 0
    for distance in range(s.players):
        option = (seat + distance) % s.players
        own = mine + (FLIP_SEVEN if distance == 0 else 0)
        top = NO_POINTS
        winners = 1
        for d in range(1, s.players):
            other = (seat + d) % s.players
            points = standing(s, other) - (FLIP_SEVEN if other == option else 0)
            winners = 1 if points > top else winners + (points == top)
            top = max(top, points)
        gain = 0.0
        if is_last_round(s) or max(own, top) >= s.target:
            if own > top:
                gain = 1.0
            elif own == top:
                gain = win_share(s.players, winners + 1)
            else:
                gain = -1.0
        elif option == (leader if near and not ahead else seat):
            gain = 0.01
        if gain > best:
            best = gain
            action = SEATS_FROM + distance * PER_SEAT + ACTION_BONUS
    return action


@register_jitable
def end_of_match(s, seat, words):
    """Draw or stay where that decides the match or there is no choice, else OPEN.

    Stay if banking wins and nobody else is active. Draw while a player who has stayed or can bank would win: staying would
    lose. If banking would share the win, take the better of the share and one more card.
    """
    if not is_legal(words, ACTION_STAY):
        return ACTION_DRAW
    mine = standing(s, seat)
    top = NO_POINTS
    level = 1
    active = 0
    for distance in range(1, s.players):
        other = (seat + distance) % s.players
        points = standing(s, other)
        if is_active(s, other):
            active += 1
            if points < s.target:
                continue
        level = 1 if points > top else level + (points == top)
        top = max(top, points)
    if not is_last_round(s) and max(mine, top) < s.target:
        return OPEN
    if mine < top:
        return ACTION_DRAW
    if active > 0:
        return OPEN
    if mine > top:
        return ACTION_STAY
    bad = count_busting(s, seat) + count_next(s, ZERO) + count_next(s, UNLUCKY_7)
    good = count_numbers(s) - bad
    lost = -1.0 / (s.players - 1.0)
    return ACTION_DRAW if good + bad * lost > (good + bad) * win_share(s.players, level + 1) else ACTION_STAY


# ---- the players


@register_jitable
def target(s, seat, words):
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


@register_jitable
def stays_by_count(s, seat, parameters):
    return add_up(s, line_of(s, seat))[1] >= parameters[0]


@register_jitable
def stays_by_sum(s, seat, parameters):
    return add_up(s, line_of(s, seat))[0] >= parameters[0]


@register_jitable
def stays_by_risk(s, seat, parameters):
    return count_busting(s, seat) >= parameters[0] * max(1, count_numbers(s))


@register_jitable
def stays_by_ev(s, seat, parameters):
    """Unless the next card is expected to bring more than it costs, over all cards still to come."""
    top = s.totals[(seat + 1) % s.players]
    for distance in range(2, s.players):
        top = max(top, s.totals[(seat + distance) % s.players])
    now = float(line_score(s, seat))
    loss = now - parameters[1] * (top - s.totals[seat])
    if top + NEAR >= s.target:
        loss -= parameters[2] * (s.players - 2)
    held = line_of(s, seat)
    total, numbers = add_up(s, held)
    minus, share = modifiers_of(held)
    gain = parameters[0] * (count_cards(s) - count_numbers(s))
    for card in range(FIRST_MODIFIER):
        n = count_next(s, card)
        if n > 0:
            line = with_card(held, card)
            if line == BUST:
                gain -= n * loss
            elif card == UNLUCKY_7 or line & PAIR == PAIR:
                gain += n * (worth(s, line, True) - now)
            else:
                zero = line & 1  # bit ZERO
                gain += n * (appraise(s, minus, share, zero, total + value_of(card), numbers + 1.0, True) - now)
    return gain <= 0.0


def player(stays: Rule) -> Rule:
    """A player who stays where ``stays(state, seat, parameters)``; all else they decide alike."""

    @register_jitable
    def choose(s, seat, words, key, parameters):
        seat = np.int64(seat)  # all helpers are then compiled for one type of seat
        if s.phase != TURN:
            return target(s, seat, words)
        action = end_of_match(s, seat, words)
        if action != OPEN:
            return action
        return ACTION_STAY if stays(s, seat, parameters) else ACTION_DRAW

    return choose


POLICIES = (
    Policy("random", choose_random, "a uniformly random legal action"),
    Policy("count", player(stays_by_count), "stays with k number cards", {"k": 3.0}),
    Policy("sum", player(stays_by_sum), "stays when its numbers sum to k", {"k": 26.0}),
    Policy("risk", player(stays_by_risk), "stays when the next number card busts with probability p", {"p": 0.24}),
    Policy(
        "ev", player(stays_by_ev),
        "draws iff the next card is expected to bring more than a bust costs: an action or modifier counts as `card` points; of"
        " the loss go `chase` times the points behind the best opponent, and `rush` for each opponent but one when that one is"
        " near the target",
        {"card": 10.0, "chase": 0.1, "rush": 4.0},
    ),
)  # fmt: skip
ALIASES = {"count3": "count(3)", "sum26": "sum(26)", "risk24": "risk(.24)"}
