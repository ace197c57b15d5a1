"""Rules that only Flip 7 has: the pack, the action space, and observations of rare positions."""

from __future__ import annotations

import random

import pytest

import card_envs
from card_envs.engine.rows import open_row
from tests.games.flip7 import LINE_CARDS, PHASES, busts
from tests.helpers import check_observation, play_on
from tests.reference.flip7 import PACK

GAME = card_envs.load_game("flip7")


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
    """An index means the same for every mover and any number of players: the mover, their left neighbour, and so on."""
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


def test_the_observation_in_a_nest() -> None:
    """F32: one player with both Flip Fours has up to six cards still to give: three of each queue."""
    deck = ["5", "9", "flip_four", "flip_four", "-2", "-4", "-6", "-8", "-10", "/2", "swap"]
    table = card_envs.table("flip7", players=2, deck=deck, seed=1)
    for action in ("draw", "give 0", "give 0"):
        table.play(action)
    state = table.state()
    assert [action["queue"] for action in state["open"]] == [["-2", "-4", "-6"], ["-10", "/2", "swap"]]
    for seat in (0, 1):
        check_observation(table, seat, [], "nest")


def test_p_bust_of_an_empty_deck_counts_the_discard_pile() -> None:
    """F7: with no card left in the deck the next one comes from the discard pile."""
    rng, empty = random.Random(1), 0
    for match in range(60):
        table = card_envs.table("flip7", seed=(5, 0, match), players=3)
        for _ in play_on(table, rng, eager=0.7):
            row = open_row(table.matches.states)
            if row.deck_size == row.drawn:
                empty += 1
                assert table.state()["deck"] == []
                for seat in range(3):
                    check_observation(table, seat, [], f"match {match}")
    assert empty > 3


@pytest.mark.parametrize(
    ("line", "card", "expected"),
    [
        (["13"], "13", True), (["13"], "lucky13", False), (["lucky13"], "13", False), (["13", "lucky13"], "13", True),
        (["7"], "7", True), (["7"], "unlucky7", False), (["unlucky7"], "7", True), (["0"], "0", True),
        (["5", "-2"], "-2", False), (["13", "lucky13", "1"], "1", True),
    ],
)  # fmt: skip
def test_what_busts(line: list[str], card: str, expected: bool) -> None:
    """The count that observations are checked with agrees with the rules itself (F22, F28, F30)."""
    assert busts(line, card) == expected


def test_the_reference_has_the_same_pack() -> None:
    assert dict(zip(GAME.cards, GAME.copies)) == PACK
