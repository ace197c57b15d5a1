"""``card-envs bench GAME PLAYER PLAYER …``: which player is better, and how sure that is."""

from __future__ import annotations

import json as jsonlib
import os
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from typer.core import TyperCommand

import card_envs
from card_envs.arena.bench import Bench, read_report
from card_envs.arena.panel import panel as panel_of
from card_envs.arena.report import gate_line, markdown, show
from card_envs.arena.run import Done, Roster, Threads, Workers
from card_envs.arena.statistics import EDGE
from card_envs.cli.arguments import GameName, OptionWords
from card_envs.console import table_console
from card_envs.players.network import write_atomically

LOCAL = "local"
FORMATS = (".png", ".svg", ".pdf")


def bench(
    game: GameName,
    specs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PLAYER]...", help="Built-in players, module:factory or .safetensors files.", show_default=False
        ),
    ] = None,
    players: Annotated[
        str | None, typer.Option(metavar="N,…", help="Numbers of seats, each a league of its own.", show_default=False)
    ] = None,
    option: OptionWords = None,
    panel: Annotated[
        bool, typer.Option("--panel", help="Play the game's panel, and PLAYERs among it: its players, options and deals.")
    ] = False,
    matches: Annotated[
        int | None,
        typer.Option(help="Matches of each line-up, rounded up to whole blocks (by default 2000).", show_default=False),
    ] = None,
    until_sure: Annotated[
        bool, typer.Option("--until-sure", help="A sequential test of each player against the baseline, however long it takes.")
    ] = False,
    baseline: Annotated[str | None, typer.Option(metavar="PLAYER", help="Whom to be better than.", show_default=False)] = None,
    edge: Annotated[float, typer.Option(help="Wins over the fair share that the test is to tell from 0.")] = EDGE,
    gate: Annotated[
        str | None,
        typer.Option(metavar="'A > B'", help="Exit with 1 unless A is shown to be better than B.", show_default=False),
    ] = None,
    deal_list: Annotated[str | None, typer.Option(help="train, tune or report (the default).", show_default=False)] = None,
    seed: Annotated[int | None, typer.Option(help="Of the deals (by default 0).", show_default=False)] = None,
    threads: Annotated[int, typer.Option(help="Threads that play; the results are the same.")] = 1,
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="[ADDRESS]",
            help="Play on a Ray cluster; without an address on one that is started here.",
            show_default=False,
        ),
    ] = None,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the report as JSON.", show_default=False)] = None,
    markdown_file: Annotated[
        Path | None, typer.Option("--markdown", metavar="FILE", help="Write the report as Markdown.", show_default=False)
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw ratings and cross-table: .png, .svg, .pdf.", show_default=False)
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Go on from this JSON, and write it anew (or to --json).", show_default=False),
    ] = None,
) -> None:
    """Settle which players are better.

    The same deals for every line-up, each in all seat rotations; ratings and a cross-table with honest intervals. Ctrl-C
    prints the report on what has been played.
    """
    it = card_envs.load_game(game)
    sizes = None if players is None else numbers(players)
    arguments: dict[str, Any] = {"tables": sizes, "matches": matches, "deal_list": deal_list or "report", "seed": seed or 0}
    options = it.read_options(option or ())
    named = list(specs or [])
    if panel:
        arguments, options, named = with_panel(game, arguments, named, {"option": option, "deal-list": deal_list, "seed": seed})
    elif "players" in options:
        if sizes is not None:
            raise ValueError("the number of players is given twice")
        arguments["tables"] = [options.pop("players")]
    bench = Bench.of(
        it, named, **arguments, until_sure=until_sure, baseline=baseline, edge=edge, gate=gate, **options
    )  # fmt: skip
    if resume is not None:
        bench.resume(read_report(resume), str(resume))
    if plot is not None and find_spec("matplotlib") is None:
        raise ValueError("matplotlib is not installed: pip install 'card-envs[plot]' brings it")
    if plot is not None and plot.suffix not in FORMATS:
        raise ValueError(f"plot: {plot} ends in {plot.suffix or 'nothing'!r}; allowed are {', '.join(FORMATS)}")
    target = json or resume
    files = [file for file in (target, markdown_file, plot) if file is not None]
    for file in files:
        check_writable(file)  # told now, not after the run
    if len({file.resolve() for file in files}) < len(files):
        raise ValueError("json, markdown and plot are to be different files")
    failed: list[str] = []
    with one_interrupt():
        with workers_of(bench.benchmark.roster, threads, ray) as workers, progress_bar(bench) as done:
            try:
                bench.play(workers, done)
            except Exception as error:
                failed.append(f"the run broke off ({type(error).__name__}: {error}); the report is on what had been played")
        if bench.interrupted:
            print("writing the report …", file=sys.stderr)
        report = bench.report("card-envs " + shlex.join(sys.argv[1:]))
        failed += attempt(write_json, report, target)
        show(report, table_console())
        failed += attempt(write_markdown, report, markdown_file)
        failed += attempt(write_plot, report, plot)
    if failed:
        raise ValueError("; ".join(failed))
    if bench.interrupted:
        raise typer.Exit(130)
    found = report["results"]["gate"]
    if found is not None and not found["shown"]:
        print(f"card-envs: {gate_line(found)}", file=sys.stderr)
        raise typer.Exit(1)


