"""Benchmarks played: the same results however they are played, honest about failures, told in full."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner

import card_envs
from card_envs.arena import Benchmark, available_panels, derive_list_seed, load_panel, play_duel, run_benchmark
from card_envs.arena.report import format_markdown, save_picture
from card_envs.arena.results import hash_json
from card_envs.arena.shard import Shard, Task, choose_shard_size
from card_envs.arena.workers import Threads
from card_envs.cli import app
from card_envs.players import Decisions, resolve
from card_envs.players.network import Network, describe_layout, save_network
from card_envs.players.player import Function
from tests.arena_players import FAILURES, Failing, First, Uniform
from tests.helpers import GAMES

PLAYERS = ["random", "count3", "risk24"]
SHORT: dict[str, Any] = {"target": 50}  # quick matches of Flip 7


def row_of(report: dict[str, Any], player: str, players: int | None = None) -> dict[str, Any]:
    [row] = [r for r in report["results"]["league"] if r["player"] == player and players in (None, r["players"])]
    return dict(row)


def pair_of(report: dict[str, Any], a: str, b: str) -> dict[str, Any]:
    [entry] = [e for e in report["results"]["cross"] if {e["a"], e["b"]} == {a, b}]
    assert entry["a"] == a
    return dict(entry)


@pytest.fixture
def network(tmp_path: Path) -> str:
    """An untrained network for two players of Flip 7, in a file."""
    game = card_envs.load_game("flip7")
    options = game.resolve({"players": 2, **SHORT})
    rng = np.random.default_rng(0)
    sizes = [game.observation_size(options), 32, game.num_actions(2)]
    layers = [(rng.normal(size=(b, a)).astype(np.float32), np.zeros(b, np.float32)) for a, b in pairwise(sizes)]
    metadata = {
        "format": "card_envs.network/1", "game": "flip7", "version": 0, "options": options,
        "observation": describe_layout(game, options), "network": {"activation": "tanh", "actions": sizes[-1]},
        "command": "", "evaluation": {},
    }  # fmt: skip
    file = tmp_path / "net.safetensors"
    save_network(file, Network(layers, metadata))
    return str(file)


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
    monkeypatch.setattr("card_envs.arena.shard.BOARDS_COMPILED", sizes[0])
    monkeypatch.setattr("card_envs.arena.shard.BOARDS_INVARIANT", sizes[1])
    parts = run_benchmark("flip7", players, **arguments)
    assert len(whole["results"]["faults"]) > 3
    assert parts["results"] == whole["results"]
    assert parts["boards"] == whole["boards"]


def test_only_who_says_so_is_asked_in_large_batches(network: str) -> None:
    """Any other player sees the rows of one board at a time."""
    game = card_envs.load_game("flip7")
    made = {spec: resolve(spec, game, {"players": 2, **SHORT}) for spec in ("ev", "exact", network)}
    assert [choose_shard_size(line) for line in ([made["ev"]], [made["ev"], made["exact"]], [made[network], made["ev"]])] == [
        256,
        32,
        32,
    ]
    assert choose_shard_size([made["ev"], First()]) == 1
    assert choose_shard_size([Function(lambda decisions: np.zeros(len(decisions), np.int64), "f")]) == 1
    most = []

    class Noting(First):
        def act(self, decisions: Decisions) -> NDArray[Any]:
            most.append(len(np.unique(decisions.match)))
            return super().act(decisions)

    run_benchmark("flip7", {"me": Noting(), "random": "random"}, tables=[3], matches=90, **SHORT)
    assert max(most) == 3, "the rotations of a board"


def test_players_do_not_depend_on_who_else_is_named() -> None:
    few = run_benchmark("flip7", PLAYERS[:2], matches=400, **SHORT)
    many = run_benchmark("flip7", PLAYERS, matches=400, **SHORT)
    entry = pair_of(few, "count3", "random")
    assert {k: v for k, v in pair_of(many, "count3", "random").items() if "holm" not in k and k != "ahead"} == {
        k: v for k, v in entry.items() if "holm" not in k and k != "ahead"
    }


def test_a_sequential_test_is_the_same_on_any_threads() -> None:
    one, other = (run_benchmark("flip7", PLAYERS, until_sure=True, baseline="count3", threads=t, **SHORT) for t in (1, 2))
    assert one["results"] == other["results"]
    assert pair_of(one, "random", "count3")["sprt"]["verdict"] == "not better"
    assert all(entry["early"] and entry["sprt"]["boards"] >= 50 for entry in one["results"]["cross"])
    assert "ended early" in format_markdown(one)


def test_a_sequential_test_ends_at_the_most_matches() -> None:
    report = run_benchmark(
        "flip7", ["risk24", "risk(.23)"], until_sure=True, baseline="risk24", tables=[2], matches=400, edge=0.0001
    )
    entry = pair_of(report, "risk(.23)", "risk24")
    assert (entry["boards"], entry["sprt"]["verdict"], entry["early"]) == (200, "undecided", False)


def interrupt() -> None:
    raise KeyboardInterrupt


def press() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def lose_the_cluster() -> None:
    raise OSError("the cluster is gone")


class Cut:
    """Workers to whom something happens after a few shards."""

    def __init__(self, workers: Any, after: int, what: Callable[[], None] = interrupt) -> None:
        self.workers, self.after, self.what = workers, after, what

    def run(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Shard]]:
        for number, played in enumerate(self.workers.run(tasks)):
            if number == self.after:
                self.what()
            yield played


@pytest.mark.parametrize("after", [0, 1, 4])
def test_cut_short_and_resumed_is_played_through(after: int) -> None:
    whole = run_benchmark("flip7", PLAYERS, matches=1800, tables=[3], **SHORT)
    it = Benchmark.create("flip7", PLAYERS, matches=1800, tables=[3], **SHORT)
    it.play(Cut(Threads(it.tournament.roster), after))
    part = json.loads(json.dumps(it.make_report()))
    assert it.interrupted
    assert part["header"]["interrupted"]
    assert "interrupted: the figures cover" in format_markdown(part)
    uneven = any("not all pairs have met on the same number of boards" in warning for warning in part["results"]["warnings"])
    assert uneven == (len({entry["boards"] for entry in part["results"]["cross"]}) > 1)
    assert sum(row["matches"] for row in part["results"]["league"]) < sum(r["matches"] for r in whole["results"]["league"])
    again = Benchmark.create("flip7", PLAYERS[::-1], matches=1800, tables=[3], **SHORT)
    again.resume(part)
    left = sum(task.matches for task in again.list_tasks())
    assert left == 7 * 1800 - it.played
    again.play(Threads(again.tournament.roster, 2))
    assert again.make_report()["results"] == whole["results"]


def test_gaps_are_filled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C may come when a later shard has been played and one before it has not."""
    whole = run_benchmark("flip7", PLAYERS[:2], matches=180, tables=[3], **SHORT)
    monkeypatch.setattr("card_envs.arena.shard.BOARDS_COMPILED", 7)
    it = Benchmark.create("flip7", PLAYERS[:2], matches=180, tables=[3], **SHORT)
    tasks = it.list_tasks()
    it.tournament.play(tasks[3::4], Threads(it.tournament.roster), lambda matches: None)
    monkeypatch.setattr("card_envs.arena.shard.BOARDS_COMPILED", 256)
    again = Benchmark.create("flip7", PLAYERS[:2], matches=180, tables=[3], **SHORT)
    again.resume(json.loads(json.dumps(it.make_report())))
    assert sum(task.matches for task in again.list_tasks()) == 2 * 180 - sum(task.matches for task in tasks[3::4])
    again.play(Threads(again.tournament.roster))
    assert again.make_report()["results"] == whole["results"]
    assert again.make_report()["boards"] == whole["boards"]


