"""Who sits where: the players of a tournament, an object of its own for every place of every rotation.

All rotations of a board are dealt the same cards. A player object that sat in two of them, or in two seats of one match, could
remember what it saw there and look it up. So nobody does, except for players that keep nothing between two calls.
"""

from __future__ import annotations

import copy
import threading
import types
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from card_envs.arena.boards import Lineup
from card_envs.engine.game import Game, OptionValue
from card_envs.players import Player, resolve
from card_envs.players.player import Function, is_stateless


class Roster:
    """The players of a tournament by name. Each thread has its own players, made from their specs.

    Args:
        specs: Specs or players by name.
        game: The game that they play.
    """

    def __init__(self, specs: Mapping[str, str | Player], game: Game) -> None:
        self.specs = {name: specs[name] for name in sorted(specs)}
        self.game = game
        self._local = threading.local()

    def __iter__(self) -> Iterator[str]:
        return iter(self.specs)

    def __len__(self) -> int:
        return len(self.specs)

    def make_players(self, names: Iterable[str], options: Mapping[str, OptionValue]) -> dict[str, Player]:
        """Return players by name, checked for a table with these options; each is made once per thread and table.

        Only those that are stateless are ever asked. The others stand for what :meth:`seat_players` makes.

        Raises:
            ValueError: A spec is wrong, or a player that was given as an object cannot be copied.
        """
        made: dict[Any, Player] = self._local.__dict__.setdefault("made", {})
        players = {}
        for name in names:
            key = (name, tuple(options.items()))
            if key not in made:
                made[key] = resolve(self.specs[name], self.game, options)
                if not isinstance(self.specs[name], str) and not is_stateless(made[key]):
                    copy_player(made[key])  # it is better to refuse it now than in the middle of a tournament
            players[name] = made[key]
        return players

    def seat_players(self, lineup: Lineup, options: Mapping[str, OptionValue], rotation: int) -> list[Player]:
        """Return who sits at each place of a line-up in one rotation, the same objects for every board of the line-up.

        A player that may remember something gets an object for this place, rotation and line-up alone: made anew from its spec,
        or copied if it was given as an object.
        """
        first = self.make_players(lineup, options)
        seated: dict[Any, Player] = self._local.__dict__.setdefault("seated", {})
        players = []
        for place, name in enumerate(lineup):
            if is_stateless(first[name]):
                players.append(first[name])
                continue
            key = (lineup, rotation, place, tuple(options.items()))
            if key not in seated:
                seated[key] = self._make_another(name, options, first[name])
            players.append(seated[key])
        return players

    def _make_another(self, name: str, options: Mapping[str, OptionValue], first: Player) -> Player:
        spec = self.specs[name]
        if not isinstance(spec, str):
            return copy_player(first)
        player = resolve(spec, self.game, options)
        same = player is first or (isinstance(player, Function) and isinstance(first, Function) and player.act is first.act)
        return copy_player(player) if same else player  # the factory returns the same object every time


def copy_player(player: Player) -> Player:
    """Return a copy of a player that shares no memory with it.

    Raises:
        ValueError: It cannot be copied; the message says why.
    """
    try:
        if isinstance(player, Function):
            other: Player = Function(_copy_function(player.act, {}), player.name)
            return other
        other = copy.deepcopy(player)
    except Exception as error:  # whatever an object does when it is copied
        reason = " ".join(f"{type(error).__name__}: {error}".split())
    else:
        if other is not player:
            return other
        reason = "copy.deepcopy returns the object itself"
    raise ValueError(
        f"player {player!r} cannot be copied ({reason}), but it needs an object of its own in every seat of a board: name it by"
        " a spec, module:factory, instead of giving the object"
    )


def _copy_function(function: Any, memo: dict[int, Any]) -> Any:
    """Copy a function or method with everything that it closes over, which :func:`copy.deepcopy` would share."""
    if not isinstance(function, types.FunctionType) or id(function) in memo:
        return copy.deepcopy(function, memo)
    cells = tuple(types.CellType() for _ in function.__closure__ or ())
    other = types.FunctionType(function.__code__, function.__globals__, function.__name__, None, cells)
    memo[id(function)] = other  # it may close over itself
    for cell, original in zip(cells, function.__closure__ or (), strict=True):
        cell.cell_contents = _copy_function(original.cell_contents, memo)
    other.__defaults__ = copy.deepcopy(function.__defaults__, memo)
    other.__kwdefaults__ = copy.deepcopy(function.__kwdefaults__, memo)
    other.__dict__.update(copy.deepcopy(function.__dict__, memo))
    return other
