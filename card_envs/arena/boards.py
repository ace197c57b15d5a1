"""Boards and line-ups: what is played, who plays it, and who sits where.

A *board* is one match of the cards, played once in every rotation of the seats by the same line-up, as in duplicate bridge and
in the Annual Computer Poker Competition. All matches of a board are dealt from the same decks, so they are not independent of
each other: the board is the unit of every interval in this package.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from card_envs.engine.game import unknown
from card_envs.engine.identity import check_seed
from card_envs.engine.keys import NO_SALT, PLACES, SEED_BITS, derive, derive_roots

BOARD_LISTS = ("train", "tune", "report")
LIST_SIZE = 1 << 40  # seeds reserved for each list; a larger seed of a list is hashed together with the name of the list
MOST_BOARDS = 100_000  # of a line-up, in a sequential test or in a report that is read, unless more are asked for
FREE_FOR_ALLS = 20  # the least number of free-for-alls; there are more where everybody could not sit down equally often

Lineup = tuple[str, ...]  # a player's name for each place; each board assigns the places to seats anew


# ---- board lists


def derive_list_seed(board_list: str, seed: int = 0) -> int:
    """Return the seed of a named list of boards; board ``b`` of the list has the identity (this seed, b, 0).

    The lists share no board. Agents learn on ``"train"``, choices among them (checkpoints, settings) are made on ``"tune"``,
    and reported figures come from ``"report"`` alone.

    Args:
        board_list: ``"train"``, ``"tune"`` or ``"report"``.
        seed: Selects one of many lists of that name, 0 … 2**256 - 1.

    Raises:
        ValueError: The name is unknown or the seed is out of range.
    """
    if board_list not in BOARD_LISTS:
        raise unknown("board list", board_list, BOARD_LISTS)
    try:
        seed = check_seed(seed)
    except ValueError as error:
        raise ValueError(str(error).replace("seed", "seed of the board list", 1)) from None
    if seed < LIST_SIZE:
        return BOARD_LISTS.index(board_list) * LIST_SIZE + seed
    digest = blake2b(
        seed.to_bytes(SEED_BITS // 8, "little"), digest_size=SEED_BITS // 8, person=f"boards {board_list}".encode()
    )
    return int.from_bytes(digest.digest(), "little")


# ---- line-ups


def list_pairings(a: str, b: str, players: int) -> list[Lineup]:
    """Return the line-ups in which two players meet: one A among B and, at larger tables, one B among A.

    The result does not depend on the order of the two names.
    """
    a, b = sorted((a, b))
    return [(a, *[b] * (players - 1))] + ([(b, *[a] * (players - 1))] if players > 2 else [])


def draw_free_for_alls(names: Sequence[str], players: int) -> list[Lineup]:
    """Return line-ups of different players, drawn so that all of them sit down equally often, or nearly so.

    If there are fewer names than seats, everybody sits down and some do so twice. Two names, or a table of two, give no
    line-ups, because :func:`list_pairings` covers them.
    """
    pool = sorted(names)
    if players == 2 or len(pool) < 3:
        return []
    if len(pool) < players:
        return [tuple(sorted(pool[(start + i) % len(pool)] for i in range(players))) for start in range(len(pool))]
    if comb(len(pool), players) <= FREE_FOR_ALLS:
        return list(combinations(pool, players))
    rng = np.random.default_rng([len(pool), players])
    lineups: set[Lineup] = set()
    while len(lineups) < FREE_FOR_ALLS:
        shuffled = rng.permutation(len(pool))
        for first in range(0, len(pool) - players + 1, players):  # nobody appears twice within one shuffle
            lineups.add(tuple(sorted(pool[i] for i in shuffled[first : first + players])))
    return sorted(lineups)


def list_lineups(names: Sequence[str], players: int) -> list[Lineup]:
    """Return all pairings and free-for-alls at a table of ``players``, independent of the order of ``names``."""
    pairs = [lineup for a, b in combinations(sorted(names), 2) for lineup in list_pairings(a, b, players)]
    return list(dict.fromkeys([*pairs, *draw_free_for_alls(names, players)]))


# ---- seating


def assign_seats(seed: int, boards: NDArray[np.int64], rotations: NDArray[np.int64], players: int) -> NDArray[np.int64]:
    """Return the place of the line-up that sits in each seat of each match.

    Every board arranges the places in a random order around the table, because who sits beside whom should favour nobody; its
    rotations then move this arrangement on by one seat each.

    Args:
        seed: The seed of the board list.
        boards: The number of each match's board, int64 [matches].
        rotations: The rotation of each match, int64 [matches], 0 … players - 1.
        players: The number of seats.

    Returns:
        The place in each seat, int64 [matches, players].
    """
    low, high = derive_roots([seed])[0]
    with np.errstate(over="ignore"):
        keys = derive(low, high, PLACES, boards[:, None].astype(np.uint64), 0, np.arange(players, dtype=np.uint64), NO_SALT)
    order = np.argsort(keys, axis=1)
    # in rotation k, the place order[(s - k) mod n] takes seat s
    places: NDArray[np.int64] = np.take_along_axis(order, (np.arange(players) - rotations[:, None]) % players, axis=1)
    return places
