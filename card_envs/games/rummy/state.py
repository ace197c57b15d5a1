"""One match of Rummy as a record, its options, and its actions.

The actions, one index for each string: ``draw`` 0, ``end`` 1, ``take`` each card 2 … 53, ``discard`` each card 54 … 105,
``layoff`` each card on a set 106 … 157, below a run 158 … 209, above a run 210 … 261, ``meld`` the 65 sets 262 … 326 and the
308 runs 327 … 634. Cards are 13·suit + rank.
"""

import numpy as np

from card_envs.engine.game import MOST_DEALS, Option, OptionValue, StateField, index_actions, lay_out_state
from card_envs.games.deck import CARDS, COPIES, DECK_SIZE, FULL, NO_CARD
from card_envs.games.melds import HIGH_ACE, RUN_NAMES, SET_NAMES, SETS

DRAW, PLAY, OVER = range(3)
PHASES = ("draw", "play", "over")

MAX_PLAYERS = 4
MAX_MELDS = 17
HAND_SIZES = (0, 0, 13, 7, 7)  # by the number of players (R2)
IDLE_TURNS = 10  # for each player (R10)
MOST_POINTS = 396  # all cards of the deck, with universal aces (R20, R21)

TOP, SPREAD = range(2)  # what may be taken from the pile
LOW, UNIVERSAL = range(2)  # aces
POSITIVE, LAID, NEGATIVE = range(3)  # scoring
EACH, ONCE = range(2)  # settle
SET, RUN = range(2)  # kinds of melds
CHOICES = ("discarded", "declined", "taken")
DISCARDED, DECLINED, TAKEN = range(len(CHOICES))  # what a player has last chosen to do with a card
MOST_CHOICES = 255  # that are numbered; then those that still count are numbered anew

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
    Option("max_deals", 100, "deals after which the match is cut off (R10)", 1, MOST_DEALS),
)  # fmt: skip
PRESETS: dict[str, dict[str, OptionValue]] = {
    "basic": {},
    "rummy500": {"pile": "spread", "aces": "universal", "scoring": "laid", "target": 500},
}

_SETS = (0, int(FULL))
_CARD = (0, DECK_SIZE - 1)
_CARD_OR_NONE = (NO_CARD, DECK_SIZE - 1)
_POINTS = (0, MOST_POINTS)

STATE = lay_out_state(
    OPTIONS, PHASES, COPIES,
    (
        # sets of cards
        StateField("hands", np.uint64, MAX_PLAYERS, _SETS),
        StateField("known", np.uint64, MAX_PLAYERS, _SETS),  # seen by everybody when a player took them, and still in the hand
        StateField("laid", np.uint64, MAX_PLAYERS, _SETS),  # the cards that a player has laid
        StateField("past", np.uint64, (MAX_PLAYERS, len(CHOICES)), _SETS),  # cards by a player's latest choice in this deal
        StateField("fits_set", np.uint64, (), _SETS),  # cards that can be laid off on a set of the table,
        StateField("fits_below", np.uint64, (), _SETS),  # below a run,
        StateField("fits_above", np.uint64, (), _SETS),  # and above a run
        # points, by seat
        StateField("points", np.int16, MAX_PLAYERS, _POINTS),  # of the cards laid in this deal, aces as they lie (R22)
        StateField("last_laid", np.int16, MAX_PLAYERS, _POINTS),  # laid in the deal that was finished last,
        StateField("last_caught", np.int16, MAX_PLAYERS, _POINTS),  # and left in the hand
        # the turn
        StateField("taken", np.int8, (), _CARD_OR_NONE),  # the card that may not be discarded in this turn (R6)
        StateField("must", np.int8, (), _CARD_OR_NONE),  # the card that has to be played next (R8)
        StateField("melded", np.int8, (), (0, 1)),  # whether the mover has melded in this turn
        StateField("idle", np.int8, (), (0, IDLE_TURNS * MAX_PLAYERS)),  # idle turns in a row (R10)
        # the table
        StateField("has_melded", np.int8, MAX_PLAYERS, (0, 1)),  # whether a player has melded in this deal (R19)
        StateField("melds", np.int8, (), (0, MAX_MELDS)),  # how many lie on the table
        StateField("meld_kind", np.int8, MAX_MELDS, (SET, RUN)),
        StateField("meld_of", np.int8, MAX_MELDS, (0, 12)),  # the rank of a set, the suit of a run
        StateField("meld_low", np.int8, MAX_MELDS, (0, 15)),  # the suits of a set as bits, the lowest rank of a run
        StateField("meld_high", np.int8, MAX_MELDS, (0, HIGH_ACE)),  # the highest rank of a run
        StateField("pile_size", np.int8, (), (0, DECK_SIZE)),
        StateField("discards", np.int8, DECK_SIZE, _CARD),  # the pile, oldest first
        # choices: how many numbers a player has used, and of each card in ``past`` the number of the latest choice about it
        StateField("past_size", np.uint8, MAX_PLAYERS, (0, MOST_CHOICES)),
        StateField("past_number", np.uint8, (MAX_PLAYERS, DECK_SIZE), (0, MOST_CHOICES)),
    ),
    scores=(-MOST_POINTS, MOST_POINTS), deck_for_each_deal=True,
)  # fmt: skip

# ---- actions

ACTION_DRAW, ACTION_END, ACTION_TAKE = 0, 1, 2
ACTION_DISCARD = ACTION_TAKE + DECK_SIZE
ACTION_LAYOFF = ACTION_DISCARD + DECK_SIZE
ON_SET, BELOW, ABOVE = range(3)  # the places of a lay-off, each with an action for each card
ACTION_SET = ACTION_LAYOFF + 3 * DECK_SIZE
ACTION_RUN = ACTION_SET + SETS

num_actions, action_string, action_index = index_actions(
    "draw",
    "end",
    *(f"take {card}" for card in CARDS),
    *(f"discard {card}" for card in CARDS),
    *(f"layoff {card} {place}" for place in ("set", "below", "above") for card in CARDS),
    *(f"meld {' '.join(cards)}" for cards in (*SET_NAMES, *RUN_NAMES)),
)
