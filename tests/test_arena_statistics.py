"""The arena's statistics against truths that are constructed: known probabilities, known ratings, known error rates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import card_envs
from card_envs.arena import derive_list_seed
from card_envs.arena.boards import assign_seats, draw_free_for_alls, list_lineups, list_pairings
from card_envs.arena.league import rate_boards, sum_columns
from card_envs.arena.results import SCORE_BOUNDS, judge_gate, make_results
from card_envs.arena.roster import Roster
from card_envs.arena.shard import Shard, count_win_units
from card_envs.arena.statistics import (
    LOWER,
    MIN_BOARDS,
    UPPER,
    Estimate,
    adjust_by_holm,
    compute_log_likelihood_ratios,
    estimate_mean,
    find_comparable,
    rate_players,
    run_sequential_test,
    weigh_boards,
)
from card_envs.arena.tournament import Tournament
from card_envs.engine.measures import load_measures

Floats = NDArray[np.float64]


def draw_scores(rng: np.random.Generator, p: float, shape: Any, shared: float = 0.5) -> Floats:
    """Scores of boards of two matches, which A wins with probability p and which are alike with probability ``shared``."""
    first = rng.random(shape) < p
    second = np.where(rng.random(shape) < shared, first, rng.random(shape) < p)
    return (first + second.astype(float)) / 2 - 0.5


def estimate_each(samples: Floats) -> list[Estimate]:
    """Estimate the mean of every row of scores; rows with the same scores in another order have the same estimate."""
    known: dict[bytes, Estimate] = {}
    for scores in samples:
        key = np.sort(scores).tobytes()
        if key not in known:
            known[key] = estimate_mean(scores, SCORE_BOUNDS)
    return [known[np.sort(scores).tobytes()] for scores in samples]


# ---- intervals


@pytest.mark.parametrize(("p", "count"), [(0.5, 60), (0.61, 200)])
def test_intervals_cover_the_truth(p: float, count: int, seed: int) -> None:
    """95 % intervals hold the true board score in 93 to 97 % of repetitions, and a one-sided bound is below it as often."""
    rng = np.random.default_rng(seed)
    estimates = estimate_each(draw_scores(rng, p, (4000, count)))
    covered = np.mean([one.low <= p - 0.5 <= one.high for one in estimates])
    below = np.mean([one.floor <= p - 0.5 for one in estimates])
    assert 0.93 < covered < 0.97, f"seed {seed}: {covered}"
    assert 0.93 < below < 0.97, f"seed {seed}: {below}"


@pytest.mark.parametrize(("p", "count"), [(0.99, 50), (0.99, 100), (0.999, 300), (0.97, 20), (0.001, 300)])
def test_intervals_of_one_sided_matches_cover_the_truth(p: float, count: int, seed: int) -> None:
    """Against a weak player most runs hold no loss: then the interval allows for those that have not been seen."""
    rng = np.random.default_rng(seed)
    estimates = estimate_each(draw_scores(rng, p, (4000, count)))
    assert np.mean([one.low == one.high for one in estimates]) == 0.0
    assert np.mean([one.low <= p - 0.5 <= one.high for one in estimates]) > 0.93, f"seed {seed}"
    assert np.mean([one.floor <= p - 0.5 for one in estimates]) > 0.94, f"seed {seed}"
    level = [one for one in estimates if abs(one.mean) == 0.5]
    assert level, "some runs hold none"
    assert all(one.low <= p - 0.5 <= one.high for one in level)


def test_an_interval_of_few_values_is_students() -> None:
    scores = np.array([0.1, -0.2, 0.3, 0.25, 0.0])
    estimate = estimate_mean(scores)
    low, high = stats.t.interval(0.95, 4, scores.mean(), stats.sem(scores))
    assert (estimate.low, estimate.high) == pytest.approx((low, high))
    assert (estimate.mean, estimate.n) == (pytest.approx(0.09), 5)
    assert str(estimate) == f"0.090 [{low:.3f}, {high:.3f}]"
    assert estimate.p == pytest.approx(max(stats.ttest_1samp(scores, 0).pvalue, 2**-4))


def test_boards_that_are_all_alike_prove_little() -> None:
    """Four wins of four: no spread, but a fair coin does that too, both ways, once in eight.

    That none of n boards was lost leaves open (Clopper and Pearson) that 1 - .025^(1/n) of them are.
    """
    few, many = estimate_mean(np.full(4, 0.5), SCORE_BOUNDS), estimate_mean(np.full(40, -0.5), SCORE_BOUNDS)
    assert few.p == 0.125
    assert (few.low, few.high, few.floor) == pytest.approx((0.025**0.25 - 0.5, 0.5, 0.05**0.25 - 0.5))
    assert estimate_mean(np.full(4, -0.5), SCORE_BOUNDS).floor == -0.5
    assert many.p < 1e-9
    assert (many.low, many.high) == pytest.approx((-0.5, 0.5 - 0.025 ** (1 / 40)))
    level = estimate_mean(np.zeros(40), SCORE_BOUNDS)
    assert (level.p, level.high) == pytest.approx((1.0, 0.5 * (1 - 0.025 ** (1 / 40))))
    assert level.low == -level.high
    unbounded = estimate_mean(np.full(4, 0.5))
    assert (unbounded.low, unbounded.high, unbounded.p) == (0.5, 0.5, few.p), "of a value without bounds nothing is known"
    share = estimate_mean(np.ones(4), (0.0, 1.0))
    assert (share.low, share.high) == pytest.approx((few.low + 0.5, 1.0)), "the same, moved"
    with pytest.raises(ValueError, match="at least 2 values, 1 given"):
        estimate_mean(np.ones(1))


def test_weighed_boards_cover_the_truth(seed: int) -> None:
    """Of a ratio of two sums, as the league's figures are, with boards that are not of one size."""
    rng = np.random.default_rng(seed)
    covered = []
    for _ in range(1500):
        sizes = rng.integers(1, 4, 120)
        columns = np.stack([rng.binomial(sizes, 0.3), sizes], axis=1).astype(float)
        ratio = columns[:, 0].sum() / sizes.sum()
        low, high = (weights @ columns for weights in weigh_boards(columns[:, 0] - ratio * sizes))
        covered.append(low[0] / low[1] <= 0.3 <= high[0] / high[1])
    assert 0.93 < np.mean(covered) < 0.97, f"seed {seed}: {np.mean(covered)}"


