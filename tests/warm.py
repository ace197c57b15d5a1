"""``python -m tests.warm``: compile every loop of every game in one process, before several processes run the suite."""

from __future__ import annotations

import numpy as np

import card_envs
from card_envs.arena import run_benchmark
from card_envs.envs.single_agent import SingleAgentBatch
from card_envs.players import resolve
from card_envs.players.player import Decisions


def main() -> None:
    for name in card_envs.available_games():
        game = card_envs.load_game(name)
        batch = card_envs.batch(name, 2, seed=0)
        for policy in game.policies:
            resolve(policy.name, game).act(Decisions(batch.matches, np.arange(2)))
        if game.action_features is not None:
            card_envs.batch(name, 2, seed=0, action_features=True)
        batch.playout(1)
        batch.redeal(0, 0)
        run_benchmark(name, ["random", game.default_opponent], matches=50)
        SingleAgentBatch(game, 2, seed=0).step(batch.sample())


if __name__ == "__main__":
    main()
