"""What boards say about players: intervals, ratings and a sequential test, as functions of plain arrays.

Boards are independent of each other, but the matches of one board are not, because they are dealt from the same decks. Every
interval here therefore counts boards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from card_envs.arena.tilting import Tilting

LEVEL = 0.95  # of every interval
FEW = 30  # values or boards, with fewer of which intervals are rough

ALPHA = 0.01  # choix's regularisation: keeps ratings finite if a player hardly ever wins, and hardly moves the others
ELO = 400.0 / log(10.0)

EDGE = 0.02
ERROR = 0.05  # both error rates of the sequential test
MIN_BOARDS = 50
LOWER, UPPER = log(ERROR / (1.0 - ERROR)), log((1.0 - ERROR) / ERROR)

Floats = NDArray[np.float64]


def round_figure(value: float | None, digits: int = 6) -> float | None:
    """Round a figure before the last bits, in which linear algebra libraries differ; ``None`` if it is not finite."""
    return None if value is None or not np.isfinite(value) else round(float(value), digits) + 0.0


# ---- means


@dataclass(frozen=True)
class Estimate:
    """The mean of independent values, with what it says about the true mean.

    Attributes:
        mean: The mean of the values.
        low, high: The two-sided 95 % interval.
        floor, ceiling: The one-sided 95 % bounds, each without the other.
        p: The two-sided p-value of a true mean of 0.
        n: The number of values.
    """

    mean: float
    low: float
    high: float
    floor: float
    ceiling: float
    p: float
    n: int

    def __str__(self) -> str:
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"


def bound_unseen_share(n: int, error: float) -> float:
    """Return the largest share of different values that ``n`` equal ones leave plausible, at this error rate.

    This is the exact binomial bound (Clopper and Pearson 1934) for none in n, about 3/n at 5 %.
    """
    return float(1.0 - error ** (1.0 / n))


def estimate_mean(values: Floats, bounds: tuple[float, float] | None = None) -> Estimate:
    """Estimate the mean of independent values, such as the scores of boards.

    The interval is found by :mod:`~card_envs.arena.tilting`. Fewer than 30 values do not tell what their distribution is like,
    so the interval then holds that of Student's t too. Equal values show no spread at all. If the ``bounds`` of a value are
    known, the interval then allows for values at these bounds that have not been seen; otherwise it has no width.

    Args:
        values: The values, float64 [n], n at least 2.
        bounds: The lowest and the highest possible value, if there are any.

    Raises:
        ValueError: There are fewer than two values.
    """
    n = len(values)
    if n < 2:
        raise ValueError(f"an interval needs at least 2 values, {n} given")
    mean, error = float(values.mean()), float(values.std(ddof=1)) / n**0.5
    lowest, highest = bounds or (-np.inf, np.inf)
    least_p = min(1.0, 2.0 ** (1 - n))  # n equal values prove no more than n tosses of a coin that fall alike
    if error < 1e-12:
        below, above = (mean - lowest, highest - mean) if bounds else (0.0, 0.0)
        two_sided, one_sided = bound_unseen_share(n, (1 - LEVEL) / 2), bound_unseen_share(n, 1 - LEVEL)
        limits = (mean - two_sided * below, mean + two_sided * above, mean - one_sided * below, mean + one_sided * above)
        return Estimate(mean, *limits, 1.0 if abs(mean) < 1e-12 else least_p, n)
    tilting = Tilting(values, bounds)
    low, high = (tilting.tilt_mean(tilting.find_two_sided(sign, 1 - LEVEL)) for sign in (-1.0, 1.0))
    floor, ceiling = (tilting.tilt_mean(tilting.find_one_sided(sign, 1 - LEVEL)) for sign in (-1.0, 1.0))
    p = tilting.compute_p(0.0)
    if n < FEW:
        two_sided, one_sided = (float(stdtrit(n - 1, level)) * error for level in ((1 + LEVEL) / 2, LEVEL))
        low, high = max(lowest, min(low, mean - two_sided)), min(highest, max(high, mean + two_sided))
        floor, ceiling = max(lowest, min(floor, mean - one_sided)), min(highest, max(ceiling, mean + one_sided))
        p = max(p, 2.0 * float(stdtr(n - 1, -abs(mean) / error)))
    return Estimate(mean, low, high, floor, ceiling, max(p, least_p), n)


def weigh_boards(influences: Floats) -> tuple[Floats, Floats]:
    """Return how boards weigh at the lower and at the upper 95 % bound of a figure that is computed from all of them.

    A figure such as a rating is no mean of boards. Its bounds are its values if the boards are weighed like this.

    Args:
        influences: float64 [n], by how much the figure grows with the weight of each board; the unit does not matter.

    Returns:
        Weights, float64 [n], with a sum of n.
    """
    if np.ptp(influences) < 1e-12 * max(1.0, float(np.abs(influences).max())):
        return np.ones(len(influences)), np.ones(len(influences))
    scaled = influences / np.abs(influences).max()
    tilting = Tilting(scaled)
    low, high = (tilting.weigh_sample(tilting.find_two_sided(sign, 1 - LEVEL), scaled) for sign in (-1.0, 1.0))
    return low, high


def adjust_by_holm(p: Sequence[float]) -> list[float]:
    """Return Holm's step-down adjustment of p-values: those up to .05 are significant with a joint error rate of 5 %."""
    order = np.argsort(p, kind="stable")
    adjusted = [0.0] * len(p)
    largest = 0.0
    for rank, i in enumerate(order.tolist()):
        largest = max(largest, min(1.0, (len(p) - rank) * p[i]))
        adjusted[i] = largest
    return adjusted


