"""Built-in players of Rummy, for both presets. They read what a seat may know: see ``tactics.py`` and ``best.py``."""

import numpy as np

from card_envs.engine.game import Policy
from card_envs.engine.jitable import register_jitable
from card_envs.engine.random import choose_random
from card_envs.games.rummy.best import (
    CARRY, GUARD, OUT, POINTS, SPREAD_PILE, STOCK, TOP, WEIGHTS, discard_wisely, find_best, lay_most, take_best,
)  # fmt: skip
from card_envs.games.rummy.state import ACTION_DISCARD, DRAW, SPREAD
from card_envs.games.rummy.tactics import NO_ACTION, dearest, free_cards, take_useful


@register_jitable
def choose_greedy(s, seat, words, key, parameters):
    """Lay whatever can be laid, and discard the dearest card."""
    seat = np.int64(seat)  # all helpers are then compiled for one type of seat
    hand = np.uint64(s.hands[seat])
    if s.phase == DRAW:
        return take_useful(s, seat, hand, words)
    action = lay_most(s, seat, hand, words)
    return action if action != NO_ACTION else ACTION_DISCARD + dearest(s, free_cards(s, hand))


@register_jitable
def choose_pile(s, seat, words, key, parameters):
    """As `greedy`, and take from a spread pile what is worth it."""
    seat = np.int64(seat)  # all helpers are then compiled for one type of seat
    hand = np.uint64(s.hands[seat])
    if s.phase == DRAW:
        return take_best(s, seat, hand, words, 1.0, 0.0, parameters[0], parameters[1])
    action = lay_most(s, seat, hand, words)
    return action if action != NO_ACTION else ACTION_DISCARD + dearest(s, free_cards(s, hand))


@register_jitable
def choose_guard(s, seat, words, key, parameters):
    """As `pile`, and discard what helps the others least."""
    seat = np.int64(seat)  # all helpers are then compiled for one type of seat
    hand = np.uint64(s.hands[seat])
    v = parameters
    if s.phase == DRAW:
        return take_best(s, seat, hand, words, v[POINTS], v[OUT], v[CARRY], v[STOCK])
    action = lay_most(s, seat, hand, words)
    return action if action != NO_ACTION else discard_wisely(s, seat, hand, v)


@register_jitable
def choose_best(s, seat, words, key, parameters):
    """As `guard`, and hold melds back while that is safe."""
    seat = np.int64(seat)  # all helpers are then compiled for one type of seat
    v = parameters[WEIGHTS:] if s.pile == SPREAD else parameters
    return find_best(s, seat, np.uint64(s.hands[seat]), words, v)


POLICIES = (
    Policy("random", choose_random, "a uniformly random legal action"),
    Policy("greedy", choose_greedy, "takes the top card if it can be played, lays all it can, discards the dearest loose card"),
    Policy(
        "pile", choose_pile,
        "like `greedy`, but also takes lower cards of a spread pile if what it can lay of them is worth more than `carry` times"
        " what it cannot, and more than a card from the stock, `stock`",
        {"carry": 0.5, "stock": 0.0},
    ),
    Policy(
        "guard", choose_guard,
        "like `pile`, but discards by points (`dear`, for each card dealt), by how much a card is worth keeping (`keep`,"
        " `keep_points`; a card not seen yet weighs `unseen`), and by how much it helps the next player (`feed`, `feed_points`,"
        " `likely`, `in_pile`) and, weighted by `others`, the players after them",
        GUARD,
    ),
    Policy(
        "best", choose_best,
        "like `guard`, with weights tuned on duplicate deals, others for a spread pile; keeps melds back while every other hand"
        " has more than `hold` cards, the stock more than `early`, and its own hand at most `loose` loose ones",
        {**TOP, **{f"spread_{name}": value for name, value in SPREAD_PILE.items()}},
    ),
)  # fmt: skip
ALIASES: dict[str, str] = {}
