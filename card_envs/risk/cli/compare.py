"""The commands that compare strategies: table, sweep, frontier."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from card_envs.console import Json
from card_envs.engine.game import unknown
from card_envs.risk.cli.options import Csv, ModelName, Others, Out, Plot, Real, Rounds, Seats, Seed
from card_envs.risk.cli.output import describe_real_table, draw_picture, emit, play_columns, show_progress
from card_envs.risk.frontier import bound_mean, trace_bust_frontier, trace_cvar_frontier
from card_envs.risk.model import load_model
from card_envs.risk.simulate import play_real_round
from card_envs.risk.solve import (
    Strategy,
    always_draw,
    cards_at_least,
    evaluate,
    one_step,
    optimal,
    risk_at_least,
    sum_at_least,
)

RULES: dict[str, tuple[Callable[[float], Strategy], Sequence[float], str]] = {
    "sum": (sum_at_least, range(1, 61), "a sum of"),
    "risk": (risk_at_least, [n / 100 for n in range(2, 62, 2)], "P(bust | number card) of"),
    "cards": (cards_at_least, range(1, 8), "number cards:"),
}
BUILT_IN = {"sum": "sum", "risk": "risk", "cards": "count"}  # the built-in player that follows each rule
PLAYERS = {"sum(26)": "sum26", "risk(0.24)": "risk24", "count(3)": "count3", "optimal": "exact"}  # by strategy
MorePlayers = Annotated[
    list[str] | None, typer.Option(metavar="SPEC", help="Another player at the real table; may be repeated.")
]


def show_table(
    model: ModelName = "special",
    real: Real = None,
    others: Others = "ev",
    player: MorePlayers = None,
    rounds: Rounds = 5000,
    seed: Seed = 0,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Compare strategies in the exact solo round and at the real table.

    With --real N they also play the first round at a real table, actions and modifiers included. The 95 % intervals of rates
    are Wilson's; `real_adjusted` has the luck of the player's draws taken out, which divides the variance by `factor`.
    """
    start = load_model(model).start
    strategies = [
        optimal(), one_step(), sum_at_least(23), sum_at_least(26), risk_at_least(0.24), risk_at_least(0.26), cards_at_least(3),
        always_draw(),
    ]  # fmt: skip
    rows: list[dict[str, Any]] = []
    with show_progress("playing") as progress:
        extra = [] if real is None else (player or ["ev", "racer"])
        for number, strategy in enumerate(strategies):
            row: dict[str, Any] = {"strategy": strategy.name, **evaluate(start, strategy).facts()}
            if real is not None:
                row |= play_columns(PLAYERS.get(strategy.name), others, real, rounds, seed)
            rows.append(row)
            progress((number + 1) / len(strategies + extra))
        for number, spec in enumerate(extra, len(strategies)):
            rows.append(dict.fromkeys(rows[0]) | {"strategy": spec} | play_columns(spec, others, real or 2, rounds, seed))
            progress((number + 1) / len(strategies + extra))
    facts: dict[str, Any] = {"model": model}
    if real is not None:
        facts |= describe_real_table(real, others, rounds, seed)
    emit(rows, json, csv, facts)


def show_sweep(
    by: Annotated[str, typer.Argument(metavar="sum|risk|cards", help="What the rule looks at.")],
    model: ModelName = "plain",
    real: Real = None,
    others: Others = "ev",
    rounds: Rounds = 5000,
    seed: Seed = 0,
    plot: Plot = False,
    out: Out = None,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Compute every threshold of a rule exactly: staying at a sum, at a P(bust | number card) or with so many cards.

    With --real N the player of the same rule also plays the first round at a real table, with 95 % intervals.
    """
    if by not in RULES:
        raise unknown("sweep", by, RULES)
    make, thresholds, what = RULES[by]
    start = load_model(model).start
    rows = []
    with show_progress(f"sweeping {by}") as progress:
        for number, threshold in enumerate(thresholds, 1):
            row = {"threshold": threshold, **evaluate(start, make(threshold)).facts()}
            if real is not None:
                row |= play_columns(f"{BUILT_IN[by]}({threshold})", others, real, rounds, seed, adjust=False)
            rows.append(row)
            progress(number / len(thresholds))
    facts: dict[str, Any] = {"rule": by, "model": model, "best": max(rows, key=lambda row: row["mean"])["threshold"]}
    if real is not None:
        facts |= describe_real_table(real, others, rounds, seed)
    emit(rows, json, csv, facts)

    def picture() -> Any:
        from card_envs.risk.cli.plots import plot_sweep

        return plot_sweep(rows, what)

    draw_picture(plot, out, f"sweep-{by}", picture)


def show_frontier(
    model: ModelName = "plain",
    cvar: Annotated[
        float | None, typer.Option(metavar="ALPHA", help="Use CVaR instead of P(bust).", show_default=False)
    ] = None,
    player: MorePlayers = None,
    players: Seats = 4,
    others: Others = "ev",
    rounds: Rounds = 5000,
    seed: Seed = 0,
    plot: Plot = False,
    out: Out = None,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Compute the highest mean for each bust rate, or for each mean of the worst rounds, and compare rules with it.

    `below` is how much more the best play with the same P(bust) scores on average. Each --player plays the first round at a
    real table.
    """
    start = load_model(model).start
    with show_progress("solving") as progress:
        points = (
            trace_bust_frontier(start, progress=progress)
            if cvar is None
            else trace_cvar_frontier(start, cvar, progress=progress)
        )
    plays = [(f"{'price' if cvar is None else 'weight'} {point.price:.4g}", point.distribution) for point in points]
    strategies = (one_step(), sum_at_least(26), risk_at_least(0.24), cards_at_least(3))
    rules = [(strategy.name, evaluate(start, strategy)) for strategy in strategies]
    rows: list[dict[str, Any]] = []
    for name, distribution in plays + rules:
        row = {"name": name, **distribution.facts()}
        if cvar is None:
            row["below"] = max(0.0, bound_mean(points, row["bust"]) - row["mean"])
        else:
            row[f"cvar{round(100 * cvar)}"] = distribution.cvar(cvar)
        rows.append(row)
    beside = {name: (rule.bust if cvar is None else rule.cvar(cvar), rule.mean) for name, rule in rules}
    facts: dict[str, Any] = {"model": model}
    real = []
    for spec in player or ():
        played = play_real_round(spec, others, players=players, rounds=rounds, seed=seed)
        real.append(played.facts())
        if cvar is None:
            beside[f"{spec} (real, {players})"] = (played.bust.mean, played.mean.mean)
        if not json:
            facts[f"{spec} at the real table"] = (
                f"mean {played.mean}, bust {played.bust.mean:.3f} [{played.bust.low:.3f}, {played.bust.high:.3f}],"
                f" n {rounds}, seed {seed}, {players - 1} {others}"
            )
    emit(rows, json, csv, facts | ({"real": real} if json else {}))

    def picture() -> Any:
        from card_envs.risk.cli.plots import plot_frontier

        return plot_frontier(points, beside, cvar)

    draw_picture(plot, out, "frontier", picture)
