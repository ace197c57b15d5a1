"""``card-envs risk …``: odds, optimal stopping and what decisions cost, in Flip 7."""

from __future__ import annotations

import csv as csvlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table as Grid
from typer.core import TyperGroup

import card_envs
from card_envs import risk
from card_envs.cli.arguments import Json, print_json, table_console
from card_envs.cli.replay import read_record
from card_envs.engine.game import unknown
from card_envs.risk import CAVEAT
from card_envs.risk.advise import HELP, ME, Counter
from card_envs.risk.model import names_of

app = typer.Typer(
    name="risk", cls=TyperGroup, help="Bust risk in Flip 7: exact odds, optimal stopping, what decisions cost.",
    no_args_is_help=True, rich_markup_mode=None,
)  # fmt: skip

ModelName = Annotated[str, typer.Option("--model", help="base, plain or special: see `card-envs risk solve --help`.")]
Csv = Annotated[bool, typer.Option("--csv", help="Print CSV.")]
Plot = Annotated[bool, typer.Option("--plot", help="Also draw a picture: risk-….png here, or --out.")]
Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE", help="Where to write the picture (.png, .svg, .pdf).", show_default=False),
]
Gone = Annotated[
    str, typer.Option("--gone", metavar="CARDS", help="Cards that are out of the deck besides: other lines, the discard pile.")
]
Seed = Annotated[int, typer.Option(help="Of the deals.")]
Real = Annotated[
    int | None, typer.Option(min=2, max=12, help="Beside it, the first round at a real table of so many.", show_default=False)
]
Others = Annotated[str, typer.Option(metavar="SPEC", help="Who else sits at the real table.")]
Rounds = Annotated[int, typer.Option(min=2, help="Rounds played there.")]
RULES: dict[str, tuple[Callable[[float], risk.Strategy], Sequence[float], str]] = {
    "sum": (risk.sum_at_least, range(1, 61), "a sum of"),
    "risk": (risk.risk_at_least, [n / 100 for n in range(2, 62, 2)], "P(bust | number card) of"),
    "cards": (risk.cards_at_least, range(1, 8), "number cards:"),
}
PLAYER = {"sum": "sum", "risk": "risk", "cards": "count"}  # the built-in players of these rules
BESIDE = {"sum(26)": "sum26", "risk(0.24)": "risk24", "count(3)": "count3", "optimal": "exact"}  # the player of a strategy


@contextmanager
def bar(what: str) -> Iterator[Callable[[float], None]]:
    """Progress on stderr, at a terminal."""
    with Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task(what, total=1.0)
        yield lambda part: progress.update(task, completed=part)


def emit(
    rows: Sequence[Mapping[str, Any]], json: bool, csv: bool, facts: Mapping[str, Any] | None = None, solo: bool = True
) -> None:
    """Rows as a table, as CSV, or as JSON with the facts around them."""
    about = {"caveat": CAVEAT} if solo else {}
    if json:
        print_json({**(facts or {}), "rows": [dict(row) for row in rows], **about})
        return
    columns = list(rows[0]) if rows else []
    if csv:
        writer = csvlib.DictWriter(sys.stdout, columns)
        writer.writeheader()
        writer.writerows(rows)
    else:
        grid = Grid(*columns, box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for row in rows:
            grid.add_row(*(_cell(row[column]) for column in columns))
        console = table_console()
        for name, value in (facts or {}).items():
            console.print(f"{name}: {_cell(value)}")
        console.print(grid)
    if solo:
        print(CAVEAT, file=sys.stderr if csv else sys.stdout)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4f}"
    if isinstance(value, list | tuple):
        return " ".join(str(part) for part in value)
    return "" if value is None else str(value)


def _draw(plot: bool, out: Path | None, name: str, make: Callable[[], Any]) -> None:
    """Write the picture if one is asked for."""
    if plot or out is not None:
        from card_envs.risk.plots import save_plot

        file = out or Path(f"risk-{name}.png")
        save_plot(make(), file)
        print(f"picture: {file}", file=sys.stderr)


