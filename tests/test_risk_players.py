"""The players of the solver, what decisions cost, and the real table."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import card_envs
from card_envs import risk
from card_envs.arena import play_duel
from card_envs.games.flip7 import GAME
from card_envs.players import Decisions, resolve
from card_envs.risk.players import find_decided
from card_envs.risk.tables import View
from tests.risk_helpers import cache_folder

SPECS = ("exact", "racer", "racer(live=True)")


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CARD_ENVS_CACHE", str(cache_folder(tmp_path_factory)))
        yield


def _at(order: list[str], *actions: str, **options: int) -> card_envs.Table:
    table = card_envs.table("flip7", seed=1, deck=order, players=2, **options)
    for action in actions:
        table.play(action)
    return table


def _answer(spec: str, table: card_envs.Table) -> str:
    return table.action_string(int(resolve(spec, GAME, table.options).act(Decisions.at(table))[0]))


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("players", [2, 4])
def test_players_play_whole_matches(spec: str, players: int, seed: int) -> None:
    result = play_duel("flip7", spec, "random", players=players, matches=20 * players, board_list="train", seed=seed)
    assert result.share.mean > 1.2 / players, f"seed {seed}"


@pytest.mark.parametrize("spec", SPECS)
def test_players_do_not_see_what_is_hidden(spec: str, seed: int) -> None:
    batch = card_envs.batch("flip7", 200, seed=seed, players=3)
    for _ in range(15):
        batch.step(batch.sample())
    player = resolve(spec, GAME, batch.options)
    rows = np.arange(200)
    before = player.act(Decisions(batch.matches, rows))
    batch.redeal(batch.to_move.astype(np.int64), seed)
    assert np.array_equal(player.act(Decisions(batch.matches, rows)), before), f"seed {seed}"


def test_exact_stops_where_the_solver_does() -> None:
    for cards, action in ((["13", "12"], "stay"), (["2", "11"], "draw"), (["13", "9", "8"], "stay"), (["8", "3", "2"], "draw")):
        table = _at([cards[0], "1", *cards[1:]], "draw", "stay", *["draw"] * (len(cards) - 2))
        (_, position), _ = risk.read_positions(table)
        solution = risk.solve_position(position)
        assert solution.stay is not None
        assert action == ("draw" if solution.draw > solution.stay else "stay"), cards
        assert _answer("exact", table) == action, cards


def test_who_can_bank_the_win_does() -> None:
    table = _at(["3", "1", "2"], "draw", "stay", target=5)
    assert table.to_move == 0
    for spec in SPECS:
        assert _answer(spec, table) == "stay"


def test_who_would_lose_by_staying_draws() -> None:
    table = _at(["5", "12", "13"], "draw", "stay", target=10)  # seat 1 has 12, seat 0 5 and 13: ahead, alone
    assert _answer("exact", table) == "stay"
    table = _at(["5", "12", "3"], "draw", "stay", target=10)
    view = View.read(table.observation(0)[None], table.options)
    assert find_decided(view).all()
    for spec in SPECS:
        assert _answer(spec, table) == "draw"


def test_specs_are_registered_and_named_in_errors() -> None:
    with pytest.raises(ValueError, match=r"unknown player of flip7 'exakt' – did you mean 'exact'\?"):
        resolve("exakt", GAME)
    with pytest.raises(ValueError, match="racer"):
        resolve("racer(1, 2, 3)", GAME)
    with pytest.raises(ValueError, match="unknown player of pis_yedili 'exact'"):
        resolve("exact", card_envs.load_game("pis_yedili"))


# ---- what decisions cost


def test_review_prices_each_choice() -> None:
    table = _at(["13", "1", "12", "11"], "draw", "stay", "draw", "stay")
    found = risk.review(table.record())
    assert [(d.number, d.seat, d.action) for d in found[:4]] == [(1, 0, "draw"), (2, 1, "stay"), (3, 0, "draw"), (4, 0, "stay")]
    assert found[2].line == ("12", "13")
    assert found[2].stay == 25.0
    # the solver agrees, but that the wiped round is priced from a full deck
    (_, position), _ = risk.read_positions(_at(["13", "1", "12", "11"], "draw", "stay"))
    assert found[2].draw == pytest.approx(risk.solve_position(position).draw, abs=0.05)
    assert found[2].loss == pytest.approx(25.0 - found[2].draw)
    assert found[3].loss == 0.0
    assert all(d.loss >= 0.0 for d in found)
    wins = risk.review(table, "win")
    assert all(0.0 <= d.stay <= 1.0 and 0.0 <= d.draw <= 1.0 for d in wins)


def test_review_refuses() -> None:
    with pytest.raises(ValueError, match="unknown unit 'money'"):
        risk.review(_at(["13", "1", "12"], "draw", "stay"), "money")
    with pytest.raises(ValueError, match="bust risk is of flip7"):
        risk.review(card_envs.table("pis_yedili", seed=1))


def test_exact_gives_away_less_than_others(seed: int) -> None:
    losses = {spec: risk.measure_losses(spec, "count3", players=2, matches=100, seed=seed) for spec in ("exact", "sum(40)")}
    assert losses["exact"].per_round.high < losses["sum(40)"].per_round.low, f"seed {seed}"
    worst = [decision.loss for decision in losses["sum(40)"].worst]
    assert worst == sorted(worst, reverse=True)


# ---- the real table


def test_luck_is_taken_out_without_bias(seed: int) -> None:
    found = risk.play_real_round("sum26", "sum26", players=2, rounds=3000, seed=seed)
    half = found.mean.high - found.mean.mean
    assert abs(found.mean.mean - found.adjusted.mean) < 2.5 * half, f"seed {seed}"
    assert found.factor > 1.5
    assert found.bust.low < found.bust.mean < found.bust.high


def test_real_table_without_actions_in_the_deck_is_solo(seed: int) -> None:
    """A single round of somebody who stops at once: the mean is that of a first card, whatever it is."""
    found = risk.play_real_round("count(1)", "count(1)", players=2, rounds=2000, seed=seed)
    assert found.bust.mean < 0.1
    assert 3.0 < found.mean.mean < 12.0


def test_wilson_interval_by_hand() -> None:
    rate = risk.estimate_rate(0, 10)
    assert (rate.mean, rate.low) == (0.0, pytest.approx(0.0, abs=1e-12))
    assert rate.high == pytest.approx(1.959964**2 / (10 + 1.959964**2))


def test_duplicate_duel_beside_fair_share(seed: int) -> None:
    assert play_duel("flip7", "exact", "count(1)", matches=200, players=2, seed=seed).share.low > 0.5, f"seed {seed}"
