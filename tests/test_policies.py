"""The built-in players of every game: legal and honest everywhere, the same interpreted and compiled, the default the best.

What each of them does in a given position stands in ``tests/test_<game>_policies.py``.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import card_envs
from card_envs import Game
from card_envs.arena import play_duel
from tests import games
from tests.helpers import GAMES, Options, label, some_options, variants

SEATS = [(name, players) for name in GAMES for players in card_envs.load_game(name).players]
RIVALS = [
    (name, policy.name, players)
    for name in GAMES
    for policy in card_envs.load_game(name).policies
    if policy.name != card_envs.load_game(name).default_opponent
    for players in games.load(name).RANKED_PLAYERS
]


STRONGER = {("flip7", "race")}  # built-in players who beat the default opponent, by little, so that it takes more matches


def parameters_of_policies(game: Game) -> dict[str, np.ndarray]:
    """The name of each built-in policy and its default parameters."""
    return {policy.name: np.array([*policy.defaults.values()], np.float64) for policy in game.policies}


@pytest.mark.parametrize(("name", "players"), SEATS)
def test_legal_and_honest_at_mixed_tables(name: str, players: int, seed: int) -> None:
    """Where all policies play, each of them answers every decision legally, and the same after a redeal."""
    game, data, size = card_envs.load_game(name), games.load(name), 20
    policies, asked = parameters_of_policies(game), Counter[str]()
    for options in [{**variant, **more} for variant in variants(game) for more in ({}, data.QUICK)]:
        batch = card_envs.batch(name, size, seed=seed, players=players, **options)
        for step in range(100):
            story = f"seed {seed}, step {step}, {players} players, {options}"
            chosen = np.full((len(policies), size), -1)
            hidden = batch.clone()
            hidden.redeal(hidden.to_move, step)
            before = hidden.matches.states.tobytes()
            assert before != batch.matches.states.tobytes(), story
            for choice, (policy, parameters) in zip(chosen, policies.items(), strict=True):
                again = np.full(size, -1)
                batch.choose(policy, parameters, choice)
                hidden.choose(policy, parameters, again)
                assert batch.action_mask[np.arange(size), choice].all(), f"illegal: {policy}, {story}"
                np.testing.assert_array_equal(again, choice, f"{policy} peeks: {story}")
            assert hidden.matches.states.tobytes() == before, f"a policy writes into the state: {story}"
            asked.update(data.question(game, state) for state in batch.matches.states)
            batch.step(chosen[(batch.to_move + np.arange(size)) % len(policies), np.arange(size)])
    for question in data.QUESTIONS:
        assert asked[question], f"never asked: {question}, seed {seed}"


@pytest.mark.parametrize(("name", "options"), [(name, o) for name in GAMES for o in some_options(name)], ids=label)
def test_interpreted_is_compiled(name: str, options: Options, seed: int) -> None:
    policies = parameters_of_policies(card_envs.load_game(name))
    one = card_envs.batch(name, 3, seed=seed, **options)
    two = card_envs.batch(name, 3, seed=seed, interpreted=True, **options)
    for step in range(60):
        chosen = np.full((len(policies), 3), -1)
        for choice, (policy, parameters) in zip(chosen, policies.items(), strict=True):
            again = np.full(3, -1)
            one.choose(policy, parameters, choice)
            two.choose(policy, parameters, again)
            np.testing.assert_array_equal(again, choice, f"{policy}, seed {seed}, step {step}, {options}")
        actions = chosen[step % len(policies)]
        one.step(actions)
        two.step(actions)


@pytest.mark.parametrize(("name", "rival", "players"), RIVALS)
def test_the_default_opponent_is_the_best(name: str, rival: str, players: int, seed: int) -> None:
    """One among the rival's kind, in every seat of every deal: above its fair share by three standard errors at least.

    The few players who are better still win as clearly against it.
    """
    game = card_envs.load_game(name)
    matches, better = games.load(name).RANKED_MATCHES, game.default_opponent
    if (name, rival) in STRONGER:
        better, rival, matches = rival, better, 3 * matches
    share = play_duel(game, better, rival, players=players, matches=matches, seed=seed).share
    assert share.mean - 3 / 1.96 * (share.mean - share.low) > 1 / players, f"{rival}: {share}, seed {seed}"
