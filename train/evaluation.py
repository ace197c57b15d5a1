"""How an agent does against built-in players."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from card_envs.arena import Duel, play_duel
from card_envs.engine.game import Game, OptionValue
from card_envs.players import Player
from card_envs.players.checkpoint import save_network
from card_envs.players.network import Network


def list_yardsticks(game: Game, *others: str) -> list[str]:
    """List the opponents to measure an agent against: ``random``, the game's aliases and default opponent, and ``others``."""
    return list(dict.fromkeys(["random", *game.aliases, game.default_opponent, *others]))


def evaluate(
    agent: Player,
    game: Game,
    options: Mapping[str, OptionValue],
    against: list[str],
    *,
    board_list: str,
    seed: int,
    matches: int,
) -> dict[str, Duel]:
    """Play one ``agent`` among equals of each spec, always on the same boards of ``board_list``."""
    return {
        spec: play_duel(game, agent, spec, matches=matches, board_list=board_list, seed=seed, **options) for spec in against
    }


def format_metadata(duels: Mapping[str, Duel], **about: Any) -> dict[str, Any]:
    """Format an evaluation as a checkpoint stores it: ``share[spec]`` is [mean, low, high]."""
    shares = {spec: [round(x, 4) for x in (d.share.mean, d.share.low, d.share.high)] for spec, d in duels.items()}
    return {**about, "share": shares}


def format_line(duels: Mapping[str, Duel]) -> str:
    """Format the shares in percent with half the widths of their intervals: ``random 98.1±.6  ev 47.0±2.2``."""
    return "  ".join(f"{spec} {100 * d.share.mean:.1f}±{50 * (d.share.high - d.share.low):.1f}" for spec, d in duels.items())


def report_agent(
    agent: Network,
    path: Path,
    game: Game,
    options: Mapping[str, OptionValue],
    against: list[str],
    *,
    matches: int,
    console: Console,
    **about: Any,
) -> None:
    """Measure an agent on deals that nothing was learned or chosen by; store the figures in its checkpoint and print them.

    Args:
        agent: The agent.
        path: Its checkpoint, which is written.
        game, options: What it plays.
        against: The specs against which it is measured.
        matches: How many matches are played against each.
        console: Where the figures are printed.
        **about: What else its evaluation says, such as the length of the training.
    """
    duels = evaluate(agent, game, options, against, board_list="report", seed=0, matches=matches)
    agent.metadata["evaluation"] = format_metadata(duels, **about, board_list="report", matches=matches)
    save_network(path, agent)
    where = f"{path} in {game.title}, {options['players']} players"
    console.print(f"{where}, alone among others:", highlight=False, soft_wrap=True)
    console.print(make_table(duels))


def make_table(duels: Mapping[str, Duel]) -> Table:
    """Make the table of the final report."""
    some = next(iter(duels.values()))
    table = Table(caption=f"{some.matches:,} matches each", caption_justify="left")
    for heading in ("against", "wins %", "95 % interval", f"a fair share: {100 * some.fair:.1f} %", "points ahead"):
        table.add_column(heading, justify="left" if heading == "against" else "right")
    for spec, d in duels.items():
        low, high = max(d.share.low, 0.0), min(d.share.high, 1.0)
        verdict = "better" if low > d.fair else "worse" if high < d.fair else "inside the interval"
        table.add_row(
            spec, f"{100 * d.share.mean:.1f}", f"{100 * low:.1f} … {100 * high:.1f}", verdict, f"{d.margin.mean:+.1f}"
        )  # fmt: skip
    return table
