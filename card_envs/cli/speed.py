"""``card-envs speed``: decisions per second of every interface, beside games of other libraries."""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table as Grid

import card_envs
from card_envs.cli.measurements import Portion, Setting, list_measurements
from card_envs.cli.peers import PEERS
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
    settings = [Setting(card_envs.load_game(name), players) for name in games or card_envs.available_games()]
    for setting in settings:
        setting.game.resolve({"players": players})
    jobs = [job for job in _list_peer_jobs(players) if peers] + _list_jobs(settings, parse_batch_sizes(rows))
    results = [
        Result.measure(job, repeat, seconds)
        for job in track(jobs, "measuring", console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())
    ]
    rates = {result.name: result.median for result in results}
    report: dict[str, Any] = {
        "machine": describe_machine(),
        "players": players,
        "repeat": repeat,
        "seconds": seconds,
        "results": [result.facts(rates) for result in results],
    }
    if start:
        report["start"] = [
            {"game": setting.game.name} | facts for setting in settings for facts in time_first_steps(setting.game.name)
        ]
    if json:
        print_json(report)
    else:
        _show(report)


@dataclass(frozen=True)
class Job:
    """A measurement that is to be made."""

    game: str  # empty for a game of another library
    name: str
    what: str
    prepare: Callable[[], Portion]
    peer: str


def _list_jobs(settings: list[Setting], rows: list[int]) -> list[Job]:
    return [
        Job(setting.game.name, f"{setting.game.name} {m.interface}", m.what, _bind(m.prepare, setting), m.peer)
        for setting in settings
        for m in list_measurements(rows)
        if not m.needs or find_spec(m.needs)
    ]


def _list_peer_jobs(players: int) -> list[Job]:
    return [
        Job("", peer.name, peer.what, _bind(peer.prepare, players), "")
        for peer in PEERS
        if all(find_spec(module) for module in peer.needs)
    ]


def _bind(prepare: Callable[[Any], Portion], argument: object) -> Callable[[], Portion]:
    return lambda: prepare(argument)


@dataclass(frozen=True)
class Result:
    """Decisions per second in every repetition of a measurement."""

    job: Job
    rates: list[float]

    @classmethod
    def measure(cls, job: Job, repeat: int, seconds: float) -> Result:
        portion = job.prepare()
        portion()  # the warm-up: it compiles and fills caches
        return cls(job, [_measure_rate(portion, seconds) for _ in range(repeat)])

    @property
    def name(self) -> str:
        return self.job.name

    @property
    def median(self) -> float:
        return statistics.median(self.rates)

    def facts(self, rates: dict[str, float]) -> dict[str, Any]:
        """The result as JSON-able values. ``ratio`` compares it with the median of its peer, if that was measured too."""
        job = self.job
        ratio = self.median / rates[job.peer] if job.peer in rates else None
        return {
            "game": job.game,
            "name": job.name,
            "what": job.what,
            "median": self.median,
            "min": min(self.rates),
            "max": max(self.rates),
            "peer": job.peer if ratio else None,
            "ratio": ratio,
        }


def _measure_rate(portion: Portion, seconds: float) -> float:
    """Measure decisions per second over at least one portion and at least so many seconds."""
    decisions, spent = portion()
    while spent < seconds:
        more, took = portion()
        decisions, spent = decisions + more, spent + took
    return decisions / spent


def parse_batch_sizes(text: str) -> list[int]:
    """Read numbers of rows, as in ``"1,64"``; ``ValueError`` if they are not positive integers."""
    try:
        sizes = [int(part) for part in text.split(",")]
    except ValueError:
        sizes = [0]
    if min(sizes) < 1:
        raise ValueError(f"rows = {text!r}: whole numbers from 1 are expected, as in {ROWS}")
    return sizes


def describe_machine() -> dict[str, str]:
    """Name the machine and the versions that the figures belong to."""
    return {
        "processor": f"{platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        **{name: version(name) for name in ("card-envs", "numpy", "numba")},
    }


FIRST_STEP = """
import json, sys, time
start = time.perf_counter()
import card_envs
from card_envs.envs.aec import aec
imported = time.perf_counter()
env = aec(sys.argv[1], __name__)[0]()
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
