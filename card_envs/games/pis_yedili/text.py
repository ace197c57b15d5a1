"""Pis Yedili in words: the game's part of ``Table.state()``, what is wrong with a state from outside, and the picture."""

from __future__ import annotations

from collections import Counter
from typing import Any

from card_envs.engine.game import NOBODY, Options
from card_envs.engine.picture import Badge, Picture, Seat, Zone, result
from card_envs.games.deck import (
    ACE, CARDS, CLUBS, DECK_SIZE, IN_SUIT, JACK, NO_CARD, SEVEN, SUITS, draw_face, draw_row, name_cards,
)  # fmt: skip
from card_envs.games.pis_yedili.state import (
    ACE_PHASE,
    GROUP_NAMES,
    HAND_SIZE,
    LEAD,
    NO_SUIT,
    PROVED,
    SEVENS,
    SUGGESTED,
    SUIT_PHASE,
)

TIMES = {SEVEN: " (points × 3)", JACK: " (points × 2)"}  # P23


def details(s: Any, options: Options) -> dict[str, Any]:
    """The game's own keys of ``Table.state()``."""
    return {
        "hands": [name_cards(s.hands[seat]) for seat in range(s.players)],
        "pile": [CARDS[s.pile[i]] for i in range(s.pile_size)],
        "suit": None if s.suit == NO_SUIT else SUITS[s.suit],
        "sevens": s.sevens,
        "direction": s.direction,
        "shown": [_shown(s, seat) for seat in range(s.players)],
    }


def _shown(s: Any, seat: int) -> dict[str, Any]:
    """What the choices of a player show of their hand: ranks, and suits without their jacks. See shown.py."""
    shown: dict[str, Any] = {}
    for kind, name in ((PROVED, "proved"), (SUGGESTED, "suggested")):
        shown[name] = [group for n, group in enumerate(GROUP_NAMES) if s.lacks[kind, seat] >> n & 1]
        shown[f"{name}_drawn"] = s.drawn_since[kind, seat]
    return shown


def ending(s: Any) -> str:
    """How the deal finished last has ended."""
    if s.last_out == NOBODY:
        return "the stock runs out"
    times = TIMES.get(s.last_card % IN_SUIT, "")
    return f"seat {s.last_out} goes out with {CARDS[s.last_card]}{times}"


def check(s: Any) -> str | None:
    """What is wrong with a state from outside whose common fields are sound; ``None`` if nothing is."""
    if s.drawn > s.deck_size or s.deck_size != DECK_SIZE or (s.drawn == s.deck_size and not s.over):
        return "the stock is out of its bounds"
    if s.last_out >= s.players:
        return "a seat is not at the table"
    if not s.over and not all(s.hands[seat] for seat in range(s.players)):
        return "a hand is empty"
    return _check_lead(s) or _check_pile(s) or _check_cards(s) or _check_shown(s)


def _check_lead(s: Any) -> str | None:
    """P3: the first turns of a deal bring clubs, which have no effects."""
    first_turns = s.players if s.club_lap else 1
    if s.direction == 0 or (s.lap and s.direction != 1):
        return "the direction does not fit"
    if (s.phase == LEAD) != (s.lap > 0 and not s.over) or s.lap != max(0, first_turns - s.pile_size):
        return "the phase does not fit"
    if any(s.pile[i] // IN_SUIT != CLUBS for i in range(min(s.pile_size, first_turns))):
        return "a first card is no club"
    return None


def _check_pile(s: Any) -> str | None:
    """The suit to follow, the open sevens and the phase are those of the cards on top."""
    top = s.pile[s.pile_size - 1] if s.pile_size else NO_CARD
    rank, suit = (top % IN_SUIT, top // IN_SUIT) if s.pile_size else (NO_CARD, NO_SUIT)
    if s.top != top:
        return "the top card is not that of the pile"
    if s.over or s.phase == SUIT_PHASE:
        suit = NO_SUIT
    named = rank == JACK and not s.lap and suit != NO_SUIT
    if s.suit == NO_SUIT if named else s.suit != suit:
        return "the suit to follow is not that of the top card"
    if (s.phase == SUIT_PHASE and rank != JACK) or (s.phase == ACE_PHASE and rank != ACE):
        return "the phase is not that of the top card"
    open_sevens = [s.pile[i] % IN_SUIT == SEVEN for i in range(max(0, s.pile_size - s.sevens), s.pile_size)]
    if (s.phase == SEVENS) != (s.sevens > 0) or len(open_sevens) != s.sevens or not all(open_sevens):
        return "more sevens are open than lie on top"
    return None


def _check_cards(s: Any) -> str | None:
    """Every card of the deck is somewhere, once."""
    pile = [s.pile[i] for i in range(s.pile_size)]
    if s.seen != sum(1 << card for card in set(pile)):
        return "the cards seen are not those of the pile"
    cards = Counter(CARDS[card] for card in pile)
    cards.update(CARDS[s.deck[i]] for i in range(s.drawn, s.deck_size))
    for seat in range(s.players):
        cards.update(name_cards(s.hands[seat]))
    if cards != Counter(CARDS):
        return f"the {DECK_SIZE} cards of the deck are not all there once"
    order = [s.order[i] for i in range(s.ordered)]
    return "the given order names a card twice" if len(set(order)) != len(order) else None


def _check_shown(s: Any) -> str | None:
    """All seats together have drawn as many cards from the stock as it lacks."""
    drawn = max(0, s.drawn - HAND_SIZE * s.players)
    if any(sum(s.drawn_since[kind, seat] for seat in range(s.players)) > drawn for kind in (PROVED, SUGGESTED)):
        return "more cards were drawn than the stock lacks"
    return None


# ---- the picture

TITLE = "Pis Yedili"
QUESTIONS = {
    "lead": "play a club, or draw until there is one",
    "turn": "play a card, or draw",
    "drawn": "play a card, pass, or draw again if nothing fits",
    "sevens": "play a seven, or take {penalty} cards",
    "suit": "name a suit",
    "ace": "play a second card, or pass",
}
SUIT_NAMES = dict(zip(SUITS, ("clubs", "diamonds", "hearts", "spades"), strict=True))


def picture(state: dict[str, Any]) -> Picture:
    """A table as everybody or a seat sees it, from ``Table.state()`` or ``Table.view(seat)``."""
    facts = [f"deal {state['deal']} of {state['options']['deals']}", f"seat {state['dealer']} deals", f"phase {state['phase']}"]
    facts.append("clockwise" if state["direction"] == 1 else "counter-clockwise")
    pile = state["pile"]
    if state["suit"]:
        facts.append(f"to follow: {SUIT_NAMES[state['suit']]}" + ", no jack" * (pile[-1][0] == "J"))
    stock = state["deck"] if isinstance(state["deck"], int) else len(state["deck"])
    top = draw_face(pile[-1], marked=True) if pile else None
    return Picture(
        title=TITLE,
        facts=tuple(facts),
        seats=tuple(_seat(state, seat) for seat in range(state["players"])),
        zones=(Zone("stock", size=stock), Zone("pile", draw_row(reversed(pile[:-1])), size=len(pile), top=top)),
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
        cards=draw_row(hand),
        note=f"{size} card{'s' * (size != 1)}",
        total=state["totals"][seat],
        marked=seat == state["to_move"] or seat in state["winners"],
    )


def _decision(state: dict[str, Any]) -> str:
    if state["over"]:
        return result(state)
    question = QUESTIONS[state["phase"]].format(penalty=3 * state["sevens"])
    return f"seat {state['to_move']} to move: {question}"
