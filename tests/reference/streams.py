"""The engine's random streams in plain Python: keys by BLAKE2b and SipHash-2-4, SplitMix64, shuffles."""

from collections.abc import Callable, Sequence
from hashlib import blake2b

WORD = 2**64
GOLDEN = 0x9E3779B97F4A7C15


def rotate(x: int, bits: int) -> int:
    """Turn a 64-bit word to the left."""
    return (x << bits | x >> (64 - bits)) % WORD


def siphash(key: bytes, message: bytes) -> int:
    """SipHash-2-4 (Aumasson and Bernstein 2012) of any message under a key of 16 bytes."""
    low, high = int.from_bytes(key[:8], "little"), int.from_bytes(key[8:], "little")
    v = [low ^ 0x736F6D6570736575, high ^ 0x646F72616E646F6D, low ^ 0x6C7967656E657261, high ^ 0x7465646279746573]

    def rounds(count: int) -> None:
        for _ in range(count):
            for a, b, c, d, left, right in ((0, 1, 2, 3, 13, 16), (2, 1, 0, 3, 17, 21)):
                v[a] = (v[a] + v[b]) % WORD
                v[c] = (v[c] + v[d]) % WORD
                v[b] = rotate(v[b], left) ^ v[a]
                v[d] = rotate(v[d], right) ^ v[c]
                v[a] = rotate(v[a], 32)

    padded = message + bytes(7 - len(message) % 8) + bytes([len(message) % 256])
    for start in range(0, len(padded), 8):
        word = int.from_bytes(padded[start : start + 8], "little")
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    v[2] ^= 0xFF
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def derive(key: bytes, purpose: int, row: int, match: int, number: int = 0, salt: int = 0) -> int:
    """An output of a key: SipHash of five words."""
    return siphash(key, b"".join(word.to_bytes(8, "little") for word in (purpose, row, match, number, salt)))


def root_key(seed: int) -> bytes:
    """The root key of a seed below 2**256."""
    return blake2b(seed.to_bytes(32, "little"), digest_size=16, person=b"card_envs root").digest()


def mix(x: int) -> int:
    """SplitMix64's output function."""
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % WORD
    return x ^ (x >> 31)


def stream(key: int, number: int) -> int:
    """The start of stream ``number`` of a key."""
    return mix(key ^ mix((number + 1) * GOLDEN % WORD))


def below(state: int, n: int) -> tuple[int, int]:
    """A uniform number below n: multiply the high 32 bits of an output, reject what would be biased."""
    while True:
        state = (state + GOLDEN) % WORD
        value, rest = divmod((mix(state) >> 32) * n, 2**32)
        if rest >= 2**32 % n:
            return value, state


def shuffle_state(key: int, number: int) -> int:
    """The state of the generator with which shuffle ``number`` begins."""
    return derive(key.to_bytes(8, "little") + b"shuffles", 8, number, 0)


def shuffled(cards: Sequence[str], key: int, number: int) -> list[str]:
    """Fisher-Yates from the end: shuffle ``number`` of ``key``."""
    cards, state = list(cards), shuffle_state(key, number)
    for i in range(len(cards) - 1, 0, -1):
        j, state = below(state, i + 1)
        cards[i], cards[j] = cards[j], cards[i]
    return cards


def deck_key(identity: tuple[int, int, int]) -> int:
    """The key that the shuffles of a match are drawn from."""
    seed, row, match = identity
    return derive(root_key(seed), 0, row, match)


def deck_of_each_deal(
    cards: list[str], identity: tuple[int, int, int], orders: Sequence[list[str]]
) -> Callable[[int], list[str]]:
    """The deck of deal 1, 2, …, in a game that shuffles for every deal.

    Args:
        cards: The full deck in its canonical order.
        identity: The seed, row and number of the match.
        orders: Given orders of the first decks. Cards that an order leaves out lie below it, shuffled.
    """
    key = deck_key(identity)

    def deck(deal: int) -> list[str]:
        top = orders[deal - 1] if deal <= len(orders) else []
        return top + shuffled([card for card in cards if card not in top], key, deal - 1)

    return deck
