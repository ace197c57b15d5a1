"""A benchmark from its arguments to its report, and on from a report that was cut short."""

from __future__ import annotations

import json
import os
import platform
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from card_envs.arena import statistics
from card_envs.arena.duel import list_seed
from card_envs.arena.results import digest, identify_player, parse_gate, results_of
from card_envs.arena.run import (
    MOST_DEALS,
    Benchmark,
    Done,
    Roster,
    Threads,
    Workers,
    fixed_tasks,
    irreproducible,
    play_until_sure,
)
from card_envs.arena.shard import Shard, merged
from card_envs.engine.game import Game, OptionValue, unknown
from card_envs.engine.measures import measures_of
from card_envs.games import load_game

SCHEMA = "card_envs.benchmark/1"
MATCHES = 2_000  # of each line-up
LIBRARIES = ("card-envs", "numpy", "scipy", "numba", "choix")


@dataclass
class Bench:
    """Who is to play what: made by :func:`bench`'s arguments, checked; :meth:`play` it, then :meth:`report`."""

    benchmark: Benchmark
    deal_list: str
    seed: int
    options: dict[str, OptionValue]
    matches: int | None
    until_sure: bool
    baseline: str | None
    edge: float
    gate: tuple[str, str] | None
    seconds: float = 0.0
    played: int = 0
    interrupted: bool = False
    resumed: bool = False
    irreproducible: list[str] = field(default_factory=list)
    sequential: bool = False  # some blocks are of a run that a sequential test has ended
    panel: Mapping[str, Any] | None = None
    others: list[dict[str, Any]] = field(default_factory=list)  # blocks of a resumed report that are not asked for, as they are
    others_players: dict[str, Any] = field(default_factory=dict)  # and whose they are

    @classmethod
    def of(
        cls,
        game: str | Game,
        players: Sequence[str] | Mapping[str, Any],
        *,
        tables: int | Sequence[int] | None = None,
        matches: int | None = None,
        until_sure: bool = False,
        baseline: str | None = None,
        edge: float = statistics.EDGE,
        gate: str | None = None,
        deal_list: str = "report",
        seed: int = 0,
        panel: Mapping[str, Any] | None = None,
        **options: OptionValue,
    ) -> Bench:
        """Check the arguments, which are those of :func:`bench`."""
        game = load_game(game) if isinstance(game, str) else game
        names = [name.strip() for name in players]
        specs: Mapping[str, Any] = players if isinstance(players, Mapping) else dict.fromkeys(names, "")
        if len(specs) < len(names):
            raise ValueError(f"player {next(name for name in names if names.count(name) > 1)!r} is named twice")
        if len(specs) < 2:
            raise ValueError(f"players: two at least are to be named, {len(specs)} given")
        roster = Roster({name: specs[name] or name for name in specs}, game)
        if isinstance(tables, int):
            tables = [tables]
        sizes = sorted(set(tables or [int(game.resolve(options)["players"])]))
        resolved = {n: game.resolve({**options, "players": n}) for n in sizes}
        for by_n in resolved.values():
            roster.seated(roster, by_n)
        if matches is not None and (
            isinstance(matches, bool) or not isinstance(matches, int | np.integer) or matches <= sizes[-1]
        ):
            raise ValueError(f"matches = {matches!r}: allowed is a whole number from {sizes[-1] + 1} (2 blocks of {sizes[-1]})")
        if not 0 < edge < 1:
            raise ValueError(f"edge = {edge!r}: allowed is a share of the wins between 0 and 1, as .02")
        if baseline is not None and baseline not in specs:
            raise unknown("baseline", baseline, roster)
        if until_sure and baseline is None:
            baseline = next((name for name in ("random", game.default_opponent) if name in specs), None)
            if baseline is None:
                raise ValueError("until sure of what? name a baseline among the players")
        if gate is not None and until_sure:
            raise ValueError("gate: it is one-sided at a fixed number of matches, and does not go with until_sure")
        common = {name: value for name, value in next(iter(resolved.values())).items() if name != "players"}
        return cls(
            Benchmark(roster, resolved, list_seed(deal_list, seed)), deal_list, int(seed), common,
            None if matches is None else int(matches), until_sure, baseline, edge,
            None if gate is None else parse_gate(gate, list(roster)), panel=panel,
        )  # fmt: skip

    @property
    def deals(self) -> dict[int, int]:
        """Deals for every line-up, by number of players: whole blocks. The most there can be, if until sure."""
        if self.matches is None and self.until_sure:
            return dict.fromkeys(self.benchmark.tables, MOST_DEALS)
        return {n: -(-(self.matches or MATCHES) // n) for n in self.benchmark.tables}

    def tasks(self) -> list[Any]:
        """What is left to be played, if the number is fixed."""
        return fixed_tasks(self.benchmark, self.deals)

    def play(self, workers: Workers, done: Done = lambda matches: None) -> None:
        """Play it; Ctrl-C ends it early."""
        if isinstance(workers, Threads):
            workers.warm_up(self.benchmark)
        start = perf_counter()

        def count(matches: int) -> None:
            self.played += matches
            done(matches)

        try:
            if self.until_sure:
                play_until_sure(self.benchmark, str(self.baseline), workers, count, edge=self.edge, most=self.deals)
            else:
                self.benchmark.play(self.tasks(), workers, count)
            if self.played:
                self.irreproducible = irreproducible(self.benchmark)
        except KeyboardInterrupt:
            self.interrupted = True
        finally:
            self.seconds += perf_counter() - start

    # -- the report

    def results(self) -> dict[str, Any]:
        return results_of(
            self.benchmark,
            deal_list=self.deal_list,
            list_seed=self.seed,
            options=self.options,
            version=version("card-envs"),
            baseline=self.baseline,
            edge=self.edge,
            until_sure=self.until_sure,
            sequential=self.sequential and not self.until_sure,
            gate=self.gate,
            panel=self.panel,
        )

    def report(self, command: str | None = None) -> dict[str, Any]:
        """The whole report, JSON-able: see the key ``schema`` and :func:`results_of`."""
        results, blocks = self.results(), self._blocks()
        return {
            "schema": SCHEMA,
            "header": {
                "command": command or shlex.join(sys.argv),
                "versions": {name: version(name) for name in LIBRARIES} | {"python": platform.python_version()},
                "interrupted": self.interrupted,
                "resumed": self.resumed,
                "irreproducible": self.irreproducible,
            },
            "results": results,
            "results_sha256": digest(results),
            "timing": {
                "seconds": round(self.seconds, 3),
                "matches": self.played,
                "matches_per_second": round(self.played / self.seconds, 1) if self.seconds else None,
                "ms_per_decision": self._speeds(),
            },
            "machine": {
                "processor": platform.machine(),
                "cores": os.cpu_count(),
                "system": platform.system(),
                "python": platform.python_implementation(),
            },
            "blocks": blocks,
            "blocks_sha256": digest(blocks),
        }

    def _speeds(self) -> dict[str, dict[str, float | None]]:
        """Milliseconds per decision of what this process has played, by number of players and name."""
        spent: dict[str, dict[str, list[float]]] = {}
        for (n, lineup), by in self.benchmark.shards.items():
            for shard in by.values():
                for name, seconds, timed in zip(sorted(set(lineup)), shard.seconds, shard.timed, strict=True):
                    mine = spent.setdefault(str(n), {}).setdefault(name, [0.0, 0])
                    mine[0] += float(seconds)
                    mine[1] += int(timed)
        return {
            n: {name: round(1000 * s / d, 6) if d else None for name, (s, d) in sorted(by.items())}
            for n, by in sorted(spent.items())
        }

    def _blocks(self) -> dict[str, Any]:
        identity = self.identity()
        return identity | {
            "players": self.others_players | identity["players"],
            "sequential": self.sequential or self.until_sure,
            "shards": self._shards(),
        }

    def _shards(self) -> list[dict[str, Any]]:
        mine = [
            {"players": n, "lineup": list(lineup), "shards": [shard.as_json() for _, shard in sorted(by.items())]}
            for (n, lineup), by in sorted(self.benchmark.shards.items())
            if by
        ]
        return sorted([*mine, *self.others], key=lambda entry: (entry["players"], entry["lineup"]))

    def identity(self) -> dict[str, Any]:
        """What must agree for blocks to be continued."""
        game = self.benchmark.game
        specs = self.benchmark.roster.specs
        return {
            "game": game.id,
            "package": version("card-envs"),
            "options": self.options,
            "deal_list": self.deal_list,
            "seed": self.seed,
            "players": {
                name: {"spec": spec if isinstance(spec, str) else None, "sha256": identify_player(spec, game)["sha256"]}
                for name, spec in specs.items()
            },
        }

    def resume(self, report: Mapping[str, Any], source: str = "the report") -> None:
        """Take over the blocks of an earlier report of the same game, options, deals and package.

        Those of players or numbers of players that are not asked for here go into the new report as they are.

        Raises:
            ValueError: names the first thing that differs.
        """
        if report.get("schema") != SCHEMA:
            raise ValueError(f"{source}: its schema is {report.get('schema')!r}, this package reads {SCHEMA!r}")
        try:
            blocks = dict(report["blocks"])
            entries = [(int(e["players"]), tuple(map(str, e["lineup"])), list(e["shards"])) for e in blocks["shards"]]
            theirs = dict(blocks["players"])
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"{source}: no blocks to go on from ({error!r})") from None
        if digest(blocks) != report.get("blocks_sha256"):
            raise ValueError(f"{source}: its blocks are damaged, their SHA-256 is another one")
        if blocks["sequential"] and self.gate:
            raise ValueError(f"{source}: it was played until sure, and a gate is one-sided at a fixed number of matches")
        self.resumed, self.sequential = True, bool(blocks["sequential"])
        mine = self.identity()
        for key in ("game", "package", "options", "deal_list", "seed"):
            if blocks.get(key) != mine[key]:
                raise ValueError(f"{source}: its {key} is {blocks.get(key)!r}, but here it is {mine[key]!r}")
        for name, player in mine["players"].items():
            if theirs.get(name, player) != player:
                raise ValueError(f"{source}: {name} was another player or another file then: {theirs[name]}")
        for n, lineup, shards in entries:
            if n not in self.benchmark.tables or not set(lineup) <= set(self.benchmark.roster):
                self.others.append({"players": n, "lineup": list(lineup), "shards": shards})
                self.others_players |= {name: theirs.get(name) for name in lineup}
            else:
                counts = len(measures_of(self.benchmark.game).names)
                read = sorted((Shard.from_json(data, len(set(lineup)), counts) for data in shards), key=lambda s: s.first)
                if any(one.end > other.first for one, other in pairwise(read)):
                    raise ValueError(f"{source}: it has a deal of {', '.join(lineup)} twice")
                if self.gate and read and read[-1].end > self.deals[n]:
                    raise ValueError(
                        f"{source}: it has {read[-1].end * n} matches; a gate needs the number fixed, with matches"
                    )
                self.benchmark.shards[n, lineup] = merged({shard.first: shard for shard in read})


def bench(
    game: str | Game,
    players: Sequence[str] | Mapping[str, Any],
    *,
    threads: int = 1,
    workers: Callable[[Roster], Workers] | None = None,
    progress: Done = lambda matches: None,
    **arguments: Any,
) -> dict[str, Any]:
    """Settle which of several players is better, and return the report, JSON-able.

    The same deals for every line-up, each in all seat rotations: one against the rest both ways, and free for all.

    Args:
        game: a game or its name.
        players: specs, or a mapping of names to specs or players.
        threads: how many play; the results are the same.
        workers: makes who else plays, as ``card_envs.arena.cluster.Cluster``.
        progress: is told how many matches were just played.
        **arguments: ``tables`` (numbers of players), ``matches`` (of each line-up, rounded up to whole blocks), ``until_sure``
            (a sequential test of everybody against ``baseline``, for a difference of ``edge``; ``matches`` is then the most),
            ``gate`` (``"A > B"``), ``deal_list`` and ``seed`` (see :func:`list_seed`), and the game's options.

    Raises:
        ValueError: names what is wrong and what is allowed.
    """
    it = Bench.of(game, players, **arguments)
    it.play(workers(it.benchmark.roster) if workers else Threads(it.benchmark.roster, threads), progress)
    if it.interrupted:
        raise KeyboardInterrupt
    return it.report()


def read_report(file: Path) -> dict[str, Any]:
    """The JSON of a report; ``ValueError`` if it is none."""
    try:
        report = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file}: no JSON ({error})") from None
    if not isinstance(report, dict):
        raise ValueError(f"{file}: a report is a JSON object, not {type(report).__name__}")
    return report
