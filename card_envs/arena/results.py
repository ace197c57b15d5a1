"""The results of a benchmark: everything that depends on the matches alone, as plain values that two runs can compare."""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from card_envs.arena import statistics
from card_envs.arena.league import league_table
from card_envs.arena.lineups import pairings
from card_envs.arena.run import Benchmark
from card_envs.arena.shard import APPRAISED, FAULTS_TOLD, unit
from card_envs.arena.statistics import rounded
from card_envs.engine import loops
from card_envs.engine.batch import Batch
from card_envs.engine.game import Game, OptionValue, unknown
from card_envs.engine.measures import measures_of

FEW = 30  # blocks
SIGNIFICANT = 1 - statistics.LEVEL


def canonical(value: Any) -> bytes:
    """JSON with sorted keys and no blanks: equal values give equal bytes."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def digest(value: Any) -> str:
    return sha256(canonical(value)).hexdigest()


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
        ends = [s.end for (size, _), by in benchmark.shards.items() if size == n for s in by.values()]
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
            "level_blocks": "if all are alike: Clopper and Pearson's bound for such as have not been seen",
            "sequential_test": f"SPRT, normal, from {statistics.MIN_BLOCKS} blocks; variance with two more at either bound",
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
