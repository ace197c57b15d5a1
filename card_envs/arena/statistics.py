"""What blocks of matches say of the players: intervals, ratings, a sequential test. Functions of plain arrays.

A *block* is a deal with all its seat rotations; blocks are independent of each other, the matches in one are not. So every
interval here counts blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

ALPHA = 0.01  # of choix: keeps ratings finite in a resample in which somebody never won; too little to move the others
ELO = 400.0 / log(10.0)
RESAMPLES = 1000
LEVEL = 0.95

EDGE = 0.02
ERROR = 0.05  # both of the sequential test's
MIN_BLOCKS = 50
LOWER, UPPER = log(ERROR / (1.0 - ERROR)), log((1.0 - ERROR) / ERROR)

Floats = NDArray[np.float64]


def rounded(value: float | None, digits: int = 6) -> float | None:
    """Shorter than the last bits, in which linear algebra libraries differ."""
    return None if value is None or not np.isfinite(value) else round(float(value), digits) + 0.0


@dataclass(frozen=True)
class Mean:
    """A mean over independent blocks.

    Attributes:
        mean, low, high: with Student's two-sided 95 % interval.
        floor: the one-sided 95 % bound from below.
        p: two-sided, of the mean being 0.
        blocks: how many.
    """

    mean: float
    low: float
    high: float
    floor: float
    p: float
    blocks: int


def unseen_share(n: int, error: float) -> float:
    """What n blocks that are all alike leave open, with this error: how often blocks may yet be different.

    The exact binomial bound (Clopper and Pearson 1934) for none of n; about 3/n at 5 %.
    """
    return float(1.0 - error ** (1.0 / n))


def mean_of(blocks: Floats, bound: float = 0.5) -> Mean:
    """The mean of independent values, float64 [n], n at least 2, which lie between ``-bound`` and ``bound``.

    Blocks that are all alike have no spread. Then the interval allows for such as have not been seen, at the bounds.
    """
    n = len(blocks)
    if n < 2:
        raise ValueError(f"an interval needs 2 blocks at least, {n} given")
    mean, error = float(blocks.mean()), float(blocks.std(ddof=1)) / n**0.5
    half = float(stdtrit(n - 1, (1 + LEVEL) / 2)) * error
    floor = mean - float(stdtrit(n - 1, LEVEL)) * error
    # n that are alike prove no more than n tosses of a coin that fall alike
    least = min(1.0, 2.0 ** (1 - n))
    if error < 1e-12:
        two_sided, one_sided = unseen_share(n, (1 - LEVEL) / 2), unseen_share(n, 1 - LEVEL)
        low, high = mean - two_sided * (mean + bound), mean + two_sided * (bound - mean)
        return Mean(mean, low, high, mean - one_sided * (mean + bound), 1.0 if abs(mean) < 1e-12 else least, n)
    p = max(least, 2.0 * float(stdtr(n - 1, -abs(mean) / error)))
    return Mean(mean, mean - half, mean + half, floor, p, n)


def holm(p: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment of p-values: those at most .05 are significant, all together with 5 % of error."""
    order = np.argsort(p, kind="stable")
    adjusted = [0.0] * len(p)
    worst = 0.0
    for rank, i in enumerate(order.tolist()):
        worst = max(worst, min(1.0, (len(p) - rank) * p[i]))
        adjusted[i] = worst
    return adjusted


def variance_factor(scores: Floats, independent: float) -> float | None:
    """The variance of the block scores by what it would be if every match had a deal of its own; ``None`` without any."""
    return float(scores.var(ddof=1)) / independent if len(scores) > 1 and independent > 0 else None


# ---- ratings


