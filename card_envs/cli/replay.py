"""``card-envs replay FILE``: a recorded match, action by action."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import Annotated, Any

import typer

import card_envs
from card_envs.cli.arguments import Json, print_deal, print_json


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
    record = read_record(file)
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


def read_record(file: Path) -> dict[str, Any]:
    """Read the record in a file; ``ValueError`` if the file does not hold a JSON object."""
    try:
        record = jsonlib.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file}: this is not JSON ({error})") from None
    if not isinstance(record, dict):
        raise ValueError(f"{file}: a record is a JSON object, not {type(record).__name__}")
    return record
