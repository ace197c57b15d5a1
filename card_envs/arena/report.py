"""A report for people, made from its JSON alone: the same tables as Markdown and on the terminal, and a picture of them."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from card_envs.console import make_grid
from card_envs.engine.files import write_file

Report = Mapping[str, Any]

MARK, EARLY, SELF = "*", "†", "–"


@dataclass(frozen=True)
class Section:
    """A heading with lines of text and, if there are columns, a table whose first column holds names."""

    title: str
    lines: Sequence[str] = ()
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()


def list_sections(report: Report) -> Iterator[Section]:
    """Yield the sections of a report in order."""
    results = report["results"]
    yield Section(f"Benchmark of {results['game']}", list(_describe_run(report)))
    for n in results["tables"]:
        league = [row for row in results["league"] if row["players"] == n]
        if not league:
            yield Section(f"{n} players", ["Nothing was played."])
            continue
        yield _make_league(n, league, report["timing"]["ms_per_decision"].get(str(n), {}), results)
        cross = [entry for entry in results["cross"] if entry["players"] == n]
        if cross:
            yield _make_cross(n, [row["player"] for row in league], cross, results)
        yield _make_details(n, league)
        yield _make_metrics(n, league, results["method"])
    tests = [entry for entry in results["cross"] if entry["sprt"]]
    if tests:
        yield _make_sequential(tests, results)
    elif results["baseline"]:
        yield _compare_with_baseline(results)
    if results["gate"]:
        yield Section("Gate", [describe_gate(results["gate"])])
    if results["warnings"]:
        yield Section("Warnings", results["warnings"])
    if results["faults"]:
        total = sum(row["illegal"] for row in results["league"])
        yield Section(f"{total} matches lost by a failure", results["faults"])
    timing = report["timing"]
    rate = f", {timing['matches_per_second']:,.0f} a second" if timing["matches_per_second"] else ""
    yield Section("Results", [f"SHA-256 {report['results_sha256']}", f"{timing['matches']:,} matches played in this run{rate}"])


def _describe_run(report: Report) -> Iterator[str]:
    results, header, machine = report["results"], report["header"], report["machine"]
    yield f"command: {header['command']}"
    if header["resumed"]:
        yield "continued from an earlier report"
    for player in header["irreproducible"]:
        yield f"NOT REPRODUCIBLE: {player}, made anew, played a board in another way; it depends on more than row and key"
    if header["interrupted"]:
        yield "interrupted: the figures cover what had been played by then"
    yield "versions: " + ", ".join(f"{name} {v}" for name, v in header["versions"].items())
    options = ", ".join(f"{name}={str(v).lower() if isinstance(v, bool) else v}" for name, v in results["options"].items())
    if results["panel"]:
        whole = "" if results["panel"]["complete"] else ", but not all of its tables and matches"
        yield f"panel of {results['game']}, version {results['panel']['version']}{whole}"
    yield f"options: {options} (SHA-256 {results['options_sha256']})"
    boards = results["boards"]
    for n, played in boards["by_players"].items():
        seed = f"sealed seed SHA-256 {boards['sealed']}" if "sealed" in boards else f"seed {boards['seed']}"
        which = f"list {boards['list']}, {seed}, {played['boards']:,} for {n} players"
        yield f"boards: {which} (SHA-256 {played['sha256']})"
    for player in results["players"]:
        if player["sha256"] or "spec" in player:
            yield f"player {player['player']}: {player.get('spec') or player['kind'] + ' SHA-256 ' + player['sha256']}"
    method = results["method"]
    yield (
        f"ratings: {method['rating']}, alpha {method['alpha']}; intervals: {method['interval']};"
        f" significance: {method['significance']}"
    )
    yield f"machine: {machine['system']} {machine['processor']}, {machine['cores']} cores"


def _make_league(n: int, league: list[dict[str, Any]], speeds: Mapping[str, Any], results: Report) -> Section:
    columns = [
        "player", "rating", "95 %", "win %", "95 %", "fair %", "placement", "margin", "ms/decision", "illegal", "truncated"
    ]  # fmt: skip
    rows = []
    for row in league:
        speed = speeds.get(row["player"])
        rows.append(
            [
                row["player"],
                _format_number(row["rating"], ".0f") if row["identified"] else "not identified",
                _format_interval(row["low"], row["high"], ".0f"),
                f"{100 * row['win']:.1f}",
                _format_interval(row["win_low"], row["win_high"], ".1f", 100),
                f"{100 * row['fair']:.1f}",
                f"{row['placement']:.2f}",
                f"{row['margin']:+.1f}",
                SELF if speed is None else f"{speed:.2g}",
                str(row["illegal"]),
                str(row["truncated"]),
            ]
        )
    reference = league[0]["reference"]
    explanation = (
        f"Ratings by placement, {reference} at 0. The intervals are those of the difference from {reference}; compare other"
        " pairs by the cross-table. Margin: points ahead of the mean of the others, in the direction that wins."
    )
    lines = [explanation]
    if not all(row["identified"] for row in league):
        lines.append(
            f"Rating not identified: no chain of wins leads from that player to {reference} and back, so the matches do not"
            " tell how far apart they are. The table is in the order of the wins."
        )
    if results["method"]["until_sure"]:
        lines.append("The sequential test ended some matches early; the intervals do not allow for that.")
    return Section(f"League of {n} players", lines, columns, rows)


def _make_cross(n: int, names: list[str], cross: list[dict[str, Any]], results: Report) -> Section:
    cells = {}
    for entry in cross:
        mark = (MARK if entry["significant"] else "") + (EARLY if entry["early"] else "")
        half = f"±{100 * max(entry['high'] - entry['edge'], entry['edge'] - entry['low']):.1f}{mark}"
        cells[entry["a"], entry["b"]] = f"{100 * entry['edge']:+.1f} {half}"
        cells[entry["b"], entry["a"]] = f"{-100 * entry['edge']:+.1f} {half}"
    rows = [[one, *(cells.get((one, other), SELF) for other in names)] for one in names]
    lines = [
        "Win % above the fair share, row's player against column's"
        + (", one among the others and the other way round." if n > 2 else ".")
        + f" {MARK} significant (Holm)."
        + (f" {EARLY} ended early: the interval is too narrow." if any(entry["early"] for entry in cross) else "")
    ]
    factors = [entry["variance_factor"] for entry in cross if entry["variance_factor"] is not None]
    if factors:
        lines.append(
            f"Boards in all rotations: {sum(factors) / len(factors):.2f} times the variance of independent matches"
            f" ({min(factors):.2f} … {max(factors):.2f} over the pairs)."
        )
    return Section(f"Cross-table of {n} players", lines, ["", *names], rows)


def _make_details(n: int, league: list[dict[str, Any]]) -> Section:
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
            _format_number(row["points_per_deal"], ".2f"),
            f"{row['points_per_match']:.1f}",
        ]
        for row in league
    ]
    return Section(f"Play of {n} players", (), columns, rows)


def _make_metrics(n: int, league: list[dict[str, Any]], method: Mapping[str, Any]) -> Section:
    lines = [f"{name}: {meaning}" for name, meaning in method["metrics"].items()]
    if method["appraised_boards"]:
        lines[-1] += f"; on the first {method['appraised_boards']} boards of each line-up"
    rows = [[name, *(_format_metric(row["metrics"][name]) for row in league)] for name in method["metrics"]]
    return Section(f"Metrics of {n} players", lines, ["metric, 95 %", *(row["player"] for row in league)], rows)


def _format_metric(figure: Mapping[str, float | None]) -> str:
    value, low, high = (figure[key] for key in ("value", "low", "high"))
    if value is None or low is None or high is None:
        return SELF
    return f"{value:.2f} ±{(high - low) / 2:.2f}"


def _make_sequential(tests: list[dict[str, Any]], results: Report) -> Section:
    method = results["method"]
    rows = [
        [
            entry["a"],
            str(entry["players"]),
            entry["sprt"]["verdict"],
            f"{entry['sprt']['boards']:,}",
            f"{entry['sprt']['llr']:+.2f}",
        ]
        for entry in tests
    ]
    line = (
        f"Against {results['baseline']}: a board score of {method['edge']:+g} against 0, both error rates"
        f" {method['errors']:g} (SPRT), and the number of boards after which it was decided."
    )
    return Section("Sequential test", [line], ["player", "players", "verdict", "boards", "log-likelihood ratio"], rows)


def _compare_with_baseline(results: Report) -> Section:
    baseline = results["baseline"]
    lines = []
    for entry in results["cross"]:
        if entry["b"] == baseline:
            verdict = ("better" if entry["edge"] > 0 else "worse") if entry["significant"] else "no difference shown"
            low, edge, high = (f"{100 * entry[key]:+.1f}" for key in ("low", "edge", "high"))
            lines.append(f"{entry['a']} with {entry['players']} players: {edge} ({low} … {high}), {verdict}")
    return Section(f"Against {baseline}", lines)


def describe_gate(gate: Mapping[str, Any]) -> str:
    """Return whether a gate is passed, in a sentence."""
    floors = ", ".join(f"{100 * floor:+.2f} with {n} players" for n, floor in gate["floor"].items())
    verdict = "shown" if gate["shown"] else "NOT shown"
    bound = f"one-sided lower bound of the win % above the fair share: {floors}"
    return f"{gate['player']} > {gate['baseline']}: {verdict} at 95 % ({bound})"


def _format_number(value: float | None, form: str) -> str:
    return SELF if value is None else format(value, form)


def _format_interval(low: float | None, high: float | None, form: str, times: float = 1) -> str:
    return SELF if low is None or high is None else f"{times * low:{form}} … {times * high:{form}}"


def format_markdown(report: Report) -> str:
    """Return the report as Markdown."""
    parts = []
    for number, section in enumerate(list_sections(report)):
        parts.append(f"{'#' if number == 0 else '##'} {section.title}")
        if section.lines:
            parts.append("\n".join(f"* {_escape(line)}" for line in section.lines))
        if section.columns:
            lines = [section.columns, ["---", *["---:"] * (len(section.columns) - 1)], *section.rows]
            parts.append("\n".join("| " + " | ".join(_escape(cell) for cell in line) + " |" for line in lines))
    return "\n\n".join(parts) + "\n"


def _escape(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>|$#~])", r"\\\1", text)


def print_report(report: Report, console: Console) -> None:
    """Print the report on a console."""
    for section in list_sections(report):
        console.print(section.title, style="bold")
        for line in section.lines:
            console.print(line)
        if section.columns:
            console.print(make_grid(section.columns, section.rows, "right"))
        console.print()


# ---- a picture


def draw_report(report: Report) -> Any:
    """Return a matplotlib figure: ratings with their intervals and the cross-table as a heat map, for each table size.

    This needs matplotlib (the extra ``plot``).
    """
    from matplotlib.figure import Figure

    results = report["results"]
    tables = results["tables"]
    most = max((sum(row["players"] == n for row in results["league"]) for n in tables), default=1)
    figure = Figure(figsize=(11, max(3.0, 0.5 * most + 1.5) * len(tables)), layout="constrained")
    axes = figure.subplots(len(tables), 2, squeeze=False)
    for (left, right), n in zip(axes, tables, strict=True):
        league = [row for row in results["league"] if row["players"] == n]
        _draw_ratings(left, n, league)
        image = _draw_heat_map(right, n, [row["player"] for row in league], [e for e in results["cross"] if e["players"] == n])
        figure.colorbar(image, ax=right, label="win % above the fair share")
    return figure


def save_picture(report: Report, file: Path) -> None:
    """Write :func:`draw_report` to a file.

    Raises:
        ValueError: Matplotlib does not write files with this suffix.
    """
    picture = io.BytesIO()
    draw_report(report).savefig(picture, format=file.suffix[1:])
    write_file(file, picture.getvalue())


def _escape_dollars(text: str) -> str:
    """Keep matplotlib from reading text between dollars as a formula."""
    return text.replace("$", r"\$")


def _draw_ratings(axes: Any, n: int, league: list[dict[str, Any]]) -> None:
    rated = [row for row in league if row["rating"] is not None]
    values = np.array([row["rating"] for row in rated], float)
    errors = np.abs(np.array([[row["low"] for row in rated], [row["high"] for row in rated]], float) - values)
    places = np.arange(len(rated))
    if rated:
        axes.errorbar(values, places, xerr=errors, fmt="o", capsize=3)
    axes.set_yticks(places, [_escape_dollars(row["player"]) for row in rated])
    axes.invert_yaxis()
    axes.axvline(0.0, color="0.8", zorder=0)
    reference = f"Elo units above {_escape_dollars(league[0]['reference'])}" if league else ""
    axes.set(title=f"{n} players: ratings, 95 %", xlabel=reference)


def _draw_heat_map(axes: Any, n: int, names: list[str], cross: list[dict[str, Any]]) -> Any:
    edges = np.full((len(names), len(names)), np.nan)
    significant = set()
    for entry in cross:
        i, j = names.index(entry["a"]), names.index(entry["b"])
        edges[i, j], edges[j, i] = 100 * entry["edge"], -100 * entry["edge"]
        if entry["significant"]:
            significant |= {(i, j), (j, i)}
    top = np.nanmax(np.abs(edges)) if cross else 1.0
    image = axes.imshow(edges, cmap="RdBu", vmin=-top, vmax=top)
    for i, j in np.argwhere(np.isfinite(edges)).tolist():
        dark = abs(edges[i, j]) > 0.6 * top
        text = f"{edges[i, j]:+.1f}{'*' if (i, j) in significant else ''}"
        axes.text(j, i, text, ha="center", va="center", color="white" if dark else "black", fontsize=9)
    labels = [_escape_dollars(name) for name in names]
    axes.set_xticks(range(len(names)), labels, rotation=30, ha="right")
    axes.set_yticks(range(len(names)), labels)
    axes.set(title=f"{n} players: row against column (* significant)")
    return image
