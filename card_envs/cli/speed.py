"""``card-envs speed``: decisions per second of every interface, beside games of other libraries."""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from importlib.metadata import version
from importlib.util import find_spec
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table as Grid

import card_envs
from card_envs.cli.arguments import parse_numbers
from card_envs.cli.measurements import list_measurements
from card_envs.cli.peers import list_peer_measurements
from card_envs.cli.timing import Measurement, measure_rates
from card_envs.console import Json, print_json, table_console

ROWS = "1,64,1024,8192"


def speed(
    games: Annotated[
        list[str] | None, typer.Argument(metavar="[GAME]...", help="By default all games.", show_default=False)
    ] = None,
    players: Annotated[int, typer.Option(help="Seats at the table.")] = 4,
    rows: Annotated[str, typer.Option(metavar="N,…", help="Numbers of rows of a batch.")] = ROWS,
    repeat: Annotated[int, typer.Option(min=1, help="Repetitions after a warm-up.")] = 5,
    seconds: Annotated[float, typer.Option(min=0.0, help="The least length of a repetition.")] = 0.2,
    peers: Annotated[bool, typer.Option(help="Also measure other libraries if they are installed.")] = True,
    start: Annotated[bool, typer.Option("--start", help="Also time the first step with a cold and with a warm cache.")] = False,
    json: Json = False,
) -> None:
    """Measure decisions per second.

    Play is random. The figures are medians; other libraries are measured in the same run.
    """
    chosen = [card_envs.load_game(name) for name in games or card_envs.available_games()]
    for game in chosen:
        game.resolve({"players": players})
    sizes = parse_numbers("rows", rows, ROWS)
    candidates = list_peer_measurements(players) if peers else []
    candidates += [measurement for game in chosen for measurement in list_measurements(game, players, sizes)]
    measurements = [measurement for measurement in candidates if all(map(find_spec, measurement.needs))]
    bar: Iterable[Measurement] = measurements
    if sys.stderr.isatty():
        bar = track(measurements, "measuring", console=Console(stderr=True), transient=True)
    medians: dict[str, float] = {}
    results = []
    for measurement in bar:  # those of other libraries come first
        rates = measure_rates(measurement, repeat, seconds)
        medians[measurement.name] = statistics.median(rates)
        results.append(describe_result(measurement, rates, medians))
    report: dict[str, Any] = {
        "machine": describe_machine(),
        "players": players,
        "repeat": repeat,
        "seconds": seconds,
        "results": results,
    }
    if start:
        report["start"] = [{"game": game.name} | facts for game in chosen for facts in time_first_steps(game.name)]
    if json:
        print_json(report)
    else:
        _show(report)


def describe_result(measurement: Measurement, rates: list[float], medians: dict[str, float]) -> dict[str, Any]:
    """Return a result as JSON-able values. ``ratio`` compares it with the median of its peer, if that was measured too."""
    median = statistics.median(rates)
    ratio = median / medians[measurement.peer] if measurement.peer in medians else None
    return {
        "game": measurement.game,
        "name": measurement.name,
        "what": measurement.what,
        "median": median,
        "min": min(rates),
        "max": max(rates),
        "peer": measurement.peer if ratio else None,
        "ratio": ratio,
    }


def describe_machine() -> dict[str, str]:
    """Return the machine and the versions that the figures belong to."""
    return {
        "processor": f"{platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        **{name: version(name) for name in ("card-envs", "numpy", "numba")},
    }


FIRST_STEP = """
import json, sys, time
start = time.perf_counter()
import card_envs
from card_envs.envs.aec import make_classes
imported = time.perf_counter()
env = make_classes(sys.argv[1], __name__)[0]()
env.reset(seed=1)
env.step(int(env.last()[0]["action_mask"].argmax()))
print(json.dumps([imported - start, time.perf_counter() - imported]))
"""


def time_first_steps(game: str) -> list[dict[str, Any]]:
    """Time the import of the package and the first step in a new process, with a cold cache of numba and with a warm one."""
    times = []
    with tempfile.TemporaryDirectory() as cache:
        for kind in ("cold", "warm"):
            command = [sys.executable, "-c", FIRST_STEP, game]
            environment = os.environ | {"NUMBA_CACHE_DIR": cache}
            out = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
            imported, stepped = out.strip("[]\n").split(",")
            times.append({"cache": kind, "import": float(imported), "first_step": float(stepped)})
    return times


def _show(report: dict[str, Any]) -> None:
    console = table_console()
    grid = Grid("what", "", "decisions/s", "lowest", "highest", "", "beside", box=None, pad_edge=False)
    for column in (2, 3, 4, 5):
        grid.columns[column].justify = "right"
    for result in report["results"]:
        figures = [f"{result[key]:,.0f}" for key in ("median", "min", "max")]
        ratio = f"{result['ratio']:.1f} ×" if result["ratio"] else ""
        grid.add_row(result["name"], result["what"], *figures, ratio, result["peer"] or "")
    console.print(grid)
    for first in report.get("start", []):
        console.print(
            f"{first['game']}, {first['cache']} cache: import {first['import']:.2f} s, first step {first['first_step']:.2f} s"
        )
    about = ", ".join(f"{key} {value}" for key, value in report["machine"].items())
    console.print(
        f"\nRandom legal play, {report['players']} players; medians of {report['repeat']} repetitions of"
        f" {report['seconds']:g} s or more, after a warm-up ({about}). On a shared machine compare figures of one run only."
    )