def identified(counts: Floats, reference: int) -> tuple[NDArray[np.bool_], int]:
    """Whose ratings the counts determine relative to each other's, bool [P], and who of them is the reference.

    Wins must lead from each to the other and back (Ford 1957): of a player who never lost they only say that he is better.
    Of several such groups it is the largest, and of those the one with ``reference`` in it; without him its first is.
    """
    from scipy.sparse import csgraph

    _, component = csgraph.connected_components(counts > 0, directed=True, connection="strong")
    sizes = np.bincount(component)
    chosen = component[reference] if sizes[component[reference]] == sizes.max() else int(sizes.argmax())
    found: NDArray[np.bool_] = component == chosen
    return found, reference if found[reference] else int(np.argmax(found))


def ratings(counts: Floats, reference: int, start: Floats | None = None) -> Floats:
    """Bradley-Terry ratings in Elo units, the reference's 0: float64 [P].

    ``counts[i, j]`` is how often i beat j, a tie being half a win of each. Solved by iterative Luce spectral ranking
    (Maystre & Grossglauser 2015), the regularisation being :data:`ALPHA`. ``start`` are ratings to start from.
    """
    import choix  # takes a second

    initial = None if start is None else start / ELO
    strengths = choix.ilsr_pairwise_dense(counts, alpha=ALPHA, initial_params=initial)
    elo: Floats = (strengths - strengths[reference]) * ELO
    return elo


def resampled(columns: Floats, seed: int, resamples: int = RESAMPLES) -> Floats:
    """Bootstrap over blocks: the sums of the columns, float64 [n, K], over n blocks drawn with replacement: [resamples, K].

    All columns are drawn together: blocks of several line-ups from one deal stay together. Of integers the sums are exact.
    """
    n = len(columns)
    rng = np.random.default_rng(seed)
    sums = np.empty((resamples, columns.shape[1]))
    for first in range(0, resamples, 50):
        part = range(first, min(first + 50, resamples))
        weights = np.stack([np.bincount(rng.integers(0, n, n), minlength=n) for _ in part]).astype(np.float64)
        sums[part.start : part.stop] = weights @ columns
    return sums


def quantiles(samples: Floats) -> tuple[Any, Any]:
    """The bounds of the middle 95 % of each column."""
    low, high = np.quantile(samples, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return low, high


# ---- the sequential test


@dataclass(frozen=True)
class Sprt:
    """How a sequential test stands.

    Attributes:
        verdict: ``"better"`` (H1: the block score is the edge), ``"not better"`` (H0: it is 0), ``"undecided"``.
        blocks: after how many it was decided; how many there are if it is not.
        llr: the log likelihood ratio there.
    """

    verdict: str
    blocks: int
    llr: float


def log_likelihood_ratio(scores: Floats, edge: float) -> Floats:
    """After each block, that the score is ``edge`` against 0: N (s1 - s0)(2 s̄ - s0 - s1) / (2 var).

    So chess engines are tested. The variance is that of the blocks and of four more, two at either bound of a score, ±.5: of
    nearly equal players most blocks are level, and the few that decide may not have come yet.
    """
    n = np.arange(1, len(scores) + 1)
    mean = np.cumsum(scores) / n
    variance = (np.cumsum(scores**2) + 4 * 0.5**2) / (n + 4) - (np.cumsum(scores) / (n + 4)) ** 2
    ratio: Floats = n * edge * (2 * mean - edge) / (2 * variance)
    return ratio


def sprt(scores: Floats, edge: float = EDGE) -> Sprt:
    """Wald's sequential test on block scores in the order of the deals, both errors 5 %, from 50 blocks on."""
    if not len(scores):
        return Sprt("undecided", 0, 0.0)
    ratio = log_likelihood_ratio(scores, edge)
    decided = np.flatnonzero((ratio[MIN_BLOCKS - 1 :] <= LOWER) | (ratio[MIN_BLOCKS - 1 :] >= UPPER))
    if not len(decided):
        return Sprt("undecided", len(scores), float(ratio[-1]))
    at = int(decided[0]) + MIN_BLOCKS - 1
    return Sprt("better" if ratio[at] > 0 else "not better", at + 1, float(ratio[at]))
