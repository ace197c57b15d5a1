"""Benchmarks played: the same results however they are played, right by what is known, honest about failures."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import card_envs
from card_envs.arena import Benchmark, available_panels, derive_list_seed, load_panel, play_duel, run_benchmark
from card_envs.arena.playing import choose_shard_size
from card_envs.arena.report import format_markdown
from card_envs.arena.results import hash_json
from card_envs.arena.workers import Threads
from card_envs.players import Decisions, resolve
from card_envs.players.player import Function
from tests.arena_players import FAILURES, Failing, First, Uniform
from tests.benchmarks import PLAYERS, SHORT, get_pair, get_row, save_untrained_network


@pytest.fixture
def network(tmp_path: Path) -> str:
    return save_untrained_network(tmp_path)


# ---- the same results however they are played


def test_results_do_not_depend_on_threads_or_names(network: str) -> None:
    """Nor on the order of the players; a network's floats are computed in the same batches."""
    names = ["random", network, "count3"]
    arguments: dict[str, Any] = {"tables": [2], "matches": 700, **SHORT}
    one = run_benchmark("flip7", names, **arguments)
    other = run_benchmark("flip7", names[::-1], threads=3, **arguments)
    assert one["results"] == other["results"]
    assert one["results_sha256"] == other["results_sha256"] == hash_json(one["results"])
    assert one["boards"] == other["boards"]
    assert run_benchmark("flip7", names, seed=1, **arguments)["results_sha256"] != one["results_sha256"]


