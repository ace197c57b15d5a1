"""A benchmark from its arguments to its report, which a later run can continue."""

from __future__ import annotations

import os
import platform
import shlex
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from time import perf_counter
from typing import Any

import numpy as np

from card_envs.arena import statistics
from card_envs.arena.boards import MOST_BOARDS, Lineup, derive_list_seed, list_lineups
from card_envs.arena.results import hash_json, identify_player, make_results, parse_gate
from card_envs.arena.roster import Roster
from card_envs.arena.shard import Shard, Task
from card_envs.arena.storage import pack_shard, read_boards, unpack_shards
from card_envs.arena.tournament import (
    Progress,
    Tournament,
    Workers,
    find_irreproducible,
    play_until_sure,
)
from card_envs.arena.workers import Threads
from card_envs.engine.game import Game, OptionValue, unknown
from card_envs.engine.measures import load_measures
from card_envs.engine.messages import shorten
from card_envs.games import load_game

SCHEMA = "card_envs.benchmark/2"
MATCHES = 2_000  # of each line-up
MOST_MATCHES = 10**9  # of each line-up: the parts of more could not even be listed
SAVE_EVERY = 30.0  # seconds
LIBRARIES = ("card-envs", "numpy", "scipy", "numba", "choix")


@dataclass
class Benchmark:
    """A benchmark: its settings, checked by :meth:`create`, and the tournament that it plays.

    Attributes:
        tournament: The players and everything played so far.
        board_list, seed: The name and the seed of the board list.
        options: The game's options without the number of players.
        matches: The number of matches of each line-up; ``None`` for the default.
        until_sure, baseline, edge: Whether a sequential test of everybody against ``baseline`` ends the matches, and the board
            score that it tells from 0.
        gate: A player and the baseline that they must beat.
        panel: The version of the panel that is played, if any, and whether it is played as a whole.
        sealed: The SHA-256 of the seed if that is sealed: then it is not told, and a sample of the boards is recorded.
        seconds, played: How long this process has played, and how many matches.
        interrupted: Whether Ctrl-C ended the run.
        resumed: Whether an earlier report is continued.
        sequential: Whether some boards come from a run that a sequential test ended.
        irreproducible: The players that did not play a board again as before.
        other_shards, other_players: The parts of a continued report that are not needed here but kept.
    """

    tournament: Tournament
    board_list: str
    seed: int
    options: dict[str, OptionValue]
    matches: int | None
    until_sure: bool
    baseline: str | None
    edge: float
    gate: tuple[str, str] | None
    panel: Mapping[str, Any] | None = None
    sealed: str | None = None
    seconds: float = 0.0
    played: int = 0
    interrupted: bool = False
    resumed: bool = False
    sequential: bool = False
    irreproducible: list[str] = field(default_factory=list)
    other_shards: list[dict[str, Any]] = field(default_factory=list)
    other_players: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def create(
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
        board_list: str = "report",
        seed: int = 0,
        sealed: str | None = None,
        panel: Mapping[str, Any] | None = None,
        **options: OptionValue,
    ) -> Benchmark:
        """Check the arguments, which are those of :func:`run_benchmark`."""
        game = load_game(game) if isinstance(game, str) else game
        names = [name.strip() for name in players]
        specs: Mapping[str, Any] = players if isinstance(players, Mapping) else dict.fromkeys(names, "")
        if len(specs) < len(names):
            raise ValueError(f"player {next(name for name in names if names.count(name) > 1)!r} is named twice")
        if len(specs) < 2:
            raise ValueError(f"players: at least two must be named, {len(specs)} given")
        roster = Roster({name: specs[name] or name for name in specs}, game)
        if isinstance(tables, int):
            tables = [tables]
        sizes = sorted(set(tables or [int(game.resolve(options)["players"])]))
        resolved = {n: game.resolve({**options, "players": n}) for n in sizes}
        for table_options in resolved.values():
            roster.make_players(roster, table_options)
        if matches is not None:
            matches = check_matches(matches, sizes[-1])
        if not 0 < edge < 1:
            raise ValueError(f"edge = {edge!r}: allowed is a share of the wins between 0 and 1, such as .02")
        if baseline is not None and baseline not in specs:
            raise unknown("baseline", baseline, roster)
        if until_sure and baseline is None:
            baseline = next((name for name in ("random", game.default_opponent) if name in specs), None)
            if baseline is None:
                raise ValueError("until_sure: name a baseline among the players")
        if gate is not None and until_sure:
            raise ValueError("gate: it needs a fixed number of matches and does not go with until_sure")
        return cls(
            Tournament(roster, resolved, derive_list_seed(board_list, seed), sampled=sealed is not None),
            board_list,
            int(seed),
            {name: value for name, value in resolved[sizes[0]].items() if name != "players"},
            matches,
            until_sure,
            baseline,
            edge,
            None if gate is None else parse_gate(gate, list(roster)),
            panel,
            sealed,
        )

    @property
    def boards(self) -> dict[int, int]:
        """The number of boards of every line-up, by number of players; with ``until_sure`` the largest possible number."""
        if self.matches is None and self.until_sure:
            return dict.fromkeys(self.tournament.tables, MOST_BOARDS)
        return {n: -(-(self.matches or MATCHES) // n) for n in self.tournament.tables}

    def list_tasks(self) -> list[Task]:
        """Return what is left to be played for a fixed number of matches.

        Early boards come first, so that an interrupted benchmark has played about equally much of all line-ups.
        """
        tasks = [
            task
            for n, boards in self.boards.items()
            for lineup in list_lineups(list(self.tournament.roster), n)
            for task in self.tournament.list_tasks(n, lineup, range(boards))
        ]
        return sorted(tasks, key=lambda task: task.first)  # the sort is stable

    def play(self, workers: Workers, progress: Progress = lambda matches: None, save: Callable[[], None] | None = None) -> None:
        """Play what is left to be played; Ctrl-C ends it early.

        Args:
            workers: Who plays.
            progress: Called with the number of matches after each shard.
            save: Called every half minute, when what has been played by then is in the tournament. If it takes long, it is
                called less often, so that at most a tenth of the time is spent on it.
        """
        if isinstance(workers, Threads):
            workers.warm_up(self.tournament)
        start = perf_counter()
        due = start + SAVE_EVERY

        def count(matches: int) -> None:
            nonlocal due
            self.played += matches
            progress(matches)
            now = perf_counter()
            if save is not None and now >= due:
                self.tournament.merge()
                save()
                due = perf_counter() + max(SAVE_EVERY, 9 * (perf_counter() - now))

        try:
            if self.until_sure:
                play_until_sure(self.tournament, str(self.baseline), workers, count, edge=self.edge, most=self.boards)
            else:
                self.tournament.play(self.list_tasks(), workers, count)
            if self.played:
                self.irreproducible = find_irreproducible(self.tournament)
        except KeyboardInterrupt:
            self.interrupted = True
        finally:
            self.seconds += perf_counter() - start

    # ---- the report

    def make_report(self, command: str | None = None, finished: bool = True) -> dict[str, Any]:
        """Return the whole report as JSON-able values.

        Args:
            finished: Whether nothing more is being played. Otherwise the report is that of an interrupted benchmark.
            command: The command line to be noted in the report; by default that of this process.
        """
        results = make_results(
            self.tournament,
            board_list=self.board_list,
            list_seed=self.seed if self.sealed is None else None,
            options=self.options,
            version=version("card-envs"),
            baseline=self.baseline,
            edge=self.edge,
            until_sure=self.until_sure,
            sequential=self.sequential and not self.until_sure,
            gate=self.gate,
            panel=self.panel,
            sealed=self.sealed,
        )
        boards = self._pack_boards()
        return {
            "schema": SCHEMA,
            "header": {
                "command": command or shlex.join(sys.argv),
                "versions": {name: version(name) for name in LIBRARIES} | {"python": platform.python_version()},
                "interrupted": self.interrupted or not finished,
                "resumed": self.resumed,
                "irreproducible": self.irreproducible,
            },
            "results": results,
            "results_sha256": hash_json(results),
            "timing": {
                "seconds": round(self.seconds, 3),
                "matches": self.played,
                "matches_per_second": round(self.played / self.seconds, 1) if self.seconds else None,
                "ms_per_decision": self._measure_speeds(),
            },
            "machine": {
                "processor": platform.machine(),
                "cores": os.cpu_count(),
                "system": platform.system(),
                "python": platform.python_implementation(),
            },
            "boards": boards,
            "boards_sha256": hash_json(boards),
        }

    def _measure_speeds(self) -> dict[str, dict[str, float | None]]:
        """Return the milliseconds per decision in this process, by number of players and name."""
        seconds: dict[tuple[int, str], float] = defaultdict(float)
        decisions: dict[tuple[int, str], int] = defaultdict(int)
        for (n, lineup), by_board in self.tournament.shards.items():
            for shard in by_board.values():
                for name, spent, timed in zip(sorted(set(lineup)), shard.seconds, shard.timed, strict=True):
                    seconds[n, name] += float(spent)
                    decisions[n, name] += int(timed)
        speeds: dict[str, dict[str, float | None]] = {str(n): {} for n, _ in sorted(decisions)}
        for (n, name), count in sorted(decisions.items()):
            speeds[str(n)][name] = round(1000 * seconds[n, name] / count, 6) if count else None
        return speeds

    def _pack_boards(self) -> dict[str, Any]:
        """Return all boards as the report stores them, with what they depend on."""
        identity = self._identify()
        packed = [
            {"players": n, "lineup": list(lineup), "shards": [pack_shard(shard) for _, shard in sorted(by_board.items())]}
            for (n, lineup), by_board in sorted(self.tournament.shards.items())
            if by_board
        ]
        return identity | {
            "players": self.other_players | identity["players"],
            "sequential": self.sequential or self.until_sure,
            "shards": sorted([*packed, *self.other_shards], key=lambda entry: (entry["players"], entry["lineup"])),
        }

    def _identify(self) -> dict[str, Any]:
        """Return what must agree if boards are to be continued."""
        game = self.tournament.game
        specs = self.tournament.roster.specs
        return {
            "game": game.id,
            "package": version("card-envs"),
            "options": self.options,
            "board_list": self.board_list,
            "seed": self.seed if self.sealed is None else None,
            "players": {
                name: {"spec": spec if isinstance(spec, str) else None, "sha256": identify_player(spec, game)["sha256"]}
                for name, spec in specs.items()
            },
        } | ({"sealed": self.sealed} if self.sealed else {})

    # ---- going on

    def resume(self, report: Mapping[str, Any], source: str = "the report") -> None:
        """Take over the boards of an earlier report of the same game, options, board list and version of the package.

        Boards of other players or table sizes are kept for the new report as they are.

        Args:
            report: The earlier report.
            source: What error messages call the report.

        Raises:
            ValueError: Something differs or is damaged; the message names the first such thing.
        """
        if report.get("schema") != SCHEMA:
            raise ValueError(f"{source}: its schema is {report.get('schema')!r}, this package reads {SCHEMA!r}")
        try:
            stored = read_boards(report)
        except ValueError as error:
            raise ValueError(f"{source}: {error}") from None
        if stored.sequential and self.gate:
            raise ValueError(f"{source}: it was played until sure, but a gate needs a fixed number of matches")
        mine = self._identify()
        for key in ("game", "package", "options", "board_list", "seed", "sealed"):
            if stored.identity.get(key) != mine.get(key):
                raise ValueError(f"{source}: its {key} is {stored.identity.get(key)!r}, but here it is {mine.get(key)!r}")
        for name, player in mine["players"].items():
            if stored.players.get(name, player) != player:
                raise ValueError(f"{source}: {name} was another player or another file then: {stored.players[name]}")
        played: dict[tuple[int, Lineup], dict[int, Shard]] = {}
        for n, lineup, shards in stored.shards:
            if n in self.tournament.tables and set(lineup) <= set(self.tournament.roster):
                played[n, lineup] = self._read_shards(n, lineup, shards, source)
        others = [entry for entry in stored.shards if entry[:2] not in played]
        self.resumed, self.sequential = True, stored.sequential
        self.tournament.shards |= played
        self.other_shards += [{"players": n, "lineup": list(lineup), "shards": shards} for n, lineup, shards in others]
        self.other_players |= {name: stored.players.get(name) for _, lineup, _ in others for name in lineup}

    def _read_shards(self, n: int, lineup: Lineup, shards: list[Any], source: str) -> dict[int, Shard]:
        counts = len(load_measures(self.tournament.game).names)
        try:
            read = unpack_shards(shards, lineup, counts, max(MOST_BOARDS, self.boards[n]))
        except ValueError as error:
            raise ValueError(f"{source}: {', '.join(lineup)}: {error}") from None
        end = max((shard.end for shard in read.values()), default=0)
        if self.gate and end > self.boards[n]:
            raise ValueError(f"{source}: it has {end * n} matches; for a gate, set that number with matches")
        return read


def check_matches(matches: object, players: int) -> int:
    """Return the number of matches as an int.

    Raises:
        ValueError: The number is not whole, or too small for two boards of this many players.
    """
    if isinstance(matches, bool) or not isinstance(matches, int | np.integer) or not players < matches <= MOST_MATCHES:
        raise ValueError(
            f"matches = {shorten(matches)}: allowed is a whole number from {players + 1} (2 boards of {players})"
            f" to {MOST_MATCHES:,}"
        )
    return int(matches)


def run_benchmark(
    game: str | Game,
    players: Sequence[str] | Mapping[str, Any],
    *,
    threads: int = 1,
    workers: Callable[[Roster], Workers] | None = None,
    progress: Progress = lambda matches: None,
    **arguments: Any,
) -> dict[str, Any]:
    """Find out which of several players is better.

    Every line-up plays the same boards: one player among the others of each kind, both ways, and free for all.

    Args:
        game: A game or its name.
        players: Specs, or specs or players by name.
        threads: The number of threads that play; the results do not depend on it.
        workers: A function of the roster that makes whoever plays instead of threads, such as
            :class:`card_envs.arena.workers.RayCluster`.
        progress: Called with the number of matches after each shard.
        **arguments: ``tables`` (numbers of players), ``matches`` (of each line-up, rounded up to whole boards), ``until_sure``
            (a sequential test of everybody against ``baseline`` for a difference of ``edge``, with ``matches`` as the limit),
            ``gate`` (``"A > B"``), ``board_list`` and ``seed`` (see :func:`~card_envs.arena.boards.derive_list_seed`), and the
            game's options.

    Returns:
        The report as JSON-able values.

    Raises:
        ValueError: An argument is wrong; the message says what is allowed.
    """
    benchmark = Benchmark.create(game, players, **arguments)
    roster = benchmark.tournament.roster
    benchmark.play(workers(roster) if workers else Threads(roster, threads), progress)
    if benchmark.interrupted:
        raise KeyboardInterrupt
    return benchmark.make_report()
