"""Whether foreign bytes are a state of Rummy: compiled rules trust what they read."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from card_envs.games.french_deck import CARDS, DECK_SIZE, names
from card_envs.games.rummy.actions import num_actions
from card_envs.games.rummy.melds import find_fits
from card_envs.games.rummy.rules import action_mask
from card_envs.games.rummy.state import DRAW, IDLE_TURNS, NO_CARD, OVER, RUN, SET
from card_envs.games.rummy.text import details


def check(s: Any) -> str | None:
    """What is wrong with a state whose fields lie within their bounds; ``None`` if nothing."""
    if bool(s.over) != (s.phase == OVER) or s.over != (s.to_move < 0):
        return "the match is over, or it is not"
    if s.drawn > s.deck_size or s.deck_size != DECK_SIZE:
        return "the stock is out of its bounds"
    if (not s.over and s.to_move >= s.players) or s.dealer >= s.players:
        return "a seat is not at the table"
    if s.phase == DRAW and (s.pile_size == 0 or s.taken != NO_CARD or s.must != NO_CARD or s.melded):
        return "the phase does not fit"
    if s.idle > IDLE_TURNS * s.players - (s.phase == DRAW):
        return "the idle turns do not fit"
    for i in range(s.melds):
        if s.meld_kind[i] == SET and s.meld_low[i].bit_count() < 3:
            return f"meld {i} is no set"
        if s.meld_kind[i] == RUN and (s.meld_of[i] > 3 or s.meld_high[i] - s.meld_low[i] not in range(2, 13)):
            return f"meld {i} is no run"
    held = [[card for card in range(DECK_SIZE) if s.hands[seat] >> card & 1] for seat in range(s.players)]
    if not s.over and not all(held):
        return "a hand is empty"
    mine = held[s.to_move] if not s.over else []
    if s.taken != NO_CARD and s.must != NO_CARD:
        return "a card that was taken may not be discarded and must be played"
    for card in (s.taken, s.must):
        if card != NO_CARD and card not in mine:
            return "the card that was taken is not in the hand"
    state = details(s, {})
    laid = Counter(name for meld in state["melds"] for name in meld["cards"])
    if laid != Counter(name for seat in range(s.players) for name in names(s.laid[seat])):
        return "the cards laid are not those of the melds"
    if any(s.known[seat] & ~s.hands[seat] for seat in range(s.players)):
        return "a card known to be in a hand is not there"
    cards = laid + Counter(state["pile"]) + Counter(CARDS[s.deck[i]] for i in range(s.drawn, s.deck_size))
    if cards + Counter(CARDS[card] for hand in held for card in hand) != Counter(CARDS):
        return f"the {DECK_SIZE} cards of the deck are not all there once"
    fitting = (s.fits_set, s.fits_below, s.fits_above)
    with np.errstate(over="ignore"):
        find_fits(s)
    if fitting != (s.fits_set, s.fits_below, s.fits_above):
        return "the cards that fit are not those that fit the melds"
    mask = np.zeros(num_actions(s.players), np.int8)
    if not s.over:
        with np.errstate(over="ignore"):
            action_mask(s, mask)
        if not mask.any():
            return "the seat to move has no move"
    order = [s.order[i] for i in range(s.ordered)]
    return "the given order names a card twice" if len(set(order)) != len(order) else None
