"""The built-in players of Flip 7: each rule of theirs as a story with a given deck."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import card_envs
from card_envs import Table
from card_envs.engine.game import OptionValue
from tests.helpers import choice, choices


def played(deck: str, *actions: str, totals: Sequence[int] = (), **options: OptionValue) -> Table:
    """A table after these actions; the first cards of the deck are dealt to seat 0, 1, …. ``totals`` are of earlier rounds."""
    table = card_envs.table("flip7", deck=deck.split(), seed=0, **options)
    for action in actions:
        table.play(action)
    if totals:
        table.matches.states["totals"][0, : table.players] = totals
        table.matches.refresh()
    return table


def test_minus_cards_go_to_the_leader() -> None:
    """Seat 1 shows the 12; but with 40 points from earlier rounds, seat 2 stands highest."""
    assert choices(played("5 12 3 -10", "draw", players=3)) == {"give 1"}
    assert choices(played("5 12 3 -10", "draw", players=3, totals=[0, 0, 40])) == {"give 2"}


def test_half_goes_to_the_biggest_sum() -> None:
    """Seat 1 leads, but half of a 3 is little: /2 goes to the 25 of seat 2."""
    story = ["draw", "stay", "draw", "draw", "stay", "draw"]
    assert choices(played("5 3 13 9 12 2 /2", *story, players=3, totals=[0, 30, 0])) == {"give 2"}


def test_brutal_minus_cards_follow_a_leader_who_has_busted() -> None:
    """F42: seat 1 has 190 points and has busted; the minus still counts."""
    story = ["draw", "draw", "draw", "draw"]
    table = played("5 12 3 6 12 4 -8", *story, players=3, brutal=True, totals=[0, 190, 0])
    assert table.state()["status"][1] == "busted"
    assert choices(table) == {"give 1"}


def test_flip_four_goes_to_the_one_most_at_risk() -> None:
    """Four cards on 13 + 12 will hardly survive; on 1 + 2 they may."""
    assert choices(played("4 1 13 5 2 12 flip_four", *["draw"] * 4, players=3)) == {"give 2"}
    assert choices(played("4 13 1 5 12 2 flip_four", *["draw"] * 4, players=3)) == {"give 1"}


def test_just_one_more_goes_to_a_big_line() -> None:
    """Both have stayed; one more card on 13 + 12 + 11 costs more than on 5, which it helps."""
    story = ["draw", "stay", "draw", "draw", "draw", "draw", "stay", "draw"]
    assert choices(played("4 5 13 6 12 3 11 2 just_one_more", *story, players=3)) == {"give 2"}


def test_just_one_more_goes_to_the_holder_of_zero() -> None:
    """It makes them stay with 0 points."""
    story = ["draw", "draw", "stay", "draw"]
    assert choices(played("4 0 13 6 12 just_one_more", *story, players=3)) == {"give 1"}


@pytest.mark.parametrize("card", ["just_one_more", "flip_four"])
def test_forced_cards_are_given_away(card: str) -> None:
    assert choices(played(f"9 2 {card}", "draw", players=2)) == {"give 1"}


def test_steal_never_takes_a_double() -> None:
    """Seat 0 holds a 13: of 13 and 4 they steal the 4."""
    table = played("13 13 2 4 steal", *["draw"] * 3, players=2)
    assert choices(table) == {"give 0"}
    table.play("give 0")
    assert choices(table) == {"pick 1 4"}


def test_steal_takes_a_13_to_lucky_13() -> None:
    """The second 13 does not bust, whichever came first."""
    table = played("lucky13 13 2 12 steal", *["draw"] * 3, "give 0", players=2)
    assert choices(table) == {"pick 1 13"}


def test_steal_takes_lucky_13_to_a_13() -> None:
    table = played("13 lucky13 2 12 steal", *["draw"] * 3, "give 0", players=2)
    assert choices(table) == {"pick 1 lucky13"}


def test_a_steal_that_could_only_bust_is_given_away() -> None:
    """The only card to be stolen is a 9, and seat 0 holds a 9."""
    assert choices(played("9 9 2 steal", "draw", "stay", "draw", players=2)) == {"give 1"}


def test_steal_takes_the_highest_that_is_not_held() -> None:
    """Of the 12, 11 and 3 of a player who has stayed, they steal the 12, or the 11 if they hold a 12 themselves."""
    story = [*["draw"] * 5, "stay", "draw", "give 0"]
    assert choices(played("5 12 6 11 8 3 1 steal", *story, players=2)) == {"pick 1 12"}
    assert choices(played("12 12 6 11 2 3 1 steal", *story, players=2)) == {"pick 1 11"}


def test_swap_busts_the_leader() -> None:
    """Seat 1 holds 9 and 12: swapping a 9 for the 12 gives them a second 9. Both picks are made with that in mind."""
    for name in ("count", "sum", "risk", "ev"):
        table = played("9 9 3 4 12 5 swap", *["draw"] * 4, "give 0", players=3)
        for _ in range(2):
            table.play(choice(table, name))
        state = table.state()
        assert state["status"] == ["active", "busted", "active"], name
        assert sorted(state["lines"][0]) == ["12", "4"], name


def test_swap_keeps_what_was_picked_first_in_mind() -> None:
    """The 12 of seat 2 for the 9 would bust the leader; but the 5 was picked, and for it the 12 of the leader is best."""
    table = played("2 9 12 4 12 5 swap", *["draw"] * 4, "give 0", "pick 2 5", players=3)
    assert choices(table) == {"pick 1 12"}


def test_swap_dumps_the_zero() -> None:
    """Zero goes to the leader in exchange for their best card."""
    for name in ("count", "sum", "risk", "ev"):
        table = played("0 13 11 12 8 swap", "draw", "draw", "draw", "stay", "draw", "give 0", players=2)
        for _ in range(2):
            table.play(choice(table, name))
        lines = table.state()["lines"]
        assert sorted(lines[1]) == ["0", "12"], name
        assert sorted(lines[0]) == ["11", "13", "8"], name


def test_discard_takes_the_own_zero() -> None:
    table = played("0 3 12 4 11 5 discard", *["draw"] * 5, "give 0", players=2)
    assert choices(table) == {"pick 0 0"}


def test_discard_takes_the_highest_of_the_leader() -> None:
    """Seats 1 and 2 have stayed: the 12 of the leader goes, not the 13 of seat 2, unless seat 2 leads by earlier points."""
    story = ["draw", "draw", "stay", "draw", "stay", "draw", "give 0"]
    assert choices(played("5 12 13 6 9 2 discard", *story, players=3)) == {"pick 1 12"}
    assert choices(played("5 12 13 6 9 2 discard", *story, players=3, totals=[0, 0, 50])) == {"pick 2 13"}


def test_the_player_who_draws_steal_swap_or_discard_keeps_it() -> None:
    for card in ("steal", "swap", "discard"):
        assert choices(played(f"5 12 6 9 {card}", "draw", "draw", "draw", players=2)) == {"give 0"}, card


# ---- the end of the match


def test_banks_when_that_wins() -> None:
    """Seat 1 has stayed at 5; 13 + 8 = 21 reach the target, so nobody draws a third card."""
    assert choices(played("13 5 8", "draw", "stay", players=2, target=21)) == {"stay"}


def test_does_not_bank_one_point_short() -> None:
    assert choices(played("4 5 3", "draw", "stay", players=2, target=8)) == {"draw"}


def test_draws_while_another_can_bank_more() -> None:
    """At the target with 24, but seat 1 lies at 25: whoever is behind draws, even the player who stops at 20."""
    table = played("13 12 11 13 2", "draw", "draw", players=2, target=24)
    assert choices(table) == {"draw"} == {choice(table, "sum", 20)}
    table.play("draw")  # 26
    assert choices(table) == {"draw"}


def test_a_level_score_draws_if_that_rather_wins() -> None:
    """25 all and last to move: a share is worth as much as half a win, and three cards in four are good."""
    table = played("13 12 11 13 1", "draw", "draw", "draw", "stay", players=2, target=25)
    assert choices(table) == {"draw"} == {choice(table, "sum", 20)}


def test_a_level_score_is_shared_if_drawing_rather_loses() -> None:
    """63 with six cards, of which two in three of the next ones make a double: stay level, stay ahead, draw behind."""
    story = ["draw", "stay", *["draw"] * 4]
    for total, best in ((53, "stay"), (52, "stay"), (54, "draw")):
        table = played("13 10 12 11 10 9 8", *story, players=2, target=60, totals=[0, total])
        assert choices(table) == {best}, total


def test_zero_must_draw() -> None:
    """Seat 0 would win by staying, but Zero does not allow it."""
    assert choices(played("0 5 13", "draw", "stay", players=2, target=5)) == {"draw"}


# ---- Brutal: the 15 of a Flip 7


@pytest.mark.parametrize(
    ("totals", "best", "why"),
    [
        ([160, 100], "bonus 0", "160 + 28 + 15 win the match at once"),
        ([0, 190], "bonus 1", "190 + 13 would win it: 15 less keep seat 1 from it"),
        ([171, 188], "bonus 0", "188 + 13 = 201 reach 200; 171 + 28 + 15 = 214 are more"),
        ([172, 188], "bonus 0", "either wins: 215 to 201, or 200 to 186"),
        ([50, 0], "bonus 0", "in front: nearer to the end"),
        ([0, 150], "bonus 1", "behind: farther from it"),
    ],
)
def test_bonus_of_two(totals: list[int], best: str, why: str) -> None:
    table = played("1 13 2 3 4 5 6 7", "draw", "stay", *["draw"] * 5, players=2, brutal=True, totals=totals)
    assert table.state()["phase"] == "bonus"
    assert choices(table) == {best}, why


@pytest.mark.parametrize(
    ("totals", "best", "why"),
    [
        ([0, 0, 20], "bonus 0", "nobody is near the end"),
        ([0, 100, 180], "bonus 2", "seat 2 is within reach of it"),
        ([0, 193, 0], "bonus 1", "seat 1 would win now"),
        ([180, 189, 189], "bonus 0", "180 + 28 + 15 = 223 are most; to take 15 from one would leave another at 202"),
    ],
)
def test_bonus_of_three(totals: list[int], best: str, why: str) -> None:
    table = played("1 13 9 2 3 4 5 6 7", "draw", "stay", "stay", *["draw"] * 5, players=3, brutal=True, totals=totals)
    assert choices(table) == {best}, why


# ---- draw or stay


def test_count_stays_with_k_numbers() -> None:
    """A modifier is no number card."""
    table = played("9 1 -2 8", "draw", "give 0", "stay", "draw", players=2)
    assert (choice(table, "count", 2), choice(table, "count", 3)) == ("stay", "draw")


def test_sum_stays_at_k() -> None:
    table = played("lucky13 1 13", "draw", "stay", players=2)
    assert (choice(table, "sum", 26), choice(table, "sum", 27)) == ("stay", "draw")


@pytest.mark.parametrize(
    ("line", "busting"),
    [
        ("13", 11),  # the other plain 13s
        ("lucky13", 0),  # a first 13 is allowed
        ("lucky13 13", 11),
        ("7", 5),  # Unlucky 7 never busts
        ("unlucky7", 6),
        ("12 5", 11 + 4),
    ],
)
def test_risk_stays_at_p(line: str, busting: int) -> None:
    """P(bust | number card) of the next card, from all that is seen: 92 number cards less those on the table."""
    first, *more = line.split()
    table = played(" ".join([first, "1", *more]), *["draw", "stay"] * len(more), players=2)
    exact = busting / (92 - 2 - len(more))
    assert choice(table, "risk", exact + 1e-9) == "draw"
    assert choice(table, "risk", exact - 1e-9) == "stay"


def test_ev_weighs_every_card_to_come() -> None:
    """On 13 12 4 beside a 1: 25 doubles would cost 29 points each; the good numbers bring 495, Zero and Unlucky 7 take 17.

    So the 16 actions and modifiers must make up for about 247 points: 15.4 each.
    """
    table = played("13 1 12 4", "draw", "stay", "draw", players=2)
    assert (choice(table, "ev", 15, 0, 0), choice(table, "ev", 16, 0, 0)) == ("stay", "draw")


@pytest.mark.parametrize("name", ["ev", "risk"])
def test_high_cards_that_are_gone_cannot_bust(name: str) -> None:
    """13 12 11 with all others of these to come: stay. With most of them before the other eleven players: draw."""
    low = "13 1 2 3 4 5 6 7 8 9 10 10 12 11"
    table = played(low, "draw", *["stay"] * 11, "draw", players=12)
    assert choice(table, name) == "stay"
    high = "13 13 12 11 13 12 11 13 12 11 13 12 12 12 11 13 12 11 13 12 11 13 12 11 11"
    table = played(high, *["draw"] * 13, *["stay"] * 11, players=12)
    assert table.to_move == 0
    assert choice(table, name) == "draw"


def test_ev_takes_more_risk_behind() -> None:
    """The same 29 points are kept level, and risked far behind (`chase`), or when one of many is near the target (`rush`)."""
    for players, totals in ((2, [0, 130]), (6, [140] * 6)):
        deck = " ".join(["13", *"123568"[: players - 1], "12", "4"])
        story = ["draw", *["stay"] * (players - 1), "draw"]
        assert choice(played(deck, *story, players=players)) == "stay"
        assert choice(played(deck, *story, players=players, totals=totals)) == "draw"
