"""Whether foreign bytes are a state of Pis Yedili: compiled rules trust what they read."""

from __future__ import annotations

from collections import Counter
from typing import Any

from card_envs.games.french_deck import CARDS, DECK_SIZE, IN_SUIT, JACK, SEVEN, of_rank
from card_envs.games.pis_yedili.state import ACE, DRAWN, LEAD, NO_CARD, NO_SUIT, OVER, SEVENS, SUIT, TURN


def check(s: Any) -> str | None:
    """What is wrong with a state whose fields lie within their bounds; ``None`` if nothing."""
    if bool(s.over) != (s.phase == OVER) or s.over != (s.to_move < 0):
        return "the match is over, or it is not"
    if s.drawn > s.deck_size or s.deck_size != DECK_SIZE or (s.drawn == s.deck_size and not s.over):
        return "the stock is out of its bounds"
    if (not s.over and s.to_move >= s.players) or s.dealer >= s.players or s.direction == 0:
        return "a seat is not at the table"
    if (s.phase == SEVENS) != (s.sevens > 0) or (s.phase == LEAD) != (s.lap > 0 and not s.over) or s.lap > s.players:
        return "the phase does not fit"
    if (s.top == NO_CARD) != (s.pile_size == 0) or (s.pile_size and s.top != s.pile[s.pile_size - 1]):
        return "the top card is not that of the pile"
    if s.phase in (TURN, DRAWN, ACE, SEVENS) and (s.top == NO_CARD or s.suit == NO_SUIT):
        return "there is no suit to follow"
    if s.phase == SUIT and (s.top == NO_CARD or s.top % IN_SUIT != JACK):
        return "there is no jack to name a suit for"
    if s.sevens > (s.seen & int(of_rank(SEVEN))).bit_count():
        return "more sevens are open than lie in the pile"
    pile = [s.pile[i] for i in range(s.pile_size)]
    if s.seen != sum(1 << card for card in set(pile)):
        return "the cards seen are not those of the pile"
    cards = Counter(pile)
    cards.update(s.deck[i] for i in range(s.drawn, s.deck_size))
    for seat in range(s.players):
        cards.update(card for card in range(DECK_SIZE) if s.hands[seat] >> card & 1)
    if cards != Counter(range(DECK_SIZE)):
        return f"the {len(CARDS)} cards of the deck are not all there once"
    order = [s.order[i] for i in range(s.ordered)]
    return "the given order names a card twice" if len(set(order)) != len(order) else None
