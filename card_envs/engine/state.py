"""The state of a match: one record of fixed-size fields, laid out from what a game declares."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from card_envs.engine.options import Option

NOBODY = -1  # in place of a seat
ALIGNMENT = 8  # bytes: a row of whole 8-byte words keeps the keys of an array of states aligned
MOST_DEALS = 1_000_000  # in a match; the options that cap the number of deals allow no more


class CommonField(NamedTuple):
    """A field of every game's state. ``length`` is ``"players"`` (as many as can play), ``"deck"``, or empty for a number."""

    dtype: type[np.integer[Any]]
    length: str
    meaning: str


COMMON_FIELDS = {
    "key": CommonField(np.uint64, "", "the key of the match's shuffles"),
    "totals": CommonField(np.int32, "players", "the points of the finished deals by seat"),
    "scores": CommonField(np.int16, "players", "the points of the last finished deal by seat"),
    "deal": CommonField(np.int32, "", "the number of the deal, from 1"),
    "finished": CommonField(np.int32, "", "the number of finished deals"),
    "to_move": CommonField(np.int8, "", "the seat to move, -1 when the match is over"),
    "phase": CommonField(np.int8, "", "the index of the phase"),
    "deal_over": CommonField(np.int8, "", "1 from the end of a deal, when `scores` are set, until the engine has finished it"),
    "over": CommonField(np.int8, "", "1 if the match is over"),
    "truncated": CommonField(np.int8, "", "1 if a technical cap ended the match"),
    "single_deal": CommonField(np.int8, "", "1 if the match is over after its first deal (episode='deal')"),
    "dealer": CommonField(np.int8, "", "the seat of the dealer"),
    "drawn": CommonField(np.int8, "", "the place of the next card in the deck"),
    "deck_size": CommonField(np.int8, "", "the end of the deck"),
    "ordered": CommonField(np.int8, "", "the number of cards given for the top of the next deck, in `order` or else in `deck`"),
    "deck": CommonField(np.int8, "deck", "the indices of the cards; deck[drawn:deck_size] are still to be drawn"),
}
ORDER = CommonField(np.int8, "deck", "the cards given for the top of the next deal's deck")


@dataclass(frozen=True)
class StateField:
    """A field that a game adds to its state.

    Args:
        name: The name of the field.
        dtype: An integer type.
        shape: Its shape; empty for a single number.
        bounds: The least and the greatest value that a record may contain; ``None`` if any value is harmless.
    """

    name: str
    dtype: type[np.integer[Any]]
    shape: int | tuple[int, ...] = ()
    bounds: tuple[int, int] | None = None


@dataclass(frozen=True)
class StateLayout:
    """The dtype of a game's states, and the least and the greatest value that a state from outside may have in a field."""

    dtype: np.dtype[np.void]
    bounds: dict[str, tuple[int, int]]


def lay_out_state(
    options: Sequence[Option],
    phases: Sequence[str],
    copies: Sequence[int],
    fields: Iterable[StateField],
    *,
    scores: tuple[int, int],
    deck_for_each_deal: bool,
) -> StateLayout:
    """Lay out the state of a game: the common fields, one for each option and the game's own, without a gap between them.

    The fields are sorted by the size of their items, and the end is padded to whole words of eight bytes.

    Args:
        options: The game's options, ``players`` first.
        phases: The names of the phases.
        copies: How many cards of each kind are in the deck.
        fields: The game's own fields.
        scores: The least and the greatest score that a deal can bring a seat, whatever the options are.
        deck_for_each_deal: Whether each deal has a new deck. Then ``order`` holds the cards given for the next one.
    """
    players, size, kinds = options[0].high, sum(copies), len(copies)
    if size > np.iinfo(np.int8).max:
        raise TypeError(f"a deck of {size} cards does not fit in a state: at most {np.iinfo(np.int8).max} do")
    if MOST_DEALS * max(map(abs, scores)) > np.iinfo(COMMON_FIELDS["totals"].dtype).max:
        raise TypeError(f"totals of {MOST_DEALS} deals with scores of {scores[0]} … {scores[1]} do not fit in a state")
    common = COMMON_FIELDS | ({"order": ORDER} if deck_for_each_deal else {})
    lengths = {"": (), "players": (players,), "deck": (size,)}
    limits = {
        "deal": (1, MOST_DEALS), "finished": (0, MOST_DEALS), "to_move": (NOBODY, players - 1), "phase": (0, len(phases) - 1),
        "deal_over": (0, 0), "over": (0, 1), "truncated": (0, 1), "single_deal": (0, 1), "dealer": (0, players - 1),
        "scores": scores,
        "drawn": (0, size), "deck_size": (0, size), "ordered": (0, size), "deck": (0, kinds - 1), "order": (0, kinds - 1),
    }  # fmt: skip
    layout = [
        *(StateField(name, field.dtype, lengths[field.length], limits.get(name)) for name, field in common.items()),
        *(StateField(option.name, option.dtype, (), option.bounds) for option in options),
        *fields,
    ]
    layout.sort(key=lambda field: -np.dtype(field.dtype).itemsize)
    used = sum(np.dtype((field.dtype, field.shape)).itemsize for field in layout)
    if used % ALIGNMENT:
        layout.append(StateField("padding", np.int8, ALIGNMENT - used % ALIGNMENT))
    dtype = np.dtype([(field.name, field.dtype, field.shape) for field in layout], align=True)
    return StateLayout(dtype, {field.name: field.bounds for field in layout if field.bounds is not None})
