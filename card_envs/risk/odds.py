"""What the next cards do to a line: exact odds from the composition of the deck."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Any

from card_envs.games.flip7.lines import BUST, add_card, has_card
from card_envs.games.flip7.state import UNLUCKY_7
from card_envs.risk.kernel import NUMBER_KINDS
from card_envs.risk.model import Position

MOST_DRAWS = 7


@dataclass(frozen=True)
class Draws:
    """A line after forced draws (Flip Four: 4, Just One More: 1). Cards of all kinds count; actions and modifiers wait.

    Attributes:
        draws: The number of cards that are drawn unless a bust or a Flip 7 ends the drawing.
        bust: The probability of a bust among them.
        flip7: The probability of a Flip 7 among them.
        score: The expected score of the line afterwards, which is 0 for a bust and includes the 15 for a Flip 7.
        gain: ``score`` less what the line scores now.
    """

    draws: int
    bust: float
    flip7: float
    score: float
    gain: float


@dataclass(frozen=True)
class Odds:
    """The odds of a line.

    Attributes:
        bust: The probability that the next card busts the line.
        bust_number: The same, given that the next card is a number card. The decision to stop turns on this one, since a card
            that changes nothing only asks for the decision again.
        flip7: The probability that the next card is the seventh.
        score: What the line scores now.
        draws: What 1, 2, … forced draws do.
        numbers: The number of number cards in the pile that the next card is drawn from.
        cards: The number of cards of all kinds in that pile.
    """

    bust: float
    bust_number: float
    flip7: float
    score: int
    draws: tuple[Draws, ...]
    numbers: int
    cards: int

    def facts(self) -> dict[str, Any]:
        """Return the figures as JSON-able values."""
        return {
            "score": self.score, "bust": self.bust, "bust_number": self.bust_number, "flip7": self.flip7,
            "numbers": self.numbers, "cards": self.cards,
            "draws": [vars(draws) for draws in self.draws],
        }  # fmt: skip


def draw_number(position: Position, card: int) -> Position | None:
    """Return the position once the number ``card`` has come from the deck; ``None`` if it busts the line."""
    line = add_card(position.line, card)
    if line == BUST:
        return None
    deck = list(position.deck)
    deck[card] -= 1
    if card != UNLUCKY_7:
        return replace(position, line=line, deck=tuple(deck))
    discard = [n + (has_card(position.line, kind) if kind < NUMBER_KINDS else 0) for kind, n in enumerate(position.discard)]
    return replace(position, line=line, deck=tuple(deck), discard=tuple(discard), half=False, minus=0)


def compute_odds(position: Position, draws: int = 4) -> Odds:
    """Compute the odds of a line by following all lines that the next cards can make of it.

    Args:
        position: The line and the cards that are still to come.
        draws: The largest number of forced draws to consider, 1 … 7.

    Raises:
        ValueError: ``draws`` is out of its range.
    """
    if isinstance(draws, bool) or not isinstance(draws, int) or not 1 <= draws <= MOST_DRAWS:
        raise ValueError(f"draws = {draws!r}: allowed is a whole number from 1 to {MOST_DRAWS}")
    position = _refill(position)
    score, cards, numbers = position.score, sum(position.deck), sum(position.deck[:NUMBER_KINDS])
    if position.flips or cards == 0:
        return Odds(0.0, 0.0, 0.0, score, (), numbers, cards)
    after = []
    ended = [0.0, 0.0, 0.0]  # the chances of a bust and of a Flip 7, and the points of the latter times their chance
    open_lines: dict[Position, float] = {position: 1.0}
    for k in range(1, draws + 1):
        open_lines = _draw_another(open_lines, ended)
        mean = ended[2] + sum(p * line.score for line, p in open_lines.items())
        after.append(Draws(k, ended[0], ended[1], mean, mean - score))
    busting = sum(position.deck[card] for card in range(NUMBER_KINDS) if draw_number(position, card) is None)
    return Odds(busting / cards, busting / numbers if numbers else 0.0, after[0].flip7, score, tuple(after), numbers, cards)


def _refill(position: Position) -> Position:
    """Make the discard pile the deck if the deck is empty (F7)."""
    if sum(position.deck):
        return position
    return replace(position, deck=position.discard, discard=(0,) * len(position.discard))


def _draw_another(open_lines: dict[Position, float], ended: list[float]) -> dict[Position, float]:
    """Draw one more card for every open line, and add the lines that this ends to ``ended``."""
    following: dict[Position, float] = defaultdict(float)
    for line, p in open_lines.items():
        position = _refill(line)
        cards = sum(position.deck)
        if cards == 0:
            following[position] += p
            continue
        others = sum(position.deck[NUMBER_KINDS:])
        if others:
            following[_remove_other(position)] += p * others / cards
        for card in range(NUMBER_KINDS):
            if position.deck[card]:
                chance = p * position.deck[card] / cards
                then = draw_number(position, card)
                if then is None:
                    ended[0] += chance
                elif then.flips:
                    ended[1] += chance
                    ended[2] += chance * then.score
                else:
                    following[then] += chance
    return following


def _remove_other(position: Position) -> Position:
    """Return the position without one card that is not a number; which one it is does not matter to a line."""
    others = list(position.deck[NUMBER_KINDS:])
    others[next(i for i, n in enumerate(others) if n)] -= 1
    return replace(position, deck=(*position.deck[:NUMBER_KINDS], *others))
