"""How reports store shards, and how stored shards are checked when they are read again.

A report may come from anywhere. What is read must be a shard that these rules of counting can produce: of the right shapes and
types, with every win given out exactly once, and no larger than announced before anything is inflated.
"""

from __future__ import annotations

import base64
import zlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.arena.boards import Lineup
from card_envs.arena.results import hash_json
from card_envs.arena.shard import FAULTS_TOLD, PER_BOARD, PER_SHARD, SAMPLE, Shard, count_win_units, merge_shards
from card_envs.engine.messages import shorten

MOST_PER_MATCH = 1 << 31  # of points, decisions, deals and counts: totals of the engine have 32 bits
LAST_BOARD = 1 << 40

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class StoredBoards:
    """The boards of a report, with what they depend on; the shards are not unpacked.

    Attributes:
        identity: What must agree if the boards are to be continued, by name.
        players: What every player stands for, by name.
        sequential: Whether some boards come from a run that a sequential test ended.
        shards: Number of players, line-up and packed shards of each line-up.
    """

    identity: dict[str, Any]
    players: dict[str, Any]
    sequential: bool
    shards: list[tuple[int, Lineup, list[Any]]]


def read_boards(report: Mapping[str, Any]) -> StoredBoards:
    """Read the boards of a report.

    Raises:
        ValueError: They are missing or damaged; the message names the first thing that is wrong.
    """
    boards = report.get("boards")
    if not isinstance(boards, Mapping) or not boards:
        raise ValueError("it has no boards to continue from")
    try:
        digest = hash_json(boards)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"its boards are damaged ({error})") from None
    if digest != report.get("boards_sha256"):
        raise ValueError("its boards are damaged, their SHA-256 does not match")
    for name, kind in (("players", dict), ("sequential", bool), ("shards", list)):
        if not isinstance(boards.get(name), kind):
            raise ValueError(f"it has no boards to continue from ({name} is no {kind.__name__})")
    shards: list[tuple[int, Lineup, list[Any]]] = []
    for entry in boards["shards"]:
        n, lineup, packed = _read_entry(entry)
        if any((n, lineup) == (size, other) for size, other, _ in shards):
            raise ValueError(f"its boards are damaged: it has the line-up {', '.join(lineup)} twice")
        shards.append((n, lineup, packed))
    identity = {name: value for name, value in boards.items() if name not in ("players", "sequential", "shards")}
    return StoredBoards(identity, boards["players"], boards["sequential"], shards)


def _read_entry(entry: Any) -> tuple[int, Lineup, list[Any]]:
    wrong = "its boards are damaged: expected are line-ups of as many names as players, two or more of them different"
    if not isinstance(entry, dict):
        raise ValueError(wrong)
    n, lineup, packed = (entry.get(name) for name in ("players", "lineup", "shards"))
    if type(n) is not int or not isinstance(lineup, list) or not isinstance(packed, list):
        raise ValueError(wrong)
    if len(lineup) != n or not all(isinstance(name, str) for name in lineup) or len(set(lineup)) < 2:
        raise ValueError(wrong)
    return n, tuple(lineup), packed


def unpack_shards(data: list[Any], lineup: Lineup, counts: int, most: int) -> dict[int, Shard]:
    """Read the shards of a line-up, merged, by first board; the arguments are those of :func:`unpack_shard`."""
    read: list[Shard] = []
    for one in data:
        read.append(unpack_shard(one, lineup, counts, most - sum(shard.boards for shard in read)))
    read.sort(key=lambda shard: shard.first)
    if any(one.end > other.first for one, other in pairwise(read)):
        raise ValueError(f"it has a board of {', '.join(lineup)} twice")
    return merge_shards({shard.first: shard for shard in read})


