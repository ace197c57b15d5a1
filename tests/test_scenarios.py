"""Every scenario of tests/cases/*.json: a deck in a given order, actions, and how the table must lie after them."""

from __future__ import annotations

import json
import re
from collections import Counter
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

import card_envs
from tests import games
from tests.helpers import GAMES, label

CASES = Path(__file__).parent / "cases"
KEYS = {"id", "rule", "also", "title", "why", "game", "options", "deck", "play", "expect", "legal", "illegal"}
PER_SEAT = ("hands", "lines", "void", "laid", "known")  # lists of cards whose order is not compared
UNORDERED = ("discard",)

FILES = sorted(CASES.glob("*.json"))
SCENARIOS: list[dict[str, Any]] = [
    case for file in FILES for case in json.loads(file.read_text("utf-8")) if case["game"] in GAMES
]


def comparable(key: str, value: Any) -> Any:
    """A value of ``state()`` or ``expect`` without any order that does not matter."""
    if key in PER_SEAT:
        return [Counter(cards) for cards in value]
    return Counter(value) if key in UNORDERED else value


@pytest.mark.parametrize("interpreted", [False, True], ids=["compiled", "interpreted"])
@pytest.mark.parametrize("case", SCENARIOS, ids=lambda case: label(case["id"]))
def test_scenario(case: dict[str, Any], interpreted: bool) -> None:
    table = card_envs.table(case["game"], seed=3, deck=case["deck"], interpreted=interpreted, **case["options"])
    for action in case["play"]:
        table.play(action)
    state = table.state()
    story = f"{case['id']} ({case['rule']}) {case['title']} – {case['why']}"
    reached = {key: comparable(key, state[key]) for key in case["expect"]}
    assert reached == {key: comparable(key, value) for key, value in case["expect"].items()}, story
    legal = table.legal_actions()
    assert len(set(legal)) == len(legal), story
    if "legal" in case:
        assert set(legal) == set(case["legal"]), story
    played = list(table.actions)
    for action in case.get("illegal", ()):
        with pytest.raises(card_envs.IllegalAction):
            table.play(action)
        assert table.state() == state, f"{action!r} changed the table: {story}"
    assert table.actions == played, story


def test_scenarios_are_well_formed() -> None:
    ids = Counter(case["id"] for case in SCENARIOS)
    assert [name for name, count in ids.items() if count > 1] == []
    for case in SCENARIOS:
        assert set(case) <= KEYS, case["id"]
        assert case["expect"], case["id"]
        assert len(case["why"]) > 3, case["id"]


def list_rules(game: str) -> set[str]:
    """List the rule numbers of a game's RULES.md, with ranges spelled out and without those that it calls unused."""
    text = resources.files(card_envs.load_game(game).module).joinpath("RULES.md").read_text("utf-8")
    text = re.sub(r"\(([A-Z]\d+(, | and )?)+ are not used\.\)", "", text)
    letter = games.load(game).RULES[0]
    numbers = set(re.findall(rf"\b{letter}\d+\b", text))
    for first, last in re.findall(rf"\b{letter}(\d+)[–-]{letter}(\d+)\b", text):
        numbers |= {f"{letter}{number}" for number in range(int(first), int(last) + 1)}
    return numbers


@pytest.mark.parametrize("game", GAMES)
def test_every_rule_has_a_scenario(game: str) -> None:
    told = {rule for case in SCENARIOS if case["game"] == game for rule in [case["rule"], *case.get("also", ())]}
    rules = list_rules(game)
    assert len(rules) > 10
    assert rules - told == set(), "rules that no scenario names"
    assert told - rules == set(), "scenarios of rules that RULES.md does not hold"
