"""The race to a target: how likely is each of two players to win, and what is a point worth at these totals?

W(a, b) = max over my play of Σ_x P(x) Σ_y D(y) w(a + x, b + y). I have a points and the opponent has b; both play a round at
the same time. My round brings x points and theirs y, with the distribution D of points-optimal play. Once somebody is at the
target, w is 1, ½ or 0, because the higher total wins and equal ones share the win; otherwise w is W. Within the round this is
optimal stopping with the payoff g(x) = Σ_y D(y) w(a + x, b + y). Both may score nothing, so a cell depends on itself: g(0)
contains D(0) · W(a, b), and W is computed as a fixed point.
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

from card_envs.games.flip7.lines import BONUS_POINTS, FLIP_SEVEN, count_set, has_card, is_flip_seven, sum_line
from card_envs.games.flip7.state import LUCKY_13
from card_envs.risk import cache, race_kernel
from card_envs.risk.kernel import NUMBER_KINDS, OFFSET, SCORES, compile_kernel
from card_envs.risk.model import Model, Position, load_model
from card_envs.risk.race_kernel import CLOSE
from card_envs.risk.solve import Array, Progress, evaluate, ignore_progress, optimal, sum_at_least

TARGET = 200
MOST = SCORES - OFFSET  # a round scores 0 … MOST - 1
THRESHOLDS = np.arange(1, 90)

_solve_cells = compile_kernel(race_kernel.solve_cells)
_pick_thresholds = compile_kernel(race_kernel.pick_thresholds)


def build_final_table(target: int) -> Array:
    """Return w by both totals, with 0 where nobody is at the target: float64 [target + 128, target + 128]."""
    totals = np.arange(target + MOST)
    mine, theirs = totals[:, None], totals[None, :]
    over = (mine >= target) | (theirs >= target)
    return np.where(over, np.where(mine == theirs, 0.5, (mine > theirs).astype(np.float64)), 0.0)


def build_round_graph(position: Position) -> tuple[NDArray[Any], ...]:
    """Return the states of a round without special cards, as :func:`card_envs.risk.race_kernel.solve_round` takes them."""
    deck = position.deck
    kinds = [kind for kind in range(NUMBER_KINDS) if deck[kind]]
    all_cards = sum(1 << kind for kind in kinds)
    lines = [line for line in range(all_cards, -1, -1) if line & ~all_cards == 0 and count_set(line) <= FLIP_SEVEN]
    number = {line: n for n, line in enumerate(lines)}
    scores, bust, first, successor, chance = [], [], [0], [], []
    for line in lines:
        held = [kind for kind in kinds if has_card(line, kind)]
        left = sum(deck) - len(held)
        flips = is_flip_seven(line, True)
        scores.append(sum_line(line) + BONUS_POINTS * flips)
        bust.append(1.0 if flips else sum(deck[kind] - 1 for kind in held) / left)
        if not flips:
            free = [kind for kind in kinds if not has_card(line, kind)]
            successor += [number[line | 1 << kind] for kind in free]
            chance += [deck[kind] / left for kind in free]
        first.append(len(successor))
    return (
        np.array(scores, np.int32), np.array(bust), np.array(first, np.int32), np.array(successor, np.int16), np.array(chance),
    )  # fmt: skip


@dataclass(frozen=True)
class Race:
    """The race of two players; ``[mine, theirs]`` index the totals, 0 … target - 1.

    Attributes:
        model: The name of the model that both play.
        target: The points that end the match.
        wins: W, the probability that a win-optimal player wins against a points-optimal one, float64 [target, target].
        thresholds: T, int64 [target, target]: of all rules that stay at a sum of the number cards, the one that stays at T
            wins most often if it is followed for one round, before win-optimal play.
        threshold_wins: How often that rule wins, float64 [target, target].
        opponent: D, the distribution of the opponent's round score from 0 on, float64.
        seconds: The time that the computation took.
        cached: Whether the table was read from the disk.
    """

    model: str
    target: int
    wins: Array
    thresholds: NDArray[np.int64]
    threshold_wins: Array
    opponent: Array
    seconds: float
    cached: bool

    @cached_property
    def payoffs(self) -> Array:
        """The chance g to win from these totals after a round that scores x, at x + 32: float64 [target, target, 160]."""
        table = build_final_table(self.target)
        table[: self.target, : self.target] = self.wins
        theirs = np.arange(self.target)[:, None] + np.arange(len(self.opponent))
        payoffs = np.empty((self.target, self.target, SCORES))
        after = table[:, theirs] @ self.opponent  # by my total after the round, and theirs before it
        for x in range(MOST):
            payoffs[:, :, OFFSET + x] = after[x : x + self.target]
        payoffs[:, :, :OFFSET] = payoffs[:, :, OFFSET : OFFSET + 1]
        return payoffs


def solve_race(
    model: Model | str = "plain",
    target: int = TARGET,
    *,
    threads: int | None = None,
    progress: Progress = ignore_progress,
    use_cache: bool = True,
) -> Race:
    """Return the race of a model without special cards, from the cache if it has been solved before.

    Args:
        model: The model that both players play, ``"base"`` or ``"plain"``.
        target: The points that end the match, 1 … 1000.
        threads: The number of threads, by default one for each core.
        progress: Called with the part of the work that is done, 0 … 1.
        use_cache: Whether to read the result from the disk and to keep it there.

    Raises:
        ValueError: The model is unknown or has special cards, or ``target`` is out of its range.
    """
    model = load_model(model) if isinstance(model, str) else model
    position = model.start
    if position.zero_rule or any(position.deck[LUCKY_13:]):
        raise ValueError(f"the race is solved for the models base and plain, without special cards, not for {model.name}")
    if isinstance(target, bool) or not isinstance(target, int) or not 1 <= target <= 1000:
        raise ValueError(f"target = {target!r}: allowed is a whole number from 1 to 1000")
    path = cache.name_file(f"race-{model.name}-{target}", model, target, int(THRESHOLDS[-1]))
    kept = cache.load(path) if use_cache else None
    if kept is not None:
        return Race(
            model.name, target, kept["wins"], kept["thresholds"].astype(np.int64), kept["threshold_wins"], kept["opponent"],
            float(kept["seconds"][0]), True,
        )  # fmt: skip
    start = time.perf_counter()
    graph = build_round_graph(position)
    opponent = evaluate(position, optimal()).probabilities[OFFSET : OFFSET + graph[0].max() + 1]
    wins, thresholds, threshold_wins = _solve_levels(
        position, target, opponent, graph, threads or os.cpu_count() or 1, progress
    )
    seconds = time.perf_counter() - start
    if use_cache:
        cache.save(
            path, wins=wins, thresholds=thresholds.astype(np.float64), threshold_wins=threshold_wins, opponent=opponent,
            seconds=np.array([seconds]),
        )  # fmt: skip
    return Race(model.name, target, wins, thresholds, threshold_wins, opponent, seconds, False)


def shift_totals(totals: NDArray[np.int64], target: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Convert totals to those of the race to 200, at which as many points are missing.

    Args:
        totals: The totals of all seats, own seat first, int64 [n, players].
        target: The points that end these matches.

    Returns:
        The totals of the own seat and of the best opponent, as if 200 points ended the match: int64 [n] each, 0 … 199.
    """
    shifted = np.clip(totals + TARGET - target, 0, TARGET - 1)
    return shifted[:, 0], shifted[:, 1:].max(axis=1)