def check_writable(file: Path) -> None:
    """``ValueError`` if a file cannot be written."""
    folder = file.resolve().parent
    if not folder.is_dir():
        raise ValueError(f"{file} cannot be written: {folder} is no folder")
    if file.is_dir():
        raise ValueError(f"{file} cannot be written: it is a folder")
    if not os.access(folder, os.W_OK):
        raise ValueError(f"{file} cannot be written: {folder} is read-only")


def write_json(report: dict[str, Any], file: Path) -> None:
    write_atomically(file, (jsonlib.dumps(report) + "\n").encode())


def write_markdown(report: dict[str, Any], file: Path) -> None:
    write_atomically(file, markdown(report).encode())


def write_plot(report: dict[str, Any], file: Path) -> None:
    from card_envs.arena.plots import save_plot

    save_plot(report, file)


def attempt(write: Callable[[dict[str, Any], Path], None], report: dict[str, Any], file: Path | None) -> list[str]:
    """Write a file, if one is named; what went wrong, in words, if anything: the others shall be written all the same."""
    if file is None:
        return []
    try:
        write(report, file)
    except (OSError, ValueError) as error:
        return [f"{file} cannot be written ({getattr(error, 'strerror', None) or error})"]
    return []


@contextmanager
def one_interrupt() -> Iterator[None]:
    """Ctrl-C counts once: the report of what was played takes a moment, and a second press would lose it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def once(number: int, frame: object) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, once)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class OptionalAddress(TyperCommand):
    """``--ray`` may stand without a value, which Typer's options cannot."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        words = []
        for word, following in zip(args, [*args, ""][1:], strict=True):
            words += [word, LOCAL] if word == "--ray" and ":" not in following and following != "auto" else [word]
        parsed: list[str] = super().parse_args(ctx, words)
        return parsed


def numbers(text: str) -> list[int]:
    """``"2,4"`` → ``[2, 4]``."""
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"players = {text!r}: expected are whole numbers, as 2,4") from None


def with_panel(
    game: str, arguments: dict[str, Any], named: list[str], fixed: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """The arguments, options and players of a panel that ``named`` play among; table sizes and matches may be given."""
    given = [name for name, value in fixed.items() if value is not None]
    if given:
        raise ValueError(f"--{given[0]} does not go with --panel, which fixes it")
    it = panel_of(game)
    arguments |= {"deal_list": it.deal_list, "seed": it.seed}
    arguments["tables"] = arguments["tables"] or list(it.tables)
    arguments["matches"] = arguments["matches"] or it.matches
    complete = (tuple(arguments["tables"]), arguments["matches"]) == (it.tables, it.matches)
    arguments["panel"] = {"version": it.version, "complete": complete}
    return arguments, dict(it.options), list(dict.fromkeys([*it.players, *named]))


@contextmanager
def workers_of(roster: Roster, threads: int, ray: str | None) -> Iterator[Workers]:
    """Who plays: threads of this process, or Ray."""
    if ray is None:
        yield Threads(roster, threads)
        return
    from card_envs.arena.cluster import Cluster

    cluster = Cluster(roster, None if ray == LOCAL else ray)
    try:
        yield cluster
    finally:
        cluster.close()


@contextmanager
def progress_bar(bench: Bench) -> Iterator[Done]:
    """A bar on stderr, if that is a terminal: matches played, their rate, the time left."""
    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("matches"),
        TextColumn("{task.fields[rate]}"), TimeElapsedColumn(), TimeRemainingColumn(),
    )  # fmt: skip
    total = None if bench.until_sure else sum(task.matches for task in bench.tasks())
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("playing", total=total, rate="")

        def done(matches: int) -> None:
            bar.advance(task, matches)
            speed = bar.tasks[0].speed
            bar.update(task, rate=f"{speed:,.0f}/s" if speed else "")

        yield done
