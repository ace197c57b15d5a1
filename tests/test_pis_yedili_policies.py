"""The built-in players of Pis Yedili: each rule of theirs as a story with a given hand."""

from __future__ import annotations

import numpy as np
import pytest

import card_envs
from card_envs import Table
from card_envs.engine.rows import open_row
from card_envs.games.deck import CARDS, SUITS
from card_envs.games.pis_yedili.text import check
from tests.helpers import choice, choices

PIS = card_envs.load_game("pis_yedili")


def cards(names: str) -> list[int]:
    return [CARDS.index(name) for name in names.split()]


def position(
    hand: str,
    top: str,
    *others: int,
    stock: int = 15,
    phase: str = "turn",
    gone: str = "",
    suit: str = "",
    sevens: int = 0,
) -> Table:
    """Seat 0 is to move with this hand on this top card; in the lead there is none.

    ``others`` are the sizes of seats 1, 2, …; ``gone`` lie in the pile.

    Of the other cards the lowest of all suits alike are in the pile too, as many as leave so large a stock.
    """
    table = card_envs.table("pis_yedili", seed=0, players=1 + len(others))
    mine, pile, last = cards(hand), cards(gone), cards(top)
    free = sorted({*range(52)} - {*mine, *pile, *last}, key=lambda card: (card % 13, card))
    hidden = sum(others) + stock
    pile = sorted(pile + free[: len(free) - hidden], key=lambda card: card >= 13) + last  # the first card was a club (P3)
    free = free[len(free) - hidden :]
    state = table.matches.states[0]
    hands, start = [mine], 0
    for size in others:
        hands.append(free[start : start + size])
        start += size
    for seat, held in enumerate(hands):
        state["hands"][seat] = sum(1 << card for card in held)
    state["pile"][: len(pile)] = pile
    state["pile_size"], state["top"], state["seen"] = len(pile), pile[-1] if pile else -1, sum(1 << card for card in pile)
    state["suit"] = -1 if phase in ("suit", "lead") else SUITS.index(suit or top[1])
    state["phase"], state["sevens"], state["lap"], state["to_move"] = PIS.phases.index(phase), sevens, phase == "lead", 0
    state["drawn"] = 52 - stock
    state["deck"] = [*range(52 - stock), *free[start:]]
    assert check(open_row(table.matches.states)) is None
    table.matches.refresh()
    return table


def test_the_last_card_is_played() -> None:
    for last in ("7h", "Jc", "Ah", "4h"):
        assert choices(position(last, "5h", 3, 6)) == {f"play {last}"}, last


def test_who_can_do_but_one_thing_does_it() -> None:
    """Nothing fits: draw; after a draw pass; open sevens without a seven: take."""
    assert choices(position("4c 9d", "5h", 3)) == {"draw"}
    assert choices(position("4c 9d", "5h", 3, phase="drawn")) == {"pass"}
    assert choices(position("4c 9d", "7h", 3, phase="sevens", sevens=1)) == {"take"}
    assert choices(position("4d 9d", "Ah", 3, phase="ace")) == {"pass"}


def test_high_sheds_the_dearest() -> None:
    table = position("2h 9h Jc Kd", "5h", 5, 5)
    assert choice(table, "high") == "play Jc"
    assert choice(position("2h 9h Kd", "5h", 5, 5), "high") == "play 9h"


def test_keepjack_plays_a_jack_when_nothing_else_fits() -> None:
    assert choice(position("2h 9h Jc Kd", "5h", 5, 5), "keepjack") == "play 9h"
    assert choice(position("2s 9s Jc Kd", "5h", 5, 5), "keepjack") == "play Jc"


def test_high_keepjack_and_full_name_the_longest_suit() -> None:
    """Three clubs against two spades; jacks do not count: no jack fits a jack."""
    table = position("2c 4c 6c 3s Js 9s", "Jh", 5, 5, phase="suit")
    assert {choice(table, name) for name in ("high", "keepjack", "full")} == {"suit c"}
    table = position("2c 4c 3s Js Jc", "Jh", 5, 5, phase="suit")
    assert {choice(table, name) for name in ("high", "keepjack", "full")} == {"suit c"}


def test_full_plays_what_the_rest_can_follow() -> None:
    """On the 4h could go 9h, 4c and 4s; on the 9h only the 4h."""
    table = position("4h 9h 4c 4s 2c", "5h", 5, 5)
    assert (choice(table, "full"), choice(table, "full", follow=0)) == ("play 4h", "play 9h")


def test_full_stops_a_next_player_with_two_cards() -> None:
    """A 7 is played in danger only; an 8 skips that player; a 10 turns to the other neighbour only if they hold more."""
    assert [choice(position("7h 4h 4c 4d", "5h", n, 5), "full") for n in (2, 3)] == ["play 7h", "play 4h"]
    assert [choice(position("8h 4h 4c 4d", "5h", n, 5), "full") for n in (2, 3)] == ["play 8h", "play 4h"]
    assert [choice(position("Th 4h 4c 4d", "5h", 2, 5, n), "full") for n in (5, 2)] == ["play Th", "play 4h"]


# ---- best


def test_best_goes_out_over_an_ace() -> None:
    """Ah and 4h at once, though the 4h first would leave a card that fits as well."""
    assert choice(position("4h Ah", "5h", 4, 4)) == "play Ah"
    assert choice(position("4h 8h", "5h", 4)) == "play 8h"  # with two players an 8 does the same


