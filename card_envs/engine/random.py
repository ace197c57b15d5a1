"""Counter-based random streams, the same interpreted and compiled.

Everything random in the package comes from a 64-bit *key* and a *number*: stream ``number`` of ``key`` always yields the
same values, whatever was drawn elsewhere. These streams can be run backwards, so nobody gets to see them who must not know
their keys; where keys come from is said in ``keys.py``. The generator is SplitMix64 (Steele, Lea & Flood, OOPSLA 2014) with
Stafford's finaliser "variant 13". Bounded integers are unbiased (Lemire, ACM TOMACS 2019: multiply, and reject what is biased).
Every operand is a ``uint64``, since numba turns operands of mixed signs into floats or signed integers.
"""

import numpy as np

from card_envs.engine.bits import count_legal, nth_legal
from card_envs.engine.jitable import register_jitable
from card_envs.engine.keys import derive_shuffle

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_LOW_32 = np.uint64(0xFFFFFFFF)
_TWO_32 = np.uint64(1 << 32)
_S27, _S30, _S31, _S32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)

REDEAL = 1 << 32  # the shuffles of redeals are numbered from here, which those of a match do not reach


@register_jitable
def mix(x):
    """A bijection of uint64 that sends neighbours far apart."""
    x = (x ^ (x >> _S30)) * _MIX_1
    x = (x ^ (x >> _S27)) * _MIX_2
    return x ^ (x >> _S31)


@register_jitable
def stream(key, number):
    """The key (uint64) of stream ``number`` (an integer >= 0) of ``key``."""
    return mix(np.uint64(key) ^ mix((np.uint64(number) + np.uint64(1)) * _GOLDEN))


@register_jitable
def below(state, n):
    """``(value, state)``: a uniform int64 in [0, n) for 0 < n < 2**32, and the next state of the stream."""
    bound = np.uint64(n)
    state = state + _GOLDEN
    product = (mix(state) >> _S32) * bound
    if (product & _LOW_32) < bound:
        biased = (_TWO_32 - bound) % bound
        while (product & _LOW_32) < biased:
            state = state + _GOLDEN
            product = (mix(state) >> _S32) * bound
    return np.int64(product >> _S32), state


@register_jitable
def unit(key):
    """A float64 in (0, 1) with 53 bits from a key."""
    return (np.float64(key >> np.uint64(11)) + 0.5) * 2.0**-53


@register_jitable
def shuffle(cards, first, end, key, number):
    """Fisher-Yates on ``cards[first:end]``: shuffle ``number`` of ``key``. One shuffle of a key tells nothing about another."""
    state = derive_shuffle(key, number)
    for i in range(end - 1, first, -1):
        j, state = below(state, i - first + 1)
        j += first
        card = cards[i]
        cards[i] = cards[j]
        cards[j] = card


@register_jitable
def random_legal(words, key):
    """A uniformly random legal action of a mask viewed as uint64 words, drawn from the stream ``key``."""
    n, _ = below(key, count_legal(words))
    return nth_legal(words, n)


@register_jitable
def choose_random(s, seat, words, key, parameters):
    """The policy ``random`` of every game: a uniformly random legal action."""
    return random_legal(words, key)
