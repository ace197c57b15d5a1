"""Pictures of what the commands print, with matplotlib (``pip install 'card-envs[plot]'``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from card_envs.risk.frontier import Point
from card_envs.risk.model import CAVEAT
from card_envs.risk.race import Race


def _make_axes() -> tuple[Any, Any]:
    """Return an empty figure with the caveat below it, and its axes."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise ValueError("plots need matplotlib: pip install 'card-envs[plot]' brings it") from None
    figure = Figure(figsize=(7.0, 4.5), layout="constrained")
    axes = figure.subplots()
    figure.supxlabel(CAVEAT, fontsize=7, color="0.4")
    return figure, axes


def plot_sweep(rows: Sequence[Mapping[str, Any]], by: str) -> Any:
    """Plot the mean and P(bust) against the threshold of a rule."""
    figure, axes = _make_axes()
    x = [row["threshold"] for row in rows]
    axes.plot(x, [row["mean"] for row in rows], color="C0")
    axes.set(xlabel=f"stay at {by}", ylabel="mean score of a round")
    bust = axes.twinx()
    bust.plot(x, [100 * row["bust"] for row in rows], color="C3", linestyle="--")
    bust.set_ylabel("bust %", color="C3")
    return figure


def plot_frontier(points: Sequence[Point], others: Mapping[str, tuple[float, float]], alpha: float | None = None) -> Any:
    """Plot a frontier.

    Args:
        points: The points of the frontier.
        others: The coordinates ``(x, mean)`` of other strategies and players, by name.
        alpha: If given, x is CVaR_alpha instead of P(bust).
    """
    figure, axes = _make_axes()
    x = [100 * p.bust if alpha is None else p.distribution.cvar(alpha) for p in points]
    axes.plot(x, [p.mean for p in points], color="C0", label="best possible")
    for name, (value, mean) in others.items():  # named in the legend, because good strategies lie close together
        axes.plot([100 * value if alpha is None else value], [mean], "o", markersize=5, label=name)
    axes.set(
        xlabel="bust %" if alpha is None else f"CVaR {alpha:g}: mean of the worst {alpha:.0%} of rounds", ylabel="mean score"
    )
    axes.legend(fontsize=8)
    return figure


def plot_race(race: Race) -> Any:
    """Plot a map of the win probability over both totals, with the thresholds T as contours."""
    figure, axes = _make_axes()
    image = axes.imshow(race.wins.T, origin="lower", vmin=0.0, vmax=1.0, cmap="RdBu")
    figure.colorbar(image, label="win probability")
    lines = axes.contour(race.thresholds.T, levels=list(range(5, 50, 5)), colors="k", linewidths=0.6)
    axes.clabel(lines, fontsize=7)
    axes.set(xlabel="my total", ylabel="opponent's total", title="stay at the sum T(mine, theirs)")
    return figure
