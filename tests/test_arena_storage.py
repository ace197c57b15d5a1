"""Stored boards from anywhere: what cannot have been played is refused in one line, before anything large is made (item 11)."""

from __future__ import annotations

import base64
import json
import tracemalloc
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from card_envs.arena import Benchmark, run_benchmark
from card_envs.arena.results import hash_json
from card_envs.arena.shard import PER_BOARD, Shard
from card_envs.arena.storage import unpack_shard
from tests.benchmarks import SHORT

PLAYERS = ["random", "count3", "risk24"]


@pytest.fixture(scope="module")
def text() -> str:
    return json.dumps(run_benchmark("flip7", PLAYERS, tables=[3], matches=30, **SHORT))


def resume(boards: Any) -> Benchmark:
    """Resume from a report with these boards and the SHA-256 that belongs to them."""
    it = Benchmark.create("flip7", PLAYERS, tables=[3], matches=30, **SHORT)
    try:
        digest = hash_json(boards)
    except (ValueError, RecursionError):
        digest = ""
    it.resume({"schema": "card_envs.benchmark/2", "boards": boards, "boards_sha256": digest})
    return it


def pack(array: Any) -> str:
    return base64.b64encode(zlib.compress(np.asarray(array).astype("<i8").tobytes())).decode()


def unpack(text: str) -> Any:
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), "<i8").copy()


def refused(text: str, change: Callable[[dict[str, Any]], object]) -> str:
    """The message that refuses a report whose first shard was changed."""
    boards = json.loads(text)["boards"]
    change(boards["shards"][0]["shards"][0])
    with pytest.raises(ValueError, match="damaged shard") as error:
        resume(boards)
    return str(error.value)


def test_a_bomb_is_not_inflated(text: str) -> None:
    """Item 11: 2.4 MB took 2.5 GB."""
    bomb = base64.b64encode(zlib.compress(bytes(200_000_000), 9)).decode()
    tracemalloc.start()
    for boards in (10, 100_000, 10**9, 2**62, 10**400):
        message = refused(text, lambda shard, boards=boards: shard.update(boards=boards, pairs=bomb))  # type: ignore[misc]
        assert "\n" not in message
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60_000_000, "the packed text is one, and what it may hold another part"


