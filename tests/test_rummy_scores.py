"""The scores of Rummy at every end of a deal, and what its picture says there."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pytest

import card_envs
from card_envs import Table
from card_envs.engine.rows import open_row
from card_envs.games.rummy.state import DISCARDED
from tests.games.rummy import worth
from tests.helpers import Options, label, play_on
from tests.reference.french_deck import CARDS

GAME = card_envs.load_game("rummy")
IDLE = 10  # idle turns for each player that end a deal (R10)


# ---- ends of deals


def scored(options: Options, hands: list[list[str]], points: list[int]) -> list[int]:
    """The scores of a deal by R22 to R28."""
    sums = [sum(worth(card, options) for card in hand) for hand in hands]
    if options["scoring"] == "laid":
        return [laid - held for laid, held in zip(points, sums)]
    if options["scoring"] == "negative":
        return sums
    lowest = min(sums)
    winners = [seat for seat, points in enumerate(sums) if points == lowest]
    losers = [points for points in sums if points != lowest]
    if not losers:
        return [0] * len(sums)
    pool = sum(losers) - lowest * (len(losers) if options["settle"] == "each" else 1)
    return [pool // len(winners) if seat in winners else 0 for seat in range(len(sums))]


ENDED = [
    {"players": players, "scoring": scoring, "settle": settle, "simple": simple, "aces": aces}
    for players in GAME.players
    for scoring, settle in (("positive", "each"), ("positive", "once"), ("laid", "each"), ("negative", "each"))
    for simple in (False, True)
    for aces in ("low", "universal")
]

# what each seat holds when the stock has run out
TIES: dict[int, list[tuple[list[str], list[int], list[int]]]] = {
    # (hands, R25 `each`, R25 `once`), aces low
    2: [
        (["2c Kc", "Qd Jh"], [8, 0], [8, 0]),  # 12, 20
        (["Ac 9c", "Td"], [0, 0], [0, 0]),  # 10, 10
    ],
    3: [
        (["2c 3c", "4d Ah", "Kh Ks 4s"], [9, 9, 0], [9, 9, 0]),  # 5, 5, 24: 19 shared, 1 lost
        (["2c", "3d", "4d"], [3, 0, 0], [5, 0, 0]),  # 2, 3, 4: 1 + 2; 7 - 2
        (["5c", "5d", "5h"], [0, 0, 0], [0, 0, 0]),
    ],
    4: [
        (["3c", "3d", "3h", "Kc 2c"], [3, 3, 3, 0], [3, 3, 3, 0]),  # 12 - 3 = 9
        (["3c", "4c", "3h", "Kc 2c"], [5, 0, 5, 0], [6, 0, 6, 0]),  # 1 + 9 = 10; 16 - 3 = 13, halved
        (["Kc", "9c", "8c", "7c 6c"], [0, 0, 8, 0], [0, 0, 24, 0]),  # 2 + 1 + 5; 10 + 9 + 13 - 8
    ],
}


def at_the_end(hands: list[str], **options: Any) -> Table:
    """A table with an empty stock, these hands, and the other cards in the pile: seat 0 to move."""
    table = card_envs.table("rummy", seed=1, players=len(hands), **options)
    row = open_row(table.matches.states)
    held = [[CARDS.index(card) for card in hand.split()] for hand in hands]
    rest = [card for card in range(52) if not any(card in hand for hand in held)]
    for seat, hand in enumerate(held):
        row.hands[seat] = np.uint64(sum(1 << card for card in hand))
    for place, card in enumerate(rest):
        row.discards[place] = card
        row.past_number[0, card] = place  # all discarded by seat 0
    row.past[0, DISCARDED] = np.uint64(sum(1 << card for card in rest))
    row.past_size[0] = row.pile_size = len(rest)
    row.drawn = 52
    assert GAME.check is not None
    assert GAME.check(row) is None
    table.matches.refresh()
    return table


@pytest.mark.parametrize("settle", ["each", "once"])
@pytest.mark.parametrize(("hands", "each", "once"), [tie for ties in TIES.values() for tie in ties], ids=label)
def test_the_stock_ran_out_by_hand(hands: list[str], each: list[int], once: list[int], settle: str) -> None:
    """R25, R26: the figures were computed by hand."""
    table = at_the_end(hands, settle=settle, max_deals=1)
    assert "end" in table.legal_actions()
    table.play("end")
    assert table.deals == [each if settle == "each" else once]


@pytest.mark.parametrize(
    ("aces", "simple", "penalties"),
    [
        ("low", False, [1, 19, 9]),
        ("low", True, [5, 15, 15]),
        ("universal", False, [15, 19, 9]),
        ("universal", True, [15, 15, 15]),
    ],
)
def test_values_in_hand_by_hand(aces: str, simple: bool, penalties: list[int]) -> None:
    """R20, R21, R28: one seat holds an ace, one a nine and a king, one a two, a three and a four."""
    table = at_the_end(["Ac", "9d Kd", "2h 3h 4h"], scoring="negative", aces=aces, simple=simple, max_deals=1)
    table.play("end")
    assert table.deals == [penalties]
    assert table.state()["winners"] == [seat for seat in range(3) if penalties[seat] == min(penalties)]


@pytest.mark.parametrize("options", ENDED, ids=label)
def test_every_end_of_a_deal(options: Options, seed: int) -> None:
    """What each end of a deal scores, counted again from the table before the last action."""
    rng, ends = random.Random(f"{seed} {options}"), Counter[str]()
    for match in range(4):
        table = card_envs.table("rummy", seed=(seed, 3, match), max_deals=1, target=10_000, **options)
        points = [0] * table.players
        eager = rng.choice([0.2, 0.6])
        for action in play_on(table, rng, eager):
            before, row = table.state(), open_row(table.matches.states)
            points = [row.points[seat] for seat in range(table.players)]
            last = action
        hands, mover, scores = before["hands"], before["to_move"], table.deals[0]
        verb, *cards = last.split()
        where = f"{table.identity}, {options}, {last!r}"
        if verb in ("meld", "layoff", "discard"):
            gone = [card for card in cards if card in CARDS]
            hands[mover] = [card for card in hands[mover] if card not in gone]
            low = verb == "meld" and len({card[0] for card in gone}) > 1
            below = verb == "layoff" and cards[1] == "below"
            for number, card in enumerate(gone):
                points[mover] += 0 if verb == "discard" else worth(card, table.options, low=(low and number == 0) or below)
        assert hands == table.state()["hands"], where
        assert not hands[mover] or verb == "end" or before["idle"] == IDLE * table.players, where
        assert scores == scored(table.options, hands, points), where
        ends[verb if hands[mover] else f"out by {verb}"] += 1
    assert sum(ends.values()) == 4


# ---- the picture


def test_the_picture_says_what_is_asked() -> None:
    table = at_the_end(["4c 5c", "Kd Ks"], pile="spread", variant="rummy500")
    assert "take from the pile, or end the deal" in table.picture().decision
    table = card_envs.table("rummy", seed=1)
    assert "draw, or take from the pile" in table.picture().decision
    top = table.state()["pile"][-1]
    table.play(f"take {top}")
    assert f"not the {top}" in table.picture().decision
