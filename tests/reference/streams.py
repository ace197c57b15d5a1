"""The engine's random streams in plain Python: SplitMix64, the keys of matches, shuffles."""

from collections.abc import Callable, Sequence

WORD = 2**64
GOLDEN = 0x9E3779B97F4A7C15


def mix(x: int) -> int:
    """SplitMix64's output function."""
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % WORD
    return x ^ (x >> 31)


def stream(key: int, number: int) -> int:
    """The start of stream ``number`` of a key."""
    return mix(key ^ mix((number + 1) * GOLDEN % WORD))


def match_key(seed: int, row: int, match: int) -> int:
    """The key of the match with this identity."""
    return stream(stream(mix(seed), row), match)


def below(state: int, n: int) -> tuple[int, int]:
    """A uniform number below n: multiply the high 32 bits of an output, reject what would be biased."""
    while True:
        state = (state + GOLDEN) % WORD
        value, rest = divmod((mix(state) >> 32) * n, 2**32)
        if rest >= 2**32 % n:
            return value, state


def shuffled(cards: Sequence[str], key: int, number: int) -> list[str]:
    """Fisher-Yates from the end with stream ``number`` of ``key``."""
    cards, state = list(cards), stream(key, number)
    for i in range(len(cards) - 1, 0, -1):
        j, state = below(state, i + 1)
        cards[i], cards[j] = cards[j], cards[i]
    return cards


def deck_key(identity: tuple[int, int, int]) -> int:
    """The key that the shuffles of a match are drawn from."""
    return stream(match_key(*identity), 0)


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