def _solve_levels(
    position: Position, target: int, opponent: Array, graph: tuple[NDArray[Any], ...], threads: int, progress: Progress
) -> tuple[Array, NDArray[np.int64], Array]:
    """Return ``(wins, thresholds, threshold_wins)``. The cells of a level have the same sum of both totals."""
    table = build_final_table(target)
    payoffs = np.zeros((target, target, len(opponent)))
    with ThreadPoolExecutor(threads) as pool:
        for level in range(2 * (target - 1), -1, -1):
            solve_share = partial(_solve_cells, level, threads, target, opponent, table, payoffs, *graph)
            list(pool.map(solve_share, range(threads)))
            progress(1.0 - level / (2 * target))
    wins = table[:target, :target].copy()
    rules = np.stack([evaluate(position, sum_at_least(int(k))).probabilities[OFFSET:][: len(opponent)] for k in THRESHOLDS])
    best, top = np.zeros(target * target, np.int64), np.zeros(target * target)
    _pick_thresholds(payoffs.reshape(-1, len(opponent)), rules, top, best)
    return wins, THRESHOLDS[best].reshape(target, target), top.reshape(target, target)


def expect_rounds(model: Model | str, target: int = TARGET) -> tuple[float, float]:
    """Compute the expected number of rounds that a player alone needs to reach a target.

    N(a) = 1 + min Σ_x P(x) N(a + x). A round may bring nothing, so N(a) is on both sides.

    Args:
        model: The model that is played, or its name.
        target: The points to be reached, at least 1.

    Returns:
        The number of rounds that points-optimal play needs, and the fewest that any play needs.

    Raises:
        ValueError: The model is unknown.
    """
    model = load_model(model) if isinstance(model, str) else model
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
            needed = float((1.0 + round_[1:] @ fewest[a + 1 : a + MOST]) / (1.0 - round_[0]))
            if abs(needed - guess) < CLOSE:
                break
            guess = needed
        fewest[a] = needed
    return float(usual[0]), float(fewest[0])
