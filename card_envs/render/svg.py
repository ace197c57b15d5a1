"""Drawings of a :class:`~card_envs.engine.picture.Picture` of any game, as SVG or as pixels.

From top to bottom there are a title line; the middle of the table, with the piles, the decision, the cards in play, and small
cards for what is known to be in the piles; and the seats, two in a row. The size depends only on the number of seats, so that
the pictures of one match make a film.
"""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.engine.picture import BACK, Badge, Card, CardStyle, Picture, Seat, Zone

WIDTH = 800
MARGIN, GAP = 16, 10
TITLE_HEIGHT, MIDDLE_HEIGHT, SEAT_HEIGHT = 46, 130, 106
SEAT_WIDTH = (WIDTH - 2 * MARGIN - GAP) / 2
CARD_WIDTH, CARD_HEIGHT = 42.0, 58.0
SMALLEST = 6.5  # the smallest size of text on a card that can be read
PILE_STEP = 70  # from one pile to the next
KNOWN_WIDTH, KNOWN_HEIGHT = 300.0, 44.0  # the width of the small cards together, and the height of one of their two rows

FONTS = "Lato, 'Helvetica Neue', Helvetica, Arial, sans-serif"
REGULAR, BOLD, BLACK = 400, 700, 900
FELT, FELT_EDGE, SHADOW = "#2c6b58", "#153830", "#0b211b"
INK, FAINT, GOLD = "#f6f1e4", "#a7c4b8", "#f6c653"
BLANK = CardStyle(ink=INK)  # the card below the top of a pile that lies face up
TONES = {"live": "#2f9d6c", "safe": "#3a78c2", "out": "#b5453b", "mark": GOLD, "plain": "#4b7265"}

# Outlines of the suits in a box of 10 by 10, since few fonts have all of them.
SUITS = {
    "♥": "M5 9.6C1.5 6.6.3 5 .3 3 .3 1.4 1.5.4 2.7.4 3.7.4 4.6 1 5 2"
    "C5.4 1 6.3.4 7.3.4 8.5.4 9.7 1.4 9.7 3 9.7 5 8.5 6.6 5 9.6Z",
    "♦": "M5 .2 8.8 5 5 9.8 1.2 5Z",
    "♠": "M5 .3C8.4 3.2 9.6 4.6 9.6 6.2 9.6 7.5 8.7 8.2 7.7 8.2 6.8 8.2 6 7.8 5.5 7.1L6.2 9.8H3.8L4.5 7.1"
    "C4 7.8 3.2 8.2 2.3 8.2 1.3 8.2.4 7.5.4 6.2.4 4.6 1.6 3.2 5 .3Z",
    "♣": "M3.3 4.1A2.3 2.3 0 1 1 6.7 4.1 2.3 2.3 0 1 1 5.5 7L6.2 9.8H3.8L4.5 7A2.3 2.3 0 1 1 3.3 4.1Z",
}


def to_svg(picture: Picture) -> str:
    """Return the picture as an SVG document. It is 800 wide, and its height depends on the number of seats."""
    return str(_Drawing(picture).drawing.as_svg())


def to_rgb(picture: Picture) -> NDArray[np.uint8]:
    """Return the picture as pixels, uint8 [H, 800, 3] with an even H. It does not depend on the fonts of the machine."""
    fonts = _import_library("font_lato").font_files
    png = _import_library("resvg_py").svg_to_bytes(
        svg_string=to_svg(picture),
        background=FELT_EDGE,
        skip_system_fonts=True,
        font_files=[fonts["Lato"], fonts["LatoBold"], fonts["LatoBlack"]],
    )
    return np.array(_import_library("PIL.Image").open(io.BytesIO(png)).convert("RGB"))


