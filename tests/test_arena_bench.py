"""Benchmarks played: the same results however they are played, honest about failures, told in full."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner

import card_envs
from card_envs.arena import Bench, bench, list_seed, panel, panels, play_matches
from card_envs.arena.plots import save_plot
from card_envs.arena.report import markdown
from card_envs.arena.results import digest
from card_envs.arena.run import Threads
from card_envs.arena.shard import Shard, Task, blocks_of
from card_envs.cli import app
from card_envs.players import Decisions, resolve
from card_envs.players.network import Network, describe_layout, save_network
from card_envs.players.player import Function
from tests.arena_players import FAILURES, Failing, First, Uniform

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
    one = bench("flip7", names, **arguments)
    other = bench("flip7", names[::-1], threads=3, **arguments)
    assert one["results"] == other["results"]
    assert one["results_sha256"] == other["results_sha256"] == digest(one["results"])
    assert one["blocks"] == other["blocks"]
    assert bench("flip7", names, seed=1, **arguments)["results_sha256"] != one["results_sha256"]


@pytest.mark.parametrize("sizes", [(256, 1), (7, 5)])
def test_results_do_not_depend_on_the_blocks_beside(
    sizes: tuple[int, int], network: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor what is told of failures: a block is a function of its line-up and deal, for players that are asked in batches."""
    failing = Failing(FAILURES["half"], every=30)
    failing.batch_invariant = True
    players: dict[str, Any] = {"count3": "count3", "exact": "exact", "net": network, "random": "random", "failing": failing}
    arguments: dict[str, Any] = {"tables": [2], "matches": 90, **SHORT}
    whole = bench("flip7", players, **arguments)
    monkeypatch.setattr("card_envs.arena.shard.BLOCKS_BUILT_IN", sizes[0])
    monkeypatch.setattr("card_envs.arena.shard.BLOCKS", sizes[1])
    parts = bench("flip7", players, **arguments)
    assert len(whole["results"]["faults"]) > 3
    assert parts["results"] == whole["results"]
    assert parts["blocks"] == whole["blocks"]


def test_only_who_says_so_is_asked_in_large_batches(network: str) -> None:
    """Any other player sees the rows of one deal at a time."""
    game = card_envs.load_game("flip7")
    made = {spec: resolve(spec, game, {"players": 2, **SHORT}) for spec in ("ev", "exact", network)}
    assert [blocks_of(line) for line in ([made["ev"]], [made["ev"], made["exact"]], [made[network], made["ev"]])] == [
        256,
        32,
        32,
    ]
    assert blocks_of([made["ev"], First()]) == 1
    assert blocks_of([Function(lambda decisions: np.zeros(len(decisions), np.int64), "f")]) == 1
    most = []

    class Noting(First):
        def act(self, decisions: Decisions) -> NDArray[Any]:
            most.append(len(np.unique(decisions.match)))
            return super().act(decisions)

    bench("flip7", {"me": Noting(), "random": "random"}, tables=[3], matches=90, **SHORT)
    assert max(most) == 3, "the rotations of a deal"


def test_players_do_not_depend_on_who_else_is_named() -> None:
    few = bench("flip7", PLAYERS[:2], matches=400, **SHORT)
    many = bench("flip7", PLAYERS, matches=400, **SHORT)
    entry = pair_of(few, "count3", "random")
    assert {k: v for k, v in pair_of(many, "count3", "random").items() if "holm" not in k and k != "ahead"} == {
        k: v for k, v in entry.items() if "holm" not in k and k != "ahead"
    }


def test_a_sequential_test_is_the_same_on_any_threads() -> None:
    one, other = (bench("flip7", PLAYERS, until_sure=True, baseline="count3", threads=t, **SHORT) for t in (1, 2))
    assert one["results"] == other["results"]
    assert pair_of(one, "random", "count3")["sprt"]["verdict"] == "not better"
    assert all(entry["early"] and entry["sprt"]["blocks"] >= 50 for entry in one["results"]["cross"])
    assert "ended early" in markdown(one)


