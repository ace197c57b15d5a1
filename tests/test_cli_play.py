"""``card-envs play``: matches at a terminal, against other players and other people."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import card_envs
from card_envs.cli.play import assign_seats
from card_envs.players import Decisions
from card_envs.players.checkpoint import save_network
from card_envs.players.human import Human
from tests import games
from tests.commands import assert_one_line, errors, every_game, quick_words, run, run_well
from tests.test_network import make_network


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