def test_more_matches_can_be_added() -> None:
    """From 150 boards to 200: those that are new are played, whatever the shards were."""
    first = Benchmark.create("flip7", PLAYERS, matches=600, **SHORT)
    first.play(Threads(first.tournament.roster))
    more = Benchmark.create("flip7", PLAYERS, matches=800, **SHORT)
    more.resume(json.loads(json.dumps(first.make_report())))
    assert sum(task.matches for task in more.list_tasks()) == 9 * 200
    more.play(Threads(more.tournament.roster))
    assert more.make_report()["results"] == run_benchmark("flip7", PLAYERS, matches=800, **SHORT)["results"]


def test_what_is_not_asked_for_is_kept() -> None:
    """A player less, a player more, another number of players: no board is lost on the way, or played twice."""
    whole = run_benchmark("flip7", PLAYERS, matches=60, tables=[2, 3], **SHORT)
    few = Benchmark.create("flip7", PLAYERS[:2], matches=60, tables=[2], **SHORT)
    few.resume(json.loads(json.dumps(whole)))
    assert few.list_tasks() == []
    part = few.make_report()
    assert [row["player"] for row in part["results"]["league"]] == ["count3", "random"]
    assert part["boards"] == whole["boards"]
    again = Benchmark.create("flip7", PLAYERS, matches=60, tables=[2, 3], **SHORT)
    again.resume(json.loads(json.dumps(part)))
    assert again.list_tasks() == []
    assert again.make_report()["results"] == whole["results"]


