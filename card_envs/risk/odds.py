"""What the next cards do to a line, exactly, by the composition of the deck."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Any

from card_envs.games.flip7.state import SEVEN, UNLUCKY_7
from card_envs.risk.kernel import FLIP, NUMBER_KINDS, count_line
from card_envs.risk.model import Position

MOST_DRAWS = 7


@dataclass(frozen=True)
class Draws:
    """After so many forced draws (Flip Four: 4, Just One More: 1): cards of all kinds count, actions and modifiers wait.

    Attributes:
        bust, flip7: probabilities within the draws; a bust or seven cards end them.
        score: the expected score of the line then, a bust counting 0 and seven cards their 15.
        gain: that less what the line scores now.
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
        bust: P(bust) of the next card; ``bust_number`` given that it is a number card: the one that the decision to stop
            turns on, since a card that changes nothing only asks it again.
        flip7: P(the next card is the seventh).
        score: what the line scores now.
        draws: of 1, 2, … forced draws.
        numbers, cards: number cards and all cards that the next one is drawn from.
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


def arrives(position: Position, card: int) -> Position | None:
    """The position once the number ``card`` has come from the deck; ``None`` if it busts (F22, F28, F30)."""
    busts = position.line >> card & 1 or (card == SEVEN and position.line >> UNLUCKY_7 & 1)
    if busts:
        return None
    deck = list(position.deck)
    deck[card] -= 1
    if card != UNLUCKY_7:
        return replace(position, line=position.line | 1 << card, deck=tuple(deck))
    discard = [n + (position.line >> kind & 1 if kind < NUMBER_KINDS else 0) for kind, n in enumerate(position.discard)]
    return replace(position, line=1 << UNLUCKY_7, deck=tuple(deck), discard=tuple(discard), half=False, minus=0)


def odds(position: Position, draws: int = 4) -> Odds:
    """The odds of a line: of the next card and of up to ``draws`` forced ones, 1 … 7.

    s_k, the chance to survive k draws, by recursion over the lines reached: P(bust within k) = 1 - s_k.
    """
    if isinstance(draws, bool) or not isinstance(draws, int) or not 1 <= draws <= MOST_DRAWS:
        raise ValueError(f"draws = {draws!r}: allowed is a whole number from 1 to {MOST_DRAWS}")
    position = _refilled(position)
    score, cards, numbers = position.score, sum(position.deck), sum(position.deck[:NUMBER_KINDS])
    if position.cards >= FLIP or cards == 0:
        return Odds(0.0, 0.0, 0.0, score, (), numbers, cards)
    after = []
    ended = [0.0, 0.0, 0.0]  # bust, flip 7, the points of the latter
    open_lines: dict[Position, float] = {position: 1.0}
    for k in range(1, draws + 1):
        open_lines = _drawn(open_lines, ended)
        mean = ended[2] + sum(p * line.score for line, p in open_lines.items())
        after.append(Draws(k, ended[0], ended[1], mean, mean - score))
    busting = sum(position.deck[card] for card in range(NUMBER_KINDS) if arrives(position, card) is None)
    return Odds(busting / cards, busting / numbers if numbers else 0.0, after[0].flip7, score, tuple(after), numbers, cards)


def _refilled(position: Position) -> Position:
    """F7: the next card is drawn from the discard pile when the deck is empty."""
    if sum(position.deck):
        return position
    return replace(position, deck=position.discard, discard=(0,) * len(position.discard))


def _drawn(open_lines: dict[Position, float], ended: list[float]) -> dict[Position, float]:
    """One more card for every line that is still in; what ends is added to ``ended``."""
    following: dict[Position, float] = defaultdict(float)
    for line, p in open_lines.items():
        position = _refilled(line)
        cards = sum(position.deck)
        if cards == 0:
            following[position] += p
            continue
        others = sum(position.deck[NUMBER_KINDS:])
        if others:
            following[_without_another(position)] += p * others / cards
        for card in range(NUMBER_KINDS):
            if position.deck[card]:
                chance = p * position.deck[card] / cards
                then = arrives(position, card)
                if then is None:
                    ended[0] += chance
                elif count_line(then.line, then.rules) >= FLIP:
                    ended[1] += chance
                    ended[2] += chance * then.score
                else:
                    following[then] += chance
    return following


def _without_another(position: Position) -> Position:
    """One card less that is no number; which of them does not matter to a line."""
    others = list(position.deck[NUMBER_KINDS:])
    others[next(i for i, n in enumerate(others) if n)] -= 1
    return replace(position, deck=(*position.deck[:NUMBER_KINDS], *others))
