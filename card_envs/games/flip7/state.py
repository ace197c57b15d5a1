"""The record of one Flip 7 match: its cards by index, its fields, their bounds."""

import numpy as np

from card_envs.engine.game import Option

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

OPTIONS = (
    Option("players", 4, "seats at the table", 2, MAX_PLAYERS),
    Option("brutal", False, "Brutal mode: negative rounds, modifiers for busted players, the 15 as a weapon (F41–F44)"),
    Option("target", 200, "points that end the match (F40)", 1, 1_000_000),
    Option("pair_counts_twice", True, "two 13s are two of the seven cards (F29)"),
    Option("max_rounds", 200, "rounds after which the match is cut off (F45)", 1, 1_000_000),
)

STATE = np.dtype(
    [
        ("key", np.uint64),
        ("totals", np.int32, MAX_PLAYERS),
        ("target", np.int32),
        ("max_rounds", np.int32),
        ("deal", np.int32),
        ("finished", np.int32),
        ("shuffles", np.int32),
        ("held", np.int32, MAX_PLAYERS),  # the live line as a set: bit k for card k (it never holds two alike)
        ("scores", np.int16, MAX_PLAYERS),
        ("numbers", np.int16, MAX_PLAYERS),  # the sum of the live line's number cards
        ("minus", np.int16, MAX_PLAYERS),  # and of its minus cards
        ("players", np.int8),
        ("brutal", np.int8),
        ("pair_counts_twice", np.int8),
        ("single_deal", np.int8),
        ("to_move", np.int8),
        ("phase", np.int8),
        ("over", np.int8),
        ("truncated", np.int8),
        ("dealer", np.int8),
        ("turn", np.int8),  # the seat that has the turn, NOBODY in the deal
        ("flipper", np.int8),  # who flipped 7 in this round
        ("bonus", np.int8),  # Brutal: whom the flipper chose
        ("picked_seat", np.int8),  # the first pick of a swap
        ("picked_card", np.int8),
        ("depth", np.int8),  # tasks on the agenda
        ("queued", np.int8),  # cards in the queue
        ("drawn", np.int8),
        ("deck_size", np.int8),
        ("ordered", np.int8),
        ("status", np.int8, MAX_PLAYERS),
        ("last_status", np.int8, MAX_PLAYERS),  # at the end of the round finished last, or FLIPPED
        ("void", np.int8, MAX_PLAYERS),  # cards[seat, :void] are a busted line, cards[seat, void:length] the live one
        ("length", np.int8, MAX_PLAYERS),
        ("cards", np.int8, (MAX_PLAYERS, MAX_LINE)),
        ("agenda", np.int8, (MAX_AGENDA, 4)),
        ("queue", np.int8, MAX_QUEUE),  # of all nested Flip Fours, the outermost first
        ("unseen", np.int8, KINDS),  # cards in the deck by kind
        ("discard", np.int8, KINDS),  # cards in the discard pile by kind
        ("deck", np.int8, DECK_SIZE),
        ("pad", np.int8, 7),
    ],
    align=True,
)

# Sets of cards like the field "held".
NUMBERS = (1 << FIRST_MODIFIER) - 1

_SEATS = (0, MAX_PLAYERS - 1)
_NO_SEATS = (NOBODY, MAX_PLAYERS - 1)
BOUNDS = {
    "players": (2, MAX_PLAYERS), "to_move": _NO_SEATS, "phase": (0, OVER), "dealer": _SEATS, "turn": _NO_SEATS,
    "flipper": _NO_SEATS, "bonus": _NO_SEATS, "picked_seat": _NO_SEATS, "picked_card": (0, LINE_KINDS - 1),
    "depth": (0, MAX_AGENDA), "queued": (0, MAX_QUEUE), "drawn": (0, DECK_SIZE), "deck_size": (0, DECK_SIZE),
    "ordered": (0, DECK_SIZE), "status": (0, BUSTED), "last_status": (0, FLIPPED), "void": (0, MAX_LINE),
    "length": (0, MAX_LINE), "numbers": (0, 200), "minus": (0, 30), "held": (0, (1 << LINE_KINDS) - 1),
    "cards": (0, LINE_KINDS - 1), "agenda": (NO_QUEUE, KINDS - 1), "queue": (0, KINDS - 1),
    "unseen": (0, max(COPIES)), "discard": (0, max(COPIES)), "deck": (0, KINDS - 1), "shuffles": (0, 2**31 - 1),
}  # fmt: skip
