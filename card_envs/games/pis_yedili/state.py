"""The record of one Pis Yedili match: its fields, their bounds, its options."""

import numpy as np

from card_envs.engine.game import Option
from card_envs.games.french_deck import DECK_SIZE

LEAD, TURN, DRAWN, SEVENS, SUIT, ACE, OVER = range(7)
PHASES = ("lead", "turn", "drawn", "sevens", "suit", "ace", "over")

MAX_PLAYERS = 6
HAND_SIZE = 7
NOBODY = -1
NO_SUIT = -1
NO_CARD = -1

OPTIONS = (
    Option("players", 4, "seats at the table (P1)", 2, MAX_PLAYERS),
    Option("deals", 4, "deals in a match (P27)", 1, 1_000_000),
    Option("penalty_keeps_turn", False, "who took the cards of the sevens may still play (P15)"),
    Option("club_lap", False, "everybody's first card must be a club, without effects (P3)"),
)

STATE = np.dtype(
    [
        ("key", np.uint64),
        ("hands", np.uint64, MAX_PLAYERS),  # sets of cards
        ("seen", np.uint64),  # the cards in the pile, as a set
        ("totals", np.int32, MAX_PLAYERS),
        ("deals", np.int32),
        ("deal", np.int32),
        ("finished", np.int32),
        ("scores", np.int16, MAX_PLAYERS),
        ("players", np.int8),
        ("penalty_keeps_turn", np.int8),
        ("club_lap", np.int8),
        ("single_deal", np.int8),
        ("to_move", np.int8),
        ("phase", np.int8),
        ("over", np.int8),
        ("truncated", np.int8),
        ("dealer", np.int8),
        ("top", np.int8),  # the card to be matched, NO_CARD before the lead
        ("suit", np.int8),  # the suit to be followed, or NO_SUIT
        ("sevens", np.int8),
        ("direction", np.int8),  # 1 or -1
        ("last_out", np.int8),  # who went out in the deal finished last, NOBODY if the stock ran out (P24)
        ("last_card", np.int8),  # and his last card
        ("lap", np.int8),  # first turns under P4 that have still to come
        ("pile_size", np.int8),
        ("drawn", np.int8),
        ("deck_size", np.int8),
        ("ordered", np.int8),
        ("pile", np.int8, DECK_SIZE),
        ("order", np.int8, DECK_SIZE),  # the given order of the next deal's deck
        ("deck", np.int8, DECK_SIZE),
    ],
    align=True,
)

_SEATS = (0, MAX_PLAYERS - 1)
_COUNTS = (0, DECK_SIZE)
_CARDS = (0, DECK_SIZE - 1)
_SETS = (0, (1 << DECK_SIZE) - 1)
BOUNDS = {
    "players": (2, MAX_PLAYERS), "hands": _SETS, "seen": _SETS, "to_move": (NOBODY, MAX_PLAYERS - 1), "phase": (0, OVER),
    "dealer": _SEATS, "top": (NO_CARD, DECK_SIZE - 1), "suit": (NO_SUIT, 3), "sevens": (0, 4), "direction": (-1, 1),
    "last_out": (NOBODY, MAX_PLAYERS - 1), "last_card": (NO_CARD, DECK_SIZE - 1), "lap": (0, MAX_PLAYERS),
    "pile_size": _COUNTS, "drawn": _COUNTS, "deck_size": _COUNTS, "ordered": _COUNTS,
    "pile": _CARDS, "order": _CARDS, "deck": _CARDS, "deal": (1, 1_000_000), "finished": (0, 1_000_000),
}  # fmt: skip
