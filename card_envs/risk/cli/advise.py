"""The command ``card-envs risk advise``: the advisor at a terminal, or for a program that reads its answers."""

from __future__ import annotations

import copy
import sys
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from card_envs.console import Json, print_json
from card_envs.games.flip7.state import MAX_PLAYERS
from card_envs.risk.advisor import HELP, ME, Advisor
from card_envs.risk.cli.options import Csv
from card_envs.risk.cli.output import emit
from card_envs.risk.model import CAVEAT
from card_envs.risk.race import TARGET


def run_advisor(
    players: Annotated[int, typer.Option(min=2, max=MAX_PLAYERS, help="Seats; you are seat 0.")] = 2,
    target: Annotated[int, typer.Option(min=1, help="Points that end the match.")] = TARGET,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Type the cards of your table as they fall, and be told what you risk and what drawing and staying are worth.

    `?` shows what can be typed. With --json or --csv there is an answer to each line, without prompts.
    """
    advisor = Advisor(players, target)
    quiet = json or csv
    before: list[Advisor] = []
    if not quiet:
        print(HELP)
    while True:
        try:
            text = (input() if quiet else input("> ")).strip()
        except EOFError:
            return
        if text in ("quit", "exit", "q"):
            return
        if text in ("?", "help"):
            print(HELP)
            continue
        if not text:
            continue
        try:
            if text == "undo":
                if not before:
                    raise ValueError("there is nothing to undo")
                advisor = before.pop()
            else:
                following = copy.deepcopy(advisor)
                following.tell(text)
                before.append(advisor)
                advisor = following
        except ValueError as error:
            print(error, file=sys.stderr if quiet else sys.stdout)
            continue
        answer = advisor.advise()
        if json:
            print_json({**answer, "caveat": CAVEAT})
        elif csv:
            own = (answer["advice"] or {}).get("advice")
            emit([{**seat, "advice": own if seat["seat"] == ME else None} for seat in answer["seats"]], json, csv)
        else:
            _say(answer)


def _say(answer: Mapping[str, Any]) -> None:
    """Print an answer for a person."""
    for seat in answer["seats"]:
        name = "you   " if seat["seat"] == ME else f"seat {seat['seat']}"
        risks = (
            f"{seat['score']:3} points  bust {seat['bust']:.1%} ({seat['bust_number']:.1%} of number cards)"
            if "bust" in seat
            else ""
        )
        print(f"{name}  {seat['status']:7} {' '.join(seat['line']):24} {risks}")
    own = answer["advice"]
    if own is None:
        return
    if "draw" not in own:
        print(f"advice: draw ({own['why']})")
        return
    print(f"points: {own['advice']} (draw {own['draw']:.2f}, stay {own['stay']:.2f})")
    print(
        f"winning: {own['win_advice']} (draw {own['win_draw']:.1%}, stay {own['win_stay']:.1%}: a race with the best opponent)"
    )
    print(CAVEAT)