@app.command("solve")
def solve(
    model: ModelName = "special",
    threads: Annotated[int | None, typer.Option(min=1, help="By default all cores.", show_default=False)] = None,
    cache: Annotated[bool, typer.Option(help="Use and keep results in the cache folder.")] = True,
    real: Real = None,
    others: Others = "ev",
    rounds: Rounds = 5000,
    seed: Seed = 0,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Solve a solo round: the most points that any play brings.

    Models: base is base Flip 7 (79 number cards), plain the numbers 0 … 13 of Vengeance, special these with Zero, Unlucky 7 and
    Lucky 13. `seconds` is what solving took, when it was done. With --real N beside it what the player `exact`, who plays so on
    the deck as it lies, gets in the first round at the real table.
    """
    with bar(f"solving {model}") as progress:
        facts = risk.solve_model(risk.model_of(model), threads=threads, progress=progress, use_cache=cache).facts()
    if real is not None:
        facts |= _real("exact", others, real, rounds, seed) | {"players": real, "others": others, "n": rounds, "seed": seed}
    if json:
        print_json({**facts, "caveat": CAVEAT})
    elif csv:
        emit([facts], json, csv)
    else:
        print("\n".join(f"{name:13} {_cell(value)}" for name, value in facts.items()) + f"\n{CAVEAT}")


@app.command("odds")
def odds(
    line: Annotated[
        str | None, typer.Argument(metavar="[CARDS]", help='A line, as "3 9 12 lucky13".', show_default=False)
    ] = None,
    gone: Gone = "",
    draws: Annotated[int, typer.Option(help="Forced draws to look at, 1 … 7.")] = 4,
    record: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Of every seat of a recorded table instead.", show_default=False)
    ] = None,
    at: Annotated[
        int | None, typer.Option(help="After so many actions of the record; by default all.", show_default=False)
    ] = None,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """The odds of a line typed in, or of every seat of a table.

    P(bust) of the next card, and given that it is a number card; of forced draws; what drawing on and staying are worth.
    """
    if (line is None) == (record is None):
        raise ValueError('expected is either a line, as "3 9 12" ("" if it is empty), or --record FILE')
    if record is not None:
        played = read_record(record)
        actions = played.get("actions")
        if at is not None and isinstance(actions, list):
            if not 0 <= at <= len(actions):
                raise ValueError(f"at = {at}: allowed are 0 … {len(actions)} actions")
            played |= {"actions": actions[:at]}
        table = card_envs.replay(played)
        seats = [
            {"seat": seat, "status": status, "line": names_of(position.line), **_odds_row(position)}
            for seat, (status, position) in enumerate(risk.positions_of(table))
        ]
        emit(seats, json, csv)
        return
    position = risk.position_of(line or "", gone)
    found = risk.odds(position, draws)
    solution = risk.solve(position)
    facts: dict[str, Any] = {"line": names_of(position.line), **found.facts(), "draw": solution.draw, "stay": solution.stay}
    rows = facts.pop("draws")
    facts["advice"] = "draw" if solution.stay is None or solution.draw > solution.stay else "stay"
    if json:
        print_json({**facts, "draws": rows, "caveat": CAVEAT})
    else:
        emit(rows, json, csv, facts)


def _odds_row(position: risk.Position) -> dict[str, Any]:
    found = risk.odds(position, 4)
    four = found.draws[-1] if found.draws else None
    return {
        "score": found.score, "bust": found.bust, "bust_number": found.bust_number, "flip7": found.flip7,
        "gain": found.draws[0].gain if four else None, "bust_in_4": four.bust if four else None,
        "flip7_in_4": four.flip7 if four else None,
    }  # fmt: skip


@app.command("table")
def table(
    model: ModelName = "special",
    real: Real = None,
    others: Others = "ev",
    player: Annotated[list[str] | None, typer.Option(metavar="SPEC", help="More players there; may be repeated.")] = None,
    rounds: Rounds = 5000,
    seed: Seed = 0,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Strategies side by side: the exact solo round, and the real table.

    With --real N the first round on the engine, actions and modifiers included, with 95 % intervals: normal for the mean,
    Wilson for rates; `real_adjusted` has the luck of his draws taken out, which divides the variance by `factor`.
    """
    start = risk.model_of(model).start
    strategies = [
        risk.optimal(), risk.one_step(), risk.sum_at_least(23), risk.sum_at_least(26), risk.risk_at_least(0.24),
        risk.risk_at_least(0.26), risk.cards_at_least(3), risk.always_draw(),
    ]  # fmt: skip
    rows: list[dict[str, Any]] = []
    with bar("playing") as progress:
        names = [strategy.name for strategy in strategies]
        extra = [] if real is None else (player or ["ev", "racer"])
        for number, strategy in enumerate(strategies):
            row: dict[str, Any] = {"strategy": strategy.name, **risk.evaluate(start, strategy).facts()}
            if real is not None:
                row |= _real(BESIDE.get(strategy.name), others, real, rounds, seed)
            rows.append(row)
            progress((number + 1) / len(names + extra))
        for number, spec in enumerate(extra, len(names)):
            rows.append(dict.fromkeys(rows[0]) | {"strategy": spec} | _real(spec, others, real or 2, rounds, seed))
            progress((number + 1) / len(names + extra))
    facts: dict[str, Any] = {"model": model}
    if real is not None:
        facts |= {"players": real, "others": others, "n": rounds, "seed": seed}
    emit(rows, json, csv, facts)


def _real(spec: str | None, others: str, players: int, rounds: int, seed: int, adjust: bool = True) -> dict[str, Any]:
    """The columns of the real table; empty where no player plays so."""
    columns: tuple[str, ...] = ("player", "real_mean", "real_adjusted", "factor", "real_bust", "real_flip7")
    if not adjust:
        columns = tuple(name for name in columns if name not in ("real_adjusted", "factor"))
    if spec is None:
        return dict.fromkeys(columns)
    found = risk.real_round(spec, others, players=players, rounds=rounds, seed=seed, adjust=adjust)
    parts = (
        spec,
        _interval(found.mean),
        _interval(found.adjusted),
        found.factor,
        _interval(found.bust),
        _interval(found.flip7),
    )
    return dict(zip(columns, (part for part in parts if part is not None)))


def _interval(part: Any) -> str | None:
    return None if part is None else f"{part.mean:.3f} [{part.low:.3f}, {part.high:.3f}]"


@app.command("reach")
def reach(
    model: ModelName = "plain",
    targets: Annotated[str, typer.Option(metavar="N,…|N-N", help="Points needed.")] = "1-80",
    line: Annotated[
        str | None, typer.Option(metavar="CARDS", help="From this line on, with the special cards.", show_default=False)
    ] = None,
    gone: Gone = "",
    json: Json = False,
    csv: Csv = False,
) -> None:
    """The best chance to score a target or more: "I need 34"."""
    position = risk.model_of(model).start if line is None else risk.position_of(line, gone)
    with bar("solving") as progress:
        emit([vars(row) for row in risk.reach_table(position, _numbers(targets), progress)], json, csv)


def _numbers(text: str) -> list[int]:
    try:
        if "-" in text:
            low, high = text.split("-")
            numbers = list(range(int(low), int(high) + 1))
        else:
            numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers:
        raise ValueError(f"targets = {text!r}: expected are whole numbers, as 20,34 or 1-80")
    return numbers


@app.command("sweep")
def sweep(
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
    """Every threshold of a rule: stay at a sum, at a P(bust | number card), or with so many cards. Exact.

    With --real N beside it the player of the same rule in the first round at the real table, with 95 % intervals.
    """
    if by not in RULES:
        raise unknown("sweep", by, RULES)
    make, thresholds, what = RULES[by]
    start = risk.model_of(model).start
    rows = []
    with bar(f"sweeping {by}") as progress:
        for number, threshold in enumerate(thresholds, 1):
            row = {"threshold": threshold, **risk.evaluate(start, make(threshold)).facts()}
            if real is not None:
                row |= _real(f"{PLAYER[by]}({threshold})", others, real, rounds, seed, adjust=False)
            rows.append(row)
            progress(number / len(thresholds))
    facts: dict[str, Any] = {"rule": by, "model": model, "best": max(rows, key=lambda row: row["mean"])["threshold"]}
    if real is not None:
        facts |= {"players": real, "others": others, "n": rounds, "seed": seed}
    emit(rows, json, csv, facts)

    def picture() -> Any:
        from card_envs.risk.plots import plot_sweep

        return plot_sweep(rows, what)

    _draw(plot, out, f"sweep-{by}", picture)


@app.command("frontier")
def frontier(
    model: ModelName = "plain",
    cvar: Annotated[
        float | None, typer.Option(metavar="ALPHA", help="Against CVaR instead of P(bust).", show_default=False)
    ] = None,
    player: Annotated[
        list[str] | None, typer.Option(metavar="SPEC", help="A player at the real table beside it; may be repeated.")
    ] = None,
    players: Annotated[int, typer.Option(min=2, max=12, help="Seats at that table.")] = 4,
    others: Others = "ev",
    rounds: Rounds = 5000,
    seed: Seed = 0,
    plot: Plot = False,
    out: Out = None,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """The highest mean for each bust rate, or for each mean of the worst rounds: exact, with the rules beside it.

    `below` is how much more the best play with the same P(bust) has on average.
    """
    start = risk.model_of(model).start
    with bar("solving") as progress:
        points = (
            risk.bust_frontier(start, progress=progress) if cvar is None else risk.cvar_frontier(start, cvar, progress=progress)
        )
    rows: list[dict[str, Any]] = [
        {"name": f"{'price' if cvar is None else 'weight'} {p.price:.4g}", **p.distribution.facts()} for p in points
    ]
    beside: dict[str, tuple[float, float]] = {}
    for strategy in (risk.one_step(), risk.sum_at_least(26), risk.risk_at_least(0.24), risk.cards_at_least(3)):
        found = risk.evaluate(start, strategy)
        beside[strategy.name] = (found.bust if cvar is None else found.cvar(cvar), found.mean)
        rows.append({"name": strategy.name, **found.facts()})
    if cvar is None:
        for row in rows:
            row["below"] = max(0.0, risk.most_mean(points, row["bust"]) - row["mean"])
    else:
        for row, distribution in zip(rows, [p.distribution for p in points]):
            row[f"cvar{round(100 * cvar)}"] = distribution.cvar(cvar)
    facts: dict[str, Any] = {"model": model}
    real = []
    for spec in player or ():
        played = risk.real_round(spec, others, players=players, rounds=rounds, seed=seed)
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
        from card_envs.risk.plots import plot_frontier

        return plot_frontier(points, beside, cvar)

    _draw(plot, out, "frontier", picture)


@app.command("race")
def race(
    model: ModelName = "plain",
    target: Annotated[int, typer.Option(help="Points that end the match.")] = 200,
    step: Annotated[int, typer.Option(min=1, help="Show every so many points.")] = 20,
    cache: Annotated[bool, typer.Option(help="Use and keep results in the cache folder.")] = True,
    plot: Plot = False,
    out: Out = None,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """The race of two to the target: win probabilities, and the sum to stay at, by both totals.

    The win-optimal player against a points-optimal one, both playing solo rounds of the model.
    """
    with bar(f"racing {model}") as progress:
        found = risk.race(model, target, progress=progress, use_cache=cache)
    usual, fewest = risk.rounds_to(model, target)
    totals = range(0, target, step)
    facts: dict[str, Any] = {
        "model": model, "target": target, "win": float(found.wins[0, 0]), "rounds_points": usual, "rounds_fewest": fewest,
        "seconds": found.seconds, "cached": found.cached,
    }  # fmt: skip
    if json or csv:
        cells = [
            {"mine": a, "theirs": b, "win": float(found.wins[a, b]), "threshold": int(found.thresholds[a, b])}
            for a in totals for b in totals
        ]  # fmt: skip
        emit(cells, json, csv, facts)
    else:
        rows = [
            {"mine ↓ theirs →": a, **{str(b): f"{found.wins[a, b]:.2f} {found.thresholds[a, b]}" for b in totals}}
            for a in totals
        ]
        emit(rows, json, csv, facts | {"cells": "win probability, and the sum to stay at"})

    def picture() -> Any:
        from card_envs.risk.plots import plot_race

        return plot_race(found)

    _draw(plot, out, "race", picture)


@app.command("advise")
def advise(
    players: Annotated[int, typer.Option(min=2, max=12, help="Seats; you are seat 0.")] = 2,
    target: Annotated[int, typer.Option(min=1, help="Points that end the match.")] = 200,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """An advisor: type the cards as they fall; it says what you risk and what drawing and staying are worth.

    `?` shows what can be typed. With --json or --csv an answer to each line, without prompts.
    """
    counter = Counter(players, target)
    quiet = json or csv
    before: list[Counter] = []
    if not quiet:
        print(HELP)
    while True:
        try:
            text = (input() if quiet else input("> ")).strip()
        except EOFError:
            return
        if text in ("quit", "exit", "q"):
            return
        if text in ("?", "help"):
            print(HELP)
            continue
        if not text:
            continue
        try:
            if text == "undo":
                if not before:
                    raise ValueError("there is nothing to undo")
                counter = before.pop()
            else:
                following = _copy(counter)
                following.tell(text)
                before.append(counter)
                counter = following
        except ValueError as error:
            print(error, file=sys.stderr if quiet else sys.stdout)
            continue
        found = counter.advice()
        if json:
            print_json({**found, "caveat": CAVEAT})
        elif csv:
            emit(
                [
                    {**seat, "advice": (found["advice"] or {}).get("advice") if seat["seat"] == ME else None}
                    for seat in found["seats"]
                ],
                json,
                csv,
            )
        else:
            _say(found)


def _copy(counter: Counter) -> Counter:
    lines = [list(line) for line in counter.lines]
    return Counter(counter.players, counter.target, lines, list(counter.status), list(counter.discard), list(counter.totals))


def _say(found: Mapping[str, Any]) -> None:
    for seat in found["seats"]:
        name = "you   " if seat["seat"] == ME else f"seat {seat['seat']}"
        risks = (
            f"{seat['score']:3} points  bust {seat['bust']:.1%} ({seat['bust_number']:.1%} of number cards)"
            if "bust" in seat
            else ""
        )
        print(f"{name}  {seat['status']:7} {' '.join(seat['line']):24} {risks}")
    own = found["advice"]
    if own is None:
        return
    if "draw" not in own:
        print(f"advice: draw ({own['why']})")
        return
    print(f"points: {own['advice']} (draw {own['draw']:.2f}, stay {own['stay']:.2f})")
    print(
        f"winning: {own['win_advice']} (draw {own['win_draw']:.1%}, stay {own['win_stay']:.1%}: a race with the best opponent)"
    )
    print(CAVEAT)


@app.command("review")
def review(
    record: Annotated[Path, typer.Argument(metavar="RECORD", help="A record, as `card-envs play --save` writes it.")],
    unit: Annotated[str, typer.Option(help="points, or win: the probability of winning the race.")] = "points",
    worst: Annotated[int, typer.Option(min=0, help="Show so many of the worst; 0 for all in order.")] = 10,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """What each choice between drawing and staying in a recorded match gave away, the worst first."""
    try:
        decisions = risk.review(read_record(record), unit)
    except ValueError as error:
        raise ValueError(f"{record}: {error}") from None
    seats = sorted({decision.seat for decision in decisions})
    losses = {str(seat): sum(d.loss for d in decisions if d.seat == seat) for seat in seats}
    choices = {str(seat): sum(d.seat == seat for d in decisions) for seat in seats}
    shown = sorted(decisions, key=lambda d: -d.loss)[:worst] if worst else decisions
    if json:
        emit([d.facts() for d in shown], json, csv, {"unit": unit, "choices": len(decisions), "loss": losses})
    else:
        facts = {f"seat {seat}": f"{loss:.4f} in {choices[seat]} choices" for seat, loss in losses.items()}
        emit([d.facts() for d in shown], json, csv, {"unit": unit, **facts})


@app.command("losses")
def losses(
    player: Annotated[str, typer.Argument(metavar="SPEC", help="A player.")],
    others: Annotated[str, typer.Option(metavar="SPEC", help="Who else sits at the table.")] = "ev",
    players: Annotated[int, typer.Option(min=2, max=12, help="Seats.")] = 4,
    matches: Annotated[int, typer.Option(min=2, help="How many.")] = 1000,
    unit: Annotated[str, typer.Option(help="points, or win: the probability of winning the race.")] = "points",
    seed: Seed = 0,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """What a player's choices between drawing and staying give away in many matches."""
    found = risk.match_losses(player, others, players=players, matches=matches, unit=unit, seed=seed)
    facts = found.facts()
    rows = facts.pop("worst")
    if not json:
        facts["per_round"] = found.per_round
    emit(rows, json, csv, facts)
