"""The player at a terminal: what a person is shown, and what they may answer."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

import pytest

import card_envs
from card_envs.players import Decisions
from card_envs.players.human import Human, Quit
from tests import games
from tests.commands import every_game
from tests.helpers import GAMES, play_on, short


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
