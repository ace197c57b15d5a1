"""A report for people: the same tables as Markdown and on the terminal, made from the JSON alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table as Grid

Report = Mapping[str, Any]

MARK, EARLY, SELF = "*", "†", "–"


@dataclass(frozen=True)
class Section:
    """A heading with lines of text and perhaps a table, whose first column holds names."""

    title: str
    lines: Sequence[str] = ()
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()


def sections(report: Report) -> Iterator[Section]:
    """The parts of a report, in order."""
    results = report["results"]
    yield Section(f"Benchmark of {results['game']}", list(_header(report)))
    for n in results["tables"]:
        league = [row for row in results["league"] if row["players"] == n]
        if not league:
            yield Section(f"{n} players", ["Nothing was played."])
            continue
        yield _league(n, league, report["timing"]["ms_per_decision"].get(str(n), {}), results)
        cross = [entry for entry in results["cross"] if entry["players"] == n]
        if cross:
            yield _cross(n, [row["player"] for row in league], cross, results)
        yield _details(n, league)
        yield _metrics(n, league, results["method"])
    tests = [entry for entry in results["cross"] if entry["sprt"]]
    if tests:
        yield _sequential(tests, results)
    elif results["baseline"]:
        yield _against(results)
    if results["gate"]:
        yield Section("Gate", [gate_line(results["gate"])])
    if results["warnings"]:
        yield Section("Warnings", results["warnings"])
    if results["faults"]:
        total = sum(row["illegal"] for row in results["league"])
        yield Section(f"{total} matches lost by a failure", results["faults"])
    timing = report["timing"]
    rate = f", {timing['matches_per_second']:,.0f} a second" if timing["matches_per_second"] else ""
    yield Section("Results", [f"SHA-256 {report['results_sha256']}", f"{timing['matches']:,} matches played in this run{rate}"])


def _header(report: Report) -> Iterator[str]:
    results, header, machine = report["results"], report["header"], report["machine"]
    yield f"command: {header['command']}"
    if header["resumed"]:
        yield "continued: part of it had been played before"
    for player in header["irreproducible"]:
        yield f"NOT REPRODUCIBLE: {player}, made anew, did not play a block again as before; it is no function of row and key"
    if header["interrupted"]:
        yield "cut short: what follows is what had been played"
    yield "versions: " + ", ".join(f"{name} {v}" for name, v in header["versions"].items())
    options = ", ".join(f"{name}={str(v).lower() if isinstance(v, bool) else v}" for name, v in results["options"].items())
    if results["panel"]:
        whole = "" if results["panel"]["complete"] else ", but not all of its tables and matches"
        yield f"panel of {results['game']}, version {results['panel']['version']}{whole}"
    yield f"options: {options} (SHA-256 {results['options_sha256']})"
    deals = results["deals"]
    for n, found in deals["by_players"].items():
        which = f"list {deals['list']}, seed {deals['seed']}, {found['deals']:,} for {n} players"
        yield f"deals: {which} (SHA-256 {found['sha256']})"
    for player in results["players"]:
        if player["sha256"] or "spec" in player:
            yield f"player {player['player']}: {player.get('spec') or player['kind'] + ' SHA-256 ' + player['sha256']}"
    method = results["method"]
    yield (
        f"ratings: {method['rating']}, alpha {method['alpha']}; intervals: {method['interval']},"
        f" {method['resamples']:,} resamples; significance: {method['significance']}"
    )
    yield f"machine: {machine['system']} {machine['processor']}, {machine['cores']} cores"


def _league(n: int, league: list[dict[str, Any]], speeds: Mapping[str, Any], results: Report) -> Section:
    columns = [
        "player", "rating", "95 %", "win %", "95 %", "fair %", "placement", "margin", "ms/decision", "illegal", "truncated"
    ]  # fmt: skip
    rows = []
    for row in league:
        speed = speeds.get(row["player"])
        rows.append(
            [
                row["player"],
                _number(row["rating"], ".0f") if row["identified"] else "not identified",
                _interval(row["low"], row["high"], ".0f"),
                f"{100 * row['win']:.1f}",
                _interval(row["win_low"], row["win_high"], ".1f", 100),
                f"{100 * row['fair']:.1f}",
                f"{row['placement']:.2f}",
                f"{row['margin']:+.1f}",
                SELF if speed is None else f"{speed:.2g}",
                str(row["illegal"]),
                str(row["truncated"]),
            ]
        )
    reference = league[0]["reference"]
    how = (
        f"Ratings by placement, {reference} at 0; the intervals are of the difference from {reference}: two others are compared"
        " by the cross-table. Margin: points ahead of the others' mean, in the direction that wins."
    )
    lines = [how]
    if not all(row["identified"] for row in league):
        lines.append(
            f"Rating not identified: wins do not lead from that player to {reference} and back, so the matches do not say how"
            " far apart they are. The table is in the order of the wins."
        )
    if results["method"]["until_sure"]:
        lines.append("Matches ended early by the sequential test: intervals do not allow for that.")
    return Section(f"League of {n} players", lines, columns, rows)


def _cross(n: int, names: list[str], cross: list[dict[str, Any]], results: Report) -> Section:
    cells = {}
    for entry in cross:
        mark = (MARK if entry["significant"] else "") + (EARLY if entry["early"] else "")
        half = f"±{100 * max(entry['high'] - entry['edge'], entry['edge'] - entry['low']):.1f}{mark}"
        cells[entry["a"], entry["b"]] = f"{100 * entry['edge']:+.1f} {half}"
        cells[entry["b"], entry["a"]] = f"{-100 * entry['edge']:+.1f} {half}"
    rows = [[one, *(cells.get((one, other), SELF) for other in names)] for one in names]
    lines = [
        "Win % over the fair share of the row's player against the column's"
        + (", one among the other's, both ways." if n > 2 else ".")
        + f" {MARK} significant (Holm)."
        + (f" {EARLY} ended early: the interval is too narrow." if any(entry["early"] for entry in cross) else "")
    ]
    factors = [entry["variance_factor"] for entry in cross if entry["variance_factor"] is not None]
    if factors:
        lines.append(
            f"Duplicate deals: variance × {sum(factors) / len(factors):.2f} of independent matches'"
            f" ({min(factors):.2f} … {max(factors):.2f} over the pairs)."
        )
    return Section(f"Cross-table of {n} players", lines, ["", *names], rows)


def _details(n: int, league: list[dict[str, Any]]) -> Section:
    columns = [
        "player", "matches", "win % by seat", "worst opponent", "decisions/match", "deals/match", "points/deal", "points/match"
    ]  # fmt: skip
    rows = [
        [
            row["player"],
            f"{row['matches']:,}",
            " ".join(f"{100 * share:.1f}" for share in row["seats"]),
            f"{row['worst']['player']} ({100 * row['worst']['edge']:+.1f})" if row["worst"] else SELF,
            f"{row['decisions_per_match']:.1f}",
            f"{row['deals_per_match']:.2f}",
            _number(row["points_per_deal"], ".2f"),
            f"{row['points_per_match']:.1f}",
        ]
        for row in league
    ]
    return Section(f"Play of {n} players", (), columns, rows)


def _metrics(n: int, league: list[dict[str, Any]], method: Mapping[str, Any]) -> Section:
    lines = [f"{name}: {meaning}" for name, meaning in method["metrics"].items()]
    if method["appraised_deals"]:
        lines[-1] += f"; of the first {method['appraised_deals']} deals of each line-up"
    rows = [[name, *(_measured(row["metrics"][name]) for row in league)] for name in method["metrics"]]
    return Section(f"Metrics of {n} players", lines, ["metric, 95 %", *(row["player"] for row in league)], rows)


def _measured(figure: Mapping[str, float | None]) -> str:
    value, low, high = (figure[key] for key in ("value", "low", "high"))
    if value is None or low is None or high is None:
        return SELF
    return f"{value:.2f} ±{(high - low) / 2:.2f}"


def _sequential(tests: list[dict[str, Any]], results: Report) -> Section:
    method = results["method"]
    rows = [
        [
            entry["a"],
            str(entry["players"]),
            entry["sprt"]["verdict"],
            f"{entry['sprt']['blocks']:,}",
            f"{entry['sprt']['llr']:+.2f}",
        ]
        for entry in tests
    ]
    line = (
        f"Against {results['baseline']}: block score 0 or {method['edge']:+g}, both errors {method['errors']:g} (SPRT),"
        " decided after so many blocks."
    )
    return Section("Sequential test", [line], ["player", "players", "verdict", "blocks", "log likelihood ratio"], rows)


def _against(results: Report) -> Section:
    baseline = results["baseline"]
    lines = []
    for entry in results["cross"]:
        if entry["b"] == baseline:
            verdict = ("better" if entry["edge"] > 0 else "worse") if entry["significant"] else "no difference is shown"
            low, edge, high = (f"{100 * entry[key]:+.1f}" for key in ("low", "edge", "high"))
            lines.append(f"{entry['a']} with {entry['players']} players: {edge} ({low} … {high}), {verdict}")
    return Section(f"Against {baseline}", lines)


def gate_line(gate: Mapping[str, Any]) -> str:
    """Whether a gate is passed, in a sentence."""
    floors = ", ".join(f"{100 * floor:+.2f} with {n} players" for n, floor in gate["floor"].items())
    verdict = "shown" if gate["shown"] else "NOT shown"
    bound = f"one-sided lower bound of the win % over the fair share: {floors}"
    return f"{gate['player']} > {gate['baseline']}: {verdict} at 95 % ({bound})"


def _number(value: float | None, form: str) -> str:
    return SELF if value is None else format(value, form)


def _interval(low: float | None, high: float | None, form: str, times: float = 1) -> str:
    return SELF if low is None or high is None else f"{times * low:{form}} … {times * high:{form}}"


def markdown(report: Report) -> str:
    """The report as Markdown."""
    parts = []
    for number, section in enumerate(sections(report)):
        parts.append(f"{'#' if number == 0 else '##'} {section.title}")
        if section.lines:
            parts.append("\n".join(f"* {_escaped(line)}" for line in section.lines))
        if section.columns:
            lines = [section.columns, ["---", *["---:"] * (len(section.columns) - 1)], *section.rows]
            parts.append("\n".join("| " + " | ".join(_escaped(cell) for cell in line) + " |" for line in lines))
    return "\n\n".join(parts) + "\n"


def _escaped(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>|$#~])", r"\\\1", text)


def show(report: Report, console: Console) -> None:
    """Print the report."""
    for section in sections(report):
        console.print(section.title, style="bold")
        for line in section.lines:
            console.print(line)
        if section.columns:
            grid = Grid(*section.columns, box=None, pad_edge=False, padding=(0, 2, 0, 0))
            for column in grid.columns[1:]:
                column.justify = "right"
            for row in section.rows:
                grid.add_row(*row)
            console.print(grid)
        console.print()
