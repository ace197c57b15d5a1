"""Flip 7's own: the pack, the action space, and the observation, decoded back into what ``state()`` says."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import card_envs
from card_envs import Table
from card_envs.engine.rows import open_row
from tests.helpers import all_options, label, play_on
from tests.reference.flip7 import ACTIONS, MODIFIERS, NUMBERS, PACK, VALUE

GAME = card_envs.load_game("flip7")
LINE_CARDS = NUMBERS + MODIFIERS
GIVEN = MODIFIERS + ACTIONS
PHASES = ["turn", "give", "pick", "bonus"]


def test_the_pack() -> None:
    """F1, F2: 108 cards, named one by one."""
    assert dict(zip(GAME.cards, GAME.copies)) == {
        "0": 1, "1": 1, "2": 2, "3": 3, "4": 4, "5": 5, "6": 6, "7": 6, "unlucky7": 1, "8": 8, "9": 9, "10": 10,
        "11": 11, "12": 12, "13": 12, "lucky13": 1, "just_one_more": 2, "flip_four": 2, "discard": 2, "steal": 2,
        "swap": 2, "-2": 1, "-4": 1, "-6": 1, "-8": 1, "-10": 1, "/2": 1,
    }  # fmt: skip
    assert sum(GAME.copies) == 108
    assert GAME.phases == (*PHASES, "over")
    assert GAME.players == range(2, 13)


@pytest.mark.parametrize("card", GAME.cards)
def test_one_card_too_many(card: str) -> None:
    count = GAME.copies[GAME.cards.index(card)]
    assert card_envs.table("flip7", deck=[card] * count).order[:count] == [card] * count
    with pytest.raises(ValueError, match=f"deck: '{card}' is named more than {count} time"):
        card_envs.table("flip7", deck=[card] * (count + 1))


def test_action_indices_count_seats_from_the_mover() -> None:
    """An index means the same for every mover and any number of players: him, his left neighbour, and so on."""
    for players in GAME.players:
        for seat in range(players):
            assert GAME.action_index("draw", seat, players) == 0
            assert GAME.action_index("stay", seat, players) == 1
            for distance in range(players):
                other = (seat + distance) % players
                for string in ("give {}", "bonus {}", "pick {} 13", "pick {} lucky13", "pick {} /2", "pick {} -10"):
                    index = GAME.action_index(string.format(other), seat, players)
                    assert index == GAME.action_index(string.format(distance), 0, 12)
        assert GAME.num_actions(players) == 2 + players * (2 + len(LINE_CARDS))


@pytest.mark.parametrize(
    "string",
    [
        "", "0", "1", "Draw", "draw ", " draw", "draw\n", "stay 0", "give", "give  1", "give +1", "give 01", "give 1.0",
        "give -1", "give ４", "give 4", "give one", "give\t1", "give 1\x00", "pick 1", "pick 1 ", "pick 1 14",
        "pick 1 013", "pick 1 draw", "pick 1 swap", "pick 1 13 ", "pick  1 13", "pick 13 1", "pick 4 5", "bonus",
        "bonus 4", "bonus +15",
    ],
)  # fmt: skip
def test_strings_that_are_no_actions(string: str) -> None:
    assert GAME.action_index(string, 0, 4) is None
    table = card_envs.table("flip7", deck=["5", "9", "12", "10"])
    state = table.state()
    with pytest.raises(card_envs.IllegalAction):
        table.play(string)
    assert table.state() == state


# ---- the observation


def busts(line: list[str], card: str) -> bool:
    """Whether a number card busts a player with this line (F22, F28, F30), counted anew."""
    if card not in NUMBERS or card == "unlucky7":
        return False
    numbers = [*(other for other in line if other in NUMBERS), card]
    alike = [other for other in numbers if VALUE[other] == VALUE[card]]
    return len(alike) > (2 if "lucky13" in alike else 1)


def line_points(line: list[str], status: str, brutal: bool, flips: bool) -> int:
    """F39 without the 15, F31, F41, F42, F44."""
    minus = sum(int(card) for card in line if card.startswith("-"))
    if status == "busted":
        return minus
    if "0" in line and not flips:
        return 0
    points = sum(VALUE[card] for card in line if card in NUMBERS)
    points = (points // 2 if "/2" in line else points) + minus
    return points if brutal else max(points, 0)


def facts(state: dict[str, Any], seat: int) -> dict[str, Any]:
    """What the observation of ``seat`` must say, in plain figures, from ``state()`` alone."""
    players, options = state["players"], state["options"]
    seats = [(seat + distance) % players for distance in range(players)]
    flipper = state["to_move"] if state["phase"] == "bonus" else None
    source = state["deck"] or state["discard"]  # F7: the next card's
    waiting: Counter[int] = Counter()
    queued: Counter[str] = Counter()
    for action in state["open"]:
        waiting[action["receiver"]] += len(action["queue"])
        queued.update(action["queue"])
    return {
        "phase": [float(state["phase"] == phase) for phase in PHASES],
        "resolving": [float(state["resolving"] == card) for card in GIVEN],
        "picked": [float((state["picked"] or [None, None])[1] == card) for card in LINE_CARDS],
        "open": [float(sum(action["card"] == card for action in state["open"])) for card in ACTIONS],
        "queue": [float(queued[card]) for card in GIVEN],
        "unseen": [float(state["deck"].count(card)) for card in GAME.cards],
        "discard": [float(state["discard"].count(card)) for card in GAME.cards],
        "deck": [float(len(state["deck"]))],
        "round": [float(state["deal"])],
        "line": [[float(card in state["lines"][s]) for card in LINE_CARDS] for s in seats],
        "line_score": [
            float(line_points(state["lines"][s], state["status"][s], options["brutal"], s == flipper)) for s in seats
        ],
        "total": [float(np.clip(state["totals"][s], -2 * options["target"], 2 * options["target"])) for s in seats],
        "p_bust": [
            0.0 if state["status"][s] == "busted"
            else float(Fraction(sum(busts(state["lines"][s], card) for card in source), len(source)))
            for s in seats
        ],
        "status": [[float(state["status"][s] == status) for status in ("active", "stayed", "busted")] for s in seats],
        "to_move": [float(s == state["to_move"]) for s in seats],
        "turn": [float(s == state["turn"]) for s in seats],
        "dealer": [float(s == state["dealer"]) for s in seats],
        "undealt": [float(s in state["undealt"]) for s in seats],
        "last_card": [
            float(any(a["card"] == "just_one_more" and a["receiver"] == s for a in state["open"])) for s in seats
        ],
        "waiting": [float(waiting[s]) for s in seats],
        "picked_from": [float((state["picked"] or [None])[0] == s) for s in seats],
    }  # fmt: skip


def check_observation(table: Table, seat: int, story: str) -> None:
    """The observation, decoded by field, against the facts."""
    state, observation = table.state(), table.observation(seat)
    expected = facts(state, seat)
    fields = GAME.observation_fields(table.options)
    assert list(fields) == list(expected)
    for name, field in fields.items():
        values = observation[field.slice].astype(float)
        assert values.min() >= field.low, (name, story)
        assert values.max() <= field.high, (name, story)
        decoded = values.reshape(field.shape) * field.scale
        where = f"{name}, seat {seat}, {story}"
        np.testing.assert_allclose(decoded, expected[name], rtol=1e-5, atol=1e-6, err_msg=where)


@pytest.mark.parametrize("options", all_options("flip7"), ids=label)
def test_the_observation_says_what_the_state_says(options: dict[str, Any], seed: int) -> None:
    rng = random.Random(f"{seed} {options}")
    table = card_envs.table("flip7", seed=seed, **options)
    for decision, _ in enumerate(play_on(table, rng, eager=0.6)):
        if decision % 4 == 0 or table.state()["open"]:
            story = f"identity {table.identity}, {options}, decision {decision}"
            check_observation(table, rng.randrange(table.players), story)


def test_the_observation_in_a_nest() -> None:
    """F32: one player with both Flip Fours has up to six cards still to give: three of each queue."""
    deck = ["5", "9", "flip_four", "flip_four", "-2", "-4", "-6", "-8", "-10", "/2", "swap"]
    table = card_envs.table("flip7", players=2, deck=deck, seed=1)
    for action in ("draw", "give 0", "give 0"):
        table.play(action)
    state = table.state()
    assert [action["queue"] for action in state["open"]] == [["-2", "-4", "-6"], ["-10", "/2", "swap"]]
    for seat in (0, 1):
        check_observation(table, seat, "nest")


def test_p_bust_of_an_empty_deck_counts_the_discard_pile() -> None:
    """F7: with no card left in the deck the next one comes from the discard pile."""
    rng, found = random.Random(1), 0
    for match in range(60):
        table = card_envs.table("flip7", seed=(5, 0, match), players=3)
        for _ in play_on(table, rng, eager=0.7):
            if not open_row(table.matches.states).deck_size - open_row(table.matches.states).drawn:
                found += 1
                assert table.state()["deck"] == []
                for seat in range(3):
                    check_observation(table, seat, f"match {match}")
    assert found > 3


@pytest.mark.parametrize(
    ("line", "card", "expected"),
    [
        (["13"], "13", True), (["13"], "lucky13", False), (["lucky13"], "13", False), (["13", "lucky13"], "13", True),
        (["7"], "7", True), (["7"], "unlucky7", False), (["unlucky7"], "7", True), (["0"], "0", True),
        (["5", "-2"], "-2", False), (["13", "lucky13", "1"], "1", True),
    ],
)  # fmt: skip
def test_what_busts(line: list[str], card: str, expected: bool) -> None:
    """The counting that the observation is checked with, checked itself against the page (F22, F28, F30)."""
    assert busts(line, card) == expected


def test_the_reference_has_the_same_pack() -> None:
    assert dict(zip(GAME.cards, GAME.copies)) == PACK
