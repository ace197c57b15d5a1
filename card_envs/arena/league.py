"""The league table: what all line-ups of a table size together say of each player, with bounds from a bootstrap over deals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.arena import statistics
from card_envs.arena.run import Benchmark
from card_envs.arena.shard import unit
from card_envs.arena.statistics import Floats, rounded
from card_envs.engine.game import Game
from card_envs.engine.measures import measures_of


@dataclass(frozen=True)
class Columns:
    """Everything that is resampled: of every deal, summed over line-ups and rotations. P players.

    Attributes:
        counts: float64 [deals, P, P], wins of i over j by placement.
        shares, seats: float64 [deals, P], shares of the wins, and in how many seats the player sat.
        places, margins: float64 [deals, P], summed over those seats.
        measured: float64 [deals, P, C], what the game's metrics are made of.
    """

    counts: Floats
    shares: Floats
    seats: Floats
    places: Floats
    margins: Floats
    measured: Floats

    def flat(self) -> Floats:
        return np.concatenate([part.reshape(len(part), -1) for part in vars(self).values()], axis=1)

    def of_flat(self, flat: Floats) -> Columns:
        """Such columns again, of other rows: float64 [rows, K] as from :meth:`flat`."""
        shapes = {name: part.shape[1:] for name, part in vars(self).items()}
        ends = np.cumsum([int(np.prod(shape)) for shape in shapes.values()])
        parts = np.split(flat, ends[:-1], axis=1)
        return Columns(**{name: part.reshape(-1, *shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)})


def columns_of(benchmark: Benchmark, n: int) -> Columns:
    """Sum the shards of a table size by deal."""
    names = list(benchmark.roster)
    played = [(lineup, shards) for (size, lineup), shards in sorted(benchmark.shards.items()) if size == n and shards]
    deals = max((s.end for _, shards in played for s in shards.values()), default=0)
    p = len(names)
    counts = np.zeros((deals, p, p))
    shares, seats, places, margins = (np.zeros((deals, p)) for _ in range(4))
    measured = np.zeros((deals, p, len(measures_of(benchmark.game).names)))
    for lineup, shards in played:
        who = np.array([names.index(name) for name in sorted(set(lineup))])
        copies = np.array([lineup.count(name) for name in sorted(set(lineup))])
        for s in shards.values():
            rows = slice(s.first, s.end)
            counts[rows, who[:, None], who] += s.pairs / 2
            shares[rows, who] += s.shares / unit(n)
            seats[rows, who] += n * copies
            places[rows, who] += s.places / 2
            margins[rows, who] += s.margins / (n - 1)
            measured[rows, who] += s.counts
    there = seats.sum(axis=1) > 0  # an interrupted run may lack deals
    return Columns(*(part[there] for part in (counts, shares, seats, places, margins, measured)))


def league_table(benchmark: Benchmark, n: int) -> list[dict[str, Any]]:
    """A row for every player who has played, the best rating first; all figures with 95 % bootstrap bounds."""
    names = list(benchmark.roster)
    columns = columns_of(benchmark, n)
    if not len(columns.counts):
        return []
    flat = columns.flat()
    total = columns.of_flat(flat.sum(axis=0, keepdims=True))
    drawn = columns.of_flat(statistics.resampled(flat, benchmark.seed + n))
    known, reference = statistics.identified(total.counts[0], names.index("random") if "random" in names else 0)
    elo, low, high = _ratings(total.counts[0], drawn.counts, known, reference)
    blocks = len(columns.counts)
    if blocks == 1:  # which says nothing of others
        low, high = np.full(len(names), np.nan), np.full(len(names), np.nan)
    rows = []
    for i, name in enumerate(names):
        if total.seats[0, i] == 0:
            continue
        rows.append(
            {
                "player": name,
                "players": n,
                "rating": rounded(elo[i], 2),
                "low": rounded(low[i], 2),
                "high": rounded(high[i], 2),
                "identified": bool(known[i]),
                "reference": names[reference],
                **_figures(total, drawn, i, blocks),
                "fair": rounded(1 / n),
                **_totals(benchmark, n, name),
                "metrics": measure(benchmark.game, total.measured[0, i], drawn.measured[:, i], blocks > 1),
            }
        )
    return sorted(rows, key=lambda row: (-(row["rating"] if known.all() else row["win"]), row["player"]))


def _figures(total: Columns, drawn: Columns, i: int, blocks: int) -> dict[str, float | None]:
    """Player i's share of the wins, placement and margin, with their bounds."""
    figures: dict[str, float | None] = {}
    sat = drawn.seats[:, i] > 0  # of a run that was cut short, a resample may lack him
    for key, column in (("win", "shares"), ("placement", "places"), ("margin", "margins")):
        mean = getattr(total, column)[0, i] / total.seats[0, i]
        low, high = statistics.quantiles(getattr(drawn, column)[sat, i] / drawn.seats[sat, i])
        if key == "win" and mean in (0.0, 1.0):  # in every block, and the bootstrap knows no others
            unseen = statistics.unseen_share(blocks, (1 - statistics.LEVEL) / 2)
            low, high = (mean, unseen) if mean == 0.0 else (mean - unseen, mean)
        if blocks == 1:
            low, high = np.nan, np.nan
        figures |= {key: rounded(mean), f"{key}_low": rounded(low), f"{key}_high": rounded(high)}
    return figures


