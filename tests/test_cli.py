"""The command line: every command, and its answers to wrong arguments."""

from __future__ import annotations

import io
import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import card_envs
from card_envs.cli import app, main
from card_envs.cli.play import assign_seats
from card_envs.players import Decisions
from card_envs.players.human import Human, Quit
from card_envs.players.network import save_network
from tests import games
from tests.helpers import GAMES, play_on, quick, short
from tests.test_network import make_network

every_game = pytest.mark.parametrize("name", GAMES)


def run(*arguments: str, answers: str | None = None) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=answers, prog_name="card-envs")


def run_well(*arguments: str, answers: str | None = None) -> str:
    result = run(*arguments, answers=answers)
    assert result.exit_code == 0, f"card-envs {arguments}: {result.output}"
    output: str = result.stdout
    return output


def errors(result: Any) -> str:
    """What went to stderr, except notes that a cold cache is being filled."""
    return "".join(line for line in result.stderr.splitlines(True) if not line.startswith("card_envs: compiling "))


def write_record(name: str, seed: int, folder: Path) -> Path:
    """Write a random match, played to its end, into a file."""
    table = card_envs.table(name, seed=seed, **quick(name, {"players": 3}))
    for _ in play_on(table, random.Random(seed), eager=0.5):
        pass
    file = folder / "record.json"
    file.write_text(json.dumps(table.record()), encoding="utf-8")
    return file


def quick_words(name: str) -> list[str]:
    """The options of a very short match, as they are given on the command line."""
    return [word for option, value in quick(name, {}).items() for word in ("--option", f"{option}={value}")]


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


# ---- play


@every_game
def test_play_to_the_end_saves_a_record_of_what_was_played(name: str, seed: int, tmp_path: Path) -> None:
    file, others = tmp_path / "match.json", games.load(name).OPPONENTS
    seats = ["--seat", "1", "--against", ",".join(others), "--seed", str(seed), "--save", str(file)]
    text = run_well("play", name, *seats, *quick_words(name), answers="1\n" * 400)
    table = card_envs.replay(json.loads(file.read_text(encoding="utf-8")))
    assert table.is_over
    assert table.players == 3
    assert table.identity == (seed, 0, 0)
    assert text.endswith(f"{table}\nseed {seed}\n")
    told = re.findall(r"^(?:seat 1> )*seat (\d) \((\w+)\): (.+)$", text, re.MULTILINE)
    assert {(seat, who) for seat, who, _ in told} <= {("0", others[1]), ("2", others[0])}
    again = card_envs.replay(table.record() | {"actions": []})
    theirs = []
    for action in table.actions:
        if again.to_move != 1:
            theirs.append((str(again.to_move), action))
        again.play(action)
    assert [(seat, action) for seat, _, action in told] == theirs
    assert theirs


def test_play_takes_actions_by_word_and_tells_what_is_wrong(seed: int) -> None:
    answers = "fly\n?\n99\n0\ndraw\nquit\n"
    text = run_well("play", "flip7", "--players", "2", "--against", "random", "--seed", str(seed), answers=answers)
    assert "'fly' is not a legal action here" in text
    assert "'99' is not a legal action here" in text
    assert "'0' is not a legal action here" in text
    assert re.search(r"p_bust \(.+\): seat 0 \d+\.\d%, seat 1 \d+\.\d%", text)
    assert "left unfinished" in text


@every_game
def test_play_without_input_ends_politely(name: str, seed: int, tmp_path: Path) -> None:
    file = tmp_path / "match.json"
    assert "left unfinished" in run_well("play", name, "--seed", str(seed), "--save", str(file), answers="")
    players = card_envs.load_game(name).resolve({})["players"]
    assert card_envs.replay(json.loads(file.read_text(encoding="utf-8"))).players == players


def test_play_interrupted_by_the_keyboard_ends_politely(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: Human, decisions: Decisions) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Human, "act", interrupted)
    result = run("play", "flip7", "--seed", str(seed))
    assert result.exit_code == 130
    assert "left unfinished" in result.stdout
    assert not errors(result)


@every_game
def test_several_people_at_one_table(name: str, seed: int) -> None:
    text = run_well("play", name, "--against", "human,human", "--seed", str(seed), *quick_words(name), answers="1\n" * 400)
    for seat in range(3):
        assert f"seat {seat}> " in text
    assert "over: seat" in text


@pytest.mark.parametrize("quote", ["'", '"'])
def test_play_takes_a_path_with_a_comma_in_quotes(quote: str, seed: int, tmp_path: Path) -> None:
    """Issue 11, clients: a path with a comma was split into two players."""
    file = tmp_path / "a, b's.safetensors" if quote == '"' else tmp_path / "a,b.safetensors"
    save_network(file, make_network(seed))
    arguments = ["--players", "2", "--seed", str(seed), "--seat", "1"]
    text = run_well("play", "flip7", "--against", f"{quote}{file}{quote}", *arguments, answers="1\n" * 4)
    assert f"seat 0 ({file}): " in text
    assert_one_line(run("play", "flip7", "--against", f"{quote}{file}", *arguments))


def test_the_others_sit_clockwise_from_the_person() -> None:
    assert assign_seats(["a", "b", "c"], 2, 4) == ["b", "c", "human", "a"]
    assert assign_seats(["a"], 1, 3) == ["a", "human", "a"]


