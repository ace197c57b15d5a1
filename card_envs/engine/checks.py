"""Checks of arguments. Each returns the checked value, or raises a ``ValueError`` that names what is allowed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from card_envs.engine.game import Game, unknown
from card_envs.engine.messages import shorten

LARGEST = 2**63 - 1


def check_choice(what: str, value: object, known: Sequence[str]) -> str:
    """Return ``value`` if it is one of the ``known`` words."""
    if value not in known:
        raise unknown(what, value, known)
    return cast(str, value)


def check_value(value: object, game: Game) -> str:
    """Return what the end of a deal is worth: ``"margin"``, or ``"match"`` if the game has a ``match_value``."""
    if check_choice("value", value, ("margin", "match")) == "match" and game.match_value is None:
        raise ValueError(f"value = 'match': {game.name} cannot tell what a match is worth after a deal")
    return cast(str, value)


def check_count(what: str, value: object, least: int = 1) -> int:
    """Return ``value`` as an int if it is a whole number from ``least`` that compiled code can hold."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise ValueError(f"{what} = {shorten(value)}: allowed is a whole number from {least}")
    if value > LARGEST:
        raise ValueError(f"{what} = {shorten(value)}: allowed is a whole number up to 2**63 - 1")
    return int(value)


def check_features(game: Game, wanted: object) -> bool:
    """Return whether action features are ``wanted``, which is true or false, of a game that has them."""
    if not isinstance(wanted, bool | np.bool_):
        raise ValueError(f"action_features = {shorten(wanted)}: allowed is true or false")
    if wanted and game.action_features is None:
        raise ValueError(f"action_features: {game.name} has none")
    return bool(wanted)


def check_seat(seat: object, players: int) -> int:
    """Return ``seat`` as an int if there is such a seat at the table."""
    if not isinstance(seat, int | np.integer) or isinstance(seat, bool) or not 0 <= seat < players:
        raise ValueError(f"seat = {shorten(seat)}: allowed are 0 … {players - 1}")
    return int(seat)


def check_seats(seats: ArrayLike, size: int, players: int) -> NDArray[np.int64]:
    """Return a seat for every row, int64 [size]; ``seats`` is one integer for all rows or an integer array [size]."""
    array = np.asarray(seats)
    array = check_integers(np.full(size, array) if array.ndim == 0 else array, size, "seats")
    if (array < 0).any() or (array >= players).any():
        raise ValueError(f"seats: allowed are 0 … {players - 1}")
    return copy_integers(array)


def check_rows(rows: ArrayLike, size: int) -> NDArray[np.int64]:
    """Return row numbers as int64 [n] with n at least 1. A row may be named more than once."""
    array = np.asarray(rows)
    if array.ndim != 1 or array.dtype.kind not in "iu" or not len(array):
        raise ValueError("indices: a non-empty list of row numbers is expected")
    if array.min() < 0 or array.max() >= size:
        raise ValueError(f"indices: rows are 0 … {size - 1}")
    return copy_integers(array)


def copy_integers(array: NDArray[Any]) -> NDArray[np.int64]:
    """Return a copy as the one kind of array for which loops are compiled: int64, contiguous, writable."""
    return np.array(array, np.int64, order="C")


def check_integers(values: ArrayLike, size: int, what: str) -> NDArray[np.int64]:
    """Return ``values`` as int64 [size]. The error names a row with a NaN or a number of more than 63 bits."""
    array = np.asarray(values)
    if array.shape != (size,):
        raise ValueError(f"{what}: expected an integer array of shape ({size},), got shape {array.shape}")
    if array.dtype.kind not in "iu":
        bad = ~np.isfinite(array) if array.dtype.kind == "f" else np.zeros(size, bool)
        where = f" ({array[np.argmax(bad)]} in row {int(np.argmax(bad))})" if bad.any() else ""
        raise ValueError(f"{what}: expected integers, got {array.dtype}{where}")
    if array.dtype == np.uint64 and (array > np.uint64(LARGEST)).any():
        raise ValueError(f"{what}: row {int(np.argmax(array > np.uint64(LARGEST)))} is over 2**63 - 1")
    return array.astype(np.int64, copy=False)


def check_candidates(candidates: ArrayLike, size: int) -> NDArray[np.int64]:
    """Return a copy of integers for several rows as int64 [size, C], with C at least 1."""
    array = np.asarray(candidates)
    if array.ndim != 2 or len(array) != size or not array.shape[1]:
        raise ValueError(f"candidates: expected an integer array of shape ({size}, C), got shape {array.shape}")
    return np.column_stack([check_integers(column, size, "candidates") for column in array.T]).copy("C")