def test_no_gate_on_what_a_sequential_test_has_ended() -> None:
    sure = Benchmark.create("flip7", PLAYERS[:2], tables=[2], until_sure=True, baseline="random", **SHORT)
    sure.play(Threads(sure.tournament.roster))
    report = json.loads(json.dumps(sure.make_report()))
    with pytest.raises(ValueError, match="it was played until sure"):
        Benchmark.create("flip7", PLAYERS[:2], tables=[2], matches=20, gate="count3 > random", **SHORT).resume(report)
    fixed = Benchmark.create("flip7", PLAYERS[:2], tables=[2], matches=20, **SHORT)
    fixed.resume(report)
    assert pair_of(fixed.make_report(), "count3", "random")["early"], "the mark stays"
    plain = run_benchmark("flip7", PLAYERS[:2], tables=[2], matches=60, **SHORT)
    with pytest.raises(ValueError, match="it has 60 matches; for a gate"):
        Benchmark.create("flip7", PLAYERS[:2], tables=[2], matches=20, gate="count3 > random", **SHORT).resume(plain)


@pytest.mark.parametrize("after", [1, 3])
def test_a_sequential_test_resumed_is_one_played_through(after: int) -> None:
    """Wherever it broke off, and whatever matches there were before."""
    arguments: dict[str, Any] = {"tables": [2], "until_sure": True, "baseline": "sum(26)", "matches": 3000, **SHORT}
    whole = run_benchmark("flip7", ["sum(26)", "sum(25)"], **arguments)
    part = Benchmark.create("flip7", ["sum(26)", "sum(25)"], **arguments)
    part.play(Cut(Threads(part.tournament.roster), after))
    again = Benchmark.create("flip7", ["sum(26)", "sum(25)"], **arguments)
    again.resume(json.loads(json.dumps(part.make_report())))
    again.play(Threads(again.tournament.roster, 2))
    assert again.make_report()["results"] == whole["results"]
    few = run_benchmark("flip7", ["sum(26)", "sum(25)"], tables=[2], matches=66, **SHORT)
    last = Benchmark.create("flip7", ["sum(26)", "sum(25)"], **arguments)
    last.resume(json.loads(json.dumps(few)))
    last.play(Threads(last.tournament.roster))
    assert last.make_report()["results"] == whole["results"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 1}, "its seed is 0, but here it is 1"),
        ({"board_list": "tune"}, "its board_list is 'report'"),
        ({"target": 60}, "its options is"),
    ],
)
def test_boards_of_another_benchmark_are_refused(change: dict[str, Any], message: str) -> None:
    report = run_benchmark("flip7", PLAYERS[:2], matches=10, **SHORT)
    with pytest.raises(ValueError, match=message):
        Benchmark.create("flip7", PLAYERS[:2], **{**SHORT, **change}).resume(report)


