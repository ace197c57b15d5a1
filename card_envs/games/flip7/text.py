"""Flip 7 in words: the game's part of ``Table.state()``, and its picture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from card_envs.engine.game import Options
from card_envs.engine.picture import Badge, Card, Picture, Seat, Tone, Zone, result, seats_in_words
from card_envs.games.flip7.lines import score_line
from card_envs.games.flip7.state import (
    ACTIVE, BUSTED, CARDS, DEAL_TASK, FIRST_ACTION, FIRST_MODIFIER, FLIP_FOUR, FLIPPED, GIVE, HALF, JUST_ONE_MORE, LUCKY_13,
    NOBODY, PICK, PICK_TASK, QUEUE_TASK, STATUS, STAY_TASK, STAYED, THIRTEEN, UNLUCKY_7, ZERO,
)  # fmt: skip


def details(s: Any, options: Options) -> dict[str, Any]:
    """The game's own keys of ``Table.state()``."""
    seats = range(s.players)
    agenda = [tuple(s.agenda[i, column] for column in range(4)) for i in range(s.depth)]
    opened = _open(s, agenda)
    dealt = agenda[0][3] if agenda and agenda[0][0] == DEAL_TASK else s.players
    order = [(s.dealer + 1 + i) % s.players for i in range(dealt, s.players)]
    flip_fours = [action for action in opened if action["card"] == CARDS[FLIP_FOUR]]
    return {
        "turn": None if s.turn == NOBODY else s.turn,
        "lines": [[CARDS[s.cards[seat, i]] for i in range(s.void[seat], s.length[seat])] for seat in seats],
        "status": [STATUS[s.status[seat]] for seat in seats],
        "void": [[CARDS[s.cards[seat, i]] for i in range(s.void[seat])] for seat in seats],
        "discard": [name for kind, name in enumerate(CARDS) for _ in range(s.discard[kind])],
        "undealt": [seat for seat in order if s.status[seat] == ACTIVE],
        "resolving": CARDS[agenda[-1][2]] if s.phase in (GIVE, PICK) else None,
        "receiver": s.to_move if s.phase == PICK else None,
        "picked": None if s.picked_seat == NOBODY else [s.picked_seat, CARDS[s.picked_card]],
        "open": opened,
        "queue": flip_fours[-1]["queue"] if flip_fours else [],
    }


def _open(s: Any, agenda: list[tuple[int, ...]]) -> list[dict[str, Any]]:
    """The actions being carried out, outermost first: all tasks that stand for a card not yet done with."""
    opened: list[dict[str, Any]] = []
    end = s.queued
    for task, seat, card, count in reversed(agenda):
        if task == QUEUE_TASK:
            waiting = [CARDS[s.queue[i]] for i in range(card + count, end)]
            end = card
            opened.append({"card": CARDS[FLIP_FOUR], "receiver": seat, "queue": waiting})
        elif task == STAY_TASK:
            opened.append({"card": CARDS[JUST_ONE_MORE], "receiver": seat, "queue": []})
        elif task == PICK_TASK:
            opened.append({"card": CARDS[card], "receiver": seat, "queue": []})
    return opened[::-1]


def ending(s: Any) -> str:
    """How the round finished last has ended."""
    by_end = {end: [seat for seat in range(s.players) if s.last_status[seat] == end] for end in (BUSTED, FLIPPED)}
    parts = [f"{seats_in_words(by_end[FLIPPED])} flips 7"] if by_end[FLIPPED] else []
    parts += [f"{seats_in_words(by_end[BUSTED])} busted"] if by_end[BUSTED] else []
    return ", ".join(parts) or "everybody stayed"


# ---- the picture

TITLE = "Flip 7: With a Vengeance"
TONES: dict[str, Tone] = {STATUS[ACTIVE]: "live", STATUS[STAYED]: "safe", STATUS[BUSTED]: "out"}
QUESTIONS = {
    "give": "give {card} to a player",
    "discard": "{card} – pick the card to discard",
    "steal": "{card} – pick a card of another player",
    "swap": "{card} – pick the first of two cards",
    "second": "{card} – pick a card to swap for the {picked} of seat {seat}",
    "bonus": "Flip 7! +15 for itself, or −15 for another",
}


