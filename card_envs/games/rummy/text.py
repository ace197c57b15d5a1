"""Rummy in words: the game's part of ``Table.state()``, and its picture."""

from __future__ import annotations

from typing import Any

from card_envs.engine.game import Options
from card_envs.engine.picture import Badge, Picture, Seat, Zone, result
from card_envs.games.french_deck import CARDS, IN_SUIT, card, names, row
from card_envs.games.rummy.state import NO_CARD, SET

TITLE = "Rummy"


def details(s: Any, options: Options) -> dict[str, Any]:
    """The game's own keys of ``Table.state()``."""
    seats = range(s.players)
    return {
        "hands": [names(s.hands[seat]) for seat in seats],
        "pile": [CARDS[s.discards[i]] for i in range(s.pile_size)],
        "melds": [_meld(s, i) for i in range(s.melds)],
        "laid": [names(s.laid[seat]) for seat in seats],
        "known": [names(s.known[seat]) for seat in seats],
        "taken": None if s.taken == NO_CARD else CARDS[s.taken],
        "must": None if s.must == NO_CARD else CARDS[s.must],
        "melded": bool(s.melded),
        "idle": s.idle,
    }


def ending(s: Any) -> str:
    """How the deal finished last has ended."""
    out = [seat for seat in range(s.players) if s.last_caught[seat] == 0]
    return f"seat {out[0]} goes out" if out else "nobody goes out"


def _meld(s: Any, i: int) -> dict[str, Any]:
    of, low, high = s.meld_of[i], s.meld_low[i], s.meld_high[i]
    if s.meld_kind[i] == SET:
        return {"kind": "set", "cards": [CARDS[IN_SUIT * suit + of] for suit in range(4) if low >> suit & 1]}
    return {"kind": "run", "cards": [CARDS[IN_SUIT * of + rank % IN_SUIT] for rank in range(low, high + 1)]}


def picture(state: dict[str, Any]) -> Picture:
    """A table as everybody or a seat sees it, from ``Table.state()`` or ``Table.view(seat)``."""
    options = state["options"]
    stock = state["deck"] if isinstance(state["deck"], int) else len(state["deck"])
    pile = state["pile"]
    top = card(pile[-1], marked=state["phase"] == "draw") if pile else None
    melds = [Zone(meld["kind"], row(meld["cards"])) for meld in state["melds"]]
    facts = [f"deal {state['deal']}", f"seat {state['dealer']} deals", f"phase {state['phase']}"]
    facts += [f"{options['scoring']} scoring", f"to {options['target']} points"]
    return Picture(
        title=TITLE,
        facts=tuple(facts),
        seats=tuple(_seat(state, seat) for seat in range(state["players"])),
        zones=(Zone("stock", size=stock), Zone("pile", row(reversed(pile[:-1])), size=len(pile), top=top), *melds),
        decision=_decision(state),
        target=int(options["target"]),
    )


def _seat(state: dict[str, Any], seat: int) -> Seat:
    hand, known = state["hands"][seat], state["known"][seat]
    size = hand if isinstance(hand, int) else len(hand)
    badges = ((seat in state["winners"], Badge("winner", "mark")), (seat == state["dealer"], Badge("dealer")))
    cards = row(hand)
    if isinstance(hand, int):  # what everybody has seen him take, and backs for the others
        cards = (*row(known), *row(hand - len(known)))
    elif seat == state["to_move"]:
        cards = tuple(card(name, marked=name in (state["taken"], state["must"])) for name in hand)
    return Seat(
        name=f"seat {seat}",
        badges=tuple(badge for applies, badge in badges if applies),
        cards=cards,
        note=f"{size} card{'s' * (size != 1)}, {len(state['laid'][seat])} laid",
        total=state["totals"][seat],
        marked=seat == state["to_move"] or seat in state["winners"],
    )


def _decision(state: dict[str, Any]) -> str:
    if state["over"]:
        return result(state)
    if state["phase"] == "draw":
        stock = state["deck"]
        question = "draw, or take from the pile" if stock else "take from the pile, or end the deal"
    elif state["must"]:
        question = f"play the {state['must']} that was taken"
    else:
        barred = f" (not the {state['taken']})" if state["taken"] else ""
        question = f"meld, lay off, discard{barred}"
    return f"seat {state['to_move']} to move: {question}"
