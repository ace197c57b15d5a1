"""The plain references of tests/reference/ agree with the engine on random matches and in every scenario.

A reference shares no code with the package: what is random in it is drawn here in plain Python (``helpers.shuffled``),
so the decks are compared too.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

import card_envs
from card_envs import Table
from card_envs.engine.game import OptionValue
from tests.helpers import GAMES, Options, label, match_key, play_on, shuffled, stream
from tests.reference import flip7, pis_yedili, rummy
from tests.test_scenarios import SCENARIOS

MATCHES, CHUNKS = 3200, 32
STATES_EVERY = 8  # decisions between two comparisons of whole states; legal actions and scores are compared at each


@dataclass(frozen=True)
class Adapter:
    """How a reference is set up to follow a table from its beginning, and the options that random matches draw from."""

    follow: Callable[[Table, bool], Any]  # (table, whether its deck was given)
    draw_options: Callable[[random.Random], Options]
    matches: int = MATCHES


def follow_flip7(table: Table, given: bool) -> flip7.Flip7:
    key, shuffles = stream(match_key(*table.identity), 0), 0
    deck = table.order if given else shuffled(flip7.canonical([*flip7.PACK.elements()]), key, 0)

    def shuffle(pile: list[str]) -> list[str]:
        nonlocal shuffles
        shuffles += 1
        return shuffled(pile, key, shuffles)

    return flip7.Flip7(deck, shuffle, **table.options)  # type: ignore[arg-type]


def flip7_options(rng: random.Random) -> Options:
    return {
        "players": rng.randint(2, 12),
        "brutal": rng.random() < 0.5,
        "pair_counts_twice": rng.random() < 0.5,
        "target": 200 if rng.random() < 0.4 else rng.randint(1, 150),
        "max_rounds": 200 if rng.random() < 0.7 else rng.randint(1, 12),
    }


def follow_pis_yedili(table: Table, given: bool) -> pis_yedili.PisYedili:
    key = stream(match_key(*table.identity), 0)
    orders = [table.order, *table.later_orders] if given else []

    def deck(deal: int) -> list[str]:
        top = orders[deal - 1] if deal <= len(orders) else []
        return top + shuffled([card for card in pis_yedili.CARDS if card not in top], key, deal - 1)

    return pis_yedili.PisYedili(deck, **table.options)  # type: ignore[arg-type]


def pis_yedili_options(rng: random.Random) -> Options:
    return {
        "players": rng.randint(2, 6),
        "penalty_keeps_turn": rng.random() < 0.5,
        "club_lap": rng.random() < 0.5,
        "deals": rng.choice([1, 2, 4]),
    }


def follow_rummy(table: Table, given: bool) -> rummy.Rummy:
    key = stream(match_key(*table.identity), 0)
    orders = [table.order, *table.later_orders] if given else []

    def deck(deal: int) -> list[str]:
        top = orders[deal - 1] if deal <= len(orders) else []
        return top + shuffled([card for card in rummy.CARDS if card not in top], key, deal - 1)

    return rummy.Rummy(deck, **table.options)


def rummy_options(rng: random.Random) -> Options:
    """A preset and, beside it, up to three other options; one deal or two."""
    options: Options = {"variant": rng.choice(["basic", "rummy500"]), "players": rng.randint(2, 4)}
    others: dict[str, list[OptionValue]] = {
        "pile": ["top", "spread"], "aces": ["low", "universal"], "scoring": ["positive", "laid", "negative"],
        "simple": [False, True], "limit": [False, True], "settle": ["each", "once"], "target": [1, 30, 100],
    }  # fmt: skip
    for name in rng.sample([*others], rng.randint(0, 3)):
        options[name] = rng.choice(others[name])
    return options | {"max_deals": rng.choice([1, 1, 1, 2])}


ADAPTERS = {
    "flip7": Adapter(follow_flip7, flip7_options),
    "pis_yedili": Adapter(follow_pis_yedili, pis_yedili_options),
    "rummy": Adapter(follow_rummy, rummy_options, matches=2560),  # some 3,200 deals; the reference is slow
}


def follow(table: Table, given: bool = False) -> Any:
    return ADAPTERS[table.game.name].follow(table, given)


def compare(table: Table, reference: Any, whole: bool, story: str) -> None:
    legal = table.legal_actions()
    expected = reference.legal_actions()
    assert len(legal) == len(expected), story
    assert set(legal) == set(expected), story
    assert table.to_move == reference.to_move, story
    assert table.scores == reference.totals, story
    if whole:
        assert table.state() == reference.state(), story
        assert table.deals == reference.deals, story


@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize("game", GAMES)
def test_random_matches(game: str, chunk: int, seed: int, request: pytest.FixtureRequest) -> None:
    long = request.config.getoption("--long")
    matches, every = ADAPTERS[game].matches // CHUNKS * (10 if long else 1), 1 if long else STATES_EVERY
    rng = random.Random(f"{game} {seed} {chunk}")
    phases = set()
    for match in range(matches):
        options = ADAPTERS[game].draw_options(rng)
        identity = (seed, chunk, match)
        table = card_envs.table(game, seed=identity, **options)
        reference = follow(table)
        eager = rng.choice([0.0, 0.3, 0.6, 0.9])
        for decision, action in enumerate(play_on(table, rng, eager)):
            story = f"{game} {options}, identity {identity}, decision {decision}, then {action!r}"
            compare(table, reference, decision % every == 0, story)
            phases.add(reference.phase)
            reference.play(action)
        compare(table, reference, True, f"{game} {options}, identity {identity}, the end")
    assert phases | {"over"} == set(card_envs.load_game(game).phases), "a phase that no match came to"


@pytest.mark.parametrize("case", SCENARIOS, ids=lambda case: label(case["id"]))
def test_scenarios_step_by_step(case: dict[str, Any]) -> None:
    table = card_envs.table(case["game"], seed=3, deck=case["deck"], **case["options"])
    reference = follow(table, given=True)
    for number, action in enumerate(case["play"]):
        compare(table, reference, True, f"{case['id']}, before action {number}, {action!r}")
        table.play(action)
        reference.play(action)
    compare(table, reference, True, f"{case['id']}, the end")
