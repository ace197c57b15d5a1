"""The odds of a line: by hand, against all orders of small decks, against the engine's own count; and what cannot be."""

from __future__ import annotations

import random
from itertools import permutations

import pytest

import card_envs
from card_envs import risk
from card_envs.games.flip7.state import CARDS, COPIES
from card_envs.risk.advisor import Advisor
from tests.risk_helpers import UNLUCKY


def test_next_card_by_hand() -> None:
    found = risk.compute_odds(risk.parse_position("3 9 12 lucky13", "12 12 5"), 1)
    # left of the values held: 2 threes, 8 nines, 9 twelves; Lucky 13 alone lets a 13 in
    assert (found.cards, found.numbers) == (101, 85)
    assert found.bust == (2 + 8 + 9) / 101
    assert found.bust_number == (2 + 8 + 9) / 85
    assert found.score == 37


def test_pair_of_13s_busts_on_the_third() -> None:
    assert risk.compute_odds(risk.parse_position("13 lucky13"), 1).bust == 11 / 106


def test_unlucky_7_busts_on_a_7_and_never_by_itself() -> None:
    assert risk.compute_odds(risk.parse_position("unlucky7"), 1).bust == 6 / 107
    assert risk.compute_odds(risk.parse_position("7"), 1).bust == 5 / 107


def test_zero_cannot_double() -> None:
    assert risk.compute_odds(risk.parse_position("0"), 1).bust == 0.0


def test_seven_cards_are_over() -> None:
    found = risk.compute_odds(risk.parse_position("1 2 3 4 5 6 8"))
    assert (found.bust, found.draws, found.score) == (0.0, (), 29 + 15)


@pytest.mark.parametrize("number", range(6))
def test_forced_draws_agree_with_all_orders(number: int, seed: int) -> None:
    rng = random.Random(f"{seed} {number}")
    line = rng.sample(range(1, 13), rng.choice([2, 5]))
    held = [card for card in line if card != 7]
    deck = rng.sample([*held, 0, 6, 13, 13, 14, UNLUCKY, 22, 17], 6)
    counts = tuple(deck.count(kind) for kind in range(27))
    draws = 4
    busts = flips = 0
    points = 0.0
    orders = list(permutations(deck))
    for order in orders:
        have, ended = list(held), False
        for card in order[:draws]:
            if card == UNLUCKY:
                have = [UNLUCKY]
            elif card < 16:
                if card in have or (card == 7 and UNLUCKY in have):
                    busts += 1
                    ended = True
                    break
                have.append(card)
                if len(have) == 7:
                    flips += 1
                    points += sum({14: 13, 15: 7}.get(c, c) for c in have) + 15
                    ended = True
                    break
        if not ended and 0 not in have:
            points += sum({14: 13, 15: 7}.get(c, c) for c in have)
    position = risk.Position(sum(1 << card for card in held), counts, (0,) * 27)
    found = risk.compute_odds(position, draws).draws[-1]
    about = f"seed {seed}: line {held}, deck {deck}"
    assert found.bust == pytest.approx(busts / len(orders), abs=1e-12), about
    assert found.flip7 == pytest.approx(flips / len(orders), abs=1e-12), about
    assert found.score == pytest.approx(points / len(orders), abs=1e-12), about


def test_every_seat_of_a_table_as_the_engine_counts(seed: int) -> None:
    rng = random.Random(seed)
    looked = 0
    for match in range(4):
        table = card_envs.table("flip7", players=3, seed=(seed, match, 0), brutal=bool(match % 2))
        field = table.game.observation_fields(table.options)["p_bust"]
        score = table.game.observation_fields(table.options)["line_score"]
        for _ in range(60):
            if table.is_over:
                break
            if not table.state()["open"]:
                observation = table.observation(0)
                for seat, (status, position) in enumerate(risk.read_positions(table)):
                    if status != "busted":
                        looked += 1
                        found = risk.compute_odds(position, 1)
                        assert found.bust == pytest.approx(observation[field.slice][seat], abs=1e-6), f"seed {seed}"
                        assert found.score == pytest.approx(observation[score.slice][seat] * score.scale, abs=1e-4)
            table.play(rng.choice(table.legal_actions()))
    assert looked > 100


