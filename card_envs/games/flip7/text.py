"""Flip 7 in words: the game's part of ``Table.state()``, and its picture."""

from __future__ import annotations

from typing import Any

from card_envs.engine.game import Options
from card_envs.games.flip7.state import (
    ACTIVE, CARDS, DEAL_TASK, FLIP_FOUR, GIVE, JUST_ONE_MORE, NOBODY, PICK, PICK_TASK, QUEUE_TASK, STATUS, STAY_TASK,
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
