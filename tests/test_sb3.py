"""The Stable-Baselines3 environment, and arguments that it shares with the Gymnasium ones."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

import card_envs
from card_envs import Table
from card_envs.players import Decisions, resolve
from tests.helpers import make_card_vec_env
from tests.test_action_features import FEATURED, compute
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


@every_game
def test_the_choice_of_a_teacher_can_be_an_input(name, seed):
    """Observations go on with 1 at the teacher's action, the same as at a table; all else is as without a teacher."""
    spec = card_envs.load_game(name).policies[-1].name
    plain, env = (
        make_card_vec_env(name, 5, players=2, seed=seed, auto_forced=True, opponents="random", **more)
        for more in ({}, {"teacher": spec})
    )
    teacher = resolve(spec, card_envs.load_game(name))
    size, actions = plain.observation_space.shape[0], env.action_space.n
    known, seen, ended, rng = plain.reset(), env.reset(), 0, np.random.default_rng(seed)
    for step in range(4000):
        assert seen.shape == (5, size + actions)
        assert all(row in env.observation_space for row in seen)
        np.testing.assert_array_equal(seen[:, :size], known)
        for row in range(5):
            (choice,) = teacher.act(Decisions.at(Table.from_row(env.learner.matches, row)))
            np.testing.assert_array_equal(seen[row, size:], np.arange(actions) == choice)
        chosen = legal(rng, env.action_masks()) if step % 2 else seen[:, size:].argmax(axis=1)
        known, paid, over, infos = plain.step(chosen)
        seen, its_paid, its_over, its_infos = env.step(chosen)
        np.testing.assert_array_equal(its_paid, paid)
        np.testing.assert_array_equal(its_over, over)
        for row in np.flatnonzero(over):
            last = its_infos[row]["terminal_observation"]
            np.testing.assert_array_equal(last[:size], infos[row]["terminal_observation"])
            assert last.shape == (size + actions,)
            assert not last[size:].any()
        ended += over.sum()
        if ended >= 3 and step > 50:
            break
    assert ended >= 3


def test_a_teacher_must_advise_what_is_legal():
    with pytest.raises(ValueError, match="unknown player of flip7 'evv'"):
        make_card_vec_env("flip7", 2, teacher="evv")
    env = make_card_vec_env("flip7", 2, teacher=lambda decisions: np.full(len(decisions), 10**6))
    with pytest.raises(card_envs.IllegalAction):
        env.reset()


@pytest.mark.parametrize("name", FEATURED)
def test_action_features_come_in_dictionaries(name, seed):
    env = make_card_vec_env(name, 3, players=2, seed=seed, opponents="random", episode="deal", action_features=True)
    seen, ended, rng = env.reset(), 0, np.random.default_rng(seed)
    while not ended:
        assert list(seen) == ["observation", "action_features"]
        np.testing.assert_array_equal(seen["observation"], env.learner.observation())
        for row in range(3):
            assert {key: value[row] for key, value in seen.items()} in env.observation_space
            np.testing.assert_array_equal(
                seen["action_features"][row], compute(Table.from_row(env.learner.matches, row).matches)[0]
            )
        seen, _, over, infos = env.step(legal(rng, env.action_masks()))
        for row in np.flatnonzero(over):
            last = infos[row]["terminal_observation"]
            assert last in env.observation_space
            assert not last["action_features"].any()
            ended += 1


def test_maskable_ppo_learns_from_dictionaries():
    sb3_contrib = pytest.importorskip("sb3_contrib")
    env = make_card_vec_env(FEATURED[0], 2, players=2, opponents="random", teacher="random", action_features=True)
    model = sb3_contrib.MaskablePPO("MultiInputPolicy", env, n_steps=4, batch_size=4, n_epochs=1, seed=1, device="cpu")
    model.learn(8)
    assert model.num_timesteps == 8


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
