"""The PettingZoo environments: illegal actions, wrong arguments and orders of calls, names, pages."""

from __future__ import annotations

import copy
import pickle
import random
from typing import Any

import numpy as np
import pettingzoo
import pytest
from pettingzoo.utils.env_logger import EnvLogger

import card_envs
from card_envs import IllegalAction, flip7_v0
from card_envs.envs import aec
from tests.test_aec import REWARDS, every_game, every_kind, leave, make, pick, play

# ---- bad input


def bad_actions(env: Any) -> list[Any]:
    mask = env.last()[0]["action_mask"]
    size, legal, illegal = len(mask), int(np.flatnonzero(mask)[0]), int(np.flatnonzero(mask == 0)[0])
    return [
        illegal, np.int8(illegal), -1, legal - size, size, size + 5, 10**30, None, float("nan"), np.float32("nan"), 0.0,
        "draw", np.array([0]), [0], True, False, np.True_,
    ]  # fmt: skip


@every_game
def test_raw_env_refuses_an_illegal_action_and_nothing_changes(name: str, seed: int) -> None:
    env = make(name, "raw_env")
    env.reset(seed=seed)
    play(env, random.Random(seed), 10)
    before = pickle.dumps(env)
    for action in bad_actions(env):
        with pytest.raises(IllegalAction, match=r"^illegal action .+: player_\d is to move, legal are \d+ \(") as error:
            env.step(action)
        assert "\n" not in str(error.value)
        assert pickle.dumps(env) == before, f"{action!r} changed the environment"


def test_the_refusal_names_the_action_the_mover_and_the_legal_ones() -> None:
    env = flip7_v0.raw_env(players=2)
    env.reset(seed=0, options={"deck": ["5", "9"]})
    with pytest.raises(IllegalAction) as error:
        env.step(2)
    assert str(error.value) == "illegal action 2: player_0 is to move, legal are 0 (draw), 1 (stay)"


@pytest.mark.parametrize("reward", REWARDS)
@every_game
def test_env_ends_the_match_at_an_illegal_action(name: str, reward: str, seed: int) -> None:
    start = make(name, reward=reward)
    start.reset(seed=seed)
    while start._finished[0] == 0:  # until a deal is scored, so that score and margin have paid something
        play(start, random.Random(seed), 1)
    owed = dict(start._cumulative_rewards)
    mover = start.agent_selection
    n = len(start.agents)
    for action in bad_actions(start):
        env = copy.deepcopy(start)
        env.step(action)
        others = 1 / (n - 1) if reward == "win" else 0.0
        assert env.rewards == {agent: -1.0 if agent == mover else others for agent in env.agents}
        assert set(env.terminations.values()) == {True}
        assert set(env.truncations.values()) == {False}
        assert all("illegal action" in env.infos[agent]["illegal_action"] for agent in env.agents)
        assert env.agents == env.possible_agents
        for agent in env.agents:
            assert env.observation_space(agent).contains(env.observe(agent))
        paid = leave(env)
        assert paid == {agent: -1.0 if agent == mover else owed[agent] + others for agent in paid}
        env.reset()
        assert env.infos == {agent: {} for agent in env.agents}
        assert not any(env.terminations.values())


@every_kind
@every_game
def test_a_leaving_agent_may_only_step_none(name: str, kind: str, seed: int) -> None:
    env = make(name, kind, players=2)
    env.reset(seed=seed)
    play(env, random.Random(seed))
    with pytest.raises(ValueError, match="the only valid action is None"):
        env.step(0)
    assert len(env.agents) == 2


def test_order_of_calls_before_reset() -> None:
    env = flip7_v0.env(render_mode="ansi")
    calls = {
        "step": lambda: env.step(0),
        "observe": lambda: env.observe("player_0"),
        "render": env.render,
        "agent_iter": env.agent_iter,
    }
    for name, call in calls.items():
        with pytest.raises(AssertionError, match=rf"reset\(\) needs to be called before {name}"):
            call()
    for one in (env, flip7_v0.raw_env()):
        for name in ("rewards", "terminations", "truncations", "infos", "agent_selection", "agents"):
            with pytest.raises(AttributeError, match=f"{name} cannot be accessed before reset"):
                getattr(one, name)
        for call in (lambda one=one: one.num_agents, one.last):
            with pytest.raises(AttributeError, match="cannot be accessed before reset"):
                call()
    with pytest.raises(AttributeError, match="cannot be accessed before reset"):
        flip7_v0.raw_env().step(0)
    with pytest.raises(ValueError):
        env.reset(seed=-1)
    with pytest.raises(AssertionError, match="needs to be called before step"):
        env.step(0)


