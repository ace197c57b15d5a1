"""Built-in players of Flip 7.

They differ in when to stop. Whom to give a card and which card to pick they all decide in one way (``targets``), and the end of
the match, where the right choice is plain, as well.

Everything but the deck's order is public, and no player reads that order: only how many cards of each kind are still to come.
"""

import numpy as np

from card_envs.engine.game import Policy, Rule
from card_envs.engine.bits import is_legal
from card_envs.engine.jitable import register_jitable
from card_envs.engine.random import choose_random
from card_envs.games.flip7.deck import count_cards, count_next, count_numbers
from card_envs.games.flip7.lines import BUST, PAIR, add_card, count_busting, get_value, has_card, score_seat
from card_envs.games.flip7.state import ACTION_DRAW, ACTION_STAY, FIRST_MODIFIER, TURN, UNLUCKY_7, ZERO
from card_envs.games.flip7.targets import (
    NO_POINTS, appraise, appraise_line, choose_target, get_line, is_active, is_last_round, project_total,
    read_modifiers, read_numbers, share_win,
)  # fmt: skip

NEAR = 60  # an opponent who lacks no more points than this may soon end the match
OPEN = -1  # stands for "draw or stay" where the end of the match does not decide it


# ---- the end of the match


@register_jitable
def decide_end(s, seat, words):
    """Draw or stay where that decides the match or there is no choice, else :data:`OPEN`.

    Stay if banking wins and nobody else is active. Draw while a player who has stayed or can bank would win, since staying
    would lose. If banking would share the win, take the better of the share and one more card.
    """
    if not is_legal(words, ACTION_STAY):
        return ACTION_DRAW
    mine = project_total(s, seat)
    top = NO_POINTS
    level = 1
    active = 0
    for distance in range(1, s.players):
        other = (seat + distance) % s.players
        points = project_total(s, other)
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
    return ACTION_DRAW if good + bad * lost > (good + bad) * share_win(s.players, level + 1) else ACTION_STAY


# ---- the players


@register_jitable
def stays_by_count(s, seat, parameters):
    return read_numbers(s, get_line(s, seat))[1] >= parameters[0]


@register_jitable
def stays_by_sum(s, seat, parameters):
    return read_numbers(s, get_line(s, seat))[0] >= parameters[0]


@register_jitable
def stays_by_risk(s, seat, parameters):
    return count_busting(s, seat) >= parameters[0] * max(1, count_numbers(s))


@register_jitable
def stays_by_ev(s, seat, parameters):
    """Whether the next card is expected to bring no more than it costs, over all cards still to come."""
    top = s.totals[(seat + 1) % s.players]
    for distance in range(2, s.players):
        top = max(top, s.totals[(seat + distance) % s.players])
    now = float(score_seat(s, seat))
    loss = now - parameters[1] * (top - s.totals[seat])
    if top + NEAR >= s.target:
        loss -= parameters[2] * (s.players - 2)
    held = get_line(s, seat)
    total, numbers = read_numbers(s, held)
    minus, share = read_modifiers(held)
    gain = parameters[0] * (count_cards(s) - count_numbers(s))
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
    return gain <= 0.0


def build_player(stays: Rule) -> Rule:
    """A player who stays where ``stays(state, seat, parameters)`` says so; everything else all players decide alike."""

    @register_jitable
    def choose(s, seat, words, key, parameters):
        seat = np.int64(seat)  # all helpers are then compiled for one type of seat
        if s.phase != TURN:
            return choose_target(s, seat, words)
        action = decide_end(s, seat, words)
        if action != OPEN:
            return action
        return ACTION_STAY if stays(s, seat, parameters) else ACTION_DRAW

    return choose


POLICIES = (
    Policy("random", choose_random, "a uniformly random legal action"),
    Policy("count", build_player(stays_by_count), "stays with k number cards", {"k": 3.0}),
    Policy("sum", build_player(stays_by_sum), "stays when its numbers sum to k", {"k": 26.0}),
    Policy("risk", build_player(stays_by_risk), "stays when the next number card busts with probability p", {"p": 0.24}),
    Policy(
        "ev", build_player(stays_by_ev),
        "draws iff the next card is expected to bring more than a bust costs: an action or modifier counts as `card` points; of"
        " the loss go `chase` times the points behind the best opponent, and `rush` for each opponent but one when that one is"
        " near the target",
        {"card": 10.0, "chase": 0.1, "rush": 4.0},
    ),
)  # fmt: skip
ALIASES = {"count3": "count(3)", "sum26": "sum(26)", "risk24": "risk(.24)"}
