"""``python -m tests.coverage``: how often the arena's intervals hold the truth, as a Markdown table.

Matches are simulated whose truth is known: the player with the earliest of independent exponential clocks wins, and the others
are ranked by theirs, so that strengths are those of Bradley, Terry, Plackett and Luce. All matches of a board are dealt from
the same decks. Therefore a part of each clock is the luck of the seat, which is the same in all rotations of the board: clocks
are made from normal variables with the correlation ``LUCK``. For equals this divides the variance of a board score by about as
much as the rotations of real boards do, and the stronger A is, the less, as in real matches.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import log_ndtr

from card_envs.arena.league import rate_boards
from card_envs.arena.results import SCORE_BOUNDS
from card_envs.arena.statistics import LEVEL, estimate_mean

Floats = NDArray[np.float64]

LUCK = 0.4  # the correlation of a seat's clocks in the rotations of a board
CHANCES = (0.5, 0.52, 0.8, 0.9, 0.98, 0.995)  # one half more than A's board score
BOARDS = (50, 200, 1000)
PLAYERS = (2, 4)
LEAST, LEAST_ONE_SIDED = 0.93, 0.94


def compute_edge(strength: float, players: int) -> float:
    """Return the true board score of a player among others of strength 1."""
    alone, other = strength / (strength + players - 1), 1 / (1 + (players - 1) * strength)
    return (alone - other) / 2


def find_strength(chance: float, players: int) -> float:
    """Return the strength with which the board score is ``chance`` - 1/2."""
    return float(np.exp(brentq(lambda log: compute_edge(np.exp(log), players) - (chance - 0.5), -1, 30)))


@dataclass
class Boards:
    """Simulated boards: A's board scores, its share of the wins in both line-ups, and how often each player beat the other."""

    scores: Floats
    shares: Floats
    counts: Floats


def simulate_boards(rng: np.random.Generator, strength: float, players: int, boards: int, luck: float = LUCK) -> Boards:
    """Play one A among others and, with more than two players, one of them among A's."""
    n = players
    lineups = [np.arange(n) < 1] if n == 2 else [np.arange(n) < 1, np.arange(n) > 0]  # which places are A's
    scores, shares, counts = np.zeros(boards), np.zeros(boards), np.zeros((boards, 2, 2))
    seat = (np.arange(n)[None, :] + np.arange(n)[:, None]) % n  # [rotation, place]
    for is_a in lineups:
        normal = luck**0.5 * rng.normal(size=(boards, n))[:, seat] + (1 - luck) ** 0.5 * rng.normal(size=(boards, n, n))
        clocks = -log_ndtr(normal) / np.where(is_a, strength, 1.0)
        winner = clocks.argmin(axis=2)
        won = is_a[winner].mean(axis=1)  # A's share of the wins
        alone = won if is_a.sum() == 1 else 1 - won
        scores += (alone - 1 / n) * (1 if is_a.sum() == 1 else -1) / len(lineups)
        shares += won * n
        ahead = (clocks[:, :, is_a, None] < clocks[:, :, None, ~is_a]).sum(axis=(1, 2, 3))
        counts[:, 0, 1] += ahead
        counts[:, 1, 0] += n * is_a.sum() * (n - is_a.sum()) - ahead
    return Boards(scores, shares / (n * sum(is_a.sum() for is_a in lineups)), counts)


def find_attainable(scores: Floats, boards: int, least: float, one_sided: bool = False) -> float:
    """Return the coverage nearest to the level, and not below ``least``, of an interval that knows the scores but their mean.

    Such an interval holds the truth if the sum of the scores lies in some range. The sum takes few values, and so does the
    probability of a range.
    """
    step = 1 / 48
    values = np.rint(scores / step).astype(int)
    mass = np.bincount(values - values.min()) / len(scores)
    size = 1 << int(np.ceil(np.log2(boards * len(mass))))
    total = np.clip(np.fft.irfft(np.fft.rfft(mass, size) ** boards, size), 0, None)
    ends = np.concatenate([[0.0], np.cumsum(total[total > 1e-13])])
    spans = ends if one_sided else (ends[None, :] - ends[:, None])[np.triu_indices(len(ends))]
    good = spans[spans >= least]
    return float(good[np.argmin(np.abs(good - LEVEL))])


@dataclass
class Coverage:
    """How often the truth was covered, of all repetitions.

    Attributes:
        pair: Of the interval of a pair.
        pair_best: The attainable coverage of it.
        floor: Of the one-sided bound of a gate.
        floor_best: The attainable coverage of it.
        win: Of the interval of A's share of the wins in the league.
        rating: Of the interval of A's rating. A rating that is not identified makes no claim and counts as covering.
    """

    pair: float
    pair_best: float
    floor: float
    floor_best: float
    win: float
    rating: float


