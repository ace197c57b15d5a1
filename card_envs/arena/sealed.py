"""Sealed deals: a contest whose boards nobody knows before it, and which everybody can check after it.

Who knows the seed of a list of boards can deal its decks. So the organiser of a contest draws a seed, publishes its SHA-256,
lets the players enter, plays with the seed, and publishes both the report and the seed.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.arena.boards import MOST_BOARDS, Lineup, derive_list_seed
from card_envs.arena.playing import limit_blas, play_shard
from card_envs.arena.results import hash_boards, hash_json, make_tables
from card_envs.arena.roster import Roster
from card_envs.arena.shard import PER_BOARD, SAMPLE, Task
from card_envs.arena.storage import read_boards, unpack_shards
from card_envs.arena.tournament import Tournament
from card_envs.engine.game import Game, OptionValue
from card_envs.engine.keys import SEED_BITS
from card_envs.engine.measures import load_measures
from card_envs.games import available_games, load_game
from card_envs.players import Decisions, Player

DIGITS = SEED_BITS // 4
_TEXT = re.compile(rb"[0-9a-f]{%d}\n" % DIGITS)


@dataclass(frozen=True)
class Sealed:
    """A sealed seed.

    Attributes:
        seed: The seed, which is kept secret until the contest is over.
        sha256: The SHA-256 of its file, which is published before the contest: ``sha256sum FILE`` prints it as well.
    """

    seed: int
    sha256: str


def seal_seed(file: Path) -> Sealed:
    """Draw a seed of 256 bits and keep it in a new file that only its owner can read.

    Raises:
        ValueError: The file exists already, or cannot be written.
    """
    text = b"%064x\n" % secrets.randbits(SEED_BITS)
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
    except FileExistsError:
        raise ValueError(f"{file} exists already; a seed that was announced must not be lost") from None
    except OSError as error:
        raise ValueError(f"{file} cannot be written ({error.strerror})") from None
    return _parse(text)


def open_seed(file: Path) -> Sealed:
    """Read a file that :func:`seal_seed` has written.

    Raises:
        ValueError: There is no such file, or it holds something else.
    """
    try:
        if file.exists() and not file.is_file():
            raise ValueError(f"{file} is no regular file")
        with file.open("rb") as stream:
            text = stream.read(DIGITS + 2)
    except OSError as error:
        raise ValueError(f"{file} cannot be read ({error.strerror})") from None
    if not _TEXT.fullmatch(text):
        raise ValueError(f"{file} holds no sealed seed: one line of {DIGITS} hexadecimal digits, as `--commit` writes it")
    return _parse(text)


def _parse(text: bytes) -> Sealed:
    return Sealed(int(text, 16), sha256(text).hexdigest())


# ---- checking a report


@dataclass(frozen=True)
class Verification:
    """What was checked in a report.

    Attributes:
        boards: How many boards were dealt again, over all numbers of players.
        replayed: How many boards of line-ups were played again from their recorded actions.
    """

    boards: int
    replayed: int


def verify_report(report: Mapping[str, Any], sealed: Sealed) -> Verification:
    """Check that a report was made from a sealed seed, that its sample follows from the decks, and its figures from its boards.

    Args:
        report: The report.
        sealed: The seed.

    Raises:
        ValueError: Something does not agree; the message names the first such thing.
    """
    try:
        return _verify(report, sealed)
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise ValueError(f"the report is damaged ({type(error).__name__}: {error})") from None


def _verify(report: Mapping[str, Any], sealed: Sealed) -> Verification:
    try:
        stored = read_boards(report)
    except ValueError as error:
        raise ValueError(f"the report is damaged: {error}") from None
    results, boards = report["results"], stored.identity
    if hash_json(results) != report["results_sha256"]:
        raise ValueError("the results of the report are damaged, their SHA-256 does not match")
    for part in (results["boards"], boards):
        if part.get("sealed") != sealed.sha256:
            raise ValueError(f"the report was made with the sealed seed {part.get('sealed')}, this one is {sealed.sha256}")
    if results["package"] != version("card-envs"):
        raise ValueError(f"the report was made by version {results['package']}, this is {version('card-envs')}")
    game = next((load_game(name) for name in available_games() if load_game(name).id == results["game"]), None)
    if game is None:
        raise ValueError(f"the report is about {results['game']!r}, which this version does not play")
    tables = {int(n): game.resolve({**results["options"], "players": int(n)}) for n in results["tables"]}
    seed = derive_list_seed(boards["board_list"], sealed.seed)
    tournament = Tournament(Roster({p["player"]: p["player"] for p in results["players"]}, game), tables, seed)
    counts = len(load_measures(game).names)
    for n, lineup, packed in stored.shards:
        if n in tables and set(lineup) <= set(tournament.roster):
            tournament.shards[n, lineup] = unpack_shards(packed, lineup, counts, MOST_BOARDS)
    dealt = 0
    for n, options in tables.items():
        stated = results["boards"]["by_players"][str(n)]
        ends = [shard.end for (size, _), by in tournament.shards.items() if size == n for shard in by.values()]
        if stated["boards"] != max(ends, default=0):
            raise ValueError(f"the report states {stated['boards']} boards for {n} players, but holds {max(ends, default=0)}")
        if hash_boards(game, options, seed, int(stated["boards"])) != stated["sha256"]:
            raise ValueError(f"the decks for {n} players are not those of the sealed seed")
        dealt += int(stated["boards"])
    replayed = sum(_replay(tournament, n, lineup) for n, lineup in sorted(tournament.shards))
    _compare_figures(tournament, results)
    return Verification(dealt, replayed)


def _replay(tournament: Tournament, n: int, lineup: Lineup) -> int:
    """Play the sample of a line-up again from its recorded actions; return how many boards there are."""
    replayed = 0
    for shard in tournament.select_shards(n, lineup):
        for board in SAMPLE:
            if not shard.first <= board < shard.end:
                continue
            where = f"board {board} of {', '.join(lineup)}"
            actions = shard.actions.get(board, [])
            if len(actions) != n:
                raise ValueError(f"{where}: the report does not hold its actions")
            record = Recording(tournament.game, actions)
            with limit_blas():
                again = play_shard(Task(tournament.game, tournament.tables[n], lineup, tournament.seed, board, 1), record)
            if record.is_left() or any(
                (getattr(again, name)[0] != getattr(shard, name)[board - shard.first]).any() for name in PER_BOARD
            ):
                raise ValueError(f"{where}: the recorded actions do not lead to the recorded results")
            replayed += 1
    return replayed


def _compare_figures(tournament: Tournament, results: Mapping[str, Any]) -> None:
    method = results["method"]
    arguments = results["baseline"], method["edge"], method["until_sure"], method["continues_sequential"]
    for n in tournament.tables:
        for name, rows in make_tables(tournament, n, *arguments).items():
            stated = [row for row in results[name] if isinstance(row, str) or row["players"] == n]
            if name != "warnings" and hash_json(rows) != hash_json(stated):
                raise ValueError(f"the {name} table for {n} players does not follow from the boards of the report")


class Recording(Roster):
    """Players that play recorded actions.

    Args:
        game: The game.
        actions: The actions in every rotation of a board.
    """

    def __init__(self, game: Game, actions: list[list[int]]) -> None:
        super().__init__({}, game)
        self._players = [_Recorded(list(rotation)) for rotation in actions]

    def make_players(self, names: Iterable[str], options: Mapping[str, OptionValue]) -> dict[str, Player]:
        """Return players that stand for those of the line-up."""
        return dict.fromkeys(names, self._players[0])

    def seat_players(self, lineup: Lineup, options: Mapping[str, OptionValue], rotation: int) -> list[Player]:
        """Return the player that plays all that was recorded in this rotation, at all places."""
        return [self._players[rotation]] * len(lineup)

    def is_left(self) -> bool:
        """Return whether there are actions that nobody has asked for."""
        return any(player.actions for player in self._players)


class _Recorded:
    """Plays these actions in turn, whoever is to move. After the last one it fails, as the player did then."""

    def __init__(self, actions: list[int]) -> None:
        self.actions = actions[::-1]

    def act(self, decisions: Decisions) -> NDArray[np.int64]:
        if len(decisions) > 1:
            raise ValueError("only one match can be played at a time")
        return np.array([self.actions.pop()])
