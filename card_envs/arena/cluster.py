"""Shards played by the workers of a Ray cluster. Needs the extra ``ray``."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import islice
from typing import Any

from card_envs.arena.run import Roster
from card_envs.arena.shard import Shard, Task, one_blas_thread, play_shard
from card_envs.engine.game import Game
from card_envs.players import Player

RETRIES = 5  # of a shard whose worker died
PATIENCE = 10.0  # seconds to wait for an address to answer
AHEAD = 2  # shards handed out for each core of the cluster, so that none waits


@cache
def _roster(specs: tuple[tuple[str, str], ...], game: Game) -> Roster:
    return Roster(dict(specs), game)


def _play(task: Task, specs: tuple[tuple[str, str], ...], here: str) -> Shard:
    """In a worker: the players are made once a process. A module of the working directory is found as it is here."""
    if os.path.isdir(here):
        os.chdir(here)
    players = _roster(specs, task.game).seated(task.lineup, task.options)
    with one_blas_thread():
        return play_shard(task, players)


def _knock(address: str) -> None:
    """``ValueError`` if nobody listens at ``HOST:PORT`` or ``ray://HOST:PORT``; Ray would try for minutes and exit."""
    if address == "auto":
        return
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon or not port.isdecimal():
        raise ValueError(f"Ray address {address!r}: expected is HOST:PORT, ray://HOST:PORT or auto")
    try:
        socket.create_connection((host, int(port)), PATIENCE).close()
    except (OSError, OverflowError) as error:
        raise ValueError(f"no Ray cluster answers at {address!r} ({error})") from None


class Cluster:
    """Workers of a Ray cluster.

    Args:
        roster: players by spec: every worker makes its own. Checkpoints and modules must lie where they lie here.
        address: of a running cluster; ``None`` starts one on this machine, and stops it at :meth:`close`.
        workers: how many cores a local one has; all by default.
    """

    def __init__(self, roster: Roster, address: str | None = None, workers: int | None = None) -> None:
        try:
            import ray
        except ModuleNotFoundError:
            raise ValueError("Ray is not installed: pip install 'card-envs[ray]' brings it") from None
        named: Mapping[str, str | Player] = roster.specs
        if not all(isinstance(spec, str) for spec in named.values()):
            raise ValueError("on Ray players are named by specs, for every worker makes its own")
        self._specs = tuple((name, str(spec)) for name, spec in named.items())
        self._ray: Any = ray
        self._started = not ray.is_initialized()
        if self._started:
            cores: dict[str, Any] = {"num_cpus": workers} if address is None else {}
            quiet: dict[str, Any] = {"include_dashboard": False, "log_to_driver": False, "logging_level": logging.ERROR}
            if address is not None:
                _knock(address)
            try:
                ray.init(address=address or "local", **quiet, **cores)
            except ConnectionError as error:
                raise ValueError(f"no Ray cluster answers at {address!r} ({error})") from None
        self._remote = ray.remote(num_cpus=1, max_retries=RETRIES, retry_exceptions=False)(_play)

    def run(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Shard]]:
        queue = iter(tasks)
        waiting: dict[Any, Task] = {}
        try:
            while True:
                most = AHEAD * max(1, int(self._ray.cluster_resources().get("CPU", 1)))
                for task in islice(queue, max(0, most - len(waiting))):
                    waiting[self._remote.remote(task, self._specs, os.getcwd())] = task
                if not waiting:
                    return
                ready, _ = self._ray.wait(list(waiting), num_returns=1)
                for reference in ready:
                    yield waiting.pop(reference), self._ray.get(reference)
        finally:
            for reference in waiting:
                self._ray.cancel(reference, force=True)

    def close(self) -> None:
        if self._started:
            self._ray.shutdown()
