"""The best that any play can do: the mean against the bust rate, the mean against the worst rounds, and reaching a target.

*Mean and bust*: for each price λ of a bust, the play that maximises E[X] - λ P(bust) lies on the concave frontier, and its
value bounds every other play: E[X] <= V(λ) + λ P(bust). *Mean and CVaR*: CVaR_α = max over η of η - E[(η - X)⁺]/α (Rockafellar
and Uryasev 2000). Since a round pays only once, when it ends, one dynamic program with that payoff is enough for each whole η;
a weighted mean is added to the payoff. *Reach*: g(x) = 1[x >= t].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from card_envs.risk.kernel import OFFSET
from card_envs.risk.model import Position
from card_envs.risk.solve import (
    POINTS,
    Distribution,
    Progress,
    evaluate,
    ignore_progress,
    optimal,
    reach_payoff,
    solve_position,
)

PRICES = (0.0, *np.geomspace(0.5, 400.0, 39).tolist())  # in points; at the last one no bust is worth risking
WEIGHTS = tuple(np.linspace(0.0, 1.0, 21).tolist())
ETAS = range(0, 41)


@dataclass(frozen=True)
class Point:
    """A point of a frontier: the play that is best at one price of a bust, or with one weight on CVaR.

    Attributes:
        price: The price of a bust in points, at least 0; or the weight on CVaR, 0 … 1.
        distribution: The distribution of the score under this play.
        value: What this play maximises: the mean less the price of its busts, or the weighted sum of mean and CVaR.
    """

    price: float
    distribution: Distribution
    value: float

    @property
    def mean(self) -> float:
        """The expected score."""
        return self.distribution.mean

    @property
    def bust(self) -> float:
        """The probability of a bust."""
        return self.distribution.bust


def trace_bust_frontier(
    position: Position, prices: tuple[float, ...] = PRICES, progress: Progress = ignore_progress
) -> list[Point]:
    """Compute the exact frontier of the mean against P(bust), from the highest mean on.

    Args:
        position: The position from which the round is played.
        prices: The prices λ of a bust, in points, each at least 0.
        progress: Called with the part of the work that is done, 0 … 1.

    Returns:
        One point for each price.

    Raises:
        ValueError: A price is negative.
    """
    points = []
    for number, price in enumerate(prices, 1):
        if not price >= 0.0:
            raise ValueError(f"price of a bust = {price!r}: allowed is a number from 0")
        solution = solve_position(position, POINTS, -price)
        points.append(Point(price, evaluate(position, optimal(), solution=solution), solution.value))
        progress(number / len(prices))
    return points


def bound_mean(points: list[Point], bust: float) -> float:
    """Return the highest mean that any play with this P(bust) can have: the lowest supporting line of the frontier there."""
    return min(point.value + point.price * bust for point in points)


def trace_cvar_frontier(
    position: Position, alpha: float = 0.5, weights: tuple[float, ...] = WEIGHTS, progress: Progress = ignore_progress
) -> list[Point]:
    """Compute the frontier of the mean against CVaR_alpha: for each weight w, the best play by (1 - w) E[X] + w CVaR_alpha.

    Args:
        position: The position from which the round is played.
        alpha: The part of the rounds that counts as the worst, above 0 and up to 1. CVaR_alpha, their mean score, is 0 for any
            play with P(bust) >= alpha.
        weights: The weights w, each 0 … 1.
        progress: Called with the part of the work that is done, 0 … 1.

    Returns:
        One point for each weight.

    Raises:
        ValueError: ``alpha`` is out of its range.
    """
    if not 0.0 < alpha <= 1.0:
        raise ValueError(f"alpha = {alpha!r}: allowed is a number above 0, up to 1")
    points = []
    for number, weight in enumerate(weights, 1):
        tails = [eta - np.maximum(eta - POINTS, 0.0) / alpha for eta in ETAS]
        solutions = (solve_position(position, (1.0 - weight) * POINTS + weight * tail) for tail in tails)
        best = max(solutions, key=lambda solution: solution.value)
        points.append(Point(weight, evaluate(position, optimal(), solution=best), best.value))
        progress(number / len(weights))
    return points


@dataclass(frozen=True)
class Reach:
    """The best chance to score ``target`` or more.

    Attributes:
        target: The points that are needed.
        chance: The probability of the play that has the best chance.
        mean: What that play scores on average.
        bust: The probability that it busts.
    """

    target: int
    chance: float
    mean: float
    bust: float


def tabulate_reach(
    position: Position, targets: range | list[int] = range(1, 101), progress: Progress = ignore_progress
) -> list[Reach]:
    """Compute the exact best chance to score a target or more, which is what counts in the last round ("I need 34").

    Args:
        position: The position from which the round is played.
        targets: The points that are needed, each 0 … 127.
        progress: Called with the part of the work that is done, 0 … 1.

    Returns:
        One row for each target.

    Raises:
        ValueError: A target is out of its range.
    """
    rows = []
    for number, target in enumerate(targets, 1):
        if not 0 <= target < len(POINTS) - OFFSET:
            raise ValueError(f"target = {target!r}: allowed is a whole number from 0 to {len(POINTS) - OFFSET - 1}")
        solution = solve_position(position, reach_payoff(target))
        played = evaluate(position, optimal(), solution=solution)
        rows.append(Reach(target, solution.value, played.mean, played.bust))
        progress(number / len(targets))
    return rows