def test_a_longer_report_is_continued_if_as_many_matches_are_asked_for(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("card_envs.arena.benchmark.MOST_BOARDS", 5)
    assert resume(json.loads(text)["boards"]).list_tasks() == []
    few = Benchmark.create("flip7", PLAYERS, tables=[3], matches=15, **SHORT)
    with pytest.raises(ValueError, match=r"more boards than may be read .10 after at most 5.; ask for as many matches"):
        few.resume(json.loads(text))


IMPOSSIBLE: dict[str, Callable[[dict[str, Any]], Any]] = {
    "a missing array": lambda shard: shard.pop("places"),
    "a first board before the first": lambda shard: shard.update(first=-1),
    "a board beyond all": lambda shard: shard.update(first=2**63),
    "a fraction of a board": lambda shard: shard.update(boards=10.0),
    "a truth value of boards": lambda shard: shard.update(boards=True),
    "no boards": lambda shard: shard.update(boards=0),
    "another number of boards": lambda shard: shard.update(boards=9),
    "more truncated matches than matches": lambda shard: shard.update(truncated=31),
    "a negative number of deals": lambda shard: shard.update(deals=-1),
    "floats": lambda shard: shard.update(points=[1.0, 2.0]),
    "too few players": lambda shard: shard.update(points=[1]),
    "a wrong shape": lambda shard: shard.update(seat_shares=[[1, 2], [3, 4]]),
    "a ragged array": lambda shard: shard.update(seat_shares=[[1, 2, 3], [4]]),
    "numbers beyond 64 bits": lambda shard: shard.update(decisions=[10**30, 1]),
    "negative decisions": lambda shard: shard.update(decisions=[-1, 5]),
    "more faults than matches": lambda shard: shard.update(faults=[31, 0]),
    "faults that are not counted": lambda shard: shard.update(told=["count3 on board 1"]),
    "words of another type": lambda shard: shard.update(faults=[1, 0], told=[3]),
    "shares by seat that are not those by board": lambda shard: shard["seat_shares"][0].__setitem__(0, 0),
    "squares below the shares": lambda shard: shard.update(seat_squares=[[0] * 3, [0] * 3]),
    "text that is not packed": lambda shard: shard.update(pairs="?"),
    "text with other letters": lambda shard: shard.update(pairs="\n" + shard["pairs"]),
    "a number instead of text": lambda shard: shard.update(pairs=3),
    "something after the end": lambda shard: shard.update(
        pairs=base64.b64encode(base64.b64decode(shard["pairs"]) + b"more").decode()
    ),
    "an array cut short": lambda shard: shard.update(pairs=pack(unpack(shard["pairs"])[:-1])),
    "more than all wins": lambda shard: shard.update(shares=pack(unpack(shard["shares"]) + 1)),
    "negative wins": lambda shard: shard.update(shares=pack(unpack(shard["shares"]) * -1)),
    "more encounters than there are": lambda shard: shard.update(pairs=pack(unpack(shard["pairs"]) * 2)),
    "a player ahead of itself": lambda shard: shard.update(pairs=pack(unpack(shard["pairs"]) + np.tile([1, 0, 0, 0], 10))),
    "places beyond the last": lambda shard: shard.update(places=pack(unpack(shard["places"]) + 1)),
    "margins that do not cancel": lambda shard: shard.update(margins=pack(unpack(shard["margins"]) + 1)),
    "huge counts": lambda shard: shard.update(counts=pack(unpack(shard["counts"]) + 2**60)),
}


@pytest.mark.parametrize("what", IMPOSSIBLE)
def test_what_cannot_have_happened_is_refused(what: str, text: str) -> None:
    message = refused(text, IMPOSSIBLE[what])
    assert message.startswith("the report: count3, random, random: a damaged shard: ")
    assert "\n" not in message
    assert len(message) < 300


ODD: list[Any] = [
    None, True, False, -1, 0, 1, 2**31, 2**63, -(2**63), 10**400, 0.5, float("nan"), float("inf"), "", "x", "\ud800", "count3",
    [], {}, [[]], [None], [[1, 2], [3]], {"players": 3},
]  # fmt: skip


def mutate(value: Any, rng: np.random.Generator) -> Any:
    """Change one thing somewhere in plain values."""
    if isinstance(value, dict) and value and rng.random() < 0.93:
        key = list(value)[rng.integers(len(value))]
        if rng.random() < 0.05:
            return {other: value[other] for other in value if other != key}
        return value | {key: mutate(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.9:
        at = int(rng.integers(len(value)))
        if rng.random() < 0.1:
            return value[:at] + value[at + 1 :] if rng.random() < 0.5 else [*value, value[at]]
        return [*value[:at], mutate(value[at], rng), *value[at + 1 :]]
    if isinstance(value, int) and rng.random() < 0.5:
        return value + int(rng.integers(-3, 4))
    if isinstance(value, str) and len(value) > 80:
        numbers = unpack(value)
        numbers[rng.integers(len(numbers))] += rng.choice([-(2**40), -1, 1, 2, 2**62])
        return pack(numbers) if rng.random() < 0.8 else value[: rng.integers(len(value))]
    return ODD[rng.integers(len(ODD))]


def test_damaged_reports_are_refused_or_possible(text: str, seed: int, request: pytest.FixtureRequest) -> None:
    """Item 11, fuzz: each ends in one line or in boards that give a report."""
    rng = np.random.default_rng(seed)
    whole = json.loads(text)["boards"]
    messages: list[str] = []
    accepted = 0
    repetitions = 20_000 if request.config.getoption("--long") else 400
    for _ in range(repetitions):
        boards = whole
        for _ in range(int(rng.integers(1, 3))):
            boards = mutate(boards, rng)
        try:
            it = resume(boards)
        except ValueError as error:
            messages.append(str(error))
            continue
        accepted += 1
        for shards in it.tournament.shards.values():
            for shard in shards.values():
                check_possible(shard)
        if accepted % 10 == 1:
            it.make_report()
    print(f"{len(messages)} refused, {accepted} accepted")
    assert len(messages) > repetitions / 2, f"seed {seed}"
    assert not any("\n" in message for message in messages), f"seed {seed}"


def check_possible(shard: Shard) -> None:
    for name in PER_BOARD:
        assert len(getattr(shard, name)) == shard.boards
    assert (shard.shares.sum(axis=1) == shard.shares.sum() // shard.boards).all()
    assert (shard.shares >= 0).all()
    assert shard.faults.sum() <= 3 * shard.boards


@pytest.mark.parametrize("data", [None, [], 3, "shard"])
def test_a_shard_is_an_object(data: Any) -> None:
    with pytest.raises(ValueError, match="a damaged shard: it is no JSON object"):
        unpack_shard(data, ("a", "b"), 0, 10)
