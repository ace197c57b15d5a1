"""What a player of Flip 7 looks at before they draw or stay: the own line, the next card, and where everybody stands.

These are figures without seats, for any number of players. A seat *stands* at its total and what its line scores as it lies.
"""

import numpy as np

from card_envs.engine.game import FieldSpec, locate_fields
from card_envs.engine.jitable import register_jitable
from card_envs.games.flip7.deck import count_cards, count_next, count_numbers
from card_envs.games.flip7.lines import BUST, FLIP_SEVEN, PAIR, add_card, count_busting, get_value, has_card, score_seat
from card_envs.games.flip7.state import DECK_SIZE, FIRST_ACTION, FIRST_MODIFIER, HALF, MAX_PLAYERS, UNLUCKY_7, ZERO
from card_envs.games.flip7.appraisals import (
    NO_POINTS, appraise, appraise_line, get_line, is_active, project_total, read_modifiers, read_numbers,
)  # fmt: skip

FAR = 5.0  # differences of points are clipped to so many times their scale
NEAR = 50.0  # a player who lacks no more points than this may soon reach the target

TURN_FIELDS = (
    FieldSpec("players", (1,), "players at the table", float(MAX_PLAYERS)),
    FieldSpec("players_inverse", (1,), "2 / players at the table"),
    FieldSpec("brutal", (1,), "the match is played in Brutal mode"),
    # the line of the seat to move
    FieldSpec("score", (1,), "what the own line would score as it lies", 50.0, -1.0, 2.0),
    FieldSpec("sum", (1,), "the sum of the number cards in the own line", 50.0, 0.0, 2.0),
    FieldSpec("numbers", (1,), "how many of the seven cards of a Flip 7 are in the own line", float(FLIP_SEVEN)),
    FieldSpec("six", (1,), "the own line lacks one card of a Flip 7"),
    FieldSpec("minus", (1,), "the points that the minus cards in the own line take away", 30.0),
    FieldSpec("half", (1,), "/2 is in the own line"),
    FieldSpec("zero", (1,), "Zero is in the own line"),
    # the next card
    FieldSpec("cards", (1,), "cards from which the next one is drawn", float(DECK_SIZE)),
    FieldSpec("p_bust", (1,), "exact probability that the next card would bust the own line"),
    FieldSpec("p_action", (1,), "exact probability that the next card is an action", 0.2, 0.0, 5.0),
    FieldSpec("p_modifier", (1,), "exact probability that the next card is a modifier", 0.2, 0.0, 5.0),
    FieldSpec("p_unlucky", (1,), "exact probability that the next card is unlucky7", 0.1, 0.0, 10.0),
    FieldSpec("p_zero", (1,), "exact probability that the next card is 0", 0.1, 0.0, 10.0),
    FieldSpec("mean_number", (1,), "mean value of the number cards that would not bust the own line", 13.0),
    FieldSpec(
        "gain", (1,), "expected points that the next card brings to the own line if it is a number, as the player ev reckons",
        10.0, -10.0, 10.0,
    ),
    # the race
    FieldSpec("need", (1,), "points that the own total lacks of the target", 200.0, 0.0, FAR),
    FieldSpec("near", (1,), "the same, but at most 50 points", NEAR),
    FieldSpec("standing_need", (1,), "points that the own standing lacks of the target", 200.0, -1.0, FAR),
    FieldSpec("reaches", (1,), "the own standing reaches the target"),
    FieldSpec("active", (1,), "how many others are active, as a share of the players"),
    FieldSpec("behind_total", (1,), "by how many points the best other total exceeds the own", 100.0, -FAR, FAR),
    FieldSpec("behind", (1,), "by how many points the best other standing exceeds the own", 100.0, -FAR, FAR),
    FieldSpec("behind_second", (1,), "the same for the second-best other; 0 if there is none", 100.0, -FAR, FAR),
    FieldSpec("behind_active", (1,), "the same for the best active other; 0 if there is none", 100.0, -FAR, FAR),
    FieldSpec("other_reaches", (1,), "the standing of another reaches the target"),
)  # fmt: skip
TURN, _ = locate_fields(TURN_FIELDS)
TURN_FIGURES = len(TURN_FIELDS)  # each is one number


@register_jitable
def clip(value, low, high):
    return min(max(value, low), high)


