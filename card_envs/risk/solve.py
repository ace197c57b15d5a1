"""Optimal stopping of one solo round, and the exact distribution of its score under a rule (SCIENCE of bust risk, 3 and 4).

V(S) = g(x(S)) with seven cards, else max{ g(x(S)), [bust · g(0) + Σ_{v not in S} r_v V(S + v)] / T }: S the line, r_v the cards
of value v that are left, T all number cards that are left, x(S) the round's score, g its payoff. With Zero in the line there is
no choice. Cards that change nothing (actions, modifiers) cancel out of this.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.games.flip7.state import UNLUCKY_7
from card_envs.risk import cache, kernel
from card_envs.risk.kernel import NUMBER_KINDS, OFFSET, ONE_STEP, OPTIMAL, RISK, SCORES, TABLE
from card_envs.risk.model import Model, Position, names_of

Array = NDArray[np.float64]
Progress = Callable[[float], None] | None
SIZE = 1 << (NUMBER_KINDS - 1)
LINES = 1 << NUMBER_KINDS
PARTS = 64  # of a large solution, shared by the threads

POINTS: Array = np.arange(SCORES, dtype=np.float64) - OFFSET
"""The payoff g(x) = x: index x + OFFSET."""


def reach(target: int) -> Array:
    """The payoff 1 for a score of ``target`` or more, else 0: its value is the best P(score >= target)."""
    return (target <= POINTS).astype(np.float64)


# ---- distributions


@dataclass(frozen=True)
class Distribution:
    """The exact distribution of a round's score.

    Attributes:
        probabilities: float64 [160], of the score x at ``x + 32``.
        bust, flip7: probabilities of ending so.
    """

    probabilities: Array
    bust: float
    flip7: float

    @property
    def mean(self) -> float:
        return float(self.probabilities @ POINTS)

    @property
    def sd(self) -> float:
        return float(np.sqrt(max(0.0, float(self.probabilities @ POINTS**2) - self.mean**2)))

    def quantile(self, q: float) -> int:
        """The least score x with P(score <= x) >= q."""
        return int(POINTS[np.searchsorted(np.cumsum(self.probabilities), q - 1e-12).clip(0, SCORES - 1)])

    def cvar(self, alpha: float) -> float:
        """The mean of the worst ``alpha`` of the rounds, 0 < alpha <= 1 (Rockafellar and Uryasev 2000)."""
        before = np.concatenate([[0.0], np.cumsum(self.probabilities)[:-1]])
        taken = np.clip(alpha - before, 0.0, self.probabilities)
        return float(taken @ POINTS / taken.sum())

    def mean_of(self, payoff: Array) -> float:
        """E[g(score)]."""
        return float(self.probabilities @ payoff)

    def facts(self) -> dict[str, Any]:
        """The figures as JSON-able values."""
        quantiles = {f"q{round(100 * q)}": self.quantile(q) for q in (0.1, 0.25, 0.5, 0.75, 0.9)}
        tails = {f"cvar{round(100 * a)}": self.cvar(a) for a in (0.1, 0.5)}
        return {"mean": self.mean, "sd": self.sd, "bust": self.bust, "flip7": self.flip7, **quantiles, **tails}


# ---- strategies


@dataclass(frozen=True, eq=False)
class Strategy:
    """When to stay, by what the line and the deck say: see the functions below. ``payoff`` is what an optimal one maximises."""

    name: str
    mode: int
    threshold: float = 0.0
    table: NDArray[np.uint8] | None = None
    payoff: Array | None = None
    busted: float | None = None


def _by_line(name: str, stays: NDArray[np.bool_]) -> Strategy:
    return Strategy(name, TABLE, table=stays.astype(np.uint8))


def _line_sums(values: Sequence[int]) -> NDArray[np.int64]:
    sums: NDArray[np.int64] = (np.arange(LINES)[:, None] >> np.arange(NUMBER_KINDS) & 1) @ np.array(values)
    return sums


def sum_at_least(k: float) -> Strategy:
    """Stay when the number cards sum to ``k`` or more."""
    return _by_line(f"sum({k:g})", _line_sums([*range(14), 13, 7]) >= k)


def cards_at_least(k: float) -> Strategy:
    """Stay with ``k`` number cards."""
    return _by_line(f"count({k:g})", _line_sums([1] * NUMBER_KINDS) >= k)


def risk_at_least(p: float) -> Strategy:
    """Stay when the next number card busts with probability ``p`` or more."""
    return Strategy(f"risk({p:g})", RISK, p)


def one_step() -> Strategy:
    """Draw iff one more card and then staying is worth more than staying, on average."""
    return Strategy("one_step", ONE_STEP)


def always_draw() -> Strategy:
    """Never stay."""
    return _by_line("always", np.zeros(LINES, np.bool_))


def optimal(payoff: Array | None = None, busted: float | None = None, name: str = "optimal") -> Strategy:
    """Maximise E[g(score)], points by default; ``busted`` is the payoff of a bust, g(0) by default."""
    return Strategy(name, OPTIMAL, payoff=payoff, busted=busted)


def line_rule(stays: Callable[[Sequence[str]], bool], name: str = "rule") -> Strategy:
    """Any rule that looks at the line only: a function of its card names, true to stay."""
    return _by_line(name, np.array([bool(stays(names_of(line))) for line in range(LINES)]))


# ---- solving


@dataclass(frozen=True)
class Solution:
    """The optimal values from a position on.

    Attributes:
        payoff, busted: what was maximised.
        value: of playing on optimally; ``draw`` and ``stay`` of either (``stay`` is ``None`` where Zero forbids it).
        values, draws, wipe: by set of free cards that have come, as the loops want them.
    """

    position: Position
    payoff: Array
    busted: float
    values: Array
    draws: Array
    wipe: Array

    @property
    def value(self) -> float:
        return float(self.values[0])

    @property
    def draw(self) -> float:
        return float(self.draws[0])

    @property
    def stay(self) -> float | None:
        return None if self.position.must_draw else float(self.payoff[self.position.score + OFFSET])


def solve(
    position: Position,
    payoff: Array | None = None,
    busted: float | None = None,
    *,
    threads: int | None = None,
    progress: Progress = None,
) -> Solution:
    """The optimal values of a solo round from ``position`` on, exactly.

    Args:
        payoff: g, float64 [160], of the score x at ``x + 32``: :data:`POINTS` by default.
        busted: the payoff of a bust, g(0) by default.
        threads: how many share the work of Unlucky 7's states, all cores by default.
        progress: told the part done, 0 … 1, while it lasts.
    """
    payoff = POINTS if payoff is None else np.ascontiguousarray(payoff, np.float64)
    if payoff.shape != (SCORES,) or not np.isfinite(payoff).all():
        raise ValueError(f"payoff: expected are {SCORES} finite numbers, of the score x at x + {OFFSET}")
    busted = float(payoff[OFFSET]) if busted is None else float(busted)
    line, deck, discard, rules = _arguments(position)
    wipe = np.zeros(SIZE)
    if deck[UNLUCKY_7] + discard[UNLUCKY_7]:

        def part(number: int) -> None:
            kernel.wipe_values(line, deck, discard, rules, payoff, busted, number, PARTS, wipe)

        _share(part, threads, progress)
    values, draws = np.zeros(SIZE), np.zeros(SIZE)
    kernel.backward(line, deck, discard, rules, payoff, busted, wipe, -1, values, draws)
    return Solution(position, payoff, busted, values, draws, wipe)


def evaluate(
    position: Position,
    strategy: Strategy,
    *,
    solution: Solution | None = None,
    threads: int | None = None,
    progress: Progress = None,
) -> Distribution:
    """The exact distribution of the round's score from ``position`` on, played by ``strategy``.

    Args:
        solution: that of an optimal strategy, if it is at hand.
        threads, progress: as for :func:`solve`.
    """
    line, deck, discard, rules = _arguments(position)
    if strategy.mode == OPTIMAL and solution is None:
        solution = solve(position, strategy.payoff, strategy.busted, threads=threads, progress=_part_of(progress, 0.0))
        progress = _part_of(progress, 0.5)
    values, draws = (solution.values, solution.draws) if solution else (np.zeros(1), np.zeros(1))
    payoff, busted = (solution.payoff, solution.busted) if solution else (POINTS, 0.0)
    table = np.zeros(1, np.uint8) if strategy.table is None else strategy.table
    how = strategy.mode, strategy.threshold, table
    away, out = np.zeros(SIZE), np.zeros((PARTS + 1, SCORES + 2))
    kernel.forward(line, deck, discard, rules, 1.0, *how, values, draws, np.zeros(SIZE), away, out[PARTS])
    if away.any():

        def part(number: int) -> None:
            kernel.forward_wiped(line, deck, discard, rules, away, *how, payoff, busted, number, PARTS, out[number])

        _share(part, threads, progress)
    total = out.sum(axis=0)
    return Distribution(total[:SCORES], float(total[SCORES]), float(total[SCORES + 1]))


def _arguments(position: Position) -> tuple[int, NDArray[np.int64], NDArray[np.int64], tuple[int, ...]]:
    return position.line, position.numbers, position.discarded, position.rules


def _part_of(progress: Progress, start: float) -> Progress:
    """The progress of one half of the work."""
    return None if progress is None else lambda part: progress(start + part / 2)


def _share(part: Callable[[int], None], threads: int | None, progress: Progress) -> None:
    """Do all parts, by several threads: compiled code lets the others run."""
    part(0)  # compiles
    with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
        for done, _ in enumerate(pool.map(part, range(1, PARTS)), 2):
            if progress is not None:
                progress(done / PARTS)


@dataclass(frozen=True)
class Solved:
    """The optimal round of a model: its distribution, how many states there are, the seconds that it took to solve."""

    model: str
    distribution: Distribution
    states: int
    seconds: float
    cached: bool

    def facts(self) -> dict[str, Any]:
        return {
            "model": self.model, **self.distribution.facts(), "states": self.states, "seconds": self.seconds,
            "cached": self.cached,
        }  # fmt: skip


def solve_model(model: Model, *, threads: int | None = None, progress: Progress = None, use_cache: bool = True) -> Solved:
    """The optimal solo round of a model, from the cache where it has been solved before."""
    path = cache.file_of(f"round-{model.name}", model)
    kept = cache.load(path) if use_cache else None
    if kept is not None:
        distribution = Distribution(kept["probabilities"], float(kept["ends"][0]), float(kept["ends"][1]))
        return Solved(model.name, distribution, model.start.states, float(kept["seconds"][0]), True)
    few = tuple(int(kind in (8, UNLUCKY_7)) for kind in range(NUMBER_KINDS))
    evaluate(Position(0, few), optimal())  # compiles, outside the clock
    start = time.perf_counter()
    distribution = evaluate(model.start, optimal(), threads=threads, progress=progress)
    seconds = time.perf_counter() - start
    if use_cache:
        ends = np.array([distribution.bust, distribution.flip7])
        cache.save(path, probabilities=distribution.probabilities, ends=ends, seconds=np.array([seconds]))
    return Solved(model.name, distribution, model.start.states, seconds, False)
