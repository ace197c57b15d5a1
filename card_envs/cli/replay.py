"""``card-envs replay FILE``: a recorded match, action by action."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import card_envs
from card_envs.cli.arguments import print_deal
from card_envs.console import Json, print_json, read_json


def replay(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A record as `play --save` or Table.record() writes it, in JSON.")
    ],
    step: Annotated[bool, typer.Option("--step", help="Show the table before every action, not only at the end.")] = False,
    json: Json = False,
) -> None:
    """Replay a record.

    Prints every action and the table at the end, or with --json the state at the end.
    """
    record = read_json(file, "record")
    try:
        final = card_envs.replay(record)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None
    if json:
        print_json(final.state())
        return
    table = card_envs.replay(record | {"actions": []})
    for number, action in enumerate(final.actions, 1):
        if step:
            print(f"{table}\n")
        print(f"{number:4}  seat {table.to_move}: {action}")
        deals = len(table.deals)
        table.play(action)
        print_deal(table, deals, "      ")
    print(f"\n{table}")
