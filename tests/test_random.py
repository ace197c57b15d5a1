"""The random streams: known answers, agreement with plain Python, uniformity by chi-square at 1 - 10^-4 with fixed seeds."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from card_envs.engine import random as engine
from tests.reference import streams

U64 = np.uint64
# uint64 arithmetic wraps around on purpose
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")


def chi_square(counts: list[int], expected: float) -> float:
    return sum((count - expected) ** 2 / expected for count in counts)


def test_splitmix64_known_answers() -> None:
    """The published test vector of SplitMix64 for the seed 1234567 (Vigna's splitmix64.c, as on Rosetta Code)."""
    published = [
        6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821,
    ]  # fmt: skip
    state, engine_out, plain_out = 1234567, [], []
    for _ in published:
        state = (state + streams.GOLDEN) % 2**64
        plain_out.append(streams.mix(state))
        engine_out.append(int(engine.mix(U64(state))))
    assert plain_out == published
    assert engine_out == published


@pytest.mark.parametrize("n", [1, 2, 3, 10, 52, 108, 2**31 + 1, 2**32 - 1])
def test_below_equals_plain_python(n: int) -> None:
    plain, ours = 99, U64(99)
    for _ in range(200):
        expected, plain = streams.below(plain, n)
        value, ours = engine.below(ours, n)
        assert (int(value), int(ours)) == (expected, plain)
        assert 0 <= value < n


def test_below_rejects_what_would_be_biased() -> None:
    """With n = 2^31 + 1 nearly half of the outputs must be rejected, or even values would be twice as likely."""
    n, state, draws = 2**31 + 1, U64(5), 4000
    even = steps = 0
    for _ in range(draws):
        before = int(state)
        value, state = engine.below(state, n)
        steps += (int(state) - before) * pow(streams.GOLDEN, -1, 2**64) % 2**64
        even += int(value) % 2 == 0
    assert abs(steps / draws - 2.0) < 0.15
    assert abs(even - draws / 2) < 4 * (draws / 4) ** 0.5


def test_below_is_uniform() -> None:
    n, draws, state = 10, 20_000, U64(2024)
    counts = [0] * n
    for _ in range(draws):
        value, state = engine.below(state, n)
        counts[int(value)] += 1
    assert chi_square(counts, draws / n) < 33.7, counts  # 9 degrees of freedom


def test_shuffle_is_uniform() -> None:
    draws = 24 * 500
    counts: Counter[tuple[int, ...]] = Counter()
    for number in range(draws):
        cards = [0, 1, 2, 3]
        engine.shuffle(cards, 0, 4, U64(11), number)
        counts[tuple(cards)] += 1
    orders = [counts[order] for order in itertools.permutations(range(4))]
    assert sum(orders) == draws
    assert chi_square(orders, draws / 24) < 54.0, counts  # 23 degrees of freedom


def test_shuffle_touches_only_its_part() -> None:
    cards = list(range(20))
    engine.shuffle(cards, 5, 15, U64(3), 0)
    assert cards[:5] == [0, 1, 2, 3, 4]
    assert cards[15:] == [15, 16, 17, 18, 19]
    assert sorted(cards[5:15]) == list(range(5, 15))
    assert cards[5:15] != list(range(5, 15))


def test_shuffles_equal_plain_python() -> None:
    for key in (0, 1, 2**64 - 1, 0x0123456789ABCDEF):
        for number in (0, 1, 17, engine.REDEAL + 1):
            cards = list(range(108))
            engine.shuffle(cards, 0, 108, U64(key), number)
            assert cards == streams.shuffled(list(range(108)), key, number)


def test_streams_differ() -> None:
    """Neighbouring numbers give different streams."""
    keys = [streams.stream(key, number) for key in range(100) for number in range(14)]
    assert len(set(keys)) == len(keys)


def test_random_legal_equals_plain_python() -> None:
    rng = np.random.default_rng(5)
    for width in (8, 24, 64, 136, 600):
        for density in (0.01, 0.1, 0.5, 1.0):
            mask = (rng.random(-(-width // 8) * 8) < density).astype(np.int8)
            mask[width - 1] = 1
            mask[width:] = 0
            words, legal = mask.view(U64), np.flatnonzero(mask)
            key = int(rng.integers(2**63))
            assert engine.random_legal(words, U64(key)) == legal[streams.below(key, len(legal))[0]]


def test_random_legal_is_uniform() -> None:
    mask = np.zeros(64, np.int8)
    legal = [0, 3, 7, 8, 9, 31, 62]
    mask[legal] = 1
    counts = Counter(int(engine.random_legal(mask.view(U64), U64(streams.stream(8, i)))) for i in range(14_000))
    assert sorted(counts) == legal
    assert chi_square(list(counts.values()), 2000) < 27.9, counts  # 6 degrees of freedom
