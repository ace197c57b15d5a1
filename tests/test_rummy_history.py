"""What the players of Rummy discarded, declined and took: the state, and states from outside."""

from __future__ import annotations

import pytest

import card_envs
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
    chosen, choices = state["chosen"].tolist(), state["choices"].copy()
    card = {name: CARDS.index(name) for name in CARDS}
    declined, taken = 52, 104

    def refuse(seat: int, entries: list[int], cards: int | None, message: str) -> None:
        changed, sets = choices.copy(), list(chosen)
        changed[seat, : len(entries)] = entries
        sets[seat] = sum({1 << entry % 52 for entry in entries}) if cards is None else cards
        with pytest.raises(ValueError, match=message):
            replay_changed(record, chosen=[sets], choices=[changed])

    mine = [declined + card["7c"], card["2c"]]
    refuse(0, [card["2c"], card["2c"]], chosen[0], "seat 0 are not about different cards")
    refuse(0, mine, chosen[0] | 1 << card["Kd"], "seat 0 are not about different cards")
    refuse(0, [declined + card["7c"], taken + card["2c"]], None, "seat 0 do not fit")
    refuse(0, [*mine, card["5h"]], None, "seat 0 do not fit")
    refuse(1, [card["4c"]], None, "seat 1 do not fit")
    refuse(1, [declined + card["4c"], taken + card["2c"]], None, "discarded by nobody")
    refuse(1, [card["4c"], 3 * 52], chosen[1], "choices is out of 0")
