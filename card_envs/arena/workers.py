"""Who plays the shards: threads of this process, or the workers of a Ray cluster (which needs the extra ``ray``)."""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import cache
from itertools import islice
from typing import Any

from card_envs.arena.shard import Shard, Task, limit_blas, play_shard
from card_envs.arena.tournament import Roster, Tournament
from card_envs.engine.game import Game
from card_envs.players import Player
from card_envs.players.player import is_compiled

RETRIES = 5  # of a shard whose Ray worker died
PATIENCE = 10.0  # seconds to wait for an answer from an address
AHEAD = 2  # shards handed out for each core of a cluster, so that no core waits


class Threads:
    """Shards played on threads of this process; compiled loops run side by side.

    Args:
        roster: the players.
        threads: how many threads play. Players given as objects are shared by all threads, which they need not support, so a
            roster with such a player uses one thread.

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
                play_shard(Task(tournament.game, options, lineup, tournament.seed, 0, 1), players)

    def run(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Shard]]:
        """Play the tasks and yield each with its shard."""
        with limit_blas():
            yield from self._run(tasks)

    def _run(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Shard]]:
        if self._threads == 1:
            for task in tasks:
                yield task, self._play(task)
            return
        stop = threading.Event()
        queue = iter(tasks)
        with ThreadPoolExecutor(self._threads, thread_name_prefix="card_envs.arena") as pool:
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
        return play_shard(task, self._roster.make_players(task.lineup, task.options), stop)


@cache
def _make_roster(specs: tuple[tuple[str, str], ...], game: Game) -> Roster:
    return Roster(dict(specs), game)


def _play(task: Task, specs: tuple[tuple[str, str], ...], folder: str) -> Shard:
    """Play a shard in a Ray worker, whose players are made once per process.

    The worker moves to the working directory of the caller, so that the same modules and files are found there.
    """
    if os.path.isdir(folder):
        os.chdir(folder)
    players = _make_roster(specs, task.game).make_players(task.lineup, task.options)
    with limit_blas():
        return play_shard(task, players)


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


class RayCluster:
    """Workers of a Ray cluster.

    Args:
        roster: the players by spec, because every worker makes its own. Workers look for checkpoints and modules where this
            process finds them.
        address: the address of a running cluster; ``None`` starts one on this machine, which :meth:`close` stops.
        workers: the number of cores of a cluster started here; by default all cores of the machine.

    Raises:
        ValueError: Ray is not installed, a player is not given by a spec, or no cluster answers.
    """

    def __init__(self, roster: Roster, address: str | None = None, workers: int | None = None) -> None:
        try:
            import ray
        except ModuleNotFoundError:
            raise ValueError("Ray is not installed: install it with: pip install 'card-envs[ray]'") from None
        named: Mapping[str, str | Player] = roster.specs
        if not all(isinstance(spec, str) for spec in named.values()):
            raise ValueError("on Ray, players must be named by specs, because every worker makes its own")
        self._specs = tuple((name, str(spec)) for name, spec in named.items())
        self._ray: Any = ray
        self._started = not ray.is_initialized()
        if self._started:
            cores: dict[str, Any] = {"num_cpus": workers} if address is None else {}
            quiet: dict[str, Any] = {"include_dashboard": False, "log_to_driver": False, "logging_level": logging.ERROR}
            if address is not None:
                _check_address(address)
            try:
                ray.init(address=address or "local", **quiet, **cores)
            except ConnectionError as error:
                raise ValueError(f"no Ray cluster answers at {address!r} ({error})") from None
        self._remote = ray.remote(num_cpus=1, max_retries=RETRIES, retry_exceptions=False)(_play)

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
