"""``card-envs speed``: decisions a second of every door, with other libraries beside them."""

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
from card_envs.cli.measure import Portion, Setting, measurements
from card_envs.cli.peers import PEERS
from card_envs.console import Json, print_json, table_console

ROWS = "1,64,1024,8192"


def speed(
    games: Annotated[list[str] | None, typer.Argument(metavar="[GAME]...", help="By default all.", show_default=False)] = None,
    players: Annotated[int, typer.Option(help="Seats at the table.")] = 4,
    rows: Annotated[str, typer.Option(metavar="N,…", help="Batch sizes.")] = ROWS,
    repeat: Annotated[int, typer.Option(min=1, help="Repetitions, after a warm-up.")] = 5,
    seconds: Annotated[float, typer.Option(min=0.0, help="Length of a repetition, at least.")] = 0.2,
    peers: Annotated[bool, typer.Option(help="Measure other libraries too, where installed.")] = True,
    start: Annotated[bool, typer.Option("--start", help="Also time the first step, with a cold and a warm cache.")] = False,
    json: Json = False,
) -> None:
    """Measure decisions per second.

    Random play; medians, and beside them other libraries in the same run.
    """
    settings = [Setting(card_envs.load_game(name), players) for name in games or card_envs.available_games()]
    for setting in settings:
        setting.game.resolve({"players": players})
    jobs = [job for job in _peer_jobs(players) if peers] + _jobs(settings, batch_sizes(rows))
    results = [
        Result.of(job, repeat, seconds)
        for job in track(jobs, "measuring", console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())
    ]
    rates = {result.name: result.median for result in results}
    report: dict[str, Any] = {
        "machine": machine(),
        "players": players,
        "repeat": repeat,
        "seconds": seconds,
        "results": [result.facts(rates) for result in results],
    }
    if start:
        report["start"] = [{"game": setting.game.name} | facts for setting in settings for facts in starts(setting.game.name)]
    if json:
        print_json(report)
    else:
        _show(report)


@dataclass(frozen=True)
class Job:
    """A measurement to be made."""

    game: str  # empty for a peer
    name: str
    what: str
    prepare: Callable[[], Portion]
    peer: str


def _jobs(settings: list[Setting], rows: list[int]) -> list[Job]:
    return [
        Job(setting.game.name, f"{setting.game.name} {m.door}", m.what, _bound(m.prepare, setting), m.peer)
        for setting in settings
        for m in measurements(rows)
        if not m.needs or find_spec(m.needs)
    ]


def _peer_jobs(players: int) -> list[Job]:
    return [
        Job("", peer.name, peer.what, _bound(peer.prepare, players), "")
        for peer in PEERS
        if all(find_spec(module) for module in peer.needs)
    ]


def _bound(prepare: Callable[[Any], Portion], argument: object) -> Callable[[], Portion]:
    return lambda: prepare(argument)


@dataclass(frozen=True)
class Result:
    """Decisions per second of every repetition."""

    job: Job
    rates: list[float]

    @classmethod
    def of(cls, job: Job, repeat: int, seconds: float) -> Result:
        portion = job.prepare()
        portion()  # compiles, fills caches
        return cls(job, [_rate(portion, seconds) for _ in range(repeat)])

    @property
    def name(self) -> str:
        return self.job.name

    @property
    def median(self) -> float:
        return statistics.median(self.rates)

    def facts(self, rates: dict[str, float]) -> dict[str, Any]:
        """JSON-able; ``ratio`` to the median of the peer, if that was measured too."""
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


def _rate(portion: Portion, seconds: float) -> float:
    """Decisions per second over portions that last ``seconds`` together, one at least."""
    decisions, spent = portion()
    while spent < seconds:
        more, took = portion()
        decisions, spent = decisions + more, spent + took
    return decisions / spent


def batch_sizes(text: str) -> list[int]:
    """``"1,64"`` → ``[1, 64]``."""
    try:
        sizes = [int(part) for part in text.split(",")]
    except ValueError:
        sizes = [0]
    if min(sizes) < 1:
        raise ValueError(f"rows = {text!r}: expected are whole numbers from 1, as {ROWS}")
    return sizes


def machine() -> dict[str, str]:
    """What the figures belong to."""
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


def starts(game: str) -> list[dict[str, Any]]:
    """Seconds to import the package and to play the first step in a new process: with an empty cache of numba, then with it."""
    found = []
    with tempfile.TemporaryDirectory() as cache:
        for kind in ("cold", "warm"):
            command = [sys.executable, "-c", FIRST_STEP, game]
            environment = os.environ | {"NUMBA_CACHE_DIR": cache}
            out = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
            imported, stepped = out.strip("[]\n").split(",")
            found.append({"cache": kind, "import": float(imported), "first_step": float(stepped)})
    return found


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
    for begun in report.get("start", []):
        console.print(
            f"{begun['game']}, {begun['cache']} cache: import {begun['import']:.2f} s, first step {begun['first_step']:.2f} s"
        )
    about = ", ".join(f"{key} {value}" for key, value in report["machine"].items())
    console.print(
        f"\nRandom legal play, {report['players']} players; medians of {report['repeat']} repetitions of"
        f" {report['seconds']:g} s or more, after a warm-up ({about}). On a shared machine compare figures of one run only."
    )
