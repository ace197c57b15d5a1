"""What tests of benchmarks share: quick settings, access to reports, workers to whom something happens."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import card_envs
from card_envs.arena.shard import Shard, Task
from card_envs.engine.networks import MAP
from card_envs.players.checkpoint import save_network
from tests.networks import make_random_network

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
    network = make_random_network(game, game.resolve({"players": 2, **SHORT}), MAP, 0, hidden=(32,), activation="tanh")
    file = folder / "net.safetensors"
    save_network(file, network)
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
