"""The commands about one solo round or a race of such rounds: solve, odds, reach, race."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import card_envs
from card_envs.console import Json, print_json, read_json
from card_envs.risk.cli.options import Csv, Gone, ModelName, Others, Out, Plot, Real, Rounds, Seed, Target, UseCache
from card_envs.risk.cli.output import describe_real_table, draw_picture, emit, format_cell, play_columns, show_progress
from card_envs.risk.frontier import tabulate_reach
from card_envs.risk.model import CAVEAT, Position, load_model, name_cards, parse_position
from card_envs.risk.odds import compute_odds
from card_envs.risk.race import TARGET, expect_rounds, solve_race
from card_envs.risk.solve import solve_model, solve_position
from card_envs.risk.tables import read_positions


def show_solution(
    model: ModelName = "special",
    threads: Annotated[int | None, typer.Option(min=1, help="By default all cores.", show_default=False)] = None,
    cache: UseCache = True,
    real: Real = None,
    others: Others = "ev",
    rounds: Rounds = 5000,
    seed: Seed = 0,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Solve a solo round for the most points.

    Models: base is base Flip 7 (79 number cards), plain the numbers 0 … 13 of Vengeance, special the same with Zero, Unlucky 7
    and Lucky 13. `seconds` is how long solving took at the time. With --real N the player `exact`, who plays this way on the
    deck as it lies, also plays the first round at a real table.
    """
    with show_progress(f"solving {model}") as progress:
        facts = solve_model(load_model(model), threads=threads, progress=progress, use_cache=cache).facts()
    if real is not None:
        facts |= play_columns("exact", others, real, rounds, seed) | describe_real_table(real, others, rounds, seed)
    if json:
        print_json({**facts, "caveat": CAVEAT})
    elif csv:
        emit([facts], json, csv)
    else:
        print("\n".join(f"{name:13} {format_cell(value)}" for name, value in facts.items()) + f"\n{CAVEAT}")


def show_odds(
    line: Annotated[
        str | None, typer.Argument(metavar="[CARDS]", help='A line such as "3 9 12 lucky13".', show_default=False)
    ] = None,
    gone: Gone = "",
    draws: Annotated[int, typer.Option(help="The largest number of forced draws, 1 … 7.")] = 4,
    record: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Show every seat of this recorded match.", show_default=False),
    ] = None,
    at: Annotated[
        int | None, typer.Option(help="How many actions of the record to replay; by default all.", show_default=False)
    ] = None,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Show the odds of a line, or of every seat of a recorded match.

    These are P(bust) of the next card, also given that it is a number card, and of forced draws, and what drawing and staying
    are worth.
    """
    if (line is None) == (record is None):
        raise ValueError('expected is either a line, as "3 9 12" ("" if it is empty), or --record FILE')
    if record is not None:
        emit(_list_seats(record, at), json, csv)
        return
    position = parse_position(line or "", gone)
    odds = compute_odds(position, draws)
    solution = solve_position(position)
    facts: dict[str, Any] = {"line": name_cards(position.line), **odds.facts(), "draw": solution.draw, "stay": solution.stay}
    rows = facts.pop("draws")
    facts["advice"] = "draw" if solution.stay is None or solution.draw > solution.stay else "stay"
    if json:
        print_json({**facts, "draws": rows, "caveat": CAVEAT})
    else:
        emit(rows, json, csv, facts)


def _list_seats(record: Path, at: int | None) -> list[dict[str, Any]]:
    """Return the odds of every seat of a recorded table after ``at`` of its actions."""
    played = read_json(record, "record")
    actions = played.get("actions")
    if at is not None and isinstance(actions, list):
        if not 0 <= at <= len(actions):
            raise ValueError(f"at = {at}: allowed are 0 … {len(actions)} actions")
        played |= {"actions": actions[:at]}
    return [
        {"seat": seat, "status": status, "line": name_cards(position.line), **_list_odds(position)}
        for seat, (status, position) in enumerate(read_positions(card_envs.replay(played)))
    ]


def _list_odds(position: Position) -> dict[str, Any]:
    odds = compute_odds(position, 4)
    four = odds.draws[-1] if odds.draws else None
    return {
        "score": odds.score,
        "bust": odds.bust,
        "bust_number": odds.bust_number,
        "flip7": odds.flip7,
        "gain": odds.draws[0].gain if odds.draws else None,
        "bust_in_4": four.bust if four else None,
        "flip7_in_4": four.flip7 if four else None,
    }


def show_reach(
    model: ModelName = "plain",
    targets: Annotated[str, typer.Option(metavar="N,…|N-N", help="The points that are needed.")] = "1-80",
    line: Annotated[
        str | None, typer.Option(metavar="CARDS", help="Start from this line, with the special cards.", show_default=False)
    ] = None,
    gone: Gone = "",
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Show the best chance to score a target or more ("I need 34")."""
    position = load_model(model).start if line is None else parse_position(line, gone)
    with show_progress("solving") as progress:
        emit([vars(row) for row in tabulate_reach(position, _parse_numbers(targets), progress)], json, csv)


def _parse_numbers(text: str) -> list[int]:
    """Parse whole numbers such as ``20,34`` or ``1-80``."""
    try:
        if "-" in text:
            low, high = text.split("-")
            numbers = list(range(int(low), int(high) + 1))
        else:
            numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers:
        raise ValueError(f"targets = {text!r}: expected are whole numbers, as 20,34 or 1-80")
    return numbers


def show_race(
    model: ModelName = "plain",
    target: Target = TARGET,
    step: Annotated[int, typer.Option(min=1, help="The step between the totals that are shown.")] = 20,
    cache: UseCache = True,
    plot: Plot = False,
    out: Out = None,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Show the race of two to the target: win probabilities, and the sum to stay at, by both totals.

    A win-optimal player meets a points-optimal one, both playing solo rounds of the model.
    """
    with show_progress(f"racing {model}") as progress:
        race = solve_race(model, target, progress=progress, use_cache=cache)
    usual, fewest = expect_rounds(model, target)
    totals = range(0, target, step)
    facts: dict[str, Any] = {
        "model": model,
        "target": target,
        "win": float(race.wins[0, 0]),
        "rounds_points": usual,
        "rounds_fewest": fewest,
        "seconds": race.seconds,
        "cached": race.cached,
    }
    if json or csv:
        cells = [
            {"mine": a, "theirs": b, "win": float(race.wins[a, b]), "threshold": int(race.thresholds[a, b])}
            for a in totals
            for b in totals
        ]
        emit(cells, json, csv, facts)
    else:
        rows = [
            {"mine ↓ theirs →": a, **{str(b): f"{race.wins[a, b]:.2f} {race.thresholds[a, b]}" for b in totals}} for a in totals
        ]
        emit(rows, json, csv, facts | {"cells": "win probability, and the sum to stay at"})

    def picture() -> Any:
        from card_envs.risk.cli.plots import plot_race

        return plot_race(race)

    draw_picture(plot, out, "race", picture)
