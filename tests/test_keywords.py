"""Unknown keywords, as libraries try them: a ``TypeError`` in Python's words that is a ``ValueError`` as well."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import gymnasium
import pettingzoo
import pytest

import card_envs
from card_envs.envs.aec import build_aec_id
from card_envs.envs.gym import build_gym_id
from tests.helpers import GAMES, make_card_vec_env

# by the name of the door: a function that passes its keywords on
DOORS: dict[str, Callable[..., Any]] = {
    "env": lambda game, **keywords: importlib.import_module(f"card_envs.{game.id}").env(**keywords),
    "raw_env": lambda game, **keywords: importlib.import_module(f"card_envs.{game.id}").raw_env(**keywords),
    "pettingzoo.make": lambda game, **keywords: pettingzoo.make("aec", build_aec_id(game), **keywords),
    "gymnasium.make": lambda game, **keywords: gymnasium.make(build_gym_id(game), **keywords),
    "gymnasium.make_vec": lambda game, **keywords: gymnasium.make_vec(build_gym_id(game), num_envs=2, **keywords),
    "CardVecEnv": lambda game, **keywords: make_card_vec_env(game.name, 2, **keywords),
    "table": lambda game, **keywords: card_envs.table(game.name, **keywords),
    "batch": lambda game, **keywords: card_envs.batch(game.name, 2, **keywords),
}


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("door", DOORS)
def test_an_unknown_keyword_is_a_type_error_in_the_words_of_python(door: str, name: str) -> None:
    """Issue 11, clients: TorchRL tries ``frameskip`` and drops it if the error says so."""
    game = card_envs.load_game(name)
    for keyword in ("frameskip", "auto_reset", "write_observations"):
        with pytest.raises(TypeError, match=rf"\(\) got an unexpected keyword argument '{keyword}'") as caught:
            DOORS[door](game, **{keyword: 4})
        error = caught.value
        assert isinstance(error, ValueError)
        assert all(option.name in str(error) for option in game.options)
        assert "\n" not in str(error)
        assert isinstance(type(error)("made anew from one string"), ValueError)


@pytest.mark.parametrize("door", DOORS)
def test_a_misspelt_keyword_is_named_with_the_nearest(door: str) -> None:
    with pytest.raises(ValueError, match=r"unexpected keyword argument 'plyers' – did you mean 'players'\? \(known: players"):
        DOORS[door](card_envs.load_game("rummy"), plyers=3)


def make_as_torchrl(id: str, **keywords: Any) -> gymnasium.Env[Any, Any]:
    """Make an environment as ``torchrl.envs.GymEnv`` does: with keywords that are dropped if the error says so."""
    tried = {"frameskip": 1, "render_mode": None, **keywords}
    while True:
        try:
            return gymnasium.make(id, **tried)
        except TypeError as error:
            if "unexpected keyword argument 'frameskip'" not in str(error):
                raise
            tried.pop("frameskip")


@pytest.mark.parametrize("name", GAMES)
def test_torchrl_finds_the_keywords_that_an_environment_has(name: str) -> None:
    """Issue 11, clients: ``GymEnv("card_envs/Flip7-v0")``, without TorchRL."""
    env = make_as_torchrl(build_gym_id(card_envs.load_game(name)), players=2)
    observation, _ = env.reset(seed=1)
    assert observation in env.observation_space


def test_torchrl_plays() -> None:
    """Issue 11, clients: the real thing, where it is installed."""
    envs = pytest.importorskip("torchrl.envs")
    env = envs.GymEnv("card_envs/Flip7-v0", players=2)
    rollout = env.rollout(20, break_when_any_done=False)
    assert rollout["observation"].shape == (20, card_envs.load_game("flip7").observation_size({"players": 2}))
