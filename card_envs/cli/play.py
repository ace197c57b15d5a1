"""``card-envs play GAME``: a match at the terminal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

import card_envs
from card_envs.cli.arguments import GameName, OptionWords, Players, print_deal
from card_envs.engine.game import Game, OptionValue
from card_envs.engine.table import Table
from card_envs.players import Player, resolve, split_specs
from card_envs.players.human import Human, Quit
from card_envs.players.network import write_atomically
from card_envs.players.runner import Runner

HUMAN = "human"


def play(
    game: GameName,
    seat: Annotated[int, typer.Option(help="Your seat; the dealer of deal 1 is the last seat.")] = 0,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC,…",
            help="The others, clockwise from you: built-in players, `human`, module:factory or a .safetensors file;"
            " one sits in every seat. By default the game's default opponent.",
            show_default=False,
        ),
    ] = None,
    players: Players = None,
    option: OptionWords = None,
    seed: Annotated[int | None, typer.Option(help="The match's seed.", show_default=False)] = None,
    save: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the match's record, to replay it.")] = None,
) -> None:
    """Play a match in the terminal.

    Answer with a number or an action; `?` shows what chance says of every seat, `quit` stops.
    """
    it = card_envs.load_game(game)
    specs = split_specs(against) if against is not None else [it.default_opponent]
    options = it.read_options(option or (), players)
    if against is not None and "players" not in options:
        options["players"] = len(specs) + 1
    table = Table(it, seed=seed, **options)
    seats = seat_specs(specs, seat, table.players)
    sitting = [player_of(spec, it, table.options) for spec in seats]
    if save is not None:
        save_record(save, table)  # before anybody has played: an unwritable file is told now
    try:
        play_match(table, sitting, seats)
    except (Quit, EOFError):
        print("\nThe match is left unfinished.")
    except KeyboardInterrupt:
        print("\nThe match is left unfinished.")
        raise typer.Exit(130) from None
    finally:
        if save is not None:
            save_record(save, table)


def seat_specs(specs: list[str], seat: int, players: int) -> list[str]:
    """Who sits where: ``human`` at ``seat``, the others clockwise from there; one spec fills all other seats."""
    if not 0 <= seat < players:
        raise ValueError(f"seat = {seat}: allowed are 0 … {players - 1}")
    others = specs * (players - 1) if len(specs) == 1 else specs
    if len(others) != players - 1:
        raise ValueError(f"against: {len(others)} are named, {players} players need {players - 1} (or one for all)")
    clockwise = [HUMAN, *others]
    return [clockwise[(place - seat) % players] for place in range(players)]


def player_of(spec: str, game: Game, options: dict[str, OptionValue]) -> Player:
    """A person at this terminal, or the player of the spec."""
    return Human() if spec == HUMAN else resolve(spec, game, options)


def play_match(table: Table, players: list[Player], names: list[str]) -> None:
    """Play on to the end, and print what the others do and what each deal brings."""
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
    try:
        write_atomically(file, json.dumps(table.record()).encode())
    except OSError as error:  # it names a temporary file
        raise ValueError(f"save: {file} cannot be written ({error.strerror})") from None