def picture(state: dict[str, Any]) -> Picture:
    """A table as it looks to everybody, from ``Table.state()`` or ``Table.view(seat)``."""
    options = state["options"]
    facts = [f"round {state['deal']}", f"seat {state['dealer']} deals", f"phase {state['phase']}"]
    if options["brutal"]:
        facts.append("Brutal")
    return Picture(
        title=TITLE,
        facts=(*facts, f"to {options['target']} points"),
        seats=tuple(_seat(state, seat) for seat in range(state["players"])),
        zones=tuple(_zones(state)),
        decision=_decision(state),
        target=int(options["target"]),
    )


def _card(name: str, count: int = 1, out: bool = False, marked: bool = False) -> Card:
    kind = CARDS.index(name)
    if kind >= FIRST_ACTION:
        return Card(name, "action", name.title().replace("_", "\n"), count=count, out=out, marked=marked)
    if kind >= FIRST_MODIFIER:
        face = "÷2" if kind == HALF else name.replace("-", "−")
        return Card(name, "modifier", face, count=count, out=out, marked=marked)
    face, label = {LUCKY_13: ("13", "lucky"), UNLUCKY_7: ("7", "unlucky"), ZERO: ("0", "zero")}.get(kind, (name, ""))
    return Card(name, "special" if label else "number", face, label, min(kind, THIRTEEN) / THIRTEEN, count, out, marked)


def _row(names: Iterable[str]) -> tuple[Card, ...]:
    return tuple(_card(name) for name in names)


def _seat(state: dict[str, Any], seat: int) -> Seat:
    status, playing = state["status"][seat], not state["over"]
    badges = (
        (seat in state["winners"], Badge("winner", "mark")),
        (playing, Badge(status, TONES[status])),
        (playing and seat == state["turn"], Badge("turn", "mark")),
        (seat in state["undealt"], Badge("undealt")),
        (seat == state["dealer"], Badge("dealer")),
    )
    void = (_card(name, out=True) for name in state["void"][seat])
    line = (_card(name, marked=state["picked"] == [seat, name]) for name in state["lines"][seat])
    return Seat(
        name=f"seat {seat}",
        badges=tuple(badge for applies, badge in badges if applies),
        cards=(*void, *line),
        note=f"= {_score(state, seat)}" if playing else "",
        total=state["totals"][seat],
        marked=seat == state["to_move"] or seat in state["winners"],
        out=playing and status == STATUS[BUSTED],
    )


def _score(state: dict[str, Any], seat: int) -> int:
    """What the line scores as it lies, without the 15."""
    flips = state["phase"] == "bonus" and state["to_move"] == seat
    held = sum(1 << CARDS.index(name) for name in state["lines"][seat])
    return int(score_line(held, flips, state["options"]["brutal"]))


def _zones(state: dict[str, Any]) -> list[Zone]:
    deck = state["deck"] if isinstance(state["deck"], int) else len(state["deck"])
    discard = tuple(_card(name, count) for name, count in Counter(state["discard"]).items())
    zones = [Zone("deck", size=deck), Zone("discard", discard, size=len(state["discard"]))]
    picking = state["phase"] == "pick"
    for depth, action in enumerate(state["open"], 1):
        marked = picking and depth == len(state["open"])  # the innermost is the one being carried out
        zones.append(Zone(f"seat {action['receiver']} plays", (_card(action["card"], marked=marked),)))
        if action["queue"]:
            zones.append(Zone("waiting", _row(action["queue"])))
    if state["phase"] == "give":
        zones.append(Zone(f"seat {state['to_move']} gives", (_card(state["resolving"], marked=True),)))
    return zones


def _decision(state: dict[str, Any]) -> str:
    if state["over"]:
        return result(state, "round")
    mover, phase, card = state["to_move"], state["phase"], state["resolving"]
    if phase == "turn":
        question = "must draw" if CARDS[ZERO] in state["lines"][mover] else "draw or stay"
        return f"seat {mover} to move: {question}"
    seat, picked = state["picked"] or (None, None)
    which = phase if phase != "pick" else "second" if picked else card
    return f"seat {mover} to move: {QUESTIONS[which].format(card=card, seat=seat, picked=picked)}"
