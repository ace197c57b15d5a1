"""Sets as bits and flags as bytes: each quick function does what its plain twin does."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray

from card_envs.engine import bits

U64 = np.uint64
# uint64 arithmetic wraps around on purpose
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")


def draw_sets(seed: int, n: int) -> list[int]:
    """Words with few bits, with many, and the extremes."""
    rng = np.random.default_rng(seed)
    words = [int(word) for word in rng.integers(0, 2**64, n, np.uint64)]
    sparse = [a & b & c for a, b, c in zip(words, words[1:], words[2:], strict=False)]
    return [0, 1, 2**63, 2**64 - 1, *(1 << k for k in range(64)), *words, *sparse]


def test_popcount_and_lowest_bit(seed: int) -> None:
    for word in draw_sets(seed, 500):
        assert bits.popcount(U64(word)) == word.bit_count()
        if word:
            assert bits.lowest_bit(U64(word)) == (word & -word).bit_length() - 1


@njit
def mark_compiled(mask, first, word, size):  # type: ignore[no-untyped-def]
    bits.mark_set(mask, first, word, size)


@njit
def write_compiled(o, first, word, size):  # type: ignore[no-untyped-def]
    bits.write_set(o, first, word, size)


@pytest.mark.parametrize("size", [1, 7, 8, 9, 22, 52, 63, 64])
@pytest.mark.parametrize("first", [0, 5, 8])
def test_flags_are_the_bits_of_a_set_and_nothing_else_is_written(size: int, first: int, seed: int) -> None:
    for word in draw_sets(seed, 20):
        for dtype, write in (
            (np.int8, bits.mark_set), (np.int8, mark_compiled), (np.float32, bits.write_set), (np.float32, write_compiled),
        ):  # fmt: skip
            flags = np.full(80, 7, dtype)
            expected = flags.copy()
            expected[first : first + size] = [word >> k & 1 for k in range(size)]
            write(flags, first, U64(word), size)
            assert flags.tolist() == expected.tolist(), (word, write)


@njit
def write_difference_compiled(o, first, plus, minus, size):  # type: ignore[no-untyped-def]
    bits.write_difference(o, first, plus, minus, size)


WEIGHTED = bits.tabulate_pairs(0.25, 3.0)


@njit
def copy_pairs_compiled(o, first, one, other, size):  # type: ignore[no-untyped-def]
    bits.copy_pairs(WEIGHTED, o, first, one, other, size)


def copy_pairs(o: NDArray[np.float32], first: int, one: np.uint64, other: np.uint64, size: int) -> None:
    bits.copy_pairs(WEIGHTED, o, first, one, other, size)


@pytest.mark.parametrize("size", [1, 3, 4, 7, 8, 10, 16, 52, 63, 64])
@pytest.mark.parametrize("first", [0, 5])
def test_two_sets_are_written_as_weighted_sums_and_nothing_else_is(size: int, first: int, seed: int) -> None:
    words = draw_sets(seed, 6)[::3]
    for one, other in zip(words, reversed(words), strict=True):
        for weight, other_weight, write in (
            (1.0, -1.0, bits.write_difference), (1.0, -1.0, write_difference_compiled),
            (0.25, 3.0, copy_pairs), (0.25, 3.0, copy_pairs_compiled),
        ):  # fmt: skip
            values = np.full(80, 7, np.float32)
            expected = values.copy()
            expected[first : first + size] = [weight * (one >> k & 1) + other_weight * (other >> k & 1) for k in range(size)]
            write(values, first, U64(one), U64(other), size)
            assert values.tolist() == expected.tolist(), (one, other, write)


def draw_mask(rng: np.random.Generator, words: int) -> NDArray[np.uint64]:
    return (rng.random(8 * words) < rng.random() ** 3).astype(np.int8).view(np.uint64)


def test_legal_actions_are_counted_and_found(seed: int) -> None:
    rng = np.random.default_rng(seed)
    full = np.ones(8 * bits.MOST_WORDS, np.int8).view(np.uint64)
    for words in [full, *(draw_mask(rng, int(rng.integers(1, 90))) for _ in range(100))]:
        legal = np.flatnonzero(words.view(np.int8))
        assert bits.count_legal(words) == len(legal)
        assert [bits.nth_legal(words, n) for n in range(len(legal))] == legal.tolist()
        assert bits.nth_legal(words, len(legal)) == -1
        for size in (len(legal), len(legal) // 2):
            listed = np.full(size, -1)
            assert bits.list_legal(words, listed) == len(legal)
            assert listed.tolist() == legal[:size].tolist()
        for action in range(0, 8 * len(words), 3):
            assert bits.is_legal(words, action) == (action in legal)


def test_each_flag_of_a_word_is_found() -> None:
    """All 256 masks of eight actions."""
    for row in bits.FLAGS:
        legal = np.flatnonzero(row)
        words = row.copy().view(np.uint64)
        assert [bits.nth_legal(words, n) for n in range(len(legal))] == legal.tolist()
