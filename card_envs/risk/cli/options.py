"""The options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ModelName = Annotated[str, typer.Option("--model", help="base, plain or special: see `card-envs risk solve --help`.")]
UseCache = Annotated[bool, typer.Option("--cache/--no-cache", help="Use and keep results in the cache folder.")]
Gone = Annotated[
    str, typer.Option("--gone", metavar="CARDS", help="Other cards that are out of the deck: other lines, the discard pile.")
]
Unit = Annotated[str, typer.Option(help="points, or win for the probability of winning the race.")]
Target = Annotated[int, typer.Option(help="Points that end the match.")]

# the real table
Real = Annotated[
    int | None,
    typer.Option(min=2, max=12, help="Also play the first round at a real table of N.", show_default=False),
]
Others = Annotated[str, typer.Option(metavar="SPEC", help="The player in each of the other seats.")]
Seats = Annotated[int, typer.Option("--players", min=2, max=12, help="Seats at the table.")]
Rounds = Annotated[int, typer.Option(min=2, help="Rounds to play at the real table.")]
Seed = Annotated[int, typer.Option(help="The seed of the deals.")]

# output
Csv = Annotated[bool, typer.Option("--csv", help="Print CSV.")]
Plot = Annotated[bool, typer.Option("--plot", help="Also draw a picture: risk-….png here, or --out.")]
Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE", help="Where to write the picture (.png, .svg, .pdf).", show_default=False),
]
