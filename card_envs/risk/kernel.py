"""The loops of the solver: optimal stopping of one solo round, backward for values and forward for distributions.

They are functions that numba can compile; modules that run one compile it with :func:`compile_kernel`.

The *free* kinds of a line are the number cards that can still come to it without a double, at most 15. A state is the set
``c`` of the free cards that have come: its line is the first line joined by ``c``, its deck the first deck without ``c``. A
superset is a greater number, so that in descending order every state comes after its successors.

There is one Unlucky 7. It wipes the line and so begins another problem of the same form, with the line ``{unlucky7}`` and the
deck as it is then. The value of that problem is ``wipe[c & wide]``: one value for each state (``wide = -1``) or a single one
for all of them (``wide = 0``).

When all number cards of the deck have been drawn, those of the discard pile follow, including the wiped ones.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from card_envs.engine.code_cache import compile_cached
from card_envs.engine.compiled import COUNTED, name_code
from card_envs.engine.jitable import register_jitable
from card_envs.games.flip7.lines import (
    BONUS_POINTS,
    FLIP_SEVEN,
    count_line,
    count_set,
    get_value,
    has_card,
    is_double,
    is_flip_seven,
    score_sum,
    sum_line,
)
from card_envs.games.flip7.state import FIRST_MODIFIER, UNLUCKY_7, ZERO

NUMBER_KINDS = FIRST_MODIFIER  # 0 … 13, lucky13, unlucky7
FREE_KINDS = NUMBER_KINDS - 1  # the largest number of free kinds: Unlucky 7 is never one of them

OFFSET = 32  # payoffs and histograms hold the score x at x + OFFSET
SCORES = 160

OPTIMAL, TABLE, RISK, ONE_STEP = range(4)  # how a forward pass decides


class Rules(NamedTuple):
    """What a round is scored by. All values are ints, because compiled loops need a single type.

    Attributes:
        zero_rule: Whether a line with Zero must draw, and scores 0 without a Flip 7.
        pair_counts_twice, brutal: The options of the game.
        half, minus: The modifiers in the line; ``minus`` in points.
    """

    zero_rule: int
    pair_counts_twice: int
    half: int
    minus: int
    brutal: int


def compile_kernel(function: Callable[..., Any]) -> Any:
    """Compile a function at its first call, so that it lets other threads run, and cache it on disk if that is possible.

    numba does not notice if a function of another module that is compiled into this one changes. A hash of the code in the
    function's name makes sure that it is compiled anew.
    """
    function.__qualname__ = name_code(function.__qualname__, (function,), COUNTED)
    return compile_cached(function, COUNTED)[0]


@register_jitable
def find_free_kinds(line, deck, discard):
    """``(free, kinds, counts, sums)``: the number of free kinds, which they are, and how many cards there are.

    Row 0 of ``counts`` and ``sums`` is about the deck as it lies, row 1 about the deck with the discard pile.
    ``counts[stage, i]`` is the number of cards of the free kind ``i``. ``sums[stage]`` are the numbers of cards that bust the
    line, of number cards, and of Unlucky 7.
    """
    kinds = np.empty(NUMBER_KINDS, np.int64)
    counts = np.empty((2, NUMBER_KINDS))
    sums = np.zeros((2, 3))
    free = 0
    total = 0
    for kind in range(NUMBER_KINDS):
        total += deck[kind]
    for kind in range(NUMBER_KINDS):
        now = float(deck[kind])
        then = now + discard[kind] if total <= FLIP_SEVEN else now  # with more cards no line can outlast the deck
        sums[0, 1] += now
        sums[1, 1] += then
        if kind == UNLUCKY_7:
            sums[0, 2] = now
            sums[1, 2] = then
        elif is_double(line, kind):
            sums[0, 0] += now
            sums[1, 0] += then
        elif then > 0.0:
            kinds[free] = kind
            counts[0, free] = now
            counts[1, free] = then
            free += 1
    return free, kinds, counts, sums


@register_jitable
def join_cards(line, kinds, free, c):
    """The line once the free cards of ``c`` have come."""
    for i in range(free):
        if c >> i & 1:
            line |= 1 << kinds[i]
    return line


@register_jitable
def must_draw(line, flips, rules):
    """F31: whether Zero forbids staying, and makes the score 0 if the round ends."""
    return rules.zero_rule == 1 and has_card(line, ZERO) == 1 and not flips


@register_jitable
def score_round(line, flips, rules):
    """The score of a round that ends with this line of number cards, the 15 of a Flip 7 included."""
    points = score_sum(sum_line(line), rules.minus, rules.half, must_draw(line, flips, rules), rules.brutal)
    return points + BONUS_POINTS if flips else points


@register_jitable
def solve_backward(line, deck, discard, rules, payoff, busted, wipe, wide, values, draws):
    """The optimal values of all states, ``values[c]``, and those of drawing there, ``draws[c]``; both as long as 2**free.

    V(S) = g(x(S)) with seven cards, else max{g(x(S)), [bust·g(0) + Σ r_v V(S + v)] / T}; with Zero there is no choice.
    ``payoff`` is g by score + OFFSET, and ``busted`` the payoff of a bust.
    """
    free, kinds, counts, sums = find_free_kinds(line, deck, discard)
    held = count_set(line)
    for c in range((1 << free) - 1, -1, -1):
        k = count_set(c)
        if held + k > FLIP_SEVEN + 1:  # more than any line can have, even if its two 13s count as one
            continue
        here = join_cards(line, kinds, free, c)
        numbers = count_line(here, rules.pair_counts_twice)
        if numbers > FLIP_SEVEN:
            continue
        if numbers == FLIP_SEVEN:
            values[c] = payoff[OFFSET + score_round(here, True, rules)]
            draws[c] = values[c]
            continue
        stage = 1 if k >= sums[0, 1] else 0
        bust = sums[stage, 0]
        gain = 0.0
        values[c] = 0.0  # so that a card of c adds nothing below
        for i in range(free):
            bust += (c >> i & 1) * (counts[stage, i] - 1.0)
            gain += counts[stage, i] * values[c | 1 << i]
        left = sums[stage, 1] - k
        stay = payoff[OFFSET + score_round(here, False, rules)]
        if left <= 0.0:
            values[c] = stay
            draws[c] = stay
            continue
        if sums[stage, 2] > 0.0:
            gain += sums[stage, 2] * wipe[c & wide]
        draw = (bust * busted + gain) / left
        draws[c] = draw
        values[c] = draw if must_draw(here, False, rules) or draw > stay else stay


@register_jitable
def without_modifiers(rules):
    """The rules of the round after Unlucky 7, which has wiped the modifiers too."""
    return Rules(rules.zero_rule, rules.pair_counts_twice, 0, 0, rules.brutal)


@register_jitable
def wipe_decks(line, deck, discard, kinds, free, c, stage, next_deck, next_discard):
    """Fill the decks as they are once Unlucky 7 has come to the state ``c`` and wiped its line."""
    for kind in range(NUMBER_KINDS):
        wiped = has_card(line, kind)
        next_deck[kind] = deck[kind] + (discard[kind] if stage else 0)
        next_discard[kind] = wiped if stage else discard[kind] + wiped
    for i in range(free):
        if c >> i & 1:
            next_deck[kinds[i]] -= 1
            next_discard[kinds[i]] += 1
    next_deck[UNLUCKY_7] -= 1


@register_jitable
def solve_wiped(line, deck, discard, rules, payoff, busted, first, step, wipe):
    """Fill ``wipe[c]`` for every ``step``-th state from ``first`` with the value of the line ``{unlucky7}`` after it."""
    free, kinds, _, sums = find_free_kinds(line, deck, discard)
    next_deck = np.empty(NUMBER_KINDS, np.int64)
    next_discard = np.empty(NUMBER_KINDS, np.int64)
    values = np.empty(1 << (FREE_KINDS - 1))
    draws = np.empty(1 << (FREE_KINDS - 1))
    nothing = np.zeros(1)
    plain = without_modifiers(rules)
    for c in range(first, 1 << free, step):
        if not is_flip_seven(join_cards(line, kinds, free, c), rules.pair_counts_twice):
            stage = 1 if count_set(c) >= sums[0, 1] else 0
            if sums[stage, 2] > 0.0:
                wipe_decks(line, deck, discard, kinds, free, c, stage, next_deck, next_discard)
                solve_backward(1 << UNLUCKY_7, next_deck, next_discard, plain, payoff, busted, nothing, 0, values, draws)
                wipe[c] = values[0]


@register_jitable
def sum_one_step(line, kinds, counts, unlucky, free, c, rules):
    """The score after one more card, summed over the cards of the deck that do not bust the line."""
    points = unlucky * float(get_value(UNLUCKY_7))
    for i in range(free):
        if c >> i & 1 == 0:
            joined = line | 1 << kinds[i]
            points += counts[i] * score_round(joined, is_flip_seven(joined, rules.pair_counts_twice), rules)
    return points


@register_jitable
def play_forward(line, deck, discard, rules, weight, mode, threshold, table, values, draws, reach, away, out):
    """Add the exact distribution of the round score under a rule to ``out``.

    ``mode`` says how to decide: OPTIMAL by ``values`` and ``draws``; TABLE stays if ``table[line]``; RISK stays if
    P(bust | number card) >= ``threshold``; ONE_STEP stays unless one more card is worth it on average. ``out[:SCORES]`` are the
    probabilities by score + OFFSET, busts included; ``out[SCORES]`` is P(bust), and ``out[SCORES + 1]`` P(flip 7). ``away[c]``
    is filled with the probability that Unlucky 7 comes to the state ``c``. ``reach`` is scratch space for 2**free values.
    Everything is multiplied by the probability ``weight`` of the first state.
    """
    free, kinds, counts, sums = find_free_kinds(line, deck, discard)
    for c in range(1 << free):
        reach[c] = 0.0
    reach[0] = weight
    for c in range(1 << free):
        p = reach[c]
        if p == 0.0:
            continue
        here = join_cards(line, kinds, free, c)
        if is_flip_seven(here, rules.pair_counts_twice):
            out[OFFSET + score_round(here, True, rules)] += p
            out[SCORES + 1] += p
            continue
        k = count_set(c)
        stage = 1 if k >= sums[0, 1] else 0
        left = sums[stage, 1] - k
        now = score_round(here, False, rules)
        bust = sums[stage, 0]
        for i in range(free):
            if c >> i & 1:
                bust += counts[stage, i] - 1.0
        if left <= 0.0:
            stays = True
        elif must_draw(here, False, rules):
            stays = False
        elif mode == OPTIMAL:
            stays = values[c] > draws[c]
        elif mode == TABLE:
            stays = table[here] != 0
        elif mode == RISK:
            stays = bust >= threshold * left
        else:
            stays = sum_one_step(here, kinds, counts[stage], sums[stage, 2], free, c, rules) <= left * now
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


@register_jitable
def play_wiped(line, deck, discard, rules, away, mode, threshold, table, payoff, busted, first, step, out):
    """Play on where Unlucky 7 has come with probability ``away[c]``, for every ``step``-th state from ``first``."""
    free, kinds, _, sums = find_free_kinds(line, deck, discard)
    next_deck = np.empty(NUMBER_KINDS, np.int64)
    next_discard = np.empty(NUMBER_KINDS, np.int64)
    size = 1 << (FREE_KINDS - 1)
    values, draws, reach, nowhere = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    nothing = np.zeros(1)
    plain = without_modifiers(rules)
    new = 1 << UNLUCKY_7
    for c in range(first, 1 << free, step):
        if away[c] > 0.0:
            stage = 1 if count_set(c) >= sums[0, 1] else 0
            wipe_decks(line, deck, discard, kinds, free, c, stage, next_deck, next_discard)
            if mode == OPTIMAL:
                solve_backward(new, next_deck, next_discard, plain, payoff, busted, nothing, 0, values, draws)
            play_forward(
                new, next_deck, next_discard, plain, away[c], mode, threshold, table, values, draws, reach, nowhere, out
            )  # fmt: skip


# ---- many tables


@register_jitable
def read_rules(rules, n):
    """Row ``n`` of an int64 array [rows, 5] of rules."""
    return Rules(rules[n, 0], rules[n, 1], rules[n, 2], rules[n, 3], rules[n, 4])


@register_jitable
def compare_choices(lines, decks, discards, rules, payoffs, wiped, stay, draw):
    """Fill ``stay[n]`` and ``draw[n]`` with the expected payoffs of staying and of drawing in each row."""
    values = np.zeros(1 << FREE_KINDS)
    draws = np.zeros(1 << FREE_KINDS)
    wipe = np.zeros(1)
    for n in range(len(lines)):
        rule = read_rules(rules, n)
        payoff = payoffs[n]
        wipe[0] = 0.0
        for x in range(SCORES):
            wipe[0] += wiped[x] * payoff[x]
        solve_backward(lines[n], decks[n], discards[n], rule, payoff, payoff[OFFSET], wipe, 0, values, draws)
        stay[n] = payoff[OFFSET + score_round(lines[n], False, rule)]
        draw[n] = draws[0]


@register_jitable
def find_sure_draws(lines, decks, discards, rules, sure):
    """Fill ``sure[n]`` with whether one more card alone brings more points than staying, so that drawing is best."""
    for n in range(len(lines)):
        line = lines[n]
        rule = read_rules(rules, n)
        free, kinds, counts, sums = find_free_kinds(line, decks[n], discards[n])
        stage = 1 if sums[0, 1] <= 0.0 else 0
        now = score_round(line, False, rule)
        one_step = sum_one_step(line, kinds, counts[stage], sums[stage, 2], free, 0, rule)
        # with the option "brutal" a Zero that comes may cost points, which one step does not see
        sure[n] = not rule.brutal and one_step > sums[stage, 1] * now


@register_jitable
def measure_luck(lines, decks, rules, cards, payoff, wiped, luck):
    """Fill ``luck[n]`` with V once ``cards[n]`` has come to the line, less the mean of V over the deck.

    ``decks`` has all kinds of cards, [rows, 27]. A card that is not a number leaves V as it is.
    """
    values = np.zeros(1 << FREE_KINDS)
    draws = np.zeros(1 << FREE_KINDS)
    wipe = np.zeros(1)
    none = np.zeros(NUMBER_KINDS, np.int64)
    wipe[0] = wiped
    for n in range(len(lines)):
        line = lines[n]
        deck = decks[n, :NUMBER_KINDS]
        solve_backward(line, deck, none, read_rules(rules, n), payoff, payoff[OFFSET], wipe, 0, values, draws)
        mean = 0.0
        came = values[0]
        free = 0
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
            if kind == UNLUCKY_7:
                value = wiped
            elif kind < NUMBER_KINDS:
                if is_double(line, kind):
                    value = payoff[OFFSET]
                else:
                    value = values[1 << free]
                    free += 1
            mean += value * decks[n, kind] / total
            if kind == cards[n]:
                came = value
        luck[n] = came - mean
