"""What several tests share: the games, option sets of each, and random play."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import card_envs
from card_envs import Game, Table
from card_envs.engine.game import OptionValue
from card_envs.engine.rows import from_bytes
from tests import games

Options = dict[str, OptionValue]
GAMES = card_envs.available_games()


def make_card_vec_env(*arguments: Any, **keywords: Any) -> Any:
    """A ``CardVecEnv``; where Stable-Baselines3 is not installed, the test that asks for it is skipped."""
    return pytest.importorskip("card_envs.envs.sb3").CardVecEnv(*arguments, **keywords)


# ---- option sets


def variants(game: Game) -> list[Options]:
    """The defaults, each other value of a flag or a choice, and each preset that differs from the defaults."""
    sets: list[Options] = [{}]
    for option in game.options:
        if isinstance(option.default, bool):
            sets.append({option.name: not option.default})
        sets += [{option.name: choice} for choice in option.choices if choice != option.default]
    return sets + [{"variant": preset} for preset in game.presets if game.resolve({"variant": preset}) != game.resolve({})]


def all_options(name: str) -> list[Options]:
    """Every number of players with every variant."""
    game = card_envs.load_game(name)
    return [{"players": players, **variant} for players in game.players for variant in variants(game)]


def some_options(name: str) -> list[Options]:
    """Few, medium and many players, and each variant at least once."""
    game = card_envs.load_game(name)
    counts = sorted({game.players[0], game.players[len(game.players) // 3], game.players[-1]})
    sets = variants(game)
    return [{"players": counts[i % len(counts)], **sets[i % len(sets)]} for i in range(max(len(counts), len(sets)))]


def kit_options(name: str) -> list[Options]:
    """What the test kits of PettingZoo and Gymnasium run with: 2, 3, 4, many and the most players, with every variant."""
    game = card_envs.load_game(name)
    most = game.players[-1]
    return [{"players": players, **variant} for players in sorted({2, 3, 4, 2 * most // 3, most}) for variant in variants(game)]


def short(name: str, options: Options) -> Options:
    """The options, for a match that random play ends soon enough."""
    return {**options, **games.load(name).SHORT}


def quick(name: str, options: Options) -> Options:
    """The options, for a very short match."""
    return {**options, **games.load(name).QUICK}


def label(value: object) -> str:
    """A test id: ``4-brutal=True`` for ``{"players": 4, "brutal": True}``."""
    if isinstance(value, dict):
        return "-".join(str(v) if k == "players" else f"{k}={v}" for k, v in value.items())
    return str(value)


# ---- playing


def play_on(table: Table, rng: random.Random, eager: float = 0.0) -> Iterator[str]:
    """Play random legal actions, or with probability ``eager`` busy ones, until the match is over.

    Each is yielded before it is played.
    """
    busy = games.load(table.game.name).busy
    while not table.is_over:
        legal = table.legal_actions()
        action = busy(legal, rng) if rng.random() < eager else rng.choice(legal)
        yield action
        table.play(action)


def choice(table: Table, policy: str | None = None, *values: float, **named: float) -> str:
    """What a built-in player would do at a table.

    Args:
        table: The table; its mover is asked.
        policy: The name of the policy, by default that of the default opponent.
        *values: Other values of its first parameters.
        **named: Other values of its parameters, by name.
    """
    policy = policy or table.game.default_opponent
    parameters = dict(table.game.policy(policy).defaults)
    parameters.update(zip(parameters, values))
    assert parameters.keys() >= named.keys()
    actions = np.full(1, -1)
    table.batch.choose(policy, np.array([*(parameters | named).values()], np.float64), actions)
    return table.action_string(int(actions[0]))


def choices(table: Table) -> set[str]:
    """What the built-in players but ``random`` would do: one action where it is no matter of taste."""
    return {choice(table, policy.name) for policy in table.game.policies if policy.name != "random"}


# ---- checking


def through_json(value: dict[str, Any]) -> dict[str, Any]:
    """The value as it comes back from JSON."""
    loaded: dict[str, Any] = json.loads(json.dumps(value))
    return loaded


def check_observation(table: Table, seat: int, history: Sequence[tuple[int, int, str]], story: str) -> None:
    """Compare the observation of a seat, decoded field by field, with the facts that the game's test data tell of the state.

    Args:
        table: The table that is observed.
        seat: Whose observation it is.
        history: The deal, the seat and the string of every action so far.
        story: What an assertion says if it fails.
    """
    expected = games.load(table.game.name).facts(table.state(), seat, history)
    observation, fields = table.observation(seat), table.game.observation_fields(table.options)
    assert list(fields) == list(expected)
    for name, field in fields.items():
        where = f"{name}, seat {seat}, {story}"
        values = observation[field.slice].astype(float)
        assert values.min() >= field.low, where
        assert values.max() <= field.high, where
        figures = values.reshape(field.shape) * field.scale
        np.testing.assert_allclose(figures, expected[name], rtol=1e-5, atol=1e-6, err_msg=where)


def replay_changed(record: dict[str, Any], **fields: Any) -> Table:
    """The table of a record whose start (see ``Table.redeal``) has other values in these fields of its state."""
    dtype = card_envs.load_game(record["game"]).state_dtype
    states = from_bytes(base64.b64decode(record["start"]["state"]), dtype).copy()
    for name, value in fields.items():
        states[name] = value
    state = base64.b64encode(states.tobytes()).decode("ascii")
    return card_envs.replay({**record, "start": {**record["start"], "state": state}})