def test_a_damaged_report_is_refused(network: str) -> None:
    report = run_benchmark("flip7", [network, "random"], tables=[2], matches=10, **SHORT)
    it = Benchmark.create("flip7", [network, "random"], tables=[2], **SHORT)
    with pytest.raises(ValueError, match="its schema is None"):
        it.resume({})
    with pytest.raises(ValueError, match="no boards"):
        it.resume(report | {"boards": {}})
    broken = json.loads(json.dumps(report))
    broken["boards"]["shards"][0]["shards"][0]["decisions"][0] += 1
    with pytest.raises(ValueError, match="its boards are damaged"):
        it.resume(broken)

    def changed(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        """With another SHA-256, as if some other program had written it so."""
        other = json.loads(json.dumps(report))
        change(other["boards"])
        return {**other, "boards_sha256": hash_json(other["boards"])}

    for value in ("eJw=", "?", 3):
        with pytest.raises(ValueError, match="damaged shard"):
            it.resume(changed(lambda boards, value=value: boards["shards"][0]["shards"][0].update(pairs=value)))  # type: ignore[misc]
    with pytest.raises(ValueError, match="damaged shard"):
        it.resume(changed(lambda boards: boards["shards"][0]["shards"][0].update(decisions=[10**30, 1])))
    with pytest.raises(ValueError, match=r"has a board of .* twice"):
        it.resume(changed(lambda boards: boards["shards"][0]["shards"].extend(boards["shards"][0]["shards"])))
    with pytest.raises(ValueError, match="was another player or another file then"):
        it.resume(changed(lambda boards: boards["players"][network].update(sha256="0" * 64)))
    other = Benchmark.create("flip7", {network: "count3", "random": "random"}, tables=[2], **SHORT)
    with pytest.raises(ValueError, match="was another player or another file then"):
        other.resume(report)
    assert report["results"]["players"][0]["kind"] == "checkpoint"
    assert len(report["results"]["players"][0]["sha256"]) == 64


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
    entry = pair_of(report, "count3", "risk24")
    assert entry["boards"] == 30
    assert entry["edge"] == pytest.approx((share["count3"] - share["risk24"]) / 2, abs=1e-6), f"seed {seed}"
    row = row_of(report, "count3")
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
    twins = pair_of(report, "random", "twin")
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
    entry = pair_of(report, "risk24", "sum26")
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

    class Noting(First):
        def __init__(self) -> None:
            self.seen: dict[int, set[tuple[int, int]]] = {}

        def act(self, decisions: Decisions) -> NDArray[Any]:
            for match, seat in zip(decisions.match.tolist(), decisions.seat.tolist(), strict=True):
                self.seen.setdefault(match, set()).add((match, seat))
            return super().act(decisions)

    player = Noting()
    run_benchmark("flip7", {"me": player, "random": "random"}, tables=[3], matches=30, **SHORT)
    assert len(player.seen) == 2 * 30, "two line-ups of ten boards in three rotations"
    assert sorted({len(seats) for seats in player.seen.values()}) == [1, 2], "one among the others, and two"


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
    lost = row_of(report, "it")["illegal"]
    assert 0 < lost < 2 * 120, lost
    assert row_of(report, "random")["illegal"] == 0
    assert row_of(report, "it")["win"] < row_of(sound.make_report(), "it")["win"]
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
    assert row_of(report, "random")["win"] == pytest.approx(1 / 2)
    assert row_of(report, "it")["win"] == pytest.approx((0 + 1 / 2) / 3, abs=1e-6)
    assert row_of(report, "it")["illegal"] == 120
    assert row_of(report, "it")["margin"] == 0.0
    assert pair_of(report, "it", "random")["edge"] == pytest.approx((-1 / 3 - 1 / 6) / 2, abs=1e-6)


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


# ---- the command


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["bench", *map(str, arguments)], prog_name="card-envs")


QUICK = ("flip7", "random", "count3", "--matches", 200, "--option", "target=50")


def test_the_command_writes_everything(tmp_path: Path) -> None:
    json_file, md, png = tmp_path / "a.json", tmp_path / "a.md", tmp_path / "a.png"
    done = run(*QUICK, "--players", "2,3", "--json", json_file, "--markdown", md, "--plot", png, "--baseline", "random")
    assert done.exit_code == 0, done.output
    report = json.loads(json_file.read_text())
    assert report["schema"] == "card_envs.benchmark/2"
    assert report["results_sha256"] in done.stdout
    assert report["results_sha256"] == hash_json(report["results"])
    assert {"player", "rating", "low", "high", "win", "fair"} <= set(report["results"]["league"][0])
    assert {row["players"] for row in report["results"]["league"]} == {2, 3}
    assert set(report["timing"]["ms_per_decision"]["3"]) == {"random", "count3"}
    text = md.read_text()
    for words in ("League of 2 players", "Cross-table of 3 players", "Against random", "random at 0", report["results_sha256"]):
        assert words in text
        assert words in done.stdout
    assert png.read_bytes().startswith(b"\x89PNG")
    save_picture(report, tmp_path / "again.svg")  # from the JSON alone
    assert format_markdown(report) == text


def test_the_command_goes_on_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    assert run(*QUICK, "--json", file).exit_code == 0
    first = json.loads(file.read_text())
    again = run(*QUICK[:4], 400, *QUICK[5:], "--resume", file)
    assert again.exit_code == 0, again.output
    report = json.loads(file.read_text())
    assert report["timing"]["matches"] == 2 * 200, "no board is played twice"
    assert report["header"]["resumed"]
    assert "continued from an earlier report" in again.stdout
    assert report["results"] == run_benchmark("flip7", ["random", "count3"], matches=400, tables=[4], **SHORT)["results"]
    assert first["results_sha256"] != report["results_sha256"]
    other = run("flip7", "random", "count3", "--resume", file)
    assert other.exit_code == 2
    assert "its options is" in other.stderr


