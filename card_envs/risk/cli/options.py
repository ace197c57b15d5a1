"""Options that several commands have, and what they mean."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ModelName = Annotated[str, typer.Option("--model", help="base, plain or special: see `card-envs risk solve --help`.")]
UseCache = Annotated[bool, typer.Option("--cache/--no-cache", help="Use and keep results in the cache folder.")]
Gone = Annotated[
    str, typer.Option("--gone", metavar="CARDS", help="Cards that are out of the deck besides: other lines, the discard pile.")
]
Unit = Annotated[str, typer.Option(help="points, or win: the probability of winning the race.")]
Target = Annotated[int, typer.Option(help="Points that end the match.")]

# the real table
Real = Annotated[
    int | None, typer.Option(min=2, max=12, help="Beside it, the first round at a real table of so many.", show_default=False)
]
Others = Annotated[str, typer.Option(metavar="SPEC", help="Who else sits at the table.")]
Seats = Annotated[int, typer.Option("--players", min=2, max=12, help="Seats at the table.")]
Rounds = Annotated[int, typer.Option(min=2, help="Rounds played there.")]
Seed = Annotated[int, typer.Option(help="Of the deals.")]

# output
Csv = Annotated[bool, typer.Option("--csv", help="Print CSV.")]
Plot = Annotated[bool, typer.Option("--plot", help="Also draw a picture: risk-….png here, or --out.")]
Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE", help="Where to write the picture (.png, .svg, .pdf).", show_default=False),
]