def test_a_sequential_test_ends_at_the_most_matches() -> None:
    found = bench("flip7", ["risk24", "risk(.23)"], until_sure=True, baseline="risk24", tables=[2], matches=400, edge=0.0001)
    entry = pair_of(found, "risk(.23)", "risk24")
    assert (entry["blocks"], entry["sprt"]["verdict"], entry["early"]) == (200, "undecided", False)


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
    whole = bench("flip7", PLAYERS, matches=1800, tables=[3], **SHORT)
    it = Bench.of("flip7", PLAYERS, matches=1800, tables=[3], **SHORT)
    it.play(Cut(Threads(it.benchmark.roster), after))
    part = json.loads(json.dumps(it.report()))
    assert it.interrupted
    assert part["header"]["interrupted"]
    assert "cut short" in markdown(part)
    uneven = any("not all pairs have met in as many deals" in warning for warning in part["results"]["warnings"])
    assert uneven == (len({entry["blocks"] for entry in part["results"]["cross"]}) > 1)
    assert sum(row["matches"] for row in part["results"]["league"]) < sum(r["matches"] for r in whole["results"]["league"])
    again = Bench.of("flip7", PLAYERS[::-1], matches=1800, tables=[3], **SHORT)
    again.resume(part)
    left = sum(task.matches for task in again.tasks())
    assert left == 7 * 1800 - it.played
    again.play(Threads(again.benchmark.roster, 2))
    assert again.report()["results"] == whole["results"]


