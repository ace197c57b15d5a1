"""What the documents show works: README, notebooks, the environments' pages, Makefile."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path

import gymnasium
import nbclient
import nbformat
import pettingzoo
import pytest
from typer.testing import CliRunner

import card_envs
from card_envs.cli import app
from card_envs.envs.aec import build_aec_id
from card_envs.envs.gym import build_gym_id
from card_envs.players import resolve
from tests.helpers import GAMES

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def table_of(heading: str) -> list[list[str]]:
    """The cells of the first Markdown table whose header begins so, without the header."""
    lines = README[README.index(f"\n| {heading}") + 1 :].split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def commands() -> Iterator[list[str]]:
    """Every command line of the README, without its comment."""
    for block in blocks("sh"):
        for line in block.splitlines():
            yield shlex.split(line, comments=True)


# ---- README


def test_readme_shows_the_first_screen_in_order() -> None:
    marks = ["# card-envs", ".github/flip7.svg", "```python", "| Game |", "not affiliated", "## Install"]
    places = [README.index(mark) for mark in marks]
    assert places == sorted(places)
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target


@pytest.mark.parametrize("number", range(len(blocks("python"))))
def test_readme_code_runs_by_itself(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(blocks("python")[number], f"README.md, block {number + 1}", "exec"), {"__name__": "readme"})


def test_readme_lists_the_games() -> None:
    rows = table_of("Game |")
    here = [row for row in rows if row[3] == "here"]
    assert [row[0].split("`")[1] for row in here] == GAMES
    for row in here:
        game = card_envs.load_game(row[0].split("`")[1])
        assert row[0] == f"`{game.name}`: {game.title}"
        assert row[1] == f"{game.players[0]}–{game.players[-1]}"


def test_readme_names_every_built_in_player_and_no_other() -> None:
    game = card_envs.load_game("flip7")
    listed = [row[0].strip("`") for row in table_of("Player |")]
    policies = {resolve(name, game).policy.name for name in listed}  # type: ignore[union-attr]
    assert policies == {policy.name for policy in game.policies}
    [default] = [row[0].strip("`") for row in table_of("Player |") if "default opponent" in row[1]]
    assert default == game.default_opponent
    for players in (2, 4):
        ranked = table_of(f"one ↓ among {players - 1} →")
        assert [row[0].strip("`") for row in ranked] == listed
        assert [row.index("–") for row in ranked] == list(range(1, len(listed) + 1))


def test_readme_commands_exist() -> None:
    made = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(re.findall(r"`make ([\w-]+)`", README)) <= set(made)
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert set(re.findall(r"\.\[(\w+)\]", README)) <= set(extras)
    told = [ROOT / "README.md", *NOTEBOOKS, *(ROOT / "card_envs").rglob("*.py"), *(ROOT / "train").glob("*.py")]
    named = {extra for file in told for extra in re.findall(r"card-envs\[(\w+)\]", file.read_text(encoding="utf-8"))}
    assert {"plot", "ray", "render"} <= named <= set(extras)
    seen, modules = set(), set()
    for command in commands():
        if command[:2] == ["python", "-m"]:
            modules.add(command[2])
        elif command[0] == "card-envs":
            seen.add(command[1])
            words = command[1:3] if command[1] == "risk" else command[1:2]  # a group of commands
            result = CliRunner().invoke(app, [*words, "--help"])
            assert result.exit_code == 0, command
            for flag in (word for word in command if word.startswith("--")):
                assert flag in result.output, command
    modules |= set(re.findall(r"`python -m ([\w.]+)", README))
    assert {"games", "rules", "play", "replay", "bench", "risk"} <= seen
    assert {"train.ppo"} <= modules
    for module in modules:
        assert importlib.util.find_spec(module), module


# ---- the environments' pages


@pytest.mark.parametrize("name", GAMES)
def test_every_page_names_what_there_is(name: str) -> None:
    game = card_envs.load_game(name)
    module = importlib.import_module(f"card_envs.{game.id}")
    pages = [module.env.__doc__, module.raw_env.__doc__, type(gymnasium.make(build_gym_id(game)).unwrapped).__doc__]
    for page in pages:
        for heading in ("Observation Space", "Action Space", "Legal Actions Mask", "Rewards", "Episode End", "Arguments"):
            assert f"\n# {heading}\n" in page
        for field in game.observation_specs:
            assert f"`{field.name}`" in page
        for option in game.options:
            assert f"| `{option.name}` | `{option.default!r}` |" in page
    assert pettingzoo.make("aec", build_aec_id(game)).unwrapped.game is game
    assert build_aec_id(game) in pages[0]
    assert build_gym_id(game) in pages[2]


# ---- notebooks


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    stored = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert any("image/svg+xml" in output.get("data", {}) for cell in stored for output in cell.outputs), (
        "stored without pictures"
    )
    # the kernel finds the package where this process does
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    client = nbclient.NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}}
    )
    client.execute(env=environment)


def test_notebooks_are_there() -> None:
    assert NOTEBOOKS


# ---- one version


def test_version_is_the_same_everywhere() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert card_envs.__version__ == version
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^## ([\d.]+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE).group(1) == version  # type: ignore[union-attr]
