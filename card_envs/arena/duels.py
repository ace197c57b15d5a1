"""Duels, in which one player sits among others of one kind, and the ranking tables made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from card_envs.arena.benchmark import Benchmark, check_matches
from card_envs.arena.boards import derive_list_seed, list_pairings
from card_envs.arena.playing import limit_blas, play_shard
from card_envs.arena.roster import Roster
from card_envs.arena.shard import Shard, Task, count_win_units
from card_envs.arena.statistics import Estimate, estimate_mean
from card_envs.arena.tournament import Tournament
from card_envs.engine.game import Game, OptionValue
from card_envs.games import load_game
from card_envs.players import Player

MATCHES = 20_000
MATCHES_AT_ONCE = 4096

OUTS = "outs"  # the name, in games about getting rid of cards, of the count of deals ended with an empty hand
DEALS_AMONG_EQUALS = 1000


@dataclass(frozen=True)
class Duel:
    """How one A did among n - 1 B.

    Attributes:
        share: A's share of the wins; k winners of a match get 1/k each.
        fair: The share of a player among equals, 1/n.
        margin: The points by which A is ahead of the mean of the others, in the direction that wins.
        matches: The number of matches.
        truncated: The number of matches that a technical cap ended.
    """

    share: Estimate
    fair: float
    margin: Estimate
    matches: int
    truncated: int


def play_duel(
    game: str | Game,
    a: str | Player,
    b: str | Player,
    *,
    matches: int = MATCHES,
    board_list: str = "report",
    seed: int = 0,
    **options: OptionValue,
) -> Duel:
    """Play one A among n - 1 B, with A in every seat of every board.

    Unlike a benchmark, a duel ends at the first failure of a player, and all boards are played side by side.

    Args:
        game: A game or its name.
        a, b: Players or specs.
        matches: The number of matches, rounded up to whole boards of n matches; at least 2 boards.
        board_list, seed: As for :func:`~card_envs.arena.boards.derive_list_seed`.
        **options: The game's options, with ``players`` = n.

    Raises:
        ValueError: An argument is wrong; the message says what is allowed.
        IllegalAction: A player has answered with an illegal action.
    """
    game = load_game(game) if isinstance(game, str) else game
    resolved: dict[str, Any] = game.resolve(options)
    n = int(resolved["players"])
    boards = -(-check_matches(matches, n) // n)
    list_seed = derive_list_seed(board_list, seed)
    lineup = ("a", *["b"] * (n - 1))
    roster = Roster({"a": a, "b": b}, game)
    size = max(1, MATCHES_AT_ONCE // n)
    with limit_blas():
        parts = [
            play_shard(
                Task(game, resolved, lineup, list_seed, first, min(size, boards - first), forgiving=False, measured=False),
                roster,
            )
            for first in range(0, boards, size)
        ]
    shard = parts[0].join(parts[1:])
    return Duel(
        share=_estimate_share(shard, n, 0),
        fair=1.0 / n,
        margin=estimate_mean(shard.margins[:, 0] / (n * (n - 1))),
        matches=boards * n,
        truncated=shard.truncated,
    )


def _estimate_share(shard: Shard, n: int, player: int) -> Estimate:
    """Estimate the share of the wins of the player who is alone in a pairing."""
    return estimate_mean(shard.shares[:, player] / (n * count_win_units(n)), (0.0, 1.0))


# ---- rankings


def list_built_ins(game: Game) -> list[str]:
    """Return the game's own players in its order, by their aliases where they have one."""
    alias = {spec.split("(")[0]: name for name, spec in game.aliases.items()}
    return [alias.get(policy.name, policy.name) for policy in game.policies]


def list_ranking_tasks(benchmark: Benchmark) -> list[Task]:
    """Return what a ranking plays: all pairings of the benchmark's players, without metrics."""
    tournament = benchmark.tournament
    return [
        replace(task, measured=False)
        for n, boards in benchmark.boards.items()
        for a, b in combinations(tournament.roster, 2)
        for lineup in list_pairings(a, b, n)
        for task in tournament.list_tasks(n, lineup, range(boards))
    ]


def make_ranking(tournament: Tournament, n: int, order: Sequence[str]) -> str:
    """Return a Markdown table of how often one of each row's player wins among n - 1 of each column's, with 95 % intervals.

    In games about getting rid of cards, a last column tells how often a deal among equals ends with an empty hand and not for
    lack of cards.

    Args:
        tournament: A tournament in which the tasks of :func:`list_ranking_tasks` have been played.
        n: The number of players at the table.
        order: The names in the order of the rows.
    """
    sheds = OUTS in tournament.game.count_names
    head = [f"one ↓ among {n - 1} →", *order, *(["goes out"] if sheds else [])]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for one in order:
        cells = ["–" if one == others else _format_share(tournament, n, one, others) for others in order]
        cells += [f"{_measure_going_out(tournament, n, one):.2f}"] if sheds else []
        lines.append(f"| `{one}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def _format_share(tournament: Tournament, n: int, one: str, others: str) -> str:
    lineup = next(lineup for lineup in list_pairings(one, others, n) if lineup.count(one) == 1)
    first, *rest = tournament.select_shards(n, lineup)
    share = _estimate_share(first.join(rest), n, sorted(set(lineup)).index(one))
    return f"{share.mean:.3f} ± {max(share.high - share.mean, share.mean - share.low):.3f}"


def _measure_going_out(tournament: Tournament, n: int, name: str) -> float:
    options = tournament.tables[n]
    task = Task(tournament.game, options, (name,) * n, tournament.seed, 0, DEALS_AMONG_EQUALS, "deal", forgiving=False)
    with limit_blas():
        shard = play_shard(task, tournament.roster)
    return float(shard.counts[:, 0, tournament.game.count_names.index(OUTS)].sum()) / (n * DEALS_AMONG_EQUALS)
