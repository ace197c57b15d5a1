"""Flip 7 in words: the game's part of ``Table.state()``, what is wrong with a state from outside, and the picture."""

from __future__ import annotations

import colorsys
from collections import Counter
from collections.abc import Iterable
from typing import Any

from card_envs.engine.game import Options
from card_envs.engine.picture import PAPER, Badge, Card, CardStyle, Picture, Seat, Tone, Zone, result, seats_in_words
from card_envs.games.deck import name_counts
from card_envs.games.flip7.lines import is_double, is_flip_seven, score_line, sum_line, sum_minus
from card_envs.games.flip7.rules import has_receiver, may_receive
from card_envs.games.flip7.state import (
    ACTIVE, BONUS, BONUS_TASK, BUSTED, CARDS, COPIES, DEAL_TASK, DECK_SIZE, DISCARD, DRAW_TASK, FIRST_ACTION, FIRST_MODIFIER,
    FLIPPED, FLIP_FOUR, GIVE, GIVE_TASK, HALF, JUST_ONE_MORE, KINDS, LUCKY_13, NOBODY, NO_QUEUE, NUMBERS, OVER, PICK,
    PICK_TASK, QUEUE_TASK, SEVEN, STATUS, STAYED, STAY_TASK, STEAL, SWAP, THIRTEEN, TURN, TURN_TASK, UNLUCKY_7, ZERO,
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
OPENED = {GIVE_TASK, PICK_TASK, QUEUE_TASK, STAY_TASK}  # what the card that a task has brought puts above that task
ABOVE = {DEAL_TASK: OPENED, TURN_TASK: OPENED, QUEUE_TASK: OPENED, DRAW_TASK: OPENED, STAY_TASK: {DRAW_TASK}}
DRAWN_AT_ONCE = 4  # cards of a Flip Four

Task = tuple[int, ...]


def check(s: Any) -> str | None:
    """What is wrong with a state from outside whose common fields are sound; ``None`` if nothing is."""
    agenda = [tuple(s.agenda[i, column] for column in range(4)) for i in range(s.depth)]
    if s.drawn > s.deck_size:
        return "more cards are drawn than the deck holds"
    if (s.phase == OVER) != (not agenda):
        return "the match is over, or it is not"
    if max(s.turn, s.flipper, s.bonus, s.picked_seat) >= s.players:
        return "a seat is not at the table"
    fault = _check_agenda(s, agenda) if agenda else None
    return fault or _check_queues(s, agenda) or _check_lines(s) or _check_cards(s, agenda) or _check_decision(s, agenda)


def _check_agenda(s: Any, agenda: list[Task]) -> str | None:
    """The tasks stand as the rules push them, so that no nest is deeper than theirs."""
    for depth, task in enumerate(agenda):
        kind, seat, _, _ = task
        below = agenda[depth - 1] if depth else None
        if (kind not in ABOVE.get(below[0], ())) if below else (kind not in (DEAL_TASK, TURN_TASK, BONUS_TASK)):
            return "the agenda does not stand as the rules push it"
        if kind != DEAL_TASK and not 0 <= seat < s.players:
            return "a seat on the agenda is not at the table"
        if not _is_pushed(s, task, below):
            return "a task on the agenda is none that the rules push"
    kind, seat, _, _ = agenda[-1]
    if kind != TOP_TASK[s.phase] or seat != s.to_move:
        return "the phase is not what is to be decided"
    if s.turn != (agenda[0][1] if agenda[0][0] != BONUS_TASK else s.turn):
        return "the turn is not that of the agenda"
    if s.flipper != (seat if s.phase == BONUS else NOBODY) or s.bonus != NOBODY:
        return "a Flip 7 has ended the round, or it has not"
    return None


def _is_pushed(s: Any, task: Task, below: Task | None) -> bool:
    """Whether the rules push this task upon the one below it. A queue is looked at by :func:`_check_queues`."""
    kind, seat, card, count = task
    if kind == DEAL_TASK:
        return (seat, card) == (NOBODY, 0) and 1 <= count <= s.players
    if kind == DRAW_TASK:  # of a Just One More: the cards of a Flip Four are drawn without a decision
        return below is not None and (seat, card, count) == (below[1], NO_QUEUE, 0)
    if kind == GIVE_TASK and below is not None:  # who drew the card gives it
        drawer = (s.dealer + below[3]) % s.players if below[0] == DEAL_TASK else below[1]
        return seat == drawer and card >= FIRST_MODIFIER and count == 0
    if kind == PICK_TASK:
        return card in (DISCARD, STEAL, SWAP) and count == 0
    if kind == STAY_TASK:
        return (card, count) == (JUST_ONE_MORE, 0)
    return kind == QUEUE_TASK or (card, count) == (0, 0)


def _check_queues(s: Any, agenda: list[Task]) -> str | None:
    """Each Flip Four has its part of the queue, which begins where that of the one before it ends."""
    places = [depth for depth, task in enumerate(agenda) if task[0] == QUEUE_TASK]
    starts = [agenda[depth][2] for depth in places]
    if not places or starts[0] != 0:
        return None if not s.queued and not places else "cards are queued for nothing"
    for depth, start, end in zip(places, starts, [*starts[1:], s.queued], strict=True):
        count = agenda[depth][3]
        if not 1 <= count <= end - start <= DRAWN_AT_ONCE or any(s.queue[i] < FIRST_MODIFIER for i in range(start, end)):
            return "a queue is out of its bounds"
        above = agenda[depth + 1]
        if s.queue[start + count - 1] != (FLIP_FOUR if above[0] == QUEUE_TASK else above[2]):
            return "the card being carried out is not that of the queue"
    return None


def _check_lines(s: Any) -> str | None:
    """The lines can lie so: at least seven number cards are then left for the deck and the discard pile (F7)."""
    for seat in range(s.players):
        void = [s.cards[seat, i] for i in range(s.void[seat])]
        line = [s.cards[seat, i] for i in range(s.void[seat], s.length[seat])]
        held = sum(1 << card for card in set(line))
        busted = s.status[seat] == BUSTED
        if s.void[seat] > s.length[seat] or len(set(line)) != len(line):
            return f"the line of seat {seat} is shorter than its void, or holds a card twice"
        if (s.held[seat], s.numbers[seat], s.minus[seat]) != (held, sum_line(held), sum_minus(held)):
            return f"the sums of the line of seat {seat} are wrong"
        if s.over:
            if void or line:
                return f"seat {seat} has cards although the match is over"
        elif busted != bool(void) or (busted and (held & NUMBERS or (line and not s.brutal))):
            return f"seat {seat} has busted, or it has not"
        elif not _is_line(s, held, flips=s.flipper == seat) or (void and not _is_void(s, void)):
            return f"the line of seat {seat} is none"
    return None


def _is_line(s: Any, held: int, *, flips: bool) -> bool:
    """Whether a line without doubles can lie before its owner, who has flipped 7 or not."""
    both = 1 << SEVEN | 1 << UNLUCKY_7
    return held & both != both and is_flip_seven(held, s.pair_counts_twice) == flips


def _is_void(s: Any, void: list[int]) -> bool:
    """Whether these cards are a busted line, the double last."""
    *line, double = void
    held = sum(1 << card for card in set(line))
    return len(set(line)) == len(line) and _is_line(s, held, flips=False) and is_double(held, double)


def _check_cards(s: Any, agenda: list[Task]) -> str | None:
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
            cards.update([FLIP_FOUR, *(s.queue[i] for i in range(card + count, end))])
            end = card
        elif task in (STAY_TASK, GIVE_TASK, PICK_TASK):
            cards[card] += 1
    if [cards[kind] for kind in range(KINDS)] != list(COPIES):
        return f"the {DECK_SIZE} cards of the deck are not all there once"
    return None


def _check_decision(s: Any, agenda: list[Task]) -> str | None:
    """What is asked can be answered, and a first pick of a swap lies in a line."""
    card = agenda[-1][2] if agenda else NOBODY
    if s.phase == TURN and s.status[s.to_move] != ACTIVE:
        return "the seat to move is not active"
    if (s.phase == GIVE and not has_receiver(s, card)) or (s.phase == PICK and not may_receive(s, s.to_move, card)):
        return "nobody can carry out the card"
    if s.picked_seat != NOBODY:
        lies = s.status[s.picked_seat] != BUSTED and s.held[s.picked_seat] >> s.picked_card & 1
        if s.phase != PICK or card != SWAP or not lies:
            return "the first pick of a swap lies in no line"
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
