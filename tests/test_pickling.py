"""Pickles and copies in the middle of a match: environments and players go on as the original does."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import cloudpickle
import gymnasium
import numpy as np
import pytest
from numpy.testing import assert_array_equal

import card_envs
from card_envs.envs.gym import build_gym_id, make_class
from card_envs.players import Decisions, load_player, registered_players, resolve
from card_envs.players.checkpoint import save_network
from card_envs.players.human import Human
from tests.helpers import GAMES, make_card_vec_env, quick
from tests.test_network import make_network
from tests.test_single_agent import every_game, gym_name, legal

WAYS: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda one: pickle.loads(pickle.dumps(one)),
    "the oldest protocol": lambda one: pickle.loads(pickle.dumps(one, 2)),
    "cloudpickle": lambda one: pickle.loads(cloudpickle.dumps(one)),
    "deepcopy": copy.deepcopy,
}
every_way = pytest.mark.parametrize("way", WAYS)


def first_legal(decisions: Decisions) -> np.ndarray:
    """A player that is a plain function of a module."""
    return decisions.action_mask.argmax(axis=1)


def opponents(name: str) -> list[Any]:
    """A built-in player, one with parameters, a network and a function."""
    game = card_envs.load_game(name)
    with_parameters = next(policy for policy in game.policies if policy.defaults)
    return [game.default_opponent, f"{with_parameters.name}({next(iter(with_parameters.defaults.values()))})", first_legal]


# ---- environments


def go_on_single(env: Any, steps: int = 60) -> list[Any]:
    """Play on by the first legal action, and return all that the environment says."""
    log: list[Any] = []
    for _ in range(steps):
        observation, reward, terminated, truncated, info = env.step(env.unwrapped.action_masks().argmax())
        log.append((observation, reward, terminated, truncated, info["action_mask"], info["seat"]))
        if terminated or truncated:
            log.append(env.reset()[0])
    return log


def go_on_vector(env: Any, steps: int = 60) -> list[Any]:
    log: list[Any] = []
    for _ in range(steps):
        observations, rewards, terminated, truncated, infos = env.step(env.action_masks().argmax(axis=1))
        log += [observations, rewards, terminated, truncated, infos["action_mask"], infos["seat"]]
        if (ended := terminated | truncated).any() and env.metadata["autoreset_mode"].value == "Disabled":
            log.append(env.reset(options={"reset_mask": ended})[0])
    return log


def go_on_sb3(env: Any, steps: int = 60) -> list[Any]:
    log: list[Any] = []
    for _ in range(steps):
        observations, rewards, ended, infos = env.step(np.stack(env.env_method("action_masks")).argmax(axis=1))
        log += [observations, rewards, ended, [info.get("terminal_observation") for info in infos]]
    return log


def assert_same(a: list[Any], b: list[Any]) -> None:
    for one, other in zip(a, b, strict=True):
        if isinstance(one, tuple | list):
            assert_same(list(one), list(other))
        else:
            assert_array_equal(one, other)


@every_way
@every_game
def test_a_single_environment(name: str, way: str, seed: int) -> None:
    """Issue 11, clients: what ``gymnasium.make`` returns, wrappers and all."""
    env = gymnasium.make(gym_name(name), players=4, opponents=opponents(name), **quick(name, {}))
    env.reset(seed=seed)
    go_on_single(env, 7)
    copies = [WAYS[way](env), WAYS[way](env.unwrapped)]
    assert copies[0].spec == env.spec
    assert type(copies[1]) is type(env.unwrapped) is make_class(name)
    logs = [go_on_single(one) for one in [*copies, env]]  # the original comes last and must not have changed meanwhile
    for log in logs[:2]:
        assert_same(log, logs[2])


@pytest.mark.parametrize("mode", ["SameStep", "NextStep", "Disabled"])
@every_way
@every_game
def test_a_vector_environment(name: str, way: str, mode: str, seed: int) -> None:
    """Issue 11, clients: what ``gymnasium.make_vec`` returns, with rows that wait for their next match."""
    options = quick(name, {"players": 4})
    env = gymnasium.make_vec(
        gym_name(name), num_envs=3, autoreset_mode=mode, opponents={"random": 1, first_legal: 2}, **options
    )
    _, infos = env.reset(seed=seed)
    for _ in range(200):
        _, _, terminated, truncated, infos = env.step(legal(np.random.default_rng(seed), infos["action_mask"]))
        if (terminated | truncated).any():
            break
    assert (terminated | truncated).any()
    one = WAYS[way](env)
    if mode == "Disabled":
        for each in (one, env):
            each.reset(options={"reset_mask": terminated | truncated})
    assert_same(go_on_vector(one), go_on_vector(env))


@every_way
@every_game
def test_a_vector_environment_of_stable_baselines(name: str, way: str, seed: int) -> None:
    """Issue 11, clients: ``CardVecEnv``, with the seeds of the next reset."""
    env = make_card_vec_env(name, 3, players=4, opponents=opponents(name), **quick(name, {}))
    env.seed(seed)
    waiting = WAYS[way](env)
    assert_array_equal(waiting.reset(), env.reset())
    go_on_sb3(env, 7)
    one = WAYS[way](env)
    assert_same(go_on_sb3(one), go_on_sb3(env))


@every_way
def test_given_decks_of_later_deals_are_kept(way: str) -> None:
    cards = card_envs.load_game("pis_yedili").cards
    env = gymnasium.make_vec(gym_name("pis_yedili"), num_envs=2, players=2, opponents="random", render_mode="ansi")
    env.reset(seed=3, options={"deck": [cards[::-1], cards, cards[::-1]]})
    one = WAYS[way](env)
    texts: list[str] = []
    for step in range(400):
        for each in (one, env):
            each.step(each.action_masks().argmax(axis=1))
        if step % 10 == 0:
            assert one.render() == env.render()
            texts += env.render()
    assert any("deal 3" in text for text in texts)


def test_another_process_goes_on_the_same_way(tmp_path: Any) -> None:
    """An environment that was pickled here plays on in a process that has imported nothing yet."""
    env = gymnasium.make_vec(gym_name("flip7"), num_envs=2, players=2, opponents="ev")
    env.reset(seed=5)
    go_on_vector(env, 5)
    file = tmp_path / "env.pickle"
    file.write_bytes(pickle.dumps((env, gymnasium.make(gym_name("flip7")))))
    code = (
        "import pickle, sys\n"
        f"env, single = pickle.load(open({str(file)!r}, 'rb'))\n"
        "for _ in range(20):\n"
        "    env.step(env.action_masks().argmax(axis=1))\n"
        "print(env.action_masks().tolist(), type(single.unwrapped).__name__)\n"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    go_on_vector(env, 20)
    assert answer == f"{env.action_masks().tolist()} flip7_env\n"


# ---- players


def decisions(name: str, **options: Any) -> Decisions:
    batch = card_envs.batch(name, 40, seed=2, **options)
    for _ in range(6):
        batch.step(batch.sample())
    return Decisions(batch.matches, np.arange(40))


@every_way
@every_game
def test_built_in_players(name: str, way: str) -> None:
    """Issue 11, clients: every player that has a name, with its parameters."""
    game = card_envs.load_game(name)
    asked = decisions(name)
    for spec in [*(policy.name for policy in game.policies), *game.aliases, *registered_players(name)]:
        player = resolve(spec, game)
        one = WAYS[way](player)
        assert repr(one) == repr(player)
        assert_array_equal(one.act(asked), player.act(asked))
        assert getattr(one, "parameters", None) is not getattr(player, "parameters", one)


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("deterministic", [True, False])
@every_way
def test_networks(way: str, deterministic: bool, activation: str, seed: int, tmp_path: Any) -> None:
    """Issue 11, clients: the players of checkpoints."""
    file = tmp_path / "network.safetensors"
    save_network(file, make_network(seed, activation=activation))
    player = load_player(file, deterministic=deterministic)
    file.unlink()  # a pickle holds the network itself
    asked = decisions("flip7", players=2)
    one = WAYS[way](player)
    assert one.metadata == player.metadata
    assert_array_equal(one.act(asked), player.act(asked))


@every_way
def test_functions_and_people(way: str) -> None:
    asked = decisions("flip7")
    player = resolve(first_legal, card_envs.load_game("flip7"))
    assert_array_equal(WAYS[way](player).act(asked), player.act(asked))
    assert WAYS[way](Human()).ask is input


def test_cloudpickle_takes_a_function_of_no_module() -> None:
    game = card_envs.load_game("flip7")
    player = resolve(lambda decisions: decisions.action_mask.argmax(axis=1), game)
    asked = decisions("flip7")
    assert_array_equal(pickle.loads(cloudpickle.dumps(player)).act(asked), player.act(asked))


def test_a_class_of_no_game_is_not_there() -> None:
    from card_envs.envs import gym

    assert gym.flip7_env is make_class("flip7")
    with pytest.raises(AttributeError, match="no attribute 'chess_env'"):
        gym.chess_env  # noqa: B018
    assert {build_gym_id(card_envs.load_game(name)) for name in GAMES} <= set(gymnasium.registry)
