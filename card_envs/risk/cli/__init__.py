"""``card-envs risk …``: odds, optimal stopping and what decisions cost, in Flip 7."""

from __future__ import annotations

import typer
from typer.core import TyperGroup

from card_envs.risk.cli import advise, compare, matches, solo

app = typer.Typer(
    name="risk",
    cls=TyperGroup,
    help="Bust risk in Flip 7: exact odds, optimal stopping, what decisions cost.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

app.command("solve")(solo.show_solution)
app.command("odds")(solo.show_odds)
app.command("table")(compare.show_table)
app.command("reach")(solo.show_reach)
app.command("sweep")(compare.show_sweep)
app.command("frontier")(compare.show_frontier)
app.command("race")(solo.show_race)
app.command("advise")(advise.run_advisor)
app.command("review")(matches.show_review)
app.command("losses")(matches.show_losses)
