"""What choices show of hands in Pis Yedili (P29), and how likely they make given hands."""

from __future__ import annotations

import random
from math import log
from typing import Any

import numba
import numpy as np
import pytest

import card_envs
from card_envs import Table
from card_envs.engine.rows import open_row
from tests.games.pis_yedili import draw_options
from tests.helpers import choice, play_on, replay_changed
from tests.reference.french_deck import CARDS
from tests.reference.pis_yedili import in_groups

PIS = card_envs.load_game("pis_yedili")
KINDS = ("proved", "suggested")


def play(one: str, other: str, stock: str, actions: str, **options: Any) -> Table:
    """A table of two players with these hands and this stock, after some actions, of which a card stands for playing it."""
    deck = [card for pair in zip(one.split(), other.split(), strict=True) for card in pair] + stock.split()
    table = card_envs.table("pis_yedili", seed=1, deck=deck, **{"players": 2, **options})
    for action in actions.split(", "):
        table.play(f"play {action}" if action in CARDS else action)
    return table


def shown(table: Table, seat: int) -> tuple[str, int, str, int]:
    """The groups proved, the cards drawn since, and the same of those suggested."""
    state = table.state()["shown"][seat]
    return " ".join(state["proved"]), state["proved_drawn"], " ".join(state["suggested"]), state["suggested_drawn"]


HEARTS, DIAMONDS = "2h 3h 4h 5h 6h 9h Kh", "2d 3d 4d 5d 6d 9d Kd"


def test_who_draws_in_the_lead_has_no_club() -> None:
    """P4: the only action, until a club comes. The club that is led is the last card drawn."""
    table = play(HEARTS, DIAMONDS, "Qh 8h 3c", "draw, draw")
    assert shown(table, 0) == ("c", 1, "", 0)
    table.play("draw")
    assert shown(table, 0) == ("c", 1, "", 0)
    table.play("play 3c")
    assert shown(table, 0) == ("c", 0, "", 0)
    assert shown(table, 1) == ("", 0, "", 0)


def test_a_first_draw_suggests_what_a_second_proves() -> None:
    """P7, P8, P9: who draws may hold a card that fits, unless they have drawn before."""
    table = play("3c " + HEARTS[3:], "2d 4d 5d 6d 9d Kd Qd", "8s 9s Tc Th", "3c, draw")
    assert shown(table, 1) == ("", 0, "3 J c", 1)
    table.play("draw")
    assert shown(table, 1) == ("3 J c", 1, "3 J c", 2)
    table.play("pass")
    assert shown(table, 1) == ("3 J c", 1, "3 J c", 0)


def test_a_card_played_out_of_a_group_was_drawn() -> None:
    """The hand lacked 3, J and clubs, so the ten of clubs is the card drawn, and nothing else has been drawn since."""
    table = play("3c " + HEARTS[3:], "2d 4d 5d 6d 9d Kd Qd", "Tc 8s 9s Th", "3c, draw, Tc")
    assert shown(table, 1) == ("", 0, "3 J c", 0)


def test_who_takes_or_passes_an_ace_suggests_what_they_lack() -> None:
    """P14, P18. Three cards are drawn for one open seven."""
    table = play("3c 7c 4h 5h 6h 9h Kh", "Ac 4d 5d 6d 9d Kd Qd", "8s 9s Ts Th Td", "3c, Ac, pass")
    assert shown(table, 1) == ("", 0, "A J c", 0)
    table.play("play 7c")
    table.play("take")
    assert shown(table, 1) == ("", 0, "A 7 J c", 3)


def test_who_draws_after_taking_has_nothing_that_fits() -> None:
    """P15, P8."""
    start = "3c 7c 4h 5h 6h 9h Kh", "Tc 4d 5d 6d 9d Kd Qd", "8s 9s Ts Th Td"
    table = play(*start, "3c, Tc, 7c, take, draw", penalty_keeps_turn=True)
    assert shown(table, 1) == ("7 J c", 1, "7", 4)


def test_what_was_shown_before_is_kept_while_nothing_was_drawn() -> None:
    """The two sets together hold of the whole hand."""
    table = play("3c 3h 4h 5h 6h 9h Kh", "2d 4d 5d 6d 9d Kd Qd", "8s 9s Ts Qs", "3c, draw, pass, 3h, draw")
    assert shown(table, 1) == ("", 0, "3 J c h", 1)


def test_after_one_draw_old_and_new_together_exclude_more() -> None:
    """Without the pile: 28 cards together, of 9 in the hand but one, against 17 hearts, threes and jacks, of all 9."""
    table = play("3c 3h 4h 5h 6h 9h Kh", "2d 4d 5d 6d 9d Kd Qd", "8s 9s Ts Qs", "3c, draw, pass, 3h, draw, pass")
    assert shown(table, 1) == ("", 0, "3 J c h", 1)


def test_after_three_draws_the_new_alone_exclude_more() -> None:
    """Without the pile: 21 cards together, of 9 in the hand but three, against 15 clubs, fours and jacks, of all 9."""
    table = play("3c 7c 4c 5h 6h 9h Kh", "Ac 4d 5d 6d 9d Kd Qd", "8s 9s Ts Th Td", "3c, Ac, pass, 7c, take")
    assert shown(table, 1) == ("", 0, "A 7 J c", 3)
    table.play("play 4c")
    table.play("draw")
    assert shown(table, 1) == ("", 0, "4 J c", 1)


