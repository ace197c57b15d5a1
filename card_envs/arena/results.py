"""The results of a benchmark: everything that depends on the matches alone, as plain values that runs can be compared by."""

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
from card_envs.arena.boards import list_pairings
from card_envs.arena.league import make_league
from card_envs.arena.shard import APPRAISED, FAULTS_TOLD, count_win_units
from card_envs.arena.statistics import FEW, round_figure
from card_envs.arena.tournament import Tournament
from card_envs.engine.game import Game, OptionValue, unknown
from card_envs.engine.matches import Matches
from card_envs.engine.measures import load_measures

SIGNIFICANT = 1 - statistics.LEVEL
SCORE_BOUNDS = (-0.5, 0.5)


def hash_json(value: Any) -> str:
    """Return the SHA-256 of JSON-able values, written with sorted keys and no blanks so that equal values give equal bytes."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return sha256(text.encode()).hexdigest()


# ---- what identifies a benchmark


def hash_boards(game: Game, options: Mapping[str, Any], seed: int, boards: int) -> str:
    """Return the SHA-256 of the first decks of the first boards of a list and of the keys of their later shuffles."""
    digest = sha256()
    for first in range(0, boards, 4096):
        matches = Matches(game, min(4096, boards - first), options, write_observations=False)
        matches.identify(matches.rows, seed, matches.rows + first, 0)
        matches.deal(matches.rows)
        digest.update(np.ascontiguousarray(matches.states["deck"]).tobytes())
        digest.update(np.ascontiguousarray(matches.states["key"]).tobytes())
    return digest.hexdigest()


def identify_player(spec: object, game: Game) -> dict[str, str | None]:
    """Return what a spec stands for: its kind and, for a checkpoint or a module, the SHA-256 of the file."""
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


# ---- one table size


def make_tables(
    tournament: Tournament, n: int, baseline: str | None, edge: float, until_sure: bool, sequential: bool
) -> dict[str, Any]:
    """Return ``league``, ``cross`` and ``warnings`` of one table size; the arguments are those of :func:`make_cross_table`."""
    names = list(tournament.roster)
    cross = make_cross_table(tournament, n, baseline, edge, until_sure, sequential)
    league = make_league(tournament, n)
    for row in league:
        against = [(entry["edge"], entry["b"]) for entry in cross if entry["a"] == row["player"]]
        against += [(-entry["edge"], entry["a"]) for entry in cross if entry["b"] == row["player"]]
        worst = min(against, default=None)
        row["worst"] = None if worst is None else {"player": worst[1], "edge": worst[0]}
    warnings = list(_find_intransitive(n, league, cross)) if len(names) > 2 else []
    fewest, most = (pick((entry["boards"] for entry in cross), default=FEW) for pick in (min, max))
    if fewest < FEW:
        warnings.append(f"{n} players: a pair has met on only {fewest} boards; with fewer than {FEW} the intervals are rough")
    if fewest < most and not (until_sure or sequential):
        warnings.append(f"{n} players: not all pairs have met on the same number of boards ({fewest} … {most})")
    return {"league": league, "cross": cross, "warnings": warnings}


def make_cross_table(
    tournament: Tournament, n: int, baseline: str | None, edge: float, until_sure: bool, sequential: bool
) -> list[dict[str, Any]]:
    """Return an entry for every pair that has met: A's board score against B (see :meth:`Tournament.score_pair`).

    Args:
        tournament: What was played.
        n: The number of players at the table.
        baseline: The player with whom others are compared, and who is always B.
        edge: The board score that the sequential test tells from 0.
        until_sure: Whether the boards were played by the sequential test.
        sequential: Whether some boards come from an earlier run that a sequential test ended.
    """
    entries = []
    for first, second in combinations(tournament.roster, 2):
        a, b = (second, first) if first == baseline else (first, second)
        scores = tournament.score_pair(n, a, b)
        if len(scores) < 2:
            continue
        estimate = statistics.estimate_mean(scores, SCORE_BOUNDS)
        independent = _compute_independent_variance(tournament, n, a, b)
        entry: dict[str, Any] = {
            "a": a,
            "b": b,
            "players": n,
            "edge": round_figure(estimate.mean),
            "low": round_figure(estimate.low),
            "high": round_figure(estimate.high),
            "floor": round_figure(estimate.floor),
            "ceiling": round_figure(estimate.ceiling),
            "p": estimate.p,
            "boards": estimate.n,
            "variance_factor": round_figure(statistics.compute_variance_factor(scores, independent), 4),
            "sprt": None,
            "early": sequential,
        }
        if until_sure and baseline == b:
            test = statistics.run_sequential_test(scores, edge)
            entry["sprt"] = {"verdict": test.verdict, "boards": test.boards, "llr": round_figure(test.llr, 4)}
            entry["early"] |= test.verdict != "undecided"
        ahead = statistics.estimate_mean(tournament.compare_places(n, a, b), SCORE_BOUNDS)
        entry["ahead"] = {"mean": round_figure(0.5 + ahead.mean), "p": ahead.p}
        entries.append(entry)
    for entry, p in zip(entries, statistics.adjust_by_holm([entry["ahead"]["p"] for entry in entries]), strict=True):
        entry["ahead"] = {"mean": entry["ahead"]["mean"], "p_holm": float(f"{p:.6g}")}
    for entry, p in zip(entries, statistics.adjust_by_holm([entry["p"] for entry in entries]), strict=True):
        entry["p"], entry["p_holm"] = float(f"{entry['p']:.6g}"), float(f"{p:.6g}")
        entry["significant"] = p <= SIGNIFICANT
    return entries


def _compute_independent_variance(tournament: Tournament, n: int, a: str, b: str) -> float:
    """Return the variance that a board score would have if each of its matches were dealt anew."""
    lineups = list_pairings(a, b, n)
    variance = 0.0
    for lineup in lineups:
        shards = tournament.select_shards(n, lineup)
        alone = sorted(set(lineup)).index(lineup[0])
        boards = sum(s.boards for s in shards)
        mean = sum(s.seat_shares[alone] for s in shards) / (boards * count_win_units(n))
        square = sum(s.seat_squares[alone] for s in shards) / (boards * float(count_win_units(n)) ** 2)
        variance += float(np.sum(square - mean**2)) * boards / (boards - 1) / n**2
    return variance / len(lineups) ** 2


def _find_intransitive(n: int, league: list[dict[str, Any]], cross: list[dict[str, Any]]) -> Iterator[str]:
    """Yield a warning for each player who is placed ahead of a higher rated one, since no ranking then tells the truth."""
    rating = {row["player"]: row["rating"] for row in league if row["rating"] is not None}
    for entry in cross:
        ahead = entry["ahead"]
        better, worse = (entry["a"], entry["b"]) if ahead["mean"] > 0.5 else (entry["b"], entry["a"])
        if ahead["p_holm"] > SIGNIFICANT or not {better, worse} <= set(rating):
            continue
        if rating[better] < rating[worse]:
            yield (
                f"{n} players: {better} is placed ahead of {worse} when they meet, but is rated below it;"
                " play is not transitive, so read the cross-table"
            )


# ---- all table sizes


def make_results(
    tournament: Tournament,
    *,
    board_list: str,
    list_seed: int | None,
    options: Mapping[str, OptionValue],
    version: str,
    baseline: str | None = None,
    edge: float = statistics.EDGE,
    until_sure: bool = False,
    sequential: bool = False,
    gate: tuple[str, str] | None = None,
    panel: Mapping[str, Any] | None = None,
    sealed: str | None = None,
) -> dict[str, Any]:
    """Return everything that the matches say as JSON-able values.

    They are equal for equal matches, whoever played these and in whatever order.

    Args:
        tournament: What was played.
        board_list, list_seed: The name and the seed of the board list; ``None`` for a sealed seed.
        options: The game's options without the number of players.
        version: The version of this package.
        baseline, edge, until_sure, sequential: As for :func:`make_cross_table`.
        gate: A player and the baseline that they must beat.
        panel: The panel that was played, if any.
        sealed: The SHA-256 of a sealed seed.
    """
    game = tournament.game
    tables: dict[str, Any] = {"league": [], "cross": [], "warnings": []}
    boards = {}
    for n, resolved in tournament.tables.items():
        for key, part in make_tables(tournament, n, baseline, edge, until_sure, sequential).items():
            tables[key] += part
        ends = [s.end for (size, _), by_board in tournament.shards.items() if size == n for s in by_board.values()]
        count = max(ends, default=0)
        boards[str(n)] = {"boards": count, "sha256": hash_boards(game, resolved, tournament.seed, count)}
    told = [text for n, lineup in sorted(tournament.shards) for s in tournament.select_shards(n, lineup) for text in s.told]
    measures = load_measures(game)
    return {
        "game": game.id,
        "package": version,
        "options": dict(options),
        "options_sha256": hash_json(dict(options)),
        "tables": list(tournament.tables),
        "boards": {"list": board_list, "seed": list_seed, "by_players": boards} | ({"sealed": sealed} if sealed else {}),
        "players": [{"player": name} | identify_player(spec, game) for name, spec in tournament.roster.specs.items()],
        "method": {
            "rating": "Bradley-Terry by placement, choix.ilsr_pairwise_dense, Elo units",
            "alpha": statistics.ALPHA,
            "interval": "95 %, nonparametric tilting over boards, exact if their scores take few values",
            "level_boards": "if all boards have the same score, the bound of Clopper and Pearson for scores not seen",
            "sequential_test": f"SPRT, normal, from {statistics.MIN_BOARDS} boards; variance with two more at each bound",
            "significance": "Holm, 5 % over the cross-table of a table size",
            "edge": edge,
            "errors": statistics.ERROR,
            "metrics": {metric.name: metric.meaning for metric in measures.metrics},
            "appraised_boards": APPRAISED if measures.appraiser else 0,
            "until_sure": until_sure,
            "continues_sequential": sequential,
        },
        "panel": None if panel is None else dict(panel),
        "baseline": baseline,
        **tables,
        "gate": None if gate is None else judge_gate(tables["cross"], list(tournament.tables), *gate),
        "faults": told[:FAULTS_TOLD],
    }


# ---- gates


def parse_gate(text: str, names: list[str]) -> tuple[str, str]:
    """Parse a gate such as ``"ev > random"`` into the player and the baseline.

    Raises:
        ValueError: The text is not of this form, or one of the two does not play.
    """
    parts = [part.strip() for part in text.split(">")]
    if len(parts) != 2 or parts[0] == parts[1]:
        raise ValueError(f"gate {text!r}: expected is 'PLAYER > BASELINE', two of the players named")
    for part in parts:
        if part not in names:
            raise unknown("player in the gate", part, names)
    return parts[0], parts[1]


def judge_gate(cross: list[dict[str, Any]], tables: list[int], player: str, baseline: str) -> dict[str, Any]:
    """Judge whether the player is better than the baseline at every table size, by one-sided 95 % bounds."""
    floors = {}
    for entry in cross:
        if (entry["a"], entry["b"]) == (player, baseline):
            floors[str(entry["players"])] = entry["floor"]
        elif (entry["b"], entry["a"]) == (player, baseline):
            floors[str(entry["players"])] = round_figure(-entry["ceiling"])
    shown = len(floors) == len(tables) and all(floor > 0 for floor in floors.values())
    return {"player": player, "baseline": baseline, "floor": floors, "shown": shown}
