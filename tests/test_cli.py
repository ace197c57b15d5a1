"""The command line: its commands but ``play`` and ``bench``, narrow outputs, and answers to wrong arguments."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import card_envs
from card_envs.cli import main
from tests import games
from tests.commands import assert_one_line, errors, every_game, run, run_well, write_record
from tests.helpers import GAMES


@pytest.fixture
def record(seed: int, tmp_path: Path) -> Path:
    return write_record("flip7", seed, tmp_path)


# ---- games, rules, version


def test_games_as_json_is_what_the_games_say() -> None:
    facts = json.loads(run_well("games", "--json"))
    assert [game["name"] for game in facts] == GAMES
    for fact in facts:
        game = card_envs.load_game(fact["name"])
        assert {o["name"]: o["default"] for o in fact["options"]} == game.resolve({})
        assert fact["observation"]["size"] == game.observation_size()
        assert fact["observation"]["fields"].keys() == game.observation_fields().keys()
        assert fact["actions"] == card_envs.table(game.name).action_mask().size
        assert [p["name"] for p in fact["policies"]] == [p.name for p in game.policies]


@every_game
def test_games_for_people_name_every_option_and_player(name: str) -> None:
    text = run_well("games")
    game = card_envs.load_game(name)
    for word in [*(o.name for o in game.options), *(p.name for p in game.policies), *game.aliases, game.id]:
        assert word in text


@every_game
def test_rules_show_every_number(name: str) -> None:
    letter, last = games.load(name).RULES
    ranges = re.findall(rf"\b{letter}(\d+)(?:–{letter}(\d+))?", run_well("rules", name))  # "F31", "F22–F24"
    numbers = {number for low, high in ranges for number in range(int(low), int(high or low) + 1)}
    assert numbers == set(range(1, last + 1))


@every_game
def test_rules_of_every_game_are_in_the_package(name: str) -> None:
    assert run_well("rules", name).startswith("# ")


def test_version_and_help() -> None:
    assert run_well("--version") == f"card-envs {card_envs.__version__}\n"
    for name in ("games", "rules", "play", "replay", "speed"):
        assert name in run_well()
        assert "Usage: card-envs" in run_well(name, "--help")


# ---- replay


@every_game
def test_replay_tells_every_action_and_the_end(name: str, seed: int, tmp_path: Path) -> None:
    record = write_record(name, seed, tmp_path)
    table = card_envs.replay(json.loads(record.read_text(encoding="utf-8")))
    text = run_well("replay", str(record))
    assert re.findall(r"^ *\d+  seat \d: (.+)$", text, re.MULTILINE) == table.actions
    assert text.endswith(f"\n{table}\n")
    assert text.count("deal ") >= len(table.deals)
    assert json.loads(run_well("replay", str(record), "--json")) == table.state()
    assert run_well("replay", str(record), "--step").count(f"{table.game.title} · ") == len(table.actions) + 1


BROKEN = {
    "nothing": b"",
    "no JSON": b"{,}",
    "no text": b"\xff\xfe\x00",
    "too deep": b"[" * 100_000,
    "a list": b"[1, 2]",
    "no record": b"{}",
    "another version": {"version": 99},
    "another game": {"game": "flip8"},
    "an unknown option": {"options": {"plyers": 3}},
    "an option out of range": {"options": {"players": 99}},
    "an illegal action": {"actions": ["draw", "fly"]},
    "an identity that is none": {"identity": [1]},
    "a start that is none": {"start": "AAAA"},
}


@pytest.mark.parametrize("what", BROKEN)
def test_replay_of_a_broken_file_is_one_line(what: str, record: Path) -> None:
    broken = BROKEN[what]
    if isinstance(broken, bytes):
        record.write_bytes(broken)
    else:
        record.write_text(json.dumps(json.loads(record.read_text(encoding="utf-8")) | broken), encoding="utf-8")
    result = run("replay", str(record))
    assert_one_line(result)
    assert str(record) in errors(result)


# ---- outputs that cannot print everything


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1"])
@pytest.mark.parametrize(
    "command", ["rules flip7", "rules rummy", "games", "play pis_yedili --seed 1", "play --help", "risk odds 3", "rules flip"]
)
def test_output_in_a_narrow_encoding_has_replacements(command: str, encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Issue 11, clients: ``rules``, ``games`` and ``play`` died of a UnicodeEncodeError."""
    run(*command.split(), answers="1\nquit\n")  # the note that a cold cache is being filled comes once
    narrow, full = (run_encoded(command.split(), each, monkeypatch) for each in (encoding, "utf-8"))
    assert narrow[0] == full[0] == (2 if command == "rules flip" else 0)
    for got, expected in zip(narrow[1:], full[1:], strict=True):
        assert got == expected.decode("utf-8").encode(encoding, "replace")


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "utf-8"])
def test_json_in_a_narrow_encoding_is_escaped(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _, output, _ = run_encoded(["games", "--json"], encoding, monkeypatch)
    assert json.loads(output.decode(encoding)) == json.loads(run_well("games", "--json"))


def test_a_process_with_a_narrow_output_ends_well() -> None:
    """What the shell starts is the same."""
    code = "import sys; sys.argv = ['card-envs', 'rules', 'flip7']; from card_envs.cli import main; main()"
    environment = os.environ | {"PYTHONIOENCODING": "cp1252"}
    text = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment, check=True).stdout
    assert text.startswith(b"# Flip 7")


