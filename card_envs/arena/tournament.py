"""A tournament: players, the tables they meet at, everything played so far, and what is still to be played."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from card_envs.arena.boards import Lineup, list_pairings
from card_envs.arena.playing import choose_shard_size, limit_blas, play_shard
from card_envs.arena.roster import Roster
from card_envs.arena.shard import PER_BOARD, Shard, Task, count_win_units, merge_shards
from card_envs.arena.statistics import MIN_BOARDS, Floats, run_sequential_test
from card_envs.engine.game import Game
from card_envs.players.player import is_compiled

Progress = Callable[[int], None]  # called with the number of matches that were just played


class Workers(Protocol):
    """Whoever plays shards. They may return them in any order."""

    def run(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Shard]]:
        """Play the tasks and yield each with its shard."""
        ...


@dataclass
class Tournament:
    """Players, the tables they meet at, and everything played so far.

    Attributes:
        roster: The players.
        tables: All options of each table, by number of players.
        seed: The seed of the boards, from :func:`~card_envs.arena.boards.derive_list_seed`.
        recent: Shards that have been played and are not yet merged with the others, as in ``shards``.
        shards: What was played, by (number of players, line-up) and then by first board.
        sampled: Whether the actions on a sample of the boards are kept.
    """

    roster: Roster
    tables: Mapping[int, Mapping[str, Any]]
    seed: int
    shards: dict[tuple[int, Lineup], dict[int, Shard]] = field(default_factory=dict)
    sampled: bool = False
    recent: dict[tuple[int, Lineup], dict[int, Shard]] = field(default_factory=dict)

    @property
    def game(self) -> Game:
        return self.roster.game

    def list_tasks(self, n: int, lineup: Lineup, boards: range) -> Iterator[Task]:
        """Yield the shards that cover those of these boards that have not been played."""
        options = self.tables[n]
        size = choose_shard_size(self.roster.make_players(lineup, options).values())
        known = sorted(self.shards.get((n, lineup), {}).items())
        start = boards.start
        for first, end in [*((first, shard.end) for first, shard in known), (boards.stop, boards.stop)]:
            for at in range(start, min(first, boards.stop), size):
                many = min(size, first - at, boards.stop - at)
                yield Task(self.game, options, lineup, self.seed, at, many, sampled=self.sampled)
            start = max(start, end)

    def play(self, tasks: Iterable[Task], workers: Workers, progress: Progress) -> None:
        """Play these tasks. What was played before an interruption is kept."""
        try:
            for task, shard in workers.run(tasks):
                self.recent.setdefault((len(task.lineup), task.lineup), {})[task.first] = shard
                progress(task.matches)
        finally:
            self.merge()

    def merge(self) -> None:
        """Move the recent shards to the others. If that was interrupted, it can be done again."""
        for key, shards in self.recent.items():
            known = self.shards.get(key, {})
            new = {first: shard for first, shard in shards.items() if not any(s.first <= first < s.end for s in known.values())}
            self.shards[key] = merge_shards(known | new)
        self.recent = {}

    def select_shards(self, n: int, lineup: Lineup) -> list[Shard]:
        """Return the shards of a line-up in the order of their boards."""
        return [shard for _, shard in sorted(self.shards.get((n, lineup), {}).items())]

    def share_alone(self, n: int, lineup: Lineup) -> tuple[NDArray[np.int64], Floats]:
        """Return the boards played by a pairing and, on each, the mean share of the wins of its first player, who is alone."""
        shards = self.select_shards(n, lineup)
        if not shards:
            return np.empty(0, np.int64), np.empty(0)
        alone = sorted(set(lineup)).index(lineup[0])
        boards = np.concatenate([np.arange(s.first, s.end) for s in shards])
        return boards, np.concatenate([s.shares[:, alone] for s in shards]) / (count_win_units(n) * n)

    def score_pair(self, n: int, a: str, b: str) -> Floats:
        """Return the board scores of A against B, float64 [boards]: by how much A's share of the wins exceeds a fair share.

        With more than two players this is the mean of A's surplus as one among B and of B's deficit as one among A, so that the
        score of B against A is the negative of it.
        """
        among = {lineup: self.share_alone(n, lineup) for lineup in list_pairings(a, b, n)}
        common = set.intersection(*(set(boards) for boards, _ in among.values()))
        scores = np.zeros(len(common))
        for lineup, (boards, share) in among.items():
            score = share[np.isin(boards, list(common))] - 1.0 / n
            scores += score if lineup[0] == a else -score
        return scores / len(among)

    def compare_places(self, n: int, a: str, b: str) -> Floats:
        """Return, for each board, the share of A's and B's encounters in which A is placed ahead, less one half."""
        lineups = list_pairings(a, b, n)
        names = sorted((a, b))
        i, j = names.index(a), names.index(b)
        by_board = [
            {s.first + k: float(wins) for s in self.select_shards(n, lineup) for k, wins in enumerate(s.pairs[:, i, j])}
            for lineup in lineups
        ]
        common = sorted(set.intersection(*map(set, by_board)))
        total = np.array([[wins[board] for board in common] for wins in by_board]).sum(axis=0)
        most = 2 * n * (n - 1) * len(lineups)
        share: Floats = total / most - 0.5
        return share


# ---- a sequential test


def play_until_sure(
    tournament: Tournament, baseline: str, workers: Workers, progress: Progress, *, edge: float, most: Mapping[int, int]
) -> None:
    """Play everybody against the baseline until the sequential test of each is decided or ``most`` boards are played.

    Args:
        tournament: What is played, and where the shards go.
        baseline: The name of the player against whom the others are tested.
        workers: Who plays.
        progress: Called with the number of matches after each shard.
        edge: The board score to be told from 0.
        most: The largest number of boards, by number of players.
    """
    while True:
        tasks = [
            task
            for n in tournament.tables
            for name in tournament.roster
            if name != baseline
            for task in _list_next_round(tournament, n, name, baseline, edge, most[n])
        ]
        if not tasks:
            return
        tournament.play(tasks, workers, progress)


def _list_next_round(tournament: Tournament, n: int, name: str, baseline: str, edge: float, most: int) -> list[Task]:
    """Return what a pair plays before it is tested again; nothing if its test is decided or ``most`` boards are played.

    Tests follow whole rounds only, so that it does not matter where an earlier run broke off.
    """
    lineups = list_pairings(name, baseline, n)
    size = choose_shard_size(tournament.roster.make_players(lineups[0], tournament.tables[n]).values())
    round_size = -(-MIN_BOARDS // size) * size
    first = [tournament.shards.get((n, lineup), {}).get(0) for lineup in lineups]  # shards are merged
    played = min(0 if shard is None else shard.end for shard in first)
    rounds = played // round_size
    scores = tournament.score_pair(n, name, baseline)[: rounds * round_size]
    if played >= most or run_sequential_test(scores, edge).verdict != "undecided":
        return []
    end = min(most, (rounds + 1) * round_size)
    return [task for lineup in lineups for task in tournament.list_tasks(n, lineup, range(end))]


# ---- reproducibility


def find_irreproducible(tournament: Tournament) -> list[str]:
    """Return the players that, made anew, play a board differently from before, since they depend on more than row and key.

    One board of each player is replayed. Compiled players need no check, and objects made elsewhere cannot be made anew.
    """
    irreproducible, tried = [], set()
    for (n, lineup), shards in sorted(tournament.shards.items()):
        doubtful = [
            name
            for name, player in tournament.roster.make_players(lineup, tournament.tables[n]).items()
            if not is_compiled(player) and isinstance(tournament.roster.specs[name], str) and name not in tried
        ]
        if 0 not in shards or len(doubtful) != 1:  # with one doubtful player it is clear who is to blame
            continue
        tried.add(doubtful[0])
        anew = Roster(tournament.roster.specs, tournament.game)
        with limit_blas():
            again = play_shard(Task(tournament.game, tournament.tables[n], lineup, tournament.seed, 0, 1), anew)
        if any((getattr(again, name)[0] != getattr(shards[0], name)[0]).any() for name in PER_BOARD):
            irreproducible.append(doubtful[0])
    return irreproducible
