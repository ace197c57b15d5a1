"""``card-envs games``: the games with their options, spaces, players and ids."""

from __future__ import annotations

from typing import Any

from rich.console import Console

import card_envs
from card_envs.console import Json, make_grid, print_json
from card_envs.engine.game import Game
from card_envs.envs.aec import build_aec_id
from card_envs.envs.gym import build_gym_id
from card_envs.players import registered_players


def list_games(json: Json = False) -> None:
    """List the games: players, options, spaces, built-in players, ids."""
    facts = [describe(card_envs.load_game(name)) for name in card_envs.available_games()]
    if json:
        print_json(facts)
        return
    console = Console(highlight=False, markup=False)
    for game in facts:
        _show(console, game)


def describe(game: Game) -> dict[str, Any]:
    """Return the facts of a game as JSON-able values. The sizes of its spaces are those with the default options."""
    options = game.resolve({})
    return {
        "name": game.name,
        "title": game.title,
        "summary": game.summary,
        "version": game.version,
        "players": {"min": game.players[0], "max": game.players[-1], "default": options["players"]},
        "options": [{"name": o.name, "default": o.default, "allowed": o.allowed, "meaning": o.meaning} for o in game.options],
        "observation": {
            "size": game.observation_size(),
            "fields": {
                name: {"slice": [f.slice.start, f.slice.stop], "shape": list(f.shape), "scale": f.scale, "meaning": f.meaning}
                for name, f in game.observation_fields().items()
            },
        },
        "actions": game.num_actions(int(options["players"])),
        "policies": [
            {"name": policy.name, "parameters": dict(policy.defaults), "meaning": policy.meaning} for policy in game.policies
        ],
        "aliases": dict(game.aliases),
        "more_players": registered_players(game.name),
        "default_opponent": game.default_opponent,
        "ids": {"pettingzoo": build_aec_id(game), "module": f"card_envs.{game.id}", "gymnasium": build_gym_id(game)},
    }


def _show(console: Console, game: dict[str, Any]) -> None:
    players = game["players"]
    console.print(f"{game['name']}  {game['title']}", style="bold")
    console.print(game["summary"])
    console.print(f"players      {players['min']} … {players['max']} (default {players['default']})")
    console.print(f"observation  float32, {game['observation']['size']} values in {len(game['observation']['fields'])} fields")
    console.print(f"actions      {game['actions']}, with an int8 mask (sizes with the default options)")
    console.print("ids          " + ", ".join(f"{library} {name}" for library, name in game["ids"].items()))
    console.print(f"opponent     {game['default_opponent']} by default")
    options = [(o["name"], _format_value(o["default"]), o["allowed"], o["meaning"]) for o in game["options"]]
    console.print(make_grid(("option", "default", "allowed", "meaning"), options))
    policies = [
        (p["name"], ", ".join(f"{name}={value:g}" for name, value in p["parameters"].items()), p["meaning"])
        for p in game["policies"]
    ]
    policies += [(name, "", f"is {spec}") for name, spec in game["aliases"].items()]
    policies += [(name, "", meaning) for name, meaning in game["more_players"].items()]
    console.print(make_grid(("player", "parameters", "meaning"), policies))
    console.print()


def _format_value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
