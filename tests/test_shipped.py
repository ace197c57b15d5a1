"""The trained players that come with the package: which there are, how they are found, and what their checkpoints say."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import numpy as np
import pytest

import card_envs
from card_envs.arena import play_duel
from card_envs.arena.panels import load_panel
from card_envs.cli.games import describe
from card_envs.games import load_game
from card_envs.players import Decisions, load_player, resolve
from card_envs.players.shipped import AGENT, find_agent, list_agents
from tests.commands import run
from tests.helpers import GAMES

ROOT = Path(__file__).parents[1]
AGENTS = list_agents()
TABLES = {
    ("flip7", 2, None), ("flip7", 4, None), ("pis_yedili", 2, None), ("pis_yedili", 4, None), ("rummy", 2, None),
    ("rummy", 4, None), ("rummy", 2, "rummy500"),
}  # fmt: skip
LARGEST = 2_000_000  # bytes


def test_every_table_of_the_list_has_one_and_no_other() -> None:
    expected = []
    for name, players, variant in TABLES:
        options = {"players": players} | ({"variant": variant} if variant else {})
        expected.append((name, load_game(name).resolve(options)))
    found = [(agent.game, dict(agent.options)) for agent in AGENTS]
    assert sorted(map(repr, found)) == sorted(map(repr, expected))


def test_the_wheel_carries_them_inside_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    included = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    files = {f"agents/{path.name}" for path in (ROOT / "agents").glob("*.safetensors")}
    assert included == {file: f"card_envs/{file}" for file in files}


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.path.stem)
def test_it_is_small_and_says_how_it_was_made_and_how_good_it_is(agent: object) -> None:
    assert isinstance(agent, type(AGENTS[0]))
    assert agent.path.stat().st_size < LARGEST
    assert agent.command.startswith(f"python -m train.rollouts {agent.game} "), agent.command
    assert agent.evaluation["board_list"] == "report", "measured on deals that nothing was chosen by"
    assert agent.evaluation["matches"] >= 10_000
    game = load_game(agent.game)
    assert {"random", game.default_opponent, *game.aliases} <= set(agent.evaluation["share"])
    assert all(low <= mean <= high for mean, low, high in agent.evaluation["share"].values())


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.path.stem)
def test_it_plays_its_game_and_its_figures_are_true(agent: object) -> None:
    """On other deals it does within four standard errors of what it says. An illegal action would end the duel."""
    assert isinstance(agent, type(AGENTS[0]))
    game = load_game(agent.game)
    opponent = game.policies[-1].name
    result = play_duel(game, AGENT, opponent, matches=1000, board_list="tune", seed=3, **agent.options)
    mean, low, high = agent.evaluation["share"][opponent]
    error = (result.share.high - result.share.low) / 3.92 + (high - low) / 3.92
    assert abs(result.share.mean - mean) < 4 * error, (result.share, mean)


@pytest.mark.parametrize("name", GAMES)
def test_the_spec_agent_is_the_one_for_the_table(name: str, seed: int) -> None:
    game = load_game(name)
    options = game.resolve({"players": 2})
    path = find_agent(game, options)
    batch = card_envs.batch(name, 64, players=2, seed=seed)
    batch.step(batch.sample())
    decisions = Decisions(batch.matches, np.arange(64))
    np.testing.assert_array_equal(resolve(AGENT, game, options).act(decisions), load_player(path).act(decisions))
    assert AGENT in describe(game)["more_players"]
    assert AGENT in load_panel(name).players


def test_a_table_for_which_there_is_none_is_named() -> None:
    with pytest.raises(
        ValueError, match=r"no trained player .* rummy with 3 players \(there are some for: .*rummy500; 2 players; 4 players"
    ):
        resolve(AGENT, load_game("rummy"), {"players": 3})
    with pytest.raises(ValueError, match=r"with 2 players, brutal=True"):
        resolve(AGENT, load_game("flip7"), {"players": 2, "brutal": True})


def test_the_command_lists_them() -> None:
    shown = run("agents").stdout
    for name in GAMES:
        assert name in shown
    facts = json.loads(run("agents", "--json").stdout)
    assert [fact["path"] for fact in facts] == [str(agent.path) for agent in AGENTS]
    assert {fact["table"] for fact in facts if fact["game"] == "rummy"} == {
        "2 players",
        "4 players",
        "2 players, variant=rummy500",
    }
