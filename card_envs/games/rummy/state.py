"""The record of one Rummy match: its fields, their bounds, its options and presets."""

import numpy as np

from card_envs.engine.game import Option, OptionValue
from card_envs.games.french_deck import DECK_SIZE

DRAW, PLAY, OVER = range(3)
PHASES = ("draw", "play", "over")

MAX_PLAYERS = 4
MAX_MELDS = 17
NOBODY = -1
NO_CARD = -1
IDLE_TURNS = 10  # for each player (R10)

TOP, SPREAD = range(2)  # what may be taken from the pile
LOW, UNIVERSAL = range(2)  # aces
POSITIVE, LAID, NEGATIVE = range(3)  # scoring
EACH, ONCE = range(2)  # settle
SET, RUN = range(2)  # kinds of melds

OPTIONS = (
    Option("players", 2, "seats at the table (R2)", 2, MAX_PLAYERS),
    Option("pile", "top", "what may be taken from the pile: its top card, or any card with all above it (R6, R8)",
           choices=("top", "spread")),
    Option("aces", "low", "aces are low, or low and high (R11, R21)", choices=("low", "universal")),
    Option("scoring", "positive", "what a deal scores (R22–R28)", choices=("positive", "laid", "negative")),
    Option("simple", False, "simple counting: 2–9 and low aces are 5 (R20)"),
    Option("limit", False, "one meld a turn, lay-offs only after a meld (R19)"),
    Option("target", 100, "points that end the match (R29)", 1, 1_000_000),
    Option("settle", "each", "positive scoring, the stock ran out: the winner's hand comes off each other hand, or once (R25)",
           choices=("each", "once")),
    Option("max_deals", 100, "deals after which the match is cut off (R10)", 1, 1_000_000),
)  # fmt: skip
PRESETS: dict[str, dict[str, OptionValue]] = {
    "basic": {},
    "rummy500": {"pile": "spread", "aces": "universal", "scoring": "laid", "target": 500},
}

STATE = np.dtype(
    [
        ("key", np.uint64),
        ("hands", np.uint64, MAX_PLAYERS),  # sets of cards
        ("known", np.uint64, MAX_PLAYERS),  # what everybody has seen a player take, and he still holds
        ("laid", np.uint64, MAX_PLAYERS),  # the cards that a player has laid
        ("fits_set", np.uint64),  # the cards that can be laid off on a set of the table,
        ("fits_below", np.uint64),  # below a run,
        ("fits_above", np.uint64),  # above a run
        ("totals", np.int32, MAX_PLAYERS),
        ("target", np.int32),
        ("max_deals", np.int32),
        ("deal", np.int32),
        ("finished", np.int32),
        ("scores", np.int16, MAX_PLAYERS),
        ("last_laid", np.int16, MAX_PLAYERS),  # in the deal finished last: the points that a player has laid,
        ("last_caught", np.int16, MAX_PLAYERS),  # and those left in his hand
        ("points", np.int16, MAX_PLAYERS),  # of the cards that a player has laid, aces in the place where they lie (R22)
        ("players", np.int8),
        ("pile", np.int8),
        ("aces", np.int8),
        ("scoring", np.int8),
        ("simple", np.int8),
        ("limit", np.int8),
        ("settle", np.int8),
        ("single_deal", np.int8),
        ("to_move", np.int8),
        ("phase", np.int8),
        ("over", np.int8),
        ("truncated", np.int8),
        ("dealer", np.int8),
        ("taken", np.int8),  # the card that may not be discarded in this turn (R6), or NO_CARD
        ("must", np.int8),  # the card that has to be played next (R8), or NO_CARD
        ("melded", np.int8),  # has the mover melded in this turn?
        ("idle", np.int8),  # idle turns in a row (R10)
        ("melds", np.int8),  # on the table
        ("pile_size", np.int8),
        ("drawn", np.int8),
        ("deck_size", np.int8),
        ("ordered", np.int8),
        ("has_melded", np.int8, MAX_PLAYERS),  # in this deal (R19)
        ("meld_kind", np.int8, MAX_MELDS),
        ("meld_of", np.int8, MAX_MELDS),  # a set's rank, a run's suit
        ("meld_low", np.int8, MAX_MELDS),  # a set's suits as bits; a run's lowest rank
        ("meld_high", np.int8, MAX_MELDS),  # a run's highest rank, 13 for an ace above the king
        ("discards", np.int8, DECK_SIZE),  # the pile, oldest first
        ("order", np.int8, DECK_SIZE),  # the given order of the next deal's deck
        ("deck", np.int8, DECK_SIZE),
        ("pad", np.int8, 6),
    ],
    align=True,
)

_COUNTS = (0, DECK_SIZE)
_CARDS = (0, DECK_SIZE - 1)
_SETS = (0, (1 << DECK_SIZE) - 1)
_FLAG = (0, 1)
BOUNDS = {
    "players": (2, MAX_PLAYERS), "hands": _SETS, "known": _SETS, "laid": _SETS, "fits_set": _SETS, "fits_below": _SETS,
    "fits_above": _SETS, "to_move": (NOBODY, MAX_PLAYERS - 1), "phase": (0, OVER), "dealer": (0, MAX_PLAYERS - 1),
    "taken": (NO_CARD, DECK_SIZE - 1), "must": (NO_CARD, DECK_SIZE - 1), "melded": _FLAG, "idle": (0, IDLE_TURNS * MAX_PLAYERS),
    "melds": (0, MAX_MELDS), "pile_size": _COUNTS, "drawn": _COUNTS, "deck_size": _COUNTS, "ordered": _COUNTS,
    "has_melded": _FLAG, "meld_kind": (SET, RUN), "meld_of": (0, 12), "meld_low": (0, 15), "meld_high": (0, 13),
    "discards": _CARDS, "order": _CARDS, "deck": _CARDS, "deal": (1, 1_000_000), "finished": (0, 1_000_000),
}  # fmt: skip
