"""Hidden information: ``redeal(seat)`` resamples what a seat cannot know and changes nothing that the seat sees."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pytest

import card_envs
from card_envs import Table
from card_envs.players import Decisions
from tests import games
from tests.helpers import GAMES, Options, label, play_on, some_options

SETS = [(game, options) for game in GAMES for options in some_options(game)]
HIDDEN = ("deck", "hands")  # keys of state() that not everybody may see


@pytest.mark.parametrize(("game", "options"), SETS, ids=label)
def test_redeal_changes_nothing_that_the_seat_sees(game: str, options: Options, seed: int) -> None:
    rng = random.Random(f"{seed} {options}")
    table, all_cards = card_envs.table(game, seed=seed, **options), games.load(game).all_cards
    changed: Counter[str] = Counter()
    for decision, _ in enumerate(play_on(table, rng, eager=0.5)):
        if decision % 5:
            continue
        for seat in range(table.players):
            story = f"seat {seat}, decision {decision}, identity {table.identity}, {options}"
            other = table.clone()
            other.redeal(seat, rng.randrange(2**63))
            assert other.observation(seat).tobytes() == table.observation(seat).tobytes(), story
            assert other.view(seat) == table.view(seat), story
            assert other.to_move == table.to_move, story
            if seat == table.to_move:
                assert other.action_mask().tobytes() == table.action_mask().tobytes(), story
            assert other.legal_actions(), story
            mine, its = table.state(), other.state()
            assert all_cards(mine) == all_cards(its), story
            assert {key: its[key] for key in mine if key not in HIDDEN} == {
                key: mine[key] for key in mine if key not in HIDDEN
            }, story
            changed["checked"] += 1
            changed["deck"] += mine["deck"] != its["deck"]
            if "hands" in mine:
                assert its["hands"][seat] == mine["hands"][seat], story
                assert [*map(len, its["hands"])] == [*map(len, mine["hands"])], story
                hidden_of = {s: unknown(s, mine) for s in range(table.players) if s != seat}
                most = (
                    len(unseen_by(seat, mine)) - 3
                )  # with fewer cards left for the stock, the same hand comes again too often
                changed["hands"] += all(
                    its["hands"][s] != mine["hands"][s] for s, hand in hidden_of.items() if 3 < len(hand) < most
                )
            else:
                assert sorted(its["deck"]) == sorted(mine["deck"]), story
            seed_again, again = rng.randrange(2**63), table.clone()
            other.redeal(seat, seed_again)
            again.redeal(seat, seed_again)
            assert other.matches.states.tobytes() == again.matches.states.tobytes(), f"a trace of what was hidden: {story}"
    assert changed["checked"] > 10
    hidden = [key for key in HIDDEN if key in table.state()]
    assert all(changed[key] > 0.8 * changed["checked"] for key in hidden), changed


@pytest.mark.parametrize("game", GAMES)
def test_redeal_hides_the_shuffles_to_come(game: str, seed: int) -> None:
    """A redealt table goes on with other decks than the true one, also after the current deck."""
    table = card_envs.table(game, seed=seed)
    one, two = table.clone(), table.clone()
    one.redeal(0, 1)
    two.redeal(0, 2)
    keys = {int(t.matches.states["key"][0]) for t in (table, one, two)}
    assert len(keys) == 3
    again = table.clone()
    again.redeal(0, 1)
    assert again.state() == one.state()


def limit(degrees: int) -> float:
    """The quantile of chi-square at 1 - 10^-4, by the approximation of Wilson and Hilferty."""
    return float(degrees * (1 - 2 / (9 * degrees) + 3.719 * (2 / (9 * degrees)) ** 0.5) ** 3)


def unknown(seat: int, state: dict[str, Any]) -> list[str]:
    """The cards of a hand that only its seat knows."""
    known = state["known"][seat] if "known" in state else []
    return [card for card in state["hands"][seat] if card not in known]


def unseen_by(seat: int, state: dict[str, Any]) -> list[str]:
    """The cards in the deck, and those in the other hands that nobody else knows."""
    others = [other for other in range(state["players"]) if other != seat and "hands" in state]
    return state["deck"] + [card for other in others for card in unknown(other, state)]


@pytest.mark.parametrize("game", GAMES)
def test_redeal_reaches_every_order(game: str, seed: int) -> None:
    """By chi-square: the next and the last card of redealt decks are of each unseen kind in proportion to its number."""
    table = card_envs.table(game, seed=seed)
    for _, _ in zip(range(12), play_on(table, random.Random(seed), eager=0.5)):
        pass
    seat, cards = table.to_move or 0, card_envs.load_game(game).cards
    rows = table.batch.gather(np.zeros(6000, np.int64))
    rows.redeal(seat, seed)
    unseen = Counter(unseen_by(seat, table.state()))
    kinds = np.array([unseen[card] for card in cards])
    there = kinds > 0
    expected = kinds / kinds.sum() * rows.size
    first, last = int(rows.matches.states["drawn"][0]), int(rows.matches.states["deck_size"][0]) - 1
    for place in (first, last):
        counts = np.bincount(rows.matches.states["deck"][:, place], minlength=len(cards))
        assert not counts[~there].any()
        statistic = ((counts - expected)[there] ** 2 / expected[there]).sum()
        assert statistic < limit(int(there.sum()) - 1), f"place {place}, seed {seed}"


HANDS = [game for game in GAMES if "hands" in card_envs.table(game, seed=0).state()]


@pytest.mark.parametrize("game", HANDS)
def test_redeal_spreads_unseen_cards_evenly(game: str, seed: int) -> None:
    """Every unseen card, and every pair of them, lies in another hand as often as the size of that hand says."""
    n = 6000
    table = card_envs.table(game, seed=seed)
    for _, _ in zip(range(25), play_on(table, random.Random(seed), eager=0.6)):
        pass
    seat, state = table.to_move or 0, table.state()
    unseen = sorted(unseen_by(seat, state))
    index = {card: i for i, card in enumerate(unseen)}
    u = len(unseen)
    holds = np.zeros((table.players, n, u))
    for row in range(n):
        copy = Table.from_row(table.matches, 0, redeal=(seat, seed + row))
        for other, hand in enumerate(copy.state()["hands"]):
            if other != seat:
                holds[other, row, [index[card] for card in hand if card in index]] = 1
    for other in range(table.players):
        if other == seat:
            continue
        h = len(unknown(other, state))
        p, together = h / u, h * (h - 1) / (u * (u - 1))
        # n draws of h cards among u without replacement
        statistic = ((holds[other].sum(axis=0) - n * p) ** 2).sum() / (n * p * (1 - p) * u / (u - 1))
        assert statistic < limit(u - 1), f"hand of seat {other} seen from {seat}, seed {seed}"
        pairs = (holds[other].T @ holds[other])[np.triu_indices(u, 1)]
        worst = np.abs(pairs - n * together).max() / (n * together * (1 - together)) ** 0.5
        assert worst < 5.5, f"two cards in the hand of seat {other} seen from {seat}, seed {seed}"


@pytest.mark.parametrize("game", HANDS)
def test_a_searcher_s_tables_hold_what_its_seat_knows_and_not_the_true_hands(game: str, seed: int) -> None:
    batch = card_envs.batch(game, 50, seed=seed)
    for _ in range(20):
        batch.step(batch.sample())
    decisions = Decisions(batch.matches, np.arange(batch.size))
    guessed = 0
    for row, copy in enumerate(decisions.tables()):
        true, seat = Table.from_row(batch.matches, row), int(batch.to_move[row])
        assert copy.view(seat) == true.view(seat)
        assert copy.observation(seat).tobytes() == true.observation(seat).tobytes()
        guessed += copy.state()["hands"] == true.state()["hands"]
    assert guessed < 5, f"{guessed} of {batch.size} copies hold the true hands, seed {seed}"
