"""Optimal stopping of one solo round, and the exact distribution of its score under a strategy.

V(S) = g(x(S)) with seven cards, else max{g(x(S)), [bust · g(0) + Σ_{v not in S} r_v V(S + v)] / T}: S is the line, r_v the
number of cards of the kind v that are left, bust that of the cards that bust the line, T that of all number cards, x(S) the
score of the round and g its payoff. A line with Zero must draw. Actions and modifiers change nothing and cancel out of this.
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

from card_envs.games.flip7.lines import count_line, sum_line
from card_envs.games.flip7.state import UNLUCKY_7
from card_envs.risk import cache, kernel
from card_envs.risk.kernel import (
    FREE_KINDS,
    NUMBER_KINDS,
    OFFSET,
    ONE_STEP,
    OPTIMAL,
    RISK,
    SCORES,
    TABLE,
    Rules,
    compile_kernel,
)
from card_envs.risk.model import Model, Position, name_cards

Array = NDArray[np.float64]
Progress = Callable[[float], None]
STATES = 1 << FREE_KINDS  # the largest number of states
LINES = np.arange(1 << NUMBER_KINDS)  # all sets of number cards
PARTS = 64  # into which the threads divide a large solution

POINTS: Array = np.arange(SCORES, dtype=np.float64) - OFFSET
"""The payoff g(x) = x, float64 [160]: index x + 32."""

_solve_backward = compile_kernel(kernel.solve_backward)
_solve_wiped = compile_kernel(kernel.solve_wiped)
_play_forward = compile_kernel(kernel.play_forward)
_play_wiped = compile_kernel(kernel.play_wiped)


def ignore_progress(part: float) -> None:
    """Do nothing with the part of the work that is done."""


def reach_payoff(target: int) -> Array:
    """Return the payoff that is 1 for a score of ``target`` or more, else 0, float64 [160]. Its value is P(score >= target)."""
    return (target <= POINTS).astype(np.float64)


# ---- distributions


@dataclass(frozen=True)
class Distribution:
    """The exact distribution of a round's score.

    Attributes:
        probabilities: The probability of the score x at ``x + 32``, float64 [160].
        bust: The probability that the round ends by a bust.
        flip7: The probability that it ends by a Flip 7.
    """

    probabilities: Array
    bust: float
    flip7: float

    @property
    def mean(self) -> float:
        """The expected score."""
        return float(self.probabilities @ POINTS)

    @property
    def sd(self) -> float:
        """The standard deviation of the score."""
        return float(np.sqrt(max(0.0, float(self.probabilities @ POINTS**2) - self.mean**2)))

    def quantile(self, q: float) -> int:
        """Return the least score x with P(score <= x) >= q."""
        return int(POINTS[np.searchsorted(np.cumsum(self.probabilities), q - 1e-12).clip(0, SCORES - 1)])

    def cvar(self, alpha: float) -> float:
        """Return the mean of the worst ``alpha`` of the rounds, 0 < alpha <= 1 (Rockafellar and Uryasev 2000)."""
        before = np.concatenate([[0.0], np.cumsum(self.probabilities)[:-1]])
        taken = np.clip(alpha - before, 0.0, self.probabilities)
        return float(taken @ POINTS / taken.sum())

    def facts(self) -> dict[str, Any]:
        """Return the figures as JSON-able values."""
        quantiles = {f"q{round(100 * q)}": self.quantile(q) for q in (0.1, 0.25, 0.5, 0.75, 0.9)}
        tails = {f"cvar{round(100 * a)}": self.cvar(a) for a in (0.1, 0.5)}
        return {"mean": self.mean, "sd": self.sd, "bust": self.bust, "flip7": self.flip7, **quantiles, **tails}


# ---- strategies


@dataclass(frozen=True, eq=False)
class Strategy:
    """A rule that says when to stay, by the line and the deck. The functions below make strategies.

    Attributes:
        name: The name of the strategy in tables.
        mode: How the kernel decides.
        threshold: The P(bust | number card) from which on the strategy stays.
        table: Whether it stays with each line, uint8 [65536].
        payoff, busted: What an optimal strategy maximises, as for :func:`solve_position`.
    """

    name: str
    mode: int
    threshold: float = 0.0
    table: NDArray[np.uint8] | None = None
    payoff: Array | None = None
    busted: float | None = None


def _decide_by_line(name: str, stays: NDArray[np.bool_]) -> Strategy:
    return Strategy(name, TABLE, table=stays.astype(np.uint8))


def sum_at_least(k: float) -> Strategy:
    """Stay when the number cards sum to ``k`` or more."""
    return _decide_by_line(f"sum({k:g})", sum_line(LINES) >= k)


def cards_at_least(k: float) -> Strategy:
    """Stay with ``k`` or more number cards."""
    return _decide_by_line(f"count({k:g})", count_line(LINES, True) >= k)


def risk_at_least(p: float) -> Strategy:
    """Stay when the next number card busts with probability ``p`` or more."""
    return Strategy(f"risk({p:g})", RISK, p)


def one_step() -> Strategy:
    """Draw if drawing one more card and then staying is worth more on average than staying at once."""
    return Strategy("one_step", ONE_STEP)


def always_draw() -> Strategy:
    """Never stay."""
    return _decide_by_line("always", np.zeros(len(LINES), np.bool_))


def optimal(payoff: Array | None = None, busted: float | None = None, name: str = "optimal") -> Strategy:
    """Maximise E[g(score)], with the payoff g and that of a bust as for :func:`solve_position`."""
    return Strategy(name, OPTIMAL, payoff=payoff, busted=busted)


def line_rule(stays: Callable[[Sequence[str]], bool], name: str = "rule") -> Strategy:
    """Follow a rule that looks at the line only: ``stays`` tells from the names of its cards whether to stay."""
    return _decide_by_line(name, np.array([bool(stays(name_cards(line))) for line in range(len(LINES))]))


# ---- solving


@dataclass(frozen=True)
class Solution:
    """The optimal values from a position on, in the units of the payoff.

    Attributes:
        position: The position from which the round is played.
        payoff, busted: What was maximised, as for :func:`solve_position`.
        values: The values of playing on optimally, by the set of free cards that have come, float64 [32768].
        draws: The values of drawing, likewise.
        wipe: The values after Unlucky 7, likewise.
    """

    position: Position
    payoff: Array
    busted: float
    values: Array
    draws: Array
    wipe: Array

    @property
    def value(self) -> float:
        """The value of playing on optimally."""
        return float(self.values[0])

    @property
    def draw(self) -> float:
        """The value of drawing now."""
        return float(self.draws[0])

    @property
    def stay(self) -> float | None:
        """The value of staying now; ``None`` if Zero forbids it."""
        return None if self.position.must_draw else float(self.payoff[self.position.score + OFFSET])


def solve_position(
    position: Position,
    payoff: Array | None = None,
    busted: float | None = None,
    *,
    threads: int | None = None,
    progress: Progress = ignore_progress,
) -> Solution:
    """Compute the exact optimal values of a solo round from ``position`` on.

    Args:
        position: The position from which the round is played.
        payoff: The payoff g of the score x at ``x + 32``, float64 [160], by default :data:`POINTS`.
        busted: The payoff of a bust, by default g(0).
        threads: The number of threads that solve the states after Unlucky 7, by default one for each core.
        progress: Called with the part of the work that is done, 0 … 1.

    Raises:
        ValueError: The payoff has another shape, or is not finite.
    """
    payoff = POINTS if payoff is None else np.ascontiguousarray(payoff, np.float64)
    if payoff.shape != (SCORES,) or not np.isfinite(payoff).all():
        raise ValueError(f"payoff: expected are {SCORES} finite numbers, of the score x at x + {OFFSET}")
    busted = float(payoff[OFFSET]) if busted is None else float(busted)
    line, deck, discard, rules = _arguments(position)
    wipe = np.zeros(STATES)
    if deck[UNLUCKY_7] + discard[UNLUCKY_7]:

        def solve_part(number: int) -> None:
            _solve_wiped(line, deck, discard, rules, payoff, busted, number, PARTS, wipe)

        _share(solve_part, threads, progress)
    values, draws = np.zeros(STATES), np.zeros(STATES)
    _solve_backward(line, deck, discard, rules, payoff, busted, wipe, -1, values, draws)
    return Solution(position, payoff, busted, values, draws, wipe)


def evaluate(
    position: Position,
    strategy: Strategy,
    *,
    solution: Solution | None = None,
    threads: int | None = None,
    progress: Progress = ignore_progress,
) -> Distribution:
    """Compute the exact distribution of the round's score from ``position`` on, played by ``strategy``.

    Args:
        position: The position from which the round is played.
        strategy: The strategy that decides when to stay.
        solution: The solution of an optimal strategy, if it has been computed already.
        threads, progress: As for :func:`solve_position`.

    Raises:
        ValueError: The payoff of an optimal strategy is wrong, as for :func:`solve_position`.
    """
    line, deck, discard, rules = _arguments(position)
    begin = 0.0
    if strategy.mode == OPTIMAL and solution is None:
        begin = 0.5  # solving is about half of the work
        solution = solve_position(
            position, strategy.payoff, strategy.busted, threads=threads, progress=lambda part: progress(part / 2)
        )
    values, draws = (solution.values, solution.draws) if solution else (np.zeros(1), np.zeros(1))
    payoff, busted = (solution.payoff, solution.busted) if solution else (POINTS, 0.0)
    table = np.zeros(1, np.uint8) if strategy.table is None else strategy.table
    how = strategy.mode, strategy.threshold, table
    away, out = np.zeros(STATES), np.zeros((PARTS + 1, SCORES + 2))
    _play_forward(line, deck, discard, rules, 1.0, *how, values, draws, np.zeros(STATES), away, out[PARTS])
    if away.any():

        def play_part(number: int) -> None:
            _play_wiped(line, deck, discard, rules, away, *how, payoff, busted, number, PARTS, out[number])

        _share(play_part, threads, lambda part: progress(begin + (1.0 - begin) * part))
    total = out.sum(axis=0)
    return Distribution(total[:SCORES], float(total[SCORES]), float(total[SCORES + 1]))


def _arguments(position: Position) -> tuple[int, NDArray[np.int64], NDArray[np.int64], Rules]:
    """Return the first arguments of the kernel's loops: the line, the number cards of both piles by kind, and the rules."""
    deck, discard = (np.array(cards[:NUMBER_KINDS], np.int64) for cards in (position.deck, position.discard))
    return position.line, deck, discard, position.rules


