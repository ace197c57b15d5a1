"""Keys: everything random in a match follows from its identity, by functions that nobody can run backwards.

A seed is any integer below 2**256. Its *root key* of 128 bits is a BLAKE2b digest of it, made in Python. Everything else is an
output of :func:`derive`, which is SipHash-2-4 (Aumasson and Bernstein 2012) under the root key, over a purpose, the row, the
number of the match, and whatever else tells two draws apart. SipHash is a pseudorandom function: whoever sees any number of its
outputs, but not the key, cannot tell the next one from a random number. So no output that is handed to a player tells another,
and the decks of a match are outputs of their own.

Compiled policies draw from a fast stream that begins at such an output (:func:`card_envs.engine.random.stream`). It is never
handed out.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from card_envs.engine.jitable import register_jitable

SEED_BITS = 256
SEED_WORDS, ROOT_WORDS = SEED_BITS // 64, 2

# what outputs of a root key are for
DECK = 0  # the key of a match's shuffles
POLICIES = 1  # where the stream of a match's compiled policies begins
MATCH_NUMBER = 2  # the number of a match that players see
DECISION = 3  # the key of a decision that its player gets
SEARCH = 4  # the seed of the copies that a searching player gets
OPPONENTS = 5  # who sits opposite a learner
PLACES = 6  # how a board arranges its line-up around the table
REDEALS = 7  # the key of a row that is redealt
SHUFFLE = 8  # under the key of a match's shuffles: where each of them begins
FORK_DECK = 9  # the key of the shuffles on a deck of a fork
FORK_POLICIES = 10  # where the stream of the compiled policies begins that play on such a deck

NO_SALT = np.uint64(0)

_SHUFFLES = np.uint64(0x73656C6666756873)  # the other half of the key of shuffles
_V0, _V1 = np.uint64(0x736F6D6570736575), np.uint64(0x646F72616E646F6D)
_V2, _V3 = np.uint64(0x6C7967656E657261), np.uint64(0x7465646279746573)
_LAST_BLOCK = np.uint64(40 << 56)  # SipHash's last block holds the length of the message, here always 40 bytes
_FINAL = np.uint64(0xFF)
_13, _16, _17, _21, _32 = np.uint64(13), np.uint64(16), np.uint64(17), np.uint64(21), np.uint64(32)
_43, _47, _48, _51 = np.uint64(43), np.uint64(47), np.uint64(48), np.uint64(51)


@register_jitable
def _round(v0, v1, v2, v3):
    v0 = v0 + v1
    v2 = v2 + v3
    v1 = ((v1 << _13) | (v1 >> _51)) ^ v0
    v3 = ((v3 << _16) | (v3 >> _48)) ^ v2
    v0 = (v0 << _32) | (v0 >> _32)
    v2 = v2 + v1
    v0 = v0 + v3
    v1 = ((v1 << _17) | (v1 >> _47)) ^ v2
    v3 = ((v3 << _21) | (v3 >> _43)) ^ v0
    v2 = (v2 << _32) | (v2 >> _32)
    return v0, v1, v2, v3


@register_jitable
def _absorb(v0, v1, v2, v3, word):
    v0, v1, v2, v3 = _round(v0, v1, v2, v3 ^ word)
    v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    return v0 ^ word, v1, v2, v3


@register_jitable
def siphash(low, high, a, b, c, d, e):
    """SipHash-2-4 of the five words of a message under the key of two words, all uint64; of arrays, element by element."""
    v0, v1, v2, v3 = _V0 ^ low, _V1 ^ high, _V2 ^ low, _V3 ^ high
    v0, v1, v2, v3 = _absorb(v0, v1, v2, v3, a)
    v0, v1, v2, v3 = _absorb(v0, v1, v2, v3, b)
    v0, v1, v2, v3 = _absorb(v0, v1, v2, v3, c)
    v0, v1, v2, v3 = _absorb(v0, v1, v2, v3, d)
    v0, v1, v2, v3 = _absorb(v0, v1, v2, v3, e)
    v0, v1, v2, v3 = _absorb(v0, v1, v2, v3, _LAST_BLOCK)
    v0, v1, v2, v3 = _round(v0, v1, v2 ^ _FINAL, v3)
    v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    return v0 ^ v1 ^ v2 ^ v3


@register_jitable
def derive(low, high, purpose, row, match, number, salt):
    """An output of a root key: a uint64 for these numbers and for no others.

    Args:
        low, high: the root key's two words, uint64.
        purpose: one of the purposes of this module.
        row, match: of the match's identity.
        number: tells apart the outputs of one purpose in a match.
        salt: uint64, tells apart matches that are played from the same decks, and the decks of a fork.
    """
    return siphash(low, high, np.uint64(purpose), np.uint64(row), np.uint64(match), np.uint64(number), salt)


@register_jitable
def derive_shuffle(key, number):
    """The state (uint64) with which shuffle ``number`` begins, in a match whose shuffles have this key."""
    return siphash(np.uint64(key), _SHUFFLES, np.uint64(SHUFFLE), np.uint64(number), NO_SALT, NO_SALT, NO_SALT)


def derive_root(seed: int) -> bytes:
    """Return the root key of a seed, 16 bytes: its two words, the lower first, each in little-endian order."""
    return blake2b(seed.to_bytes(SEED_BITS // 8, "little"), digest_size=8 * ROOT_WORDS, person=b"card_envs root").digest()


def derive_roots(seeds: Iterable[int]) -> NDArray[np.uint64]:
    """Return the root keys of seeds, uint64 [n, 2]."""
    return np.frombuffer(b"".join(map(derive_root, seeds)), "<u8").astype(np.uint64).reshape(-1, ROOT_WORDS)


def split_seeds(seeds: Iterable[int]) -> NDArray[np.uint64]:
    """Return seeds as uint64 [n, 4], the lowest word first."""
    joined = b"".join(seed.to_bytes(SEED_BITS // 8, "little") for seed in seeds)
    return np.frombuffer(joined, "<u8").astype(np.uint64).reshape(-1, SEED_WORDS)


def join_seed(words: NDArray[np.uint64]) -> int:
    """Return the seed that :func:`split_seeds` has split."""
    return int.from_bytes(words.astype("<u8").tobytes(), "little")
