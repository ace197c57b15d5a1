"""The solver: the published figures of base Flip 7, an independent simulation, an independent recursion, the frontiers."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from card_envs import risk
from card_envs.risk import cache
from card_envs.risk.kernel import OFFSET
from card_envs.risk.solve import Strategy
from tests.risk_helpers import ALWAYS, CARDS, LUCKY, PLAIN, RISK, SPECIAL, SUM, UNLUCKY, cache_folder, recursion, simulate

BASE, PLAIN_START, SPECIAL_START = (risk.load_model(name).start for name in ("base", "plain", "special"))
ROUNDS = 1_000_000


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        path = cache_folder(tmp_path_factory)
        patch.setenv("CARD_ENVS_CACHE", str(path))
        yield path


# ---- the published figures of base Flip 7


def test_base_optimum_as_published() -> None:
    solved = risk.solve_model(risk.load_model("base")).distribution
    assert f"{solved.mean:.4f}" == "18.5652"
    assert f"{solved.bust:.4f}" == "0.3135"
    assert f"{solved.flip7:.4f}" == "0.0028"


@pytest.mark.parametrize(
    ("strategy", "share"),
    [(risk.risk_at_least(0.26), "99.81"), (risk.sum_at_least(23), "99.76"), (risk.cards_at_least(3), "95.1")],
    ids=lambda value: getattr(value, "name", value),
)
def test_base_threshold_rules_as_published(strategy: Strategy, share: str) -> None:
    best = risk.solve_position(BASE).value
    digits = len(share.split(".")[1])
    assert f"{100 * risk.evaluate(BASE, strategy).mean / best:.{digits}f}" == share


def test_base_always_draw_as_published() -> None:
    assert f"{100 * risk.evaluate(BASE, risk.always_draw()).flip7:.2f}" == "8.66"


def test_base_race_as_published() -> None:
    assert f"{risk.solve_race('base').wins[0, 0]:.4f}" == "0.5593"
    points, fewest = risk.expect_rounds("base")
    assert (f"{points:.2f}", f"{fewest:.2f}") == ("11.51", "11.06")


def test_states_of_the_plain_model() -> None:
    assert PLAIN_START.states == 9908


# ---- against a simulation that shares no code


@pytest.mark.parametrize(
    ("strategy", "rule", "threshold"),
    [
        (risk.sum_at_least(26), SUM, 26.0),
        (risk.risk_at_least(0.24), RISK, 0.24),
        (risk.cards_at_least(4), CARDS, 4.0),
        (risk.always_draw(), ALWAYS, 0.0),
    ],
    ids=["sum", "risk", "cards", "always"],
)
@pytest.mark.parametrize("model", ["plain", "special"])
def test_exact_distribution_agrees_with_a_simulation(
    model: str, strategy: Strategy, rule: int, threshold: float, seed: int
) -> None:
    exact = risk.evaluate(risk.load_model(model).start, strategy)
    deck = np.array(PLAIN if model == "plain" else SPECIAL)
    scores = simulate(deck, model == "special", rule, threshold, ROUNDS, seed)
    points = np.maximum(scores, 0.0)
    wide = 4.0 / ROUNDS**0.5  # four standard errors: 1 in 16,000 by chance
    assert points.mean() == pytest.approx(exact.mean, abs=wide * exact.sd), f"seed {seed}"
    assert points.std() == pytest.approx(exact.sd, abs=0.1), f"seed {seed}"
    bust = (scores < 0).mean()
    assert bust == pytest.approx(exact.bust, abs=wide * (exact.bust * (1 - exact.bust)) ** 0.5 + 1e-9), f"seed {seed}"
    for quantile in (0.25, 0.75):
        assert abs(exact.quantile(quantile) - np.quantile(points, quantile)) <= 1, f"seed {seed}"
    worst = np.sort(points)[: ROUNDS // 2].mean()
    assert exact.cvar(0.5) == pytest.approx(worst, abs=0.1), f"seed {seed}"


def test_optimal_play_of_the_plain_model_is_worth_its_value(seed: int) -> None:
    """The mean over the cards is by simulation: of the play that the solver would stop."""
    solution = risk.solve_position(PLAIN_START)
    exact = risk.evaluate(PLAIN_START, risk.optimal(), solution=solution)
    assert exact.mean == pytest.approx(solution.value, abs=1e-9)
    # one rule of the family of the simulation comes close, none is better
    best = max(simulate(np.array(PLAIN), False, SUM, float(k), ROUNDS // 10, seed).clip(0).mean() for k in range(24, 30))
    assert best < solution.value + 4 * exact.sd / (ROUNDS // 10) ** 0.5, f"seed {seed}"


# ---- against a recursion that shares no code


def _counts(cards: list[int]) -> tuple[int, ...]:
    return tuple(cards.count(kind) for kind in range(16))


@pytest.mark.parametrize("number", range(12))
def test_values_agree_with_a_plain_recursion(number: int, seed: int) -> None:
    """Small decks with all special cards, some of them so small that the discard pile follows."""
    rng = random.Random(f"{seed} {number}")
    cards = rng.sample(SPECIAL, 14)
    if UNLUCKY not in cards:
        cards[0] = UNLUCKY
    if number % 2 and LUCKY not in cards:
        cards[1] = LUCKY
    rng.shuffle(cards)
    line: list[int] = []
    for card in cards[:3]:
        if card not in (UNLUCKY, *line):
            line.append(card)
    rest = list(cards)
    for card in line:
        rest.remove(card)
    size = rng.choice([2, 4, 8])
    deck, discard = rest[:size], rest[size:][:5]
    position = risk.Position(sum(1 << card for card in line), _counts(deck), _counts(discard))
    points = {x: float(x) for x in range(128)}
    expected = recursion(tuple(line), tuple(deck), tuple(discard), points, True)
    assert risk.solve_position(position).value == pytest.approx(expected, abs=1e-12), f"seed {seed}: {line} {deck} {discard}"
    for target in (20, 34):
        chance = recursion(tuple(line), tuple(deck), tuple(discard), {x: float(x >= target) for x in range(128)}, True)
        assert risk.tabulate_reach(position, [target])[0].chance == pytest.approx(chance, abs=1e-12), f"seed {seed}"


def test_unlucky_7_wipes_the_line_and_its_cards_follow_in_the_discard_pile() -> None:
    # deck: unlucky7 alone; then 5 and 12, wiped, are the next deck: 7 + 12 + 5, for nothing can double
    position = risk.Position(1 << 5 | 1 << 12, _counts([UNLUCKY]), _counts([]))
    solution = risk.solve_position(position)
    assert (solution.stay, solution.draw) == (17.0, 24.0)


def test_lucky_13_allows_a_second_13_and_no_third() -> None:
    assert risk.solve_position(risk.Position(1 << 13, _counts([LUCKY]))).draw == 26.0
    assert risk.solve_position(risk.Position(1 << LUCKY, _counts([13]))).draw == 26.0
    assert risk.solve_position(risk.Position(1 << 13 | 1 << LUCKY, _counts([13]))).draw == 0.0
    assert risk.solve_position(risk.Position(1 << 13, _counts([13]))).draw == 0.0


def test_zero_leaves_no_choice_and_scores_with_seven_cards_only() -> None:
    six = sum(1 << card for card in (0, 1, 2, 3, 4, 5))
    solution = risk.solve_position(risk.Position(six, _counts([12, 5])))
    assert solution.stay is None
    assert solution.value == (15 + 12 + 15) / 2
    assert risk.Position(six, _counts([])).score == 0


def test_modifiers_lower_the_score_and_leave_with_the_line() -> None:
    assert risk.parse_position("8 12 /2 -4").score == 6
    assert risk.parse_position("2 -10").score == 0
    wiped = risk.Position(1 << 12, _counts([UNLUCKY]), half=True, minus=10)
    assert (wiped.score, risk.solve_position(wiped).draw) == (0, 7.0 + 12.0)  # the 12 follows from the discard pile


# ---- the frontiers


@pytest.fixture(scope="module")
def frontier() -> list[risk.Point]:
    return risk.trace_bust_frontier(PLAIN_START)


def test_frontier_is_concave(frontier: list[risk.Point]) -> None:
    corners = sorted({(round(p.bust, 12), round(p.mean, 12)) for p in frontier})
    slopes = [(m2 - m1) / (b2 - b1) for (b1, m1), (b2, m2) in pairwise(corners) if b2 - b1 > 1e-9]
    assert len(slopes) > 10
    assert all(one >= two - 1e-9 for one, two in pairwise(slopes))


def test_every_strategy_lies_on_or_under_the_frontier(frontier: list[risk.Point]) -> None:
    rules = [risk.sum_at_least(k) for k in range(1, 60)] + [risk.cards_at_least(k) for k in range(1, 8)]
    rules += [risk.risk_at_least(p / 50) for p in range(1, 30)] + [risk.one_step(), risk.always_draw(), risk.optimal()]
    rules += [risk.line_rule(lambda line: "13" in line or len(line) > 3, "odd")]
    for rule in rules:
        found = risk.evaluate(PLAIN_START, rule)
        assert found.mean <= risk.bound_mean(frontier, found.bust) + 1e-9, rule.name


def test_special_frontier_bounds_the_rules_too() -> None:
    points = risk.trace_bust_frontier(SPECIAL_START, (0.0, 10.0))
    for rule in (risk.sum_at_least(26), risk.risk_at_least(0.24), risk.one_step()):
        found = risk.evaluate(SPECIAL_START, rule)
        assert found.mean <= risk.bound_mean(points, found.bust) + 1e-9, rule.name


def test_cvar_frontier_is_what_no_rule_exceeds() -> None:
    alpha = 0.5
    points = risk.trace_cvar_frontier(PLAIN_START, alpha, (0.0, 0.5, 1.0))
    assert points[0].mean == pytest.approx(risk.solve_position(PLAIN_START).value)
    for point in points:
        mix = (1 - point.price) * point.mean + point.price * point.distribution.cvar(alpha)
        assert point.value == pytest.approx(mix, abs=1e-9)
        for rule in [risk.sum_at_least(k) for k in range(1, 50)]:
            found = risk.evaluate(PLAIN_START, rule)
            assert (1 - point.price) * found.mean + point.price * found.cvar(alpha) <= point.value + 1e-9


def test_cvar_is_0_with_too_many_busts() -> None:
    found = risk.evaluate(PLAIN_START, risk.sum_at_least(26))
    assert found.bust > 0.3
    assert found.cvar(0.3) == 0.0


def test_reach_is_certain_at_0_and_falls() -> None:
    rows = risk.tabulate_reach(PLAIN_START, range(0, 101))
    assert rows[0].chance == 1.0
    assert all(one.chance >= two.chance for one, two in pairwise(rows))
    best = 7 + 8 + 9 + 10 + 11 + 12 + 13 + 15
    assert rows[best].chance > 0.0
    assert rows[best + 1].chance == 0.0


# ---- the race, the cache, bad input


def test_race_of_one_round_is_reaching_the_target_before_the_other() -> None:
    """Target 1: whoever scores ends it; both play one round until somebody does."""
    found = risk.solve_race("plain", 1)
    his = risk.evaluate(PLAIN_START, risk.optimal()).probabilities[OFFSET:]
    for win in (found.wins[0, 0], found.payoffs[0, 0, OFFSET]):
        assert 0.5 < win <= 1.0 if win == found.wins[0, 0] else win < 0.5
    # with x points: he scores less, or as many
    assert found.payoffs[0, 0, OFFSET + 30] == pytest.approx(his[:30].sum() + his[30] / 2)


def test_results_are_kept_on_disk(folder: Path) -> None:
    first = risk.solve_race("plain", 3)
    second = risk.solve_race("plain", 3)
    assert (first.cached, second.cached) == (False, True)
    assert np.array_equal(first.wins, second.wins)
    assert np.array_equal(first.thresholds, second.thresholds)
    files = list((folder / "risk").glob("race-plain-3-*.npz"))
    assert len(files) == 1
    files[0].write_bytes(b"torn")
    assert not risk.solve_race("plain", 3).cached


def test_an_unwritable_cache_is_no_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CARD_ENVS_CACHE", str(tmp_path / "file"))
    assert not risk.solve_model(risk.load_model("plain")).cached
    assert cache.load(cache.name_file("x")) is None


def test_special_model_is_solved_and_kept() -> None:
    shown: list[float] = []
    solved = risk.solve_model(risk.load_model("special"), progress=shown.append)
    assert shown == sorted(shown)
    assert shown[-1] == 1.0
    assert solved.distribution.mean == pytest.approx(risk.solve_position(SPECIAL_START).value, abs=1e-9)
    assert risk.solve_model(risk.load_model("special")).cached
    for rule in (risk.sum_at_least(26), risk.risk_at_least(0.24), risk.one_step()):
        assert risk.evaluate(SPECIAL_START, rule).mean < solved.distribution.mean


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: risk.load_model("full"), "unknown model 'full'"),
        (lambda: risk.solve_race("special"), "base and plain"),
        (lambda: risk.solve_race("plain", 0), "target = 0"),
        (lambda: risk.solve_position(PLAIN_START, np.zeros(3)), "160 finite numbers"),
        (lambda: risk.trace_bust_frontier(PLAIN_START, (-1.0,)), "price of a bust = -1.0"),
        (lambda: risk.trace_cvar_frontier(PLAIN_START, 0.0), "alpha = 0.0"),
        (lambda: risk.tabulate_reach(PLAIN_START, [-1]), "target = -1"),
    ],
)
def test_bad_input_is_one_clear_line(call, message) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
