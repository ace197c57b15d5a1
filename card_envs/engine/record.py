"""Records: a match so far as JSON-able values, which are checked when they are read."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from card_envs.engine.game import Game, OptionValue
from card_envs.engine.identity import Identity, parse_identity
from card_envs.engine.rows import from_bytes, open_row

FORMAT = 1  # the version of the format; that of the game is stored beside it


@dataclass(frozen=True)
class Start:
    """The state from which a match goes on if it did not begin with the deal of its identity.

    Attributes:
        state: The bytes of the state.
        decisions: How many decisions had been made in the match.
        deals: The scores of the finished deals by seat.
        endings: How those deals ended, in words.
    """

    state: bytes
    decisions: int
    deals: list[list[int]]
    endings: list[str]

    def to_json(self) -> dict[str, Any]:
        """Return the start as JSON-able values."""
        state = base64.b64encode(self.state).decode("ascii")
        return {"state": state, "decisions": self.decisions, "deals": self.deals, "endings": self.endings}


@dataclass(frozen=True)
class Record:
    """What :class:`~card_envs.engine.table.Table` needs to play a match again.

    Attributes:
        game, options, identity: What was played.
        deck: The names of the cards in the first deal's deck, next card first, or a list of such orders. ``None`` with a
            ``start``.
        start: The state from which the match goes on, if that is not the deal of its identity.
        actions: The actions played since then, as strings.
    """

    game: Game
    options: Mapping[str, OptionValue]
    identity: Identity
    deck: Any
    start: Start | None
    actions: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the record as JSON-able values."""
        record: dict[str, Any] = {
            "format": FORMAT,
            "game": self.game.name,
            "version": self.game.version,
            "options": dict(self.options),
            "identity": list(self.identity),
        }
        record |= {"deck": self.deck} if self.start is None else {"start": self.start.to_json()}
        return record | {"actions": list(self.actions)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], load_game: Callable[[str], Game]) -> Record:
        """Read a record.

        Args:
            data: What :meth:`to_json` returned.
            load_game: Returns the game of a name.

        Raises:
            ValueError: The message says what is wrong with the record.
        """
        if not isinstance(data, Mapping):
            raise ValueError(f"a record is a JSON object, not {type(data).__name__}")
        for key, kind in (("game", str), ("version", int), ("options", Mapping), ("identity", list), ("actions", list)):
            if not isinstance(data.get(key), kind):
                raise ValueError(f"record: {key!r} is missing or is not of type {kind.__name__.lower()}")
        if data.get("format") != FORMAT:
            raise ValueError(f"record: its format is {data.get('format')!r}, but this package reads {FORMAT}")
        game = load_game(data["game"])
        if data["version"] != game.version:
            raise ValueError(f"record: it is of {game.name}_v{data['version']}, but this package plays {game.id}")
        options = game.resolve(data["options"])
        identity = parse_identity(tuple(data["identity"]))
        start = _read_start(game, options, data["start"]) if "start" in data else None
        return cls(game, options, identity, data.get("deck"), start, tuple(map(str, data["actions"])))


def _read_start(game: Game, options: Mapping[str, OptionValue], data: object) -> Start:
    """Read and check a start: compiled code trusts its state, which may come from a stranger."""
    if not isinstance(data, Mapping) or not {"state", "decisions", "deals", "endings"} <= data.keys():
        raise ValueError("record: start is not an object with state, decisions, deals and endings")
    try:
        states = from_bytes(base64.b64decode(str(data["state"]), validate=True), game.state_dtype)
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"record: start is not a state of {game.id} ({error})") from None
    if len(states) != 1:
        raise ValueError(f"record: start holds {len(states)} states instead of one")
    for option in game.options:
        if int(states[option.name][0]) != option.encode(options[option.name]):
            raise ValueError(f"record: start has another value of option {option.name} than the record")
    for name, (low, high) in game.bounds.items():
        if np.any(states[name] < low) or np.any(states[name] > high):
            raise ValueError(f"record: start is not a state of {game.id}: {name} is out of {low} … {high}")
    wrong = game.check(open_row(states))
    if wrong:
        raise ValueError(f"record: start is not a state of {game.id}: {wrong}")
    deals, decisions = data["deals"], data["decisions"]
    if not isinstance(decisions, int) or decisions < 0 or not _are_scores(deals, int(options["players"])):
        raise ValueError("record: start needs decisions, a number, and deals, the scores of each finished deal by seat")
    endings = data["endings"]
    if not isinstance(endings, list) or len(endings) != len(deals):
        raise ValueError("record: start needs endings, a text for each finished deal")
    return Start(states.tobytes(), decisions, [list(scores) for scores in deals], list(map(str, endings)))


def _are_scores(deals: object, players: int) -> bool:
    return isinstance(deals, list) and all(
        isinstance(scores, list) and len(scores) == players and all(isinstance(points, int) for points in scores)
        for scores in deals
    )
