"""Games of other libraries, measured in the same run because figures of different machines cannot be compared."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from time import perf_counter
from typing import Any

PORTION = 2048  # the approximate number of decisions in a portion
EIGHTS = "OpenSpiel crazy_eights, loop"
EIGHTS_PLAYOUTS = "OpenSpiel crazy_eights, playouts"
FOUR_RAW = "PettingZoo connect_four raw_env"
FOUR = "PettingZoo connect_four env"


@dataclass(frozen=True)
class Peer:
    """One line of the table about another library; ``needs`` lists the modules that it takes."""

    name: str
    what: str
    prepare: Callable[[int], Callable[[], tuple[int, float]]]  # takes the number of players
    needs: tuple[str, ...]


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


def prepare_crazy_eights_loop(players: int) -> Callable[[], tuple[int, float]]:
    """Measure a Python loop over decisions, with legal actions and the observation tensor. The deal is outside the clock."""
    game = import_module("pyspiel").load_game(f"crazy_eights(players={players})")

    def portion() -> tuple[int, float]:
        decisions, seconds = 0, 0.0
        while decisions < PORTION:
            state = game.new_initial_state()
            while state.is_chance_node():
                state.apply_action(random.choice(state.legal_actions()))
            start = perf_counter()
            decisions += _play(state, observe=True)
            seconds += perf_counter() - start
        return decisions, seconds

    return portion


def prepare_crazy_eights_playouts(players: int) -> Callable[[], tuple[int, float]]:
    """Measure random playouts in C++ from one deal, which is all that a Monte Carlo search of a single simulation does.

    The search does not count decisions, so their mean number comes from playouts of the same deal in Python.
    """
    pyspiel = import_module("pyspiel")
    game = pyspiel.load_game(f"crazy_eights(players={players})")
    deal = game.new_initial_state()
    while deal.is_chance_node():
        deal.apply_action(random.choice(deal.legal_actions()))
    sample, matches = 400, 200
    mean = sum(_play(deal.clone(), observe=False) for _ in range(sample)) / sample
    bot = pyspiel.MCTSBot(game, pyspiel.RandomRolloutEvaluator(matches, 1), 1.0, 1, 10, False, 1, False)

    def portion() -> tuple[int, float]:
        start = perf_counter()
        bot.mcts_search(deal)
        return round(mean * matches), perf_counter() - start

    return portion


def prepare_connect_four(kind: str) -> Callable[[int], Callable[[], tuple[int, float]]]:
    """Measure PettingZoo's ``env`` or ``raw_env``: ``last()``, a legal action, ``step()``."""

    def prepare(players: int) -> Callable[[], tuple[int, float]]:
        env = getattr(import_module("pettingzoo.classic.connect_four.connect_four"), kind)()
        env.reset(seed=1)

        def portion() -> tuple[int, float]:
            decisions = 0
            start = perf_counter()
            while decisions < PORTION:
                observation, _, terminated, truncated, _ = env.last()
                if terminated or truncated:
                    env.reset()
                else:
                    legal = observation["action_mask"].nonzero()[0]
                    env.step(int(legal[int(random.random() * len(legal))]))
                    decisions += 1
            return decisions, perf_counter() - start

        return portion

    return prepare


PEERS = (
    Peer(EIGHTS, "Python, legal actions and tensor", prepare_crazy_eights_loop, ("pyspiel",)),
    Peer(EIGHTS_PLAYOUTS, "C++, no tensor", prepare_crazy_eights_playouts, ("pyspiel",)),
    Peer(FOUR_RAW, "nonzero and random", prepare_connect_four("raw_env"), ("pettingzoo", "pygame")),
    Peer(FOUR, "nonzero and random", prepare_connect_four("env"), ("pettingzoo", "pygame")),
)
