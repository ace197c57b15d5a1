"""The advisor: the cards of a table as they fall, typed in, and what the odds and the solver say to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from card_envs.games.flip7.state import CARDS, COPIES
from card_envs.risk.kernel import OFFSET
from card_envs.risk.model import Position, cards_of, position_of
from card_envs.risk.odds import odds
from card_envs.risk.race import TARGET, race
from card_envs.risk.solve import solve

ME = 0
HELP = """\
0 12 lucky13     these cards came to seat 0, you; 1, 2, … are the others, clockwise
- 1 12           that card left the line of seat 1 (discarded, stolen, wiped)
gone swap 5      these cards left the deck otherwise
bust 1, stay 1   seat 1 has busted or stayed
round 26 0 17    the round is over, these are its points by seat (may be left out); all lines are discarded
shuffle          the discard pile became the deck
totals 120 95 80 the points of the finished rounds
undo, ?, quit"""


@dataclass
class Counter:
    """A table that somebody else deals: lines, what is gone, totals.

    Args:
        players: seats, 2 … 12; seat 0 is the one that is advised.
    """

    players: int = 2
    target: int = TARGET
    lines: list[list[str]] = field(default_factory=list)
    status: list[str] = field(default_factory=list)
    discard: list[str] = field(default_factory=list)
    totals: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not 2 <= self.players <= 12:
            raise ValueError(f"players = {self.players}: allowed are 2 … 12")
        self.lines = self.lines or [[] for _ in range(self.players)]
        self.status = self.status or ["active"] * self.players
        self.totals = self.totals or [0] * self.players

    def tell(self, text: str) -> None:
        """Take in one line of :data:`HELP`; ``ValueError`` says what is wrong, and then nothing has changed."""
        word, *rest = text.replace(",", " ").split()
        if word == "shuffle":
            self.discard = []
        elif word == "totals":
            self.totals = self._points(rest)
        elif word == "round":
            points = self._points(rest) if rest else [0] * self.players
            self.totals = [total + more for total, more in zip(self.totals, points, strict=True)]
            self.discard += [card for line in self.lines for card in line]
            self.lines = [[] for _ in range(self.players)]
            self.status = ["active"] * self.players
        elif word == "gone":
            self._check([*self._out(), *self._names(rest)])
            self.discard += self._names(rest)
        elif word in ("bust", "stay"):
            for seat in [self._seat(part) for part in rest] or [ME]:
                self.status[seat] = {"bust": "busted", "stay": "stayed"}[word]
        elif word == "-":
            seat, names = self._seat(rest[0] if rest else ""), self._names(rest[1:])
            missing = [name for name in names if name not in self.lines[seat]]
            if missing:
                raise ValueError(
                    f"{missing[0]} does not lie in the line of seat {seat}: {' '.join(self.lines[seat]) or 'empty'}"
                )
            for name in names:
                self.lines[seat].remove(name)
                self.discard.append(name)
        else:
            self._came(self._seat(word), self._names(rest))

    def _came(self, seat: int, names: list[str]) -> None:
        self._check([*self._out(), *names])
        line, discard, status = list(self.lines[seat]), list(self.discard), self.status[seat]
        for name in names:
            if name == "unlucky7":
                discard += line
                line = []
            if status != "busted":
                try:
                    position_of([*line, name])
                except ValueError as error:
                    if "busts" not in str(error) and "unlucky7" not in str(error):
                        raise
                    status = "busted"
            line.append(name)
        self.lines[seat], self.discard, self.status[seat] = line, discard, status

    def _out(self) -> list[str]:
        return [*self.discard, *(card for line in self.lines for card in line)]

    def _check(self, out: Sequence[str]) -> None:
        position_of([], out)

    def _names(self, words: Sequence[str]) -> list[str]:
        if not words:
            raise ValueError("which cards? as in: 0 12 lucky13")
        return [CARDS[card] for card in cards_of(list(words))]

    def _seat(self, word: str) -> int:
        if not word.isdecimal() or int(word) >= self.players:
            raise ValueError(f"{word!r}: expected is a seat 0 … {self.players - 1}, or a word that `?` explains")
        return int(word)

    def _points(self, words: Sequence[str]) -> list[int]:
        try:
            points = [int(word) for word in words]
        except ValueError:
            points = []
        if len(points) != self.players:
            raise ValueError(f"{' '.join(words)!r}: expected are {self.players} whole numbers, one a seat")
        return points

    def position(self, seat: int) -> Position:
        """The position of a seat that has not busted."""
        own = position_of(self.lines[seat])
        deck, discard = list(COPIES), [0] * len(COPIES)
        for name in self._out():
            deck[CARDS.index(name)] -= 1
        for name in self.discard:
            discard[CARDS.index(name)] += 1
        return Position(own.line, tuple(deck), tuple(discard), half=own.half, minus=own.minus)

    def advice(self) -> dict[str, Any]:
        """What everybody risks, and for seat 0 what drawing and staying are worth: JSON-able."""
        seats = []
        for seat in range(self.players):
            about: dict[str, Any] = {
                "seat": seat,
                "line": self.lines[seat],
                "status": self.status[seat],
                "total": self.totals[seat],
            }
            if self.status[seat] != "busted":
                found = odds(self.position(seat), 1)
                about |= {"score": found.score, "bust": found.bust, "bust_number": found.bust_number, "flip7": found.flip7}
            seats.append(about)
        return {"seats": seats, "advice": self._own() if self.status[ME] == "active" else None}

    def _own(self) -> dict[str, Any]:
        position = self.position(ME)
        if not self.lines[ME] or position.must_draw:
            return {"advice": "draw", "why": "Zero must draw" if position.must_draw else "an empty line risks nothing"}
        points = solve(position)
        assert points.stay is not None
        mine, theirs = (
            max(0, min(TARGET - 1, total + TARGET - self.target)) for total in (self.totals[ME], max(self.totals[1:]))
        )
        win = solve(position, race("plain").payoffs[mine, theirs])
        return {
            "advice": "draw" if points.draw > points.stay else "stay",
            "draw": points.draw,
            "stay": points.stay,
            "win_advice": "draw" if win.draw > win.payoff[position.score + OFFSET] else "stay",
            "win_draw": win.draw,
            "win_stay": float(win.payoff[position.score + OFFSET]),
        }
