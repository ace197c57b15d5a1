"""Flip 7 in words: the game's part of ``Table.state()``, what is wrong with a state from outside, and the picture."""

from __future__ import annotations

import colorsys
from collections import Counter
from collections.abc import Iterable
from typing import Any

from card_envs.engine.game import Options
from card_envs.engine.picture import PAPER, Badge, Card, CardStyle, Picture, Seat, Tone, Zone, result, seats_in_words
from card_envs.games.deck import name_counts
from card_envs.games.flip7.lines import score_line, sum_line, sum_minus
from card_envs.games.flip7.state import (
    ACTIVE, BONUS, BONUS_TASK, BUSTED, CARDS, COPIES, DEAL_TASK, DECK_SIZE, DRAW_TASK, FIRST_ACTION, FIRST_MODIFIER, FLIPPED,
    FLIP_FOUR, GIVE, GIVE_TASK, HALF, JUST_ONE_MORE, KINDS, LUCKY_13, NOBODY, NO_QUEUE, OVER, PICK, PICK_TASK, QUEUE_TASK,
    ROUND_END_TASK, STATUS, STAYED, STAY_TASK, SWAP, THIRTEEN, TURN, TURN_TASK, UNLUCKY_7, ZERO,
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
        "discard": name_counts(CARDS, s.discard),
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


# ---- states from outside

TOP_TASK = {TURN: TURN_TASK, GIVE: GIVE_TASK, PICK: PICK_TASK, BONUS: BONUS_TASK}  # the task that asks, by phase


def check(s: Any) -> str | None:
    """What is wrong with a state from outside whose fields keep their bounds; ``None`` if nothing is."""
    agenda = [tuple(s.agenda[i, column] for column in range(4)) for i in range(s.depth)]
    if s.drawn > s.deck_size:
        return "more cards are drawn than the deck holds"
    if (s.phase == OVER) != (not agenda) or bool(s.over) != (s.phase == OVER) or (s.over and s.to_move >= 0):
        return "the match is over, or it is not"
    if agenda and (agenda[-1][0] != TOP_TASK[s.phase] or not 0 <= s.to_move < s.players):
        return "the phase is not what is to be decided"
    return _check_agenda(s, agenda) or _check_lines(s) or _check_cards(s, agenda)


def _check_agenda(s: Any, agenda: list[tuple[int, ...]]) -> str | None:
    """The tasks stand as the rules push them, so that no nest is deeper than theirs."""
    for depth, (task, seat, card, count) in enumerate(agenda):
        if task != DEAL_TASK and not 0 <= seat < s.players:
            return "a seat on the agenda is not at the table"
        if (depth == 0) != (task in (DEAL_TASK, TURN_TASK, BONUS_TASK)) or task == ROUND_END_TASK:
            return "the agenda does not begin with a deal or a turn"
        if task == DEAL_TASK and not 0 <= count <= s.players:
            return "more seats are dealt to than there are"
        if task == DRAW_TASK and (agenda[depth - 1][0] != STAY_TASK or (card, count) != (NO_QUEUE, 0)):
            return "a card is drawn for nothing"
        if task in (GIVE_TASK, PICK_TASK) and depth + 1 != len(agenda):
            return "a decision waits under another"
    if s.dealer >= s.players or s.turn >= s.players or s.flipper >= s.players:
        return "a seat is not at the table"
    swap = s.phase == PICK and agenda[-1][2] == SWAP
    if s.picked_seat != NOBODY and not (swap and s.picked_seat < s.players and s.held[s.picked_seat] >> s.picked_card & 1):
        return "the first pick of a swap lies in no line"
    return None


def _check_lines(s: Any) -> str | None:
    for seat in range(s.players):
        if s.void[seat] > s.length[seat]:
            return f"the line of seat {seat} is shorter than its void"
        line = [s.cards[seat, i] for i in range(s.void[seat], s.length[seat])]
        if len(set(line)) != len(line):
            return f"the line of seat {seat} holds a card twice"
        held = sum(1 << card for card in line)
        if (s.held[seat], s.numbers[seat], s.minus[seat]) != (held, sum_line(held), sum_minus(held)):
            return f"the sums of the line of seat {seat} are wrong"
    return None


def _check_cards(s: Any, agenda: list[tuple[int, ...]]) -> str | None:
    """All cards are there once, so that no line, queue or nest can outgrow its place."""
    cards = Counter(s.deck[i] for i in range(s.drawn, s.deck_size))
    if any(cards[kind] != s.unseen[kind] for kind in range(KINDS)):
        return "the counts of the deck are wrong"
    for kind in range(KINDS):
        cards[kind] += s.discard[kind]
    for seat in range(s.players):
        cards.update(s.cards[seat, i] for i in range(s.length[seat]))
    end = s.queued
    for task, _, card, count in reversed(agenda):
        if task == QUEUE_TASK:
            if not 0 <= card <= card + count <= end:
                return "a queue is out of its bounds"
            cards.update([FLIP_FOUR, *(s.queue[i] for i in range(card + count, end))])
            end = card
        elif task == STAY_TASK:
            cards[JUST_ONE_MORE] += 1
        elif task in (GIVE_TASK, PICK_TASK):
            if not (FIRST_MODIFIER if task == GIVE_TASK else FIRST_ACTION) <= card < KINDS:
                return "a card of the agenda is no action or modifier"
            cards[card] += 1
    if [cards[kind] for kind in range(KINDS)] != list(COPIES):
        return f"the {DECK_SIZE} cards of the deck are not all there once"
    return None


# ---- the picture

TITLE = "Flip 7: With a Vengeance"
ACTION = CardStyle(PAPER, paper="#2f6fb8")
MODIFIER = CardStyle("#a32e26", paper="#f5d8d1")
SPECIAL = CardStyle(PAPER, paper="#5f4296")
TONES: dict[str, Tone] = {STATUS[ACTIVE]: "live", STATUS[STAYED]: "safe", STATUS[BUSTED]: "out"}
QUESTIONS = {
    "give": "give {card} to a player",
    "discard": "{card} – pick the card to discard",
    "steal": "{card} – pick a card of another player",
    "swap": "{card} – pick the first of two cards",
    "second": "{card} – pick a card to swap for the {picked} of seat {seat}",
    "bonus": "Flip 7! +15 for itself, or −15 for another",
}


def _number_style(value: int) -> CardStyle:
    """Numbers go from blue over green to red, dark enough for paper."""
    shade = value / THIRTEEN
    red, green, blue = colorsys.hls_to_rgb(0.6 * (1 - shade), 0.36 - 0.06 * shade, 0.7)
    return CardStyle(f"#{round(255 * red):02x}{round(255 * green):02x}{round(255 * blue):02x}")


NUMBERS_BY_VALUE = tuple(_number_style(value) for value in range(THIRTEEN + 1))


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
        return Card(name, ACTION, name.title().replace("_", "\n"), count=count, out=out, marked=marked)
    if kind >= FIRST_MODIFIER:
        face = "÷2" if kind == HALF else name.replace("-", "−")
        return Card(name, MODIFIER, face, count=count, out=out, marked=marked)
    face, label = {LUCKY_13: ("13", "lucky"), UNLUCKY_7: ("7", "unlucky"), ZERO: ("0", "zero")}.get(kind, (name, ""))
    return Card(name, SPECIAL if label else NUMBERS_BY_VALUE[kind], face, label, count, out, marked)


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
