"""Actions that mean the same for every seat."""

from __future__ import annotations

from collections.abc import Callable


def index_actions(
    *strings: str,
) -> tuple[Callable[[int], int], Callable[[int, int, int], str], Callable[[str, int, int], int | None]]:
    """Return the functions ``num_actions``, ``action_string`` and ``action_index`` of a game.

    Args:
        strings: The strings of all actions, in the order of their indices.
    """
    indices = {string: index for index, string in enumerate(strings)}

    def num_actions(players: int) -> int:
        return len(strings)

    def action_string(index: int, seat: int, players: int) -> str:
        return strings[index]

    def action_index(string: str, seat: int, players: int) -> int | None:
        return indices.get(string)

    return num_actions, action_string, action_index