def measure_coverage(seed: int, chance: float, boards: int, players: int, repetitions: int, luck: float = LUCK) -> Coverage:
    """Simulate benchmarks and count how often each interval holds the truth."""
    rng = np.random.default_rng([seed, round(1000 * chance), boards, players])
    n, strength = players, find_strength(chance, players)
    edge, rating = compute_edge(strength, n), 400 * np.log10(strength)
    alone, other = strength / (strength + n - 1), 1 / (1 + (n - 1) * strength)
    win = alone if n == 2 else (alone + 1 - other) / n
    most = 1.0 if n == 2 else 2 / n
    known: dict[bytes, list[bool]] = {}  # by boards, whose order does not matter; with two players many samples are the same
    hits = np.zeros(4)
    for _ in range(repetitions):
        drawn = simulate_boards(rng, strength, n, boards, luck)
        key = np.sort(drawn.scores).tobytes()
        if key not in known or n > 2:
            pair, share = estimate_mean(drawn.scores, SCORE_BOUNDS), estimate_mean(drawn.shares, (0.0, most))
            total = drawn.counts.sum(axis=0)
            comparable = np.full(2, bool(total[0, 1] and total[1, 0]))
            _, low, high = rate_boards(drawn.counts, comparable, 1)
            rated = not comparable[0] or bool(low[0] <= rating <= high[0])
            known[key] = [pair.low <= edge <= pair.high, pair.floor <= edge, share.low <= win <= share.high, rated]
        hits += known[key]
    many = simulate_boards(rng, strength, n, 400_000, luck).scores
    best = find_attainable(many, boards, LEAST), find_attainable(many, boards, LEAST_ONE_SIDED, one_sided=True)
    covered = (hits / repetitions).tolist()
    return Coverage(covered[0], best[0], covered[1], best[1], covered[2], covered[3])


def measure_rare_losses(seed: int, chance: float, boards: int, rate: float, repetitions: int) -> tuple[float, float]:
    """Count how often a pair's interval holds the truth if some of the boards of four players are lost in full.

    Args:
        seed: Of the simulation.
        chance: One half more than A's board score on the other boards.
        boards: The number of boards.
        rate: The share of boards that are lost in full.
        repetitions: How many samples are drawn.

    Returns:
        The coverage of the arena's interval, and of one that allows for no scores but those in the sample, unless
        these are all alike.
    """
    rng = np.random.default_rng([seed, round(1000 * chance), boards, round(10_000 * rate)])
    drawn = simulate_boards(rng, find_strength(chance, 4), 4, 400_000).scores
    scores, counts = np.unique(np.append(np.round(drawn, 9), SCORE_BOUNDS[0]), return_counts=True)
    mass = (1 - rate) * counts / counts.sum()
    mass[0] += rate
    truth = float(mass @ scores)
    samples, times = np.unique(rng.multinomial(boards, mass, repetitions), axis=0, return_counts=True)
    hits = np.zeros(2)
    for sample, many in zip(samples, times.tolist(), strict=True):
        alike = np.count_nonzero(sample) == 1  # then there is no interval without the bounds
        estimates = [
            estimate_mean(np.repeat(scores, sample), bounds) for bounds in (SCORE_BOUNDS, SCORE_BOUNDS if alike else None)
        ]
        hits += [many * (it.low <= truth <= it.high) for it in estimates]
    return float(hits[0]) / repetitions, float(hits[1]) / repetitions


def format_rare_losses(seed: int, repetitions: int) -> Iterator[str]:
    """Yield the lines of the table of rare losses."""
    rates = (0.0, 0.002, 0.005, 0.01, 0.02)
    yield f"| boards | lost in full: {' | '.join(f'{rate:.1%}' for rate in rates)} |"
    yield "|---" + "|---:" * len(rates) + "|"
    for boards in BOARDS[:2]:
        cells = [measure_rare_losses(seed, 0.995, boards, rate, repetitions) for rate in rates]
        for name, column in (("", 0), (", scores of the sample only", 1)):
            yield f"| {boards}{name} | {' | '.join(f'{cell[column]:.3f}'.lstrip('0') for cell in cells)} |"


def format_rows(
    seed: int, repetitions: int, luck: float, sizes: Sequence[int] = PLAYERS, chances: Sequence[float] = CHANCES
) -> Iterator[str]:
    """Yield the lines of the table."""
    columns = "players", "chance", "boards", "pair", "best", "gate", "best", "win share", "rating"
    yield f"| {' | '.join(columns)} |"
    yield "|---:" * len(columns) + "|"
    for players in sizes:
        for chance in chances:
            for boards in BOARDS:
                it = measure_coverage(seed, chance, boards, players, repetitions, luck)
                cells = [it.pair, it.pair_best, it.floor, it.floor_best, it.win, it.rating]
                figures = " | ".join(f"{cell:.3f}".lstrip("0") for cell in cells)
                yield f"| {players} | {chance:g} | {boards} | {figures} |".replace("| 0.", "| .")


def main() -> None:
    parser = argparse.ArgumentParser(description="How often the arena's intervals hold the truth.")
    parser.add_argument("--repetitions", type=int, default=4000)
    parser.add_argument("--luck", type=float, default=LUCK, help="correlation of a seat's luck in the rotations of a board")
    parser.add_argument("--players", type=int, choices=PLAYERS, action="append")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--rare", action="store_true", help="four players, of whose boards a few are lost in full")
    arguments = parser.parse_args()
    seed, repetitions = arguments.seed, arguments.repetitions
    rows = format_rows(seed, repetitions, arguments.luck, arguments.players or PLAYERS)
    for line in format_rare_losses(seed, repetitions) if arguments.rare else rows:
        print(line, flush=True)


if __name__ == "__main__":
    main()
