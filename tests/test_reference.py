"""The plain references of tests/reference/ agree with the engine on random matches and in every scenario.

A reference shares no code with the package. It draws its shuffles in plain Python, so that decks are compared too.
"""

from __future__ import annotations

import random
from importlib import import_module
from typing import Any

import pytest

import card_envs
from card_envs import Table
from tests import games
from tests.helpers import GAMES, label, play_on
from tests.test_scenarios import SCENARIOS

CHUNKS = 32
STATES_EVERY = 8  # whole states are compared at every eighth decision, legal actions and scores at each
ADAPTERS = {game: games.load(game) for game in GAMES}


def follow(table: Table, given: bool = False) -> Any:
    """Start the reference of a table's match, with the decks that the table was given if ``given``."""
    orders = [table.order, *table.later_orders] if given else []
    return import_module(f"tests.reference.{table.game.name}").start(table.identity, orders, table.options)


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
    matches, every = ADAPTERS[game].MATCHES // CHUNKS * (10 if long else 1), 1 if long else STATES_EVERY
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
