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
from card_envs.games.flip7.appraisals import NO_POINTS, get_line, is_active, project_total, read_numbers
from card_envs.games.flip7.deck import count_cards, count_next, count_numbers
from card_envs.games.flip7.lines import count_busting, score_seat
from card_envs.games.flip7.race import weigh_draw
from card_envs.games.flip7.state import ACTION_DRAW, ACTION_STAY, TURN, UNLUCKY_7, ZERO
from card_envs.games.flip7.targets import choose_target, is_last_round, share_win
from card_envs.games.flip7.turns import expect_gain

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
def weigh_by_ev(s, seat, parameters):
    """What the next card is expected to bring, less what it costs, summed over all cards still to come."""
    top = s.totals[(seat + 1) % s.players]
    for distance in range(2, s.players):
        top = max(top, s.totals[(seat + distance) % s.players])
    now = float(score_seat(s, seat))
    loss = now - parameters[1] * (top - s.totals[seat])
    if top + NEAR >= s.target:
        loss -= parameters[2] * (s.players - 2)
    return expect_gain(s, seat, now, loss, parameters[0] * (count_cards(s) - count_numbers(s)))


@register_jitable
def stays_by_ev(s, seat, parameters):
    return weigh_by_ev(s, seat, parameters) <= 0.0


@register_jitable
def stays_by_race(s, seat, parameters):
    """Whether drawing is expected to bring no more of the match than staying."""
    return weigh_draw(s, seat) <= 0.0


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


EV_DEFAULTS = {"card": 10.0, "chase": 0.1, "rush": 4.0}
EV = np.array([*EV_DEFAULTS.values()])
choose_ev = build_player(stays_by_ev)

POLICIES = (
    Policy("random", choose_random, "a uniformly random legal action"),
    Policy("count", build_player(stays_by_count), "stays with k number cards", {"k": 3.0}),
    Policy("sum", build_player(stays_by_sum), "stays when its numbers sum to k", {"k": 26.0}),
    Policy("risk", build_player(stays_by_risk), "stays when the next number card busts with probability p", {"p": 0.24}),
    Policy(
        "ev", choose_ev,
        "draws iff the next card is expected to bring more than a bust costs: an action or modifier counts as `card` points; of"
        " the loss go `chase` times the points behind the best opponent, and `rush` for each opponent but one when that one is"
        " near the target",
        EV_DEFAULTS,
    ),
    Policy(
        "race", build_player(stays_by_race),
        "draws iff that is expected to bring more of the match than staying, as a small network reckons from its own line, the"
        " cards to come and where everybody stands",
    ),
)  # fmt: skip
ALIASES = {"count3": "count(3)", "sum26": "sum(26)", "risk24": "risk(.24)"}
