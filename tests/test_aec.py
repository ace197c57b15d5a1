"""The PettingZoo environments: PettingZoo's own test kit, what agents see and are paid, identities, copies."""

from __future__ import annotations

import copy
import importlib
import pickle
import random
from typing import Any

import gymnasium
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from pettingzoo.test import api_test, render_test, seed_test

import card_envs
from card_envs import flip7_v0
from tests.games.pis_yedili import ten_draws
from tests.helpers import GAMES, Options, all_options, kit_options, label, quick, short, some_options

REWARDS = ("win", "score", "margin")
KINDS = ("env", "raw_env")
KIT_CASES = [(name, options) for name in GAMES for options in all_options(name)]
DRAWN_CASES = [(name, options) for name in GAMES for options in kit_options(name)]
CASES = [(name, options) for name in GAMES for options in some_options(name)]
every_kit_case = pytest.mark.parametrize(("name", "options"), KIT_CASES, ids=label)
every_drawn_case = pytest.mark.parametrize(("name", "options"), DRAWN_CASES, ids=label)
every_case = pytest.mark.parametrize(("name", "options"), CASES, ids=label)
every_kind = pytest.mark.parametrize("kind", KINDS)
every_game = pytest.mark.parametrize("name", GAMES)


def make(name: str, kind: str = "env", **options: Any) -> Any:
    return getattr(importlib.import_module(f"card_envs.{card_envs.load_game(name).id}"), kind)(**options)


def pick(mask: Any, rng: random.Random) -> int:
    return int(rng.choice(np.flatnonzero(mask)))


def play(env: Any, rng: random.Random, steps: int = 10**6) -> list[int]:
    """Play random legal actions until the match is over, at most ``steps``, and return them."""
    actions = []
    while len(actions) < steps and not any(env.terminations.values()) and not any(env.truncations.values()):
        actions.append(pick(env.last()[0]["action_mask"], rng))
        env.step(actions[-1])
    return actions


def leave(env: Any) -> dict[str, float]:
    """Take the last step of every agent and return what ``last()`` paid each of them."""
    paid = {}
    for agent in env.agent_iter():
        paid[agent] = env.last()[1]
        env.step(None)
    return paid


def assert_same(a: Any, b: Any) -> None:
    assert gymnasium.utils.env_checker.data_equivalence(a, b, exact=True), (a, b)


# ---- PettingZoo's kit


# api_test gives these two warnings for every Dict observation outside its own list; any other warning is an error
@pytest.mark.filterwarnings(
    "error",
    r"ignore:Observation is not a NumPy array$:UserWarning",
    r"ignore:Observation space for each agent probably should be gymnasium\.spaces\.box or gymnasium\.spaces\.discrete$"
    ":UserWarning",
)
@every_kind
@every_kit_case
def test_the_kit_of_pettingzoo(name: str, options: Options, kind: str) -> None:
    options = quick(name, options)
    env = make(name, kind, **options)
    for agent in env.possible_agents:
        env.action_space(agent).seed(5)
    api_test(env, num_cycles=1000)
    seed_test(lambda: make(name, kind, **options), num_cycles=200)


@pytest.mark.filterwarnings("error")
@every_drawn_case
def test_the_render_kit_of_pettingzoo(name: str, options: Options) -> None:
    """Pixels show the drawing of the mode ``svg`` and are slow: one option set for each number of players is enough."""

    def make_to_draw(render_mode: str) -> Any:
        env = make(name, render_mode=render_mode, **options)
        if options.keys() != {"players"}:
            modes = [mode for mode in env.metadata["render_modes"] if mode != "rgb_array"]
            env.metadata = env.metadata | {"render_modes": modes}
        return env

    assert "rgb_array" in make(name).metadata["render_modes"]
    svg = {"svg": lambda drawn: drawn.startswith("<?xml") or drawn.startswith("<svg")}
    render_test(make_to_draw, custom_tests=svg)


