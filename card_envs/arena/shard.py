"""Shards: the unit of work, a few blocks of one line-up. A block is one deal in all its rotations.

What happens in a block depends on its line-up and deal alone: not on who plays it, nor on the blocks beside it. So matches
of many blocks are played side by side where all players say that their answers do not depend on the batch that they are
asked in (``batch_invariant``). Of others that is not known – floating-point products may – and each of their blocks is
played alone, its rows in one order, with linear algebra on one thread.
"""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from hashlib import sha256
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from card_envs.arena.lineups import Lineup
from card_envs.arena.play import Playing
from card_envs.engine.batch import Batch
from card_envs.engine.game import Game
from card_envs.engine.measures import measures_of
from card_envs.engine.random import mix, stream
from card_envs.players import Player
from card_envs.players.player import BuiltIn

BLOCKS_BUILT_IN, BLOCKS = 256, 32  # of a shard: of compiled players only, of batch-invariant ones
APPRAISED = 64  # deals of each line-up, the first: appraising decisions takes longer than playing them
FAULTS_TOLD = 20  # the first ones, in words; all are counted


@dataclass(frozen=True)
class Task:
    """A shard to be played: deals ``first`` … ``first + deals - 1`` of the list ``seed``."""

    game: Game
    options: Mapping[str, Any]
    lineup: Lineup
    seed: int
    first: int
    deals: int

    @property
    def matches(self) -> int:
        return self.deals * len(self.lineup)


def unit(players: int) -> int:
    """Shares of a win are counted in units of 1/lcm(1 … n), exactly: k winners of n get 1/k each."""
    return math.lcm(*range(1, players + 1))


# What is kept of every deal: summed over its rotations, an integer for each different player of the line-up.
PER_DEAL = ("pairs", "shares", "margins", "places", "counts")
# What is kept of a shard as a whole.
PER_SHARD = ("seat_shares", "seat_squares", "points", "faults", "decisions")


@dataclass
class Shard:
    """What the P different players of a line-up, sorted by name, did in consecutive blocks of matches of n.

    Attributes:
        first, deals: which deals.
        pairs: int64 [deals, P, P], half wins of i over j by placement: 2 if ahead, 1 if level.
        shares: int64 [deals, P], of the wins, in :func:`unit` units.
        margins: int64 [deals, P], n-1 times the points ahead of the mean of the others; 0 in a match lost by a failure.
        places: int64 [deals, P], twice the placements, the mean one where players tie.
        counts: int64 [deals, P, C], what :func:`~card_envs.engine.measures.measures_of` the game counts.
        seat_shares, seat_squares: int64 [P, n], the sums of the shares, and of their squares, by seat.
        points, faults, decisions: int64 [P]: totals, matches lost by a failure, decisions made.
        rounds: deals that were played to their end in all the matches.
        truncated: matches that a technical cap cut off.
        told: the first faults, in words.
        seconds: float64 [P], spent on ``timed`` decisions, int64 [P], in this process. No part of the result.
    """

    first: int
    deals: int
    pairs: NDArray[np.int64]
    shares: NDArray[np.int64]
    margins: NDArray[np.int64]
    places: NDArray[np.int64]
    counts: NDArray[np.int64]
    seat_shares: NDArray[np.int64]
    seat_squares: NDArray[np.int64]
    points: NDArray[np.int64]
    faults: NDArray[np.int64]
    decisions: NDArray[np.int64]
    rounds: int
    truncated: int
    told: list[str]
    seconds: NDArray[np.float64]
    timed: NDArray[np.int64]

    @property
    def end(self) -> int:
        """The first deal after it."""
        return self.first + self.deals

    def followed_by(self, others: Sequence[Shard]) -> Shard:
        """One shard of this and the others, which follow it without a gap."""
        parts = [self, *others]
        joined: dict[str, Any] = {name: np.concatenate([getattr(s, name) for s in parts]) for name in PER_DEAL}
        sums = (*PER_SHARD, "deals", "rounds", "truncated", "seconds", "timed")
        added: dict[str, Any] = {name: sum(getattr(s, name) for s in parts) for name in sums}
        return Shard(self.first, **joined, **added, told=[text for s in parts for text in s.told][:FAULTS_TOLD])

    def as_json(self) -> dict[str, Any]:
        """Plain values; the integers of every deal as base64 of zlib of little-endian int64."""
        packed = {name: _pack(getattr(self, name)) for name in PER_DEAL}
        lists = {name: getattr(self, name).tolist() for name in PER_SHARD}
        rest = {name: getattr(self, name) for name in ("first", "deals", "rounds", "truncated", "told")}
        return rest | lists | packed

    @classmethod
    def from_json(cls, data: Mapping[str, Any], different: int, counts: int) -> Shard:
        """The shard of ``different`` players that :meth:`as_json` has written; ``ValueError`` if it is none."""
        try:
            deals = int(data["deals"])
            shapes = {"pairs": (deals, different, different), "counts": (deals, different, counts)}
            packed: dict[str, Any] = {name: _unpack(data[name], shapes.get(name, (deals, different))) for name in PER_DEAL}
            lists: dict[str, Any] = {name: np.array(data[name], np.int64) for name in PER_SHARD}
            if int(data["first"]) < 0:
                raise ValueError("a deal before the first")
            if any(len(array) != different for array in lists.values()):
                raise ValueError("wrong number of players")
            rest: dict[str, Any] = {name: int(data[name]) for name in ("first", "deals", "rounds", "truncated")}
            untimed: dict[str, Any] = {"seconds": np.zeros(different), "timed": np.zeros(different, np.int64)}
            return cls(**rest, **packed, **lists, **untimed, told=list(map(str, data["told"])))
        except (KeyError, TypeError, ValueError, OverflowError, zlib.error) as error:
            raise ValueError(f"a damaged shard ({error})") from None


