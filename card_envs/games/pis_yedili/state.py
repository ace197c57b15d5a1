"""One match of Pis Yedili as a record, its options, and its actions.

The actions, one index for each string: ``play`` each of the 52 cards 0 … 51 (suits c d h s, each A … K), ``draw``, ``take``,
``pass``, ``suit`` c d h s.
"""

import numpy as np

from card_envs.engine.game import MOST_DEALS, NOBODY, Option, Options, StateField, index_actions, lay_out_state
from card_envs.games.deck import CARDS, COPIES, DECK_SIZE, FULL, NO_CARD, RANKS, SUITS

LEAD, TURN, DRAWN, SEVENS, SUIT_PHASE, ACE_PHASE, OVER = range(7)
PHASES = ("lead", "turn", "drawn", "sevens", "suit", "ace", "over")

PROVED, SUGGESTED = range(2)  # what the choices of a player show: see shown.py
GROUP_NAMES = (*RANKS, *SUITS)  # groups of cards that fit: those of a rank, and those of a suit but its jack
GROUPS = len(GROUP_NAMES)
MAX_PLAYERS = 6
HAND_SIZE = 7
NO_SUIT = -1
MOST_POINTS = 3 * 508  # all cards of the deck in one hand, after a last seven (P23, P25)

OPTIONS = (
    Option("players", 4, "seats at the table (P1)", 2, MAX_PLAYERS),
    Option("deals", 4, "deals in a match (P27)", 1, MOST_DEALS),
    Option("penalty_keeps_turn", False, "a player who has taken the cards of the sevens may still play (P15)"),
    Option("club_lap", False, "everybody's first card must be a club, without effects (P3)"),
)
PRESETS: dict[str, Options] = {}

_SETS = (0, int(FULL))
_CARD = (0, DECK_SIZE - 1)
_CARD_OR_NONE = (NO_CARD, DECK_SIZE - 1)

STATE = lay_out_state(
    OPTIONS, PHASES, COPIES,
    (
        StateField("hands", np.uint64, MAX_PLAYERS, _SETS),
        StateField("seen", np.uint64, (), _SETS),  # the cards in the pile, as a set
        # what the choices of each player show: groups of cards that they lack, and how many cards they have drawn since
        StateField("lacks", np.uint32, (2, MAX_PLAYERS), (0, (1 << GROUPS) - 1)),
        StateField("drawn_since", np.int8, (2, MAX_PLAYERS), (0, DECK_SIZE)),
        StateField("pile", np.int8, DECK_SIZE, _CARD),
        StateField("pile_size", np.int8, (), (0, DECK_SIZE)),
        StateField("top", np.int8, (), _CARD_OR_NONE),  # the card to be matched; none before the lead
        StateField("suit", np.int8, (), (NO_SUIT, 3)),  # the suit to be followed
        StateField("sevens", np.int8, (), (0, 4)),  # open sevens (P14)
        StateField("direction", np.int8, (), (-1, 1)),  # 1 or -1
        StateField("lap", np.int8, (), (0, MAX_PLAYERS)),  # first turns under P4 that are still to come
        StateField("last_out", np.int8, (), (NOBODY, MAX_PLAYERS - 1)),  # who ended the deal that was finished last, if anybody
        StateField("last_card", np.int8, (), _CARD_OR_NONE),  # and with which card
    ),
    scores=(0, MOST_POINTS), deck_for_each_deal=True,
)  # fmt: skip

# ---- actions

ACTION_PLAY = 0
ACTION_DRAW, ACTION_TAKE, ACTION_PASS, ACTION_SUIT = range(DECK_SIZE, DECK_SIZE + 4)

num_actions, action_string, action_index = index_actions(
    *(f"play {card}" for card in CARDS), "draw", "take", "pass", *(f"suit {suit}" for suit in SUITS)
)
