"""What ``card-envs speed`` measures.

A measurement prepares something to run and returns a function that plays a portion of it. That function returns the number of
decisions and the seconds they took, without what does not belong to them, such as choosing the actions.
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
LEARNERS = 1024  # environments of the vector environments
PORTION = 4096  # the approximate number of decisions in a portion


@dataclass(frozen=True)
class Setting:
    """The game that is played, and the number of players."""

    game: Game
    players: int

    def make_batch(self, rows: int, threads: int = 1) -> Batch:
        return Batch(self.game, rows, seed=1, threads=threads, players=self.players)


@dataclass(frozen=True)
class Measurement:
    """One line of the table.

    Attributes:
        interface: The interface that is measured.
        what: In words, how it is used.
        prepare: Sets the measurement up and returns the function that plays a portion.
        peer: The measurement of another library that it is compared with.
        needs: A module that may not be installed.
    """

    interface: str
    what: str
    prepare: Callable[[Setting], Portion]
    peer: str
    needs: str = ""


def choose_by_nonzero(mask: NDArray[np.int8]) -> int:
    """Choose a random legal action, the quick way."""
    legal = mask.nonzero()[0]
    return int(legal[int(random.random() * len(legal))])


def prepare_aec(checked: bool, sampled: bool) -> Callable[[Setting], Portion]:
    """Measure the PettingZoo environment: ``last()``, a legal action, ``step()``."""

    def prepare(setting: Setting) -> Portion:
        make = make_classes(setting.game.name, __name__)[0 if checked else 1]
        env: Any = make(players=setting.players)
        env.reset(seed=1)
        choose = env.action_space(env.agents[0]).sample if sampled else choose_by_nonzero

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


def prepare_batch_step(rows: int, threads: int = 1) -> Callable[[Setting], Portion]:
    """Measure ``Batch.step``: rules, auto-reset, observations and masks. The actions are chosen outside the clock."""

    def prepare(setting: Setting) -> Portion:
        batch = setting.make_batch(rows, threads)

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


def prepare_playouts(setting: Setting) -> Portion:
    """Measure random play inside one compiled call, without observations."""
    rows, steps = 64, 256
    batch = setting.make_batch(rows)

    def portion() -> tuple[int, float]:
        start = perf_counter()
        batch.playout(steps)
        return rows * steps, perf_counter() - start

    return portion


def choose_random_legal(masks: NDArray[np.int8], generator: np.random.Generator) -> NDArray[np.int64]:
    """Choose a random legal action in every row."""
    actions: NDArray[np.int64] = (generator.random(masks.shape, np.float32) * masks).argmax(axis=1)
    return actions


def prepare_gymnasium_vector(setting: Setting) -> Portion:
    """Measure the decisions of learners in the native vector environment, against the default opponent."""
    env = SingleAgentVectorEnv(setting.game.name, LEARNERS, players=setting.players)
    _, infos = env.reset(seed=1)
    generator = np.random.default_rng(1)

    def portion() -> tuple[int, float]:
        nonlocal infos
        seconds = 0.0
        for _ in range(4):
            actions = choose_random_legal(infos["action_mask"], generator)
            start = perf_counter()
            infos = env.step(actions)[4]
            seconds += perf_counter() - start
        return 4 * LEARNERS, seconds

    return portion


def prepare_sb3_vecenv(learner: str | None = None) -> Callable[[Setting], Portion]:
    """Measure the decisions of learners in the Stable-Baselines3 ``VecEnv``, against the default opponent, with their masks.

    Args:
        learner: The policy of the learners, who decide outside the clock. ``None`` makes them play like their opponents, as
            trained learners would. Learners that play at random are out of a round early, so that more decisions of others
            fall to each of their own.
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


def list_measurements(rows: list[int], threads: int | None = None) -> list[Measurement]:
    """List the lines of the table.

    Args:
        rows: The numbers of rows that ``Batch.step`` is measured with.
        threads: Threads that share the rows of batches large enough for it; by default as many as there are cores.
    """
    threads = threads or os.cpu_count() or 1
    shared = [n for n in rows if n >= 2 * ROWS_PER_THREAD] if threads > 1 else []
    return [
        Measurement("AEC raw_env", "nonzero and random", prepare_aec(False, False), peers.FOUR_RAW),
        Measurement("AEC raw_env", "action_space.sample(mask)", prepare_aec(False, True), peers.FOUR_RAW),
        Measurement("AEC env", "nonzero and random", prepare_aec(True, False), peers.FOUR),
        Measurement("AEC env", "action_space.sample(mask)", prepare_aec(True, True), peers.FOUR),
        *(Measurement("Batch.step", f"{n} rows, 1 thread", prepare_batch_step(n), peers.EIGHTS) for n in rows),
        *(
            Measurement("Batch.step", f"{n} rows, {threads} threads", prepare_batch_step(n, threads), peers.EIGHTS)
            for n in shared
        ),
        Measurement("Batch.playout", "random, compiled, no observations", prepare_playouts, peers.EIGHTS_PLAYOUTS),
        Measurement("Gymnasium vector", f"{LEARNERS} learners, default opponent", prepare_gymnasium_vector, peers.EIGHTS),
        *(
            Measurement(
                "SB3 VecEnv", f"{LEARNERS} learners, {how}", prepare_sb3_vecenv(player), peers.EIGHTS, "stable_baselines3"
            )
            for how, player in (("at random", "random"), ("like their opponents", None))
        ),
    ]
