"""The race to the target in Flip 7: how a match is likely to end, seen from the start of a round, and draw or stay by that.

Both come from small networks that ``python -m train.race`` fits; their weights are in ``race.safetensors``.
"""

import math
from pathlib import Path

import numpy as np

from card_envs.engine.jitable import make_scratch, register_jitable
from card_envs.games.flip7.state import MAX_PLAYERS
from card_envs.games.flip7.appraisals import NO_POINTS
from card_envs.games.flip7.turns import FAR, NEAR, TURN_FIGURES, clip, compare, write_turn
from card_envs.games.perceptron import ask, read_perceptron

WEIGHTS = Path(__file__).parent / "race.safetensors"
RACE_FIGURES = 11
MOST = 50.0  # so much less in the logarithm is as good as no chance

VALUE = read_perceptron(WEIGHTS, "value", RACE_FIGURES)
TURN = read_perceptron(WEIGHTS, "turn", TURN_FIGURES)


@register_jitable
def find_highest(s):
    """The three highest totals; with two players the third is the second again."""
    first = NO_POINTS
    second = NO_POINTS
    third = NO_POINTS
    for seat in range(s.players):
        total = np.int64(s.totals[seat])
        third = max(third, min(total, second))
        second = max(second, min(total, first))
        first = max(first, total)
    return first, second, third if s.players > 2 else second


@register_jitable
def write_race(s, seat, highest, points, x):
    """What a seat has before it at the start of a round: the inputs of the network ``VALUE``.

    ``highest`` are the three highest totals, and ``points`` is the sum of all totals.
    """
    first, second, third = highest
    players = np.int64(s.players)
    own = np.int64(s.totals[seat])
    best = second if own == first else first
    next_best = second if own < second else third
    need = np.int64(s.target) - own
    place = (seat - np.int64(s.dealer) - 1 + players) % players
    x[0] = min(need / 200.0, FAR)
    x[1] = min(need / NEAR, 1.0)
    x[2] = compare(best, own)
    x[3] = compare(next_best, own) if players > 2 else x[2]
    x[4] = clip(((points - own) / (players - 1.0) - own) / 100.0, -FAR, FAR)
    x[5] = min((s.target - best) / NEAR, 1.0)
    x[6] = place / (players - 1.0)
    x[7] = 1.0 if place == 0 else 0.0
    x[8] = players / float(MAX_PLAYERS)
    x[9] = 2.0 / players
    x[10] = s.brutal


@register_jitable
def rate_seat(s, seat, highest, points):
    """The logarithm of how often a seat wins, but for a constant that is the same for all seats."""
    x = make_scratch(RACE_FIGURES)
    write_race(s, seat, highest, points, x)
    return ask(VALUE, x)


@register_jitable
def match_value(s, seat):
    """What the match is expected to pay ``seat`` (``reward="win"``), at the start of a round, if all play like ``ev``.

    Only the totals, the dealer and the options count. The values of all seats sum to 0.
    """
    seat = np.int64(seat)
    points = 0
    for other in range(s.players):
        points += np.int64(s.totals[other])
    highest = find_highest(s)
    own = rate_seat(s, seat, highest, points)
    odds = 1.0
    for distance in range(1, s.players):
        other = (seat + distance) % s.players
        odds += math.exp(clip(rate_seat(s, other, highest, points) - own, -MOST, MOST))
    return (s.players / odds - 1.0) / (s.players - 1.0)


@register_jitable
def weigh_draw(s, seat):
    """How much more of the match drawing pays than staying, as the network ``TURN`` reckons, in a unit of the kind of table."""
    x = make_scratch(TURN_FIGURES)
    write_turn(s, seat, x)
    return ask(TURN, x)
