"""The race to a target: how likely is each of two players to win, and what is a point worth at these totals?

W(a, b) = max over my play of Σ_x P(x) Σ_y D(y) w(a + x, b + y): I have a points, he has b, both play a round at the same time,
mine brings x, his y by his distribution D, that of points-optimal play; w is 1, ½ or 0 once somebody is at the target (the
higher total wins, equal ones share), else W. Within the round this is optimal stopping with g(x) = Σ_y D(y) w(a + x, b + y).
Where both score nothing the cell asks for itself: g(0) holds D(0) · W(a, b), and W is found as a fixed point.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.games.flip7.state import LUCKY_13
from card_envs.risk import cache, kernel
from card_envs.risk.kernel import CLOSE, OFFSET, SCORES, best_thresholds, race_cells
from card_envs.risk.model import BONUS, Model, Position, model_of
from card_envs.risk.solve import Array, Progress, evaluate, optimal, sum_at_least

TARGET = 200
MOST = SCORES - OFFSET  # round scores 0 … MOST - 1
THRESHOLDS = np.arange(1, 90)


def final_table(target: int) -> Array:
    """w of all totals below ``target`` + 128, float64: what it is where somebody is at the target, 0 where nobody is."""
    totals = np.arange(target + MOST)
    mine, theirs = totals[:, None], totals[None, :]
    over = (mine >= target) | (theirs >= target)
    return np.where(over, np.where(mine == theirs, 0.5, (mine > theirs).astype(np.float64)), 0.0)


def round_graph(position: Position) -> tuple[NDArray[Any], ...]:
    """The states of a round without special cards, for :func:`best_round`."""
    kinds = [kind for kind in range(kernel.NUMBER_KINDS) if position.deck[kind]]
    deck = position.deck
    sets = [c for c in range((1 << len(kinds)) - 1, -1, -1) if c.bit_count() <= kernel.FLIP]
    number = {c: n for n, c in enumerate(sets)}
    scores, bust, first, successor, chance = [], [], [0], [], []
    for c in sets:
        held = [kind for i, kind in enumerate(kinds) if c >> i & 1]
        left = sum(deck) - len(held)
        flips = len(held) == kernel.FLIP
        scores.append(sum(held) + BONUS * flips)
        bust.append(1.0 if flips else sum(deck[kind] - 1 for kind in held) / left)
        if not flips:
            free = [i for i in range(len(kinds)) if not c >> i & 1]
            successor += [number[c | 1 << i] for i in free]
            chance += [deck[kinds[i]] / left for i in free]
        first.append(len(successor))
    return (
        np.array(scores, np.int32), np.array(bust), np.array(first, np.int32), np.array(successor, np.int16), np.array(chance),
    )  # fmt: skip


@dataclass(frozen=True)
class Race:
    """Two players' race: ``[mine, theirs]`` index the totals, 0 … target - 1.

    Attributes:
        wins: float64 [target, target], W: the probability that the win-optimal player wins against a points-optimal one.
        thresholds: int64 [target, target], T: staying when the number cards sum to T wins most often of all such rules
            (for one round; then win-optimal play goes on).
        threshold_wins: float64, how often.
        his: float64, the distribution of the opponent's round score, from 0.
        seconds: that it took to compute; cached: whether it was read from the disk.
    """

    model: str
    target: int
    wins: Array
    thresholds: NDArray[np.int64]
    threshold_wins: Array
    his: Array
    seconds: float
    cached: bool

    @cached_property
    def payoffs(self) -> Array:
        """g, float64 [target, target, 160]: the chance to win from these totals after a round of the score x, at x + 32."""
        table = final_table(self.target)
        table[: self.target, : self.target] = self.wins
        theirs = np.arange(self.target)[:, None] + np.arange(len(self.his))
        payoffs = np.empty((self.target, self.target, SCORES))
        after = table[:, theirs] @ self.his  # by my total then, and his now
        for x in range(MOST):
            payoffs[:, :, OFFSET + x] = after[x : x + self.target]
        payoffs[:, :, :OFFSET] = payoffs[:, :, OFFSET : OFFSET + 1]
        return payoffs


def race(
    model: Model | str = "plain",
    target: int = TARGET,
    *,
    threads: int | None = None,
    progress: Progress = None,
    use_cache: bool = True,
) -> Race:
    """The win-probability table of a model without special cards, from the cache where it has been computed before.

    Args:
        target: points that end the match, 1 … 1000.
        threads: how many share the cells of a level, all cores by default.
        progress: told the part done, 0 … 1.
    """
    model = model_of(model) if isinstance(model, str) else model
    position = model.start
    if position.zero_rule or any(position.deck[LUCKY_13:]):
        raise ValueError(f"the race is solved for the models base and plain, without special cards, not for {model.name}")
    if isinstance(target, bool) or not isinstance(target, int) or not 1 <= target <= 1000:
        raise ValueError(f"target = {target!r}: allowed is a whole number from 1 to 1000")
    path = cache.file_of(f"race-{model.name}-{target}", model, target, int(THRESHOLDS[-1]))
    kept = cache.load(path) if use_cache else None
    if kept is not None:
        return Race(
            model.name, target, kept["wins"], kept["thresholds"].astype(np.int64), kept["threshold_wins"], kept["his"],
            float(kept["seconds"][0]), True,
        )  # fmt: skip
    start = time.perf_counter()
    graph = round_graph(position)
    his = evaluate(position, optimal()).probabilities[OFFSET : OFFSET + graph[0].max() + 1]
    wins, thresholds, threshold_wins = _cells(position, target, his, graph, threads or os.cpu_count() or 1, progress)
    seconds = time.perf_counter() - start
    if use_cache:
        cache.save(
            path, wins=wins, thresholds=thresholds.astype(np.float64), threshold_wins=threshold_wins, his=his,
            seconds=np.array([seconds]),
        )  # fmt: skip
    return Race(model.name, target, wins, thresholds, threshold_wins, his, seconds, False)


def _cells(
    position: Position, target: int, his: Array, graph: tuple[NDArray[Any], ...], threads: int, progress: Progress
) -> tuple[Array, NDArray[np.int64], Array]:
    table = final_table(target)
    payoffs = np.zeros((target, target, len(his)))
    common = target, his, table, payoffs, *graph
    with ThreadPoolExecutor(threads) as pool:
        for level in range(2 * (target - 1), -1, -1):
            list(pool.map(partial(_level, common, threads, level), range(threads)))
            if progress is not None:
                progress(1.0 - level / (2 * target))
    wins = table[:target, :target].copy()
    rules = np.stack([evaluate(position, sum_at_least(int(k))).probabilities[OFFSET:][: len(his)] for k in THRESHOLDS])
    best, top = np.zeros(target * target, np.int64), np.zeros(target * target)
    best_thresholds(payoffs.reshape(-1, len(his)), rules, top, best)
    return wins, THRESHOLDS[best].reshape(target, target), top.reshape(target, target)


def _level(common: tuple[Any, ...], step: int, level: int, begin: int) -> None:
    race_cells(level, begin, step, *common)


def rounds_to(model: Model | str, target: int = TARGET) -> tuple[float, float]:
    """Expected rounds to ``target`` alone: of points-optimal play, and the fewest that any play needs.

    N(a) = 1 + min Σ_x P(x) N(a + x); where a round brings nothing, N(a) stands on both sides.
    """
    model = model_of(model) if isinstance(model, str) else model
    points = evaluate(model.start, optimal()).probabilities[OFFSET:]
    usual, fewest = np.zeros(target + MOST), np.zeros(target + MOST)
    for a in range(target - 1, -1, -1):
        usual[a] = (1.0 + points[1:] @ usual[a + 1 : a + MOST]) / (1.0 - points[0])
        guess = fewest[a + 1] + 1.0
        while True:
            payoff = np.zeros(SCORES)
            payoff[OFFSET:] = -fewest[a : a + MOST]
            payoff[: OFFSET + 1] = -guess
            round_ = evaluate(model.start, optimal(payoff)).probabilities[OFFSET:]
            found = float((1.0 + round_[1:] @ fewest[a + 1 : a + MOST]) / (1.0 - round_[0]))
            if abs(found - guess) < CLOSE:
                break
            guess = found
        fewest[a] = found
    return float(usual[0]), float(fewest[0])
