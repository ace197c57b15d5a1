"""Sets as the bits of a uint64, and flags as bytes that are 0 or 1, of which eight make a uint64.

The rules think of cards as sets, and masks and observations show a flag for each card. These functions go from one to the other
several cards at a time, since that is where a step spends most of its time. Each has a plain twin in the tests.
"""

import numpy as np
from numpy.typing import NDArray

from card_envs.engine.jitable import register_jitable

MOST_WORDS = 255  # in a row of flags that count_legal counts

_BYTE = np.uint64(0xFF)
_ONES = np.uint64(0x0101010101010101)
_TOPS = np.uint64(0x8080808080808080)
_EVEN_BYTES = np.uint64(0x00FF00FF00FF00FF)
_ONES_16 = np.uint64(0x0001000100010001)
_1, _2, _4, _7, _8 = np.uint64(1), np.uint64(2), np.uint64(4), np.uint64(7), np.uint64(8)
_LOW_NIBBLES = np.uint64(0x0F0F0F0F0F0F0F0F)
_48, _56 = np.uint64(48), np.uint64(56)

# FLAGS[byte]: its eight bits, the lowest first
FLAGS = ((np.arange(256)[:, None] >> np.arange(8)) & 1).astype(np.int8)
FLOATS = FLAGS.astype(np.float32)


def tabulate_pairs(weight: float, other_weight: float) -> NDArray[np.float32]:
    """The table of `copy_pairs` that adds ``weight`` for a flag of the one set and ``other_weight`` for one of the other."""
    nibbles = FLAGS[:16, :4]
    return (weight * nibbles[None, :] + other_weight * nibbles[:, None]).reshape(256, 4).astype(np.float32)


DIFFERENCES = tabulate_pairs(1.0, -1.0)


@register_jitable
def popcount(x):
    """The number of set bits of a uint64, in a form that LLVM turns into one instruction."""
    x = x - ((x >> _1) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> _2) & np.uint64(0x3333333333333333))
    x = (x + (x >> _4)) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * _ONES) >> _56)


@register_jitable
def lowest_bit(x):
    """The number of the lowest set bit of a uint64 that is not 0."""
    return popcount((x & (~x + _1)) - _1)


@register_jitable
def _copy_flags(table, flags, first, bits, size):
    """Write eight flags at once, which takes one load and one store.

    The index is unsigned, because numba asks of a signed one whether it is negative, and then LLVM writes one flag at a time.
    """
    whole = size & ~7
    for i in range(0, whole, 8):
        byte = (bits >> np.uint64(i)) & _BYTE
        for j in range(8):
            flags[np.uint64(first + i + j)] = table[byte, j]
    byte = (bits >> np.uint64(whole)) & _BYTE if whole < size else _BYTE
    for j in range(size - whole):
        flags[np.uint64(first + whole + j)] = table[byte, j]


@register_jitable
def mark_set(mask, first, bits, size):
    """Set ``mask[first:first + size]``, int8, to the lowest ``size`` bits of a uint64."""
    _copy_flags(FLAGS, mask, first, bits, size)


@register_jitable
def write_set(o, first, bits, size):
    """Set ``o[first:first + size]``, float32, to the lowest ``size`` bits of a uint64."""
    _copy_flags(FLOATS, o, first, bits, size)


@register_jitable
def copy_pairs(table, o, first, bits, other, size):
    """Set ``o[first:first + size]`` to what ``table`` says of the flags of two sets, four flags of each at a time.

    Row ``i + 16 * j`` of the table has the values for the flags ``i`` of the one set and ``j`` of the other: see
    `tabulate_pairs`.
    """
    even = (bits & _LOW_NIBBLES) | ((other & _LOW_NIBBLES) << _4)
    odd = ((bits >> _4) & _LOW_NIBBLES) | (other & ~_LOW_NIBBLES)
    whole = size & ~3
    for i in range(0, whole, 4):
        pair = ((odd if i & 4 else even) >> np.uint64(i & ~7)) & _BYTE
        for j in range(4):
            o[np.uint64(first + i + j)] = table[pair, j]
    pair = ((odd if whole & 4 else even) >> np.uint64(whole & ~7)) & _BYTE if whole < size else _BYTE
    for j in range(size - whole):
        o[np.uint64(first + whole + j)] = table[pair, j]


@register_jitable
def write_difference(o, first, plus, minus, size):
    """Set ``o[first:first + size]``, float32, to 1 for the elements of ``plus`` and -1 for those of ``minus``."""
    copy_pairs(DIFFERENCES, o, first, plus, minus, size)


# ---- masks: rows of flags viewed as words


@register_jitable
def is_legal(words, action):
    """Whether a mask allows ``action``."""
    return (words[action >> 3] >> np.uint64(8 * (action & 7))) & _1 != np.uint64(0)


@register_jitable
def count_legal(words):
    """How many actions a mask of at most ``MOST_WORDS`` words allows.

    Each byte of the sum of all words counts the flags in one column; pairs of bytes and then all are added up.
    """
    columns = np.uint64(0)
    for w in range(len(words)):
        columns += words[w]
    pairs = (columns & _EVEN_BYTES) + ((columns >> _8) & _EVEN_BYTES)
    return np.int64((pairs * _ONES_16) >> _48)


@register_jitable
def nth_legal(words, n):
    """The index of the n-th legal action (n from 0) of a mask, or -1 if there are fewer."""
    for w in range(len(words)):
        running = words[w] * _ONES  # byte k counts the flags from 0 to k
        here = np.int64(running >> _56)
        if n < here:
            beyond = ((running | _TOPS) - np.uint64(n + 1) * _ONES) & _TOPS  # the bytes that count more than n
            return 8 * w + 8 - np.int64(((beyond >> _7) * _ONES) >> _56)
        n -= here
    return -1


@register_jitable
def list_legal(words, actions):
    """Write the legal actions of a mask into ``actions``, in the order of their indices, as far as they fit.

    Returns:
        How many there are in all.
    """
    found = 0
    for w in range(len(words)):
        word = words[w]
        action = 8 * w
        while word != np.uint64(0):
            if word & _1 != np.uint64(0):
                if found < len(actions):
                    actions[found] = action
                found += 1
            word >>= _8
            action += 1
    return found
