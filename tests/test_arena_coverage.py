"""How often intervals hold the truth where scores are skewed or nearly all alike; ``tests.coverage`` prints the table."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from card_envs.arena import tilting
from card_envs.arena.results import SCORE_BOUNDS
from card_envs.arena.statistics import estimate_mean
from card_envs.arena.tilting import Tilting, measure_step
from tests.coverage import (
    CHANCES,
    LEAST,
    LEAST_ONE_SIDED,
    Boards,
    compute_edge,
    find_strength,
    measure_coverage,
    measure_rare_losses,
    simulate_boards,
)


def count_coverage(boards: int, chances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The exact coverage of the interval and of the lower bound, if both matches of a board end alike: by summing binomials."""
    won = np.arange(boards + 1)
    estimates = [estimate_mean(np.repeat([0.5, -0.5], [k, boards - k]), SCORE_BOUNDS) for k in won.tolist()]
    low, high, floor = (np.array([getattr(one, name) + 0.5 for one in estimates]) for name in ("low", "high", "floor"))
    mass = stats.binom.pmf(won, boards, chances[:, None])
    inside = (low <= chances[:, None]) & (chances[:, None] <= high)
    return (mass * inside).sum(axis=1), (mass * (floor <= chances[:, None])).sum(axis=1)


@pytest.mark.parametrize("boards", [50, 200])
def test_boards_won_or_lost_are_covered_exactly(boards: int) -> None:
    """Statistics: no luck and no seed; all chances, not only those of the table."""
    chances = np.concatenate([CHANCES, np.linspace(0.5, 0.99, 200), 1 - np.logspace(-2, -4, 40)])
    two_sided, one_sided = count_coverage(boards, chances)
    assert two_sided.min() >= LEAST, chances[two_sided.argmin()]
    assert one_sided.min() >= LEAST_ONE_SIDED, chances[one_sided.argmin()]
    usual = two_sided[chances <= 0.8]
    assert usual.max() <= 0.97
    assert 0.945 < usual.mean() < 0.96


@pytest.mark.parametrize(("chance", "boards", "players"), [(0.98, 200, 2), (0.9, 50, 2), (0.8, 50, 4)])
def test_correlated_boards_are_covered(
    chance: float, boards: int, players: int, seed: int, request: pytest.FixtureRequest
) -> None:
    """Statistics: cells of the issue, simulated. One standard error is .01 (.02 with four players), and .003 with --long."""
    repetitions = 5000 if request.config.getoption("--long") else 400 if players == 2 else 150
    it = measure_coverage(seed, chance, boards, players, repetitions)
    slack = 3 * (0.05 * 0.95 / repetitions) ** 0.5
    for name in ("pair", "win", "rating"):
        covered = getattr(it, name)
        assert covered >= LEAST - slack, f"{name}, seed {seed}: {covered}"
    assert it.pair <= max(0.97, it.pair_best) + slack, f"seed {seed}: {it.pair}"
    assert it.floor >= LEAST_ONE_SIDED - slack, f"seed {seed}: {it.floor}"


def test_losses_that_were_not_seen_are_allowed_for(seed: int) -> None:
    """Statistics: one board in 200 is lost in full, others in part. The interval is wide for this reason."""
    allowed, seen = measure_rare_losses(seed, 0.995, 200, 0.005, 1000)
    assert allowed >= LEAST, f"seed {seed}"
    assert seen < 0.85, f"seed {seed}"


@pytest.mark.parametrize("players", [2, 4])
def test_the_simulation_is_what_it_claims(players: int, seed: int) -> None:
    """Means are the truth, and for equals the rotations lower the variance, as on real boards."""
    rng = np.random.default_rng(seed)

    def draw(strength: float, luck: float) -> Boards:
        return simulate_boards(rng, strength, players, 20_000, luck)

    for chance in (0.5, 0.9):
        strength = find_strength(chance, players)
        assert compute_edge(strength, players) == pytest.approx(chance - 0.5)
        scores = draw(strength, 0.4).scores
        assert scores.mean() == pytest.approx(chance - 0.5, abs=4 * scores.std() / 20_000**0.5)
    factor = draw(1.0, 0.4).scores.var() / draw(1.0, 0.0).scores.var()
    assert 0.6 < factor < 0.9, f"seed {seed}"


