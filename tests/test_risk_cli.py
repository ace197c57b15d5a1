"""``card-envs risk …`` as it is typed."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import card_envs
from card_envs.cli import app
from card_envs.risk import CAVEAT
from tests.risk_helpers import cache_folder

FIGURES = {"mean", "sd", "bust", "flip7"}


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        path = cache_folder(tmp_path_factory)
        patch.setenv("CARD_ENVS_CACHE", str(path))
        patch.chdir(path)
        yield path


def run(*words: str, code: int = 0, text: str | None = None) -> str:
    result = CliRunner().invoke(app, ["risk", *words], input=text)
    assert result.exit_code == code, result.output
    return result.stdout if code == 0 else result.stderr


def read(*words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(*words, "--json"))
    return found


def test_solve() -> None:
    found = read("solve", "--model", "base")
    assert FIGURES | {"states", "seconds"} <= found.keys()
    assert f"{found['mean']:.4f}" == "18.5652"
    assert found["caveat"] == CAVEAT
    assert read("solve", "--model", "base")["cached"]
    assert CAVEAT in run("solve", "--model", "plain")
    assert next(csv.DictReader(io.StringIO(run("solve", "--model", "plain", "--csv"))))["states"] == "9908"


def test_odds_of_a_line() -> None:
    found = read("odds", "3 9 12 lucky13", "--gone", "12 12 5")
    assert found["bust"] == 19 / 101
    assert [row["draws"] for row in found["draws"]] == [1, 2, 3, 4]
    assert found["advice"] == "stay"
    assert CAVEAT in run("odds", "3 9")
    assert len(list(csv.DictReader(io.StringIO(run("odds", "3 9", "--csv", "--draws", "2"))))) == 2


def test_odds_of_a_recorded_table_and_its_review(folder: Path) -> None:
    table = card_envs.table("flip7", seed=1, deck=["13", "1", "12", "11"], players=2)
    for action in ("draw", "stay", "draw"):
        table.play(action)
    file = folder / "match.json"
    file.write_text(json.dumps(table.record()))
    rows = read("odds", "--record", str(file), "--at", "1")["rows"]
    assert [row["line"] for row in rows] == [["12", "13"], ["1"]]
    assert rows[0]["bust"] == (11 + 11) / 105
    found = read("review", str(file))
    assert found["choices"] == 3
    assert found["rows"][0]["line"] == ["1"]  # the worst first: to stay with a 1
    assert found["loss"]["0"] == pytest.approx(sum(row["loss"] for row in found["rows"] if row["seat"] == 0))
    assert "win" in run("review", str(file), "--unit", "win")
    assert len(list(csv.DictReader(io.StringIO(run("review", str(file), "--csv", "--worst", "0"))))) == 3


@pytest.mark.parametrize("by", ["sum", "risk", "cards"])
def test_sweep_with_a_picture(by: str, folder: Path) -> None:
    found = json.loads(run("sweep", by, "--plot", "--json"))
    assert found["rows"][0].keys() >= FIGURES
    assert (folder / f"risk-sweep-{by}.png").stat().st_size > 5000
    best = max(found["rows"], key=lambda row: row["mean"])
    assert best["threshold"] == found["best"]


def test_solo_figures_beside_the_real_table() -> None:
    found = read("solve", "--model", "plain", "--real", "2", "--rounds", "50")
    assert (found["n"], found["seed"], found["player"]) == (50, 0, "exact")
    rows = read("sweep", "cards", "--real", "2", "--others", "count3", "--rounds", "50")["rows"]
    assert [row["player"] for row in rows[:2]] == ["count(1)", "count(2)"]
    assert "[" in rows[0]["real_mean"]


def test_frontiers_with_pictures(folder: Path) -> None:
    found = json.loads(run("frontier", "--json", "--out", "bust.svg", "--player", "ev", "--rounds", "50"))
    assert (folder / "bust.svg").read_text().lstrip().startswith("<?xml")
    assert all(row["below"] >= 0.0 for row in found["rows"])
    assert found["real"][0]["rounds"] == 50
    assert "cvar50" in run("frontier", "--cvar", "0.5")
    rows = list(csv.DictReader(io.StringIO(run("frontier", "--model", "base", "--cvar", "0.3", "--csv"))))
    assert all(float(row["cvar30"]) >= 0.0 for row in rows)  # the rules beside the frontier too


def test_race(folder: Path) -> None:
    found = json.loads(run("race", "--target", "20", "--step", "5", "--json", "--plot"))
    assert {"win", "rounds_points", "rounds_fewest", "seconds"} <= found.keys()
    assert [row["mine"] for row in found["rows"][:5]] == [0, 0, 0, 0, 5]
    assert (folder / "risk-race.png").exists()
    assert read("race", "--target", "20")["cached"]


def test_table_beside_the_real_table() -> None:
    found = read("table", "--model", "plain", "--real", "2", "--rounds", "50")
    names = [row["strategy"] for row in found["rows"]]
    assert names[0] == "optimal"
    assert names[-2:] == ["ev", "racer"]
    assert found["n"] == 50
    assert "[" in found["rows"][0]["real_mean"]
    assert "one_step" in run("table", "--model", "plain")


def test_reach() -> None:
    rows = read("reach", "--targets", "20,34")["rows"]
    assert [row["target"] for row in rows] == [20, 34]
    assert rows[0]["chance"] > rows[1]["chance"]
    assert read("reach", "--targets", "12", "--line", "3 9")["rows"][0]["chance"] == 1.0


def test_losses() -> None:
    found = read("losses", "count3", "--players", "2", "--matches", "20")
    assert found["mean"] > 0.0
    assert len(found["rows"]) == 10


def test_advise_as_cards_fall() -> None:
    out = run("advise", text="0 13 12\n1 5 5\nfoo\nundo\n0 0\nquit\n")
    assert "points: stay" in out
    assert "winning:" in out
    assert "'foo': expected is a seat" in out
    assert "Zero must draw" in out
    answer = json.loads(run("advise", "--json", text="0 2 3\n"))
    assert answer["advice"]["advice"] == "draw"
    assert answer["seats"][0]["line"] == ["2", "3"]
    assert "advice" in run("advise", "--csv", text="0 2 3\n")
    rows = list(csv.DictReader(io.StringIO(run("advise", "--csv", text="0 2 2\n"))))
    assert [row["status"] for row in rows] == ["busted", "active"]
    assert [row["bust"] for row in rows] == ["", "0.0"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("solve", "--model", "full"), "unknown model 'full'"),
        (("odds", "3 3"), "a second 3 busts"),
        (("odds", "3", "--gone", "3 3 3"), "the deck has 3 of it"),
        (("odds", "3", "--gone", "12:-2"), "'-2' is no count"),
        (("odds",), "either a line"),
        (("odds", "3", "--draws", "0"), "draws = 0"),
        (("sweep", "cars"), "did you mean 'cards'"),
        (("race", "--model", "special"), "base and plain"),
        (("reach", "--targets", "x"), "targets = 'x'"),
        (("frontier", "--cvar", "2"), "alpha = 2.0"),
        (("review", "nowhere.json"), "nowhere.json"),
        (("losses", "exakt"), "did you mean 'exact'"),
        (("table", "--real", "1"), "--real"),
    ],
)
def test_bad_input_is_one_line(words: tuple[str, ...], message: str) -> None:
    error = run(*words, code=2)
    assert message in error
    assert error.startswith("card-envs: ")
    assert error.count("\n") == 1
