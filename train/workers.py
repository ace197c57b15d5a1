"""Who makes the labels: threads of this process, or the workers of a Ray cluster (which needs the extra ``ray``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Protocol

from card_envs.arena.workers import RETRIES, start_ray
from train.labels import Labels, ShardTask, make_labels

MakeLabels = Callable[[], Labels]


class Workers(Protocol):
    """Workers that make labels in the background."""

    def submit(self, tasks: Sequence[ShardTask]) -> MakeLabels:
        """Begin with some shards. The function that is returned waits for their labels, in the order of the tasks."""
        ...

    def close(self) -> None:
        """Stop. Shards that are not finished are abandoned, as far as possible."""
        ...


class Threads:
    """Threads of this process; compiled loops run side by side."""

    def __init__(self, threads: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="labels")

    def submit(self, tasks: Sequence[ShardTask]) -> MakeLabels:
        futures = [self._pool.submit(make_labels, task) for task in tasks]
        return lambda: Labels.join([future.result() for future in futures])

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)


class RayWorkers:
    """Workers of a Ray cluster, each of which makes one shard at a time.

    Args:
        address: The address of a running cluster; ``None`` starts one on this machine, which :meth:`close` stops.

    Raises:
        ValueError: Ray is not installed, or no cluster answers.
    """

    def __init__(self, address: str | None = None) -> None:
        self._ray, self._started = start_ray(address)
        self._remote: Any = self._ray.remote(num_cpus=1, max_retries=RETRIES, retry_exceptions=False)(make_labels)

    def submit(self, tasks: Sequence[ShardTask]) -> MakeLabels:
        references = [self._remote.remote(task) for task in tasks]
        return lambda: Labels.join(self._ray.get(references))

    def close(self) -> None:
        if self._started:
            self._ray.shutdown()


@contextmanager
def open_workers(threads: int, ray: str | None) -> Iterator[Workers]:
    """Open workers: threads of this process, or a Ray cluster at an address, where ``"local"`` stands for a new one."""
    workers: Workers = Threads(threads) if ray is None else RayWorkers(None if ray == "local" else ray)
    try:
        yield workers
    finally:
        workers.close()
