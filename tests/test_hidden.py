"""Honesty: ``redeal(seat)`` resamples what a seat cannot know; nothing that it sees or decides by changes."""

from __future__ import annotations

import random

import numpy as np
import pytest

import card_envs
from tests.helpers import CARDS_OF, GAMES, Options, label, play_on, some_options

SETS = [(game, options) for game in GAMES for options in some_options(game)]
POLICIES = [(game, policy.name) for game in GAMES for policy in card_envs.game(game).policies]


@pytest.mark.parametrize(("game", "options"), SETS, ids=label)
def test_redeal_changes_nothing_that_the_seat_sees(game: str, options: Options, seed: int) -> None:
    rng = random.Random(f"{seed} {options}")
    table = card_envs.table(game, seed=seed, **options)
    changed = 0
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
            assert CARDS_OF[game](mine) == CARDS_OF[game](its), story
            assert sorted(mine["deck"]) == sorted(its["deck"]) or "hands" in mine, story
            changed += mine["deck"] != its["deck"]
    assert changed > 10


@pytest.mark.parametrize("game", GAMES)
def test_redeal_hides_the_shuffles_to_come(game: str, seed: int) -> None:
    """A redealt table goes on with other decks than the true one, after the present deck too."""
    table = card_envs.table(game, seed=seed)
    one, two = table.clone(), table.clone()
    one.redeal(0, 1)
    two.redeal(0, 2)
    keys = {int(t._batch._states["key"][0]) for t in (table, one, two)}
    assert len(keys) == 3
    again = table.clone()
    again.redeal(0, 1)
    assert again.state() == one.state()


@pytest.mark.parametrize("game", GAMES)
def test_redeal_reaches_every_order(game: str, seed: int) -> None:
    """The next card of a redealt deck is each kind as often as it lies there: chi-square at 1 - 10^-4."""
    batch = card_envs.batch(game, 1, seed=seed)
    rows = batch.gather(np.zeros(6000, np.int64))
    rows.redeal(rows.to_move, seed)
    state = batch._states[0]
    kinds = np.bincount(state["deck"][state["drawn"] : state["deck_size"]], minlength=len(card_envs.game(game).cards))
    drawn = np.bincount(rows._states["deck"][:, state["drawn"]], minlength=len(kinds))
    expected = kinds / kinds.sum() * len(rows)
    if "hands" in card_envs.table(game, seed=seed).state():
        return  # the next card may then lie in another's hand: the game's own tests say what it must be
    there = expected > 0
    assert not drawn[~there].any()
    degrees = int(there.sum()) - 1
    limit = degrees * (1 - 2 / (9 * degrees) + 3.719 * (2 / (9 * degrees)) ** 0.5) ** 3  # Wilson and Hilferty
    assert ((drawn - expected)[there] ** 2 / expected[there]).sum() < limit, seed


@pytest.mark.parametrize(("game", "name"), POLICIES)
def test_policies_decide_by_what_the_seat_may_know(game: str, name: str, seed: int) -> None:
    policy = next(policy for policy in card_envs.game(game).policies if policy.name == name)
    parameters = np.array([*policy.defaults.values()], np.float64)
    for options in some_options(game):
        batch = card_envs.batch(game, 200, seed=seed, **options)
        for step in range(60):
            chosen, again = np.full(batch.size, -1), np.full(batch.size, -1)
            batch.choose(name, parameters, chosen)
            assert batch.action_mask[np.arange(batch.size), chosen].all(), f"illegal: {name}, step {step}, {options}"
            other = batch.clone()
            other.redeal(other.to_move, step)
            before = other._states.tobytes()
            other.choose(name, parameters, again)
            np.testing.assert_array_equal(again, chosen, f"{name} peeks: step {step}, seed {seed}, {options}")
            assert other._states.tobytes() == before, f"{name} writes into the state"
            batch.step(batch.sample() if step % 2 else chosen)
