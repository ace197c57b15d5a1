"""What the next cards do to a line: exact odds, from the composition of the deck."""

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
        draws: How many cards are drawn; a bust or a Flip 7 ends the drawing.
        bust: The probability of a bust among them.
        flip7: The probability of a Flip 7 among them.
        score: The expected score of the line then, 0 for a bust and with the 15 for a Flip 7.
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
        numbers: How many number cards there are where the next card is drawn from.
        cards: How many cards of all kinds there are.
    """

    bust: float
    bust_number: float
    flip7: float
    score: int
    draws: tuple[Draws, ...]
    numbers: int
    cards: int

    def facts(self) -> dict[str, Any]:
        """The figures as JSON-able values."""
        return {
            "score": self.score, "bust": self.bust, "bust_number": self.bust_number, "flip7": self.flip7,
            "numbers": self.numbers, "cards": self.cards,
            "draws": [vars(draws) for draws in self.draws],
        }  # fmt: skip


def draw_number(position: Position, card: int) -> Position | None:
    """The position once the number ``card`` has come from the deck; ``None`` if it busts the line."""
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
    """The odds of a line, by recursion over all lines that the next cards can make of it.

    Args:
        position: The line, and the cards that are still to come.
        draws: How many forced draws to look at, 1 … 7.

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
    ended = [0.0, 0.0, 0.0]  # the chance of a bust, that of a Flip 7, and the points of the latter
    open_lines: dict[Position, float] = {position: 1.0}
    for k in range(1, draws + 1):
        open_lines = _draw_another(open_lines, ended)
        mean = ended[2] + sum(p * line.score for line, p in open_lines.items())
        after.append(Draws(k, ended[0], ended[1], mean, mean - score))
    busting = sum(position.deck[card] for card in range(NUMBER_KINDS) if draw_number(position, card) is None)
    return Odds(busting / cards, busting / numbers if numbers else 0.0, after[0].flip7, score, tuple(after), numbers, cards)


def _refill(position: Position) -> Position:
    """F7: when the deck is empty, the discard pile becomes the deck."""
    if sum(position.deck):
        return position
    return replace(position, deck=position.discard, discard=(0,) * len(position.discard))


def _draw_another(open_lines: dict[Position, float], ended: list[float]) -> dict[Position, float]:
    """Draw one more card for every line that is still in; add to ``ended`` what ends by it."""
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
    """The position without one card that is no number; which one does not matter to a line."""
    others = list(position.deck[NUMBER_KINDS:])
    others[next(i for i, n in enumerate(others) if n)] -= 1
    return replace(position, deck=(*position.deck[:NUMBER_KINDS], *others))
