"""Benchmarks that were cut short and are continued: as if they had been played through."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from card_envs.arena import Benchmark, run_benchmark
from card_envs.arena.report import format_markdown
from card_envs.arena.results import hash_json
from card_envs.arena.workers import Threads
from tests.benchmarks import PLAYERS, SHORT, Cut, get_pair, save_untrained_network


@pytest.fixture
def network(tmp_path: Path) -> str:
    return save_untrained_network(tmp_path)


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
    monkeypatch.setattr("card_envs.arena.playing.BOARDS_COMPILED", 7)
    it = Benchmark.create("flip7", PLAYERS[:2], matches=180, tables=[3], **SHORT)
    tasks = it.list_tasks()
    it.tournament.play(tasks[3::4], Threads(it.tournament.roster), lambda matches: None)
    monkeypatch.setattr("card_envs.arena.playing.BOARDS_COMPILED", 256)
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
    assert get_pair(fixed.make_report(), "count3", "random")["early"], "the mark stays"
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
