"""The trained players that come with the package: checkpoints, each for one game with certain options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from card_envs.engine.game import Game, OptionValue
from card_envs.players.checkpoint import read_metadata

AGENT = "agent"  # the spec of the one that fits the table
MEANING = "the trained player that comes with the package for this table: see card-envs agents"
_PACKAGE = Path(__file__).parents[1]
# in the wheel they lie inside the package; in a checkout beside it
FOLDERS = (_PACKAGE / "agents", _PACKAGE.parent / "agents")


@dataclass(frozen=True)
class Agent:
    """A trained player.

    Attributes:
        path: Its checkpoint.
        game: The game.
        options: All options with which it plays.
        evaluation: How it did, as its checkpoint says.
        command: The command that trained it.
    """

    path: Path
    game: str
    options: Mapping[str, OptionValue]
    evaluation: Mapping[str, Any]
    command: str


@cache
def list_agents() -> tuple[Agent, ...]:
    """List the trained players that come with the package, by game and number of players."""
    files = next(([*found] for folder in FOLDERS if (found := sorted(folder.glob("*.safetensors")))), [])
    agents = []
    for path in files:
        about = read_metadata(path)
        agents.append(Agent(path, about["game"], about["options"], about["evaluation"], about["command"]))
    return tuple(sorted(agents, key=lambda agent: (agent.game, str(agent.options["players"]), agent.path.name)))


def find_agent(game: Game, options: Mapping[str, OptionValue]) -> Path:
    """Return the checkpoint of the trained player for a table.

    Raises:
        ValueError: There is none. The message says for which tables there are.
    """
    for agent in list_agents():
        if agent.game == game.name and agent.options == options:
            return agent.path
    others = [describe_table(game, agent.options) for agent in list_agents() if agent.game == game.name]
    raise ValueError(
        f"no trained player comes with the package for {game.name} with {describe_table(game, options)}"
        f" (there are some for: {'; '.join(others) or 'no table of this game'})"
    )


def describe_table(game: Game, options: Mapping[str, OptionValue]) -> str:
    """Name the number of players, and what differs from the defaults: a variant where there is one, or the options."""
    players = {"players": options["players"]}
    names = [f"{options['players']} players"]
    for variant in game.presets:
        if game.resolve({**players, "variant": variant}) == options:
            return ", ".join(names if variant == next(iter(game.presets)) else [*names, f"variant={variant}"])
    plain = game.resolve(players)
    return ", ".join([*names, *(f"{name}={value}" for name, value in options.items() if value != plain[name])])
