"""``card-envs agents``: the trained players that come with the package, how strong they are and how to play them."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from card_envs.console import Json, print_json
from card_envs.games import load_game
from card_envs.players.shipped import Agent, describe_table, list_agents


def show_agents(json: Json = False) -> None:
    """List the trained players: game, table, shares of wins, and how to play against them."""
    facts = [describe(agent) for agent in list_agents()]
    if json:
        print_json(facts)
        return
    console = Console(highlight=False, markup=False)
    table = Table(
        caption="shares of wins in percent, alone among others of one kind, with 95 % intervals", caption_justify="left"
    )
    for heading in ("game", "table", "against", "wins %", "fair", "matches"):
        table.add_column(heading, justify="right" if heading in ("wins %", "fair", "matches") else "left")
    for agent in facts:
        for number, (spec, (mean, low, high)) in enumerate(agent["evaluation"].get("share", {}).items()):
            first = [agent["game"], agent["table"]] if number == 0 else ["", ""]
            fair = 100 / agent["options"]["players"]
            shares = f"{100 * mean:.1f} [{100 * max(low, 0):.1f}, {100 * min(high, 1):.1f}]"
            table.add_row(*first, spec, shares, f"{fair:.1f}", f"{agent['evaluation'].get('matches', 0):,}")
    console.print(table)
    console.print(
        "The spec agent stands for the one that fits the table: card-envs play pis_yedili --players 2 --against agent"
    )


def describe(agent: Agent) -> dict[str, Any]:
    """Return the facts of a trained player as JSON-able values."""
    return {
        "game": agent.game,
        "table": describe_table(load_game(agent.game), agent.options),
        "options": dict(agent.options),
        "path": str(agent.path),
        "command": agent.command,
        "evaluation": dict(agent.evaluation),
    }