def compute_variance_factor(scores: Floats, independent: float) -> float | None:
    """Divide the variance of board scores by that of independent matches; ``None`` if the quotient is undefined."""
    return float(scores.var(ddof=1)) / independent if len(scores) > 1 and independent > 0 else None


# ---- ratings


def find_comparable(counts: Floats, reference: int) -> tuple[NDArray[np.bool_], int]:
    """Find the players whose ratings relative to each other are determined by the wins.

    Wins must lead from each player to each other one and back (Ford 1957): the wins of a player who never lost say only that
    they are better. If there are several such groups, the largest counts; among equally large ones, the one with ``reference``.

    Args:
        counts: How often i beat j, float64 [players, players].
        reference: The player whose rating should be 0.

    Returns:
        Who belongs to the group, bool [players], and the reference: the given one or else the first player of the group.
    """
    from scipy.sparse import csgraph

    _, component = csgraph.connected_components(counts > 0, directed=True, connection="strong")
    sizes = np.bincount(component)
    chosen = component[reference] if sizes[component[reference]] == sizes.max() else int(sizes.argmax())
    comparable: NDArray[np.bool_] = component == chosen
    return comparable, reference if comparable[reference] else int(np.argmax(comparable))


def rate_players(counts: Floats, reference: int, start: Floats | None = None) -> Floats:
    """Fit Bradley–Terry ratings by iterative Luce spectral ranking (Maystre and Grossglauser 2015).

    Args:
        counts: How often i beat j, float64 [players, players]; a tie is half a win of each.
        reference: The player whose rating is 0.
        start: Ratings to start from, float64 [players].

    Returns:
        The ratings in Elo units, float64 [players].
    """
    import choix  # importing it takes a second

    initial = None if start is None else start / ELO
    strengths = choix.ilsr_pairwise_dense(counts, alpha=ALPHA, initial_params=initial)
    elo: Floats = (strengths - strengths[reference]) * ELO
    return elo


def compute_rating_influences(counts: Floats, ratings: Floats, reference: int) -> Floats:
    """Return by how much each rating grows with the weight of each board, to first order.

    This is the derivative of the maximum of the likelihood: the score of a board, times the inverse of the information.

    Args:
        counts: float64 [boards, players, players], how often i beat j.
        ratings: float64 [players], the ratings of all boards together.
        reference: The player whose rating is 0.

    Returns:
        float64 [boards, players].
    """
    beats = 1.0 / (1.0 + np.exp((ratings[None, :] - ratings[:, None]) / ELO))
    surplus = counts * (1.0 - beats)
    scores = surplus.sum(axis=2) - surplus.sum(axis=1)
    total = counts.sum(axis=0)
    information = -(total + total.T) * beats * beats.T
    np.fill_diagonal(information, 0.0)
    np.fill_diagonal(information, -information.sum(axis=1))
    changes = scores @ np.linalg.pinv(information)
    influences: Floats = changes - changes[:, [reference]]
    return influences


# ---- the sequential test


@dataclass(frozen=True)
class SequentialTest:
    """The state of a sequential test.

    Attributes:
        verdict: ``"better"`` (H1: the board score is the edge), ``"not better"`` (H0: it is 0) or ``"undecided"``.
        boards: The number of boards after which it was decided, or of all boards if it is undecided.
        llr: The log-likelihood ratio at that point.
    """

    verdict: str
    boards: int
    llr: float


def compute_log_likelihood_ratios(scores: Floats, edge: float) -> Floats:
    """Return, after each board, the log-likelihood ratio of a mean score of ``edge`` against 0.

    This is the normal approximation that chess engines are tested with: N (s1 - s0)(2 s̄ - s0 - s1) / (2 var). The variance is
    that of the boards and of four more, two at each bound of a score (±0.5): most boards of nearly equal players are level, and
    the few that decide may not have come up yet.
    """
    n = np.arange(1, len(scores) + 1)
    mean = np.cumsum(scores) / n
    variance = (np.cumsum(scores**2) + 4 * 0.5**2) / (n + 4) - (np.cumsum(scores) / (n + 4)) ** 2
    ratios: Floats = n * edge * (2 * mean - edge) / (2 * variance)
    return ratios


def run_sequential_test(scores: Floats, edge: float = EDGE) -> SequentialTest:
    """Run Wald's sequential test on board scores in the order of the boards: both error rates are 5 %, from 50 boards on."""
    if not len(scores):
        return SequentialTest("undecided", 0, 0.0)
    ratios = compute_log_likelihood_ratios(scores, edge)
    decided = np.flatnonzero((ratios[MIN_BOARDS - 1 :] <= LOWER) | (ratios[MIN_BOARDS - 1 :] >= UPPER))
    if not len(decided):
        return SequentialTest("undecided", len(scores), float(ratios[-1]))
    at = int(decided[0]) + MIN_BOARDS - 1
    return SequentialTest("better" if ratios[at] > 0 else "not better", at + 1, float(ratios[at]))
