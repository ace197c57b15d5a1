"""What the tests of the command line share: running a command, and what it answers."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import card_envs
from card_envs.cli import app
from tests.helpers import GAMES, play_on, quick

every_game = pytest.mark.parametrize("name", GAMES)


def run(*arguments: str, answers: str | None = None) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=answers, prog_name="card-envs")


def run_well(*arguments: str, answers: str | None = None) -> str:
    result = run(*arguments, answers=answers)
    assert result.exit_code == 0, f"card-envs {arguments}: {result.output}"
    output: str = result.stdout
    return output


def errors(result: Any) -> str:
    """What went to stderr, except notes that a cold cache is being filled."""
    return "".join(line for line in result.stderr.splitlines(True) if not line.startswith("card_envs: compiling "))


def write_record(name: str, seed: int, folder: Path) -> Path:
    """Write a random match, played to its end, into a file."""
    table = card_envs.table(name, seed=seed, **quick(name, {"players": 3}))
    for _ in play_on(table, random.Random(seed), eager=0.5):
        pass
    file = folder / "record.json"
    file.write_text(json.dumps(table.record()), encoding="utf-8")
    return file


def quick_words(name: str) -> list[str]:
    """The options of a very short match, as they are given on the command line."""
    return [word for option, value in quick(name, {}).items() for word in ("--option", f"{option}={value}")]


def assert_one_line(result: Any) -> None:
    assert result.exit_code == 2, result.output
    assert re.fullmatch(r"card-envs: [^\n]+\n", errors(result)), result.stderr
    assert isinstance(result.exception, SystemExit)  # no other exception came through
    assert not result.stdout
