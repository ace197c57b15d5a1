"""Which players meet at a table of n: one against the rest, both ways, and free for all."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb

import numpy as np

Lineup = tuple[str, ...]  # a player for each place; places are dealt to seats deal by deal

FREE_FOR_ALLS = 20  # or a few more, so that all sit down equally often


def pairings(a: str, b: str, n: int) -> list[Lineup]:
    """One A among n-1 B, and one B among n-1 A, in an order that is free of theirs: of two players these are the same."""
    a, b = sorted((a, b))
    return [(a, *[b] * (n - 1))] + ([(b, *[a] * (n - 1))] if n > 2 else [])


def free_for_alls(players: Sequence[str], n: int) -> list[Lineup]:
    """Line-ups of different players, drawn from the pool so that all come equally often, or nearly.

    Of a pool that is smaller than the table everybody sits down, and some a second time. Two players are paired only.
    """
    pool = sorted(players)
    if n == 2 or len(pool) < 3:
        return []
    if len(pool) < n:
        return [tuple(sorted(pool[(start + i) % len(pool)] for i in range(n))) for start in range(len(pool))]
    if comb(len(pool), n) <= FREE_FOR_ALLS:
        return list(combinations(pool, n))
    rng = np.random.default_rng([len(pool), n])
    lineups: set[Lineup] = set()
    while len(lineups) < FREE_FOR_ALLS:
        shuffled = rng.permutation(len(pool))
        for first in range(0, len(pool) - n + 1, n):  # each at most once in a shuffle
            lineups.add(tuple(sorted(pool[i] for i in shuffled[first : first + n])))
    return sorted(lineups)


def all_lineups(players: Sequence[str], n: int) -> list[Lineup]:
    """Every pairing and the free-for-alls, in an order that does not depend on that of ``players``."""
    pairs = [lineup for a, b in combinations(sorted(players), 2) for lineup in pairings(a, b, n)]
    return list(dict.fromkeys([*pairs, *free_for_alls(players, n)]))
