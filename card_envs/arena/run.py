"""Playing a benchmark: which shards there are to play, who plays them, and until when."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from card_envs.arena.lineups import Lineup, all_lineups, pairings
from card_envs.arena.shard import PER_DEAL, Shard, Task, blocks_of, merged, one_blas_thread, play_shard, unit
from card_envs.arena.statistics import MIN_BLOCKS, sprt
from card_envs.engine.game import Game, OptionValue
from card_envs.players import Player, resolve
from card_envs.players.player import BuiltIn

MOST_DEALS = 100_000  # of a sequential test

Done = Callable[[int], None]  # is told how many matches were just played


class Roster:
    """The players of a benchmark by name. Each thread has players of its own, made from their specs."""

    def __init__(self, specs: Mapping[str, str | Player], game: Game) -> None:
        self.specs = {name: specs[name] for name in sorted(specs)}
        self.game = game
        self._local = threading.local()

    def __iter__(self) -> Iterator[str]:
        return iter(self.specs)

    def __len__(self) -> int:
        return len(self.specs)

    def seated(self, names: Iterable[str], options: Mapping[str, OptionValue]) -> dict[str, Player]:
        """These players, checked for a table with these options."""
        made: dict[Any, Player] = self._local.__dict__.setdefault("made", {})
        found = {}
        for name in names:
            key = (name, tuple(options.items()))
            if key not in made:
                made[key] = resolve(self.specs[name], self.game, options)
            found[name] = made[key]
        return found


@dataclass
class Benchmark:
    """Players, the tables that they meet at, and all that was played so far.

    Args:
        roster: the players.
        tables: by number of players, all options.
        seed: of the deals, as from :func:`card_envs.arena.list_seed`.

    Attributes:
        shards: by (number of players, line-up), by first deal.
    """

    roster: Roster
    tables: Mapping[int, Mapping[str, Any]]
    seed: int
    shards: dict[tuple[int, Lineup], dict[int, Shard]] = field(default_factory=dict)

    @property
    def game(self) -> Game:
        return self.roster.game

    def tasks(self, n: int, lineup: Lineup, deals: range) -> Iterator[Task]:
        """The shards that cover those of these deals that have not been played."""
        options = self.tables[n]
        size = blocks_of(self.roster.seated(lineup, options).values())
        known = sorted(self.shards.get((n, lineup), {}).items())
        start = deals.start
        for first, end in [*((first, shard.end) for first, shard in known), (deals.stop, deals.stop)]:
            for at in range(start, min(first, deals.stop), size):
                yield Task(self.game, options, lineup, self.seed, at, min(size, first - at, deals.stop - at))
            start = max(start, end)

    def play(self, tasks: Iterable[Task], workers: Workers, done: Done) -> None:
        played: dict[tuple[int, Lineup], dict[int, Shard]] = {}
        try:
            for task, shard in workers.run(tasks):
                played.setdefault((len(task.lineup), task.lineup), {})[task.first] = shard
                done(task.matches)
        finally:  # Ctrl-C: what is done is done
            for key, shards in played.items():
                self.shards[key] = merged(self.shards.get(key, {}) | shards)

    def scores(self, n: int, a: str, b: str) -> Floats:
        """The block scores of A against B, float64 [deals]: how far A's share of the wins is over its fair share.

        Of more than two players, the mean of A's surplus as one among B and of B's lack as one among A: B's score
        against A is minus this.
        """
        among = {lineup: self.one_among(n, lineup) for lineup in pairings(a, b, n)}
        common = set.intersection(*(set(deals) for deals, _ in among.values()))
        scores = np.zeros(len(common))
        for lineup, (deals, share) in among.items():
            score = share[np.isin(deals, list(common))] - 1.0 / n
            scores += score if lineup[0] == a else -score
        return scores / len(among)

    def ahead(self, n: int, a: str, b: str) -> Floats:
        """By how much more than half of the time A is placed ahead of B where the two are paired, float64 [deals]."""
        lineups = pairings(a, b, n)
        names = sorted((a, b))
        i, j = names.index(a), names.index(b)
        by_deal = [
            {s.first + d: float(wins) for s in self.in_order(n, lineup) for d, wins in enumerate(s.pairs[:, i, j])}
            for lineup in lineups
        ]
        common = sorted(set.intersection(*map(set, by_deal)))
        total = np.array([[wins[deal] for deal in common] for wins in by_deal]).sum(axis=0)
        most = 2 * n * (n - 1) * len(lineups)
        share: Floats = total / most - 0.5
        return share

    def one_among(self, n: int, lineup: Lineup) -> tuple[NDArray[np.int64], Floats]:
        """The deals played, and in each the mean share of the wins of the line-up's first, who is alone."""
        shards = self.in_order(n, lineup)
        if not shards:
            return np.empty(0, np.int64), np.empty(0)
        one = sorted(set(lineup)).index(lineup[0])
        deals = np.concatenate([np.arange(s.first, s.end) for s in shards])
        return deals, np.concatenate([s.shares[:, one] for s in shards]) / (unit(n) * n)

    def in_order(self, n: int, lineup: Lineup) -> list[Shard]:
        return [shard for _, shard in sorted(self.shards.get((n, lineup), {}).items())]


Floats = NDArray[np.float64]


