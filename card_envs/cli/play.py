"""``card-envs play GAME``: a match at the terminal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

import card_envs
from card_envs.cli.arguments import GameName, OptionWords, Players, print_deal
from card_envs.engine.files import write_file
from card_envs.engine.table import Table
from card_envs.players import Player, resolve, split_specs
from card_envs.players.human import Human, Quit
from card_envs.players.runner import Runner

HUMAN = "human"


def play(
    game: GameName,
    seat: Annotated[int, typer.Option(help="Your seat. The last seat deals first.")] = 0,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC,…",
            help="The other players, clockwise from you: built-in players, `human`, module:factory or a .safetensors file."
            " A single one takes all other seats. By default it is the default opponent of the game.",
            show_default=False,
        ),
    ] = None,
    players: Players = None,
    option: OptionWords = None,
    seed: Annotated[int | None, typer.Option(help="The seed of the match.", show_default=False)] = None,
    save: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the record of the match, to replay it.")] = None,
) -> None:
    """Play a match in the terminal.

    Answer with the number of an action or with its words. `?` shows the odds of every seat, `quit` stops.
    """
    chosen = card_envs.load_game(game)
    specs = split_specs(against) if against is not None else [chosen.default_opponent]
    options = chosen.read_options(option or (), players)
    if against is not None and "players" not in options:
        options["players"] = len(specs) + 1
    table = Table(chosen, seed=seed, **options)
    names = assign_seats(specs, seat, table.players)
    seated = [Human() if spec == HUMAN else resolve(spec, chosen, table.options) for spec in names]
    if save is not None:
        save_record(save, table)  # so that a file that cannot be written is reported before anybody has played
    try:
        play_match(table, seated, names)
    except (Quit, EOFError):
        print("\nThe match is left unfinished.")
    except KeyboardInterrupt:
        print("\nThe match is left unfinished.")
        raise typer.Exit(130) from None
    finally:
        if save is not None:
            save_record(save, table)


def assign_seats(specs: list[str], seat: int, players: int) -> list[str]:
    """Return who sits in each seat: ``human`` in ``seat``, and the others clockwise from there.

    Raises:
        ValueError: There is no such seat, or the number of specs is neither one nor that of the other seats.
    """
    if not 0 <= seat < players:
        raise ValueError(f"seat = {seat}: allowed is 0 … {players - 1}")
    others = specs * (players - 1) if len(specs) == 1 else specs
    if len(others) != players - 1:
        raise ValueError(
            f"against: {len(others)} players are named, but a table for {players} needs {players - 1}, or one for all seats"
        )
    clockwise = [HUMAN, *others]
    return [clockwise[(place - seat) % players] for place in range(players)]


def play_match(table: Table, players: list[Player], names: list[str]) -> None:
    """Play the match to its end and print what the other players do and how each deal ends."""
    runner = Runner(table.matches, players)
    runner.seating[0] = range(table.players)
    while table.to_move is not None:
        mover = table.to_move
        deals = len(table.deals)
        runner.choose(table.matches.rows)
        action = table.action_string(int(table.matches.actions[0]))
        table.play(action)
        if not isinstance(players[mover], Human):
            print(f"seat {mover} ({names[mover]}): {action}")
        print_deal(table, deals)
    print(f"\n{table}")
    print(f"seed {table.identity[0]}")


def save_record(file: Path, table: Table) -> None:
    """Write the record of the match so far; ``ValueError`` if the file cannot be written."""
    try:
        write_file(file, json.dumps(table.record()).encode())
    except OSError as error:  # the error itself names a temporary file
        raise ValueError(f"save: {file} cannot be written ({error.strerror})") from None
