"""The loops of the race: a round without special cards, as a graph of states, is solved for each pair of totals."""

import numpy as np

from card_envs.engine.jitable import register_jitable

CLOSE = 1e-9  # the accuracy of a win probability that depends on itself


@register_jitable
def fill_payoff(mine, theirs, table, opponent, payoff):
    """Fill ``payoff`` with g(x) = Σ_y D(y) w(mine + x, theirs + y) for x from 0 on; ``table`` is w and ``opponent`` is D."""
    for x in range(len(opponent)):
        value = 0.0
        for y in range(len(opponent)):
            value += opponent[y] * table[mine + x, theirs + y]
        payoff[x] = value


@register_jitable
def solve_round(payoff, scores, bust, first, successor, chance, values):
    """Return the value of a round with the payoff g. States are in descending order; those that follow s are
    ``successor[first[s]:first[s + 1]]``.

    ``bust[s]`` is 1 with seven cards, since nothing follows them. This is the backward induction of ``kernel.solve_backward``
    with a bound that makes most sums unnecessary: unless it busts, drawing is worth no more than the highest payoff.
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


@register_jitable
def solve_cells(level, step, target, opponent, table, payoffs, scores, bust, first, successor, chance, begin):
    """Solve every ``step``-th cell (a, b) with a + b = ``level``, from number ``begin`` on. It depends on greater sums only.

    ``payoffs[a, b]`` is filled with g and ``table[a, b]`` with W.
    """
    values = np.empty(len(scores))
    for mine in range(max(0, level - target + 1) + begin, min(level, target - 1) + 1, step):
        theirs = level - mine
        payoff = payoffs[mine, theirs]
        table[mine, theirs] = 0.0
        fill_payoff(mine, theirs, table, opponent, payoff)
        zero = payoff[0]
        guess = table[mine + 1, theirs] + table[mine, theirs + 1] - table[mine + 1, theirs + 1]
        guess_before = 0.0
        value = 0.0
        for attempt in range(50):
            payoff[0] = zero + opponent[0] * guess
            value_before = value
            value = solve_round(payoff, scores, bust, first, successor, chance, values)
            if abs(value - guess) < CLOSE:
                break
            if attempt == 0:
                guess_before = guess
                guess = value
            else:  # as long as the play stays the same, the value is linear in the guess, so this is where they are equal
                slope = (value - value_before) / (guess - guess_before)
                guess_before = guess
                guess += (value - guess) / (1.0 - slope)
        table[mine, theirs] = value
        payoff[0] = zero + opponent[0] * value


@register_jitable
def pick_thresholds(payoffs, rules, wins, best):
    """Fill ``best`` and ``wins`` with the rule of the highest mean, and that mean, for each row of payoffs.

    A row of ``rules`` is the distribution of the score under one rule.
    """
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
