"""Games of other libraries, measured in the same run because figures of different machines cannot be compared."""

from __future__ import annotations

import random
from functools import partial
from importlib import import_module
from time import perf_counter
from typing import Any

from card_envs.cli.timing import PORTION, Measurement, Portion, choose_by_nonzero, time_aec

EIGHTS = "OpenSpiel crazy_eights, loop"
EIGHTS_PLAYOUTS = "OpenSpiel crazy_eights, playouts"
FOUR_RAW = "PettingZoo connect_four raw_env"
FOUR = "PettingZoo connect_four env"


def _play(state: Any, observe: bool) -> int:
    """Play a random match of OpenSpiel in Python and return the number of its decisions."""
    decisions = 0
    while not state.is_terminal():
        if state.is_chance_node():
            actions, chances = zip(*state.chance_outcomes())
            state.apply_action(random.choices(actions, chances)[0])
        else:
            legal = state.legal_actions()
            if observe:
                state.observation_tensor()
            state.apply_action(legal[int(random.random() * len(legal))])
            decisions += 1
    return decisions


def _deal(game: Any) -> Any:
    """Return a match of OpenSpiel at its first decision."""
    state = game.new_initial_state()
    while state.is_chance_node():
        state.apply_action(random.choice(state.legal_actions()))
    return state


def prepare_crazy_eights_loop(players: int) -> Portion:
    """Measure a Python loop over decisions, with legal actions and the observation tensor. The deal is outside the clock."""
    game = import_module("pyspiel").load_game(f"crazy_eights(players={players})")

    def portion() -> tuple[int, float]:
        decisions, seconds = 0, 0.0
        while decisions < PORTION:
            state = _deal(game)
            start = perf_counter()
            decisions += _play(state, observe=True)
            seconds += perf_counter() - start
        return decisions, seconds

    return portion


def prepare_crazy_eights_playouts(players: int) -> Portion:
    """Measure random playouts in C++ from one deal, which is all that a Monte Carlo search of a single simulation does.

    The search does not count decisions, so their mean number comes from playouts of the same deal in Python.
    """
    pyspiel = import_module("pyspiel")
    game = pyspiel.load_game(f"crazy_eights(players={players})")
    deal = _deal(game)
    sample, matches = 400, 200
    mean = sum(_play(deal.clone(), observe=False) for _ in range(sample)) / sample
    bot = pyspiel.MCTSBot(game, pyspiel.RandomRolloutEvaluator(matches, 1), 1.0, 1, 10, False, 1, False)

    def portion() -> tuple[int, float]:
        start = perf_counter()
        bot.mcts_search(deal)
        return round(mean * matches), perf_counter() - start

    return portion


def prepare_connect_four(kind: str) -> Portion:
    """Measure PettingZoo's ``env`` or ``raw_env``."""
    env = getattr(import_module("pettingzoo.classic.connect_four.connect_four"), kind)()
    env.reset(seed=1)
    return time_aec(env, choose_by_nonzero)


def list_peer_measurements(players: int) -> list[Measurement]:
    """Return the lines of the table about other libraries."""
    spiel, zoo = ("pyspiel",), ("pettingzoo", "pygame")
    loop, playouts = partial(prepare_crazy_eights_loop, players), partial(prepare_crazy_eights_playouts, players)
    return [
        Measurement(EIGHTS, "Python, legal actions and tensor", loop, needs=spiel),
        Measurement(EIGHTS_PLAYOUTS, "C++, no tensor", playouts, needs=spiel),
        Measurement(FOUR_RAW, "nonzero and random", partial(prepare_connect_four, "raw_env"), needs=zoo),
        Measurement(FOUR, "nonzero and random", partial(prepare_connect_four, "env"), needs=zoo),
    ]
