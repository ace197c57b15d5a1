"""The identity of a match: three numbers (seed, row, match) that determine everything random in it.

A seed is an integer from 0 to 2**256 - 1, and the other two numbers are below 2**63. ``keys.py`` derives keys from them.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from card_envs.engine.checks import LARGEST, check_integers
from card_envs.engine.keys import SEED_BITS
from card_envs.engine.loops import MATCH, SEED, UNSEEDED
from card_envs.engine.matches import Matches

Seed = int | Sequence[int] | None
Seeds = int | ArrayLike | list[int | None] | None  # of many matches
Identity = tuple[int, int, int]


def _is_integer(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def check_seed(seed: object) -> int:
    """Return a seed as an int, or raise a ``ValueError`` that says what is allowed."""
    if isinstance(seed, int | np.integer) and _is_integer(seed) and 0 <= seed < 2**SEED_BITS:
        return int(seed)
    raise ValueError(f"seed = {_shorten(seed)}: allowed is an integer from 0 to 2**{SEED_BITS} - 1")


def check_counter(name: str, value: object) -> int:
    """Return the row or the match of an identity as an int, or raise a ``ValueError`` that says what is allowed."""
    if isinstance(value, int | np.integer) and _is_integer(value) and 0 <= value <= LARGEST:
        return int(value)
    raise ValueError(f"{name} of an identity = {_shorten(value)}: allowed is an integer from 0 to 2**63 - 1")


def _shorten(value: object) -> str:
    """Return ``repr(value)`` in a line; Python refuses to write very large integers."""
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 2 * SEED_BITS:
        return f"an integer of {value.bit_length()} bits"
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:197]}..."


def draw_seed() -> int:
    """Draw a seed from the operating system's entropy; it fits into an int64, as most libraries expect of seeds."""
    return secrets.randbits(63)


def parse_identity(seed: Seed) -> Identity:
    """Return the identity that a seed stands for.

    Args:
        seed: An int ``s`` stands for (s, 0, 0), and a sequence of three ints is an identity. ``None`` draws a seed from the
            operating system.

    Raises:
        ValueError: The seed is not one of these.
    """
    if seed is None:
        return draw_seed(), 0, 0
    if isinstance(seed, Sequence) and not isinstance(seed, str):
        if len(seed) != 3:
            raise ValueError(f"seed = {_shorten(seed)}: an identity is (seed, row, match)")
        return check_seed(seed[0]), check_counter("row", seed[1]), check_counter("match", seed[2])
    return check_seed(seed), 0, 0


def follow_identity(identity: Identity) -> Identity:
    """Return the identity of the next match, or raise ``ValueError`` if the counter of the matches is at its end."""
    seed, row, match = identity
    return seed, row, check_counter("match", match + 1)


def write_identity(matches: Matches, seed: Seeds, rows: NDArray[np.int64] | None = None) -> None:
    """Write the identities of the matches that a reset deals.

    Args:
        matches: The matches, whose identities are overwritten.
        seed: An int gives row i the identity (seed, i, 0), and an integer array with a number for each row gives it
            (seed[i], 0, 0). ``None`` goes on to the next match of each row, or draws a seed from the operating system if there
            was none before. A list of seeds may hold ``None`` as well.
        rows: The rows, int64; by default all.

    Raises:
        ValueError: A seed is out of range, the array has another shape or dtype, or the counter of a row's matches is at its
            end. Nothing has changed.
    """
    rows = matches.rows if rows is None else rows
    if isinstance(seed, list) and len(seed) == len(rows) and None in seed:
        _read_seeds([0 if number is None else number for number in seed], len(rows))
        for number, row in zip(seed, rows.tolist()):
            write_identity(matches, None if number is None else [number], np.array([row]))
    elif seed is None and matches.identity[rows[0], SEED] != UNSEEDED:
        check_counter("match", int(matches.identity[rows, MATCH].max()) + 1)
        matches.identity[rows, MATCH] += 1
    elif seed is None or np.ndim(cast(ArrayLike, seed)) == 0:
        scalar = draw_seed() if seed is None else seed if isinstance(seed, int) else np.asarray(seed)[()]
        matches.identify(rows, check_seed(scalar), rows, 0)
    else:
        matches.identify(rows, _read_seeds(cast(ArrayLike, seed), len(rows)), 0, 0)


def _read_seeds(seeds: ArrayLike, size: int) -> NDArray[np.int64]:
    """Return seeds as int64 [size], or raise ``ValueError``."""
    array = check_integers(seeds, size, "seed")
    if (array < 0).any():
        raise ValueError(f"seed of row {int(np.argmax(array < 0))} is negative")
    return array