def test_gaps_are_filled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C may come when a later shard has been played and one before it has not."""
    whole = bench("flip7", PLAYERS[:2], matches=180, tables=[3], **SHORT)
    monkeypatch.setattr("card_envs.arena.shard.BLOCKS_BUILT_IN", 7)
    it = Bench.of("flip7", PLAYERS[:2], matches=180, tables=[3], **SHORT)
    tasks = it.tasks()
    it.benchmark.play(tasks[3::4], Threads(it.benchmark.roster), lambda matches: None)
    monkeypatch.setattr("card_envs.arena.shard.BLOCKS_BUILT_IN", 256)
    again = Bench.of("flip7", PLAYERS[:2], matches=180, tables=[3], **SHORT)
    again.resume(json.loads(json.dumps(it.report())))
    assert sum(task.matches for task in again.tasks()) == 2 * 180 - sum(task.matches for task in tasks[3::4])
    again.play(Threads(again.benchmark.roster))
    assert again.report()["results"] == whole["results"]
    assert again.report()["blocks"] == whole["blocks"]


def test_more_matches_can_be_added() -> None:
    """From 150 deals to 200: those that are new are played, whatever the shards were."""
    first = Bench.of("flip7", PLAYERS, matches=600, **SHORT)
    first.play(Threads(first.benchmark.roster))
    more = Bench.of("flip7", PLAYERS, matches=800, **SHORT)
    more.resume(json.loads(json.dumps(first.report())))
    assert sum(task.matches for task in more.tasks()) == 9 * 200
    more.play(Threads(more.benchmark.roster))
    assert more.report()["results"] == bench("flip7", PLAYERS, matches=800, **SHORT)["results"]


def test_what_is_not_asked_for_is_kept() -> None:
    """A player less, a player more, another number of players: no block is lost on the way, or played twice."""
    whole = bench("flip7", PLAYERS, matches=60, tables=[2, 3], **SHORT)
    few = Bench.of("flip7", PLAYERS[:2], matches=60, tables=[2], **SHORT)
    few.resume(json.loads(json.dumps(whole)))
    assert few.tasks() == []
    part = few.report()
    assert [row["player"] for row in part["results"]["league"]] == ["count3", "random"]
    assert part["blocks"] == whole["blocks"]
    again = Bench.of("flip7", PLAYERS, matches=60, tables=[2, 3], **SHORT)
    again.resume(json.loads(json.dumps(part)))
    assert again.tasks() == []
    assert again.report()["results"] == whole["results"]


def test_no_gate_on_what_a_sequential_test_has_ended() -> None:
    sure = Bench.of("flip7", PLAYERS[:2], tables=[2], until_sure=True, baseline="random", **SHORT)
    sure.play(Threads(sure.benchmark.roster))
    report = json.loads(json.dumps(sure.report()))
    with pytest.raises(ValueError, match="it was played until sure"):
        Bench.of("flip7", PLAYERS[:2], tables=[2], matches=20, gate="count3 > random", **SHORT).resume(report)
    fixed = Bench.of("flip7", PLAYERS[:2], tables=[2], matches=20, **SHORT)
    fixed.resume(report)
    assert pair_of(fixed.report(), "count3", "random")["early"], "the mark stays"
    plain = bench("flip7", PLAYERS[:2], tables=[2], matches=60, **SHORT)
    with pytest.raises(ValueError, match="it has 60 matches; a gate"):
        Bench.of("flip7", PLAYERS[:2], tables=[2], matches=20, gate="count3 > random", **SHORT).resume(plain)


@pytest.mark.parametrize("after", [1, 3])
def test_a_sequential_test_resumed_is_one_played_through(after: int) -> None:
    """Wherever it broke off, and whatever matches there were before."""
    arguments: dict[str, Any] = {"tables": [2], "until_sure": True, "baseline": "sum(26)", "matches": 3000, **SHORT}
    whole = bench("flip7", ["sum(26)", "sum(25)"], **arguments)
    part = Bench.of("flip7", ["sum(26)", "sum(25)"], **arguments)
    part.play(Cut(Threads(part.benchmark.roster), after))
    again = Bench.of("flip7", ["sum(26)", "sum(25)"], **arguments)
    again.resume(json.loads(json.dumps(part.report())))
    again.play(Threads(again.benchmark.roster, 2))
    assert again.report()["results"] == whole["results"]
    few = bench("flip7", ["sum(26)", "sum(25)"], tables=[2], matches=66, **SHORT)
    last = Bench.of("flip7", ["sum(26)", "sum(25)"], **arguments)
    last.resume(json.loads(json.dumps(few)))
    last.play(Threads(last.benchmark.roster))
    assert last.report()["results"] == whole["results"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 1}, "its seed is 0, but here it is 1"),
        ({"deal_list": "tune"}, "its deal_list is 'report'"),
        ({"target": 60}, "its options is"),
    ],
)
def test_blocks_of_another_benchmark_are_refused(change: dict[str, Any], message: str) -> None:
    report = bench("flip7", PLAYERS[:2], matches=10, **SHORT)
    with pytest.raises(ValueError, match=message):
        Bench.of("flip7", PLAYERS[:2], **{**SHORT, **change}).resume(report)


def test_a_damaged_report_is_refused(network: str) -> None:
    report = bench("flip7", [network, "random"], tables=[2], matches=10, **SHORT)
    it = Bench.of("flip7", [network, "random"], tables=[2], **SHORT)
    with pytest.raises(ValueError, match="its schema is None"):
        it.resume({})
    with pytest.raises(ValueError, match="no blocks"):
        it.resume(report | {"blocks": {}})
    broken = json.loads(json.dumps(report))
    broken["blocks"]["shards"][0]["shards"][0]["decisions"][0] += 1
    with pytest.raises(ValueError, match="its blocks are damaged"):
        it.resume(broken)

    def changed(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        """With another SHA-256, as if some other program had written it so."""
        other = json.loads(json.dumps(report))
        change(other["blocks"])
        return {**other, "blocks_sha256": digest(other["blocks"])}

    for value in ("eJw=", "?", 3):
        with pytest.raises(ValueError, match="damaged shard"):
            it.resume(changed(lambda blocks, value=value: blocks["shards"][0]["shards"][0].update(pairs=value)))  # type: ignore[misc]
    with pytest.raises(ValueError, match="damaged shard"):
        it.resume(changed(lambda blocks: blocks["shards"][0]["shards"][0].update(decisions=[10**30, 1])))
    with pytest.raises(ValueError, match=r"has a deal of .* twice"):
        it.resume(changed(lambda blocks: blocks["shards"][0]["shards"].extend(blocks["shards"][0]["shards"])))
    with pytest.raises(ValueError, match="was another player or another file then"):
        it.resume(changed(lambda blocks: blocks["players"][network].update(sha256="0" * 64)))
    other = Bench.of("flip7", {network: "count3", "random": "random"}, tables=[2], **SHORT)
    with pytest.raises(ValueError, match="was another player or another file then"):
        other.resume(report)
    assert report["results"]["players"][0]["kind"] == "checkpoint"
    assert len(report["results"]["players"][0]["sha256"]) == 64


# ---- what is counted


def test_a_pairing_is_a_duel(seed: int) -> None:
    """The block scores are those of play_matches on the same deals, both ways."""
    found = bench("flip7", ["count3", "risk24"], tables=[3], matches=90, seed=seed, **SHORT)
    there, back = (
        play_matches("flip7", [a, b, b], 30, seed=list_seed("report", seed), **SHORT).shares[:, :, 0].mean(axis=1) - 1 / 3
        for a, b in (("count3", "risk24"), ("risk24", "count3"))
    )
    entry = pair_of(found, "count3", "risk24")
    assert entry["blocks"] == 30
    assert entry["edge"] == pytest.approx((there - back).mean() / 2, abs=1e-6), f"seed {seed}"
    row = row_of(found, "count3")
    played = [play_matches("flip7", [*x], 30, seed=list_seed("report", seed), **SHORT) for x in
              (("count3", "risk24", "risk24"), ("risk24", "count3", "count3"))]  # fmt: skip
    margins = np.concatenate([played[0].margins[:, :, 0].ravel(), played[1].margins[:, :, 1:].ravel()])
    assert row["margin"] == pytest.approx(margins.mean(), abs=1e-5)
    points = np.concatenate([played[0].scores[:, :, 0].ravel(), played[1].scores[:, :, 1:].ravel()])
    assert row["points_per_match"] == pytest.approx(points.mean(), abs=1e-5)
    assert row["matches"] == 180
    assert np.mean(row["seats"]) == pytest.approx(row["win"], abs=1e-5)
    assert (row["fair"], row["illegal"], row["truncated"]) == (pytest.approx(1 / 3, abs=1e-6), 0, 0)


def test_shares_placements_and_margins_add_up() -> None:
    """Over a free-for-all all win shares sum to 1 a match; placements' mean is that of 1 … n; margins' is 0."""
    found = bench("pis_yedili", ["random", "high", "full"], tables=[4], matches=40, deals=1)
    rows = found["results"]["league"]
    seats = {row["player"]: row["decisions"] / row["decisions_per_match"] for row in rows}
    total = sum(seats.values())
    for key, mean in (("win", 1 / 4), ("placement", 2.5), ("margin", 0.0)):
        assert sum(row[key] * seats[row["player"]] for row in rows) / total == pytest.approx(mean, abs=1e-4), key


def test_equal_players_come_out_even(seed: int) -> None:
    found = bench("flip7", {"random": "random", "a": Uniform(), "twin": "random"}, matches=400, seed=seed, target=20)
    twins = pair_of(found, "random", "twin")
    assert (twins["edge"], twins["p"]) == (0.0, 1.0), "the same player twice"
    assert twins["low"] == -twins["high"] < 0.0
    for entry in found["results"]["cross"]:
        spread = (entry["high"] - entry["low"]) / 3.92
        assert abs(entry["edge"]) <= 4 * spread, f"seed {seed}: {entry}"
    for row in found["results"]["league"]:
        assert row["low"] - 30 <= 0 <= row["high"] + 30, f"seed {seed}: {row}"


@pytest.mark.parametrize(("target", "least"), [(20, 0.0), (100, 0.5)])
def test_duplicates_agree_with_independent_deals_and_print_their_variance(target: int, least: float, seed: int) -> None:
    """Independent: a deal of its own for each of the matches in a block. The same mean, and the variance that is printed."""
    n, count = 2, 3000
    found = pair_of(
        bench("flip7", ["risk24", "sum26"], tables=[n], matches=n * count, seed=seed, target=target), "risk24", "sum26"
    )
    shares = play_matches("flip7", ["risk24", "sum26"], n * count, seed=list_seed("tune", seed), target=target).shares[:, :, 0]
    alone = (shares[0::2, 0] + shares[1::2, 1]) / 2 - 1 / n
    variance = ((found["high"] - found["low"]) / 2 / 1.96) ** 2 * count
    error = (alone.var() / count + variance / count) ** 0.5
    assert abs(found["edge"] - alone.mean()) < 4 * error, f"seed {seed}"
    factor = found["variance_factor"]
    assert variance / alone.var() == pytest.approx(factor, abs=0.12), f"seed {seed}"
    assert least <= factor < 1.0, f"seed {seed}"


def test_who_does_not_play_the_same_again_is_named(network: str) -> None:
    moody, sound = "tests.arena_players:Moody()", "tests.arena_players:Uniform()"
    report = bench("flip7", [moody, sound, network, "exact", "random"], matches=20, tables=[2], **SHORT)
    assert report["header"]["irreproducible"] == [moody]
    assert f"NOT REPRODUCIBLE: {moody}" in markdown(report).replace("\\", "")
    assert "irreproducible" not in str(report["results"])


def test_every_playing_is_a_match_of_its_own() -> None:
    """What a player remembers belongs to a match: all rotations and line-ups of a deal have different numbers."""

    class Noting(First):
        def __init__(self) -> None:
            self.seen: dict[int, set[tuple[int, int]]] = {}

        def act(self, decisions: Decisions) -> NDArray[Any]:
            for match, seat in zip(decisions.match.tolist(), decisions.seat.tolist(), strict=True):
                self.seen.setdefault(match, set()).add((match, seat))
            return super().act(decisions)

    player = Noting()
    bench("flip7", {"me": player, "random": "random"}, tables=[3], matches=30, **SHORT)
    assert len(player.seen) == 2 * 30, "two line-ups of ten deals in three rotations"
    assert sorted({len(seats) for seats in player.seen.values()}) == [1, 2], "one among the others, and two"


# ---- failures


@pytest.mark.parametrize("kind", FAILURES)
def test_a_failure_loses_its_match_and_no_other(kind: str) -> None:
    """The matches without one go on as if the player were sound."""
    arguments: dict[str, Any] = {"matches": 120, "tables": [3], **SHORT}
    sound = Bench.of("flip7", {"it": First(), "random": "random"}, **arguments)
    failing = Bench.of("flip7", {"it": Failing(FAILURES[kind]), "random": "random"}, **arguments)
    for it in (sound, failing):
        it.play(Threads(it.benchmark.roster))
    report = failing.report()
    lost = row_of(report, "it")["illegal"]
    assert 0 < lost < 2 * 120, lost
    assert row_of(report, "random")["illegal"] == 0
    assert row_of(report, "it")["win"] < row_of(sound.report(), "it")["win"]
    assert all(told.startswith("it in deal ") for told in report["results"]["faults"])
    words = {"raises": "RuntimeError: no idea", "nan": "nan", "half": "0.5", "words": "not one integer"}.get(kind, "")
    assert all(words in told for told in report["results"]["faults"])
    assert f"{lost} matches lost by a failure" in markdown(report)
    lineup = ("it", "random", "random")
    [shard], [whole] = (it.benchmark.in_order(3, lineup)[:1] for it in (failing, sound))
    assert shard.faults.sum() == shard.faults[0] > 0
    hit = {int(m) for m in re.findall(r"in deal (\d+)", " ".join(shard.told))}
    assert hit
    assert (shard.shares.sum(axis=1) == shard.shares.sum(axis=1)[0]).all(), "somebody wins every match"
    same = (shard.margins == whole.margins).all(axis=1)
    assert same.sum() >= shard.deals - shard.faults.sum()
    assert not same[sorted(hit)].any()


def test_a_failure_every_time_loses_all() -> None:
    """Once among two others, who share the win; twice beside another: the first to move loses, and one is left to share."""
    nan = {"it": lambda decisions: np.full(len(decisions), np.nan), "random": "random"}
    found = bench("flip7", nan, matches=60, tables=[3])
    assert row_of(found, "random")["win"] == pytest.approx(1 / 2)
    assert row_of(found, "it")["win"] == pytest.approx((0 + 1 / 2) / 3, abs=1e-6)
    assert row_of(found, "it")["illegal"] == 120
    assert row_of(found, "it")["margin"] == 0.0
    assert pair_of(found, "it", "random")["edge"] == pytest.approx((-1 / 3 - 1 / 6) / 2, abs=1e-6)


# ---- arguments


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"players": ["random"]}, "two at least"),
        ({"players": ["random", "random"]}, "'random' is named twice"),
        ({"players": ["random", "coutn3"]}, "did you mean 'count3'"),
        ({"tables": [13]}, "option players = 13: allowed is 2 … 12"),
        ({"matches": 2}, "matches = 2: allowed is a whole number from 3"),
        ({"edge": 0.0}, "edge = 0.0"),
        ({"baseline": "ev"}, "unknown baseline 'ev'"),
        ({"until_sure": True, "players": ["ev(9)", "ev(8)"]}, "name a baseline"),
        ({"until_sure": True, "gate": "count3 > random"}, "gate: it is one-sided at a fixed number"),
        ({"gate": "count3 < random"}, "expected is 'PLAYER > BASELINE'"),
        ({"gate": "ev > random"}, "unknown player in the gate 'ev'"),
        ({"deal_list": "tun"}, "did you mean 'tune'"),
        ({"threads": 0}, "threads = 0: allowed is a whole number from 1"),
        ({"colour": 1}, "unknown option of flip7 'colour'"),
    ],
)
def test_bad_input_is_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        bench("flip7", **{"players": PLAYERS[:2], "tables": [2], **arguments})


@pytest.mark.parametrize("name", panels())
def test_panels_can_be_played(name: str) -> None:
    it, game = panel(name), card_envs.load_game(name)
    assert "random" in it.players
    assert it.deal_list == "report"
    for n in it.tables:
        for spec in it.players:
            resolve(spec, game, game.resolve({**it.options, "players": n}))
    with pytest.raises(ValueError, match="unknown panel"):
        panel("chess")


# ---- the command


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["bench", *map(str, arguments)], prog_name="card-envs")


QUICK = ("flip7", "random", "count3", "--matches", 200, "--option", "target=50")


def test_the_command_writes_everything(tmp_path: Path) -> None:
    json_file, md, png = tmp_path / "a.json", tmp_path / "a.md", tmp_path / "a.png"
    done = run(*QUICK, "--players", "2,3", "--json", json_file, "--markdown", md, "--plot", png, "--baseline", "random")
    assert done.exit_code == 0, done.output
    report = json.loads(json_file.read_text())
    assert report["schema"] == "card_envs.benchmark/1"
    assert report["results_sha256"] in done.stdout
    assert report["results_sha256"] == digest(report["results"])
    assert {"player", "rating", "low", "high", "win", "fair"} <= set(report["results"]["league"][0])
    assert {row["players"] for row in report["results"]["league"]} == {2, 3}
    assert set(report["timing"]["ms_per_decision"]["3"]) == {"random", "count3"}
    text = md.read_text()
    for words in ("League of 2 players", "Cross-table of 3 players", "Against random", "random at 0", report["results_sha256"]):
        assert words in text
        assert words in done.stdout
    assert png.read_bytes().startswith(b"\x89PNG")
    save_plot(report, tmp_path / "again.svg")  # from the JSON alone
    assert markdown(report) == text


def test_the_command_goes_on_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    assert run(*QUICK, "--json", file).exit_code == 0
    first = json.loads(file.read_text())
    again = run(*QUICK[:4], 400, *QUICK[5:], "--resume", file)
    assert again.exit_code == 0, again.output
    report = json.loads(file.read_text())
    assert report["timing"]["matches"] == 2 * 200, "no deal is played twice"
    assert report["header"]["resumed"]
    assert "part of it had been played before" in again.stdout
    assert report["results"] == bench("flip7", ["random", "count3"], matches=400, tables=[4], **SHORT)["results"]
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
    assert [e["lineup"] for e in json.loads(file.read_text())["blocks"]["shards"]] == [["count3", "random"]]


def test_ctrl_c_prints_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("card_envs.cli.bench.Threads", lambda roster, threads: Cut(Threads(roster, threads), 1))
    file = tmp_path / "a.json"
    done = run("flip7", *PLAYERS, "--matches", 200, "--option", "target=50", "--players", "2", "--json", file)
    assert done.exit_code == 130
    assert "cut short" in done.stdout
    assert_first_pair_reported(done, file)


def test_a_second_ctrl_c_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes while the report is made."""
    monkeypatch.setattr("card_envs.cli.bench.Threads", lambda roster, threads: Cut(Threads(roster, threads), 1, press))
    report = Bench.report

    def pressed(self: Bench, command: str) -> dict[str, Any]:
        press()
        return report(self, command)

    monkeypatch.setattr(Bench, "report", pressed)
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