def test_boards_are_weighed_by_their_influence() -> None:
    """Those that lower a figure weigh more at its lower bound; boards that are all alike weigh the same."""
    influences = np.arange(40.0)
    low, high = weigh_boards(influences)
    assert (np.diff(low) < 0).all()
    assert (np.diff(high) > 0).all()
    assert (low.sum(), high.sum()) == pytest.approx((40, 40))
    assert low @ influences / 40 < influences.mean() < high @ influences / 40
    for changed in (influences * 1e6, influences / 1e6):
        np.testing.assert_allclose(weigh_boards(changed)[0], low, rtol=1e-5)
    np.testing.assert_array_equal(weigh_boards(np.full(7, 3.0)), np.ones((2, 7)))


def test_holm_by_hand() -> None:
    """Holm 1979: .01 × 4, .02 × 3, then .03 × 2 is no less than that, and .04 neither."""
    assert adjust_by_holm([0.03, 0.01, 0.04, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert adjust_by_holm([0.9]) == [0.9]
    assert adjust_by_holm([]) == []


def test_marks_are_seldom_wrong_all_together(seed: int) -> None:
    """Six pairs of equals: one or more marks in 5 % of cross-tables at most (and not in nearly none)."""
    rng = np.random.default_rng(seed)
    p = np.array([one.p for one in estimate_each(draw_scores(rng, 0.5, (6000, 80)))]).reshape(1000, 6)
    wrong = np.mean([min(adjust_by_holm(row.tolist())) <= 0.05 for row in p])
    assert 0.02 < wrong < 0.05 + 3 * (0.05 * 0.95 / 1000) ** 0.5, f"seed {seed}: {wrong}"


# ---- the sequential test


@pytest.mark.parametrize(("truth", "verdict"), [(0.0, "not better"), (0.02, "better")])
def test_the_sequential_test_keeps_its_error_rates(truth: float, verdict: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    tests = [run_sequential_test(scores) for scores in draw_scores(rng, 0.5 + truth, (600, 15_000))]
    wrong = np.mean([one.verdict != verdict for one in tests])
    assert wrong <= 0.05 + 3 * (0.05 * 0.95 / 600) ** 0.5, f"seed {seed}: {wrong}"
    assert wrong > 0.005, "a test that never errs asks for too much"
    fixed = 0.1875 * (2 * 1.645 / 0.02) ** 2  # boards, whose variance is .25 (1 + .5) / 2, for the same two errors
    assert np.mean([one.boards for one in tests]) < 0.7 * fixed, "sooner than with a fixed number"


@pytest.mark.parametrize(
    ("values", "weights", "wrong_verdict"),
    [
        ([0.0, 0.5], [0.96, 0.04], "not better"),  # better by .02, but most boards are level
        ([-0.5, 0.0, 0.5], [0.02, 0.92, 0.06], "not better"),
        ([0.02, -0.48], [0.96, 0.04], "better"),  # no better: small gains, and seldom a great loss
    ],
)
def test_the_sequential_test_is_not_taken_in_by_rare_boards(
    values: list[float], weights: list[float], wrong_verdict: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    tests = [run_sequential_test(scores) for scores in rng.choice(values, (600, 8000), p=weights)]
    wrong = np.mean([one.verdict == wrong_verdict for one in tests])
    assert wrong <= 0.05 + 3 * (0.05 * 0.95 / 600) ** 0.5, f"seed {seed}: {wrong}"


def test_the_ratio_is_the_formula() -> None:
    scores = np.array([0.5, -0.5, 0.5, 0.0])
    for n in (2, 3, 4):
        part = scores[:n]
        expected = n * 0.02 * (2 * part.mean() - 0.02) / (2 * np.append(part, [0.5, 0.5, -0.5, -0.5]).var())
        assert compute_log_likelihood_ratios(scores, 0.02)[n - 1] == pytest.approx(expected)


def test_nothing_is_decided_before_fifty_boards() -> None:
    assert run_sequential_test(np.full(MIN_BOARDS - 1, 0.5)).verdict == "undecided"
    assert run_sequential_test(np.full(MIN_BOARDS, 0.5)).verdict == "better"
    assert run_sequential_test(np.full(80, 0.5)).boards == MIN_BOARDS
    assert run_sequential_test(np.zeros(100)).verdict == "undecided", "equals whose every board is level"
    assert run_sequential_test(np.zeros(130)).verdict == "not better"
    assert run_sequential_test(np.empty(0)).boards == 0
    assert pytest.approx((-2.944, 2.944), abs=0.001) == (LOWER, UPPER)  # log(.05/.95), log(.95/.05)


# ---- ratings


def test_ratings_of_exact_counts_are_the_truth() -> None:
    """Counts in the proportions of known strengths give back those strengths; 400 Elo are odds of ten to one."""
    truth = np.array([0.0, 400.0, 150.0])
    odds = 10 ** (truth / 400)
    counts = 1e6 * odds[:, None] / (odds[:, None] + odds)
    np.fill_diagonal(counts, 0.0)
    np.testing.assert_allclose(rate_players(counts, 0), truth, atol=0.01)
    np.testing.assert_allclose(rate_players(counts, 2), truth - 150.0, atol=0.01)


def test_who_can_be_rated() -> None:
    """Who never lost, and who never met the others, cannot be; nor who never won."""
    counts = np.zeros((5, 5))
    counts[0, 1] = counts[1, 0] = counts[1, 2] = counts[2, 0] = 3  # 0, 1, 2 in a circle
    counts[3, 0] = 5
    comparable, reference = find_comparable(counts, 1)
    np.testing.assert_array_equal(comparable, [True, True, True, False, False])
    assert reference == 1
    comparable, reference = find_comparable(counts, 3)
    np.testing.assert_array_equal(comparable, [True, True, True, False, False], "the larger group, though 3 is not in it")
    assert reference == 0
    comparable, reference = find_comparable(np.zeros((3, 3)), 2)
    assert (comparable.tolist(), reference) == ([False, False, True], 2), "of groups of one size the one that is asked for"


# ---- from shards to the league, with players of known strength


COUNTS = len(load_measures(card_envs.load_game("flip7")).names)


def ranked_shard(rng: np.random.Generator, lineup: tuple[str, ...], elo: dict[str, float], boards: int) -> Shard:
    """Matches ranked by Plackett-Luce: exponential clocks whose rates are the strengths."""
    n, names = len(lineup), sorted(set(lineup))
    rates = np.array([10 ** (elo[name] / 400) for name in lineup])
    times = rng.exponential(1.0, (boards, n, n)) / rates  # board, rotation, place
    is_at = np.array([[name == other for other in names] for name in lineup]).astype(np.int64)
    ahead = (times[..., :, None] < times[..., None, :]).astype(np.int64) * 2
    pairs = np.einsum("dkpq,pi,qj->dij", ahead, is_at, is_at)
    pairs[:, range(len(names)), range(len(names))] = 0
    share = (times == times.min(axis=2, keepdims=True)) * count_win_units(n)
    place = 2 + ahead.sum(axis=2)
    seats = np.zeros((len(names), n), np.int64)
    squares = np.zeros((len(names), n), np.int64)
    for rotation in range(n):
        for p in range(n):
            who = names.index(lineup[p])
            seats[who, (p + rotation) % n] += share[:, rotation, p].sum()
            squares[who, (p + rotation) % n] += (share[:, rotation, p].astype(np.int64) ** 2).sum()
    zeros = np.zeros(len(names), np.int64)
    return Shard(
        0, boards, pairs, (share.sum(axis=1) @ is_at).astype(np.int64), np.zeros((boards, len(names)), np.int64),
        place.sum(axis=1) @ is_at, np.ones((boards, len(names), COUNTS), np.int64), seats, squares, zeros, zeros, zeros + 1,
        1, 0, [], np.zeros(len(names)), zeros,
    )  # fmt: skip


def make_tournament(rng: np.random.Generator, elo: dict[str, float], n: int, boards: int) -> Tournament:
    game = card_envs.load_game("flip7")
    roster = Roster(dict.fromkeys(elo, "random"), game)
    tournament = Tournament(roster, {n: game.resolve({"players": n})}, derive_list_seed("report"))
    for lineup in list_lineups(list(elo), n):
        tournament.shards[n, lineup] = {0: ranked_shard(rng, lineup, elo, boards)}
    return tournament


def evaluated(tournament: Tournament, **arguments: Any) -> dict[str, Any]:
    return make_results(tournament, board_list="report", list_seed=0, options={}, version="0", **arguments)


ELO = {"random": 0.0, "a": 120.0, "b": 60.0, "c": -90.0}


@pytest.mark.parametrize("n", [2, 4])
def test_known_strengths_are_recovered(n: int, seed: int) -> None:
    """Ratings from matches with known strengths, pairings and free-for-alls; shares are those of Plackett-Luce."""
    results = evaluated(make_tournament(np.random.default_rng(seed), ELO, n, 1500))
    assert [row["player"] for row in results["league"]] == ["a", "b", "random", "c"]
    for row in results["league"]:
        spread = (row["high"] - row["low"]) / 3.92
        assert abs(row["rating"] - ELO[row["player"]]) <= 4 * spread, f"seed {seed}: {row}"
        assert spread < 8
    assert [entry["significant"] for entry in results["cross"]] == [True] * 6
    for entry in results["cross"]:
        s, t = (10 ** (ELO[entry[side]] / 400) for side in "ab")
        truth = (s / (s + (n - 1) * t) - t / (t + (n - 1) * s)) / 2
        assert abs(entry["edge"] - truth) <= 4 * (entry["high"] - entry["low"]) / 3.92, f"seed {seed}: {entry}"
        assert entry["variance_factor"] == pytest.approx(1.0, abs=0.2), "these rotations are independent"
    assert results["warnings"] == []
    assert {row["reference"] for row in results["league"]} == {"random"}


def test_ratings_cover_the_truth(seed: int) -> None:
    """Ratings' intervals, with 3 players, in 150 repetitions: within 3 standard errors of 95 %."""
    rng = np.random.default_rng(seed)
    elo = {"random": 0.0, "a": 120.0, "b": -60.0}
    covered = []
    for _ in range(150):
        counts = sum_columns(make_tournament(rng, elo, 2, 80), 2).counts
        _, low, high = rate_boards(counts, np.ones(3, bool), 2)
        covered += [low[i] <= elo[name] <= high[i] for i, name in enumerate(["a", "b"])]
    error = (0.95 * 0.05 / 150) ** 0.5  # the two are not independent
    assert abs(np.mean(covered) - 0.95) < 3 * error, f"seed {seed}: {np.mean(covered)}"


def test_a_circle_is_told(seed: int) -> None:
    """Rock, paper, scissors: the ratings are level, and somebody is rated below a player that they beat."""
    rng = np.random.default_rng(seed)
    tournament = make_tournament(rng, {"paper": 0.0, "rock": 0.0, "scissors": 0.0}, 2, 10)
    for pair in (("paper", "rock"), ("rock", "scissors"), ("scissors", "paper")):  # the first beats the second
        lineup = list_pairings(*pair, 2)[0]
        elo = {pair[0]: 200.0, pair[1]: 0.0}
        tournament.shards[2, lineup] = {0: ranked_shard(rng, lineup, elo, 1000)}
    results = evaluated(tournament)
    assert any("not transitive" in warning for warning in results["warnings"])
    for row in results["league"]:
        assert abs(row["rating"]) < 40
    assert {row["player"]: row["worst"]["player"] for row in results["league"]} == {
        "rock": "paper", "scissors": "rock", "paper": "scissors"
    }  # fmt: skip


def test_who_never_lost_is_not_rated(seed: int) -> None:
    results = evaluated(make_tournament(np.random.default_rng(seed), {"random": 0.0, "a": 1e5, "b": 30.0}, 2, 60))
    rows = {row["player"]: row for row in results["league"]}
    assert (rows["a"]["identified"], rows["a"]["rating"], rows["a"]["win"]) == (False, None, 1.0)
    assert rows["b"]["identified"]
    assert results["league"][0]["player"] == "a", "by the wins, if not all can be rated"


def test_a_reference_who_never_won_does_not_unrate_the_others(seed: int) -> None:
    elo = {"random": -1e5, "a": 60.0, "b": 0.0}
    results = evaluated(make_tournament(np.random.default_rng(seed), elo, 2, 400))
    rows = {row["player"]: row for row in results["league"]}
    assert [row["player"] for row in results["league"]] == ["a", "b", "random"]
    assert rows["random"]["rating"] is None
    assert (rows["a"]["rating"], rows["a"]["reference"]) == (0.0, "a")
    assert abs(rows["b"]["rating"] + 60.0) <= 4 * (rows["b"]["high"] - rows["b"]["low"]) / 3.92, f"seed {seed}"


def test_a_gate_is_one_sided_at_every_table_size() -> None:
    one: dict[str, Any] = {"a": "x", "b": "y", "players": 2, "edge": 0.03, "floor": 0.005, "ceiling": 0.06}
    other: dict[str, Any] = {"a": "y", "b": "x", "players": 4, "edge": -0.03, "floor": -0.05, "ceiling": -0.01}
    verdict = judge_gate([one, other], [2, 4], "x", "y")
    assert verdict["shown"]
    assert verdict["floor"] == pytest.approx({"2": 0.005, "4": 0.01})  # the other way round
    assert not judge_gate([one], [2, 4], "x", "y")["shown"], "a size that was not played shows nothing"
    assert not judge_gate([one, other], [2, 4], "y", "x")["shown"]


# ---- line-ups


def test_lineups_are_free_of_the_order_of_names() -> None:
    assert list_lineups(["b", "c", "a"], 3) == list_lineups(["a", "b", "c"], 3)
    assert list_pairings("b", "a", 2) == [("a", "b")]
    assert list_pairings("b", "a", 3) == [("a", "b", "b"), ("b", "a", "a")]


@pytest.mark.parametrize(("pool", "n"), [(2, 4), (3, 4), (3, 6), (4, 4), (5, 4), (9, 4), (12, 3)])
def test_free_for_alls_seat_everybody_about_equally(pool: int, n: int) -> None:
    names = [f"p{i:02}" for i in range(pool)]
    lineups = draw_free_for_alls(names, n)
    assert draw_free_for_alls(names[::-1], n) == lineups
    assert all(len(lineup) == n for lineup in lineups)
    if pool == 2:
        assert lineups == []
        return
    assert all(len(set(lineup)) == min(pool, n) for lineup in lineups)
    seats = [sum(lineup.count(name) for lineup in lineups) for name in names]
    assert min(seats) > 0
    assert max(seats) <= 2 * min(seats), seats


# ---- seating


@pytest.mark.parametrize("players", [2, 3, 6])
def test_boards_are_rotated_and_arranged_anew(players: int, seed: int) -> None:
    """Over the rotations of a board every place is once in every seat, beside the same neighbours; boards differ in those."""
    rotations = np.tile(np.arange(players), 40)
    places = assign_seats(seed, np.repeat(np.arange(40), players), rotations, players).reshape(40, players, players)
    for board in places:
        np.testing.assert_array_equal(np.sort(board, axis=0), np.tile(np.arange(players)[:, None], players))
        for rotation, seats in enumerate(board):
            np.testing.assert_array_equal(seats, np.roll(board[0], rotation))
    orders = {tuple(np.roll(board[0], -int(np.argmin(board[0])))) for board in places}
    assert len(orders) == {2: 1, 3: 2}.get(players, len(orders)), "all arrangements around the table come up"
    assert players < 6 or len(orders) > 20
    again = assign_seats(seed, np.repeat(7, players), np.arange(players), players)
    np.testing.assert_array_equal(again, places[7], err_msg="whatever the boards beside it")
