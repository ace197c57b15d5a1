"""The identity of a match: three numbers (seed, row, match) that determine everything random in it.

A seed is an integer from 0 to 2**256 - 1, and the other two numbers are below 2**63. ``keys.py`` derives keys from them.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from card_envs.engine.checks import LARGEST, check_integers
from card_envs.engine.keys import SEED_BITS
from card_envs.engine.loops import MATCH, SEED, UNSEEDED
from card_envs.engine.matches import Matches
from card_envs.engine.messages import shorten

Seed = int | Sequence[int] | None
Seeds = int | ArrayLike | list[int | None] | None  # of many matches
Identity = tuple[int, int, int]


def _is_integer(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def check_seed(seed: object) -> int:
    """Return a seed as an int, or raise a ``ValueError`` that says what is allowed."""
    if isinstance(seed, int | np.integer) and _is_integer(seed) and 0 <= seed < 2**SEED_BITS:
        return int(seed)
    raise ValueError(f"seed = {shorten(seed)}: allowed is an integer from 0 to 2**{SEED_BITS} - 1")


def check_counter(name: str, value: object) -> int:
    """Return the row or the match of an identity as an int, or raise a ``ValueError`` that says what is allowed."""
    if isinstance(value, int | np.integer) and _is_integer(value) and 0 <= value <= LARGEST:
        return int(value)
    raise ValueError(f"{name} of an identity = {shorten(value)}: allowed is an integer from 0 to 2**63 - 1")


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
            raise ValueError(f"seed = {shorten(seed)}: an identity is (seed, row, match)")
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
        seed: An int gives the i-th of the rows the identity (seed, i, 0). A list of ints or an integer array [len(rows)] gives
            it (seed[i], 0, 0). ``None``, also in a list, goes on to the next match of the row, or draws a seed from the
            operating system if there was none before.
        rows: The rows, int64; by default all.

    Raises:
        ValueError: A seed is out of range, the array has another shape or dtype, or the counter of a row's matches is at its
            end. Nothing has changed.
    """
    rows = matches.rows if rows is None else rows
    number: Any = seed
    if number is not None and np.ndim(number) == 0:
        matches.identify(
            rows, check_seed(number if isinstance(number, int) else np.asarray(number)[()]), np.arange(len(rows)), 0
        )
        return
    seeds = [None] * len(rows) if seed is None else _check_seeds(seed, len(rows))
    new = matches.identity[rows, SEED] == UNSEEDED
    given = np.array([number is not None for number in seeds])
    go_on = rows[~given & ~new]
    if len(go_on):
        check_counter("match", int(matches.identity[go_on, MATCH].max()) + 1)
    matches.identity[go_on, MATCH] += 1
    if given.any():
        matches.identify(rows[given], [number for number in seeds if number is not None], 0, 0)
    if (new & ~given).any():
        drawn = rows[new & ~given]
        matches.identify(drawn, draw_seed(), np.arange(len(drawn)), 0)


def _check_seeds(seed: Any, size: int) -> list[int | None]:
    """Return a seed or ``None`` for each row, from a list of them or an integer array."""
    if isinstance(seed, list) and len(seed) == size and all(number is None or isinstance(number, int) for number in seed):
        return [None if number is None else check_seed(number) for number in seed]
    seeds = check_integers(seed, size, "seed")
    if (seeds < 0).any():
        raise ValueError(f"seed of row {int(np.argmax(seeds < 0))} is negative")
    numbers: list[int | None] = seeds.tolist()
    return numbers
