"""Players by spec: ``ev``, ``risk(.2)``, ``my_module:MyPlayer(3)``, ``runs/best.safetensors``."""

from __future__ import annotations

import ast
import importlib
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

from card_envs.engine.game import Game, Options, unknown
from card_envs.engine.messages import join_lines, name_file, shorten
from card_envs.engine.parameters import LARGEST_PARAMETER
from card_envs.players.checkpoint import load_player
from card_envs.players.player import Bindable, BuiltIn, Function, Particular, Player
from card_envs.players.shipped import AGENT, MEANING, find_agent, list_agents

LONGEST_ARGUMENTS = 1000  # characters between the parentheses of a spec
_SPEC = re.compile(r"(?P<name>[\w.]+(:[\w.]+)?)\s*(\((?P<arguments>.*)\))?", re.DOTALL)


class Registration(NamedTuple):
    """What a registered name stands for: ``module:factory``, and what the player does in words."""

    target: str
    meaning: str


_registered: dict[tuple[str, str], Registration] = {}  # by (game, name)


def register_player(game: str, name: str, target: str, meaning: str = "") -> None:
    """Give a player of a game a name.

    Args:
        game: The name of the game.
        name: The name of the player in specs.
        target: ``module:factory``, which is imported when the player is asked for.
        meaning: What the player does, in words.
    """
    _registered[game, name] = Registration(target, meaning)


def registered_players(game: str) -> dict[str, str]:
    """Return the names that :func:`register_player` gave to players of a game, and what these do."""
    names = {name: entry.meaning for (its_game, name), entry in _registered.items() if its_game == game}
    return names | ({AGENT: MEANING} if any(agent.game == game for agent in list_agents()) else {})


def split_specs(text: str) -> list[str]:
    """Split a list of specs at its top-level commas: ``"ev,risk(.2),m:f(1, 2)"`` contains three.

    A spec with a comma in it, such as a path, may stand in quotes: ``"ev,'runs/a,b.safetensors'"`` contains two.

    Raises:
        ValueError: A quote is not closed.
    """
    specs, depth, start, quote, escaped = [], 0, 0, "", False
    for i, character in enumerate(text):
        if escaped:
            escaped = False
        elif quote:
            escaped = character == "\\" and depth > 0  # in a string among the arguments; the backslash of a path is its own
            quote = "" if character == quote else quote
        elif character in "'\"" and (depth > 0 or not text[start:i].strip()):
            quote = character
        elif character == "," and depth == 0:
            specs.append(text[start:i])
            start = i + 1
        else:
            depth += (character in "([{") - (character in ")]}")
    if quote and depth == 0:
        raise ValueError(f"players {text!r}: the quote before {text[start:].strip()[1:]!r} is not closed")
    return [_unquote(spec.strip()) for spec in [*specs, text[start:]]]


def _unquote(spec: str) -> str:
    return spec[1:-1] if len(spec) > 1 and spec[0] in "'\"" and spec[-1] == spec[0] else spec


def resolve(spec: str | Player, game: Game, options: Options | None = None) -> Player:
    """Return the player that a spec stands for. A spec with ``module:factory`` runs the code of that module.

    A spec that was read from a file is for :func:`resolve_stored`.

    Args:
        spec: ``name[(literals)]`` of a built-in policy, ``module:factory[(literals)]``, or a path that ends in
            ``.safetensors``. The factory returns a player or a function ``decisions -> actions``, and its module may be in the
            working directory. Instead of a spec, a player or such a function may be given.
        game: The game that the player is to play.
        options: The options that the player is to play with.

    Raises:
        ValueError: The message says what is wrong and what is allowed.
    """
    if not isinstance(spec, str):
        problem = f"player {shorten(spec)}: a spec, a player with act(decisions) or a function is expected"
        player = _make_player(spec, getattr(spec, "__name__", repr(spec)), problem)
    elif spec.endswith(".safetensors"):
        player = load_player(spec)
    elif spec == AGENT:
        player = load_player(find_agent(game, game.resolve(options or {})))
    else:
        name, arguments, keywords = _parse(spec)
        top = name.partition(":")[0].partition(".")[0]
        if ":" in name and top in sys.stdlib_module_names:  # a courtesy to whoever copies a spec, and no protection
            raise ValueError(f"player {shorten(spec)}: {top} belongs to Python itself, and no player is in it")
        player = _make_named(spec, name, game, arguments, keywords)
    if isinstance(player, Particular):
        player.check(game, game.resolve(options or {}))
    return player


