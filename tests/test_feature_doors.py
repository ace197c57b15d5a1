"""Action features in the environments: where they are, their spaces, and what the pages say of them."""

from __future__ import annotations

import copy
import importlib
import pickle
import re
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import card_envs
from card_envs.engine.matches import Matches
from card_envs.envs.gym import build_gym_id
from card_envs.envs.pages import describe_action_features
from tests.helpers import quick
from tests.test_action_features import FEATURED, PLAIN, compute, every_game

ROOT = Path(__file__).parent.parent


def make_aec(name: str, kind: str = "env", **arguments: Any) -> Any:
    return getattr(importlib.import_module(f"card_envs.{card_envs.load_game(name).id}"), kind)(**arguments)


def make_gym(name: str, **arguments: Any) -> Any:
    return gymnasium.make(build_gym_id(card_envs.load_game(name)), action_features=True, **quick(name, arguments))


def make_vector(name: str, **arguments: Any) -> Any:
    return gymnasium.make_vec(build_gym_id(card_envs.load_game(name)), action_features=True, **quick(name, arguments))


@pytest.mark.parametrize("kind", ["env", "raw_env"])
@every_game
def test_aec(name: str, kind: str, seed: int) -> None:
    """The agent to move sees what a table of the same match gives, and all others see zeros."""
    env = make_aec(name, kind, action_features=True, **quick(name, {"players": 3}))
    env.reset(seed=seed)
    table = card_envs.table(name, seed=seed, **quick(name, {"players": 3}))
    while not table.is_over:
        expected = compute(table.matches)[0]
        for number, agent in enumerate(env.agents):
            seen = env.observe(agent)
            assert seen in env.observation_space(agent)
            assert list(seen) == ["observation", "action_mask", "action_features"]
            np.testing.assert_array_equal(seen["action_features"], expected if number == table.to_move else 0 * expected)
        seen = env.last()[0]
        np.testing.assert_array_equal(seen["action_features"], expected)
        for other in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
            np.testing.assert_array_equal(other.last()[0]["action_features"], expected)
        seen["action_features"][:] = 7  # it is the caller's
        action = int(np.flatnonzero(table.action_mask())[-1])
        env.step(action)
        table.play(action)
    assert not env.last()[0]["action_features"].any()
    assert env.last()[0] in env.observation_space(env.agent_selection)


def matches_of(env: Any) -> Matches:
    """The matches of an environment for one learner."""
    matches: Matches = env.unwrapped._learner.matches
    return matches


@every_game
def test_gymnasium(name: str, seed: int) -> None:
    env = make_gym(name, players=3, opponents="random")
    _, info = env.reset(seed=seed)
    over = False
    while not over:
        np.testing.assert_array_equal(info["action_features"], compute(matches_of(env))[0])
        assert (info["action_features"].any(axis=1) == info["action_mask"]).all()
        _, _, terminated, truncated, info = env.step(info["action_mask"].argmax())
        over = terminated or truncated
    assert not info["action_features"].any()
    env.reset()
    illegal = int(env.unwrapped.action_masks().argmin())
    *_, info = env.step(illegal)
    assert info["illegal_action"]
    assert not info["action_features"].any()
    check_env(make_gym(name).unwrapped, skip_render_check=True)


@pytest.mark.parametrize("mode", ["SameStep", "NextStep", "Disabled"])
@every_game
def test_gymnasium_vector(name: str, mode: str, seed: int) -> None:
    env = make_vector(name, players=2, num_envs=5, autoreset_mode=mode)
    _, infos = env.reset(seed=seed)
    ended, matches = np.zeros(5, bool), 0
    for _ in range(150):
        expected = compute(matches_of(env))
        expected[ended & (mode != "SameStep")] = 0
        np.testing.assert_array_equal(infos["action_features"], expected)
        assert infos["_action_features"].all()
        if mode == "Disabled" and ended.any():
            _, infos = env.reset(options={"reset_mask": ended})
            ended[:] = False
        else:
            _, _, terminated, truncated, infos = env.step(infos["action_mask"].argmax(axis=1))
            ended = terminated | truncated
            matches += ended.sum()
    assert matches > 5


@every_game
def test_they_are_given_on_request_only(name: str) -> None:
    env = make_aec(name)
    env.reset(seed=1)
    assert {*env.last()[0]} == {*env.observation_space("player_0").spaces} == {"observation", "action_mask"}
    assert "action_features" not in gymnasium.make(build_gym_id(env.game)).reset(seed=1)[1]
    assert "action_features" not in gymnasium.make_vec(build_gym_id(env.game), num_envs=2).reset(seed=1)[1]


@pytest.mark.parametrize("make", [make_aec, make_gym, make_vector])
def test_what_is_refused(make: Any) -> None:
    for name in PLAIN:
        with pytest.raises(ValueError, match=f"action_features: {name} has none"):
            make(name, **({"action_features": True} if make is make_aec else {}))
    if make is make_aec:
        with pytest.raises(ValueError, match="action_features = 'yes': allowed is true or false"):
            make(FEATURED[0], action_features="yes")


@every_game
def test_the_pages_list_them(name: str) -> None:
    game = card_envs.load_game(name)
    table = describe_action_features(game)
    assert re.findall(r"`(\w+)`", table) == list(game.action_fields())
    pages = [
        make_aec(name).__doc__,
        make_aec(name, "raw_env").__doc__,
        type(gymnasium.make(build_gym_id(game)).unwrapped).__doc__,
    ]
    for page in pages:
        assert "\n# Action Features\n" in page
        assert table in page
        assert "| `action_features` | `False` |" in page
    assert table in (ROOT / "docs" / "environments.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PLAIN)
def test_the_pages_of_other_games_do_not(name: str) -> None:
    assert "action_features" not in make_aec(name).__doc__