def test_reshuffle_the_discard_pile_follows_an_empty_deck() -> None:
    position = risk.Position(1 << 5, (0,) * 27, tuple(3 if kind == 5 else 1 if kind == 9 else 0 for kind in range(27)))
    assert risk.compute_odds(position, 1).bust == 3 / 4


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: risk.parse_position("3", "3 3 3"),
            "card '3': the deck has 3 of it, and line and gone together name it 4 times",
        ),
        (lambda: risk.parse_position("12", "0 0"), "card '0': the deck has 1 of it"),
        (lambda: risk.parse_position("3 3"), "a second 3 busts"),
        (lambda: risk.parse_position("7 unlucky7"), "never lie together"),
        (lambda: risk.parse_position("5 swap"), "swap is an action"),
        (lambda: risk.parse_position("1 2 3 4 5 6 8 9"), "more than seven number cards"),
        (lambda: risk.parse_position("14"), "unknown card '14'"),
        (lambda: risk.parse_position("3", "12:-1"), "'-1' is no count; allowed is a whole number from 0"),
        (
            lambda: risk.parse_position("3", counts=[-1, *COPIES[1:]]),
            "count of '0' = -1: allowed is a whole number from 0 to 1",
        ),
        (lambda: risk.parse_position("3", counts=COPIES), "count of '3' = 3: allowed is a whole number from 0 to 2"),
        (lambda: risk.parse_position("3", counts=[1]), "1 counts are given"),
        (lambda: risk.compute_odds(risk.parse_position("3"), 0), "draws = 0"),
        (lambda: risk.read_positions(card_envs.table("pis_yedili", seed=1)), "bust risk is of flip7"),
    ],
)
def test_bad_input_is_one_clear_line(call, message) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_counts_can_be_typed() -> None:
    position = risk.parse_position("3", "12:2 5")
    assert [position.deck[CARDS.index(name)] for name in ("3", "5", "12")] == [2, 4, 10]


# ---- the advisor


def _advisor(*words: str) -> Advisor:
    advisor = Advisor(3)
    for text in words:
        advisor.tell(text)
    return advisor


def test_advisor_counts_all_that_fell() -> None:
    advisor = _advisor("0 12 13", "1 5 5", "gone swap", "2 3", "stay 2")
    assert advisor.status == ["active", "busted", "stayed"]
    assert sum(advisor.position(0).deck) == 108 - 6
    advisor.tell("round 25 0 3")
    assert (advisor.totals, advisor.lines, advisor.status) == ([25, 0, 3], [[], [], []], ["active"] * 3)
    assert sum(advisor.position(0).deck) == 108 - 6  # they lie in the discard pile
    advisor.tell("shuffle")
    assert sum(advisor.position(0).deck) == 108


def test_advisor_takes_a_7_beside_unlucky_7_as_a_bust_and_an_action_as_an_error() -> None:
    advisor = _advisor("0 unlucky7", "1 13", "1 lucky13")
    assert advisor.status == ["active"] * 3
    with pytest.raises(ValueError, match="swap is an action"):
        advisor.tell("0 swap")
    for text in ("0 7", "1 13"):
        advisor.tell(text)
    assert advisor.status == ["busted", "busted", "active"]


def test_advisor_wipes_and_takes_away() -> None:
    advisor = _advisor("0 12 13 -4", "0 unlucky7", "0 5", "- 0 5")
    assert advisor.lines[0] == ["unlucky7"]
    assert sorted(advisor.discard) == ["-4", "12", "13", "5"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("3 12", "'3': expected is a seat 0 … 2"),
        ("0", "which cards"),
        ("0 foo", "unknown card 'foo'"),
        ("0 0 0", "the deck has 1 of it"),
        ("- 0 12", "12 does not lie in the line of seat 0"),
        ("totals 1 2", "expected are 3 whole numbers"),
        ("gone 1 1", "the deck has 1 of it"),
        ("0 swap", "swap is an action"),
    ],
)
def test_advisor_refuses_and_nothing_changes(text: str, message: str) -> None:
    advisor = _advisor("0 3")
    before = repr(advisor)
    with pytest.raises(ValueError, match=message):
        advisor.tell(text)
    assert repr(advisor) == before
