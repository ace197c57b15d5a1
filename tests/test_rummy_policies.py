"""The built-in players of Rummy: their measures against plain counting, their rules as stories."""

from __future__ import annotations

import itertools
import random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import card_envs
from card_envs import Table
from card_envs.games.deck import CARDS, RANKS, SUITS, name_cards
from card_envs.games.melds import in_melds, outs
from card_envs.games.rummy import GAME
from card_envs.games.rummy.rules import count_laid, count_points
from card_envs.games.rummy.state import LOW, UNIVERSAL
from card_envs.games.rummy.tactics import dearest
from tests.helpers import choice, choices

# ---- the measures of a set of cards, against all melds one by one


def melds_of_three(aces: int) -> list[set[str]]:
    melds = [{rank + suit for suit in three} for rank in RANKS for three in itertools.combinations(SUITS, 3)]
    order = RANKS + "A" if aces == UNIVERSAL else RANKS
    return melds + [{rank + suit for rank in order[i : i + 3]} for suit in SUITS for i in range(len(order) - 2)]


@pytest.mark.parametrize("aces", [LOW, UNIVERSAL])
def test_sets_of_cards(aces: int, seed: int) -> None:
    """Which cards are in melds, and which would complete one; never around the corner."""
    rng, melds = random.Random(seed), melds_of_three(aces)
    corner = [{"Kh", "Ah", "2h"}, {"Ah", "2h", "Kh", "Qh"}, {"Kh", "2h"}]
    for hand in [*corner, *(set(rng.sample(CARDS, rng.randint(1, 16))) for _ in range(400))]:
        cards = np.uint64(sum(1 << CARDS.index(card) for card in hand))
        melded = {card for meld in melds if meld <= hand for card in meld}
        assert set(name_cards(int(in_melds(cards, aces == UNIVERSAL)))) == melded, f"{hand}, seed {seed}"
        missing = {card for meld in melds if len(meld - hand) == 1 for card in meld - hand}
        with np.errstate(over="ignore"):
            assert set(name_cards(int(outs(cards, aces == UNIVERSAL)))) == missing, f"{hand}, seed {seed}"


@pytest.mark.parametrize("aces", [LOW, UNIVERSAL])
@pytest.mark.parametrize("simple", [0, 1])
def test_count_points(aces: int, simple: int, seed: int) -> None:
    """R20, R21, of single cards and of hands."""
    s = SimpleNamespace(aces=aces, simple=simple)
    ace = 15 if aces == UNIVERSAL else 5 if simple else 1
    value = {"A": ace, **dict.fromkeys("TJQK", 10), **{rank: 5 if simple else int(rank) for rank in "23456789"}}
    rng = random.Random(seed)
    for hand in [*([card] for card in CARDS), *(rng.sample(CARDS, 20) for _ in range(50))]:
        cards = np.uint64(sum(1 << CARDS.index(card) for card in hand))
        with np.errstate(over="ignore"):
            points = count_points(s, cards)
        assert points == sum(value[card[0]] for card in hand), f"{hand}, seed {seed}"


@pytest.mark.parametrize(
    ("action", "universal", "low"),
    [
        ("meld Ah 2h 3h", 6, 6),
        ("meld Qh Kh Ah", 35, None),
        ("meld Ac Ad Ah", 45, 3),
        ("layoff Ah below", 1, 1),
        ("layoff Ah above", 15, None),
        ("layoff Ah set", 15, 1),
        ("meld 7c 8c 9c Tc", 34, 34),
    ],
)
def test_count_laid(action: str, universal: int, low: int | None) -> None:
    """R21, R22: a universal ace counts 1 where it lies lowest in a run; ``None``: not possible with low aces."""
    for aces, points in ((UNIVERSAL, universal), (LOW, low)):
        if points is not None:
            with np.errstate(over="ignore"):
                assert count_laid(SimpleNamespace(aces=aces, simple=0), GAME.action_index(action, 0, 2)) == points


def test_dearest_spares_melds() -> None:
    """Of three kings and a 5 the 5; of nothing but a meld its dearest."""
    s = SimpleNamespace(aces=LOW, simple=0)
    for hand, card in (("Kc Kd Kh 5s", "5s"), ("9c Tc Jc", "Tc")):
        cards = np.uint64(sum(1 << CARDS.index(name) for name in hand.split()))
        with np.errstate(over="ignore"):
            assert CARDS[dearest(s, cards)] == card


# ---- stories


