"""Players by name: ``ev``, ``risk(.2)``, ``my_module:MyPlayer(3)``, ``runs/best.safetensors``."""

from __future__ import annotations

import ast
import importlib
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from card_envs.engine.game import Game, Options, unknown
from card_envs.players.network import Network, load_player
from card_envs.players.player import BuiltIn, Function, Player

_SPEC = re.compile(r"(?P<name>[\w.]+(:[\w.]+)?)\s*(\((?P<arguments>.*)\))?", re.DOTALL)


class Registration(NamedTuple):
    """What a registered name stands for: a ``module:factory``, and what it does in words."""

    target: str
    meaning: str


_registered: dict[tuple[str, str], Registration] = {}  # by (game, name)


def register_player(game: str, name: str, target: str, meaning: str = "") -> None:
    """Give a player of a game a name.

    Args:
        game: the game's name.
        name: the name by which specs can ask for the player.
        target: ``module:factory``, imported when the player is asked for.
        meaning: what the player does, in words.
    """
    _registered[game, name] = Registration(target, meaning)


def registered_players(game: str) -> dict[str, str]:
    """Return the names that :func:`register_player` has given to players of a game, and what they do."""
    return {name: entry.meaning for (its_game, name), entry in _registered.items() if its_game == game}


def split_specs(text: str) -> list[str]:
    """Split a list of specs at its top-level commas: ``"ev,risk(.2),m:f(1, 2)"`` holds three."""
    specs, depth, start = [], 0, 0
    for i, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            specs.append(text[start:i])
            start = i + 1
    return [spec.strip() for spec in [*specs, text[start:]]]


def resolve(spec: str | Player, game: Game, options: Options | None = None) -> Player:
    """Return the player that a spec stands for.

    Args:
        spec: ``name[(literals)]`` of a built-in policy, ``module:factory[(literals)]`` (the factory returns a player or a
            function ``decisions -> actions``; the working directory is searched last), or a path that ends in
            ``.safetensors``. A player or such a function may be given itself.
        game: the game that it is to play.
        options: the options that it is to play with.

    Raises:
        ValueError: names what is wrong, and what is allowed.
    """
    if not isinstance(spec, str):
        if isinstance(spec, Player):
            player: Player = spec
        elif callable(spec):
            player = Function(spec, getattr(spec, "__name__", repr(spec)))
        else:
            raise ValueError(f"player {spec!r}: expected is a spec, a player with act(decisions), or a function")
    elif spec.endswith(".safetensors"):
        player = load_player(spec)
    else:
        name, arguments, keywords = _parse(spec, game)
        if ":" in name:
            player = _call_factory(spec, name, arguments, keywords)
        else:
            player = _make_built_in(spec, name, game, arguments, keywords)
    if isinstance(player, Network):
        player.check(game, game.resolve(options or {}))
    return player


def resolve_policy(spec: str, game: Game) -> BuiltIn:
    """Return the built-in player that a spec stands for; raise ``ValueError``, which names those there are, for any other."""
    name, arguments, keywords = _parse(spec, game)
    if ":" in name or spec.endswith(".safetensors"):
        raise ValueError(f"policy = {spec!r}: expected is a built-in player of {game.name}")
    return _make_built_in(spec, name, game, arguments, keywords)


def _parse(spec: str, game: Game) -> tuple[str, list[Any], dict[str, Any]]:
    """Split a spec into its name (or what the name is registered for), its arguments and its keywords."""
    match = _SPEC.fullmatch(game.aliases.get(spec, spec).strip())
    if match is None:
        raise ValueError(f"player {spec!r}: expected is name(…), module:factory(…) or a path to a .safetensors file")
    arguments, keywords = _parse_literals(spec, match["arguments"] or "")
    registration = _registered.get((game.name, match["name"]))
    return registration.target if registration else match["name"], arguments, keywords


def _parse_literals(spec: str, text: str) -> tuple[list[Any], dict[str, Any]]:
    try:
        call = ast.parse(f"f({text})", mode="eval").body
        if not isinstance(call, ast.Call) or any(keyword.arg is None for keyword in call.keywords):
            raise ValueError
        return [ast.literal_eval(a) for a in call.args], {str(k.arg): ast.literal_eval(k.value) for k in call.keywords}
    except (SyntaxError, ValueError):
        raise ValueError(f"player {spec!r}: ({text}) is no list of literals like (3, .5, name='x')") from None


def _make_built_in(spec: str, name: str, game: Game, arguments: list[Any], keywords: dict[str, Any]) -> BuiltIn:
    policies = {policy.name: policy for policy in game.policies}
    if name not in policies:
        raise unknown(f"player of {game.name}", name, [*policies, *game.aliases, *registered_players(game.name)])
    policy = policies[name]
    names = list(policy.defaults)
    if len(arguments) > len(names):
        raise ValueError(
            f"player {spec!r}: {name} takes {len(names)} parameters ({', '.join(names)}), {len(arguments)} are given"
        )
    values = dict(policy.defaults) | dict(zip(names, arguments, strict=False))
    for key, value in keywords.items():
        if key not in names:
            raise unknown(f"parameter of {name}", key, names)
        if names.index(key) < len(arguments):
            raise ValueError(f"player {spec!r}: {key} is given twice")
        values[key] = value
    for key, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
            raise ValueError(f"player {spec!r}: {key} = {value!r} is no finite number")
    return BuiltIn(policy, np.array(list(values.values()), np.float64), spec)


def _call_factory(spec: str, name: str, arguments: list[Any], keywords: dict[str, Any]) -> Player:
    module_name, factory_name = name.split(":")
    here = str(Path.cwd())
    sys.path.append(here)
    try:
        factory = getattr(importlib.import_module(module_name), factory_name)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"player {spec!r}: {error}") from error
    except (Exception, SystemExit) as error:  # whatever a module does when it is imported
        raise ValueError(f"player {spec!r}: importing {module_name} raised {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(here)
    try:
        made = factory(*arguments, **keywords)
    except (Exception, SystemExit) as error:
        raise ValueError(f"player {spec!r}: {name} raised {type(error).__name__}: {error}") from error
    if isinstance(made, Player):
        return made
    if callable(made):
        return Function(made, spec)
    raise ValueError(
        f"player {spec!r}: {name} made a {type(made).__name__}; expected is a player with act(decisions), or a function"
    )