def measure(game: Game, total: Floats, drawn: Floats, several: bool) -> dict[str, dict[str, float | None]]:
    """The game's metrics, of counts float64 [C]; with 95 % bounds, of resamples [resamples, C], if there are several blocks."""
    measures = measures_of(game)
    found = {}
    with np.errstate(divide="ignore", invalid="ignore"):
        for metric in measures.metrics:
            value = metric.value(dict(zip(measures.names, total, strict=True)))
            samples = metric.value(dict(zip(measures.names, drawn.T, strict=True)))
            there = samples[np.isfinite(samples)] if several else samples[:0]
            low, high = statistics.quantiles(there) if np.isfinite(value) and len(there) else (np.nan, np.nan)
            found[metric.name] = {"value": rounded(value), "low": rounded(low), "high": rounded(high)}
    return found


def _ratings(counts: Floats, drawn: Floats, known: NDArray[np.bool_], reference: int) -> tuple[Floats, Floats, Floats]:
    """Ratings with bootstrap bounds of the players whom the counts can rate; NaN of the others."""
    elo, low, high = (np.full(len(counts), np.nan) for _ in range(3))
    where = np.flatnonzero(known)
    if len(where) < 2:
        return elo, low, high
    at = int(np.flatnonzero(where == reference)[0])
    among = np.ix_(where, where)
    elo[where] = statistics.ratings(counts[among], at)
    samples = np.array([statistics.ratings(sample[among], at, elo[where]) for sample in drawn])
    low[where], high[where] = statistics.quantiles(samples)
    return elo, low, high


def _totals(benchmark: Benchmark, n: int, name: str) -> dict[str, Any]:
    """What is only counted, not resampled."""
    seat_shares, seats, sat, decisions, faults, points, rounds, truncated, matches = np.zeros(n), 0, 0, 0, 0, 0, 0, 0, 0
    for (size, lineup), shards in sorted(benchmark.shards.items()):
        if size != n or name not in lineup:
            continue
        who, copies = sorted(set(lineup)).index(name), lineup.count(name)
        for s in shards.values():
            matches += s.deals * n
            seats += s.deals * copies  # at each of the n seats
            sat += s.deals * n * copies
            seat_shares = seat_shares + s.seat_shares[who] / unit(n)
            decisions += int(s.decisions[who])
            faults += int(s.faults[who])
            points += int(s.points[who])
            rounds += s.rounds * copies
            truncated += s.truncated
    return {
        "seats": [rounded(share / seats) for share in seat_shares],
        "matches": matches,
        "decisions": decisions,
        "decisions_per_match": rounded(decisions / sat),
        "points_per_match": rounded(points / sat),
        "points_per_deal": rounded(points / rounds) if rounds else None,
        "deals_per_match": rounded(rounds / sat),
        "illegal": faults,
        "truncated": truncated,
    }