def test_the_panel_fixes_what_is_played(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    done = run("pis_yedili", "full(0)", "--panel", "--matches", 8, "--players", "2", "--json", file)
    assert done.exit_code == 0, done.output
    results = json.loads(file.read_text())["results"]
    assert {row["player"] for row in results["league"]} == {"full(0)", *panel("pis_yedili").players}
    assert results["panel"] == {"version": panel("pis_yedili").version, "complete": False}
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
        (("flip7", "random", "count3", "--json", "x", "--markdown", "x"), "are to be different files"),
        (("flip7", "random", "tests.arena_players:broken()"), "raised KeyError: 'no such'"),
        (("flip7", "random", "tests.arena_players:Leaving(1)"), "raised SystemExit: 1"),
        (("flip7", "random", "random ", "--matches", "20"), "'random' is named twice"),
        (("flip7", "--ray", "ev"), "two at least"),
        (("flip7", "random", "count3", "--option", "players=3", "--players", "2"), "given twice"),
        (("flip7", "random", "count3", "--resume", "missing.json"), "missing.json: No such file"),
        (("flip7", "random"), "two at least"),
    ],
)
def test_the_command_names_bad_input(arguments: tuple[str, ...], message: str) -> None:
    done = run(*arguments)
    assert done.exit_code == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
