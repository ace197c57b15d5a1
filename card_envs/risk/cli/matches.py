"""The commands about whole matches: review and losses."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from card_envs.console import Json, read_json
from card_envs.risk.cli.options import Csv, Others, Seats, Seed, Unit
from card_envs.risk.cli.output import emit
from card_envs.risk.loss import review
from card_envs.risk.simulate import measure_losses


def show_review(
    record: Annotated[Path, typer.Argument(metavar="RECORD", help="A record as `card-envs play --save` writes it.")],
    unit: Unit = "points",
    worst: Annotated[int, typer.Option(min=0, help="How many of the worst to show; 0 shows all in order.")] = 10,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Show what each choice between drawing and staying in a recorded match gave away, the worst first."""
    try:
        decisions = review(read_json(record, "record"), unit)
    except ValueError as error:
        raise ValueError(f"{record}: {error}") from None
    seats = sorted({decision.seat for decision in decisions})
    losses = {str(seat): sum(d.loss for d in decisions if d.seat == seat) for seat in seats}
    choices = {str(seat): sum(d.seat == seat for d in decisions) for seat in seats}
    shown = sorted(decisions, key=lambda d: -d.loss)[:worst] if worst else decisions
    if json:
        emit([d.facts() for d in shown], json, csv, {"unit": unit, "choices": len(decisions), "loss": losses})
    else:
        facts = {f"seat {seat}": f"{loss:.4f} in {choices[seat]} choices" for seat, loss in losses.items()}
        emit([d.facts() for d in shown], json, csv, {"unit": unit, **facts})


def show_losses(
    player: Annotated[str, typer.Argument(metavar="SPEC", help="A player.")],
    others: Others = "ev",
    players: Seats = 4,
    matches: Annotated[int, typer.Option(min=2, help="Matches to play.")] = 1000,
    unit: Unit = "points",
    seed: Seed = 0,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Measure what a player's choices between drawing and staying give away in many matches."""
    losses = measure_losses(player, others, players=players, matches=matches, unit=unit, seed=seed)
    facts = losses.facts()
    rows = facts.pop("worst")
    if not json:
        facts["per_round"] = losses.per_round
    emit(rows, json, csv, facts)
