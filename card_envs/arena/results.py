"""The results of a benchmark: everything that depends on the matches alone, as plain values that two runs can compare."""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.arena import statistics
from card_envs.arena.lineups import pairings
from card_envs.arena.run import Benchmark
from card_envs.arena.shard import APPRAISED, FAULTS_TOLD, unit
from card_envs.engine import loops
from card_envs.engine.batch import Batch
from card_envs.engine.game import Game, OptionValue, unknown
from card_envs.engine.measures import measures_of

Floats = NDArray[np.float64]

FEW = 30  # blocks
SIGNIFICANT = 1 - statistics.LEVEL


def canonical(value: Any) -> bytes:
    """JSON with sorted keys and no blanks: equal values give equal bytes."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def digest(value: Any) -> str:
    return sha256(canonical(value)).hexdigest()


def rounded(value: float | None, digits: int = 6) -> float | None:
    """Shorter than the last bits, in which linear algebra libraries differ."""
    return None if value is None or not np.isfinite(value) else round(float(value), digits) + 0.0


# ---- what identifies a benchmark


def hash_deals(game: Game, options: Mapping[str, Any], seed: int, deals: int) -> str:
    """SHA-256 of the decks of the deals 0 … deals-1 of a list, and of the keys that later shuffles are drawn from."""
    found = sha256()
    for first in range(0, deals, 4096):
        rows = np.arange(min(4096, deals - first))
        batch = Batch(game, len(rows), seed=0, **options)
        batch._identity[:] = np.stack([np.full(len(rows), seed), first + rows, 0 * rows, 0 * rows], axis=1)
        batch._actions[:] = loops.RESET
        batch._run(rows)
        found.update(np.ascontiguousarray(batch._states["deck"]).tobytes())
        found.update(np.ascontiguousarray(batch._states["key"]).tobytes())
    return found.hexdigest()


def identify_player(spec: object, game: Game) -> dict[str, str | None]:
    """What a spec stands for: its kind, and the SHA-256 of the checkpoint or the module where there is one."""
    if not isinstance(spec, str):
        return {"kind": "object", "sha256": None}
    if spec.endswith(".safetensors"):
        return {"kind": "checkpoint", "sha256": sha256(Path(spec).read_bytes()).hexdigest()}
    stands_for = game.aliases.get(spec, spec)
    name = stands_for.split("(")[0].strip()
    if ":" not in name:
        return {"kind": "built-in", "sha256": None} | ({"spec": stands_for} if stands_for != spec else {})
    file = inspect.getsourcefile(importlib.import_module(name.split(":")[0]))
    return {"kind": "module", "sha256": sha256(Path(file).read_bytes()).hexdigest() if file else None}


# ---- the tables of one number of players


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
    deals = max((s.first + s.deals for _, shards in played for s in shards.values()), default=0)
    p = len(names)
    counts = np.zeros((deals, p, p))
    shares, seats, places, margins = (np.zeros((deals, p)) for _ in range(4))
    measured = np.zeros((deals, p, len(measures_of(benchmark.game).names)))
    for lineup, shards in played:
        who = np.array([names.index(name) for name in sorted(set(lineup))])
        copies = np.array([lineup.count(name) for name in sorted(set(lineup))])
        for s in shards.values():
            rows = slice(s.first, s.first + s.deals)
            counts[rows, who[:, None], who] += s.pairs / 2
            shares[rows, who] += s.shares / unit(n)
            seats[rows, who] += n * copies
            places[rows, who] += s.places / 2
            margins[rows, who] += s.margins / (n - 1)
            measured[rows, who] += s.counts
    there = seats.sum(axis=1) > 0  # an interrupted run may lack deals
    return Columns(*(part[there] for part in (counts, shares, seats, places, margins, measured)))


def table_results(
    benchmark: Benchmark, n: int, baseline: str | None, edge: float, until_sure: bool, sequential: bool
) -> dict[str, Any]:
    """``league``, ``cross`` and ``warnings`` of one table size."""
    names = list(benchmark.roster)
    cross = cross_table(benchmark, n, baseline, edge, until_sure, sequential)
    league = league_table(benchmark, n)
    for row in league:
        against = [(entry["edge"], entry["b"]) for entry in cross if entry["a"] == row["player"]]
        against += [(-entry["edge"], entry["a"]) for entry in cross if entry["b"] == row["player"]]
        worst = min(against, default=None)
        row["worst"] = None if worst is None else {"player": worst[1], "edge": worst[0]}
    warnings = list(_intransitive(n, league, cross)) if len(names) > 2 else []
    fewest, most = (pick((entry["blocks"] for entry in cross), default=FEW) for pick in (min, max))
    if fewest < FEW:
        warnings.append(f"{n} players: {fewest} blocks of a pair only; below {FEW} the intervals are rough")
    if fewest < most and not (until_sure or sequential):
        warnings.append(f"{n} players: not all pairs have met in as many deals ({fewest} … {most})")
    return {"league": league, "cross": cross, "warnings": warnings}


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
    measured = [("win", "shares"), ("placement", "places"), ("margin", "margins")]
    rows = []
    for i, name in enumerate(names):
        if total.seats[0, i] == 0:
            continue
        figures: dict[str, float | None] = {}
        sat = drawn.seats[:, i] > 0  # of a run that was cut short, a resample may lack him
        for key, column in measured:
            means = getattr(drawn, column)[sat, i] / drawn.seats[sat, i]
            mean = getattr(total, column)[0, i] / total.seats[0, i]
            low_mean, high_mean = statistics.quantiles(means)
            if key == "win" and mean in (0.0, 1.0):  # in every block: the bootstrap knows no others
                unseen = statistics.unseen_share(len(columns.counts), (1 - statistics.LEVEL) / 2)
                low_mean, high_mean = (mean - unseen, mean) if mean else (mean, mean + unseen)
            known_bounds = len(columns.counts) > 1
            figures[key] = rounded(mean)
            figures[f"{key}_low"], figures[f"{key}_high"] = (
                (rounded(low_mean), rounded(high_mean)) if known_bounds else (None, None)
            )
        rows.append(
            {
                "player": name,
                "players": n,
                "rating": rounded(elo[i], 2),
                "low": rounded(low[i], 2),
                "high": rounded(high[i], 2),
                "identified": bool(known[i]),
                "reference": names[reference],
                **figures,
                "fair": rounded(1 / n),
                **_totals(benchmark, n, name),
                "metrics": measure(benchmark.game, total.measured[0, i], drawn.measured[:, i], len(columns.counts) > 1),
            }
        )
    return sorted(rows, key=lambda row: (-(row["rating"] if known.all() else row["win"]), row["player"]))


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


def cross_table(
    benchmark: Benchmark, n: int, baseline: str | None, edge: float, until_sure: bool, sequential: bool
) -> list[dict[str, Any]]:
    """An entry for every pair that has met: A's block score against B (see :meth:`Benchmark.scores`)."""
    entries = []
    for a, b in combinations(benchmark.roster, 2):
        if baseline == a:  # the verdict is on the other
            a, b = b, a  # noqa: PLW2901
        scores = benchmark.scores(n, a, b)
        if len(scores) < 2:
            continue
        found = statistics.mean_of(scores)
        entry: dict[str, Any] = {
            "a": a,
            "b": b,
            "players": n,
            "edge": rounded(found.mean),
            "low": rounded(found.low),
            "high": rounded(found.high),
            "floor": rounded(found.floor),
            "p": found.p,
            "blocks": found.blocks,
            "variance_factor": rounded(statistics.variance_factor(scores, _independent(benchmark, n, a, b)), 4),
            "sprt": None,
            "early": sequential,
        }
        if until_sure and baseline == b:
            test = statistics.sprt(scores, edge)
            entry["sprt"] = {"verdict": test.verdict, "blocks": test.blocks, "llr": rounded(test.llr, 4)}
            entry["early"] |= test.verdict != "undecided"
        ahead = statistics.mean_of(benchmark.ahead(n, a, b))
        entry["ahead"] = {"mean": rounded(0.5 + ahead.mean), "p": ahead.p}
        entries.append(entry)
    for entry, p in zip(entries, statistics.holm([entry["ahead"]["p"] for entry in entries]), strict=True):
        entry["ahead"] = {"mean": entry["ahead"]["mean"], "p_holm": float(f"{p:.6g}")}
    for entry, p in zip(entries, statistics.holm([entry["p"] for entry in entries]), strict=True):
        entry["p"], entry["p_holm"] = float(f"{entry['p']:.6g}"), float(f"{p:.6g}")
        entry["significant"] = p <= SIGNIFICANT
    return entries


