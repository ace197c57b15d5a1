"""``card-envs bench GAME PLAYER PLAYER …``: which player is better, and how sure is that?"""

from __future__ import annotations

import json as jsonlib
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
from card_envs.arena.benchmark import Benchmark
from card_envs.arena.duels import list_built_ins, list_ranking_tasks, make_ranking
from card_envs.arena.panels import load_panel
from card_envs.arena.report import describe_gate, format_markdown, print_report, save_picture
from card_envs.arena.roster import Roster
from card_envs.arena.sealed import open_seed
from card_envs.arena.statistics import EDGE
from card_envs.arena.tournament import Workers
from card_envs.arena.workers import RayCluster, Threads
from card_envs.cli.arguments import OptionWords, parse_numbers
from card_envs.cli.contest import commit_seed, verify_contest
from card_envs.console import read_json, table_console
from card_envs.engine.files import check_writable, is_replaceable, write_file
from card_envs.engine.game import Game

LOCAL = "local"
FORMATS = (".png", ".svg", ".pdf")


def bench(
    game: Annotated[
        str | None, typer.Argument(metavar="GAME", help="A game that `card-envs games` lists.", show_default=False)
    ] = None,
    specs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PLAYER]...", help="Built-in players, module:factory or .safetensors files.", show_default=False
        ),
    ] = None,
    players: Annotated[
        str | None, typer.Option(metavar="N,…", help="Numbers of seats; each gets its own league.", show_default=False)
    ] = None,
    option: OptionWords = None,
    panel: Annotated[
        bool, typer.Option("--panel", help="Play the game's panel (its players, options and boards) and PLAYERs among it.")
    ] = False,
    ranking: Annotated[
        bool,
        typer.Option(
            "--ranking", help="Only print, as Markdown, how often each player (by default each built-in one) wins among others."
        ),
    ] = False,
    matches: Annotated[
        int | None,
        typer.Option(help="Matches of each line-up, rounded up to whole boards (by default 2000).", show_default=False),
    ] = None,
    until_sure: Annotated[
        bool, typer.Option("--until-sure", help="Test each player against the baseline sequentially, however long it takes.")
    ] = False,
    baseline: Annotated[
        str | None, typer.Option(metavar="PLAYER", help="The player that others are compared with.", show_default=False)
    ] = None,
    edge: Annotated[float, typer.Option(help="The share of wins above the fair share that the test tells from 0.")] = EDGE,
    gate: Annotated[
        str | None,
        typer.Option(metavar="'A > B'", help="Exit with 1 unless A is shown to be better than B.", show_default=False),
    ] = None,
    board_list: Annotated[str | None, typer.Option(help="train, tune or report (the default).", show_default=False)] = None,
    seed: Annotated[int | None, typer.Option(help="The seed of the board list (by default 0).", show_default=False)] = None,
    threads: Annotated[int, typer.Option(help="Threads that play; the results do not depend on it.")] = 1,
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="[ADDRESS]",
            help="Play on a Ray cluster; without an address, on one that is started here.",
            show_default=False,
        ),
    ] = None,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the report as JSON.", show_default=False)] = None,
    markdown: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the report as Markdown.", show_default=False)
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw ratings and cross-table: .png, .svg, .pdf.", show_default=False)
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Continue from this JSON report, and update it unless --json.", show_default=False),
    ] = None,
    commit: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Only draw a seed for a contest into FILE, print its SHA-256.", show_default=False),
    ] = None,
    sealed: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Play with the seed in FILE; the report states its SHA-256.", show_default=False),
    ] = None,
    verify: Annotated[
        Path | None,
        typer.Option(metavar="REPORT", help="Only check the report of a contest against --sealed FILE.", show_default=False),
    ] = None,
) -> None:
    """Find out which players are better.

    Every line-up plays the same boards, each in all seat rotations. The report has ratings and a cross-table with intervals.
    After Ctrl-C or TERM it covers what has been played by then. With --json it is also saved every half minute.
    """
    if commit is not None or verify is not None:
        option_name = "--commit" if commit is not None else "--verify"
        if game is not None or (commit is not None and (verify is not None or sealed is not None)):
            raise ValueError(f"{option_name} stands alone{'' if commit else ', with --sealed'}: it plays nothing")
        if commit is not None:
            commit_seed(commit)
        elif verify is not None:
            verify_contest(verify, sealed)
        return
    if game is None:
        raise ValueError("GAME is missing: expected is `bench GAME PLAYER PLAYER …`")
    loaded = card_envs.load_game(game)
    sizes = None if players is None else parse_numbers("players", players, "2,4")
    arguments: dict[str, Any] = {"tables": sizes, "matches": matches, "board_list": board_list or "report", "seed": seed or 0}
    options = loaded.read_options(option or ())
    names = list(specs or [])
    if panel:
        fixed = {"option": option, "board-list": board_list, "seed": seed, "sealed": sealed}
        arguments, options, names = apply_panel(game, arguments, names, fixed)
    elif "players" in options:
        if sizes is not None:
            raise ValueError("the number of players is given twice")
        arguments["tables"] = [options.pop("players")]
    if ranking:
        unused = {
            "panel": panel, "until-sure": until_sure, "baseline": baseline, "gate": gate, "json": json, "markdown": markdown,
            "plot": plot, "resume": resume, "sealed": sealed,
        }  # fmt: skip
        refuse_options(unused, "--ranking, which only prints a table")
        print_ranking(loaded, names or list_built_ins(loaded), arguments | options, threads, ray)
        return
    if sealed is not None:
        refuse_options({"seed": seed}, "--sealed, which holds one")
        opened = open_seed(sealed)
        arguments |= {"seed": opened.seed, "sealed": opened.sha256}
    benchmark = Benchmark.create(
        loaded, names, **arguments, until_sure=until_sure, baseline=baseline, edge=edge, gate=gate, **options
    )
    if resume is not None:
        benchmark.resume(read_json(resume, "report"), str(resume))
    report = play_and_report(benchmark, threads, ray, json or resume, markdown, plot)
    if benchmark.interrupted:
        raise typer.Exit(130)
    verdict = report["results"]["gate"]
    if verdict is not None and not verdict["shown"]:
        print(f"card-envs: {describe_gate(verdict)}", file=sys.stderr)
        raise typer.Exit(1)


