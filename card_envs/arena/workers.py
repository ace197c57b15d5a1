"""Who plays the shards: threads of this process, or the workers of a Ray cluster (which needs the extra ``ray``)."""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import cache
from itertools import islice
from typing import Any

from card_envs.arena.playing import limit_blas, play_shard
from card_envs.arena.roster import Roster
from card_envs.arena.shard import Shard, Task
from card_envs.arena.tournament import Tournament
from card_envs.engine.game import Game
from card_envs.players.player import is_compiled

RETRIES = 5  # how often a shard is played again if its Ray worker dies
PATIENCE = 10.0  # seconds to wait for an answer from an address
AHEAD = 2  # shards handed out for each core of a cluster, so that no core waits


class Threads:
    """Shards played on threads of this process; compiled loops run side by side.

    Args:
        roster: The players.
        threads: How many threads play. A roster with a player given as an object uses one thread, because all threads would
            share that object, which it need not support.

    Raises:
        ValueError: ``threads`` is not a positive whole number.
    """

    def __init__(self, roster: Roster, threads: int = 1) -> None:
        if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
            raise ValueError(f"threads = {threads!r}: allowed is a whole number from 1")
        self._roster = roster
        self._threads = threads if all(isinstance(spec, str) for spec in roster.specs.values()) else 1

    def warm_up(self, tournament: Tournament) -> None:
        """Compile what the compiled players need, so that it is not counted as time spent on decisions."""
        for n, options in tournament.tables.items():
            players = self._roster.make_players(self._roster, options)
            names = [name for name, player in players.items() if is_compiled(player)]
            for first in range(0, len(names), n):
                lineup = tuple(sorted((names[first : first + n] * n)[:n]))
                play_shard(Task(tournament.game, options, lineup, tournament.seed, 0, 1), self._roster)

    def run(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Shard]]:
        """Play the tasks and yield each with its shard."""
        if self._threads == 1:
            with limit_blas():
                for task in tasks:
                    yield task, self._play(task)
            return
        stop = threading.Event()
        queue = iter(tasks)
        with limit_blas(), ThreadPoolExecutor(self._threads, thread_name_prefix="card_envs.arena") as pool:
            try:
                waiting: dict[Future[Shard], Task] = {}
                while True:
                    for task in islice(queue, self._threads - len(waiting)):
                        waiting[pool.submit(self._play, task, stop)] = task
                    if not waiting:
                        return
                    finished, _ = wait(waiting, return_when=FIRST_COMPLETED)
                    for future in finished:
                        yield waiting.pop(future), future.result()
            finally:
                stop.set()  # after Ctrl-C, the shards in progress are abandoned

    def _play(self, task: Task, stop: threading.Event | None = None) -> Shard:
        return play_shard(task, self._roster, stop)


@cache
def _make_roster(specs: tuple[tuple[str, str], ...], game: Game) -> Roster:
    return Roster(dict(specs), game)


def _play(task: Task, specs: tuple[tuple[str, str], ...], folder: str) -> Shard:
    """Play a shard in a Ray worker, which makes its players once.

    The worker changes to the working directory of the caller, so that specs name the same modules and files there.
    """
    if os.path.isdir(folder):
        os.chdir(folder)
    with limit_blas():
        return play_shard(task, _make_roster(specs, task.game))


def _check_address(address: str) -> None:
    """Raise ``ValueError`` if nobody listens at the address; Ray itself would try for minutes and then end the process."""
    if address == "auto":
        return
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon or not port.isdecimal():
        raise ValueError(f"Ray address {address!r}: expected is HOST:PORT, ray://HOST:PORT or auto")
    try:
        socket.create_connection((host, int(port)), PATIENCE).close()
    except (OSError, OverflowError) as error:
        raise ValueError(f"no Ray cluster answers at {address!r} ({error})") from None


def start_ray(address: str | None = None, workers: int | None = None) -> tuple[Any, bool]:
    """Return the module ``ray``, connected to a cluster, and whether the cluster was started here.

    Args:
        address: The address of a running cluster; ``None`` starts one on this machine unless this process is in one already.
        workers: The number of cores of a cluster started here; by default all cores of the machine.

    Raises:
        ValueError: Ray is not installed, or no cluster answers.
    """
    try:
        import ray
    except ModuleNotFoundError:
        raise ValueError("Ray is not installed: install it with: pip install 'card-envs[ray]'") from None
    if ray.is_initialized():
        return ray, False
    settings: dict[str, Any] = {"include_dashboard": False, "log_to_driver": False, "logging_level": logging.ERROR}
    if address is None:
        settings["num_cpus"] = workers
    else:
        _check_address(address)
    try:
        ray.init(address=address or "local", **settings)
    except ConnectionError as error:
        raise ValueError(f"no Ray cluster answers at {address!r} ({error})") from None
    return ray, True


class RayCluster:
    """Workers of a Ray cluster.

    Args:
        roster: The players by spec, because every worker makes its own. Workers look for checkpoints and modules in the
            working directory of this process.
        address: The address of a running cluster; ``None`` starts one on this machine, which :meth:`close` stops.
        workers: The number of cores of a cluster started here; by default all cores of the machine.

    Raises:
        ValueError: Ray is not installed, a player is not given by a spec, or no cluster answers.
    """

    def __init__(self, roster: Roster, address: str | None = None, workers: int | None = None) -> None:
        if not all(isinstance(spec, str) for spec in roster.specs.values()):
            raise ValueError("on Ray, players must be named by specs, because every worker makes its own")
        self._specs = tuple((name, str(spec)) for name, spec in roster.specs.items())
        self._ray, self._started = start_ray(address, workers)
        self._remote = self._ray.remote(num_cpus=1, max_retries=RETRIES, retry_exceptions=False)(_play)

    def run(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Shard]]:
        """Play the tasks and yield each with its shard."""
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
        """Stop the cluster if it was started here."""
        if self._started:
            self._ray.shutdown()
