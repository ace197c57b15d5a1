"""The cards of Flip 7 by index, one match as a record, its options, and its actions.

Actions are indices that count seats from the mover, and strings that name seats as they are. ``draw`` is 0, ``stay`` 1; then
come ``PER_SEAT`` actions for each distance from the mover (0 is the mover, then clockwise): ``give``, ``bonus``, and ``pick``
of each of the 22 cards that can lie in a line. An index means the same with any number of players.
"""

import numpy as np

from card_envs.engine.game import MOST_DEALS, Option, Options, StateField, lay_out_state

# The cards. A number card 0 … 13 has its value as its index; below FIRST_ACTION lies all that can lie in a line.
ZERO, SEVEN, THIRTEEN = 0, 7, 13
LUCKY_13, UNLUCKY_7 = 14, 15
FIRST_MODIFIER = 16  # -2 -4 -6 -8 -10
HALF = 21
FIRST_ACTION = 22
JUST_ONE_MORE, FLIP_FOUR, DISCARD, STEAL, SWAP = range(22, 27)
LINE_KINDS = FIRST_ACTION
KINDS = 27

CARDS = (
    *(str(value) for value in range(14)), "lucky13", "unlucky7",
    "-2", "-4", "-6", "-8", "-10", "/2", "just_one_more", "flip_four", "discard", "steal", "swap",
)  # fmt: skip
# F1, F2: one 0 and one 1, n copies of n, but six plain 7s and twelve plain 13s beside unlucky7 and lucky13
COPIES = (1, 1, 2, 3, 4, 5, 6, 6, 8, 9, 10, 11, 12, 12, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2)
DECK_SIZE = sum(COPIES)  # 108

ACTIVE, STAYED, BUSTED = range(3)
STATUS = ("active", "stayed", "busted")
FLIPPED = 3  # beside these, how a round may have ended for a seat
TURN, GIVE, PICK, BONUS, OVER = range(5)
PHASES = ("turn", "give", "pick", "bonus", "over")

# Tasks on the agenda: what is still to happen, the next thing on top. Columns: task, seat, card or start of the queue, count.
DEAL_TASK, TURN_TASK, ROUND_END_TASK, BONUS_TASK, DRAW_TASK, QUEUE_TASK, STAY_TASK, GIVE_TASK, PICK_TASK = range(9)
NO_QUEUE = -1  # of a DRAW_TASK: what is drawn is given at once
NOBODY = -1

MAX_PLAYERS = 12
# A line: at most 8 numbers (7 cards without a Flip 7, and one more) and 6 modifiers, the busted line in front of the live one.
MAX_LINE = 14
# F32: a nest holds at most two Just One More, two Flip Four and one more card. Each opens at most two tasks, over that of
# the turn or the deal, with one GIVE on top.
MAX_AGENDA = 12
MAX_QUEUE = 8  # 3 + 4 waiting, and the place of the inner Flip Four itself
# A round: a Flip 7 of 13 + 13 + 12 + … + 7 where a pair counts once (F29), with its bonus; in Brutal mode all five minus cards
# in front of a player who has no points, and the bonus of another player against them.
LEAST_POINTS, MOST_POINTS = -45, 98
# A match never comes near to so many. A state from outside that has had no more can be played on without an overflow.
MOST_SHUFFLES = 2**30

OPTIONS = (
    Option("players", 4, "seats at the table", 2, MAX_PLAYERS),
    Option("brutal", False, "Brutal mode: negative rounds, modifiers for busted players, the 15 as a weapon (F41–F44)"),
    Option("target", 200, "points that end the match (F40)", 1, 1_000_000),
    Option("pair_counts_twice", True, "two 13s are two of the seven cards (F29)"),
    Option("max_rounds", 200, "rounds after which the match is cut off (F45)", 1, MOST_DEALS),
)

PRESETS: dict[str, Options] = {}

# Sets of cards like the field "held".
NUMBERS = (1 << FIRST_MODIFIER) - 1

_SEAT_OR_NOBODY = (NOBODY, MAX_PLAYERS - 1)
_COPIES = (0, max(COPIES))

STATE = lay_out_state(
    OPTIONS, PHASES, COPIES,
    (
        StateField("shuffles", np.int32, (), (1, MOST_SHUFFLES)),
        # the lines, by seat
        StateField("held", np.int32, MAX_PLAYERS, (0, (1 << LINE_KINDS) - 1)),  # the live line as a set: bit k for card k
        StateField("numbers", np.int16, MAX_PLAYERS, (0, 200)),  # the sum of the live line's number cards
        StateField("minus", np.int16, MAX_PLAYERS, (0, 30)),  # and of its minus cards
        StateField("status", np.int8, MAX_PLAYERS, (0, BUSTED)),
        StateField("last_status", np.int8, MAX_PLAYERS, (0, FLIPPED)),  # at the end of the round finished last, or FLIPPED
        StateField("void", np.int8, MAX_PLAYERS, (0, MAX_LINE)),  # cards[seat, :void] are a busted line,
        StateField("length", np.int8, MAX_PLAYERS, (0, MAX_LINE)),  # cards[seat, void:length] the live one
        StateField("cards", np.int8, (MAX_PLAYERS, MAX_LINE), (0, LINE_KINDS - 1)),
        # the round
        StateField("turn", np.int8, (), _SEAT_OR_NOBODY),  # the seat that has the turn, NOBODY while the round is dealt
        StateField("flipper", np.int8, (), _SEAT_OR_NOBODY),  # who flipped 7 in this round
        StateField("bonus", np.int8, (), _SEAT_OR_NOBODY),  # Brutal: whom the flipper chose
        StateField("picked_seat", np.int8, (), _SEAT_OR_NOBODY),  # the first pick of a swap
        StateField("picked_card", np.int8, (), (0, LINE_KINDS - 1)),
        # what is still to happen
        StateField("depth", np.int8, (), (0, MAX_AGENDA)),  # tasks on the agenda
        StateField("agenda", np.int8, (MAX_AGENDA, 4), (NO_QUEUE, KINDS - 1)),
        StateField("queued", np.int8, (), (0, MAX_QUEUE)),  # cards in the queue
        StateField("queue", np.int8, MAX_QUEUE, (0, KINDS - 1)),  # of all nested Flip Fours, the outermost first
        # cards by kind
        StateField("unseen", np.int8, KINDS, _COPIES),  # in the deck
        StateField("discard", np.int8, KINDS, _COPIES),  # in the discard pile
    ),
    scores=(LEAST_POINTS, MOST_POINTS), deck_for_each_deal=False,
)  # fmt: skip

# ---- actions

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
