"""The command ``card-envs bench``: what it prints, writes and refuses."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import card_envs
from card_envs.arena import Benchmark, derive_list_seed, load_panel, play_duel, run_benchmark
from card_envs.arena.report import format_markdown, save_picture
from card_envs.arena.results import hash_json
from card_envs.arena.workers import Threads
from card_envs.cli import app
from card_envs.players import Decisions, resolve
from tests.benchmarks import PLAYERS, SHORT, Cut, lose_the_cluster, press
from tests.helpers import GAMES


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

    monkeypatch.setattr("card_envs.cli.bench.write_file", full)
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
