"""What can be had at most: mean against bust rate, mean against the worst rounds, and reaching a target.

*Mean and bust*: the play that maximises E[X] - λ P(bust), for a sweep of λ, lies on the concave frontier, and its value bounds
every other play: E[X] <= V(λ) + λ P(bust). *Mean and CVaR*: CVaR_α = max over η of η - E[(η - X)⁺]/α (Rockafellar and Uryasev
2000); the reward falls once, at the stop, so for each whole η one dynamic program with that payoff does, and the mean is added
to it with a weight. *Reach*: g(x) = 1[x >= t].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from card_envs.risk.kernel import OFFSET
from card_envs.risk.model import Position
from card_envs.risk.solve import POINTS, Distribution, Progress, evaluate, optimal, reach, solve

MOST_PRICE = 400.0  # of a bust, in points: nobody risks one
PRICES = (0.0, *np.geomspace(0.5, MOST_PRICE, 39).tolist())
WEIGHTS = tuple(np.linspace(0.0, 1.0, 21).tolist())
ETAS = range(0, 41)


@dataclass(frozen=True)
class Point:
    """A point of a frontier: the play that maximises the mean less ``price`` × P(bust), or with a weight ``price`` on CVaR."""

    price: float
    distribution: Distribution
    value: float

    @property
    def mean(self) -> float:
        return self.distribution.mean

    @property
    def bust(self) -> float:
        return self.distribution.bust


def bust_frontier(position: Position, prices: tuple[float, ...] = PRICES, progress: Progress = None) -> list[Point]:
    """The exact frontier of mean against P(bust), from the highest mean on.

    Args:
        prices: the λ of the sweep, points for a bust, each at least 0.
        progress: told the part done, 0 … 1.
    """
    points = []
    for number, price in enumerate(prices, 1):
        if not price >= 0.0:
            raise ValueError(f"price of a bust = {price!r}: allowed is a number from 0")
        solution = solve(position, POINTS, -price)
        points.append(Point(price, evaluate(position, optimal(), solution=solution), solution.value))
        if progress is not None:
            progress(number / len(prices))
    return points


def most_mean(points: list[Point], bust: float) -> float:
    """The highest mean that any play with this P(bust) can have: the least of the frontier's supporting lines there."""
    return min(point.value + point.price * bust for point in points)


def cvar_frontier(
    position: Position, alpha: float = 0.5, weights: tuple[float, ...] = WEIGHTS, progress: Progress = None
) -> list[Point]:
    """The frontier of mean against CVaR_alpha: for each weight w the play that maximises (1 - w) E[X] + w CVaR_alpha.

    CVaR_alpha is 0 for any play with P(bust) >= alpha.
    """
    if not 0.0 < alpha <= 1.0:
        raise ValueError(f"alpha = {alpha!r}: allowed is a number above 0, up to 1")
    points = []
    for number, weight in enumerate(weights, 1):
        best = None
        for eta in ETAS:
            payoff = (1.0 - weight) * POINTS + weight * (eta - np.maximum(eta - POINTS, 0.0) / alpha)
            solution = solve(position, payoff)
            if best is None or solution.value > best.value:
                best = solution
        assert best is not None
        points.append(Point(weight, evaluate(position, optimal(), solution=best), best.value))
        if progress is not None:
            progress(number / len(weights))
    return points


@dataclass(frozen=True)
class Reach:
    """The best chance to score ``target`` or more, what the play that has it scores on average, and how often it busts."""

    target: int
    chance: float
    mean: float
    bust: float


def reach_table(position: Position, targets: range | list[int] = range(1, 101), progress: Progress = None) -> list[Reach]:
    """The last-round tool, "I need 34": max P(score >= t), exactly, for each target."""
    rows = []
    for number, target in enumerate(targets, 1):
        if not 0 <= target < len(POINTS) - OFFSET:
            raise ValueError(f"target = {target!r}: allowed is a whole number from 0 to {len(POINTS) - OFFSET - 1}")
        solution = solve(position, reach(target))
        played = evaluate(position, optimal(), solution=solution)
        rows.append(Reach(target, solution.value, played.mean, played.bust))
        if progress is not None:
            progress(number / len(targets))
    return rows
