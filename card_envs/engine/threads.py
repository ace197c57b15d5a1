"""Threads that share the rows of compiled loops, which let other threads run."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROWS_PER_THREAD = 1024  # with fewer rows, waking a thread costs more than it saves

_pools: dict[int, ThreadPoolExecutor] = {}


def share_rows(threads: int, work: Callable[..., Any], *arrays: NDArray[Any]) -> None:
    """Call ``work`` on arrays with one item for each row, or on parts of them in up to ``threads`` threads at once."""
    threads = min(threads, len(arrays[0]) // ROWS_PER_THREAD)
    if threads < 2:
        work(*arrays)
        return
    parts = list(zip(*(np.array_split(array, threads) for array in arrays), strict=True))
    waiting = [_find_pool().submit(work, *part) for part in parts[1:]]
    work(*parts[0])  # the calling thread takes a part as well
    for part in waiting:
        part.result()


def _find_pool() -> ThreadPoolExecutor:
    """Return the pool of threads of this process, since threads do not survive a fork."""
    pid = os.getpid()
    if pid not in _pools:
        _pools.clear()
        _pools[pid] = ThreadPoolExecutor(max(1, (os.cpu_count() or 1) - 1), thread_name_prefix="card_envs")
    return _pools[pid]
