"""The identity of a match: three numbers (seed, row, match) that determine everything random in it."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from card_envs.engine.checks import check_integers
from card_envs.engine.loops import MATCH, ROW, SEED

Seed = int | Sequence[int] | None
Identity = tuple[int, int, int]


def check_seed(seed: object) -> int:
    """Return a seed as an int, or raise a ``ValueError`` that says what is allowed."""
    if isinstance(seed, int | np.integer) and not isinstance(seed, bool) and 0 <= seed < 2**63:
        return int(seed)
    raise ValueError(f"seed = {seed!r}: allowed is an integer from 0 to 2**63 - 1")


def draw_seed() -> int:
    """Draw a seed from the operating system's entropy."""
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
            raise ValueError(f"seed = {seed!r}: an identity is (seed, row, match)")
        s, r, m = (check_seed(part) for part in seed)
        return s, r, m
    return check_seed(seed), 0, 0


def write_identity(identity: NDArray[np.int64], seed: int | ArrayLike | None) -> None:
    """Write the identities of the matches that a reset deals.

    Args:
        identity: The identities of the rows, int64 [n, 3], which are overwritten. A negative seed means that there is none.
        seed: An int gives row i the identity (seed, i, 0), and an integer array [n] gives it (seed[i], 0, 0). ``None`` goes on
            to the next match of each row, or draws a seed from the operating system if there was none before.

    Raises:
        ValueError: A seed is out of range, or the array has another shape or dtype. Nothing has changed.
    """
    if seed is None and identity[0, SEED] >= 0:
        identity[:, MATCH] += 1
        return
    if seed is None:
        seed = draw_seed()
    if np.ndim(seed) == 0:
        identity[:, SEED] = check_seed(seed if isinstance(seed, int) else np.asarray(seed)[()])
        identity[:, ROW] = np.arange(len(identity))
    else:
        seeds = check_integers(seed, len(identity), "seed")
        if (seeds < 0).any():
            raise ValueError(f"seed of row {int(np.argmax(seeds < 0))} is negative")
        identity[:, SEED] = seeds
        identity[:, ROW] = 0
    identity[:, MATCH] = 0
