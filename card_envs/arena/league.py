"""The league table: what all line-ups of a table size say about each player, with bounds from a bootstrap over boards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.arena import statistics
from card_envs.arena.shard import count_win_units
from card_envs.arena.statistics import Floats, round_figure
from card_envs.arena.tournament import Tournament
from card_envs.engine.game import Game
from card_envs.engine.measures import load_measures


@dataclass(frozen=True)
class Columns:
    """Everything that is resampled, for every board, summed over line-ups and rotations; P is the number of players.

    Attributes:
        counts: The wins of i over j by placement, float64 [boards, P, P].
        shares, seats: The shares of the wins and the number of seats that the player took, float64 [boards, P].
        places, margins: The placements and margins, summed over those seats, float64 [boards, P].
        measured: The counts behind the game's metrics, float64 [boards, P, C].
    """

    counts: Floats
    shares: Floats
    seats: Floats
    places: Floats
    margins: Floats
    measured: Floats

    def flatten(self) -> Floats:
        """Return all columns side by side, float64 [boards, K]."""
        return np.concatenate([part.reshape(len(part), -1) for part in vars(self).values()], axis=1)

    def unflatten(self, flat: Floats) -> Columns:
        """Return columns of other rows, given as float64 [rows, K] in the order of :meth:`flatten`."""
        shapes = {name: part.shape[1:] for name, part in vars(self).items()}
        ends = np.cumsum([int(np.prod(shape)) for shape in shapes.values()])
        parts = np.split(flat, ends[:-1], axis=1)
        return Columns(**{name: part.reshape(-1, *shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)})


def sum_columns(tournament: Tournament, n: int) -> Columns:
    """Sum the shards of a table size by board."""
    names = list(tournament.roster)
    played = [(lineup, shards) for (size, lineup), shards in sorted(tournament.shards.items()) if size == n and shards]
    boards = max((s.end for _, shards in played for s in shards.values()), default=0)
    p = len(names)
    counts = np.zeros((boards, p, p))
    shares, seats, places, margins = (np.zeros((boards, p)) for _ in range(4))
    measured = np.zeros((boards, p, len(load_measures(tournament.game).names)))
    for lineup, shards in played:
        who = np.array([names.index(name) for name in sorted(set(lineup))])
        copies = np.array([lineup.count(name) for name in sorted(set(lineup))])
        for s in shards.values():
            rows = slice(s.first, s.end)
            counts[rows, who[:, None], who] += s.pairs / 2
            shares[rows, who] += s.shares / count_win_units(n)
            seats[rows, who] += n * copies
            places[rows, who] += s.places / 2
            margins[rows, who] += s.margins / (n - 1)
            measured[rows, who] += s.counts
    there = seats.sum(axis=1) > 0  # an interrupted run may lack boards
    return Columns(*(part[there] for part in (counts, shares, seats, places, margins, measured)))


def make_league(tournament: Tournament, n: int) -> list[dict[str, Any]]:
    """Return a row for every player that has played, the best rating first; its figures have 95 % bootstrap bounds."""
    names = list(tournament.roster)
    columns = sum_columns(tournament, n)
    if not len(columns.counts):
        return []
    flat = columns.flatten()
    total = columns.unflatten(flat.sum(axis=0, keepdims=True))
    drawn = columns.unflatten(statistics.resample_sums(flat, tournament.seed + n))
    comparable, reference = statistics.find_comparable(total.counts[0], names.index("random") if "random" in names else 0)
    elo, low, high = _rate(total.counts[0], drawn.counts, comparable, reference)
    boards = len(columns.counts)
    if boards == 1:  # one board says nothing about others
        low, high = np.full(len(names), np.nan), np.full(len(names), np.nan)
    rows = []
    for i, name in enumerate(names):
        if total.seats[0, i] == 0:
            continue
        rows.append(
            {
                "player": name,
                "players": n,
                "rating": round_figure(elo[i], 2),
                "low": round_figure(low[i], 2),
                "high": round_figure(high[i], 2),
                "identified": bool(comparable[i]),
                "reference": names[reference],
                **_compute_figures(total, drawn, i, boards),
                "fair": round_figure(1 / n),
                **_sum_totals(tournament, n, name),
                "metrics": compute_metrics(tournament.game, total.measured[0, i], drawn.measured[:, i], boards > 1),
            }
        )
    return sorted(rows, key=lambda row: (-(row["rating"] if comparable.all() else row["win"]), row["player"]))


def _compute_figures(total: Columns, drawn: Columns, i: int, boards: int) -> dict[str, float | None]:
    """Return the share of the wins, placement and margin of player ``i``, each with its bounds."""
    figures: dict[str, float | None] = {}
    sat = drawn.seats[:, i] > 0  # in an interrupted run, a resample may lack the player
    for key, column in (("win", "shares"), ("placement", "places"), ("margin", "margins")):
        mean = getattr(total, column)[0, i] / total.seats[0, i]
        low, high = statistics.compute_bounds(getattr(drawn, column)[sat, i] / drawn.seats[sat, i])
        if key == "win" and mean in (0.0, 1.0):  # the same on every board, and the bootstrap knows no others
            unseen = statistics.bound_unseen_share(boards, (1 - statistics.LEVEL) / 2)
            low, high = (mean, unseen) if mean == 0.0 else (mean - unseen, mean)
        if boards == 1:
            low, high = np.nan, np.nan
        figures |= {key: round_figure(mean), f"{key}_low": round_figure(low), f"{key}_high": round_figure(high)}
    return figures


def compute_metrics(game: Game, total: Floats, drawn: Floats, several: bool) -> dict[str, dict[str, float | None]]:
    """Compute the game's metrics.

    Args:
        game: The game whose metrics they are.
        total: The counts, float64 [C].
        drawn: The resampled counts, float64 [resamples, C].
        several: Whether there is more than one board, so that there are bounds.

    Returns:
        ``value``, ``low`` and ``high`` of each metric; ``None`` where it is undefined.
    """
    measures = load_measures(game)
    figures = {}
    with np.errstate(divide="ignore", invalid="ignore"):
        for metric in measures.metrics:
            value = metric.value(dict(zip(measures.names, total, strict=True)))
            samples = metric.value(dict(zip(measures.names, drawn.T, strict=True)))
            there = samples[np.isfinite(samples)] if several else samples[:0]
            low, high = statistics.compute_bounds(there) if np.isfinite(value) and len(there) else (np.nan, np.nan)
            figures[metric.name] = {"value": round_figure(value), "low": round_figure(low), "high": round_figure(high)}
    return figures


def _rate(counts: Floats, drawn: Floats, comparable: NDArray[np.bool_], reference: int) -> tuple[Floats, Floats, Floats]:
    """Return ratings with bootstrap bounds; NaN for players that are not comparable."""
    elo, low, high = (np.full(len(counts), np.nan) for _ in range(3))
    where = np.flatnonzero(comparable)
    if len(where) < 2:
        return elo, low, high
    at = int(np.flatnonzero(where == reference)[0])
    among = np.ix_(where, where)
    elo[where] = statistics.rate_players(counts[among], at)
    samples = np.array([statistics.rate_players(sample[among], at, elo[where]) for sample in drawn])
    low[where], high[where] = statistics.compute_bounds(samples)
    return elo, low, high


def _sum_totals(tournament: Tournament, n: int, name: str) -> dict[str, Any]:
    """Return the figures that are counted but not resampled."""
    played = [
        (s, sorted(set(lineup)).index(name), lineup.count(name))
        for (size, lineup), shards in tournament.shards.items()
        if size == n and name in lineup
        for s in shards.values()
    ]
    seats = sum(s.boards * copies for s, _, copies in played)  # the matches of the player in each of the n seats
    sat = seats * n
    seat_shares = sum(s.seat_shares[who] for s, who, _ in played) / count_win_units(n)
    decisions, faults, points = (
        sum(int(getattr(s, count)[who]) for s, who, _ in played) for count in ("decisions", "faults", "points")
    )
    deals = sum(s.deals * copies for s, _, copies in played)
    return {
        "seats": [round_figure(share / seats) for share in seat_shares],
        "matches": sum(s.boards for s, _, _ in played) * n,
        "decisions": decisions,
        "decisions_per_match": round_figure(decisions / sat),
        "points_per_match": round_figure(points / sat),
        "points_per_deal": round_figure(points / deals) if deals else None,
        "deals_per_match": round_figure(deals / sat),
        "illegal": faults,
        "truncated": sum(s.truncated for s, _, _ in played),
    }
