"""Confidence bounds of a mean by exponential tilting, which stay right where the values are few, skewed or nearly all alike.

A sample of boards stands for all boards. To ask whether the true mean may be m, the sample is reweighted as little as possible
so that its mean is m: each value v gets a weight in proportion to exp(theta * v). The bound is where the sum that was observed
becomes too improbable under these weights (DiCiccio and Romano 1990, nonparametric tilting; Efron 1981). No resamples are
drawn, so the bounds are deterministic: sums that take few values have their exact distribution, and others have that of
Barndorff-Nielsen's saddlepoint formula. If there are only two values, such as boards won and boards lost, the reweighted sum
is a binomial count and the bounds are those of Blaker (2000), which cover like those of Clopper and Pearson and are narrower.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr, stdtrit

UNSEEN = 0.01  # the weight, in boards, of a bound that no board has reached: it matters where few boards differ from the rest
LATTICE = 256  # consecutive sums whose exact probabilities are computed
LARGEST_SPREAD = 8.0  # steps of the lattice in a standard deviation of the sum; a wider sum is as good as continuous
# A count is accepted from this multiple of the error on. The coverage of counts goes in steps; with a multiple of 1 the level
# would be the lowest of them.
ACCEPTED = 1.06
LARGEST_STEP = 64  # steps of the lattice between the lowest and the highest value
GRID = 17

Floats = NDArray[np.float64]


def measure_step(values: Floats) -> float:
    """Return the largest step of which all differences of these sorted values are multiples; 0 if it is very small."""
    differences = values[1:] - values[0]
    step = float(differences[-1])
    for difference in differences.tolist():
        remainder, other = step, difference
        while other > 1e-9 * differences[-1]:
            remainder, other = other, remainder % other
            if other > (1 - 1e-6) * remainder:  # a multiple, but for rounding
                other = 0.0
        step = remainder
        if step * LARGEST_STEP < differences[-1] * (1 - 1e-6):
            return 0.0
    return step


def raise_to_power(base: NDArray[Any], exponent: int) -> NDArray[Any]:
    """Return ``base ** exponent`` by repeated squaring, which is much faster than by logarithms."""
    power = np.ones_like(base)
    while exponent:
        if exponent & 1:
            power *= base
        base = base * base
        exponent >>= 1
    return power


class Tilting:
    """The weights exp(theta * v) over a sample, and how probable they make its mean.

    Args:
        values: float64 [n], not all alike.
        bounds: the lowest and the highest possible value, if there are any.
    """

    def __init__(self, values: Floats, bounds: tuple[float, float] | None = None) -> None:
        self._n = len(values)
        self._mean = float(values.mean())
        distinct, counts = np.unique(np.round(values, 12), return_counts=True)
        weights = counts.astype(np.float64)
        for bound in bounds or ():
            if not np.isclose(distinct, bound, atol=1e-9).any():
                distinct, weights = np.append(distinct, bound), np.append(weights, UNSEEN)
        order = np.argsort(distinct)
        self._values, self._logs = distinct[order], np.log(weights[order] / weights.sum())
        self._centre, self._spread = self._centre_on_mean()
        self._step = step = measure_step(self._values)
        self._exact = step > 0 and self._spread * self._n**0.5 <= LARGEST_SPREAD * step
        if self._exact:
            self._steps = np.rint((self._values - self._values[0]) / step).astype(np.int64)
            self._sum = round((float(values.sum()) - self._n * float(self._values[0])) / step)
            turns = np.outer(self._steps, np.arange(LATTICE // 2 + 1)) % LATTICE
            self._waves = np.exp(-2j * np.pi / LATTICE * turns)

    def weigh(self, theta: Floats) -> Floats:
        """Return the weights of the distinct values, float64 [len(theta), values]."""
        logs = self._logs + theta[:, None] * self._values
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        normalized: Floats = weights / weights.sum(axis=1, keepdims=True)
        return normalized

    def weigh_sample(self, theta: float, values: Floats) -> Floats:
        """Return the weights of the values that the sample was made of, float64 [n], with a sum of n."""
        weights = np.exp(theta * (values - self._mean))
        normalized: Floats = weights * (len(values) / weights.sum())
        return normalized

    def tilt_mean(self, theta: float) -> float:
        """Return the mean under these weights."""
        return float(self.weigh(np.array([theta]))[0] @ self._values)

    def compute_p(self, mean: float) -> float:
        """Return the two-sided p-value of a true mean; 0 if the sample cannot be tilted to it."""
        if not self._values[0] < mean < self._values[-1]:
            return 0.0
        below = mean < self._mean
        sign = -1.0 if below else 1.0
        theta = self._search(lambda theta: sign * (mean - self.tilt_mean(theta)), sign)
        if self._exact:
            p = float(self._accept(np.array([theta]))[0])
            if p > 1e-6:  # smaller ones drown in the rounding of Fourier's transformation
                return min(1.0, p)
        return float(2 * ndtr(-np.abs(self._compute_roots(np.array([theta]))))[0])

    # ---- bounds

    def find_one_sided(self, sign: float, error: float) -> float:
        """Return the tilt, down or up by ``sign``, at which the observed sum or one beyond it has the probability ``error``."""
        if not self._exact:  # the formula puts the bound in the middle of the step that the observed sum is
            return self._find_smooth(sign, error) + sign * self._step / (2 * self._n * self._spread**2)
        tail = 1 if sign < 0 else 0
        return self._search(lambda theta: log(max(self._compute_tails(np.array([theta]))[tail][0], 1e-300) / error), sign)

    def find_two_sided(self, sign: float, error: float) -> float:
        """Return the tilt, down or up by ``sign``, at the bound of an interval that misses the true mean with ``error``."""
        if not self._exact:
            return self._find_smooth(sign, error / 2)
        first, last = self.find_one_sided(sign, error / 2), self.find_one_sided(sign, ACCEPTED * error)
        for _ in range(3):  # Blaker's bound: from the outside inwards, the first tilt that is accepted
            grid = np.linspace(first, last, GRID)
            accepted = self._accept(grid) > ACCEPTED * error
            at = int(np.argmax(accepted)) if accepted.any() else GRID - 1
            first, last = grid[max(at - 1, 0)], grid[at]
        return float(last)

    def _find_smooth(self, sign: float, error: float) -> float:
        """Return the tilt at which a mean of so many values that it is as good as continuous has a tail of ``error``."""
        # for normal values of unknown variance this gives Student's t, because the root of their likelihood ratio is this
        quantile = (self._n * log(1 + float(stdtrit(self._n - 1, error)) ** 2 / (self._n - 1))) ** 0.5
        return self._search(lambda theta: quantile - abs(float(self._compute_roots(np.array([theta]))[0])), sign)

    def _search(self, rest: Callable[[float], float], sign: float) -> float:
        """Return the tilt, in the direction of ``sign`` from that of the sample's mean, at which ``rest`` falls to 0."""
        near, far = 0.0, sign * 2.0 / (self._spread * self._n**0.5)
        if rest(self._centre) <= 0:  # but for rounding, it is the sample's mean itself that is sought
            return self._centre
        while rest(self._centre + far) > 0:
            near, far = far, 2 * far
        return self._centre + float(brentq(lambda by: rest(self._centre + by), near, far, rtol=1e-7))

    # ---- probabilities

    def _centre_on_mean(self) -> tuple[float, float]:
        """Return the tilt that gives the sample its own mean in spite of unseen values, and the standard deviation there."""
        theta, variance = 0.0, 1.0
        for _ in range(20):
            weights = self.weigh(np.array([theta]))[0]
            mean = float(weights @ self._values)
            variance = float(weights @ (self._values - mean) ** 2)
            theta += (self._mean - mean) / variance
        return theta, variance**0.5

    def _compute_tails(self, theta: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return the probabilities of a sum up to the observed one, and from it on, and both for all sums around the mean."""
        weights = self.weigh(theta)
        waves = raise_to_power(weights @ self._waves, self._n)
        cyclic = np.maximum(np.fft.irfft(waves, LATTICE, axis=1), 0.0)  # of the sum, modulo LATTICE
        start = np.floor(self._n * (weights @ self._steps)).astype(np.int64) - LATTICE // 2
        mass = np.take_along_axis(cyclic, (start[:, None] + np.arange(LATTICE)) % LATTICE, axis=1)
        up_to = np.cumsum(mass, axis=1)
        beyond = np.cumsum(mass[:, ::-1], axis=1)[:, ::-1]
        at = self._sum - start
        there = np.clip(at, 0, LATTICE - 1)[:, None]
        below = np.where(at < 0, 0.0, np.where(at >= LATTICE, 1.0, np.take_along_axis(up_to, there, axis=1)[:, 0]))
        above = np.where(at < 0, 1.0, np.where(at >= LATTICE, 0.0, np.take_along_axis(beyond, there, axis=1)[:, 0]))
        return below, above, up_to, beyond

    def _accept(self, theta: Floats) -> Floats:
        """Return Blaker's acceptability: the smaller tail, and as much of the other one as is no more probable."""
        below, above, up_to, beyond = self._compute_tails(theta)
        smaller = np.minimum(below, above) * (1 + 1e-9)
        low = np.where(up_to <= smaller[:, None], up_to, 0.0).max(axis=1)
        high = np.where(beyond <= smaller[:, None], beyond, 0.0).max(axis=1)
        accepted: Floats = np.where(above < below, above + low, below + high)
        return accepted

    def _compute_roots(self, theta: Floats) -> Floats:
        """Return Barndorff-Nielsen's r*, a standard normal variable, of the observed mean under these weights."""
        logs = self._logs + np.append(theta, self._centre)[:, None] * self._values
        largest = logs.max(axis=1)
        cumulants = largest + np.log(np.exp(logs - largest[:, None]).sum(axis=1))
        tilt = self._centre - theta
        root = np.sign(tilt) * np.sqrt(np.maximum(2 * self._n * (tilt * self._mean - cumulants[-1] + cumulants[:-1]), 0.0))
        wald = tilt * self._spread * self._n**0.5
        small = np.abs(root) < 1e-3  # there the correction is a difference of large numbers
        with np.errstate(divide="ignore", invalid="ignore"):
            corrected: Floats = np.where(small, root, root + np.log(wald / root) / root)
        return corrected
