"""The arguments of a run, and its directory: what is read there may come from a stranger."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Collection
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from card_envs.engine.game import Game
from card_envs.engine.messages import shorten
from card_envs.players.spec import check_stored

REPORT_MATCHES = 10_000
LARGEST_FILE = 2**20  # bytes of run.json
_LEFTOVER = re.compile(r"\.(run\.json|state\.pt|best\.safetensors|last\.safetensors)\.\w+")  # of writing a file atomically
_KINDS = {"str": str, "int": int, "bool": bool, "list[str]": list}


class BadState(ValueError):  # noqa: N818 (the state is bad, not the program)
    """A saved state is not one of the run that is to go on from it."""


@dataclass(frozen=True)
class Run:
    """The arguments of a run as the command line gives them. Two runs with the same arguments are the same run."""

    game: str
    players: int | None = None
    opponents: str | None = None
    self_play: bool = False
    warm_start: str | None = None
    steps: int = 1_000_000
    options: list[str] = field(default_factory=list)
    settings: list[str] = field(default_factory=list)
    seed: int = 0
    evaluate_every: int = 200_000
    evaluate_matches: int = 2_000
    report_matches: int = REPORT_MATCHES
    threads: int = 1

    @property
    def command(self) -> str:
        """The command that repeats this run."""
        words = ["python", "-m", "train.ppo", self.game]
        plain = Run(self.game)
        for name, value in asdict(self).items():
            if value == getattr(plain, name):
                continue
            flag = {"options": "--option", "settings": "--set"}.get(name, "--" + name.replace("_", "-"))
            for one in value if isinstance(value, list) else [value]:
                words += [flag] if one is True else [flag, str(one)]
        return shlex.join(words)


@dataclass(frozen=True)
class Source:
    """Where the arguments of a run were read.

    Attributes:
        file: The file.
        typed: The names of those that were typed as well, which are trusted.
    """

    file: Path
    typed: Collection[str]

    def check(self, specs: list[str], game: Game, name: str, argument: str) -> list[str]:
        """Return the specs of players in ``argument``, named ``name``, as they are to be resolved: see ``check_stored``."""
        if name in self.typed:
            return specs
        text = argument if argument.isprintable() and len(argument) <= 200 else "SPEC"
        flag = f"--{name.replace('_', '-')} {shlex.quote(text)}"
        return [check_stored(spec, game, file=self.file, flag=flag) for spec in specs]


def read_run(path: Path) -> Run:
    """Read the arguments of a run.

    Raises:
        ValueError: The file holds something else.
    """
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise ValueError("it is too large")
        values = json.loads(path.read_bytes())
        if not isinstance(values, dict) or "game" not in values:
            raise ValueError("it is not an object with a game")
        known = {entry.name: str(entry.type) for entry in fields(Run)}
        for name, value in values.items():
            if name not in known:
                raise ValueError(f"there is no argument {shorten(name)}")
            if not _is_of_type(value, known[name]):
                raise ValueError(f"{name} = {shorten(value)} is not of type {known[name]}")
        return Run(**values)
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        reason = str(error) if type(error) is ValueError else "it is not readable JSON"
        raise ValueError(f"{path}: these are not the arguments of a training run ({reason})") from None


def _is_of_type(value: Any, annotation: str) -> bool:
    name, _, optional = annotation.partition(" | ")
    if value is None:
        return bool(optional)
    if isinstance(value, bool) and name != "bool":
        return False
    if isinstance(value, list) and not all(isinstance(word, str) for word in value):
        return False
    return isinstance(value, _KINDS[name])


def is_vacant(path: Path) -> bool:
    """Whether a run can begin in a directory: there is none yet, or nothing in it but what a kill while writing left."""
    if not path.exists():
        return True
    return path.is_dir() and all(entry.is_file() and _LEFTOVER.fullmatch(entry.name) for entry in path.iterdir())
