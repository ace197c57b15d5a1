"""An advisor for a table at which somebody types in the cards as they fall: odds, and whether to draw or to stay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from card_envs.games.flip7.lines import BUST, add_card
from card_envs.games.flip7.state import ACTIVE, BUSTED, CARDS, COPIES, MAX_PLAYERS, STATUS, STAYED, UNLUCKY_7
from card_envs.risk.model import Position, parse_cards, parse_position
from card_envs.risk.odds import compute_odds
from card_envs.risk.race import TARGET, shift_totals, solve_race
from card_envs.risk.solve import solve_position

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
class Advisor:
    """A table that somebody else deals, and advice for the player in seat 0.

    Attributes:
        players: The number of players, 2 … 12.
        target: The points that end the match.
        lines: The cards in the lines of the seats, by name.
        status: ``"active"``, ``"stayed"`` or ``"busted"``, by seat.
        discard: The cards in the discard pile, by name.
        totals: The points of the finished rounds, by seat.
    """

    players: int = 2
    target: int = TARGET
    lines: list[list[str]] = field(default_factory=list)
    status: list[str] = field(default_factory=list)
    discard: list[str] = field(default_factory=list)
    totals: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not 2 <= self.players <= MAX_PLAYERS:
            raise ValueError(f"players = {self.players}: allowed are 2 … {MAX_PLAYERS}")
        self.lines = self.lines or [[] for _ in range(self.players)]
        self.status = self.status or [STATUS[ACTIVE]] * self.players
        self.totals = self.totals or [0] * self.players

    def tell(self, text: str) -> None:
        """Take note of what has happened at the table, told in one line as :data:`HELP` explains.

        Raises:
            ValueError: The line cannot be understood, or what it tells cannot have happened.
        """
        word, *rest = text.replace(",", " ").split()
        if word == "shuffle":
            self.discard = []
        elif word == "totals":
            self.totals = self._parse_points(rest)
        elif word == "round":
            points = self._parse_points(rest) if rest else [0] * self.players
            self.totals = [total + more for total, more in zip(self.totals, points, strict=True)]
            self.discard += [card for line in self.lines for card in line]
            self.lines = [[] for _ in range(self.players)]
            self.status = [STATUS[ACTIVE]] * self.players
        elif word == "gone":
            names = self._parse_names(rest)
            self._check_deck(names)
            self.discard += names
        elif word in ("bust", "stay"):
            for seat in [self._parse_seat(part) for part in rest] or [ME]:
                self.status[seat] = STATUS[BUSTED if word == "bust" else STAYED]
        elif word == "-":
            self._take_away(self._parse_seat(rest[0] if rest else ""), self._parse_names(rest[1:]))
        else:
            self._add(self._parse_seat(word), self._parse_names(rest))

    def _take_away(self, seat: int, names: list[str]) -> None:
        missing = [name for name in names if name not in self.lines[seat]]
        if missing:
            raise ValueError(f"{missing[0]} does not lie in the line of seat {seat}: {' '.join(self.lines[seat]) or 'empty'}")
        for name in names:
            self.lines[seat].remove(name)
            self.discard.append(name)

    def _add(self, seat: int, names: list[str]) -> None:
        self._check_deck(names)
        line, discard, status = list(self.lines[seat]), list(self.discard), self.status[seat]
        for name in names:
            if name == CARDS[UNLUCKY_7]:
                discard += line
                line = []
            if status != STATUS[BUSTED]:
                if add_card(sum(1 << card for card in parse_cards(line)), CARDS.index(name)) == BUST:
                    status = STATUS[BUSTED]
                else:
                    parse_position([*line, name])  # raises the error if the card cannot lie there
            line.append(name)
        self.lines[seat], self.discard, self.status[seat] = line, discard, status

    def _list_drawn(self) -> list[str]:
        """Return all cards that are out of the deck."""
        return [*self.discard, *(card for line in self.lines for card in line)]

    def _check_deck(self, names: list[str]) -> None:
        """Raise ``ValueError`` unless the deck can still have held these cards."""
        parse_position([], [*self._list_drawn(), *names])

    def _parse_names(self, words: Sequence[str]) -> list[str]:
        if not words:
            raise ValueError("which cards? as in: 0 12 lucky13")
        return [CARDS[card] for card in parse_cards(list(words))]

    def _parse_seat(self, word: str) -> int:
        if not word.isdecimal() or int(word) >= self.players:
            raise ValueError(f"{word!r}: expected is a seat 0 … {self.players - 1}, or a word that `?` explains")
        return int(word)

    def _parse_points(self, words: Sequence[str]) -> list[int]:
        try:
            points = [int(word) for word in words]
        except ValueError:
            points = []
        if len(points) != self.players:
            raise ValueError(f"{' '.join(words)!r}: expected are {self.players} whole numbers, one a seat")
        return points

    def position(self, seat: int) -> Position:
        """Return the position of a seat that has not busted."""
        own = parse_position(self.lines[seat])
        deck, discard = list(COPIES), [0] * len(COPIES)
        for card in parse_cards(self._list_drawn()):
            deck[card] -= 1
        for card in parse_cards(self.discard):
            discard[card] += 1
        return Position(own.line, tuple(deck), tuple(discard), half=own.half, minus=own.minus)

    def advise(self) -> dict[str, Any]:
        """Return what everybody risks and, for seat 0, what drawing and staying are worth, as JSON-able values."""
        seats = []
        for seat in range(self.players):
            facts: dict[str, Any] = {
                "seat": seat,
                "line": self.lines[seat],
                "status": self.status[seat],
                "total": self.totals[seat],
            }
            if self.status[seat] != STATUS[BUSTED]:
                odds = compute_odds(self.position(seat), 1)
                facts |= {"score": odds.score, "bust": odds.bust, "bust_number": odds.bust_number, "flip7": odds.flip7}
            seats.append(facts)
        return {"seats": seats, "advice": self._advise_me() if self.status[ME] == STATUS[ACTIVE] else None}

    def _advise_me(self) -> dict[str, Any]:
        position = self.position(ME)
        if not self.lines[ME] or position.must_draw:
            return {"advice": "draw", "why": "Zero must draw" if position.must_draw else "an empty line risks nothing"}
        points = solve_position(position)
        assert points.stay is not None
        (mine,), (theirs,) = shift_totals(np.array([self.totals]), self.target)
        win = solve_position(position, solve_race("plain").payoffs[mine, theirs])
        assert win.stay is not None
        return {
            "advice": "draw" if points.draw > points.stay else "stay",
            "draw": points.draw,
            "stay": points.stay,
            "win_advice": "draw" if win.draw > win.stay else "stay",
            "win_draw": win.draw,
            "win_stay": win.stay,
        }
