"""The action space of Pis Yedili.

``play`` each of the 52 cards 0 … 51 (suits c d h s, each A … K), ``draw``, ``take``, ``pass``, ``suit`` c d h s.
"""

from card_envs.games.french_deck import CARDS, DECK_SIZE, SUITS

ACTION_PLAY = 0
ACTION_DRAW, ACTION_TAKE, ACTION_PASS, ACTION_SUIT = range(DECK_SIZE, DECK_SIZE + 4)
_STRINGS = (*(f"play {card}" for card in CARDS), "draw", "take", "pass", *(f"suit {suit}" for suit in SUITS))
_INDICES = {string: index for index, string in enumerate(_STRINGS)}


def num_actions(players: int) -> int:
    return len(_STRINGS)


def action_string(index: int, seat: int, players: int) -> str:
    """The string of an action index; it is the same for all seats."""
    return _STRINGS[index]


def action_index(string: str, seat: int, players: int) -> int | None:
    """The index of an action string; ``None`` if it is not exactly one."""
    return _INDICES.get(string)