def _share(do_part: Callable[[int], None], threads: int | None, progress: Progress) -> None:
    """Do all parts of the work in several threads, which compiled code allows to run at the same time."""
    do_part(0)  # alone, so that the loop is compiled only once
    with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
        for done, _ in enumerate(pool.map(do_part, range(1, PARTS)), 2):
            progress(done / PARTS)


@dataclass(frozen=True)
class Solved:
    """The optimal round of a model.

    Attributes:
        model: The name of the model.
        distribution: The distribution of the score.
        states: The number of states of the round.
        seconds: The time that it took to solve, without compiling.
        cached: Whether the result was read from the disk.
    """

    model: str
    distribution: Distribution
    states: int
    seconds: float
    cached: bool

    def facts(self) -> dict[str, Any]:
        """Return the figures as JSON-able values."""
        return {
            "model": self.model, **self.distribution.facts(), "states": self.states, "seconds": self.seconds,
            "cached": self.cached,
        }  # fmt: skip


def solve_model(
    model: Model, *, threads: int | None = None, progress: Progress = ignore_progress, use_cache: bool = True
) -> Solved:
    """Return the optimal solo round of a model, from the cache if it has been solved before.

    Args:
        model: The model that is played.
        threads, progress: As for :func:`solve_position`.
        use_cache: Whether to read the result from the disk and to keep it there.
    """
    path = cache.name_file(f"round-{model.name}", model)
    kept = cache.load(path) if use_cache else None
    if kept is not None:
        distribution = Distribution(kept["probabilities"], float(kept["ends"][0]), float(kept["ends"][1]))
        return Solved(model.name, distribution, model.start.states, float(kept["seconds"][0]), True)
    few = tuple(int(kind in (8, UNLUCKY_7)) for kind in range(NUMBER_KINDS))
    evaluate(Position(0, few), optimal())  # compiles before the clock starts
    start = time.perf_counter()
    distribution = evaluate(model.start, optimal(), threads=threads, progress=progress)
    seconds = time.perf_counter() - start
    if use_cache:
        ends = np.array([distribution.bust, distribution.flip7])
        cache.save(path, probabilities=distribution.probabilities, ends=ends, seconds=np.array([seconds]))
    return Solved(model.name, distribution, model.start.states, seconds, False)
