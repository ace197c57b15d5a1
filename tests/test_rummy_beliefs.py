"""How likely the choices of the players of Rummy make given hands."""

from __future__ import annotations

import random
from typing import Any

import numba
import numpy as np
import pytest
from numpy.typing import NDArray

import card_envs
from card_envs import Table
from card_envs.engine.batch import Batch
from card_envs.engine.rows import open_row
from card_envs.games.rummy.state import DECLINED, DISCARDED, TAKEN
from tests.games.rummy import draw_options
from tests.helpers import play_on
from tests.reference.french_deck import CARDS, RANKS

LIKELIHOOD = card_envs.load_game("rummy").likelihood
assert LIKELIHOOD is not None

# by the pile and the choice: no mate, one, several, a meld
FACTORS = {
    "top": {"discarded": (1, 0.56, 0.23, 0.1), "declined": (1, 0.67, 0.62, 0.38), "known": (0.1, 0.1, 0.1, 1)},
    "spread": {"discarded": (1, 0.84, 0.76, 0.25), "declined": (1, 1, 1, 0.46), "known": (0.39, 0.46, 0.55, 1)},
}


def find_places(card: str, universal: bool) -> list[int]:
    """Where a card stands in the row of its suit."""
    return [RANKS.index(card[0])] + ([len(RANKS)] if universal and card[0] == "A" else [])


def are_mates(one: str, other: str, universal: bool) -> bool:
    """Whether two cards and a third one can make a meld."""
    if one == other:
        return False
    near = any(abs(a - b) <= 2 for a in find_places(one, universal) for b in find_places(other, universal))
    return one[0] == other[0] or (one[1] == other[1] and near)


def makes_meld(card: str, hand: list[str], universal: bool) -> bool:
    """Whether a card makes a meld with two of a hand."""
    if sum(other[0] == card[0] for other in hand if other != card) >= 2:
        return True
    held = {place for other in {*hand, card} if other[1] == card[1] for place in find_places(other, universal)}
    return any(
        place in range(low, low + 3) and held.issuperset(range(low, low + 3))
        for place in find_places(card, universal)
        for low in range(len(RANKS))
    )


def plain_likelihood(state: dict[str, Any], seat: int) -> float:
    """What `likelihood` says, from ``Table.state()``."""
    product, universal = 1.0, state["options"]["aces"] == "universal"
    for other in range(state["players"]):
        hand, past = state["hands"][other], state["past"][other]
        chosen = {"discarded": past["discarded"], "declined": past["declined"], "known": state["known"][other]}
        for name, cards in chosen.items():
            for card in cards:
                mates = min(2, sum(are_mates(card, held, universal) for held in hand))
                found = 3 if makes_meld(card, hand, universal) else mates
                product *= 1.0 if other == seat else FACTORS[state["options"]["pile"]][name][found]
    return product


@numba.njit(_nrt=False)  # as the loops of the engine, which allocate nothing
def compute_likelihoods(states: Any, seats: Any, values: Any) -> None:
    for n in range(len(states)):
        values[n] = LIKELIHOOD(states[n], seats[n])


def weigh(batch: Batch, seats: NDArray[np.int64]) -> NDArray[np.float64]:
    """The likelihood in every row, compiled."""
    values = np.zeros(len(batch))
    compute_likelihoods(batch.matches.states, seats, values)
    return values


def weigh_table(table: Table, seat: int) -> float:
    """The likelihood at a table: interpreted, and compiled the same to the last bit."""
    with np.errstate(over="ignore"):  # uint64 arithmetic wraps on purpose
        value = LIKELIHOOD(open_row(table.matches.states), seat)  # type: ignore[misc]
    assert weigh(table.batch, np.array([seat]))[0] == value
    return float(value)


# ---- what is computed


def make_set(cards: str) -> int:
    """Some cards as the bits of a number."""
    return sum(1 << CARDS.index(card) for card in cards.split())


def weigh_one(choice: int, cards: str, hand: str, *, seat: int = 0, **options: Any) -> float:
    """The likelihood, for ``seat``, of a choice that seat 1 of two made about some cards, with this hand."""
    table = card_envs.table("rummy", seed=1, players=2, **options)
    state = table.matches.states[0]
    state["hands"][1] = make_set(hand)
    state["past"][1, choice] = make_set(cards)
    if choice == TAKEN:
        state["known"][1] = make_set(cards)
    return weigh_table(table, seat)


@pytest.mark.parametrize(
    ("card", "hand", "factor"),
    [
        ("7h", "4h 8c 9d Th Ks", 1.0),
        ("7h", "4h 7c", 0.56),
        ("7h", "8h", 0.56),
        ("7h", "5h", 0.56),
        ("7h", "7c 8h", 0.23),
        ("7h", "5h 9h", 0.23),
        ("7h", "7c 7s", 0.1),
        ("7h", "8h 9h", 0.1),
        ("7h", "6h 8h Ks", 0.1),
        ("Ah", "Kh Qh", 1.0),
        ("Ah", "2h 3h", 0.1),
        ("Ks", "As 2s", 1.0),
        ("Ks", "Qs 2c", 0.56),
    ],
)
def test_a_discarded_card_with_mates_in_the_hand_is_unlikely(card: str, hand: str, factor: float) -> None:
    assert weigh_one(DISCARDED, card, hand) == pytest.approx(factor)