def test_a_gate_decides_the_exit_code() -> None:
    passed, failed = (run(*QUICK, "--gate", gate) for gate in ("count3 > random", "random>count3"))
    assert passed.exit_code == 0, passed.output
    assert failed.exit_code == 1
    assert "NOT shown" in failed.stderr


def assert_first_pair_reported(done: Any, file: Path) -> None:
    """On the terminal and in the JSON: the one shard that was played before something happened."""
    assert "League of 2 players" in done.stdout
    assert [e["lineup"] for e in json.loads(file.read_text())["boards"]["shards"]] == [["count3", "random"]]


def test_ctrl_c_prints_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("card_envs.cli.bench.Threads", lambda roster, threads: Cut(Threads(roster, threads), 1))
    file = tmp_path / "a.json"
    done = run("flip7", *PLAYERS, "--matches", 200, "--option", "target=50", "--players", "2", "--json", file)
    assert done.exit_code == 130
    assert "interrupted: the figures cover" in done.stdout
    assert_first_pair_reported(done, file)


def test_a_second_ctrl_c_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes while the report is made."""
    monkeypatch.setattr("card_envs.cli.bench.Threads", lambda roster, threads: Cut(Threads(roster, threads), 1, press))
    make_report = Benchmark.make_report

    def pressed(self: Benchmark, command: str) -> dict[str, Any]:
        press()
        return make_report(self, command)

    monkeypatch.setattr(Benchmark, "make_report", pressed)
    before, file = signal.getsignal(signal.SIGINT), tmp_path / "a.json"
    done = run("flip7", *PLAYERS, "--matches", 200, "--option", "target=50", "--players", "2", "--json", file)
    assert done.exit_code == 130
    assert "writing the report" in done.stderr
    assert_first_pair_reported(done, file)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_run_that_breaks_off_reports_what_was_played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "card_envs.cli.bench.Threads", lambda roster, threads: Cut(Threads(roster, threads), 1, lose_the_cluster)
    )
    file = tmp_path / "a.json"
    done = run("flip7", *PLAYERS, "--matches", 200, "--option", "target=50", "--players", "2", "--json", file)
    assert done.exit_code == 2
    assert "the run broke off (OSError: the cluster is gone)" in done.stderr
    assert_first_pair_reported(done, file)


def test_a_wrong_argument_is_told_before_anything_is_written(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text("precious")
    done = run(*QUICK, "--players", 2, "--threads", 0, "--json", file)
    assert done.exit_code == 2
    assert done.stderr == "card-envs: threads = 0: allowed is a whole number from 1\n"
    assert not done.stdout
    assert file.read_text() == "precious"


def test_a_file_that_cannot_be_written_keeps_no_other_from_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("card_envs.cli.bench.write_atomically", full)
    done = run(*QUICK, "--players", 2, "--json", tmp_path / "a.json", "--plot", tmp_path / "a.svg")
    assert done.exit_code == 2
    assert "a.json cannot be written (No space left on device)" in done.stderr
    assert "League of 2 players" in done.stdout
    assert (tmp_path / "a.svg").exists()


def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "link.json").symlink_to(tmp_path / "a.json")
    assert run(*QUICK, "--players", 2, "--json", tmp_path / "link.json").exit_code == 0
    assert (tmp_path / "link.json").is_symlink()
    assert json.loads((tmp_path / "a.json").read_text())["schema"]


def test_a_player_that_ends_the_process_only_loses() -> None:
    """And no gate is passed by it."""
    done = run(*QUICK[:1], "random", "tests.arena_players:Leaving()", "--players", 2, "--matches", 20,
               "--gate", "tests.arena_players:Leaving() > random")  # fmt: skip
    assert done.exit_code == 1
    assert "NOT shown" in done.stderr
    assert "raised SystemExit: 0" in done.stdout


def test_players_as_an_option_are_the_table() -> None:
    done = run(*QUICK, "--option", "players=3")
    assert done.exit_code == 0, done.output
    assert "League of 3 players" in done.stdout


@pytest.mark.parametrize("name", GAMES)
def test_a_ranking_is_a_table_of_duels(name: str) -> None:
    """The built-in players by default, at each table size; for games of shedding also who goes out among equals."""
    done = run(name, "--ranking", "--players", "2,3", "--matches", 24, "--seed", 1)
    assert done.exit_code == 0, done.output
    game = card_envs.load_game(name)
    tables = [part.splitlines() for part in done.stdout.split("\n\n") if part.startswith("| one")]
    for n, (head, _, *lines) in zip((2, 3), tables, strict=True):
        names = [cell.strip() for cell in head.strip("|").split("|")][1:]
        sheds = names[-1] == "goes out"
        assert sheds == (name != "flip7")
        names = names[: len(names) - sheds]
        assert len(lines) == len(names) == len(game.policies)
        for one, line in zip(names, lines, strict=True):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            assert cells[0] == f"`{one}`"
            for other, cell in zip(names, cells[1:], strict=False):
                if one == other:
                    assert cell == "–"
                elif {one, other} & {"random"}:
                    share = play_duel(name, one, other, players=n, matches=24, seed=1).share
                    assert cell == f"{share.mean:.3f} ± {max(share.high - share.mean, share.mean - share.low):.3f}"
            if sheds:
                assert 0.0 <= float(cells[-1]) <= 1.0
    assert f"2 players, a fair share is 0.500; 24 matches a cell\n\n{tables[0][0]}" in done.stdout


def test_going_out_is_counted_among_equals(seed: int) -> None:
    """Of 1,000 first deals at tables of two, played here one by one, so many end with an empty hand."""
    done = run("pis_yedili", "high", "full", "--ranking", "--players", "2", "--matches", 20, "--seed", seed)
    [line] = [line for line in done.stdout.splitlines() if line.startswith("| `high`")]
    player, ended = resolve("high", card_envs.load_game("pis_yedili")), 0
    for board in range(1000):
        table = card_envs.table("pis_yedili", seed=(derive_list_seed("report", seed), board, 0), players=2)
        while not table.deals:
            table.play(int(player.act(Decisions.at(table))[0]))
        ended += "goes out" in table.endings[0]
    assert 500 < ended < 1000, "some deals end for lack of cards"
    assert line.endswith(f" {ended / 1000:.2f} |")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--panel",), "--panel does not go with --ranking"),
        (("--json", "a.json"), "--json does not go with --ranking"),
        (("--until-sure",), "--until-sure does not go with --ranking"),
        (("random",), "at least two"),
        (
            ("random", "tests.arena_players:Leaving()"),
            "a player has failed, so there is no ranking: tests.arena_players:Leaving() on board 0",
        ),
    ],
)
def test_a_ranking_names_bad_input(arguments: tuple[str, ...], message: str) -> None:
    done = run("flip7", "--ranking", "--matches", "20", *arguments)
    assert done.exit_code == 2
    assert message in done.stderr
    assert not done.stdout


def test_the_panel_fixes_what_is_played(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    done = run("pis_yedili", "full(0)", "--panel", "--matches", 8, "--players", "2", "--json", file)
    assert done.exit_code == 0, done.output
    results = json.loads(file.read_text())["results"]
    assert {row["player"] for row in results["league"]} == {"full(0)", *load_panel("pis_yedili").players}
    assert results["panel"] == {"version": load_panel("pis_yedili").version, "complete": False}
    assert "but not all of its tables and matches" in done.stdout
    refused = run("flip7", "--panel", "--seed", 1)
    assert refused.exit_code == 2
    assert "--seed does not go with --panel" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("flip7", "random", "count3", "--players", "2,x"), "players = '2,x': expected are whole numbers"),
        (("flip7", "random", "count3", "--plot", "a.txt"), "a.txt ends in '.txt'"),
        (("flip7", "random", "count3", "--json", "/nowhere/a.json"), "cannot be written"),
        (("flip7", "random", "count3", "--plot", ".png"), "ends in 'nothing'"),
        (("flip7", "random", "count3", "--json", "."), ". cannot be written: it is a folder"),
        (("flip7", "random", "count3", "--json", "x", "--markdown", "x"), "must be different files"),
        (("flip7", "random", "tests.arena_players:broken()"), "raised KeyError: 'no such'"),
        (("flip7", "random", "tests.arena_players:Leaving(1)"), "raised SystemExit: 1"),
        (("flip7", "random", "random ", "--matches", "20"), "'random' is named twice"),
        (("flip7", "--ray", "ev"), "at least two"),
        (("flip7", "random", "count3", "--option", "players=3", "--players", "2"), "given twice"),
        (("flip7", "random", "count3", "--resume", "missing.json"), "missing.json: No such file"),
        (("flip7", "random"), "at least two"),
    ],
)
def test_the_command_names_bad_input(arguments: tuple[str, ...], message: str) -> None:
    done = run(*arguments)
    assert done.exit_code == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
