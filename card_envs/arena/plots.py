"""Pictures of a report, made from its JSON alone. Needs matplotlib (the extra ``plot``)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np


def plot(report: Mapping[str, Any]) -> Any:
    """A matplotlib figure: for each number of players the ratings with their intervals, and the cross-table as a heat map."""
    from matplotlib.figure import Figure

    results = report["results"]
    tables = results["tables"]
    most = max((sum(row["players"] == n for row in results["league"]) for n in tables), default=1)
    figure = Figure(figsize=(11, max(3.0, 0.5 * most + 1.5) * len(tables)), layout="constrained")
    axes = figure.subplots(len(tables), 2, squeeze=False)
    for (left, right), n in zip(axes, tables, strict=True):
        league = [row for row in results["league"] if row["players"] == n]
        _ratings(left, n, league)
        image = _heat_map(right, n, [row["player"] for row in league], [e for e in results["cross"] if e["players"] == n])
        figure.colorbar(image, ax=right, label="win % over the fair share")
    return figure


def save_plot(report: Mapping[str, Any], file: Path) -> None:
    """Write :func:`plot` to a file; its suffix says the format, as ``.png`` or ``.svg``. ``ValueError`` for an unknown one."""
    plot(report).savefig(file)


def _plain(text: str) -> str:
    """As it stands: matplotlib takes what is between dollars for a formula."""
    return text.replace("$", r"\$")


def _ratings(axes: Any, n: int, league: list[dict[str, Any]]) -> None:
    rated = [row for row in league if row["rating"] is not None]
    values = np.array([row["rating"] for row in rated], float)
    errors = np.abs(np.array([[row["low"] for row in rated], [row["high"] for row in rated]], float) - values)
    places = np.arange(len(rated))
    if rated:
        axes.errorbar(values, places, xerr=errors, fmt="o", capsize=3)
    axes.set_yticks(places, [_plain(row["player"]) for row in rated])
    axes.invert_yaxis()
    axes.axvline(0.0, color="0.8", zorder=0)
    axes.set(title=f"{n} players: ratings, 95 %", xlabel=f"Elo units over {_plain(league[0]['reference'])}" if league else "")


def _heat_map(axes: Any, n: int, names: list[str], cross: list[dict[str, Any]]) -> Any:
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
    labels = [_plain(name) for name in names]
    axes.set_xticks(range(len(names)), labels, rotation=30, ha="right")
    axes.set_yticks(range(len(names)), labels)
    axes.set(title=f"{n} players: row against column (* significant)")
    return image