@every_game
def test_agent_iter_wants_a_step_each_time(name: str, seed: int) -> None:
    env = make(name)
    env.reset(seed=seed)
    agents = iter(env.agent_iter())
    next(agents)
    with pytest.raises(AssertionError, match=r"need to call step\(\) or reset\(\)"):
        next(agents)
    env.step(pick(env.last()[0]["action_mask"], random.Random(seed)))
    next(agents)
    env.reset()
    next(agents)
    assert len(list(env.agent_iter(0))) == 0


@every_game
def test_a_step_when_all_have_left(name: str, seed: int) -> None:
    env, raw = make(name, players=2), make(name, "raw_env", players=2)
    for one in (env, raw):
        one.reset(seed=seed)
        play(one, random.Random(seed))
        leave(one)
        assert one.agents == []
    with pytest.raises(ValueError, match=r"all agents have left; reset\(\)"):
        raw.step(None)
    EnvLogger.flush()
    env.step(None)
    assert "Should reset() first" in EnvLogger.mqueue[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"player": 3}, r"flip7_v0\.env\(\) got an unexpected keyword argument 'player' – did you mean 'players'"),
        ({"rewards": "win"}, r"flip7_v0\.env\(\) got an unexpected keyword argument 'rewards' – did you mean 'reward'"),
        ({"players": 1}, r"option players = 1: allowed is 2 … 12"),
        ({"players": 13}, r"option players = 13: allowed is 2 … 12"),
        ({"brutal": "yes"}, r"option brutal = 'yes': allowed is true or false"),
        ({"reward": "wins"}, r"unknown reward 'wins' – did you mean 'win'"),
        ({"episode": "round"}, r"unknown episode 'round'"),
        ({"render_mode": "asni"}, r"unknown render_mode 'asni' – did you mean 'ansi'"),
    ],
)
def test_a_bad_argument_gets_one_clear_line(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        flip7_v0.env(**arguments)
    assert "\n" not in str(error.value)


def test_an_unknown_agent_is_named() -> None:
    env = flip7_v0.env(players=2)
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"unknown agent 'player_2'"):
        env.observe("player_2")


def test_pictures_without_their_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    env, raw = aec.make_classes("flip7", __name__)
    assert env.metadata["render_modes"] == ["ansi", "human"]
    with pytest.raises(ValueError, match=r"render_mode 'svg' needs the extra: pip install 'card-envs\[render\]'"):
        raw(render_mode="svg")


# ---- names


@every_game
def test_names_and_registration(name: str) -> None:
    game = card_envs.load_game(name)
    aec.register()
    aec.register()  # this must not warn that an id is overridden
    env = pettingzoo.make("aec", f"card_envs/{name}-v{game.version}", players=game.players[0], reward="margin")
    assert type(env) is type(make(name))
    assert len(env.possible_agents) == game.players[0]
    assert str(env) == str(env.unwrapped) == env.metadata["name"] == f"{name}_v{game.version}"
    assert env.metadata["is_parallelizable"] is False
    with pytest.raises(TypeError, match="unexpected keyword argument 'plyers'"):
        pettingzoo.make("aec", f"card_envs/{name}-v{game.version}", plyers=2)


@every_kind
@every_game
def test_the_page_tells_all(name: str, kind: str) -> None:
    game = card_envs.load_game(name)
    page = type(make(name, kind)).__doc__
    for section in (
        "Description", "Observation Space", "Action Space", "Legal Actions Mask", "Rewards", "Episode End", "Arguments",
        "Version History",
    ):  # fmt: skip
        assert f"\n# {section}\n\n" in page
    for word in [option.name for option in game.options] + [field.name for field in game.observation_specs]:
        assert f"| `{word}` |" in page
    players = int(game.resolve({})["players"])
    for index in (0, game.num_actions(players) - 1):
        assert f"`{game.action_string(index, 0, players)}`" in page
    assert "{" not in page.replace('{"deck"', "")
