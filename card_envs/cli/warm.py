"""``card-envs warm``: compile everything now, so that nothing is compiled later."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from queue import SimpleQueue
from time import perf_counter
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

import card_envs
from card_envs.engine.compiled import find_cache
from card_envs.engine.game import Game
from card_envs.engine.helper import Helper, can_start, count_cores
from card_envs.engine.warming import carry_out, list_compilers
from card_envs.risk import warming as risk

Ask = Callable[[str], dict[str, Any]]  # carries out an order


def warm(
    games: Annotated[
        list[str] | None, typer.Argument(metavar="[GAME]...", help="By default all games.", show_default=False)
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes that compile, by default one for each core.", show_default=False)
    ] = None,
) -> None:
    """Compile everything that any command or environment needs, and keep it in the cache.

    It is for images, continuous integration, and whoever does not want to wait later.
    """
    chosen = [card_envs.load_game(name) for name in dict.fromkeys(games or card_envs.available_games())]
    folder = find_cache(chosen[0])
    if folder is None:
        raise ValueError("no folder can be written to in which compiled code could be kept; NUMBA_CACHE_DIR can name one")
    stages = list_orders(chosen)
    total = sum(map(len, stages))
    start = perf_counter()
    compiled = 0
    with open_workers(min(jobs or count_cores(), total)) as ask, show_progress(total) as advance:
        for orders in stages:
            for answer in ask(orders):
                if answer["error"]:
                    raise ValueError(f"{name_order(answer['order'])}: {answer['error']}")
                compiled += answer["compiled"]
                advance(name_order(answer["order"]), answer["compiled"])
    if compiled:
        print(f"compiled {compiled} of {total} pieces of code in {perf_counter() - start:.0f} s; the cache is {folder}")
    else:
        print(f"all {total} pieces of code are warm already; the cache is {folder}")


def list_orders(games: list[Game]) -> list[list[str]]:
    """Return what is to be compiled for these games. Each list can be compiled in any order once those before it are."""
    rules: list[str] = []
    steps: list[str] = []
    loops: list[str] = []
    for game in games:
        for name in list_compilers(game):
            stage = rules if name.startswith("rule.") else steps if name == "step" else loops
            stage.append(f"{game.module} {name}")
    if any(game.name == "flip7" for game in games):
        rules += [f"{risk.__name__} solve"]
        loops += [f"{risk.__name__} {name}" for name in risk.list_compilers() if name != "solve"]
    return [rules, steps, loops]


def name_order(order: str) -> str:
    """Return an order in short words: ``flip7.step``, ``risk.race``."""
    module, name = order.split()
    return f"{'risk' if module == risk.__name__ else module.rsplit('.', 1)[-1]}.{name}"


@contextmanager
def open_workers(jobs: int) -> Iterator[Callable[[list[str]], Iterator[dict[str, Any]]]]:
    """Yield a function that has orders carried out by so many processes at once, and yields the answers as they come."""
    with ExitStack() as stack:
        idle: SimpleQueue[Ask] = SimpleQueue()
        if can_start() and jobs > 1:
            helpers = [Helper() for _ in range(jobs)]
            for helper in helpers:
                stack.callback(helper.stop)
                idle.put(partial(_ask_helper, helper))
        else:
            idle.put(partial(carry_out, known={}))
        answers: SimpleQueue[dict[str, Any]] = SimpleQueue()

        def work(order: str) -> None:
            worker = idle.get()
            try:
                answers.put(worker(order))
            finally:
                idle.put(worker)

        def ask(orders: list[str]) -> Iterator[dict[str, Any]]:
            with ThreadPoolExecutor(jobs) as pool:
                for order in orders:
                    pool.submit(work, order)
                for _ in orders:
                    yield answers.get()

        yield ask


def _ask_helper(helper: Helper, order: str) -> dict[str, Any]:
    helper.ask([order])
    return helper.wait(order) or {"order": order, "compiled": False, "error": "the process that compiled it has ended"}


@contextmanager
def show_progress(total: int) -> Iterator[Callable[[str, bool], None]]:
    """Yield a function that is told what is ready: it moves a bar on a terminal, and prints a line elsewhere."""
    if not sys.stderr.isatty():
        yield lambda name, compiled: print(f"{name} {'compiled' if compiled else 'was warm'}", flush=True)
        return
    columns = TextColumn("compiling"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}")
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=total)
        yield lambda name, compiled: progress.update(task, advance=1, description=name)
