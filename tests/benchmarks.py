"""What tests of benchmarks share: quick settings, access to reports, workers to whom something happens."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import card_envs
from card_envs.arena.shard import Shard, Task
from card_envs.players.network import Network, describe_layout, save_network

PLAYERS = ["random", "count3", "risk24"]
SHORT: dict[str, Any] = {"target": 50}  # quick matches of Flip 7


def get_row(report: dict[str, Any], player: str, players: int | None = None) -> dict[str, Any]:
    [row] = [r for r in report["results"]["league"] if r["player"] == player and players in (None, r["players"])]
    return dict(row)


def get_pair(report: dict[str, Any], a: str, b: str) -> dict[str, Any]:
    [entry] = [e for e in report["results"]["cross"] if {e["a"], e["b"]} == {a, b}]
    assert entry["a"] == a
    return dict(entry)


def save_untrained_network(folder: Path) -> str:
    """Write an untrained network for two players of Flip 7 to a file, and return its name."""
    game = card_envs.load_game("flip7")
    options = game.resolve({"players": 2, **SHORT})
    rng = np.random.default_rng(0)
    sizes = [game.observation_size(options), 32, game.num_actions(2)]
    layers = [(rng.normal(size=(b, a)).astype(np.float32), np.zeros(b, np.float32)) for a, b in pairwise(sizes)]
    metadata = {
        "format": "card_envs.network/1", "game": "flip7", "version": 0, "options": options,
        "observation": describe_layout(game, options), "network": {"activation": "tanh", "actions": sizes[-1]},
        "command": "", "evaluation": {},
    }  # fmt: skip
    file = folder / "net.safetensors"
    save_network(file, Network(layers, metadata))
    return str(file)


def interrupt() -> None:
    raise KeyboardInterrupt


def press() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def lose_the_cluster() -> None:
    raise OSError("the cluster is gone")


class Cut:
    """Workers to whom something happens after a few shards."""

    def __init__(self, workers: Any, after: int, what: Callable[[], None] = interrupt) -> None:
        self.workers, self.after, self.what = workers, after, what

    def run(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Shard]]:
        for number, played in enumerate(self.workers.run(tasks)):
            if number == self.after:
                self.what()
            yield played
