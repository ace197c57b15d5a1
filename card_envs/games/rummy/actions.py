"""The action space of Rummy: one index for each action string.

``draw`` 0, ``end`` 1, ``take`` each card 2 … 53, ``discard`` each card 54 … 105, ``layoff`` each card on a set 106 … 157,
below a run 158 … 209, above a run 210 … 261, ``meld`` the 65 sets 262 … 326 and the 308 runs 327 … 634. Cards are
13·suit + rank.
"""

import numpy as np

from card_envs.games.french_deck import CARDS, DECK_SIZE, IN_SUIT, SUITS

ACTION_DRAW, ACTION_END, ACTION_TAKE = 0, 1, 2
ACTION_DISCARD = ACTION_TAKE + DECK_SIZE
ACTION_LAYOFF = ACTION_DISCARD + DECK_SIZE
ON_SET, BELOW, ABOVE = range(3)  # the places of a lay-off: blocks of 52
ACTION_SET = ACTION_LAYOFF + 3 * DECK_SIZE
PER_RANK = 5  # the three of a rank without its club, diamond, heart, spade; all four
ALL_FOUR = 4
ACTION_RUN = ACTION_SET + IN_SUIT * PER_RANK
HIGH_ACE = IN_SUIT  # the rank of an ace above the king

# All runs within a suit as (lowest, highest) rank: low aces first, then those that end with a high ace.
RUNS = [(low, high) for low in range(IN_SUIT) for high in range(low + 2, IN_SUIT)]
RUNS += [(low, HIGH_ACE) for low in range(1, IN_SUIT - 1)]
PER_SUIT = len(RUNS)
RUN_LOW = np.array([low for low, _ in RUNS], np.int8)
RUN_HIGH = np.array([high for _, high in RUNS], np.int8)
RUN_INDEX = np.full((IN_SUIT, HIGH_ACE + 1), -1, np.int16)
for _index, (_low, _high) in enumerate(RUNS):
    RUN_INDEX[_low, _high] = _index


def _set(rank: int, missing: int) -> list[str]:
    return [CARDS[suit * IN_SUIT + rank] for suit in range(4) if suit != missing]


def _run(suit: int, low: int, high: int) -> list[str]:
    return [CARDS[suit * IN_SUIT + rank % IN_SUIT] for rank in range(low, high + 1)]


_STRINGS = (
    "draw",
    "end",
    *(f"take {card}" for card in CARDS),
    *(f"discard {card}" for card in CARDS),
    *(f"layoff {card} {place}" for place in ("set", "below", "above") for card in CARDS),
    *(f"meld {' '.join(_set(rank, missing))}" for rank in range(IN_SUIT) for missing in range(PER_RANK)),
    *(f"meld {' '.join(_run(suit, low, high))}" for suit in range(len(SUITS)) for low, high in RUNS),
)
_INDICES = {string: index for index, string in enumerate(_STRINGS)}


def num_actions(players: int) -> int:
    return len(_STRINGS)


def action_string(index: int, seat: int, players: int) -> str:
    """The string of an action index; it is the same for all seats."""
    return _STRINGS[index]


def action_index(string: str, seat: int, players: int) -> int | None:
    """The index of an action string; ``None`` if it is not exactly one."""
    return _INDICES.get(string)