def play_and_report(
    benchmark: Benchmark, threads: int, ray: str | None, json: Path | None, markdown: Path | None, plot: Path | None
) -> dict[str, Any]:
    """Play a benchmark, print its report and write it to the files that are named.

    Raises:
        ValueError: A file cannot be written, or the run broke off; the latter is raised when the report has been written.
    """
    check_files(json, markdown, plot)  # it is better to fail before the run than after it
    failures: list[str] = []
    total = None if benchmark.until_sure else sum(task.matches for task in benchmark.list_tasks())
    command = "card-envs " + shlex.join(sys.argv[1:])

    def save() -> None:
        failed = try_to_write(write_json, benchmark.make_report(command, finished=False), json)
        if failed:
            print(f"card-envs: {failed[0]}; playing on", file=sys.stderr)

    saving = json is not None and is_replaceable(json)
    with accept_one_interrupt():
        with open_workers(benchmark.tournament.roster, threads, ray) as workers, show_progress(total) as progress:
            try:
                benchmark.play(workers, progress, save if saving else None)
            except Exception as error:
                failures.append(f"the run broke off ({type(error).__name__}: {error}); the report covers what had been played")
        if benchmark.interrupted:
            print("writing the report …", file=sys.stderr)
        report = benchmark.make_report(command)
        failures += try_to_write(write_json, report, json)
        print_report(report, table_console())
        failures += try_to_write(write_markdown, report, markdown)
        failures += try_to_write(save_picture, report, plot)
    if failures:
        raise ValueError("; ".join(failures))
    return report


def print_ranking(game: Game, names: list[str], arguments: dict[str, Any], threads: int, ray: str | None) -> None:
    """Print a Markdown table of the players' shares of the wins for each number of players."""
    benchmark = Benchmark.create(game, names, **arguments)
    tournament = benchmark.tournament
    tasks = list_ranking_tasks(benchmark)
    total = sum(task.matches for task in tasks)
    with open_workers(tournament.roster, threads, ray) as workers, show_progress(total) as progress:
        tournament.play(tasks, workers, progress)
    faults = [text for by_board in tournament.shards.values() for shard in by_board.values() for text in shard.told]
    if faults:
        raise ValueError(f"a player has failed, so there is no ranking: {faults[0]}")
    for n, boards in benchmark.boards.items():
        print(f"{n} players, a fair share is {1 / n:.3f}; {boards * n:,} matches a cell\n")
        print(make_ranking(tournament, n, names), end="\n\n", flush=True)