def test_best_draws_rather_than_play_its_only_jack_early() -> None:
    """A jack fits always: it is worth a card. With three cards in hand on the other side it is time to shed."""
    hand = "Jc 2d 4d 4s 6s 9s Ks"
    assert choice(position(hand, "5h", 7, stock=36)) == "draw"
    assert choice(position(hand, "5h", 7, stock=36), jack=0, jack_only=0) == "play Jc"
    assert choice(position(hand, "5h", 1, stock=20)) == "play Jc"


def test_best_sheds_the_dearest_when_the_stock_runs_out() -> None:
    """Six players: the 2s could follow 2h, but with two cards in the stock the jack's 25 points must go."""
    hand = "2h 2s 2c Jc 9s"
    assert choice(position(hand, "5h", 3, 3, 3, 3, 3, stock=2)) == "play Jc"
    assert choice(position(hand, "5h", 7, 7, 7, stock=22)) == "play 2h"


def test_best_sheds_points_when_somebody_is_about_to_go_out() -> None:
    """Three cards could follow the 3h and two the Kh; its ten points go when the seat across has one card left."""
    hand = "3h Kh 3c 3s Kc 4c 4s 6c"
    assert choice(position(hand, "5h", 7, 1, 7, stock=20)) == "play Kh"
    assert choice(position(hand, "5h", 7, 1, 7, stock=20), short=0, late=0) == "play 3h"


def test_best_keeps_a_seven_for_the_end() -> None:
    """9h first: the 7h that is left fits it, and as the last card counts three times."""
    assert choice(position("7h 9h", "5h", 4, 4)) == "play 9h"


def test_best_keeps_a_seven_as_a_shield() -> None:
    assert choice(position("7h 4h 4c 3s 6s 9s", "5h", 6, 6, 6)) == "play 4h"


def test_best_answers_a_seven() -> None:
    assert choice(position("7h 4h 4c Ks", "7d", 6, 6, 6, phase="sevens", sevens=1)) == "play 7h"


def test_best_leads_neither_jack_nor_seven() -> None:
    """Their effect would be lost."""
    assert choice(position("Jc 7c 4c 3s 6s 9s Ks", "", 7, 7, 7, stock=24, phase="lead")) == "play 4c"


def test_best_gives_the_last_card_of_another_little_to_fit() -> None:
    """The next player has one card. Clubs are gone but for the own ones: on the 4c it hardly fits, on the 4d it may."""
    gone = "Ac 2c 3c 5c 8c 9c Tc Qc Kc 7c 6c"
    table = position("4c 4d 9s", "4h", 1, 6, gone=gone, stock=12)
    assert choice(table) == "play 4c"
    gone = "Ad 2d 3d 5d 8d 9d Td Qd Kd 7d 6d"
    table = position("4c 4d 9s", "4h", 1, 6, gone=gone, stock=12)
    assert choice(table) == "play 4d"


def test_best_names_a_suit_that_the_next_player_lacks() -> None:
    """Two clubs or two spades in hand: the suit of which the others are out, whichever that is."""
    for here, gone in (("c", "A 2 3 5 8 9 T Q K"), ("s", "A 2 3 5 8 9 T Q K")):
        table = position("4c 6c 4s 6s", "Jh", 1, 6, gone=" ".join(rank + here for rank in gone.split()), phase="suit")
        assert choice(table) == f"suit {here}"


def test_best_names_the_longest_suit_when_nothing_else_tells() -> None:
    assert choice(position("2c 4c 6c 3s", "Jh", 5, 5, 5, phase="suit")) == "suit c"
    assert choice(position("2s 4s 6s 3c", "Jh", 5, 5, 5, phase="suit")) == "suit s"


def test_best_does_not_follow_an_ace_with_its_jack() -> None:
    """It passes while the end is far, and sheds the jack when it is near."""
    hand = "Jc 4d 6d 9s Ks 2s"
    assert choice(position(hand, "Ah", 7, phase="ace", stock=30)) == "pass"
    assert choice(position(hand, "Ah", 1, 2, 3, phase="ace", stock=2)) == "play Jc"


def test_parameters_are_named_in_the_order_of_their_places() -> None:
    """A parameter that nothing outweighs turns the choice: the first, the last, and some between."""
    turn = position("4h 9h 4c 4s 2c", "5h", 5, 5)
    assert choice(turn, short=1e6) == "play 9h"
    assert choice(turn, draw=1e6) == "draw"
    name = position("2c 4c 6c 7s", "Jh", 5, 5, 5, phase="suit")
    assert choice(name, suit_seven=1e6) == "suit s"
    assert choice(position("2c 4c 6c", "Jh", 5, 5, 5, phase="suit", gone=" ".join(f"{r}d" for r in "A23456789TQK")),
                  suit_reply=-1e6) == "suit d"  # fmt: skip


@pytest.mark.parametrize("players", PIS.players)
def test_best_chooses_what_it_appraises_highest(players: int, seed: int) -> None:
    """Draws, takes, passes and suits are appraised on the same scale as cards, the last card too."""
    batch = card_envs.batch("pis_yedili", 200, players=players, seed=seed, action_features=True)
    appraisal, best = (PIS.action_fields()[name].slice.start for name in ("appraisal", "best"))
    actions, rows = np.zeros(batch.size, np.int64), np.arange(batch.size)
    for _ in range(100):
        values = np.where(batch.action_mask != 0, batch.action_features[:, :, appraisal], -np.inf)
        batch.choose("best", None, actions)
        assert (values[rows, actions] == values.max(axis=1)).all(), f"seed {seed}"
        assert (batch.action_features[:, :, best].argmax(axis=1) == actions).all(), f"seed {seed}"
        assert (batch.action_features[:, :, best].sum(axis=1) == 1).all(), f"seed {seed}"
        batch.step(batch.sample() if batch.decisions()[0] % 4 == 0 else actions)
