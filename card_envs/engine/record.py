"""Records: a match so far as JSON-able values, and the same match played again."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from card_envs.engine.game import Game, IllegalAction
from card_envs.engine.rows import States, from_bytes
from card_envs.engine.table import Table

FORMAT = 1  # of the record; the version of a game is in its id


def make_record(table: Table) -> dict[str, Any]:
    """The match of ``table``: game, version, options, identity, deck, actions; ``start`` if the table was redealt."""
    record: dict[str, Any] = {
        "format": FORMAT,
        "game": table.game.name,
        "version": table.game.version,
        "options": dict(table.options),
        "identity": list(table.identity),
    }
    if table.start is None:
        record["deck"] = list(table.order)
    else:
        record["start"] = base64.b64encode(table.start).decode("ascii")
    return record | {"actions": list(table.actions)}


def replay(record: Mapping[str, Any], game_of: Callable[[str], Game]) -> Table:
    """The match of a record, played again from its start. ``ValueError`` names what is wrong with the record."""
    if not isinstance(record, Mapping):
        raise ValueError(f"a record is a JSON object, not {type(record).__name__}")
    for key, kind in (("game", str), ("version", int), ("options", Mapping), ("identity", list), ("actions", list)):
        if not isinstance(record.get(key), kind):
            raise ValueError(f"record: {key!r} is missing or is no {kind.__name__.lower()}")
    game = game_of(record["game"])
    if record["version"] != game.version:
        raise ValueError(f"record: it is of {game.name}_v{record['version']}, this package plays {game.id}")
    table = Table(game, seed=tuple(record["identity"]), deck=record.get("deck"), **record["options"])
    if "start" in record:
        table.restart(_checked(game, record["start"], table))
    for number, action in enumerate(record["actions"], 1):
        try:
            table.play(str(action))
        except IllegalAction as error:
            raise IllegalAction(f"record: action {number}: {error}") from None
    return table


def _checked(game: Game, data: object, table: Table) -> States:
    """A state from foreign bytes: compiled code trusts its indices, so every field must lie within the game's bounds."""
    try:
        states = from_bytes(base64.b64decode(str(data), validate=True), game.state_dtype)
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"record: start is no state of {game.id} ({error})") from None
    if len(states) != 1:
        raise ValueError(f"record: start holds {len(states)} states; one is expected")
    for name, (low, high) in game.bounds.items():
        if np.any(states[name] < low) or np.any(states[name] > high):
            raise ValueError(f"record: start is no state of {game.id}: {name} is out of {low} … {high}")
    for option in game.options:
        if option.decode(int(states[option.name][0])) != table.options[option.name]:
            raise ValueError(f"record: start has another value of option {option.name} than the record")
    return states