# ---- tilting


@pytest.mark.parametrize(("won", "boards"), [(1, 50), (37, 50), (49, 50), (3, 400)])
def test_one_sided_bounds_of_counts_are_exact(won: int, boards: int) -> None:
    """Clopper and Pearson's, by the quantiles of the beta distribution."""
    estimate = estimate_mean(np.repeat([0.5, -0.5], [won, boards - won]), SCORE_BOUNDS)
    assert estimate.floor + 0.5 == pytest.approx(stats.beta.ppf(0.05, won, boards - won + 1), abs=1e-6)
    assert estimate.ceiling + 0.5 == pytest.approx(stats.beta.ppf(0.95, won + 1, boards - won), abs=1e-6)
    inner, outer = (stats.binomtest(won, boards).proportion_ci(level) for level in (0.89, 0.95))
    assert outer.low - 1e-6 <= estimate.low + 0.5 <= inner.low + 1e-6, "Blaker's are within Clopper and Pearson's"
    assert inner.high - 1e-6 <= estimate.high + 0.5 <= outer.high + 1e-6


def test_p_values_of_counts_are_exact() -> None:
    """Of a fair coin: its distribution is symmetric, so that Blaker's value is twice the tail."""
    for won in (14, 20, 24):
        estimate = estimate_mean(np.repeat([0.5, -0.5], [won, 50 - won]), SCORE_BOUNDS)
        assert estimate.p == pytest.approx(stats.binomtest(won, 50).pvalue, rel=1e-6)


def test_saddlepoints_agree_with_exact_sums(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The formula for sums of many values, where both can be had; the distribution in steps differs by half a step."""
    rng = np.random.default_rng(seed)
    scores = rng.choice([-0.5, -0.25, 0.0, 0.25, 0.5], 60, p=[0.02, 0.08, 0.2, 0.3, 0.4])
    exact = Tilting(scores, SCORE_BOUNDS)
    monkeypatch.setattr(tilting, "LARGEST_SPREAD", 0.0)
    smooth = Tilting(scores, SCORE_BOUNDS)
    half_step = 0.125 / 60
    for sign in (-1.0, 1.0):
        one, other = (it.tilt_mean(it.find_two_sided(sign, 0.05)) for it in (exact, smooth))
        assert one == pytest.approx(other, abs=2 * half_step), f"seed {seed}"
    assert exact.compute_p(0.05) == pytest.approx(smooth.compute_p(0.05), rel=0.3)


def test_bounds_lie_where_they_must(seed: int) -> None:
    """Within those of a score, around the mean, mirrored with the scores, without 0 if p is small."""
    rng = np.random.default_rng(seed)
    for _ in range(60):
        n = int(rng.integers(2, 120))
        scores = rng.choice([-0.5, -0.25, 0.0, 0.125, 0.5], n, p=rng.dirichlet(np.full(5, 0.3)))
        it, mirrored = estimate_mean(scores, SCORE_BOUNDS), estimate_mean(-scores, SCORE_BOUNDS)
        for ordered in ([-0.5, it.low, it.mean, it.high, 0.5], [-0.5, it.floor, it.mean, it.ceiling, 0.5]):
            assert all(a <= b + 1e-9 for a, b in pairwise(ordered)), f"seed {seed}: {ordered}"
        opposite = [-mirrored.high, -mirrored.ceiling, -mirrored.mean, -mirrored.floor, -mirrored.low, mirrored.p]
        assert [it.low, it.floor, it.mean, it.ceiling, it.high, it.p] == pytest.approx(opposite, abs=1e-5), f"seed {seed}"
        if it.p < 0.04:
            assert not it.low < 0 < it.high, f"seed {seed}: {it}"


def test_steps_are_found() -> None:
    assert measure_step(np.array([-0.5, 0.0, 0.5])) == pytest.approx(0.5)
    assert measure_step(np.array([-0.5, -0.125, 0.25])) == pytest.approx(0.375)
    assert measure_step(np.array([0.1, 0.3, 0.7]) / 3) == pytest.approx(0.2 / 3)
    assert measure_step(np.array([0.0, 1.0, 1.0 + 1e-4])) == 0.0