# ---- the player at a terminal


def ask_human(table: card_envs.Table, answers: Sequence[str]) -> tuple[int, list[str]]:
    told: list[str] = []
    lines = iter(answers)
    human = Human(ask=lambda prompt: next(lines), tell=told.append)
    action = human.act(Decisions.at(table))
    return int(action[0]), told


@every_game
def test_human_plays_every_legal_action_by_number_and_by_word(name: str, seed: int) -> None:
    table = card_envs.table(name, seed=seed)
    rng = random.Random(seed)
    seats = set()
    for _, _ in zip(range(60), play_on(table, rng, eager=0.5)):
        legal = table.legal_actions()
        seats.add(table.to_move)
        for number, action in enumerate(legal, 1):
            assert table.action_string(ask_human(table, [str(number)])[0]) == action, f"seed {seed}"
            assert table.action_string(ask_human(table, [f" {action} "])[0]) == action, f"seed {seed}"
    assert seats == set(range(table.players))


@pytest.mark.parametrize("name", [name for name in GAMES if "hands" in card_envs.table(name, seed=0).state()])
def test_play_shows_no_card_of_another_hand(name: str, seed: int) -> None:
    """No hidden card is ever on the screen while the match goes on."""
    options = short(name, games.load(name).FORCED)
    table = card_envs.table(name, seed=seed, **options)
    for action in play_on(table, random.Random(seed), eager=0.5):
        seat = table.to_move
        assert seat is not None
        state = table.state()
        _, told = ask_human(table, ["?", action])
        assert told[0].strip() == str(table.picture(seat)), f"seed {seed}"
        assert told[2] == f"{name} has no odds to show"
        hidden = {*state["deck"], *(card for other, hand in enumerate(state["hands"]) if other != seat for card in hand)}
        hidden -= {card for cards in state.get("known", []) for card in cards}
        assert hidden.isdisjoint(re.findall(r"\b[A2-9TJQK][cdhs]\b", "\n".join(told))), f"seed {seed}\n{table}"


def test_human_sees_the_table_from_their_seat_and_the_true_odds(seed: int) -> None:
    table = card_envs.table("flip7", players=3, seed=seed)
    for action in play_on(table, random.Random(seed), eager=0.9):
        if table.deals:
            break
        seat = table.to_move
        assert seat is not None
        before = table.state()
        _, told = ask_human(table, ["odds", action])
        assert told[0].strip() == str(table.picture(seat)), f"seed {seed}"
        # counted by hand: the fraction of the cards in the deck that repeat a number of the line
        shown = [float(percent) / 100 for percent in re.findall(r"([\d.]+)%", told[2])]
        assert shown == pytest.approx([bust_chance(before, other) for other in range(3)], abs=0.0006), f"seed {seed}\n{table}"
        assert table.state() == before
    assert table.deals, f"seed {seed}"


def bust_chance(state: dict[str, Any], seat: int) -> float:
    """F22, F28, F30, counted plainly: the probability that the next card of the deck busts the seat."""
    value = {"lucky13": "13", "unlucky7": "7"}
    line = state["lines"][seat]
    held = [value.get(card, card) for card in line]
    if state["status"][seat] == "busted":
        return 0.0

    def busts(card: str) -> bool:
        if card == "unlucky7" or not (card.isdecimal() or card == "lucky13"):
            return False
        same = held.count(value.get(card, card))
        lucky = "lucky13" in [*line, card]
        return same >= (2 if lucky and value.get(card, card) == "13" else 1)

    return sum(map(busts, state["deck"])) / max(1, len(state["deck"]))


@pytest.mark.parametrize("columns", [80, 40, 132, None])
def test_human_s_choices_fit_the_terminal(columns: int | None, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Issue 11, clients: they were wrapped at 100 columns, whatever the terminal has."""
    if columns is None:  # neither a terminal nor COLUMNS
        monkeypatch.delenv("COLUMNS", raising=False)
        monkeypatch.setattr("sys.__stdout__", None)
    else:
        monkeypatch.setenv("COLUMNS", str(columns))
    table = card_envs.table("flip7", players=12, seed=seed)
    for _ in play_on(table, random.Random(seed), eager=0.9):
        if len(table.legal_actions()) >= 10:
            break
    told = ask_human(table, ["1"])[1][-1].splitlines()
    longest = max(len(f"{number} {action}") for number, action in enumerate(table.legal_actions(), 1))
    assert max(map(len, told)) <= (columns or 80)
    assert max(map(len, told)) > (columns or 80) - longest - len("   ")  # the width is used
    assert "".join(told).replace(" ", "") == "".join(f"{n}{a}" for n, a in enumerate(table.legal_actions(), 1)).replace(" ", "")


def test_human_who_quits(seed: int) -> None:
    with pytest.raises(Quit):
        ask_human(card_envs.table("flip7", seed=seed), ["quit"])


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


def assert_one_line(result: Any) -> None:
    assert result.exit_code == 2, result.output
    assert re.fullmatch(r"card-envs: [^\n]+\n", errors(result)), result.stderr
    assert isinstance(result.exception, SystemExit)  # no other exception came through
    assert not result.stdout


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
