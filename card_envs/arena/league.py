"""The league table: what all line-ups of a table size say about each player, with bounds that count boards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.arena import statistics
from card_envs.arena.shard import count_win_units
from card_envs.arena.statistics import Floats, round_figure
from card_envs.arena.tournament import Tournament
from card_envs.engine.game import Game, Metric
from card_envs.engine.measures import load_measures


@dataclass(frozen=True)
class Columns:
    """Everything that has bounds, for every board, summed over line-ups and rotations; P is the number of players.

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
    """Return a row for every player that has played, the best rating first; its figures have 95 % bounds."""
    names = list(tournament.roster)
    columns = sum_columns(tournament, n)
    if not len(columns.counts):
        return []
    counts, seats = columns.counts.sum(axis=0), columns.seats.sum(axis=0)
    comparable, reference = statistics.find_comparable(counts, names.index("random") if "random" in names else 0)
    elo, low, high = rate_boards(columns.counts, comparable, reference)
    rows = []
    for i, name in enumerate(names):
        if seats[i] == 0:
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
                **_compute_figures(columns, i, _bound_figures(tournament, n, name)),
                "fair": round_figure(1 / n),
                **_sum_totals(tournament, n, name),
                "metrics": compute_metrics(tournament.game, columns.measured[:, i]),
            }
        )
    return sorted(rows, key=lambda row: (-(row["rating"] if comparable.all() else row["win"]), row["player"]))


def _bound_figures(tournament: Tournament, n: int, name: str) -> dict[str, tuple[float, float] | None]:
    """Return the least and the largest possible share of the wins and placement of a player on a board."""
    copies = np.array([lineup.count(name) for (size, lineup), shards in tournament.shards.items() if size == n and shards])
    copies = copies[copies > 0]
    won_by_others, won = float(np.sum(copies == n)), float(len(copies))  # if all copies are the player's, it wins anyway
    best, worst = np.sum(copies * (copies + 1) / 2), np.sum(copies * (2 * n - copies + 1) / 2)
    seats = float(copies.sum())
    return {"win": (won_by_others / seats, won / seats), "placement": (best / seats, worst / seats), "margin": None}


def _compute_figures(columns: Columns, i: int, bounds: dict[str, tuple[float, float] | None]) -> dict[str, float | None]:
    """Return the share of the wins, placement and margin of player ``i``, each with its bounds."""
    figures: dict[str, float | None] = {}
    seats = columns.seats[:, i]
    for key, sums in (("win", columns.shares[:, i]), ("placement", columns.places[:, i]), ("margin", columns.margins[:, i])):
        mean = float(sums.sum() / seats.sum())
        low, high = np.nan, np.nan
        if len(sums) > 1:  # one board says nothing about others
            values = mean + (sums - mean * seats) * len(seats) / seats.sum()  # seats differ after an interruption
            limits = bounds[key]
            if limits is not None:
                limits = min(limits[0], float(values.min())), max(limits[1], float(values.max()))
            estimate = statistics.estimate_mean(values, limits)
            low, high = estimate.low, estimate.high
        figures |= {key: round_figure(mean), f"{key}_low": round_figure(low), f"{key}_high": round_figure(high)}
    return figures


def compute_metrics(game: Game, measured: Floats) -> dict[str, dict[str, float | None]]:
    """Compute the game's metrics.

    Args:
        game: The game whose metrics they are.
        measured: The counts of the boards, float64 [boards, C].

    Returns:
        ``value``, ``low`` and ``high`` of each metric; ``None`` where it is undefined.
    """
    measures = load_measures(game)
    total = measured.sum(axis=0)
    steps = 1e-6 * np.maximum(total, 1.0)
    figures = {}
    with np.errstate(divide="ignore", invalid="ignore"):
        for metric in measures.metrics:
            compute = partial(_evaluate, metric, measures.names)
            value = float(compute(total))
            low, high = np.nan, np.nan
            if np.isfinite(value) and len(measured) > 1:
                slopes = (compute(total + np.diag(steps)) - value) / steps
                influences = measured @ np.where(measured.any(axis=0), slopes, 0.0)
                if np.isfinite(influences).all():
                    low, high = (float(compute(weights @ measured)) for weights in statistics.weigh_boards(influences))
            figures[metric.name] = {"value": round_figure(value), "low": round_figure(low), "high": round_figure(high)}
    return figures


def _evaluate(metric: Metric, names: Sequence[str], counts: Floats) -> Floats:
    """Return the metric of counts, float64 [..., C]."""
    return np.asarray(metric.value(dict(zip(names, np.moveaxis(counts, -1, 0), strict=True))), np.float64)


def rate_boards(counts: Floats, comparable: NDArray[np.bool_], reference: int) -> tuple[Floats, Floats, Floats]:
    """Return ratings with their bounds from the counts of the boards; NaN for players that are not comparable."""
    players = counts.shape[1]
    elo, low, high = (np.full(players, np.nan) for _ in range(3))
    where = np.flatnonzero(comparable)
    if len(where) < 2:
        return elo, low, high
    at = int(np.flatnonzero(where == reference)[0])
    among = counts[:, where[:, None], where]
    elo[where] = statistics.rate_players(among.sum(axis=0), at)
    if len(counts) > 1:  # one board says nothing about others
        influences = statistics.compute_rating_influences(among, elo[where], at)
        low[reference] = high[reference] = 0.0
        for i, player in enumerate(where.tolist()):
            if player != reference:
                bounds = [
                    statistics.rate_players(np.tensordot(weights, among, axes=1), at, elo[where])[i]
                    for weights in statistics.weigh_boards(influences[:, i])
                ]
                low[player], high[player] = bounds
    return elo, low, high


def _sum_totals(tournament: Tournament, n: int, name: str) -> dict[str, Any]:
    """Return the figures that have no bounds."""
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