def resolve_stored(spec: object, game: Game, options: Options | None = None, *, file: str | Path, flag: str) -> Player:
    """Return the player of a spec that was read from a file: see :func:`check_stored`."""
    return resolve(check_stored(spec, game, file=file, flag=flag), game, options)


def check_stored(spec: object, game: Game, *, file: str | Path, flag: str) -> str:
    """Return a spec that was read from a file for :func:`resolve`, if no code is run for it: a stranger may have made the file.

    It may be the name of a built-in or registered player, or a checkpoint in the directory of the file, where checkpoints among
    the arguments of a player must be, too.

    Args:
        spec: What the file holds; it may be anything.
        game: The game that the player is to play.
        file: The file, or any path in its directory.
        flag: What users type if they trust the spec, such as ``--opponents my_module:MyPlayer``.

    Raises:
        ValueError: The message says what is wrong, or what to type instead.
    """
    if not isinstance(spec, str):
        raise ValueError(f"{name_file(file)}: a player is {shorten(spec)}, not a spec")
    if spec.endswith(".safetensors"):
        return str(_find_beside(spec, Path(file), flag))
    name, arguments, keywords = _parse(spec)
    if ":" in name:
        raise ValueError(
            f"{name_file(file)}: the player {shorten(spec)} runs code, which no spec in a file may do;"
            f" if you trust it, type {flag}"
        )
    if not any(map(_is_checkpoint, [*arguments, *keywords.values()])):
        return spec

    def find(value: object) -> object:
        return str(_find_beside(str(value), Path(file), flag)) if _is_checkpoint(value) else value

    found = [repr(find(value)) for value in arguments] + [f"{key}={find(value)!r}" for key, value in keywords.items()]
    return f"{name}({', '.join(found)})"


def _is_checkpoint(value: object) -> bool:
    """Whether an argument of a spec is a path that names a checkpoint, as that of the policy of a search."""
    return isinstance(value, str) and value.endswith(".safetensors")


def _find_beside(spec: str, file: Path, flag: str) -> Path:
    """Return the path of a checkpoint that a file names, if it lies in the directory of the file, links resolved."""
    directory = file.resolve().parent
    try:
        for path in (directory / spec, Path(spec)):
            if path.resolve().parent == directory:
                return path
    except (OSError, ValueError, RuntimeError):  # a name that no file can have, or links in a circle
        pass
    raise ValueError(f"{name_file(file)}: the checkpoint {shorten(spec)} is not in its directory; if you trust it, type {flag}")


def resolve_policy(spec: str, game: Game) -> BuiltIn:
    """Return the built-in player that a spec stands for.

    Raises:
        ValueError: The spec stands for another player. The message lists the built-in ones.
    """
    name, arguments, keywords = _parse(game.aliases.get(spec, spec))
    if ":" in name or (game.name, name) in _registered or spec.endswith(".safetensors"):
        raise ValueError(f"policy = {shorten(spec)}: a built-in player of {game.name} is expected")
    return _make_built_in(spec, name, game, arguments, keywords)


def resolve_bindable(player: str | Bindable, game: Game, options: Options) -> Bindable:
    """Return a player that can choose in compiled code, for players that search. No spec runs code.

    Args:
        player: The spec of a built-in player or of a checkpoint, ``agent``, or such a player.
        game: The game that the player is to play.
        options: The values of all options.

    Raises:
        ValueError: It is another player, or it cannot play this game with these options.
    """
    if isinstance(player, str):
        path = find_agent(game, options) if player == AGENT else player
        is_network = player == AGENT or player.endswith(".safetensors")
        player = load_player(path) if is_network else resolve_policy(player, game)
    player.bind(game, options)
    return player


