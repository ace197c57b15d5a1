"""The loops of the solver: optimal stopping of one solo round, backward for values and forward for distributions.

A *line* is a set of number cards, bit ``card`` of an int. What can still come to it without a double are its *free* cards, at
most 15 kinds; a state is the set ``c`` of the free cards that have come, so that the line is the first one and ``c``, and the
deck is the first one less ``c``. A superset is a greater number: descending order meets every successor first.

Unlucky 7, of which there is one, throws the line away and so begins another problem of the same form, of the line
``{unlucky7}`` and the deck as it is then. Its value is ``wipe[c & wide]``: of every ``c`` its own (``wide = -1``), or one for
all (``wide = 0``).

When the deck's number cards are all drawn those of the discard pile follow; wiped cards are among them.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from card_envs.engine.random import popcount
from card_envs.games.flip7.state import FIRST_MODIFIER, LUCKY_13, SEVEN, THIRTEEN, UNLUCKY_7, ZERO

NUMBER_KINDS = FIRST_MODIFIER  # 0 … 13, lucky13, unlucky7
FLIP = 7  # number cards

# A rule set: (Zero must draw and scores 0, a pair of 13s is two cards, half, minus, floor at 0, points for seven cards)
ZERO_RULE, PAIR_RULE, HALVED, MINUS, FLOOR, BONUS = range(6)

OFFSET = 32  # payoffs and histograms hold the score x at x + OFFSET
SCORES = 160

OPTIMAL, TABLE, RISK, ONE_STEP = range(4)  # how a forward pass decides

CLOSE = 1e-9  # a win probability that is asked for itself is found to this

_VALUES = np.array([*range(14), THIRTEEN, SEVEN], np.int64)
_PAIR = 1 << THIRTEEN | 1 << LUCKY_13


def compiled(function: Callable[..., Any]) -> Any:
    """The function compiled at its first call, and kept on disk where that can be written. It lets other threads run."""
    try:
        return njit(cache=True, nogil=True)(function)
    except RuntimeError:  # a read-only container without a home
        return njit(nogil=True)(function)


@compiled
def arrange(line, deck, discard, kinds, counts, sums):
    """Find the free kinds of a line. Row 0 of ``counts`` and ``sums`` is the deck as it lies, row 1 with the discard pile.

    ``counts[stage, i]``: cards of free kind i; ``sums[stage]``: cards that bust the line, number cards, Unlucky 7. Returns how
    many kinds are free.
    """
    free = 0
    total = 0
    for kind in range(NUMBER_KINDS):
        total += deck[kind]
    for stage in range(2):
        for j in range(3):
            sums[stage, j] = 0.0
    for kind in range(NUMBER_KINDS):
        now = float(deck[kind])
        then = now + discard[kind] if total <= FLIP else now  # with more cards no line can outlast the deck
        sums[0, 1] += now
        sums[1, 1] += then
        if kind == UNLUCKY_7:
            sums[0, 2] = now
            sums[1, 2] = then
        elif line >> kind & 1 or (kind == SEVEN and line >> UNLUCKY_7 & 1):
            sums[0, 0] += now
            sums[1, 0] += then
        elif then > 0.0:
            kinds[free] = kind
            counts[0, free] = now
            counts[1, free] = then
            free += 1
    return free


@compiled
def full_line(line, kinds, free, c):
    """The line once the free cards of ``c`` have come."""
    for i in range(free):
        if c >> i & 1:
            line |= 1 << kinds[i]
    return line


@compiled
def count_line(line, rules):
    """How many of the seven a line has (F29)."""
    numbers = popcount(np.uint64(line))
    if rules[PAIR_RULE] == 0 and line & _PAIR == _PAIR:
        numbers -= 1
    return numbers


@compiled
def score_of(total, zero, flips, rules):
    """F31, F39, F41: the round score of a line with the sum ``total``."""
    if zero and not flips and rules[ZERO_RULE]:
        return 0
    points = total // 2 if rules[HALVED] else total
    points -= rules[MINUS]
    if points < 0 and rules[FLOOR]:
        points = 0
    if flips:
        points += rules[BONUS]
    return points


@compiled
def sum_line(line):
    total = 0
    for kind in range(NUMBER_KINDS):
        if line >> kind & 1:
            total += _VALUES[kind]
    return total


@compiled
def backward(line, deck, discard, rules, payoff, busted, wipe, wide, values, draws):
    """The optimal values of all states, ``values[c]``, and of drawing there, ``draws[c]``; both as long as 2**free.

    V(S) = g(x(S)) with seven cards, else max{g(x(S)), [bust·g(0) + Σ r_v V(S + v)] / T}; with Zero no stop. ``payoff`` is g, by
    score + OFFSET, ``busted`` that of a bust. Returns how many kinds are free.
    """
    kinds = np.empty(NUMBER_KINDS, np.int64)
    counts = np.empty((2, NUMBER_KINDS))
    sums = np.empty((2, 3))
    free = arrange(line, deck, discard, kinds, counts, sums)
    held = popcount(np.uint64(line))
    first_total = sum_line(line)
    pair = 0
    for i in range(free):
        if kinds[i] == THIRTEEN or kinds[i] == LUCKY_13:
            pair |= 1 << i
    has_pair = line & _PAIR  # which of the two are held already
    zero_bit = 1 if free > 0 and kinds[0] == ZERO else 0
    zero_held = line & 1
    most = FLIP - held
    if rules[PAIR_RULE] == 0:
        most += 1
    for c in range((1 << free) - 1, -1, -1):
        k = popcount(np.uint64(c))
        if k > most:
            continue
        numbers = held + k
        if rules[PAIR_RULE] == 0:
            thirteens = popcount(np.uint64(has_pair)) + popcount(np.uint64(c & pair))
            if thirteens == 2:
                numbers -= 1
        if numbers > FLIP:
            continue
        stage = 1 if k >= sums[0, 1] else 0
        bust = sums[stage, 0]
        total = first_total
        gain = 0.0
        values[c] = 0.0  # so that a card of c adds nothing below
        if numbers == FLIP:
            for i in range(free):
                total += (c >> i & 1) * _VALUES[kinds[i]]
            values[c] = payoff[OFFSET + score_of(total, False, True, rules)]
            draws[c] = values[c]
            continue
        for i in range(free):
            here = c >> i & 1
            total += here * _VALUES[kinds[i]]
            bust += here * (counts[stage, i] - 1.0)
            gain += counts[stage, i] * values[c | 1 << i]
        left = sums[stage, 1] - k
        zero = (zero_held | (c & zero_bit)) != 0
        stay = payoff[OFFSET + score_of(total, zero, False, rules)]
        if left <= 0.0:
            values[c] = stay
            draws[c] = stay
            continue
        if sums[stage, 2] > 0.0:
            gain += sums[stage, 2] * wipe[c & wide]
        draw = (bust * busted + gain) / left
        draws[c] = draw
        values[c] = draw if (zero and rules[ZERO_RULE]) or draw > stay else stay
    return free


@compiled
def after_wipe(line, deck, discard, kinds, free, c, stage, next_deck, next_discard):
    """The decks when Unlucky 7 has come to the state ``c``; its line and ``c`` are wiped."""
    for kind in range(NUMBER_KINDS):
        wiped = line >> kind & 1
        next_deck[kind] = deck[kind] + (discard[kind] if stage else 0)
        next_discard[kind] = wiped if stage else discard[kind] + wiped
    for i in range(free):
        if c >> i & 1:
            next_deck[kinds[i]] -= 1
            next_discard[kinds[i]] += 1
    next_deck[UNLUCKY_7] -= 1


@compiled
def wipe_values(line, deck, discard, rules, payoff, busted, first, step, wipe):
    """Fill ``wipe[c]`` for every ``step``-th state from ``first``: the value of the line ``{unlucky7}`` after it."""
    kinds = np.empty(NUMBER_KINDS, np.int64)
    counts = np.empty((2, NUMBER_KINDS))
    sums = np.empty((2, 3))
    free = arrange(line, deck, discard, kinds, counts, sums)
    next_deck = np.empty(NUMBER_KINDS, np.int64)
    next_discard = np.empty(NUMBER_KINDS, np.int64)
    values = np.empty(1 << (NUMBER_KINDS - 2))
    draws = np.empty(1 << (NUMBER_KINDS - 2))
    nothing = np.zeros(1)
    plain = (rules[ZERO_RULE], rules[PAIR_RULE], 0, 0, rules[FLOOR], rules[BONUS])
    for c in range(first, 1 << free, step):
        if count_line(full_line(line, kinds, free, c), rules) < FLIP:
            k = popcount(np.uint64(c))
            stage = 1 if k >= sums[0, 1] else 0
            if sums[stage, 2] > 0.0:
                after_wipe(line, deck, discard, kinds, free, c, stage, next_deck, next_discard)
                backward(1 << UNLUCKY_7, next_deck, next_discard, plain, payoff, busted, nothing, 0, values, draws)
                wipe[c] = values[0]
    return 0


@compiled
def one_step(line, kinds, counts, unlucky, free, c, rules):
    """The points that one more card brings and then no more, summed over the cards of the deck."""
    total = sum_line(line)
    points = unlucky * 7.0
    for i in range(free):
        if c >> i & 1 == 0:
            flips = count_line(line | 1 << kinds[i], rules) >= FLIP
            zero = line & 1 != 0 or kinds[i] == ZERO
            points += counts[i] * score_of(total + _VALUES[kinds[i]], zero, flips, rules)
    return points


@compiled
def forward(line, deck, discard, rules, weight, mode, threshold, table, values, draws, reach, away, out):
    """The exact distribution of the round score under a rule, added to ``out``, and where Unlucky 7 comes, ``away[c]``.

    ``mode`` says how to decide: OPTIMAL by ``values`` and ``draws``, TABLE stays where ``table[line]``, RISK where
    P(bust | number card) >= ``threshold``, ONE_STEP unless one more card is worth it on average. ``out[:SCORES]`` are
    probabilities by score + OFFSET, busts among them; ``out[SCORES]`` is P(bust), ``out[SCORES + 1]`` P(flip 7). ``reach``
    is scratch of 2**free; all begins with probability ``weight``.
    """
    kinds = np.empty(NUMBER_KINDS, np.int64)
    counts = np.empty((2, NUMBER_KINDS))
    sums = np.empty((2, 3))
    free = arrange(line, deck, discard, kinds, counts, sums)
    for c in range(1 << free):
        reach[c] = 0.0
    reach[0] = weight
    for c in range(1 << free):
        p = reach[c]
        if p == 0.0:
            continue
        here = full_line(line, kinds, free, c)
        total = sum_line(here)
        numbers = count_line(here, rules)
        zero = here & 1 != 0
        if numbers >= FLIP:
            out[OFFSET + score_of(total, zero, True, rules)] += p
            out[SCORES + 1] += p
            continue
        k = popcount(np.uint64(c))
        stage = 1 if k >= sums[0, 1] else 0
        left = sums[stage, 1] - k
        now = score_of(total, zero, False, rules)
        bust = sums[stage, 0]
        for i in range(free):
            if c >> i & 1:
                bust += counts[stage, i] - 1.0
        if left <= 0.0:
            stays = True
        elif zero and rules[ZERO_RULE]:
            stays = False
        elif mode == OPTIMAL:
            stays = values[c] > draws[c]
        elif mode == TABLE:
            stays = table[here] != 0
        elif mode == RISK:
            stays = bust >= threshold * left
        else:
            stays = one_step(here, kinds, counts[stage], sums[stage, 2], free, c, rules) <= left * now
        if stays:
            out[OFFSET + now] += p
            continue
        p /= left
        out[OFFSET] += p * bust
        out[SCORES] += p * bust
        away[c] = p * sums[stage, 2]
        for i in range(free):
            if c >> i & 1 == 0:
                reach[c | 1 << i] += p * counts[stage, i]
    return free


@compiled
def forward_wiped(line, deck, discard, rules, away, mode, threshold, table, payoff, busted, first, step, out):
    """Go on, for every ``step``-th state from ``first``, where Unlucky 7 has come with probability ``away[c]``."""
    kinds = np.empty(NUMBER_KINDS, np.int64)
    counts = np.empty((2, NUMBER_KINDS))
    sums = np.empty((2, 3))
    free = arrange(line, deck, discard, kinds, counts, sums)
    next_deck = np.empty(NUMBER_KINDS, np.int64)
    next_discard = np.empty(NUMBER_KINDS, np.int64)
    size = 1 << (NUMBER_KINDS - 2)
    values, draws, reach, nowhere = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    nothing = np.zeros(1)
    plain = (rules[ZERO_RULE], rules[PAIR_RULE], 0, 0, rules[FLOOR], rules[BONUS])
    new = 1 << UNLUCKY_7
    for c in range(first, 1 << free, step):
        if away[c] > 0.0:
            stage = 1 if popcount(np.uint64(c)) >= sums[0, 1] else 0
            after_wipe(line, deck, discard, kinds, free, c, stage, next_deck, next_discard)
            if mode == OPTIMAL:
                backward(new, next_deck, next_discard, plain, payoff, busted, nothing, 0, values, draws)
            forward(new, next_deck, next_discard, plain, away[c], mode, threshold, table, values, draws, reach, nowhere, out)
    return 0


# ---- many tables


@compiled
def live_values(lines, decks, discards, rules, payoffs, wiped, stay, draw):
    """Fill ``stay[n]`` and ``draw[n]``, the payoffs expected of either, for row after row; draw is -inf with seven cards."""
    values = np.zeros(1 << (NUMBER_KINDS - 1))
    draws = np.zeros(1 << (NUMBER_KINDS - 1))
    wipe = np.zeros(1)
    for n in range(len(lines)):
        rule = (rules[n, 0], rules[n, 1], rules[n, 2], rules[n, 3], rules[n, 4], rules[n, 5])
        payoff = payoffs[n]
        wipe[0] = 0.0
        for x in range(SCORES):
            wipe[0] += wiped[x] * payoff[x]
        backward(lines[n], decks[n], discards[n], rule, payoff, payoff[OFFSET], wipe, 0, values, draws)
        stay[n] = payoff[OFFSET + score_of(sum_line(lines[n]), lines[n] & 1 != 0, False, rule)]
        draw[n] = draws[0]
    return 0


@compiled
def sure_draws(lines, decks, discards, rules, sure):
    """Fill ``sure[n]``: whether one more card alone brings more points than to stay, so that to draw is best."""
    kinds = np.empty(NUMBER_KINDS, np.int64)
    counts = np.empty((2, NUMBER_KINDS))
    sums = np.empty((2, 3))
    for n in range(len(lines)):
        line = lines[n]
        rule = (rules[n, 0], rules[n, 1], rules[n, 2], rules[n, 3], rules[n, 4], rules[n, 5])
        free = arrange(line, decks[n], discards[n], kinds, counts, sums)
        stage = 1 if sums[0, 1] <= 0.0 else 0
        now = score_of(sum_line(line), line & 1 != 0, False, rule)
        # without the floor a Zero that comes may cost points, which one step does not see
        sure[n] = rule[FLOOR] and one_step(line, kinds, counts[stage], sums[stage, 2], free, 0, rule) > sums[stage, 1] * now
    return 0


@compiled
def card_luck(lines, decks, rules, cards, payoff, wiped, luck):
    """Fill ``luck[n]``: V once ``cards[n]`` has come to the line, less its mean over the deck; other cards leave V as it is."""
    values = np.zeros(1 << (NUMBER_KINDS - 1))
    draws = np.zeros(1 << (NUMBER_KINDS - 1))
    wipe = np.zeros(1)
    none = np.zeros(NUMBER_KINDS, np.int64)
    wipe[0] = wiped
    for n in range(len(lines)):
        line = lines[n]
        deck = decks[n, :NUMBER_KINDS]
        rule = (rules[n, 0], rules[n, 1], rules[n, 2], rules[n, 3], rules[n, 4], rules[n, 5])
        free = backward(line, deck, none, rule, payoff, payoff[OFFSET], wipe, 0, values, draws)
        mean = 0.0
        came = values[0]
        position = 0
        total = 0
        for kind in range(decks.shape[1]):
            total += decks[n, kind]
        if total == 0:
            luck[n] = 0.0
            continue
        for kind in range(decks.shape[1]):
            if decks[n, kind] == 0:
                continue
            value = values[0]
            if kind == NUMBER_KINDS - 1:
                value = wiped
            elif kind < NUMBER_KINDS:
                if line >> kind & 1 or (kind == 7 and line >> (NUMBER_KINDS - 1) & 1):
                    value = payoff[OFFSET]
                else:
                    value = values[1 << position]
                    position += 1
            mean += value * decks[n, kind] / total
            if kind == cards[n]:
                came = value
        luck[n] = came - mean
    return free


# ---- the race


@compiled
def round_payoff(mine, theirs, table, his, payoff):
    """g(x) = Σ_y D(y) w(mine + x, theirs + y) for x = 0 …, into ``payoff``; ``table`` is w."""
    for x in range(len(his)):
        value = 0.0
        for y in range(len(his)):
            value += his[y] * table[mine + x, theirs + y]
        payoff[x] = value


@compiled
def best_round(payoff, scores, bust, first, successor, chance, values):
    """The value of a round with the payoff g: states in descending order, ``successor[first[s]:first[s + 1]]`` follow s.

    ``bust[s]`` is 1 with seven cards: nothing follows. Backward induction as in ``kernel.backward``, with a bound that spares
    most states their sum: drawing is worth no more than the highest payoff where it does not bust.
    """
    highest = payoff.max()
    zero = payoff[0]
    for s in range(len(scores)):
        stay = payoff[scores[s]]
        value = stay
        if bust[s] * zero + (1.0 - bust[s]) * highest > stay and first[s + 1] > first[s]:
            draw = bust[s] * zero
            for i in range(first[s], first[s + 1]):
                draw += chance[i] * values[successor[i]]
            value = max(stay, draw)
        values[s] = value
    return values[len(scores) - 1]


@compiled
def race_cells(level, begin, step, target, his, table, payoffs, scores, bust, first, successor, chance):
    """Solve every ``step``-th cell (a, b) with a + b = ``level``: it needs those of greater sums only.

    ``payoffs[a, b]`` gets g; ``table[a, b]`` W.
    """
    values = np.empty(len(scores))
    for mine in range(max(0, level - target + 1) + begin, min(level, target - 1) + 1, step):
        theirs = level - mine
        payoff = payoffs[mine, theirs]
        table[mine, theirs] = 0.0
        round_payoff(mine, theirs, table, his, payoff)
        zero = payoff[0]
        guess = table[mine + 1, theirs] + table[mine, theirs + 1] - table[mine + 1, theirs + 1]
        before = 0.0
        value = 0.0
        for turn in range(50):
            payoff[0] = zero + his[0] * guess
            found = value
            value = best_round(payoff, scores, bust, first, successor, chance, values)
            if abs(value - guess) < CLOSE:
                break
            if turn == 0:
                before = guess
                guess = value
            else:  # the value is linear in the guess while the play stays the same: go to where they meet
                slope = (value - found) / (guess - before)
                before = guess
                guess += (value - guess) / (1.0 - slope)
        table[mine, theirs] = value
        payoff[0] = zero + his[0] * value
    return 0


@compiled
def best_thresholds(payoffs, rules, wins, best):
    """For each row of payoffs the rule (a row of ``rules``: its distribution) with the highest mean, and that mean."""
    for row in range(len(payoffs)):
        top = -1.0
        for rule in range(len(rules)):
            mean = 0.0
            for x in range(rules.shape[1]):
                mean += rules[rule, x] * payoffs[row, x]
            if mean > top + 1e-12:
                top = mean
                best[row] = rule
        wins[row] = top
    return 0