def test_a_declined_card_that_makes_a_meld_is_unlikely() -> None:
    for hand, top, spread in (("2c", 1.0, 1.0), ("8h", 0.67, 1.0), ("8h 7c", 0.62, 1.0), ("8h 9h", 0.38, 0.46)):
        assert weigh_one(DECLINED, "7h", hand) == pytest.approx(top)
        assert weigh_one(DECLINED, "7h", hand, pile="spread") == pytest.approx(spread)


def test_a_taken_card_that_makes_no_meld_is_unlikely() -> None:
    for hand, top, spread in (("7h 2c", 0.1, 0.39), ("7h 8h", 0.1, 0.46), ("7h 8h 7c", 0.1, 0.55), ("7h 8h 9h", 1.0, 1.0)):
        assert weigh_one(TAKEN, "7h", hand) == pytest.approx(top)
        assert weigh_one(TAKEN, "7h", hand, pile="spread") == pytest.approx(spread)


def test_a_high_ace_is_near_the_king_but_runs_end_there() -> None:
    """R11."""
    for card, hand, factor in (("Ah", "Kh", 0.56), ("Ah", "Qh", 0.56), ("Ah", "Kh Qh", 0.1), ("Ah", "Kh 2h", 0.23)):
        assert weigh_one(DISCARDED, card, hand, aces="universal") == pytest.approx(factor)
    for card, hand, factor in (("Kh", "Ah 2h", 0.56), ("2h", "Ah Kh", 0.56), ("Kh", "2h", 1.0)):
        assert weigh_one(DISCARDED, card, hand, aces="universal") == pytest.approx(factor)


def test_cards_multiply_and_only_other_seats_count() -> None:
    assert weigh_one(DISCARDED, "7h 6c Ks", "8h 5c 4c") == pytest.approx(0.56 * 0.1)
    assert weigh_one(DISCARDED, "7h 6c Ks", "8h 5c 4c", seat=1) == 1.0


def test_no_hands_are_impossible() -> None:
    """Three players who have declined or discarded what makes melds with everything that they hold."""
    table = card_envs.table("rummy", seed=1, players=4)
    state = table.matches.states[0]
    hand = sum(1 << card for card in range(52) if card % 13 % 3 < 2)
    for seat in range(4):
        state["hands"][seat] = hand
        state["past"][seat, DISCARDED] = (1 << 52) - 1
    assert 1e-160 < weigh_table(table, 0) < 1e-100


def test_the_likelihood_is_that_of_the_plain_twin(seed: int) -> None:
    """Interpreted and compiled, of true and of redealt hands, with all options."""
    rng, below, held = random.Random(seed), 0, 0
    for match in range(10):
        table = card_envs.table("rummy", seed=(seed, 0, match), **draw_options(rng))
        for decision, _ in enumerate(play_on(table, rng, eager=0.5)):
            if decision % 7:
                continue
            seat, other = rng.randrange(table.players), table.clone()
            other.redeal(seat, rng.getrandbits(60))
            for one in (table, other):
                state = one.state()
                value = weigh_table(one, seat)
                assert value == pytest.approx(plain_likelihood(state, seat), rel=1e-9)
                assert 0 < value <= 1
                below += value < 1
                held += any(state["known"][s] for s in range(table.players) if s != seat)
    assert below > 100
    assert held > 100


# ---- what it is good for


def sample_decisions(players: int, variant: str, seed: int, worlds: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Likelihoods at decisions in play by `best`, of the true hands and of redealt ones, [decisions, 1 + worlds].

    With them comes the match of each decision. Of every match there are eight.
    """
    rows = 64
    batch = card_envs.batch("rummy", rows, players=players, variant=variant)
    batch.reset(seed)
    actions, likelihoods = np.zeros(rows, np.int64), []
    for number in range(1, 8 * 31 + 1):
        batch.choose("best", None, actions)
        batch.step(actions)
        if number % 31 == 0:
            seats, columns = batch.to_move.astype(np.int64), []
            for world in range(worlds + 1):
                one = batch.clone()
                if world > 0:
                    one.redeal(seats, seed + 1000 * number + world)
                columns.append(weigh(one, seats))
            likelihoods.append(np.stack(columns, axis=1))
    return np.concatenate(likelihoods), np.tile(np.arange(rows), 8)


@pytest.mark.parametrize("variant", ["basic", "rummy500"])
@pytest.mark.parametrize("players", [2, 4])
def test_true_hands_are_likelier_than_redealt_ones(players: int, variant: str, seed: int) -> None:
    """In play by `best`: by the mean of the logarithm, with a margin of five standard errors, taken over rows.

    And of 64 redealt worlds, the weights leave a search enough: the median of the effective number.
    """
    likelihoods, rows = sample_decisions(players, variant, seed, 64)
    logs = np.log(likelihoods)
    gains = logs[:, 0] - logs[:, 1:].mean(axis=1)
    means = np.bincount(rows, gains) / np.bincount(rows)
    assert means.mean() > 5 * means.std() / len(means) ** 0.5
    assert means.mean() > 0.5
    weights = likelihoods[:, 1:]
    effective = weights.sum(axis=1) ** 2 / (weights**2).sum(axis=1)
    assert np.median(effective) > 16
