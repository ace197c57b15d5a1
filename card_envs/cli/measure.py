"""What `card-envs speed` measures: each measurement is one row of ``MEASUREMENTS``.

A measurement prepares something to run, and returns a function that plays a portion and tells (decisions, seconds): what
does not belong to it, as choosing the actions, stays outside the seconds.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.cli import peers
from card_envs.engine.batch import Batch
from card_envs.engine.game import Game
from card_envs.engine.matches import ROWS_PER_THREAD
from card_envs.envs.aec import make_classes
from card_envs.envs.vector import SingleAgentVectorEnv
from card_envs.players import Decisions, resolve

Portion = Callable[[], tuple[int, float]]
LEARNERS = 1024  # environments of the vector doors
PORTION = 4096  # decisions in a portion, about


@dataclass(frozen=True)
class Setting:
    """What is played."""

    game: Game
    players: int

    def batch(self, rows: int, threads: int = 1) -> Batch:
        return Batch(self.game, rows, seed=1, threads=threads, players=self.players)


@dataclass(frozen=True)
class Measurement:
    """One line of the table; ``peer`` names the measurement of another library that it stands beside."""

    door: str
    what: str
    prepare: Callable[[Setting], Portion]
    peer: str
    needs: str = ""  # a module that may not be installed


def nonzero(mask: NDArray[np.int8]) -> int:
    """A random legal action, the quick way."""
    legal = mask.nonzero()[0]
    return int(legal[int(random.random() * len(legal))])


def aec_door(checked: bool, sampled: bool) -> Callable[[Setting], Portion]:
    """Steps of the PettingZoo environment: ``last()``, a legal action, ``step()``."""

    def prepare(setting: Setting) -> Portion:
        make = make_classes(setting.game.name, __name__)[0 if checked else 1]
        env: Any = make(players=setting.players)
        env.reset(seed=1)
        choose = env.action_space(env.agents[0]).sample if sampled else nonzero

        def portion() -> tuple[int, float]:
            decisions = 0
            start = perf_counter()
            while decisions < PORTION:
                observation, _, terminated, truncated, _ = env.last()
                if terminated or truncated:
                    env.reset()
                else:
                    env.step(choose(observation["action_mask"]))
                    decisions += 1
            return decisions, perf_counter() - start

        return portion

    return prepare


def batch_step(rows: int, threads: int = 1) -> Callable[[Setting], Portion]:
    """``Batch.step``: rules, auto-reset, observation and mask of every row; the actions are drawn outside the clock."""

    def prepare(setting: Setting) -> Portion:
        batch = setting.batch(rows, threads)

        def portion() -> tuple[int, float]:
            seconds = 0.0
            steps = max(8, PORTION // rows)
            for _ in range(steps):
                actions = batch.sample()
                start = perf_counter()
                batch.step(actions)
                seconds += perf_counter() - start
            return steps * rows, seconds

        return portion

    return prepare


def playouts(setting: Setting) -> Portion:
    """Random play inside one compiled call, without observations."""
    rows, steps = 64, 256
    batch = setting.batch(rows)

    def portion() -> tuple[int, float]:
        start = perf_counter()
        batch.playout(steps)
        return rows * steps, perf_counter() - start

    return portion


def random_legal(masks: NDArray[np.int8], generator: np.random.Generator) -> NDArray[np.int64]:
    """A random legal action of every row."""
    actions: NDArray[np.int64] = (generator.random(masks.shape, np.float32) * masks).argmax(axis=1)
    return actions


def gymnasium_vector(setting: Setting) -> Portion:
    """Learners' decisions of the native vector environment, against the default opponent; masks come with the step."""
    env = SingleAgentVectorEnv(setting.game.name, LEARNERS, players=setting.players)
    _, infos = env.reset(seed=1)
    generator = np.random.default_rng(1)

    def portion() -> tuple[int, float]:
        nonlocal infos
        seconds = 0.0
        for _ in range(4):
            actions = random_legal(infos["action_mask"], generator)
            start = perf_counter()
            infos = env.step(actions)[4]
            seconds += perf_counter() - start
        return 4 * LEARNERS, seconds

    return portion


def sb3_vecenv(learner: str | None = None) -> Callable[[Setting], Portion]:
    """Learners' decisions of the Stable-Baselines3 VecEnv, against the default opponent, masks fetched.

    The learners play by the policy ``learner``, outside the clock; ``None``: like their opponents, as one who has learned.
    (Who plays at random is out of a round early, and waits for the others' decisions more than he makes his own.)
    """

    def measured(setting: Setting) -> Portion:
        from card_envs.envs.sb3 import CardVecEnv

        env = CardVecEnv(setting.game.name, LEARNERS, seed=1, players=setting.players)
        env.reset()
        player = resolve(learner or setting.game.default_opponent, setting.game)

        def portion() -> tuple[int, float]:
            seconds = 0.0
            for _ in range(4):
                actions = player.act(Decisions(env.learner.matches, np.arange(LEARNERS)))
                start = perf_counter()
                env.step(actions)
                env.action_masks()
                seconds += perf_counter() - start
            return 4 * LEARNERS, seconds

        return portion

    return measured


def measurements(rows: list[int], threads: int | None = None) -> list[Measurement]:
    """The table for these batch sizes; ``threads`` (all cores) share the rows of those that are large enough for it."""
    threads = threads or os.cpu_count() or 1
    shared = [n for n in rows if n >= 2 * ROWS_PER_THREAD] if threads > 1 else []
    return [
        Measurement("AEC raw_env", "nonzero and random", aec_door(False, False), peers.FOUR_RAW),
        Measurement("AEC raw_env", "action_space.sample(mask)", aec_door(False, True), peers.FOUR_RAW),
        Measurement("AEC env", "nonzero and random", aec_door(True, False), peers.FOUR),
        Measurement("AEC env", "action_space.sample(mask)", aec_door(True, True), peers.FOUR),
        *(Measurement("Batch.step", f"{n} rows, 1 thread", batch_step(n), peers.EIGHTS) for n in rows),
        *(Measurement("Batch.step", f"{n} rows, {threads} threads", batch_step(n, threads), peers.EIGHTS) for n in shared),
        Measurement("Batch.playout", "random, compiled, no observations", playouts, peers.EIGHTS_PLAYOUTS),
        Measurement("Gymnasium vector", f"{LEARNERS} learners, default opponent", gymnasium_vector, peers.EIGHTS),
        *(
            Measurement("SB3 VecEnv", f"{LEARNERS} learners, {how}", sb3_vecenv(player), peers.EIGHTS, "stable_baselines3")
            for how, player in (("at random", "random"), ("like their opponents", None))
        ),
    ]