def table(hands: list[str], then: str, *actions: str, **options: Any) -> Table:
    """A table with these hands, the card that starts the pile and then the stock; after these actions."""
    split = [hand.split() for hand in hands]
    deck = [card for one_each in zip(*split, strict=True) for card in one_each] + then.split()
    made = Table(GAME, deck=deck, seed=0, players=len(hands), **options)
    for action in actions:
        made.play(action)
    return made


OTHERS = ["2c 4d 6h 8s Tc Qd Ah", "3c 5d 7h 9s Jc Kd 2h"]


def test_takes_the_top_card_that_makes_a_meld() -> None:
    assert choices(table(["8c 8d Ac 3h 5s Js Kh", *OTHERS], "8h")) == {"take 8h"}


def test_draws_if_the_top_card_makes_none() -> None:
    assert choices(table(["8c 8d Ac 3h 5s Js Kh", *OTHERS], "9h")) == {"draw"}


def test_takes_the_top_card_that_fits_the_table() -> None:
    """Seat 0 melds three eights and lays off the fourth, which seat 2 discards."""
    hands = ["8c 8d 8h 3h 5s Js Kh", "2c 4d 6h 9s Tc Qd Ah", "3c 5d 7h 8s Jc Kd 2h"]
    at = table(hands, "4c 6c 7s 9h", "draw", "meld 8c 8d 8h", "discard Kh", "draw", "discard Qd", "draw", "discard 8s")
    assert choices(at) == {"take 8s"}
    at.play("take 8s")
    assert choices(at) == {"layoff 8s set"}


@pytest.mark.parametrize("name", ["greedy", "pile", "guard"])
def test_lays_so_that_most_can_be_laid(name: str) -> None:
    """4 5 6 7 of hearts is worth 22 points; three sevens and then 4 5 6 are worth 36."""
    at = table(["4h 5h 6h 7h 7c 7d Ks", "2c 4d 6s 8s Tc Qd Ah", "3c 5d Jh 9s Jc Kd 2h"], "9h Ts", "draw")
    assert choice(at, name) == "meld 7c 7d 7h"
    at.play("meld 7c 7d 7h")
    assert choice(at, name) == "meld 4h 5h 6h"


def test_an_ace_is_laid_where_it_counts_15() -> None:
    """Q K A brings 35 points, A 2 3 only 6."""
    at = table(["Ah 2h 3h Qh Kh 9c 7d", "2c 4d 6h 8s Tc Qd As", "3c 5d 7h 9s Jc Kd 2d"], "5c Ts", "draw", variant="rummy500")
    assert choice(at, "greedy") == "meld Qh Kh Ah"


def test_greedy_discards_the_dearest_and_guard_keeps_pairs() -> None:
    """Two kings may become three; the queen, no worse in the hand, has nobody beside her: both other queens are seen."""
    hands = ["Kc Kd Qs 2c 4d 6h 8s", *["3c 5d 7h 9s Jc Ah 2h", "Ac 3d 5s 7c 9d Jd 4h"]]
    at = table(hands, "5c 8h", "draw")
    assert {choice(at, "guard"), choice(at, "best")} == {"discard Qs"}
    assert choice(at, "greedy") == "discard Kc"


def test_guard_feeds_nobody_what_they_take() -> None:
    """Seat 1 took the ten of hearts: another ten would help them, the queen of spades would not."""
    hands = ["Tc Qs 2c 4d 6h 8s Kh", "9c 5d 7h 9s Js Ah 2h", "Ac 3d 5s 7c 9d Jd 4h"]
    start = ["draw", "discard Th", "take Th", "discard 9c", "draw", "discard 3c", "draw"]
    at = table(hands, "5c Th 3c 8d", *start)
    assert choice(at, "guard", keep=0, feed=100) != "discard Tc"
    assert choice(at, "guard", keep=0, feed=0) == "discard Tc"


def test_pile_takes_a_lower_card_that_can_be_melded() -> None:
    """Under the jack lies the 8 for the pair: `pile` takes both, `greedy` looks at the top card only."""
    hands = ["2c 4d 6h Js Tc Qd Ah", "8c 8d Ac 3h 5s 9s Kh", "3c 5d 7h 6s Jc Kd 2h"]
    at = table(hands, "8h Ts", "draw", "discard Js", variant="rummy500")
    for name in ("pile", "guard", "best"):
        assert choice(at, name) == "take 8h", name
    assert choice(at, "greedy") == "draw"
    at.play("take 8h")
    assert choices(at) == {"meld 8c 8d 8h"}