def check_files(json: Path | None, markdown: Path | None, plot: Path | None) -> None:
    """Raise ``ValueError`` if one of these files cannot be written, or two are the same."""
    if plot is not None and find_spec("matplotlib") is None:
        raise ValueError("matplotlib is not installed: install it with: pip install 'card-envs[plot]'")
    if plot is not None and plot.suffix not in FORMATS:
        raise ValueError(f"plot: {plot} ends in {plot.suffix or 'nothing'!r}; allowed are {', '.join(FORMATS)}")
    files = [file for file in (json, markdown, plot) if file is not None]
    for file in files:
        check_writable(file)
    if len({file.resolve() for file in files}) < len(files):
        raise ValueError("json, markdown and plot must be different files")


def write_json(report: dict[str, Any], file: Path) -> None:
    """Write the report as JSON."""
    write_file(file, (jsonlib.dumps(report) + "\n").encode())


def write_markdown(report: dict[str, Any], file: Path) -> None:
    """Write the report as Markdown."""
    write_file(file, format_markdown(report).encode())


def try_to_write(write: Callable[[dict[str, Any], Path], None], report: dict[str, Any], file: Path | None) -> list[str]:
    """Write a file, if one is named. What goes wrong is returned, so that the other files can still be written."""
    if file is None:
        return []
    try:
        write(report, file)
    except (OSError, ValueError) as error:
        return [f"{file} cannot be written ({getattr(error, 'strerror', None) or error})"]
    return []


@contextmanager
def accept_one_interrupt() -> Iterator[None]:
    """Let TERM count as Ctrl-C, and ignore a second one, which would otherwise lose the report of what has been played."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def once(number: int, frame: object) -> None:
        for interrupt in before:
            signal.signal(interrupt, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = {interrupt: signal.getsignal(interrupt) for interrupt in (signal.SIGINT, signal.SIGTERM)}
    try:
        for interrupt in before:
            signal.signal(interrupt, once)
        yield
    finally:
        for interrupt, handler in before.items():
            signal.signal(interrupt, handler)


class OptionalAddress(TyperCommand):
    """A command whose option ``--ray`` may stand without a value, which Typer does not support."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        words = []
        for word, following in zip(args, [*args, ""][1:], strict=True):
            words += [word, LOCAL] if word == "--ray" and ":" not in following and following != "auto" else [word]
        parsed: list[str] = super().parse_args(ctx, words)
        return parsed


def apply_panel(
    game: str, arguments: dict[str, Any], names: list[str], fixed: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """Return the arguments, options and players of the game's panel, with ``names`` added to its players.

    Table sizes and matches that are given take precedence over those of the panel.

    Raises:
        ValueError: One of the ``fixed`` options, which the panel determines, is given.
    """
    refuse_options(fixed, "--panel, which fixes it")
    panel = load_panel(game)
    arguments |= {"board_list": panel.board_list, "seed": panel.seed}
    arguments["tables"] = arguments["tables"] or list(panel.tables)
    arguments["matches"] = arguments["matches"] or panel.matches
    complete = (tuple(arguments["tables"]), arguments["matches"]) == (panel.tables, panel.matches)
    arguments["panel"] = {"version": panel.version, "complete": complete}
    return arguments, dict(panel.options), list(dict.fromkeys([*panel.players, *names]))


def refuse_options(values: dict[str, Any], by: str) -> None:
    """Raise ``ValueError`` for the first of these options that is given."""
    for name, value in values.items():
        if value is not None and value is not False:
            raise ValueError(f"--{name} does not go with {by}")


@contextmanager
def open_workers(roster: Roster, threads: int, ray: str | None) -> Iterator[Workers]:
    """Yield whoever plays: threads of this process or a Ray cluster."""
    if ray is None:
        yield Threads(roster, threads)
        return
    cluster = RayCluster(roster, None if ray == LOCAL else ray)
    try:
        yield cluster
    finally:
        cluster.close()


@contextmanager
def show_progress(total: int | None) -> Iterator[Callable[[int], None]]:
    """Show a bar on stderr, if that is a terminal, with the matches played, their rate and the time left.

    Yields:
        A function to be called with the number of matches that were just played.
    """
    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("matches"),
        TextColumn("{task.fields[rate]}"), TimeElapsedColumn(), TimeRemainingColumn(),
    )  # fmt: skip
    if not sys.stderr.isatty():  # where a bar that is disabled still prints an empty line, up to rich 14.2
        yield lambda matches: None
        return
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("playing", total=total, rate="")

        def advance(matches: int) -> None:
            bar.advance(task, matches)
            speed = bar.tasks[0].speed
            bar.update(task, rate=f"{speed:,.0f}/s" if speed else "")

        yield advance
