"""Threads that share the rows of a compiled loop, which lets other threads run."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any


def share(work: Callable[[slice], Any], size: int, threads: int) -> None:
    """Call ``work`` for consecutive parts of ``range(size)``, as many as there are threads. They run at the same time.

    Args:
        work: Takes the part as a slice.
        size: The number of items.
        threads: How many parts there are, at most ``size``. With fewer than two, all items are one part.
    """
    if threads < 2:
        work(slice(0, size))
        return
    bounds = [size * part // threads for part in range(threads + 1)]
    parts = [slice(first, end) for first, end in pairwise(bounds)]
    waiting = [_thread_pool().submit(work, part) for part in parts[1:]]
    work(parts[0])  # the calling thread takes a part as well
    for part in waiting:
        part.result()


_pools: dict[int, ThreadPoolExecutor] = {}


def _thread_pool() -> ThreadPoolExecutor:
    """Return the pool of threads of this process, since threads do not survive a fork."""
    pid = os.getpid()
    if pid not in _pools:
        _pools.clear()
        _pools[pid] = ThreadPoolExecutor(max(1, (os.cpu_count() or 1) - 1), thread_name_prefix="card_envs")
    return _pools[pid]