def test_a_deal_begins_with_nothing_shown(seed: int) -> None:
    table, deal, some = card_envs.table("pis_yedili", seed=seed, players=3), 1, 0
    for _ in play_on(table, random.Random(seed), eager=0.5):
        state = table.state()
        some += any(one["suggested"] for one in state["shown"])
        if state["deal"] > deal:
            deal = state["deal"]
            assert state["shown"] == 3 * [{"proved": [], "proved_drawn": 0, "suggested": [], "suggested_drawn": 0}]
    assert some > 20


def test_what_is_proved_is_true(seed: int) -> None:
    """All cards of a hand but those drawn since lie outside the groups."""
    rng, near = random.Random(seed), 0
    for match in range(60):
        options = draw_options(rng)
        table = card_envs.table("pis_yedili", seed=(seed, 0, match), **options)
        for decision, _ in enumerate(play_on(table, rng, eager=rng.choice([0.0, 0.5, 0.9]))):
            state = table.state()
            for one, hand in zip(state["shown"], state["hands"], strict=True):
                held = [card for card in hand if in_groups(card, one["proved"])]
                assert len(held) <= one["proved_drawn"], f"identity {table.identity}, {options}, decision {decision}"
                near += 0 < len(held) == one["proved_drawn"]
    assert near > 100


def test_a_state_from_outside_with_too_many_cards_drawn_is_refused(seed: int) -> None:
    table = card_envs.table("pis_yedili", seed=seed, players=2)
    table.redeal(0, seed)
    record = table.record()
    drawn = np.zeros((1, 2, 6), np.int8)
    assert replay_changed(record, drawn_since=drawn).state() == table.state()
    drawn[0, 1, 1] = 1
    with pytest.raises(ValueError, match="more cards were drawn than the stock lacks"):
        replay_changed(record, drawn_since=drawn)
    with pytest.raises(ValueError, match="lacks"):
        replay_changed(record, lacks=np.full((1, 2, 6), 1 << 17, np.uint32))


# ---- beliefs


def plain_likelihood(state: dict[str, Any], seat: int) -> float:
    """What `likelihood` says, from ``Table.state()``."""
    product = 1.0
    for other in range(state["players"]):
        one, hand = state["shown"][other], state["hands"][other]
        proved = [card for card in hand if in_groups(card, one["proved"])]
        suggested = [card for card in hand if in_groups(card, one["suggested"]) and card not in proved]
        kept = [card for card in suggested if card[0] in "J7"]
        plain, drawn_since = [card for card in suggested if card not in kept], one["suggested_drawn"]
        for cards, drawn, floor in (
            (proved, one["proved_drawn"], 0.05),
            (plain, drawn_since, 0.05),
            (kept, drawn_since, 0.6),
        ):
            for i in range(len(cards)):
                share = min(1.0, max(0, drawn - i) / (len(hand) - i))
                product *= 1.0 if other == seat else 1 - (1 - floor) * (1 - share)
    return product


LIKELIHOOD = PIS.likelihood
assert LIKELIHOOD is not None


@numba.njit
def compute_likelihoods(states: Any, seats: Any, values: Any) -> None:
    for n in range(len(states)):
        values[n] = LIKELIHOOD(states[n], seats[n])


def test_the_likelihood_is_that_of_the_plain_twin(seed: int) -> None:
    """Interpreted and compiled, of true and of redealt hands."""
    rng, values, below = random.Random(seed), np.zeros(1), 0
    for match in range(20):
        table = card_envs.table("pis_yedili", seed=(seed, 0, match), **draw_options(rng))
        for decision, _ in enumerate(play_on(table, rng, eager=0.7)):
            if decision % 5:
                continue
            seat, other = rng.randrange(table.players), table.clone()
            other.redeal(seat, rng.getrandbits(60))
            for one in (table, other):
                expected = plain_likelihood(one.state(), seat)
                compute_likelihoods(one.matches.states, np.array([seat]), values)
                with np.errstate(over="ignore"):
                    assert LIKELIHOOD(open_row(one.matches.states), seat) == pytest.approx(expected, rel=1e-9)
                assert values[0] == pytest.approx(expected, rel=1e-9)
                assert 0 < values[0] <= 1
                below += values[0] < 1
    assert below > 100


@pytest.mark.parametrize("players", [2, 4])
def test_true_hands_are_likelier_than_redealt_ones(players: int, seed: int) -> None:
    """In play by `best`: by the mean of the logarithm, at each of many decisions, with a margin of five standard errors."""
    gains = []
    for match in range(60):
        table = card_envs.table("pis_yedili", seed=(seed, 0, match), players=players, deals=1)
        gain = []
        while not table.is_over:
            seat, other = table.to_move, table.clone()
            assert seat is not None
            other.redeal(seat, match)
            gain.append(log(plain_likelihood(table.state(), seat)) - log(plain_likelihood(other.state(), seat)))
            table.play(choice(table))
        gains.append(np.mean(gain))
    assert np.mean(gains) > 5 * np.std(gains) / len(gains) ** 0.5
    assert np.mean(gains) > 0.2