def pack_shard(shard: Shard) -> dict[str, Any]:
    """Return plain values. The integers of every board are packed as base64 of zlib of little-endian int64."""
    packed = {
        name: base64.b64encode(zlib.compress(getattr(shard, name).astype("<i8").tobytes(), 6)).decode("ascii")
        for name in PER_BOARD
    }
    lists = {name: getattr(shard, name).tolist() for name in PER_SHARD}
    rest = {name: getattr(shard, name) for name in ("first", "boards", "deals", "truncated", "told")}
    return rest | lists | packed | ({"actions": {str(b): a for b, a in shard.actions.items()}} if shard.actions else {})


def unpack_shard(data: Any, lineup: Lineup, counts: int, most: int) -> Shard:
    """Read what :func:`pack_shard` has written.

    Args:
        data: The plain values.
        lineup: Who played.
        counts: The number of counts of the game.
        most: The largest number of boards to be read.

    Raises:
        ValueError: The data are not those of such a shard; the message names the first thing that is wrong.
    """
    if not isinstance(data, Mapping):
        raise ValueError(f"a damaged shard: it is no JSON object but {type(data).__name__}")
    try:
        boards = _read_number(data, "boards", 1, LAST_BOARD)
        if boards > most:
            raise ValueError(f"it has more boards than may be read ({boards} after at most {most}); ask for as many matches")
        n, different = len(lineup), len(set(lineup))
        matches = n * boards
        sums = {"seat_shares": (different, n), "seat_squares": (different, n)}
        shapes = {"pairs": (boards, different, different), "counts": (boards, different, counts)}
        arrays = {name: _read_array(data, name, sums.get(name, (different,))) for name in PER_SHARD}
        arrays |= {name: _inflate(data, name, shapes.get(name, (boards, different))) for name in PER_BOARD}
        numbers = {
            "first": _read_number(data, "first", 0, LAST_BOARD - boards),
            "boards": boards,
            "deals": _read_number(data, "deals", 0, matches * MOST_PER_MATCH),
            "truncated": _read_number(data, "truncated", 0, matches),
        }
        _check_boards(arrays, lineup)
        _check_sums(arrays, lineup, boards)
        told = _read_faults(data, int(arrays["faults"].sum()))
        actions = _read_actions(data.get("actions", {}), numbers["first"], boards, n)
    except ValueError as error:
        raise ValueError(f"a damaged shard: {error}") from None
    untimed: dict[str, Any] = {"seconds": np.zeros(different), "timed": np.zeros(different, np.int64)}
    fields: dict[str, Any] = numbers | arrays | untimed
    return Shard(**fields, told=told, actions=actions)


def _read(data: Mapping[str, Any], name: str) -> Any:
    if name not in data:
        raise ValueError(f"{name} is missing")
    return data[name]


def _read_number(data: Mapping[str, Any], name: str, least: int, most: int) -> int:
    value = _read(data, name)
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"{name} = {shorten(value)}: allowed is an integer from {least} to {most}")
    return value


def _read_array(data: Mapping[str, Any], name: str, shape: tuple[int, ...]) -> Integers:
    value = _read(data, name)
    rows = value if len(shape) > 1 else [value]
    right = isinstance(value, list) and all(isinstance(row, list) for row in rows) and len(value) == shape[0]
    if not (right and all(len(row) == shape[-1] and all(type(one) is int for one in row) for row in rows)):
        raise ValueError(f"{name} is no array of {' x '.join(map(str, shape))} integers")
    try:
        return np.array(value, np.int64)
    except OverflowError:
        raise ValueError(f"{name} has integers beyond 64 bits") from None


def _inflate(data: Mapping[str, Any], name: str, shape: tuple[int, ...]) -> Integers:
    """Return a packed array. No more is inflated than the shape allows."""
    text = _read(data, name)
    size = 8 * int(np.prod(shape))
    if not isinstance(text, str):
        raise ValueError(f"{name} is no text but {type(text).__name__}")
    inflater = zlib.decompressobj()
    try:
        content = inflater.decompress(base64.b64decode(text, validate=True), size + 1)
    except (ValueError, zlib.error) as error:
        raise ValueError(f"{name} cannot be inflated ({error})") from None
    if len(content) != size or not inflater.eof or inflater.unused_data:
        raise ValueError(f"{name} is no array of {' x '.join(map(str, shape))} integers")
    return np.frombuffer(content, "<i8").reshape(shape).astype(np.int64)


