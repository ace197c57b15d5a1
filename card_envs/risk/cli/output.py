"""How the commands print: a table, CSV or JSON, always with the caveat, and progress on stderr."""

from __future__ import annotations

import csv as csvlib
import io
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress

from card_envs.arena import Estimate
from card_envs.console import make_grid, print_json, table_console
from card_envs.engine.files import write_file
from card_envs.risk.model import CAVEAT
from card_envs.risk.simulate import Rate, play_real_round


@contextmanager
def show_progress(what: str) -> Iterator[Callable[[float], None]]:
    """Show a bar on stderr, if that is a terminal.

    Yields:
        A function to be called with the part of the work that is done, 0 … 1.
    """
    if not sys.stderr.isatty():  # where a bar that is disabled still prints an empty line, up to rich 14.2
        yield lambda part: None
        return
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=1.0)
        yield lambda part: progress.update(task, completed=part)


def emit(rows: Sequence[Mapping[str, Any]], json: bool, csv: bool, facts: Mapping[str, Any] | None = None) -> None:
    """Print rows as a table below the facts, as CSV without them, or as JSON with the facts around the rows."""
    if json:
        print_json({**(facts or {}), "rows": [dict(row) for row in rows], "caveat": CAVEAT})
        return
    columns = list(dict.fromkeys(name for row in rows for name in row))
    if csv:
        writer = csvlib.DictWriter(sys.stdout, columns)
        writer.writeheader()
        writer.writerows(rows)
    else:
        console = table_console()
        for name, value in (facts or {}).items():
            console.print(f"{name}: {format_cell(value)}")
        console.print(make_grid(columns, ([format_cell(row.get(column)) for column in columns] for row in rows)))
    print(CAVEAT, file=sys.stderr if csv else sys.stdout)


def format_cell(value: Any) -> str:
    """Return a value as it is printed in a table."""
    if isinstance(value, float):
        return f"{value:.4f}"
    if isinstance(value, list | tuple):
        return " ".join(str(part) for part in value)
    return "" if value is None else str(value)


def draw_picture(plot: bool, out: Path | None, name: str, make: Callable[[], Any]) -> None:
    """If a picture is asked for, write the one that ``make`` returns to ``out``, or to ``risk-<name>.png``."""
    if plot or out is not None:
        file = out or Path(f"risk-{name}.png")
        picture = io.BytesIO()
        make().savefig(picture, dpi=150, format=file.suffix[1:] or None)
        write_file(file, picture.getvalue())
        print(f"picture: {file}", file=sys.stderr)


def describe_real_table(players: int, others: str, rounds: int, seed: int) -> dict[str, Any]:
    """Return the facts about the real table whose figures are beside the exact ones."""
    return {"players": players, "others": others, "n": rounds, "seed": seed}


def play_columns(spec: str | None, others: str, players: int, rounds: int, seed: int, adjust: bool = True) -> dict[str, Any]:
    """Return the columns of the real table for the player ``spec``; they are empty if no player follows the strategy."""
    if spec is None:
        adjusted = ["real_adjusted", "factor"] if adjust else []
        return dict.fromkeys(["player", "real_mean", *adjusted, "real_bust", "real_flip7"])
    real = play_real_round(spec, others, players=players, rounds=rounds, seed=seed, adjust=adjust)
    return {
        "player": spec,
        "real_mean": format_interval(real.mean),
        **({"real_adjusted": format_interval(real.adjusted), "factor": real.factor} if real.adjusted else {}),
        "real_bust": format_interval(real.bust),
        "real_flip7": format_interval(real.flip7),
    }


def format_interval(part: Estimate | Rate) -> str:
    """Return a mean with the ends of its interval."""
    return f"{part.mean:.3f} [{part.low:.3f}, {part.high:.3f}]"
