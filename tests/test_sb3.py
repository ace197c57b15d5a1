"""The Stable-Baselines3 environment, and arguments that it shares with the Gymnasium ones."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

from tests.helpers import make_card_vec_env
from tests.test_single_agent import every_game, legal


@every_game
def test_vecenv_answers_as_sb3_asks(name):
    env = make_card_vec_env(name, 3, players=2, opponents="random")
    assert env.has_attr("action_masks")
    assert not env.has_attr("nonsense")
    with pytest.raises(AttributeError, match="nonsense"):
        env.get_attr("nonsense")
    assert env.get_attr("render_mode") == [None, None, None]
    assert env.get_attr("game", indices=[0]) == [name]
    assert [mask().shape for mask in env.get_attr("action_masks")] == [(env.action_space.n,)] * 3
    assert env.env_is_wrapped(gymnasium.Wrapper) == [False, False, False]
    assert len(env.env_method("action_masks", indices=[2])) == 1
    with pytest.raises(AttributeError, match="no method"):
        env.env_method("fly")
    assert env.seed(5) == [5, 6, 7]
    seeded = env.reset()
    env.seed(5)
    assert (env.reset() == seeded).all()
    assert (env.reset() != seeded).any()


@every_game
def test_every_environment_hands_out_fresh_arrays(name):
    """MaskablePPO stores the last observation after the step, which a shared buffer would silently corrupt."""
    env = make_card_vec_env(name, 2, players=2, opponents="random", seed=1)
    seen = env.reset()
    masks = np.stack(env.env_method("action_masks"))
    kept = seen.copy(), masks.copy()
    for _ in range(5):
        env.step(legal(np.random.default_rng(0), np.stack(env.env_method("action_masks"))))
    assert (seen == kept[0]).all()
    assert (masks == kept[1]).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"player": 3}, "did you mean 'players'"),
        ({"players": 13}, "2 … 12"),
        ({"reward": "winn"}, "did you mean 'win'"),
        ({"seat": 9}, "seat = 9: allowed are 0 … 3"),
        ({"render_mode": "anzi"}, "did you mean 'ansi'"),
        ({"episode": "game"}, "unknown episode"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_card_vec_env("flip7", 2, **arguments)
    with pytest.raises(ValueError, match=message):
        gymnasium.make("card_envs/Flip7-v0", **arguments)
