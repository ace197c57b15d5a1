"""How the commands print: a table, CSV or JSON, the caveat always with it, and progress on stderr."""

from __future__ import annotations

import csv as csvlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table as Grid

from card_envs.console import print_json, table_console
from card_envs.risk.model import CAVEAT
from card_envs.risk.simulate import play_real_round


@contextmanager
def show_progress(what: str) -> Iterator[Callable[[float], None]]:
    """A progress bar on stderr, at a terminal; it gives a function to call with the part that is done, 0 … 1."""
    with Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as progress:
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
        grid = Grid(*columns, box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for row in rows:
            grid.add_row(*(format_cell(row.get(column)) for column in columns))
        console = table_console()
        for name, value in (facts or {}).items():
            console.print(f"{name}: {format_cell(value)}")
        console.print(grid)
    print(CAVEAT, file=sys.stderr if csv else sys.stdout)


def format_cell(value: Any) -> str:
    """A value as it stands in a table."""
    if isinstance(value, float):
        return f"{value:.4f}"
    if isinstance(value, list | tuple):
        return " ".join(str(part) for part in value)
    return "" if value is None else str(value)


def draw_picture(plot: bool, out: Path | None, name: str, make: Callable[[], Any]) -> None:
    """Write the picture that ``make`` makes, if one is asked for: to ``out``, or to ``risk-<name>.png``."""
    if plot or out is not None:
        file = out or Path(f"risk-{name}.png")
        make().savefig(file, dpi=150)
        print(f"picture: {file}", file=sys.stderr)


def describe_real_table(players: int, others: str, rounds: int, seed: int) -> dict[str, Any]:
    """The facts about the real table whose figures stand beside the exact ones."""
    return {"players": players, "others": others, "n": rounds, "seed": seed}


def play_columns(spec: str | None, others: str, players: int, rounds: int, seed: int, adjust: bool = True) -> dict[str, Any]:
    """The columns of the real table: what the player ``spec`` gets there; empty where no player plays so."""
    columns = ["player", "real_mean", "real_adjusted", "factor", "real_bust", "real_flip7"]
    if not adjust:
        columns = [name for name in columns if name not in ("real_adjusted", "factor")]
    if spec is None:
        return dict.fromkeys(columns)
    real = play_real_round(spec, others, players=players, rounds=rounds, seed=seed, adjust=adjust)
    values = {
        "player": spec,
        "real_mean": format_interval(real.mean),
        "real_adjusted": format_interval(real.adjusted),
        "factor": real.factor,
        "real_bust": format_interval(real.bust),
        "real_flip7": format_interval(real.flip7),
    }
    return {name: values[name] for name in columns}


def format_interval(part: Any) -> str | None:
    """A mean and the ends of its interval."""
    return None if part is None else f"{part.mean:.3f} [{part.low:.3f}, {part.high:.3f}]"
