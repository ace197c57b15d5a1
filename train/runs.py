"""The arguments of a run, and its directory: what is read there may come from a stranger."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import typer

from card_envs.engine.files import write_file
from card_envs.engine.game import Game
from card_envs.engine.messages import join_lines, shorten
from card_envs.players.spec import check_stored

REPORT_MATCHES = 10_000
ARGUMENTS, STATE, AGENT = "run.json", "state.pt", "agent.safetensors"  # files in the directory of a run
COUNTS = {"evaluate_every": 1, "evaluate_matches": 100, "report_matches": 100, "threads": 1, "seed": 0}  # the least of each
LARGEST_FILE = 2**20  # bytes of run.json
_LEFTOVER = re.compile(r"\.(run\.json|state\.pt|(agent|best|last)\.safetensors)\.\w+")  # of writing a file atomically
AnyRun = TypeVar("AnyRun", bound="Arguments")
_KINDS = {"str": str, "int": int, "bool": bool, "list[str]": list}


class BadState(ValueError):  # noqa: N818 (the state is bad, not the program)
    """A saved state is not one of the run that is to go on from it."""


@dataclass(frozen=True)
class Arguments:
    """The arguments of a run as the command line gives them. Two runs with the same arguments are the same run."""

    module: ClassVar[str]  # of the program
    may_change: ClassVar[tuple[str, ...]] = ("report_matches",)  # when a run is resumed: its result stays the same

    game: str

    @property
    def command(self) -> str:
        """The command that repeats this run."""
        words = ["python", "-m", self.module, self.game]
        plain = type(self)(self.game)
        for name, value in asdict(self).items():
            if value == getattr(plain, name):
                continue
            flag = {"options": "--option", "settings": "--set"}.get(name, "--" + name.replace("_", "-"))
            for one in value if isinstance(value, list) else [value]:
                words += [flag] if one is True else [flag, str(one)]
        return shlex.join(words)


@dataclass(frozen=True)
class Run(Arguments):
    """The arguments of ``train.ppo``."""

    module = "train.ppo"

    players: int | None = None
    opponents: str | None = None
    self_play: bool = False
    warm_start: str | None = None
    imitate: bool = False
    steps: int = 1_000_000
    options: list[str] = field(default_factory=list)
    settings: list[str] = field(default_factory=list)
    seed: int = 0
    evaluate_every: int = 200_000
    evaluate_matches: int = 2_000
    report_matches: int = REPORT_MATCHES
    threads: int = 1


def check_counts(run: Arguments, **more: int) -> None:
    """Raise ``ValueError`` if one of :data:`COUNTS`, or of ``more`` like them, is too small or too large in a run."""
    for name, least in (more | COUNTS).items():
        value = getattr(run, name)
        if not least <= value < 2**32:
            raise ValueError(f"--{name.replace('_', '-')} {value}: allowed is a whole number from {least} to 2**32 - 1")


def list_typed(context: typer.Context) -> list[str]:
    """Return the names of the arguments that were typed on the command line."""
    return [name for name in context.params if getattr(context.get_parameter_source(name), "name", "") == "COMMANDLINE"]


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


def read_run(path: Path, kind: type[AnyRun]) -> AnyRun:
    """Read the arguments of a run of this kind.

    Raises:
        ValueError: The file holds something else.
    """
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise ValueError("it is too large")
        values = json.loads(path.read_bytes())
        if not isinstance(values, dict) or "game" not in values:
            raise ValueError("it is not an object with a game")
        known = {entry.name: str(entry.type) for entry in fields(kind)}
        for name, value in values.items():
            if name not in known:
                raise ValueError(f"there is no argument {shorten(name)}")
            if not _is_of_type(value, known[name]):
                raise ValueError(f"{name} = {shorten(value)} is not of type {known[name]}")
        return kind(**values)
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


def require(libraries: Sequence[str], extra: str = "train") -> None:
    """Raise ``ValueError`` if one of these libraries, which the extra of that name installs, is missing."""
    missing = [name for name in libraries if importlib.util.find_spec(name) is None]
    if missing:
        raise ValueError(f"training needs {', '.join(missing)}: pip install -e '.[{extra}]'")


def find_run(run: AnyRun, out: Path, given: Collection[str]) -> AnyRun:
    """Return the arguments of the run in ``out``, which is to be resumed.

    Args:
        run: The arguments from the command line.
        out: The directory of the run.
        given: The names of the arguments that were typed.

    Raises:
        ValueError: There is no run, or one of the arguments that were typed differs.
    """
    path = out / ARGUMENTS
    if not path.is_file():
        raise ValueError(f"--resume: there is no run in {out} (no {ARGUMENTS})")
    stored = read_run(path, type(run))
    free = {name: getattr(run, name) for name in given if name in run.may_change}
    stored = replace(stored, **free)
    names = {"option": "options", "set_": "settings"}
    for name in given:
        mine, its = (getattr(r, names.get(name, name), None) for r in (run, stored))
        if mine != its:
            raise ValueError(f"--resume: the run in {out} has {names.get(name, name)} = {its!r}, not {mine!r}")
    return stored


def write_run(run: Arguments, out: Path, *, resume: bool) -> None:
    """Make the directory of a run and write its arguments into it.

    Raises:
        ValueError: The run is new and something is there, or nothing can be written.
    """
    if not resume and not is_vacant(out):
        raise ValueError(f"--out {out} exists: choose another directory, or go on with the run in it by --resume")
    try:
        out.mkdir(parents=True, exist_ok=True)
        write_file(out / ARGUMENTS, json.dumps(asdict(run)).encode())
    except OSError as error:
        raise ValueError(f"--out {out} cannot be written ({error.strerror})") from None


def read_state(path: Path, kind: str) -> dict[str, Any]:
    """Read the state of a run: tensors and plain values, no code.

    Args:
        path: The file.
        kind: What its ``"format"`` says.

    Raises:
        ValueError: The file is something else.
    """
    import torch

    if not path.is_file():  # opening a FIFO would wait for somebody to write
        raise ValueError(f"{path}: this is not a readable state of a training run (it is not a regular file)")
    try:
        state = torch.load(path, weights_only=True)
    except Exception as error:  # the parsers of torch raise anything in a broken file
        raise ValueError(f"{path}: this is not a readable state of a training run ({join_lines(error)})") from None
    if not isinstance(state, dict) or state.get("format") != kind:
        raise ValueError(f"{path}: this is not a state of a training run of this version ({kind})")
    return state


def is_vacant(path: Path) -> bool:
    """Whether a run can begin in a directory: there is none yet, or nothing in it but what a kill while writing left."""
    if not path.exists():
        return True
    return path.is_dir() and all(entry.is_file() and _LEFTOVER.fullmatch(entry.name) for entry in path.iterdir())
