"""Records: a match so far as JSON-able values, and the same match played again."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from card_envs.engine.game import Game, IllegalAction
from card_envs.engine.rows import from_bytes, row_class
from card_envs.engine.table import Start, Table

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
        record["deck"] = [table.order, *table.later_orders] if table.later_orders else list(table.order)
    else:
        record["start"] = {
            "state": base64.b64encode(table.start.state).decode("ascii"),
            "decisions": table.start.decisions,
            "deals": table.start.deals,
            "endings": table.start.endings,
        }
    return record | {"actions": list(table.actions)}


def replay(record: Mapping[str, Any], load_game: Callable[[str], Game]) -> Table:
    """The match of a record, played again from its start. ``ValueError`` names what is wrong with the record."""
    if not isinstance(record, Mapping):
        raise ValueError(f"a record is a JSON object, not {type(record).__name__}")
    for key, kind in (("game", str), ("version", int), ("options", Mapping), ("identity", list), ("actions", list)):
        if not isinstance(record.get(key), kind):
            raise ValueError(f"record: {key!r} is missing or is no {kind.__name__.lower()}")
    if record.get("format") != FORMAT:
        raise ValueError(f"record: its format is {record.get('format')!r}, this package reads {FORMAT}")
    game = load_game(record["game"])
    if record["version"] != game.version:
        raise ValueError(f"record: it is of {game.name}_v{record['version']}, this package plays {game.id}")
    table = Table(game, seed=tuple(record["identity"]), deck=record.get("deck"), **record["options"])
    if "start" in record:
        table.restart(_start(game, record["start"], table))
    for number, action in enumerate(record["actions"], 1):
        try:
            table.play(str(action))
        except IllegalAction as error:
            raise IllegalAction(f"record: action {number}: {error}") from None
    return table


def _start(game: Game, data: object, table: Table) -> Start:
    """The start of a table that was redealt. Compiled code trusts its state, so a foreign one is checked."""
    if not isinstance(data, Mapping) or not {"state", "decisions", "deals", "endings"} <= data.keys():
        raise ValueError("record: start is no object with state, decisions, deals and endings")
    try:
        states = from_bytes(base64.b64decode(str(data["state"]), validate=True), game.state_dtype)
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"record: start is no state of {game.id} ({error})") from None
    if len(states) != 1:
        raise ValueError(f"record: start holds {len(states)} states; one is expected")
    for option in game.options:
        if int(states[option.name][0]) != option.encode(table.options[option.name]):
            raise ValueError(f"record: start has another value of option {option.name} than the record")
    for name, (low, high) in game.bounds.items():
        if np.any(states[name] < low) or np.any(states[name] > high):
            raise ValueError(f"record: start is no state of {game.id}: {name} is out of {low} … {high}")
    wrong = game.check(row_class(game.state_dtype)(states, 0))  # type: ignore[call-arg]
    if wrong:
        raise ValueError(f"record: start is no state of {game.id}: {wrong}")
    deals, decisions = data["deals"], data["decisions"]
    if not isinstance(decisions, int) or decisions < 0 or not _is_scores(deals, table.players):
        raise ValueError("record: start needs decisions, a number, and deals, the scores of each finished deal per seat")
    endings = data["endings"]
    if not isinstance(endings, list) or len(endings) != len(deals):
        raise ValueError("record: start needs endings, a text for each finished deal")
    return Start(states.tobytes(), decisions, [list(scores) for scores in deals], list(map(str, endings)))


def _is_scores(deals: object, players: int) -> bool:
    return isinstance(deals, list) and all(
        isinstance(scores, list) and len(scores) == players and all(isinstance(points, int) for points in scores)
        for scores in deals
    )
