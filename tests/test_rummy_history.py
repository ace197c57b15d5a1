"""What the players of Rummy discarded, declined and took: the state, and states from outside."""

from __future__ import annotations

import random

import numpy as np
import pytest

import card_envs
from card_envs.engine.rows import open_row
from card_envs.games.rummy.history import forget_choices, note_choice
from card_envs.games.rummy.state import CHOICES
from card_envs.games.rummy.text import details
from tests.helpers import replay_changed
from tests.reference.french_deck import CARDS
from tests.test_rules_rummy import dealt


def test_a_card_that_was_taken_with_others_was_chosen_too() -> None:
    """R8, R30: the top card leaves the pile first, and what is laid stays one that was taken. A new deal begins with none."""
    deck = dealt("5h 6h 2c 9d Js Ks 8h", "4c 8d Td Qs 2s 3d Ah", "6c 9s Tc Qd 2h 3s Ad", up="7h", stock="8c Jh 5c")
    table = card_envs.table("rummy", players=3, pile="spread", deck=deck)
    for action in ("draw", "discard Ks", "draw", "discard 4c", "draw", "discard Qd", "take 7h", "meld 5h 6h 7h 8h"):
        table.play(action)
    assert table.state()["past"][0] == {"discarded": [], "declined": [], "taken": ["Qd", "4c", "Ks", "7h"]}
    assert table.state()["past"][1] == {"discarded": ["4c"], "declined": ["Ks"], "taken": []}
    while table.state()["deal"] == 1:
        table.play(table.legal_actions()[-1])
    assert table.state()["past"] == [{"discarded": [], "declined": [], "taken": []}] * 3


def test_choices_that_nobody_can_have_made_are_refused() -> None:
    """R30: of a state from outside."""
    deck = dealt("5h 6h 7h 2c 9d Js Ks", "4c 8d Td Qs 2s 3d Ah", "6c 9s Tc Qd 2h 3s Ad", up="7c", stock="8c Jh 5c")
    table = card_envs.table("rummy", players=3, deck=deck)
    for action in ("draw", "discard 2c", "take 2c", "discard 4c"):
        table.play(action)
    table.redeal(2, 5)
    record = table.record()
    assert replay_changed(record).state() == table.state()
    state = table.matches.states[0]
    card = {name: CARDS.index(name) for name in CARDS}

    def refuse(seat: int, choices: list[list[str]], numbers: dict[str, int], message: str) -> None:
        past, past_number = state["past"].copy(), state["past_number"].copy()
        past[seat] = [sum(1 << card[name] for name in names) for names in choices]
        for name, number in numbers.items():
            past_number[seat, card[name]] = number
        with pytest.raises(ValueError, match=message):
            replay_changed(record, past=[past], past_number=[past_number])

    assert table.state()["past"][0] == {"discarded": ["2c"], "declined": ["7c"], "taken": []}
    refuse(0, [["2c"], ["7c"], []], {"7c": 1, "2c": 1}, "seat 0 are about the same card, or have the same number")
    refuse(0, [["2c"], ["7c", "2c"], []], {}, "seat 0 are about the same card, or have the same number")
    refuse(0, [["2c"], ["7c"], []], {"2c": 2}, "seat 0 are not numbered")
    refuse(0, [[], ["7c"], ["2c"]], {}, "seat 0 do not fit")
    refuse(0, [["5h"], ["7c"], []], {"5h": 1}, "seat 0 do not fit")
    refuse(0, [["2c"], ["5c"], []], {"5c": 0}, "seat 0 do not fit")
    refuse(1, [["4c"], [], []], {}, "seat 1 do not fit")
    refuse(1, [[], ["4c"], ["2c"]], {}, "discarded by nobody")


def test_choices_stay_in_order_when_their_numbers_run_out(seed: int) -> None:
    """Against a list, over more choices than there are numbers."""
    game, rng = card_envs.load_game("rummy"), random.Random(seed)
    row = open_row(np.zeros(1, game.state_dtype))
    row.players = 2
    forget_choices(row)
    order: list[tuple[int, int]] = []
    for _ in range(1000):
        card, choice = rng.randrange(10) if rng.random() < 0.7 else rng.randrange(52), rng.randrange(3)
        with np.errstate(over="ignore"):  # uint64 arithmetic wraps on purpose
            note_choice(row, 1, choice, card)
        order = [(old, other) for old, other in order if other != card] + [(choice, card)]
        past = details(row, {})["past"]
        expected = {name: [CARDS[card] for made, card in order if CHOICES[made] == name] for name in CHOICES}
        assert past == [{name: [] for name in CHOICES}, expected]