@register_jitable
def expect_gain(s, seat, now, loss, gain):
    """Add to ``gain`` what the numbers among the cards to come bring, if each is drawn once; a bust costs ``loss``.

    A line is worth what :func:`appraise` says once the card has come, and ``now`` before.
    """
    held = get_line(s, seat)
    total, numbers = read_numbers(s, held)
    minus, share = read_modifiers(held)
    for card in range(FIRST_MODIFIER):
        n = count_next(s, card)
        if n > 0:
            line = add_card(held, card)
            if line == BUST:
                gain -= n * loss
            elif card == UNLUCKY_7 or line & PAIR == PAIR:
                gain += n * (appraise_line(s, line, True) - now)
            else:
                zero = has_card(line, ZERO)
                gain += n * (appraise(s, minus, share, zero, total + get_value(card), numbers + 1.0, True) - now)
    return gain


@register_jitable
def write_turn(s, seat, f):
    """Write all fields of ``TURN_FIELDS``, from what the seat to move knows, into ``f``, which is all zero."""
    write_line(s, seat, f)
    write_next(s, seat, f)
    write_standings(s, seat, f)


@register_jitable
def write_line(s, seat, f):
    """The fields before ``cards``."""
    held = get_line(s, seat)
    total, numbers = read_numbers(s, held)
    minus, _ = read_modifiers(held)
    f[TURN.players] = s.players / float(MAX_PLAYERS)
    f[TURN.players_inverse] = 2.0 / s.players
    f[TURN.brutal] = s.brutal
    f[TURN.score] = score_seat(s, seat) / 50.0
    f[TURN.sum] = total / 50.0
    f[TURN.numbers] = min(numbers, float(FLIP_SEVEN)) / FLIP_SEVEN
    f[TURN.six] = 1.0 if numbers == FLIP_SEVEN - 1.0 else 0.0
    f[TURN.minus] = minus / 30.0
    f[TURN.half] = has_card(held, HALF)
    f[TURN.zero] = has_card(held, ZERO)


@register_jitable
def write_next(s, seat, f):
    """The fields from ``cards`` to ``gain``."""
    held = get_line(s, seat)
    now = float(score_seat(s, seat))
    cards = count_cards(s)
    per_card = 1.0 / max(1, cards)
    modifiers = 0
    for card in range(FIRST_MODIFIER, FIRST_ACTION):
        modifiers += count_next(s, card)
    good = 0
    points = 0
    for card in range(FIRST_MODIFIER):
        n = count_next(s, card)
        if n > 0 and add_card(held, card) != BUST:
            good += n
            points += n * get_value(card)
    f[TURN.cards] = cards / float(DECK_SIZE)
    f[TURN.p_bust] = count_busting(s, seat) * per_card
    f[TURN.p_action] = (cards - count_numbers(s) - modifiers) * per_card * 5.0
    f[TURN.p_modifier] = modifiers * per_card * 5.0
    f[TURN.p_unlucky] = count_next(s, UNLUCKY_7) * per_card * 10.0
    f[TURN.p_zero] = count_next(s, ZERO) * per_card * 10.0
    f[TURN.mean_number] = points / (13.0 * max(1, good))
    f[TURN.gain] = clip(expect_gain(s, seat, now, now, 0.0) * per_card / 10.0, -10.0, 10.0)


@register_jitable
def write_standings(s, seat, f):
    """The fields from ``need`` on."""
    own_total = np.int64(s.totals[seat])
    own = project_total(s, seat)
    best_total = NO_POINTS
    best = NO_POINTS
    second = NO_POINTS
    best_active = NO_POINTS
    active = 0
    for distance in range(1, s.players):
        other = (seat + distance) % s.players
        points = project_total(s, other)
        best_total = max(best_total, s.totals[other])
        second = max(second, min(points, best))
        best = max(best, points)
        if is_active(s, other):
            active += 1
            best_active = max(best_active, points)
    need = np.int64(s.target) - own_total
    f[TURN.need] = min(need / 200.0, FAR)
    f[TURN.near] = min(need / NEAR, 1.0)
    f[TURN.standing_need] = clip((s.target - own) / 200.0, -1.0, FAR)
    f[TURN.reaches] = 1.0 if own >= s.target else 0.0
    f[TURN.active] = active / float(s.players)
    f[TURN.behind_total] = compare(best_total, own_total)
    f[TURN.behind] = compare(best, own)
    f[TURN.behind_second] = compare(second, own) if s.players > 2 else 0.0
    f[TURN.behind_active] = compare(best_active, own) if active > 0 else 0.0
    f[TURN.other_reaches] = 1.0 if best >= s.target else 0.0


@register_jitable
def compare(points, own):
    """By how many hundreds of points another is ahead."""
    return clip((points - own) / 100.0, -FAR, FAR)
