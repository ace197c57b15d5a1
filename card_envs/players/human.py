"""A person at a terminal."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from card_envs.engine.table import Table
from card_envs.players.player import Decisions

GLUE = "\N{NO-BREAK SPACE}"  # replaces spaces at which a line must not be broken
HELP = "answer with a number or an action; `?` or `odds` shows the odds, `quit` stops"


class Quit(Exception):  # noqa: N818 (a request, not an error)
    """The person wants to stop."""


class Human:
    """A person who sees the table as their seat sees it, and is asked until they answer with a legal action.

    ``act`` raises :class:`Quit` when the answer is ``quit``.

    Args:
        ask: Takes a prompt and returns a line, or raises ``EOFError`` if there are no more; by default ``input``.
        tell: Takes a text and shows it; by default ``print``.
    """

    def __init__(self, ask: Callable[[str], str] | None = None, tell: Callable[[str], None] | None = None) -> None:
        # looked up now: libraries such as Ray replace `print`, and the function that was replaced could not be pickled
        self.ask = input if ask is None else ask
        self.tell = print if tell is None else tell

    def act(self, decisions: Decisions) -> NDArray[np.int64]:
        # the hidden cards of these tables are dealt anew, so that the true ones cannot be shown even by mistake
        answers = [self._decide(decisions, row, table) for row, table in enumerate(decisions.tables())]
        return np.array(answers, np.int64)

    def _decide(self, decisions: Decisions, row: int, table: Table) -> int:
        seat = int(decisions.seat[row])
        legal = np.flatnonzero(decisions.action_mask[row]).tolist()
        strings = [table.action_string(action) for action in legal]
        self.tell(f"\n{table.picture(seat)}")
        choices = (f"{number} {text}".replace(" ", GLUE) for number, text in enumerate(strings, 1))
        width = shutil.get_terminal_size().columns  # 80 if there is no terminal
        self.tell(textwrap.fill("   ".join(choices), width).replace(GLUE, " "))
        while True:
            answer = " ".join(self.ask(f"seat {seat}> ").split())
            if answer in strings:
                return int(legal[strings.index(answer)])
            if answer.isdecimal() and 1 <= int(answer) <= len(legal):
                return int(legal[int(answer) - 1])
            if answer in ("quit", "exit", "q"):
                raise Quit
            if answer in ("?", "odds"):
                self.tell(describe_odds(decisions, row))
            else:
                wrong = f"{answer!r} is not a legal action here; " if answer not in ("", "help") else ""
                self.tell(wrong + HELP)

    def __repr__(self) -> str:
        return "<player human>"


def describe_odds(decisions: Decisions, row: int) -> str:
    """Describe the observation fields that hold a probability for each seat (``p_…``)."""
    seat, players = int(decisions.seat[row]), decisions.players
    lines = []
    for name, field in decisions.game.observation_fields(decisions.options).items():
        if name.startswith("p_") and field.shape == (players,):
            values = decisions.observation[row, field.slice] * field.scale
            by_seat = np.roll(values, seat)  # observations begin with the seat to move
            listed = ", ".join(f"seat {other} {value:.1%}" for other, value in enumerate(by_seat))
            lines.append(f"{name} ({field.meaning}): {listed}")
    return "\n".join(lines) or f"{decisions.game.name} has no odds to show"
