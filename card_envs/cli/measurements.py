"""The interfaces of this package that ``card-envs speed`` measures."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.cli import peers
from card_envs.cli.timing import PORTION, Measurement, Portion, choose_by_nonzero, time_aec
from card_envs.engine.batch import Batch
from card_envs.engine.game import Game
from card_envs.engine.threads import ROWS_PER_THREAD
from card_envs.envs.aec import make_classes
from card_envs.envs.vector import SingleAgentVectorEnv
from card_envs.players import Decisions, resolve

LEARNERS = 1024  # environments of the vector environments
STEPS = 4  # of these environments in a portion


def prepare_aec(game: Game, players: int, checked: bool, sampled: bool) -> Portion:
    """Measure the PettingZoo environment, ``env`` if it is checked and ``raw_env`` if not."""
    env: Any = make_classes(game.name, __name__)[0 if checked else 1](players=players)
    env.reset(seed=1)
    return time_aec(env, env.action_space(env.agents[0]).sample if sampled else choose_by_nonzero)


def prepare_batch_step(game: Game, players: int, rows: int, threads: int) -> Portion:
    """Measure ``Batch.step``: rules, auto-reset, observations and masks. The actions are chosen outside the clock."""
    batch = Batch(game, rows, seed=1, threads=threads, players=players)
    steps = max(8, PORTION // rows)

    def portion() -> tuple[int, float]:
        seconds = 0.0
        for _ in range(steps):
            actions = batch.sample()
            start = perf_counter()
            batch.step(actions)
            seconds += perf_counter() - start
        return steps * rows, seconds

    return portion


def prepare_playouts(game: Game, players: int) -> Portion:
    """Measure random play inside one compiled call, without observations."""
    rows, steps = 64, 256
    batch = Batch(game, rows, seed=1, players=players)

    def portion() -> tuple[int, float]:
        start = perf_counter()
        batch.playout(steps)
        return rows * steps, perf_counter() - start

    return portion


def choose_random_legal(masks: NDArray[np.int8], generator: np.random.Generator) -> NDArray[np.int64]:
    """Choose a random legal action in every row."""
    actions: NDArray[np.int64] = (generator.random(masks.shape, np.float32) * masks).argmax(axis=1)
    return actions


def prepare_gymnasium_vector(game: Game, players: int) -> Portion:
    """Measure the decisions of learners in the native vector environment, against the default opponent."""
    env = SingleAgentVectorEnv(game.name, LEARNERS, players=players)
    _, infos = env.reset(seed=1)
    generator = np.random.default_rng(1)

    def portion() -> tuple[int, float]:
        nonlocal infos
        seconds = 0.0
        for _ in range(STEPS):
            actions = choose_random_legal(infos["action_mask"], generator)
            start = perf_counter()
            infos = env.step(actions)[4]
            seconds += perf_counter() - start
        return STEPS * LEARNERS, seconds

    return portion


def prepare_sb3_vecenv(game: Game, players: int, learner: str) -> Portion:
    """Measure the decisions of learners in the Stable-Baselines3 ``VecEnv``, against the default opponent, with their masks.

    The learners decide by the policy ``learner`` outside the clock. Trained learners would play much like their opponents.
    Learners that play at random are out of a round early, so that more decisions of others fall to each of their own.
    """
    from card_envs.envs.sb3 import CardVecEnv

    env = CardVecEnv(game.name, LEARNERS, seed=1, players=players)
    env.reset()
    player = resolve(learner, game)

    def portion() -> tuple[int, float]:
        seconds = 0.0
        for _ in range(STEPS):
            actions = player.act(Decisions(env.learner.matches, np.arange(LEARNERS)))
            start = perf_counter()
            env.step(actions)
            env.action_masks()
            seconds += perf_counter() - start
        return STEPS * LEARNERS, seconds

    return portion


def list_measurements(game: Game, players: int, rows: list[int]) -> list[Measurement]:
    """Return the lines of the table about a game; ``rows`` are the numbers of rows that ``Batch.step`` is measured with."""

    def measure(
        interface: str, what: str, peer: str, prepare: Callable[..., Portion], *arguments: Any, needs: tuple[str, ...] = ()
    ) -> Measurement:
        bound = partial(prepare, game, players, *arguments)
        return Measurement(f"{game.name} {interface}", what, bound, game.name, peer, needs)

    threads = os.cpu_count() or 1
    shared = [n for n in rows if n >= 2 * ROWS_PER_THREAD] if threads > 1 else []
    learners = {"at random": "random", "like their opponents": game.default_opponent}
    return [
        measure("AEC raw_env", "nonzero and random", peers.FOUR_RAW, prepare_aec, False, False),
        measure("AEC raw_env", "action_space.sample(mask)", peers.FOUR_RAW, prepare_aec, False, True),
        measure("AEC env", "nonzero and random", peers.FOUR, prepare_aec, True, False),
        measure("AEC env", "action_space.sample(mask)", peers.FOUR, prepare_aec, True, True),
        *(measure("Batch.step", f"{n} rows, 1 thread", peers.EIGHTS, prepare_batch_step, n, 1) for n in rows),
        *(measure("Batch.step", f"{n} rows, {threads} threads", peers.EIGHTS, prepare_batch_step, n, threads) for n in shared),
        measure("Batch.playout", "random, compiled, no observations", peers.EIGHTS_PLAYOUTS, prepare_playouts),
        measure("Gymnasium vector", f"{LEARNERS} learners, default opponent", peers.EIGHTS, prepare_gymnasium_vector),
        *(
            measure(
                "SB3 VecEnv", f"{LEARNERS} learners, {how}", peers.EIGHTS, prepare_sb3_vecenv, learner,
                needs=("stable_baselines3",),
            )
            for how, learner in learners.items()
        ),
    ]  # fmt: skip
