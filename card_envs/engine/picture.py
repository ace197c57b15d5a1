"""A picture of a table as plain data, which a game fills in and which code that does not know the game draws.

``str(picture)`` is the picture as text, and :mod:`card_envs.render` draws the same data as SVG and pixels.
"""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

WIDTH = 100
"""The most columns that a picture has as text."""

PAPER = "#fdfaf2"
"""The colour of a light card."""

Tone = Literal["live", "safe", "out", "mark", "plain"]


@dataclass(frozen=True)
class CardStyle:
    """How cards of one kind are drawn: their colours as ``#rrggbb``, and whether they have a frame inside the edge."""

    ink: str
    paper: str = PAPER
    framed: bool = False


BACK = CardStyle("#9dbbe3", paper="#2b4f80", framed=True)
"""A card that lies face down."""


@dataclass(frozen=True)
class Card:
    """One card, or ``count`` equal ones.

    ``name`` is its name in actions and texts. A drawn card shows its ``face``, or its name if it has none: words or suits
    (♣ ♦ ♥ ♠), one on each line. A small ``label`` stands below.
    """

    name: str
    style: CardStyle
    face: str = ""
    label: str = ""
    count: int = 1
    out: bool = False  # on the table, but out of play
    marked: bool = False  # the decision is about this card

    def __str__(self) -> str:
        name = f"[{self.name}]" if self.marked else self.name
        return name if self.count == 1 else f"{name}×{self.count}"


@dataclass(frozen=True)
class Badge:
    """A word about a seat."""

    text: str
    tone: Tone = "plain"


@dataclass(frozen=True)
class Seat:
    """A player's place: their cards, a short ``note`` on the value of these, and their total in points."""

    name: str
    badges: tuple[Badge, ...]
    cards: tuple[Card, ...]
    note: str
    total: int
    marked: bool = False  # to move, or a winner when the match is over
    out: bool = False  # takes no further part in this deal


@dataclass(frozen=True)
class Zone:
    """Cards that belong to nobody: a row, or a pile of ``size`` cards.

    In a pile, ``cards`` are those that are known to be in it, and ``top`` is the visible one.
    """

    name: str
    cards: tuple[Card, ...] = ()
    size: int | None = None
    top: Card | None = None


@dataclass(frozen=True)
class Picture:
    """A table. ``facts`` are short texts for the title line, and ``decision`` says who is to decide what."""

    title: str
    facts: tuple[str, ...]
    seats: tuple[Seat, ...]
    zones: tuple[Zone, ...]
    decision: str
    target: int | None = None  # the total that ends the match, if there is one

    def __str__(self) -> str:
        """Return plain text of at most ``WIDTH`` columns."""
        lines = [*_wrap(" · ".join((self.title, *self.facts)), WIDTH), ""]
        lines += _format_seats(self.seats)
        lines += ["", *_format_zones(self.zones)] if self.zones else []
        return "\n".join([*lines, "", *_wrap(self.decision, WIDTH)])


def result(state: dict[str, Any], deal: str = "deal") -> str:
    """Return how a match ended, in words. ``deal`` is the game's word for a deal."""
    winners = state["winners"]
    verb = f"{seats_in_words(winners)} share the win" if len(winners) > 1 else f"{seats_in_words(winners)} wins"
    cut = f"cut off after {deal} {state['deal']}: " if state["truncated"] else ""
    return f"over: {cut}{verb} with {state['totals'][winners[0]]} points"


def seats_in_words(seats: Sequence[int]) -> str:
    """Return ``[2]`` as "seat 2" and ``[0, 1, 3]`` as "seats 0, 1 and 3"."""
    names = " and ".join(filter(None, [", ".join(map(str, seats[:-1])), str(seats[-1])]))
    return f"seat{'s' * (len(seats) > 1)} {names}"


def _wrap(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]


def _format_cards(cards: Iterable[Card]) -> str:
    """Return the cards in a row, those that are out of play in brackets."""
    groups = ((out, " ".join(map(str, group))) for out, group in itertools.groupby(cards, lambda card: card.out))
    return " ".join(f"({names})" if out else names for out, names in groups)


def _format_seats(seats: tuple[Seat, ...]) -> list[str]:
    """Return a row for each seat. A long row of cards is continued below."""
    heads = _align(seat.name for seat in seats)
    badges = _align(" ".join(badge.text for badge in seat.badges) for seat in seats)
    notes = _align((seat.note for seat in seats), right=True)
    totals = _align((str(seat.total) for seat in seats), right=True)
    rows = [_format_cards(seat.cards) or "–" for seat in seats]
    taken = sum(len(column[0]) for column in (heads, badges, notes, totals)) + len("> " + 4 * "  " + "total ")
    width = min(WIDTH - taken, max(map(len, rows)))
    lines = []
    for seat, head, badge, row, note, total in zip(seats, heads, badges, rows, notes, totals):
        first, *more = _wrap(row, width)
        mark = ">" if seat.marked else " "
        lines.append(f"{mark} {head}  {badge}  {first:{width}}  {note}  total {total}")
        lines += [" " * len(f"> {head}  {badge}  ") + text for text in more]
    return lines


def _align(texts: Iterable[str], right: bool = False) -> list[str]:
    texts = list(texts)
    width = max(map(len, texts))
    return [text.rjust(width) if right else text.ljust(width) for text in texts]


def _format_zones(zones: tuple[Zone, ...]) -> list[str]:
    lines = []
    for zone, name in zip(zones, _align(zone.name for zone in zones)):
        size = "" if zone.size is None else f"{zone.size} card{'s' * (zone.size != 1)}"
        top = f"top {zone.top}" if zone.top else ""
        text = ", ".join(part for part in (size, top) if part)
        text += (": " if text and zone.cards else "") + _format_cards(zone.cards)
        first, *more = _wrap(text, WIDTH - len(f"  {name}  "))
        lines.append(f"  {name}  {first}".rstrip())
        lines += [" " * len(f"  {name}  ") + text for text in more]
    return lines