def _independent(benchmark: Benchmark, n: int, a: str, b: str) -> float:
    """The variance that a block score would have if each of its matches were dealt anew."""
    lineups = pairings(a, b, n)
    variance = 0.0
    for lineup in lineups:
        shards = benchmark.in_order(n, lineup)
        one = sorted(set(lineup)).index(lineup[0])
        deals = sum(s.deals for s in shards)
        mean = sum(s.seat_shares[one] for s in shards) / (deals * unit(n))
        square = sum(s.seat_squares[one] for s in shards) / (deals * float(unit(n)) ** 2)
        variance += float(np.sum(square - mean**2)) * deals / (deals - 1) / n**2
    return variance / len(lineups) ** 2


def _intransitive(n: int, league: list[dict[str, Any]], cross: list[dict[str, Any]]) -> Iterator[str]:
    """Who is placed ahead of somebody that is rated above him: then no ranking tells the whole truth."""
    rating = {row["player"]: row["rating"] for row in league if row["rating"] is not None}
    for entry in cross:
        ahead = entry["ahead"]
        better, worse = (entry["a"], entry["b"]) if ahead["mean"] > 0.5 else (entry["b"], entry["a"])
        if ahead["p_holm"] > SIGNIFICANT or not {better, worse} <= set(rating):
            continue
        if rating[better] < rating[worse]:
            yield (
                f"{n} players: {better} is placed ahead of {worse} where the two meet, but rated below it:"
                " play is not transitive, so read the cross-table"
            )