@every_game
def test_human_prints_what_ansi_returns_after_every_step(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    ansi, human = make(name, render_mode="ansi"), make(name, render_mode="human")
    ansi.reset(seed=3)
    human.reset(seed=3)
    assert capsys.readouterr().out == ansi.render() + "\n" == f"{card_envs.table(name, seed=3)}\n"
    action = pick(ansi.last()[0]["action_mask"], random.Random(0))
    ansi.step(action)
    human.step(action)
    assert capsys.readouterr().out == ansi.render() + "\n"
    assert human.render() is None
    assert capsys.readouterr().out == ansi.render() + "\n"


# ---- what agents see


@every_kind
@every_case
def test_every_agent_sees_the_table_at_any_time(name: str, options: Options, kind: str, seed: int) -> None:
    options = short(name, options)
    env, table, rng = make(name, kind, **options), card_envs.table(name, seed=seed, **options), random.Random(seed)
    env.reset(seed=seed)
    while not table.is_over:
        for seat, agent in enumerate(env.possible_agents):
            seen = env.observe(agent)
            mask = table.action_mask() if seat == table.to_move else np.zeros(table.action_mask().shape, np.int8)
            assert_same(seen, {"observation": table.observation(seat), "action_mask": mask})
            assert env.observation_space(agent).contains(seen)
        assert env.agent_selection == f"player_{table.to_move}"
        assert_same(env.last()[0], env.observe(env.agent_selection))
        assert env.last(observe=False)[0] is None
        assert env.agents == env.possible_agents, "an agent is dead before the match is over"
        action = pick(table.action_mask(), rng)
        env.step(action)
        table.play(action)
    for seat, agent in enumerate(env.possible_agents):
        over = {"observation": table.observation(seat), "action_mask": np.zeros_like(table.action_mask())}
        assert_same(env.observe(agent), over)
    truncated = table.state()["truncated"]
    assert set(env.terminations.values()) == {not truncated}
    assert set(env.truncations.values()) == {truncated}


@every_game
def test_what_was_handed_out_stays_as_it_was(name: str, seed: int) -> None:
    env = make(name, players=3)
    env.reset(seed=seed)
    kept = [(env.last(), env.observe("player_2"), env.rewards, env.terminations, env.truncations)]
    copies = copy.deepcopy(kept)
    kept[0][0][4]["mine"] = copies[0][0][4]["mine"] = "written by the caller"
    mover = env.agent_selection
    play(env, random.Random(seed), 1)
    assert env.infos[mover] == {}
    play(env, random.Random(seed))
    assert_same(kept, copies)


@every_game
def test_spaces_are_the_game_s(name: str) -> None:
    game = card_envs.load_game(name)
    for options in ({"players": game.players[0]}, {"players": game.players[-1]}):
        env = make(name, **options)
        for agent in env.possible_agents:
            space = env.observation_space(agent)
            assert space is env.observation_space(agent)
            assert env.action_space(agent) is env.action_space(agent)
            assert env.action_space(agent).n == game.num_actions(options["players"])
            assert space["observation"].shape == (game.observation_size(options),)
            assert space["action_mask"].shape == (env.action_space(agent).n,)
            for field in game.observation_fields(options).values():
                assert (space["observation"].low[field.slice] == np.float32(field.low)).all()
                assert (space["observation"].high[field.slice] == np.float32(field.high)).all()


# ---- rewards and ends


def expected_returns(reward: str, scale: float, deals: list[list[int]], totals: list[int]) -> list[float]:
    """What each seat gets for a match, computed from its deals by the definition of the rewards."""
    n = len(totals)
    if reward == "win":
        best = max(totals) if scale > 0 else min(totals)
        k = totals.count(best)
        if k == n:
            return [0.0] * n
        return [(n - k) / (k * (n - 1)) if total == best else -1 / (n - 1) for total in totals]
    points = [sum(deal[seat] for deal in deals) for seat in range(n)]
    if reward == "score":
        return [scale * own for own in points]
    return [scale * (own - (sum(points) - own) / (n - 1)) for own in points]


@pytest.mark.parametrize("episode", ["match", "deal"])
@pytest.mark.parametrize("reward", REWARDS)
@every_case
def test_rewards_from_last_sum_to_the_returns(name: str, options: Options, reward: str, episode: str, seed: int) -> None:
    env, rng = make(name, reward=reward, episode=episode, **options), random.Random(seed)
    for match in range(2):
        env.reset(seed=seed) if match == 0 else env.reset()
        table = card_envs.table(name, seed=(seed, 0, match), **options)
        paid, stepped = dict.fromkeys(env.agents, 0.0), dict.fromkeys(env.agents, 0.0)
        for agent in env.agent_iter():
            observation, earned, terminated, truncated, info = env.last()
            assert type(earned) is float
            assert info == {}
            paid[agent] += earned
            if terminated or truncated:
                env.step(None)
                continue
            action = pick(observation["action_mask"], rng)
            table.play(action)
            env.step(action)
            for other, step_reward in env.rewards.items():
                assert type(step_reward) is float
                stepped[other] += step_reward
        deals = table.deals
        assert (len(deals) == 1 and len(table.actions) > 0) if episode == "deal" else table.is_over
        scale = table.game.score_scale(table.options)
        totals = deals[0] if episode == "deal" else table.scores
        expected = expected_returns(reward, scale, deals, totals)
        assert list(paid.values()) == pytest.approx(expected), f"seed {seed}, match {match}"
        assert list(stepped.values()) == pytest.approx(expected), f"seed {seed}, match {match}"


@pytest.mark.parametrize("reward", REWARDS)
@every_game
def test_it_plays_like_a_row_of_a_batch(name: str, reward: str, seed: int) -> None:
    options = short(name, {})
    batch = card_envs.batch(name, 3, seed=seed, reward=reward, **options)
    envs = [make(name, "raw_env", reward=reward, **options) for _ in range(3)]
    for row, env in enumerate(envs):
        env.reset(seed=(seed, row, 0))
    rng, ended = random.Random(seed), 0
    for _ in range(400):
        actions = []
        for row, env in enumerate(envs):
            seen = env.last()[0]
            assert_array_equal(seen["observation"], batch.observation[row])
            assert_array_equal(seen["action_mask"], batch.action_mask[row])
            assert env.agent_selection == f"player_{batch.to_move[row]}"
            actions.append(pick(seen["action_mask"], rng))
        batch.step(actions)
        for row, env in enumerate(envs):
            mover = env.agent_selection
            env.step(actions[row])
            assert list(env.rewards.values()) == batch.rewards[row].tolist()
            assert env.terminations[mover] == batch.terminated[row]
            assert env.truncations[mover] == batch.truncated[row]
            if batch.terminated[row] or batch.truncated[row]:
                assert_array_equal(env.observe(mover)["observation"], batch.final_observation[row])
                env.reset()
                ended += 1
    assert ended >= 3, "no match came to its end"


@every_kind
def test_a_technical_cap_truncates_and_pays_the_ranking(kind: str, seed: int) -> None:
    env = make("flip7", kind, players=3, target=1_000_000, max_rounds=3)
    env.reset(seed=seed)
    table = card_envs.table("flip7", players=3, target=1_000_000, max_rounds=3, seed=seed)
    for action in play(env, random.Random(seed)):
        table.play(action)
    assert len(table.deals) == 3
    assert set(env.truncations.values()) == {True}
    assert set(env.terminations.values()) == {False}
    expected = expected_returns("win", 1.0, table.deals, table.scores)
    assert list(leave(env).values()) == pytest.approx(expected)
    assert env.agents == []


# ---- identities, copies


@every_game
def test_reset_deals_the_match_of_the_seed_and_then_the_next(name: str) -> None:
    def opening(env: Any) -> Any:
        return [env.observe(agent) for agent in env.agents], env.agent_selection, play(env, random.Random(1), 30)

    def opening_of(identity: tuple[int, int, int]) -> Any:
        env = make(name, players=3)
        env.reset(seed=identity)
        return opening(env)

    env = make(name, players=3)
    env.reset(seed=11)
    assert_same(opening(env), opening_of((11, 0, 0)))
    env.reset()
    assert_same(opening(env), opening_of((11, 0, 1)))
    env.reset(options={"anything": 1})
    assert_same(opening(env), opening_of((11, 0, 2)))
    env.reset(seed=np.int64(11))
    assert_same(opening(env), opening_of((11, 0, 0)))
    unseeded = make(name, players=3), make(name, players=3)
    for one in unseeded:
        one.reset()
    assert unseeded[0]._identity != unseeded[1]._identity, "never seeded means entropy"


def test_reset_takes_a_deck_for_each_deal() -> None:
    cards = card_envs.load_game("pis_yedili").cards
    decks = [ten_draws(), ten_draws(), list(reversed(cards))]
    env = make("pis_yedili", players=6, render_mode="ansi")
    env.reset(seed=1, options={"deck": decks})
    table = card_envs.table("pis_yedili", players=6, seed=1, deck=decks)
    play(env, random.Random(1), 20)
    for _ in range(20):
        table.play("draw")
    assert table.state()["hands"][0] == sorted(decks[2][4:42:6], key=cards.index)  # seat 2 gets the first card
    assert env.render() == str(table)


def test_reset_takes_a_deck() -> None:
    env = flip7_v0.env(players=2, render_mode="ansi")
    env.reset(seed=1, options={"deck": ["5", "9", "12"]})
    table = card_envs.table("flip7", players=2, seed=1, deck=["5", "9", "12"])
    assert table.state()["lines"] == [["5"], ["9"]]
    assert env.render() == str(table)
    env.reset()
    assert env.render() == str(card_envs.table("flip7", players=2, seed=(1, 0, 1))), "the next deck is its own"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seed": -1}, r"seed = -1: allowed is an integer from 0"),
        ({"seed": 2**256}, r"seed = 115792089237316195423570985008687907853269984665640564039457584007913129639936"),
        ({"seed": 1.5}, r"seed = 1.5"),
        ({"options": {"deck": ["flip_fuor"]}}, r"unknown card 'flip_fuor' – did you mean 'flip_four'"),
        ({"options": {"deck": ["0", "0"]}}, r"'0' is named more than 1 time"),
        ({"options": {"deck": "5"}}, r"a list of card names is expected"),
    ],
)
@every_kind
def test_a_bad_reset_changes_nothing(kind: str, arguments: dict[str, Any], message: str) -> None:
    env = make("flip7", kind)
    env.reset(seed=2)
    play(env, random.Random(2), 5)
    before = pickle.dumps(env)
    with pytest.raises(ValueError, match=message):
        env.reset(**arguments)
    assert pickle.dumps(env) == before


@pytest.mark.parametrize("moment", ["in the middle", "at the end", "before the first reset"])
@every_kind
@every_case
def test_copies_go_on_the_same_way_and_alone(name: str, options: Options, kind: str, moment: str, seed: int) -> None:
    env = make(name, kind, reward="score", **options)
    for agent in env.possible_agents:
        env.action_space(agent).seed(seed)
    if moment != "before the first reset":
        env.reset(seed=seed)
        play(env, random.Random(seed), 20 if moment == "in the middle" else 10**6)
    copies = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]

    def go_on(env: Any, steps: int = 150) -> list[Any]:
        log: list[Any] = []
        if moment == "before the first reset":
            env.reset(seed=seed)
        for _ in range(steps):
            if not env.agents:
                env.reset()
            log.append((env.agent_selection, env.last(), [env.observe(agent) for agent in env.agents]))
            observation, _, terminated, truncated, _ = env.last()
            over = terminated or truncated
            env.step(None if over else env.action_space(env.agent_selection).sample(observation["action_mask"]))
        return log

    logs = [go_on(one) for one in [*copies, env]]  # the original comes last and must not have changed meanwhile
    assert_same(logs[0], logs[2])
    assert_same(logs[1], logs[2])