def _parse(spec: str) -> tuple[str, list[Any], dict[str, Any]]:
    """Return the name in a spec, or its ``module:factory``, with the arguments and the keywords."""
    match = _SPEC.fullmatch(spec.strip())
    if match is None:
        raise ValueError(f"player {shorten(spec)}: name(…), module:factory(…) or a path to a .safetensors file is expected")
    arguments, keywords = _parse_literals(spec, match["arguments"] or "")
    return match["name"], arguments, keywords


def _make_named(spec: str, name: str, game: Game, arguments: list[Any], keywords: dict[str, Any]) -> Player:
    registration = _registered.get((game.name, name))
    target = registration.target if registration else name
    if ":" in target:
        return _call_factory(spec, target, arguments, keywords)
    if spec in game.aliases:
        target, arguments, keywords = _parse(game.aliases[spec])
    return _make_built_in(spec, target, game, arguments, keywords)


def _parse_literals(spec: str, text: str) -> tuple[list[Any], dict[str, Any]]:
    try:
        if len(text) > LONGEST_ARGUMENTS:
            raise ValueError
        call = ast.parse(f"f({text})", mode="eval").body
        if not isinstance(call, ast.Call):
            raise ValueError
        names = [keyword.arg for keyword in call.keywords]
        if None in names or len(set(names)) < len(names):
            raise ValueError
        return [ast.literal_eval(a) for a in call.args], {str(k.arg): ast.literal_eval(k.value) for k in call.keywords}
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):  # thousands of digits, signs or parentheses
        raise ValueError(
            f"player {shorten(spec)}: {shorten(text)} is not a list of literals like 3, .5, name='x' of at most"
            f" {LONGEST_ARGUMENTS} characters"
        ) from None


def _make_built_in(spec: str, name: str, game: Game, arguments: list[Any], keywords: dict[str, Any]) -> BuiltIn:
    policies = {policy.name: policy for policy in game.policies}
    if name not in policies:
        raise unknown(f"player of {game.name}", name, [*policies, *game.aliases, *registered_players(game.name)])
    policy = policies[name]
    names = list(policy.defaults)
    if len(arguments) > len(names):
        raise ValueError(
            f"player {shorten(spec)}: {name} takes {len(names)} parameters ({', '.join(names)}), but {len(arguments)} are given"
        )
    values = dict(policy.defaults) | dict(zip(names, arguments, strict=False))
    for key, value in keywords.items():
        if key not in names:
            raise unknown(f"parameter of {name}", key, names)
        if names.index(key) < len(arguments):
            raise ValueError(f"player {shorten(spec)}: {key} is given twice")
        values[key] = value
    for key, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST_PARAMETER:
            raise ValueError(f"player {shorten(spec)}: {key} = {shorten(value)} is not a number from -1e9 to 1e9")
    return BuiltIn(game, name, list(values.values()), spec)


def _call_factory(spec: str, name: str, arguments: list[Any], keywords: dict[str, Any]) -> Player:
    module_name, factory_name = name.split(":")
    here = str(Path.cwd())
    sys.path.append(here)
    try:
        factory = getattr(importlib.import_module(module_name), factory_name)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"player {shorten(spec)}: {join_lines(error)}") from error
    except (Exception, SystemExit) as error:  # the code of the module may raise anything
        raise ValueError(
            f"player {shorten(spec)}: importing {module_name} raised {type(error).__name__}: {join_lines(error)}"
        ) from error
    finally:
        sys.path.remove(here)
    try:
        made = factory(*arguments, **keywords)
    except (Exception, SystemExit) as error:
        raise ValueError(f"player {shorten(spec)}: {name} raised {type(error).__name__}: {join_lines(error)}") from error
    kind = f"the class {made.__name__}" if isinstance(made, type) else type(made).__name__
    problem = f"player {shorten(spec)}: {name} returned {kind}; a player with act(decisions) or a function is expected"
    return _make_player(made, spec, problem)


def _make_player(value: object, name: str, problem: str) -> Player:
    """Return a player or a function as a player; anything else is a ``ValueError`` with the text ``problem``."""
    if isinstance(value, type):  # its method is there, but nobody to call it on
        raise ValueError(problem)
    if isinstance(value, Player) and callable(value.act):
        return value
    if callable(value):
        return Function(value, name)
    raise ValueError(problem)