# ---- all together


def results_of(
    benchmark: Benchmark,
    *,
    deal_list: str,
    list_seed: int,
    options: Mapping[str, OptionValue],
    version: str,
    baseline: str | None = None,
    edge: float = statistics.EDGE,
    until_sure: bool = False,
    sequential: bool = False,
    gate: tuple[str, str] | None = None,
    panel: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Everything that the matches say, JSON-able: equal for equal matches, whoever played them and in what order."""
    game = benchmark.game
    found: dict[str, Any] = {"league": [], "cross": [], "warnings": []}
    deals = {}
    for n, resolved in benchmark.tables.items():
        for key, part in table_results(benchmark, n, baseline, edge, until_sure, sequential).items():
            found[key] += part
        ends = [s.first + s.deals for (size, _), by in benchmark.shards.items() if size == n for s in by.values()]
        count = max(ends, default=0)
        deals[str(n)] = {"deals": count, "sha256": hash_deals(game, resolved, benchmark.seed, count)}
    told = [text for _, by in sorted(benchmark.shards.items()) for _, s in sorted(by.items()) for text in s.told]
    shared = {name: value for name, value in options.items() if name != "players"}
    return {
        "game": game.id,
        "package": version,
        "options": shared,
        "options_sha256": digest(shared),
        "tables": list(benchmark.tables),
        "deals": {"list": deal_list, "seed": list_seed, "by_players": deals},
        "players": [{"player": name} | identify_player(spec, game) for name, spec in benchmark.roster.specs.items()],
        "method": {
            "rating": "Bradley-Terry by placement, choix.ilsr_pairwise_dense, Elo units",
            "alpha": statistics.ALPHA,
            "interval": "95 %, bootstrap over deal blocks (league), Student's t over deal blocks (cross)",
            "resamples": statistics.RESAMPLES,
            "significance": "Holm, 5 % over the cross-table of a table size",
            "edge": edge,
            "errors": statistics.ERROR,
            "metrics": {metric.name: metric.meaning for metric in measures_of(game).metrics},
            "appraised_deals": APPRAISED if measures_of(game).appraiser else 0,
            "until_sure": until_sure,
            "continues_sequential": sequential,
        },
        "panel": None if panel is None else dict(panel),
        "baseline": baseline,
        **found,
        "gate": None if gate is None else judge(found["cross"], list(benchmark.tables), *gate),
        "faults": told[:FAULTS_TOLD],
    }


def parse_gate(text: str, names: list[str]) -> tuple[str, str]:
    """``"ev > random"`` → the two; ``ValueError`` unless both play."""
    parts = [part.strip() for part in text.split(">")]
    if len(parts) != 2 or parts[0] == parts[1]:
        raise ValueError(f"gate {text!r}: expected is 'PLAYER > BASELINE', two of the players named")
    for part in parts:
        if part not in names:
            raise unknown("player in the gate", part, names)
    return parts[0], parts[1]


def judge(cross: list[dict[str, Any]], tables: list[int], player: str, baseline: str) -> dict[str, Any]:
    """Is the player better than the baseline at every table size, one-sided at 95 %?"""
    floors = {}
    for entry in cross:
        if (entry["a"], entry["b"]) == (player, baseline):
            floors[str(entry["players"])] = entry["floor"]
        elif (entry["b"], entry["a"]) == (player, baseline):
            floors[str(entry["players"])] = rounded(entry["floor"] - 2 * entry["edge"])  # as far below its mean as A's floor
    shown = len(floors) == len(tables) and all(floor > 0 for floor in floors.values())
    return {"player": player, "baseline": baseline, "floor": floors, "shown": shown}