def test_pile_leaves_what_would_be_caught() -> None:
    """Three twos are worth 6 points; the jack above costs 10 times `carry`."""
    hands = ["8c 4d 6h Js Tc Qd Ah", "2c 2d Ac 3h 5s 9s Kh", "3c 5d 7h 6s Jc Kd 8h"]
    at = table(hands, "2h Ts", "draw", "discard Js", variant="rummy500")
    assert choice(at, "pile", carry=0.5) == "take 2h"
    assert choice(at, "pile", carry=0.7) == "draw"


HELD = ["5c 6c 7c Th Jh Qh Ks Kd Kc 2s 4d 8h Ac", "2c 2d 3h 4s 6h 7s 8d 9c 9s Ts Jd Qc Ah"]


def test_best_holds_melds_back_while_nobody_is_about_to_go_out() -> None:
    """With three melds and five loose cards in a hand of 13, `best` waits to go out at once. The others lay down."""
    at = table(HELD, "3d Jc", "draw")
    assert choice(at, "best", loose=5).startswith("discard ")
    assert choice(at, "best", hold=13).startswith("meld ")
    assert choice(at, "best", loose=4).startswith("meld ")
    assert choice(at, "best", early=25).startswith("meld ")
    assert choice(at, "guard").startswith("meld ")


def test_best_goes_out_when_it_can() -> None:
    """All but one card can be melded: nothing is held back any more."""
    hands = ["5c 6c 7c Th Jh Qh Ks Kd Kc 2s 2h 2d 8c", "2c 3d 3h 4s 6h 7s 8d 9c 9s Ts Jd Qc Ah"]
    at = table(hands, "3c Kh", "draw")
    assert all(choice(at, name).startswith("meld ") for name in ("greedy", "pile", "guard", "best"))


def empty_stock(at: Table) -> Table:
    """The same, with all of the stock drawn (the cards are out of sight for good)."""
    at.matches.states["drawn"] = at.matches.states["deck_size"]
    at.matches.refresh()
    return at


def test_with_an_empty_stock_ends_the_deal() -> None:
    """The king of the pile is no use: dearer than all in hand, and in no meld."""
    at = empty_stock(table(["8c 8d Ac 3h 5s 9s 6h", *["2c 4d 6d 8s Tc Qd Ah", "3c 5d 7h 9c Jc Kd 2h"]], "Kh"))
    assert choices(at) == {"end"}


def test_with_an_empty_stock_takes_what_is_cheaper() -> None:
    """The 2 for a 9: the hand gets lower before the end."""
    at = empty_stock(table(["8c 8d Ac 3h 5s 9s 6h", *["2c 4d 6d 8s Tc Qd Ah", "3c 5d 7h 9c Jc Kd 2h"]], "2s"))
    assert choices(at) == {"take 2s"}


def test_with_an_empty_stock_takes_what_makes_a_meld() -> None:
    at = empty_stock(table(["8c 8d Ac 3h 5s 9s 6h", *["2c 4d 6d 8s Tc Qd Ah", "3c 5d 7h 9c Jc Kd 2h"]], "8h"))
    assert choices(at) == {"take 8h"}


# ---- appraisals


@pytest.mark.parametrize("variant", GAME.presets)
@pytest.mark.parametrize("players", GAME.players)
def test_best_lays_and_discards_what_it_appraises_highest(players: int, variant: str, seed: int) -> None:
    batch = card_envs.batch("rummy", 100, players=players, variant=variant, seed=seed, action_features=True)
    features, fields = batch.action_features, GAME.action_fields()
    assert features is not None
    appraisal, best = (fields[name].slice.start for name in ("appraisal", "best"))
    verbs = np.array([GAME.action_string(action, 0, players).split()[0] for action in range(batch.num_actions)])
    discards, lays = verbs == "discard", (verbs == "meld") | (verbs == "layoff")
    actions, rows, compared = np.zeros(batch.size, np.int64), np.arange(batch.size), 0
    for step in range(100):
        batch.choose("best", None, actions)
        assert (features[:, :, best].sum(axis=1) == 1).all(), f"seed {seed}"
        assert (features[rows, actions, best] == 1).all(), f"seed {seed}"
        for kind in (discards, lays):
            values = np.where((batch.action_mask != 0) & kind, features[:, :, appraisal], -np.inf)
            chosen = kind[actions]
            assert (values[rows, actions] == values.max(axis=1))[chosen].all(), f"seed {seed}"
            compared += int(chosen.sum())
        batch.step(batch.sample() if step % 4 == 0 else actions)
    assert compared > 1000
