"""The action space of Flip 7: indices, which count seats from the mover, and strings, which name them absolutely.

``draw`` is 0, ``stay`` 1; then for each distance d from the mover (0 = himself, clockwise) a block of ``PER_SEAT``: ``give``,
``bonus``, and ``pick`` of each of the 22 cards that can lie in a line. An index means the same with any number of players.
"""

from card_envs.games.flip7.state import CARDS, LINE_KINDS

ACTION_DRAW, ACTION_STAY = 0, 1
SEATS_FROM = 2
ACTION_GIVE, ACTION_BONUS, ACTION_PICK = 0, 1, 2  # within the block of a seat
PER_SEAT = ACTION_PICK + LINE_KINDS


def num_actions(players: int) -> int:
    return SEATS_FROM + PER_SEAT * players


def action_string(index: int, seat: int, players: int) -> str:
    """The string of the action ``index`` of ``seat``."""
    if index < SEATS_FROM:
        return ("draw", "stay")[index]
    distance, what = divmod(index - SEATS_FROM, PER_SEAT)
    target = (seat + distance) % players
    if what < ACTION_PICK:
        return f"{('give', 'bonus')[what]} {target}"
    return f"pick {target} {CARDS[what - ACTION_PICK]}"


def action_index(string: str, seat: int, players: int) -> int | None:
    """The index of an action string of ``seat``; ``None`` if it is not exactly one."""
    if players not in _TABLES:
        _TABLES[players] = _Table(players)
    return _TABLES[players].index(string, seat)


class _Table:
    """All strings of a table size: exact matching needs no parser."""

    def __init__(self, players: int) -> None:
        self.players = players
        self.by_string = {action_string(index, 0, players): index for index in range(num_actions(players))}

    def index(self, string: str, seat: int) -> int | None:
        index = self.by_string.get(string)
        if index is None or index < SEATS_FROM:
            return index
        distance, what = divmod(index - SEATS_FROM, PER_SEAT)
        return SEATS_FROM + (distance - seat) % self.players * PER_SEAT + what


_TABLES: dict[int, _Table] = {}
