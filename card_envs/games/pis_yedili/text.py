"""Pis Yedili in words: the game's part of ``Table.state()``, and its picture."""

from __future__ import annotations

from typing import Any

from card_envs.engine.game import Options
from card_envs.engine.picture import Badge, Picture, Seat, Zone, result
from card_envs.games.french_deck import CARDS, IN_SUIT, JACK, SEVEN, SUITS, card, names, row
from card_envs.games.pis_yedili.state import NO_SUIT, NOBODY

TITLE = "Pis Yedili"
QUESTIONS = {
    "lead": "play a club, or draw until there is one",
    "turn": "play a card, or draw",
    "drawn": "play a card, pass, or draw again if nothing fits",
    "sevens": "play a seven, or take {penalty} cards",
    "suit": "name a suit",
    "ace": "play a second card, or pass",
}
TIMES = {SEVEN: " (points × 3)", JACK: " (points × 2)"}  # P23
SUIT_NAMES = dict(zip(SUITS, ("clubs", "diamonds", "hearts", "spades"), strict=True))


def details(s: Any, options: Options) -> dict[str, Any]:
    """The game's own keys of ``Table.state()``."""
    return {
        "hands": [names(s.hands[seat]) for seat in range(s.players)],
        "pile": [CARDS[s.pile[i]] for i in range(s.pile_size)],
        "suit": None if s.suit == NO_SUIT else SUITS[s.suit],
        "sevens": s.sevens,
        "direction": s.direction,
    }


def ending(s: Any) -> str:
    """How the deal finished last has ended."""
    if s.last_out == NOBODY:
        return "the stock runs out"
    times = TIMES.get(s.last_card % IN_SUIT, "")
    return f"seat {s.last_out} goes out with {CARDS[s.last_card]}{times}"


def picture(state: dict[str, Any]) -> Picture:
    """A table as everybody or a seat sees it, from ``Table.state()`` or ``Table.view(seat)``."""
    facts = [f"deal {state['deal']} of {state['options']['deals']}", f"seat {state['dealer']} deals", f"phase {state['phase']}"]
    facts.append("clockwise" if state["direction"] == 1 else "counter-clockwise")
    pile = state["pile"]
    if state["suit"]:
        facts.append(f"to follow: {SUIT_NAMES[state['suit']]}" + ", no jack" * (pile[-1][0] == "J"))
    stock = state["deck"] if isinstance(state["deck"], int) else len(state["deck"])
    top = card(pile[-1], marked=True) if pile else None
    return Picture(
        title=TITLE,
        facts=tuple(facts),
        seats=tuple(_seat(state, seat) for seat in range(state["players"])),
        zones=(Zone("stock", size=stock), Zone("pile", row(reversed(pile[:-1])), size=len(pile), top=top)),
        decision=_decision(state),
    )


def _seat(state: dict[str, Any], seat: int) -> Seat:
    hand = state["hands"][seat]
    size = hand if isinstance(hand, int) else len(hand)
    badges = (
        (seat in state["winners"], Badge("winner", "mark")),
        (seat == state["dealer"], Badge("dealer")),
        (not state["over"] and size <= 2, Badge("last card" if size == 1 else "two cards", "out")),
    )
    return Seat(
        name=f"seat {seat}",
        badges=tuple(badge for applies, badge in badges if applies),
        cards=row(hand),
        note=f"{size} card{'s' * (size != 1)}",
        total=state["totals"][seat],
        marked=seat == state["to_move"] or seat in state["winners"],
    )


def _decision(state: dict[str, Any]) -> str:
    if state["over"]:
        return result(state)
    question = QUESTIONS[state["phase"]].format(penalty=3 * state["sevens"])
    return f"seat {state['to_move']} to move: {question}"