def fixed_tasks(benchmark: Benchmark, deals: Mapping[int, int]) -> list[Task]:
    """All that is to be played for so many deals of every line-up; what is cut short has played all line-ups alike."""
    tasks = [
        task
        for n in benchmark.tables
        for lineup in all_lineups(list(benchmark.roster), n)
        for task in benchmark.tasks(n, lineup, range(deals[n]))
    ]
    return sorted(tasks, key=lambda task: task.first)  # stable


def play_until_sure(
    benchmark: Benchmark, baseline: str, workers: Workers, done: Done, *, edge: float, most: Mapping[int, int]
) -> None:
    """Play everybody against the baseline, each until the sequential test is decided or ``most`` deals are played."""
    while True:
        tasks: list[Task] = []
        for n in benchmark.tables:
            for name in benchmark.roster:
                if name != baseline and not _decided(benchmark, n, name, baseline, edge, most[n]):
                    tasks += _next_round(benchmark, n, name, baseline, most[n])
        if not tasks:
            return
        benchmark.play(tasks, workers, done)


def _decided(benchmark: Benchmark, n: int, name: str, baseline: str, edge: float, most: int) -> bool:
    """Looked at after whole rounds only, so that it does not matter where an earlier run broke off."""
    played, round_size = _progress(benchmark, n, name, baseline)
    scores = benchmark.scores(n, name, baseline)[: played if played >= most else played // round_size * round_size]
    return played >= most or sprt(scores, edge).verdict != "undecided"


def _next_round(benchmark: Benchmark, n: int, name: str, baseline: str, most: int) -> list[Task]:
    """The shards of the next deals, in both line-ups."""
    played, round_size = _progress(benchmark, n, name, baseline)
    end = min(most, (played // round_size + 1) * round_size)
    return [task for lineup in pairings(name, baseline, n) for task in benchmark.tasks(n, lineup, range(end))]


def _progress(benchmark: Benchmark, n: int, name: str, baseline: str) -> tuple[int, int]:
    """How many deals have been played from the first on without a gap, in both line-ups, and how many a round has."""
    lineups = pairings(name, baseline, n)
    size = blocks_of(benchmark.roster.seated(lineups[0], benchmark.tables[n]).values())
    first = [benchmark.shards.get((n, lineup), {}).get(0) for lineup in lineups]  # shards are merged
    played = min(0 if shard is None else shard.end for shard in first)
    return played, -(-MIN_BLOCKS // size) * size


def irreproducible(benchmark: Benchmark) -> list[str]:
    """The players who, made anew, do not play a block again as they have played it: they are no functions of row and key.

    A block of each is tried; built-in players are what they are, and players made outside cannot be made anew.
    """
    found, tried = [], set()
    for (n, lineup), shards in sorted(benchmark.shards.items()):
        doubtful = [
            name for name, player in benchmark.roster.seated(lineup, benchmark.tables[n]).items()
            if not isinstance(player, BuiltIn) and isinstance(benchmark.roster.specs[name], str) and name not in tried
        ]  # fmt: skip
        if 0 not in shards or len(doubtful) != 1:  # so that it is clear who
            continue
        tried.add(doubtful[0])
        players = Roster(benchmark.roster.specs, benchmark.game).seated(lineup, benchmark.tables[n])
        with one_blas_thread():
            again = play_shard(Task(benchmark.game, benchmark.tables[n], lineup, benchmark.seed, 0, 1), players)
        if any((getattr(again, name)[0] != getattr(shards[0], name)[0]).any() for name in PER_DEAL):
            found.append(doubtful[0])
    return found


# ---- who plays the shards


class Workers(Protocol):
    """Somebody who plays shards. The order in which they come back is free."""

    def run(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Shard]]: ...


class Threads:
    """Shards played in this process, on ``threads`` threads: the compiled loops run side by side."""

    def __init__(self, roster: Roster, threads: int = 1) -> None:
        if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
            raise ValueError(f"threads = {threads!r}: allowed is a whole number from 1")
        self._roster = roster
        # a player that was made outside is one for all threads, and need not bear that
        self._threads = threads if all(isinstance(spec, str) for spec in roster.specs.values()) else 1

    def warm_up(self, benchmark: Benchmark) -> None:
        """Compile what the built-in players need, so that their time is that of playing."""
        for n, options in benchmark.tables.items():
            players = self._roster.seated(self._roster, options)
            names = [name for name, player in players.items() if isinstance(player, BuiltIn)]
            for first in range(0, len(names), n):
                lineup = tuple(sorted((names[first : first + n] * n)[:n]))
                play_shard(Task(benchmark.game, options, lineup, benchmark.seed, 0, 1), players)

    def _play(self, task: Task, stop: threading.Event | None = None) -> Shard:
        return play_shard(task, self._roster.seated(task.lineup, task.options), stop)

    def run(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Shard]]:
        with one_blas_thread():
            yield from self._run(tasks)

    def _run(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Shard]]:
        if self._threads == 1:
            for task in tasks:
                yield task, self._play(task)
            return
        stop = threading.Event()
        queue = iter(tasks)
        with ThreadPoolExecutor(self._threads, thread_name_prefix="card_envs.arena") as pool:
            try:
                waiting: dict[Future[Shard], Task] = {}
                while True:
                    for task in islice(queue, self._threads - len(waiting)):
                        waiting[pool.submit(self._play, task, stop)] = task
                    if not waiting:
                        return
                    finished, _ = wait(waiting, return_when=FIRST_COMPLETED)
                    for future in finished:
                        yield waiting.pop(future), future.result()
            finally:
                stop.set()  # Ctrl-C: what is being played is given up