@pytest.mark.parametrize("sizes", [(256, 1), (7, 5)])
def test_results_do_not_depend_on_the_boards_beside(
    sizes: tuple[int, int], network: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor what is told of failures: a board is a function of its line-up and number, for players that are asked in batches."""
    failing = Failing(FAILURES["half"], every=30)
    failing.batch_invariant = True
    players: dict[str, Any] = {"count3": "count3", "exact": "exact", "net": network, "random": "random", "failing": failing}
    arguments: dict[str, Any] = {"tables": [2], "matches": 90, **SHORT}
    whole = run_benchmark("flip7", players, **arguments)
    monkeypatch.setattr("card_envs.arena.playing.BOARDS_COMPILED", sizes[0])
    monkeypatch.setattr("card_envs.arena.playing.BOARDS_INVARIANT", sizes[1])
    parts = run_benchmark("flip7", players, **arguments)
    assert len(whole["results"]["faults"]) > 3
    assert parts["results"] == whole["results"]
    assert parts["boards"] == whole["boards"]


def test_only_who_says_so_is_asked_in_large_batches(network: str) -> None:
    """Any other player sees one match at a time."""
    game = card_envs.load_game("flip7")
    made = {spec: resolve(spec, game, {"players": 2, **SHORT}) for spec in ("ev", "exact", network)}
    for line, size in (([made["ev"]], 256), ([made["ev"], made["exact"]], 32), ([made[network], made["ev"]], 256)):
        assert choose_shard_size(line) == size, "those who choose in compiled code"
    assert choose_shard_size([made["ev"], First()]) == 1
    assert choose_shard_size([Function(lambda decisions: np.zeros(len(decisions), np.int64), "f")]) == 1
    most = []

    class Noting(First):
        def act(self, decisions: Decisions) -> NDArray[Any]:
            most.append(len(np.unique(decisions.match)))
            return super().act(decisions)

    run_benchmark("flip7", {"me": Noting(), "random": "random"}, tables=[3], matches=90, **SHORT)
    assert max(most) == 1, "every rotation of a board has a player of its own"


def test_players_do_not_depend_on_who_else_is_named() -> None:
    few = run_benchmark("flip7", PLAYERS[:2], matches=400, **SHORT)
    many = run_benchmark("flip7", PLAYERS, matches=400, **SHORT)
    entry = get_pair(few, "count3", "random")
    assert {k: v for k, v in get_pair(many, "count3", "random").items() if "holm" not in k and k != "ahead"} == {
        k: v for k, v in entry.items() if "holm" not in k and k != "ahead"
    }


def test_a_sequential_test_is_the_same_on_any_threads() -> None:
    one, other = (run_benchmark("flip7", PLAYERS, until_sure=True, baseline="count3", threads=t, **SHORT) for t in (1, 2))
    assert one["results"] == other["results"]
    assert get_pair(one, "random", "count3")["sprt"]["verdict"] == "not better"
    assert all(entry["early"] and entry["sprt"]["boards"] >= 50 for entry in one["results"]["cross"])
    assert "ended early" in format_markdown(one)


def test_a_sequential_test_ends_at_the_most_matches() -> None:
    report = run_benchmark(
        "flip7", ["risk24", "risk(.23)"], until_sure=True, baseline="risk24", tables=[2], matches=400, edge=0.0001
    )
    entry = get_pair(report, "risk(.23)", "risk24")
    assert (entry["boards"], entry["sprt"]["verdict"], entry["early"]) == (200, "undecided", False)


# ---- what is counted


def test_a_pairing_is_played_as_at_tables(seed: int) -> None:
    """The figures of two players are those of the same matches, played one by one at tables, and those of two duels."""
    report = run_benchmark("flip7", ["count3", "risk24"], tables=[3], matches=90, seed=seed, **SHORT)
    game = card_envs.load_game("flip7")
    players = {name: resolve(name, game) for name in ("count3", "risk24")}
    share, margins, points = {}, [], []
    for one, other in (("count3", "risk24"), ("risk24", "count3")):
        wins = []
        for board, seat in product(range(30), range(3)):
            table = card_envs.table("flip7", seed=(derive_list_seed("report", seed), board, 0), players=3, **SHORT)
            while table.to_move is not None:
                player = players[one if table.to_move == seat else other]
                table.play(int(player.act(Decisions.at(table))[0]))
            scores = np.array(table.scores)
            wins.append((2 * table.rewards[seat] + 1) / 3)  # of k winners each gets (3-k)/(2k), a loser -1/2
            mine = scores[seat : seat + 1] if one == "count3" else np.delete(scores, seat)
            points += mine.tolist()
            margins += (mine - (scores.sum() - mine) / 2).tolist()
        share[one] = np.mean(wins)
        duel = play_duel("flip7", one, other, players=3, matches=90, seed=seed, **SHORT)
        assert duel.share.mean == pytest.approx(share[one]), f"seed {seed}"
    entry = get_pair(report, "count3", "risk24")
    assert entry["boards"] == 30
    assert entry["edge"] == pytest.approx((share["count3"] - share["risk24"]) / 2, abs=1e-6), f"seed {seed}"
    row = get_row(report, "count3")
    assert row["margin"] == pytest.approx(np.mean(margins), abs=1e-5)
    assert row["points_per_match"] == pytest.approx(np.mean(points), abs=1e-5)
    assert row["matches"] == 180
    assert np.mean(row["seats"]) == pytest.approx(row["win"], abs=1e-5)
    assert (row["fair"], row["illegal"], row["truncated"]) == (pytest.approx(1 / 3, abs=1e-6), 0, 0)


def test_shares_placements_and_margins_add_up() -> None:
    """Over a free-for-all all win shares sum to 1 a match; placements' mean is that of 1 … n; margins' is 0."""
    report = run_benchmark("pis_yedili", ["random", "high", "full"], tables=[4], matches=40, deals=1)
    rows = report["results"]["league"]
    seats = {row["player"]: row["decisions"] / row["decisions_per_match"] for row in rows}
    total = sum(seats.values())
    for key, mean in (("win", 1 / 4), ("placement", 2.5), ("margin", 0.0)):
        assert sum(row[key] * seats[row["player"]] for row in rows) / total == pytest.approx(mean, abs=1e-4), key


def test_equal_players_come_out_even(seed: int) -> None:
    report = run_benchmark("flip7", {"random": "random", "a": Uniform(), "twin": "random"}, matches=400, seed=seed, target=20)
    twins = get_pair(report, "random", "twin")
    assert (twins["edge"], twins["p"]) == (0.0, 1.0), "the same player twice"
    assert twins["low"] == -twins["high"] < 0.0
    for entry in report["results"]["cross"]:
        spread = (entry["high"] - entry["low"]) / 3.92
        assert abs(entry["edge"]) <= 4 * spread, f"seed {seed}: {entry}"
    for row in report["results"]["league"]:
        assert row["low"] - 30 <= 0 <= row["high"] + 30, f"seed {seed}: {row}"


def win_independently(seating: list[str], seat: int, matches: int, seed: int, **options: Any) -> NDArray[np.float64]:
    """Shares of the win in this seat, in matches (seed, 0 … matches-1, 0) at tables of two."""
    batch = card_envs.batch("flip7", matches, seed=seed, players=2, **options)
    players = [resolve(spec, batch.game) for spec in seating]
    rewards = np.full(matches, np.nan)
    while np.isnan(rewards).any():
        actions = np.zeros(matches, np.int64)
        for index, player in enumerate(players):
            rows = np.flatnonzero(batch.to_move == index)
            if len(rows):
                actions[rows] = player.act(Decisions(batch, rows))
        batch.step(actions)
        over = (batch.terminated | batch.truncated) & np.isnan(rewards)
        rewards[over] = batch.rewards[over, seat]
    return (rewards + 1) / 2


@pytest.mark.parametrize(("target", "least"), [(20, 0.0), (100, 0.5)])
def test_boards_agree_with_independent_matches_and_print_their_variance(target: int, least: float, seed: int) -> None:
    """Independent: each of the two matches in place of a board is dealt anew. The mean is the same, the variance as printed."""
    count = 3000
    report = run_benchmark("flip7", ["risk24", "sum26"], tables=[2], matches=2 * count, seed=seed, target=target)
    entry = get_pair(report, "risk24", "sum26")
    first = win_independently(["risk24", "sum26"], 0, count, derive_list_seed("tune", seed), target=target)
    second = win_independently(["sum26", "risk24"], 1, count, derive_list_seed("train", seed), target=target)
    alone = (first + second) / 2 - 1 / 2
    variance = ((entry["high"] - entry["low"]) / 2 / 1.96) ** 2 * count
    error = (alone.var() / count + variance / count) ** 0.5
    assert abs(entry["edge"] - alone.mean()) < 4 * error, f"seed {seed}"
    factor = entry["variance_factor"]
    assert variance / alone.var() == pytest.approx(factor, abs=0.12), f"seed {seed}"
    assert least <= factor < 1.0, f"seed {seed}"


def test_who_does_not_play_the_same_again_is_named(network: str) -> None:
    moody, sound = "tests.arena_players:Moody()", "tests.arena_players:Uniform()"
    report = run_benchmark("flip7", [moody, sound, network, "exact", "random"], matches=20, tables=[2], **SHORT)
    assert report["header"]["irreproducible"] == [moody]
    assert f"NOT REPRODUCIBLE: {moody}" in format_markdown(report).replace("\\", "")
    assert "irreproducible" not in str(report["results"])


def test_every_playing_is_a_match_of_its_own() -> None:
    """What a player remembers belongs to a match: all rotations and line-ups of a board have different numbers."""

    seen: dict[int, set[tuple[int, int]]] = {}  # by all copies

    class Noting(First):
        def act(self, decisions: Decisions) -> NDArray[Any]:
            for match, seat in zip(decisions.match.tolist(), decisions.seat.tolist(), strict=True):
                seen.setdefault(match, set()).add((match, seat))
            return super().act(decisions)

    run_benchmark("flip7", {"me": Noting(), "random": "random"}, tables=[3], matches=30, **SHORT)
    assert len(seen) == 2 * 30, "two line-ups of ten boards in three rotations"
    assert sorted({len(seats) for seats in seen.values()}) == [1, 2], "one among the others, and two"


# ---- failures


@pytest.mark.parametrize("kind", FAILURES)
def test_a_failure_loses_its_match_and_no_other(kind: str) -> None:
    """The matches without one go on as if the player were sound."""
    arguments: dict[str, Any] = {"matches": 120, "tables": [3], **SHORT}
    sound = Benchmark.create("flip7", {"it": First(), "random": "random"}, **arguments)
    failing = Benchmark.create("flip7", {"it": Failing(FAILURES[kind]), "random": "random"}, **arguments)
    for it in (sound, failing):
        it.play(Threads(it.tournament.roster))
    report = failing.make_report()
    lost = get_row(report, "it")["illegal"]
    assert 0 < lost < 2 * 120, lost
    assert get_row(report, "random")["illegal"] == 0
    assert get_row(report, "it")["win"] < get_row(sound.make_report(), "it")["win"]
    assert all(told.startswith("it on board ") for told in report["results"]["faults"])
    words = {"raises": "RuntimeError: no idea", "nan": "nan", "half": "0.5", "words": "not one integer"}.get(kind, "")
    assert all(words in told for told in report["results"]["faults"])
    assert f"{lost} matches lost by a failure" in format_markdown(report)
    lineup = ("it", "random", "random")
    [shard], [whole] = (it.tournament.select_shards(3, lineup)[:1] for it in (failing, sound))
    assert shard.faults.sum() == shard.faults[0] > 0
    hit = {int(m) for m in re.findall(r"on board (\d+)", " ".join(shard.told))}
    assert hit
    assert (shard.shares.sum(axis=1) == shard.shares.sum(axis=1)[0]).all(), "somebody wins every match"
    same = (shard.margins == whole.margins).all(axis=1)
    assert same.sum() >= shard.boards - shard.faults.sum()
    assert not same[sorted(hit)].any()


def test_a_failure_every_time_loses_all() -> None:
    """Once among two others, who share the win; twice beside another: the first to move loses, and one is left to share."""
    nan = {"it": lambda decisions: np.full(len(decisions), np.nan), "random": "random"}
    report = run_benchmark("flip7", nan, matches=60, tables=[3])
    assert get_row(report, "random")["win"] == pytest.approx(1 / 2)
    assert get_row(report, "it")["win"] == pytest.approx((0 + 1 / 2) / 3, abs=1e-6)
    assert get_row(report, "it")["illegal"] == 120
    assert get_row(report, "it")["margin"] == 0.0
    assert get_pair(report, "it", "random")["edge"] == pytest.approx((-1 / 3 - 1 / 6) / 2, abs=1e-6)


# ---- arguments


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"players": ["random"]}, "at least two"),
        ({"players": ["random", "random"]}, "'random' is named twice"),
        ({"players": ["random", "coutn3"]}, "did you mean 'count3'"),
        ({"tables": [13]}, "option players = 13: allowed is 2 … 12"),
        ({"matches": 2}, "matches = 2: allowed is a whole number from 3"),
        ({"edge": 0.0}, "edge = 0.0"),
        ({"baseline": "ev"}, "unknown baseline 'ev'"),
        ({"until_sure": True, "players": ["ev(9)", "ev(8)"]}, "name a baseline"),
        ({"until_sure": True, "gate": "count3 > random"}, "gate: it needs a fixed number of matches"),
        ({"gate": "count3 < random"}, "expected is 'PLAYER > BASELINE'"),
        ({"gate": "ev > random"}, "unknown player in the gate 'ev'"),
        ({"board_list": "tun"}, "did you mean 'tune'"),
        ({"threads": 0}, "threads = 0: allowed is a whole number from 1"),
        ({"colour": 1}, "unknown option of flip7 'colour'"),
    ],
)
def test_bad_input_is_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        run_benchmark("flip7", **{"players": PLAYERS[:2], "tables": [2], **arguments})


@pytest.mark.parametrize("name", available_panels())
def test_panels_can_be_played(name: str) -> None:
    it, game = load_panel(name), card_envs.load_game(name)
    assert "random" in it.players
    assert it.board_list == "report"
    for n in it.tables:
        for spec in it.players:
            resolve(spec, game, game.resolve({**it.options, "players": n}))
    with pytest.raises(ValueError, match="unknown panel"):
        load_panel("chess")