def _import_library(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        message = f"pictures need {error.name}: pip install 'card-envs[render]'"
        raise ModuleNotFoundError(message, name=error.name) from None


def _estimate_width(text: str, size: float) -> float:
    """Return about the width of a bold text, with some room, since the font of the reader is not known."""
    return 0.58 * size * len(text)


def _format_number(figure: object) -> str:
    """Return a number with a proper minus sign."""
    return str(figure).replace("-", "−")


def _fit_face(lines: Sequence[str], width: float, height: float) -> float:
    longest = max(_estimate_width(line, 1) for line in lines)
    return min(0.56 * width, 0.6 * height / math.sqrt(len(lines)), 0.81 * width / longest)


def _abbreviate(lines: Sequence[str]) -> str:
    """Return the initials of several words, or the first two letters of one, for a card too small for its words."""
    return "".join(line[:1] for line in lines) if len(lines) > 1 else lines[0][:2]


class _Drawing:
    """A picture that is being drawn. Each method draws a part of it at a place."""

    def __init__(self, picture: Picture) -> None:
        self.lib = _import_library("drawsvg")
        rows = -(-len(picture.seats) // 2)
        self.height = TITLE_HEIGHT + MIDDLE_HEIGHT + rows * (SEAT_HEIGHT + GAP) + MARGIN - GAP
        self.drawing = self.lib.Drawing(WIDTH, self.height, font_family=FONTS, role="img")
        self.drawing.append_title(f"{picture.title}: {picture.decision}")
        felt = self.lib.RadialGradient(WIDTH / 2, 0.35 * self.height, 0.65 * WIDTH)
        felt.add_stop(0, FELT)
        felt.add_stop(1, FELT_EDGE)
        self.box(0, 0, WIDTH, self.height, 14, fill=felt)
        self.text(picture.title, MARGIN, 31, 19, weight=BLACK)
        self.text(" · ".join(picture.facts), WIDTH - MARGIN, 31, 13, ink=FAINT, anchor="end")
        self.middle(picture)
        for i, seat in enumerate(picture.seats):
            x = MARGIN + i % 2 * (SEAT_WIDTH + GAP)
            self.seat(seat, x, TITLE_HEIGHT + MIDDLE_HEIGHT + i // 2 * (SEAT_HEIGHT + GAP), picture.target)

    # -- the middle of the table

    def middle(self, picture: Picture) -> None:
        y = float(TITLE_HEIGHT)
        piles = [zone for zone in picture.zones if zone.size is not None]
        for i, zone in enumerate(piles):
            self.pile(zone, MARGIN + i * PILE_STEP, y)
        known = [card for zone in piles for card in zone.cards]
        right = WIDTH - MARGIN - KNOWN_WIDTH
        if known:
            self.known(known, right, y)
        left = MARGIN + len(piles) * PILE_STEP
        width = (right if known else WIDTH - MARGIN) - left - MARGIN
        for i, line in enumerate(textwrap.wrap(picture.decision, int(width / _estimate_width("m", 14)))):
            self.text(line, left, y + 16 + 18 * i, 14, ink=GOLD, weight=BOLD)
        self.rows([zone for zone in picture.zones if zone.size is None], left, y + 44, width)

    def pile(self, zone: Zone, x: float, y: float) -> None:
        size = zone.size or 0
        blank = Card(zone.name, BLANK if zone.cards or zone.top else BACK, face=" ")
        if size == 0:
            empty = {"fill": "none", "stroke": FAINT, "stroke_opacity": 0.5, "stroke_dasharray": "4 3"}
            self.box(x, y + 12, CARD_WIDTH, CARD_HEIGHT, 5, **empty)
        depth = -(-size // 12)
        for i in range(depth):
            top = zone.top if zone.top and i == depth - 1 else blank
            self.card(top, x + 1.2 * i, y + 12 - 1.2 * i, CARD_WIDTH)
        self.text(zone.name, x, y + 88, 12, ink=FAINT)
        self.text(str(size), x, y + 107, 17, weight=BOLD)

    def known(self, cards: Sequence[Card], x: float, y: float) -> None:
        """Draw small cards in two rows, with the number of each."""
        self.text("seen in the piles", x, y + 10, 10, ink=FAINT)
        columns = max(14, -(-len(cards) // 2))
        step = KNOWN_WIDTH / columns
        width, below = step - 3, 1.38 * step + 5
        for i, card in enumerate(cards):
            left, top = x + i % columns * step, y + 18 + i // columns * KNOWN_HEIGHT
            self.card(card, left, top, width)
            if card.count > 1:
                self.text(f"×{card.count}", left + width / 2, top + below, 0.45 * step, ink=FAINT, anchor="middle")

    def rows(self, zones: Sequence[Zone], x: float, y: float, width: float) -> None:
        """Draw the cards in play side by side, each zone under its name, and smaller if there are many."""
        widths = [max(len(zone.cards) * (CARD_WIDTH + 4), _estimate_width(zone.name, 10)) + GAP for zone in zones]
        scale = min(1.0, width / max(1.0, sum(widths)))
        group = self.lib.Group(transform=f"translate({x:.2f} {y:.2f}) scale({scale:.3f})")
        left = 0.0
        for zone, zone_width in zip(zones, widths):
            self.text(zone.name, left, 10, 10, ink=FAINT, to=group)
            for i, card in enumerate(zone.cards):
                self.card(card, left + i * (CARD_WIDTH + 4), 16, CARD_WIDTH, to=group)
            left += zone_width
        self.drawing.append(group)

    # -- a seat

    def seat(self, seat: Seat, x: float, y: float, target: int | None) -> None:
        frame = {"stroke": GOLD, "stroke_width": 2.5} if seat.marked else {}
        self.box(x, y, SEAT_WIDTH, SEAT_HEIGHT, 10, fill=SHADOW, fill_opacity=0.55 if seat.marked else 0.35, **frame)
        right = x + SEAT_WIDTH - 12
        self.text(seat.name, x + 12, y + 22, 15, ink=FAINT if seat.out else INK, weight=BOLD)
        left = x + 20 + _estimate_width(seat.name, 15)
        for badge in seat.badges:
            left += self.badge(badge, left, y + 9) + 5
        goal = f" / {target}" if target is not None else ""
        self.text(goal, right, y + 22, 11, ink=FAINT, anchor="end")
        self.text(_format_number(seat.total), right - _estimate_width(goal, 10), y + 22, 17, weight=BLACK, anchor="end")
        self.text(_format_number(seat.note), right, y + 68, 20, ink=FAINT if seat.out else INK, anchor="end", weight=BOLD)
        space = SEAT_WIDTH - 36 - _estimate_width(seat.note, 20)
        step = min(CARD_WIDTH + 4, space / max(1, len(seat.cards)))
        width = step - min(4.0, 0.1 * step)
        for i, card in enumerate(seat.cards):
            self.card(card, x + 12 + i * step, y + 33 + (CARD_HEIGHT - width * CARD_HEIGHT / CARD_WIDTH) / 2, width)
        if target is not None:
            self.progress(seat.total / target, x + 12, y + SEAT_HEIGHT - 9, SEAT_WIDTH - 24)

    def badge(self, badge: Badge, x: float, y: float) -> float:
        """Draw a word on a coloured pill, and return its width."""
        width = _estimate_width(badge.text, 11) + 10
        self.box(x, y, width, 17, 8.5, fill=TONES[badge.tone])
        ink = SHADOW if badge.tone == "mark" else INK
        self.text(badge.text, x + width / 2, y + 12.3, 11, ink=ink, anchor="middle", weight=BOLD)
        return width

    def progress(self, share: float, x: float, y: float, width: float) -> None:
        """Draw a bar towards the target, which is red for a negative total."""
        self.box(x, y, width, 4, 2, fill=SHADOW, fill_opacity=0.6)
        if share:
            self.box(x, y, max(4.0, width * min(1.0, abs(share))), 4, 2, fill=TONES["out"] if share < 0 else GOLD)

    # -- the parts of both

    def card(self, card: Card, x: float, y: float, width: float, *, to: Any = None) -> None:
        height = width * CARD_HEIGHT / CARD_WIDTH
        group = self.lib.Group(opacity=0.38) if card.out else self.lib.Group()
        group.append_title(card.name)
        edge = {"stroke": GOLD, "stroke_width": 3} if card.marked else {"stroke": SHADOW, "stroke_opacity": 0.45}
        self.box(x, y, width, height, 0.12 * width, to=group, fill=card.style.paper, **edge)
        ink = card.style.ink
        if card.style.framed:
            inset = 0.1 * width
            frame = {"fill": "none", "stroke": ink, "stroke_opacity": 0.7}
            self.box(x + inset, y + inset, width - 2 * inset, height - 2 * inset, inset, to=group, **frame)
        lines = (card.face or card.name).split("\n")
        room = 0.84 * height if card.label else height
        size = _fit_face(lines, width, room)
        if size < SMALLEST:
            lines = [_abbreviate(lines)]
            size = _fit_face(lines, width, room)
        middle = y + room / 2 - 0.55 * size * (len(lines) - 1)
        for i, line in enumerate(lines):
            self.symbol(line, x + width / 2, middle + 1.1 * size * i, size, ink=ink, to=group)
        if card.label:
            size = min(0.24 * width, 0.92 * width / _estimate_width(card.label, 1))
            low = y + 0.9 * height
            self.text(card.label, x + width / 2, low, size, ink=ink, anchor="middle", weight=BOLD, to=group)
        (to or self.drawing).append(group)

    def symbol(self, text: str, x: float, y: float, size: float, *, ink: str, to: Any) -> None:
        """Draw a line of a card's face, a word or a suit, centred."""
        if text in SUITS:
            place = f"translate({x - size / 2:.2f} {y - size / 2:.2f}) scale({size / 10:.3f})"
            to.append(self.lib.Path(SUITS[text], fill=ink, transform=place))
        else:
            self.text(text, x, y + 0.36 * size, size, ink=ink, anchor="middle", weight=BLACK, to=to)

    def box(self, x: float, y: float, width: float, height: float, radius: float, *, to: Any = None, **style: Any) -> None:
        place = (round(value, 2) for value in (x, y, width, height))
        (to or self.drawing).append(self.lib.Rectangle(*place, rx=round(radius, 2), **style))

    def text(
        self,
        text: str,
        x: float,
        y: float,
        size: float,
        *,
        ink: str = INK,
        anchor: str = "start",
        weight: int = REGULAR,
        to: Any = None,
    ) -> None:
        if text.strip():
            where = (round(value, 2) for value in (size, x, y))
            (to or self.drawing).append(self.lib.Text(text, *where, fill=ink, text_anchor=anchor, font_weight=weight))