def _require(name: str, right: Any) -> None:
    if not np.all(right):
        raise ValueError(f"{name} holds what cannot have happened")


def _check_boards(arrays: Mapping[str, Integers], lineup: Lineup) -> None:
    """Check that every match has one winner's share, one of each placement, and one of two ahead, all within a line-up."""
    n = len(lineup)
    copies = np.array([count for _, count in sorted(Counter(lineup).items())])
    units = n * count_win_units(n)
    pairs, shares, places, margins = (arrays[name] for name in ("pairs", "shares", "places", "margins"))
    meetings = 2 * n * np.outer(copies, copies)
    np.fill_diagonal(meetings, 0)
    _require("pairs", (pairs >= 0) & (pairs <= meetings))
    _require("pairs", pairs + pairs.transpose(0, 2, 1) == meetings)
    _require("shares", (shares >= 0) & (shares <= units))
    _require("shares", shares.sum(axis=1) == units)
    _require("places", (places >= n * copies * (copies + 1)) & (places <= n * copies * (2 * n - copies + 1)))
    _require("places", places.sum(axis=1) == n * n * (n + 1))
    _require("margins", np.abs(margins) <= n * n * n * MOST_PER_MATCH)
    _require("margins", margins.sum(axis=1) == 0)
    _require("counts", np.abs(arrays["counts"]) <= n * n * MOST_PER_MATCH)


def _check_sums(arrays: Mapping[str, Integers], lineup: Lineup, boards: int) -> None:
    """Check the sums over all boards, also against the boards."""
    n = len(lineup)
    copies = np.array([count for _, count in sorted(Counter(lineup).items())])[:, None]
    units = count_win_units(n)
    shares, squares = arrays["seat_shares"], arrays["seat_squares"]
    _require("seat_shares", (shares >= 0) & (shares <= boards * copies * units))
    _require("seat_shares", shares.sum(axis=1) == arrays["shares"].sum(axis=0))
    _require("seat_squares", (squares >= shares) & (squares <= shares * units))
    matches = n * boards
    _require("points", np.abs(arrays["points"]) <= n * matches * MOST_PER_MATCH)
    _require("decisions", (arrays["decisions"] >= 0) & (arrays["decisions"] <= matches * MOST_PER_MATCH))
    _require("faults", (arrays["faults"] >= 0) & (arrays["faults"] <= matches))
    _require("faults", arrays["faults"].sum() <= matches)


def _read_faults(data: Mapping[str, Any], faults: int) -> list[str]:
    told = _read(data, "told")
    if not isinstance(told, list) or len(told) > min(faults, FAULTS_TOLD):
        raise ValueError(f"told: allowed is a list of at most {min(faults, FAULTS_TOLD)} texts")
    if not all(isinstance(text, str) for text in told):
        raise ValueError("told: allowed are texts")
    return told


def _read_actions(data: Any, first: int, boards: int, rotations: int) -> dict[int, list[list[int]]]:
    """Return the actions of a sample of the boards, for each rotation."""
    known = {str(board): board for board in SAMPLE if first <= board < first + boards}
    if not isinstance(data, dict) or not data.keys() <= known.keys():
        raise ValueError("its actions are not those of the sample")
    for lists in data.values():
        if not isinstance(lists, list) or len(lists) != rotations or not all(isinstance(actions, list) for actions in lists):
            raise ValueError("its actions are no lists for the rotations of a board")
        if not all(type(action) is int and 0 <= action < MOST_PER_MATCH for actions in lists for action in actions):
            raise ValueError("its actions are no indices")
    return {known[board]: lists for board, lists in data.items()}
