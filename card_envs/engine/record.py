"""Records: a match so far as JSON-able values, which are checked when they are read."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from card_envs.engine.game import Game, OptionValue, unknown
from card_envs.engine.identity import Identity, parse_identity
from card_envs.engine.messages import shorten
from card_envs.engine.rows import from_bytes, open_row
from card_envs.engine.validation import find_fault

FORMAT = 1  # the version of the format; that of the game is stored beside it
MOST_DECISIONS = 2**53  # of a match that a record begins with: JSON cannot hold more exactly, and no match has as many


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
            if not _is(data.get(key), kind):
                raise ValueError(f"record: {key!r} is missing or is not of type {kind.__name__.lower()}")
        if not _is(data.get("format"), int) or data["format"] != FORMAT:
            raise ValueError(f"record: its format is {shorten(data.get('format'))}, but this package reads {FORMAT}")
        game = load_game(data["game"])
        if data["version"] != game.version:
            raise ValueError(f"record: it is of {game.name}_v{data['version']}, but this package plays {game.id}")
        start_key = "start" if "start" in data else "deck"
        for key in data:
            if key not in (*_KEYS, start_key):
                raise unknown("key of a record", key, [*_KEYS, start_key])
        options = game.resolve(data["options"])
        identity = parse_identity(tuple(data["identity"]))
        deck = data.get("deck")
        game.read_deck(deck)
        if not all(isinstance(action, str) for action in data["actions"]):
            raise ValueError("record: an action is not a text")
        start = _read_start(game, options, data["start"]) if "start" in data else None
        return cls(game, options, identity, deck, start, tuple(data["actions"]))


_KEYS = ("format", "game", "version", "options", "identity", "actions")  # and "deck" or "start"


def _is(value: object, kind: type) -> bool:
    """Whether a value from JSON is of this kind: ``true`` is no number."""
    return isinstance(value, kind) and not (kind is int and isinstance(value, bool))


def _read_start(game: Game, options: Mapping[str, OptionValue], data: object) -> Start:
    """Read and check a start: compiled code trusts its state, which may come from a stranger."""
    if not isinstance(data, Mapping) or data.keys() != {"state", "decisions", "deals", "endings"}:
        raise ValueError("record: start is not an object of state, decisions, deals and endings alone")
    try:
        states = from_bytes(base64.b64decode(str(data["state"]), validate=True), game.state_dtype)
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"record: start is not a state of {game.id} ({error})") from None
    if len(states) != 1:
        raise ValueError(f"record: start holds {len(states)} states instead of one")
    fault = find_fault(game, options, states)
    if fault:
        raise ValueError(f"record: start is not a state of {game.id}: {fault}")
    deals, decisions, endings = data["deals"], data["decisions"], data["endings"]
    if not _is(decisions, int) or not 0 <= decisions <= MOST_DECISIONS:
        raise ValueError(f"record: start needs decisions, a number from 0 to {MOST_DECISIONS}")
    if not _are_deals(deals, open_row(states)):
        raise ValueError("record: start needs deals, the scores of the deals finished last per seat, as the state has them")
    if not _is(endings, list) or len(endings) != len(deals) or not all(_is_ending(ending) for ending in endings):
        raise ValueError("record: start needs endings, a text of one line for each of the deals")
    return Start(states.tobytes(), decisions, [list(scores) for scores in deals], list(endings))


def _are_deals(deals: object, s: Any) -> bool:
    """Whether these are the scores of the deals that were finished last, or of all, in a match with this state."""
    if not isinstance(deals, list) or len(deals) > s.finished:
        return False
    for scores in deals:
        if not _is(scores, list) or len(scores) != s.players or not all(_is(points, int) for points in scores):
            return False
    if deals and deals[-1] != [s.scores[seat] for seat in range(s.players)]:
        return False
    totals = [sum(scores[seat] for scores in deals) for seat in range(s.players)]
    return len(deals) < s.finished or totals == [s.totals[seat] for seat in range(s.players)]


def _is_ending(ending: object) -> bool:
    return isinstance(ending, str) and ending.isprintable()