def run_encoded(words: Sequence[str], encoding: str, monkeypatch: pytest.MonkeyPatch) -> tuple[int, bytes, bytes]:
    """Run the installed script with outputs of an encoding; return its exit code and what it printed."""
    outputs = [io.BytesIO(), io.BytesIO()]
    with monkeypatch.context() as patch:
        for name, output in zip(("stdout", "stderr"), outputs, strict=True):
            patch.setattr(sys, name, io.TextIOWrapper(output, encoding=encoding, newline="\n", write_through=True))
        patch.setattr(sys, "stdin", io.StringIO("1\nquit\n"))
        patch.setattr(sys, "argv", ["card-envs", *words])
        patch.setenv("COLUMNS", "100")
        with pytest.raises(SystemExit) as end:
            main()
        return int(end.value.code or 0), outputs[0].getvalue(), outputs[1].getvalue()


# ---- speed

TINY = ["--rows", "1,3", "--repeat", "2", "--seconds", "0", "--no-peers"]


@every_game
def test_speed_measures_every_interface(name: str) -> None:
    report = json.loads(run_well("speed", name, *TINY, "--players", "2", "--json"))
    assert report["players"] == 2
    assert report["repeat"] == 2
    measured = {(result["name"], result["what"]) for result in report["results"]}
    for interface in ("AEC raw_env", "AEC env", "Batch.step", "Batch.playout", "Gymnasium vector", "SB3 VecEnv"):
        assert any(what == f"{name} {interface}" for what, _ in measured)
    assert {(f"{name} Batch.step", "1 rows, 1 thread"), (f"{name} Batch.step", "3 rows, 1 thread")} <= measured
    for result in report["results"]:
        assert 0 < result["min"] <= result["median"] <= result["max"]
        assert result["ratio"] is None


def test_speed_for_people_says_how_it_was_measured() -> None:
    text = run_well("speed", "flip7", *TINY)
    assert "medians of 2 repetitions" in text
    assert "Batch.step" in text


def test_speed_beside_another_library() -> None:
    pytest.importorskip("pyspiel")
    arguments = ["--rows", "64", "--repeat", "1", "--seconds", "0", "--json"]
    results = {result["name"]: result for result in json.loads(run_well("speed", "flip7", *arguments))["results"]}
    step, peer = results["flip7 Batch.step"], results["OpenSpiel crazy_eights, loop"]
    assert step["peer"] == peer["name"]
    assert step["ratio"] == pytest.approx(step["median"] / peer["median"])


# ---- what goes wrong


WRONG = {
    "gamez": "games",
    "games --jason": "--jason",
    "rules": "GAME",
    "rules flip": "'flip7'",
    "play": "GAME",
    "play flip8": "'flip7'",
    "play flip7 --against evv": "'ev'",
    "play flip7 --against ev,": "player ''",
    "play flip7 --against ev(1": "ev(1",
    "play flip7 --against 'ev": "the quote before 'ev' is not closed",
    "play flip7 --against nowhere.safetensors": "nowhere.safetensors",
    "play flip7 --against no_such_module:f": "no_such_module",
    "play flip7 --against ev,ev --players 4": "2 players are named, but a table for 4 needs 3",
    "play flip7 --seat 4": "0 … 3",
    "play flip7 --seat -1": "0 … 3",
    "play flip7 --players 13": "2 … 12",
    "play flip7 --option brutal=perhaps": "true or false",
    "play flip7 --option brutel=true": "'brutal'",
    "play pis_yedilli": "'pis_yedili'",
    "play pis_yedili --players 7": "2 … 6",
    "play pis_yedili --option club_lapp=true": "'club_lap'",
    "play pis_yedili --option deals=0": "1 … ",
    "play pis_yedili --against hihg": "'high'",
    "play rumy": "'rummy'",
    "play rummy --players 5": "2 … 4",
    "play rummy --option variant=rummy50": "'rummy500'",
    "play rummy --option pile=spred": "top or spread",
    "play rummy --option limt=true": "'limit'",
    "play flip7 --option target=many": "1 … ",
    "play flip7 --option target=0": "1 … ",
    "play flip7 --option target": "NAME=VALUE",
    "play flip7 --option target=5 --option target=6": "twice",
    "play flip7 --option players=3 --players 4": "twice",
    "play flip7 --seed x": "--seed",
    "play flip7 --seed -1": "0 to 2**256",
    "play flip7 --save /dev/null/record.json": "/dev/null/record.json",
    "replay": "FILE",
    "replay nowhere.json": "nowhere.json",
    "replay .": ".",
    "speed flip8": "'flip7'",
    "speed --players 1": "2 … 12",
    "speed --rows 0": "from 1",
    "speed --rows many": "from 1",
    "speed --repeat 0": "--repeat",
}


@pytest.mark.parametrize("command", WRONG)
def test_wrong_arguments_are_one_line(command: str) -> None:
    result = run(*command.split(), answers="")
    assert_one_line(result)
    assert WRONG[command] in errors(result)