def _pack(array: NDArray[np.int64]) -> str:
    return base64.b64encode(zlib.compress(array.astype("<i8").tobytes(), 6)).decode("ascii")


def _unpack(text: str, shape: tuple[int, ...]) -> NDArray[np.int64]:
    flat = np.frombuffer(zlib.decompress(base64.b64decode(text)), "<i8")
    return flat.reshape(shape).astype(np.int64)


def merged(shards: Mapping[int, Shard]) -> dict[int, Shard]:
    """The same blocks in as few shards as there can be, by first deal."""
    found: list[list[Shard]] = []
    for _, shard in sorted(shards.items()):
        if found and found[-1][-1].end == shard.first:
            found[-1].append(shard)
        else:
            found.append([shard])
    return {run[0].first: run[0].followed_by(run[1:]) if len(run) > 1 else run[0] for run in found}


def one_blas_thread() -> AbstractContextManager[Any]:
    """Keeps linear algebra on one thread: of the whole process, so around all shards that are played at the same time."""
    limits: AbstractContextManager[Any] = threadpool_limits(limits=1, user_api="blas")
    return limits


def play_shard(task: Task, players: Mapping[str, Player], stop: Event | None = None) -> Shard:
    """Play a shard, within :func:`one_blas_thread`; ``players`` by the names of the line-up."""
    n, deals = len(task.lineup), task.deals
    names = sorted(set(task.lineup))
    places = np.array([names.index(name) for name in task.lineup], np.int8)
    batch = Batch(task.game, deals * n, seed=0, **task.options)
    rows = np.arange(batch.size)
    deal, rotation = task.first + rows // n, rows % n
    batch._identity[:] = np.stack([np.full(batch.size, task.seed), deal, 0 * rows, 0 * rows], axis=1)
    order = _order(task.seed, deal, n)
    # in rotation k, seat s is taken by place order[(s - k) mod n]
    place_at = np.take_along_axis(order, (np.arange(n) - rotation[:, None]) % n, axis=1)
    salt = int.from_bytes(sha256("\n".join(task.lineup).encode()).digest()[:8], "little")
    with np.errstate(over="ignore"):
        salts: NDArray[np.uint64] = mix(np.uint64(salt) + rotation.astype(np.uint64))
    measures = measures_of(task.game)
    playing = Playing(
        batch, [players[name] for name in names], salts,
        forgiving=True, measures=measures, appraised=deal < APPRAISED, stop=stop,
    )  # fmt: skip
    playing.play(rows, places[place_at])

    totals = np.empty((batch.size, n), np.int64)  # by place from here on
    np.put_along_axis(totals, place_at, batch._states["totals"][:, :n].astype(np.int64), axis=1)
    ahead = 1 if task.game.score_scale(task.options) > 0 else -1  # or where the lowest total wins
    standing = ahead * totals
    margins = ahead * (n * totals - totals.sum(axis=1, keepdims=True))
    faults = np.zeros(len(names), np.int64)
    for fault in playing.faults:  # he is last, the others are level
        seat = batch._to_move[fault.row]
        standing[fault.row] = 0
        standing[fault.row, place_at[fault.row, seat]] = -1
        margins[fault.row] = 0
        faults[fault.player] += 1
    over = np.sign(standing[:, :, None] - standing[:, None, :])
    winners = standing == standing.max(axis=1, keepdims=True)
    shares = np.where(winners, unit(n) // winners.sum(axis=1, keepdims=True), 0)
    half_places = 2 + (1 - over).sum(axis=2) - 1  # but himself, with whom he is level
    is_at = (places[:, None] == np.arange(len(names))).astype(np.int64)  # [place, player]

    def of_deals(values: NDArray[np.int64]) -> NDArray[np.int64]:
        summed: NDArray[np.int64] = values.reshape(deals, n, n).sum(axis=1) @ is_at
        return summed

    wins = (over + 1).reshape(deals, n, n, n).sum(axis=1)
    pairs: NDArray[np.int64] = np.einsum("dpq,pi,qj->dij", wins, is_at, is_at)
    pairs[:, np.arange(len(names)), np.arange(len(names))] = 0
    player_at = places[place_at]
    counts: NDArray[np.int64] = np.einsum("rsp,rsc->rpc", player_at[:, :, None] == np.arange(len(names)), playing.counts)
    seat_share = np.take_along_axis(shares, place_at, axis=1)
    seats = [np.where(player_at == player, seat_share, 0) for player in range(len(names))]
    return Shard(
        first=task.first,
        deals=deals,
        pairs=pairs,
        shares=of_deals(shares),
        margins=of_deals(margins),
        places=of_deals(half_places),
        counts=counts.reshape(deals, n, len(names), -1).sum(axis=1),
        seat_shares=np.array([values.sum(axis=0) for values in seats]),
        seat_squares=np.array([(values**2).sum(axis=0) for values in seats]),
        points=totals.sum(axis=0) @ is_at,
        faults=faults,
        decisions=playing.decisions,
        rounds=int(batch._states["finished"].sum()),
        truncated=int(batch._truncated.sum()),
        told=[
            f"{names[f.player]} in deal {deal[f.row]}, rotation {rotation[f.row]}, seat {batch._to_move[f.row]}: {f.reason}"
            for f in sorted(playing.faults, key=lambda fault: fault.row)[:FAULTS_TOLD]
        ],
        seconds=playing.seconds,
        timed=playing.decisions,
    )


def _order(seed: int, deal: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """A random order of the places for each deal, int64 [rows, n]: who sits beside whom is not to favour anybody."""
    with np.errstate(over="ignore"):
        key = stream(stream(np.uint64(seed), 1), deal.astype(np.uint64))
        keys = np.stack([stream(key, place) for place in range(n)], axis=1)
    order: NDArray[np.int64] = np.argsort(keys, axis=1)
    return order


def blocks_of(players: Iterable[Player]) -> int:
    """How many blocks a shard of these players has at most."""
    kinds = [(isinstance(player, BuiltIn), bool(getattr(player, "batch_invariant", False))) for player in players]
    if all(built_in for built_in, _ in kinds):
        return BLOCKS_BUILT_IN
    return BLOCKS if all(invariant for _, invariant in kinds) else 1
