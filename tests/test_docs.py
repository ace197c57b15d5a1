"""What the documents show works: README, docs, notebooks, the environments' pages, Makefile."""

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
from card_envs.players import registered_players, resolve
from tests.helpers import GAMES

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / ".github" / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
TEXTS = {page.relative_to(ROOT).as_posix(): page.read_text(encoding="utf-8") for page in PAGES}


def blocks(page: str, language: str) -> list[str]:
    """The code blocks of a page in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXTS[page], re.MULTILINE | re.DOTALL)


def tables(page: str, heading: str) -> list[list[list[str]]]:
    """The cells of every Markdown table of a page whose header begins so, without the header."""
    matched = re.findall(rf"^\| {re.escape(heading)}.*\n\|[-|]+\n((?:\|.*\n)+)", TEXTS[page], re.MULTILINE)
    return [[[cell.strip() for cell in line.strip("|").split("|")] for line in rows.splitlines()] for rows in matched]


def commands() -> Iterator[list[str]]:
    """Every command line of every page, without its comment."""
    for page in TEXTS:
        for block in blocks(page, "sh"):
            for line in block.splitlines():
                yield shlex.split(line, comments=True)


# ---- README and docs/


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_readme_shows_the_first_screen_in_order() -> None:
    readme = TEXTS["README.md"]
    pictures = [f".github/{name}.svg" for name in GAMES]
    places = [readme.index(mark) for mark in ["# card-envs", *pictures, "```python", "| Game |", "## Install"]]
    assert places == sorted(places)
    assert len(readme.splitlines()) <= 150


@pytest.mark.parametrize("page", TEXTS)
def test_links_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", TEXTS[page]) + re.findall(r'src="([^"]+)"', TEXTS[page]):
        if not re.match(r"https?://", target):
            path, _, anchor = target.partition("#")
            file = (ROOT / page).parent / path if path else ROOT / page
            assert file.exists(), target
            assert not anchor or anchor in anchors(file.read_text(encoding="utf-8")), target


@pytest.mark.parametrize(
    ("page", "number"), [(page, number) for page in TEXTS for number in range(len(blocks(page, "python")))]
)
def test_code_runs_by_itself(page: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(blocks(page, "python")[number], f"{page}, block {number + 1}", "exec"), {"__name__": "page"})


def test_the_readme_lists_the_games() -> None:
    [rows] = tables("README.md", "Game |")
    assert [row[0].split("`")[1] for row in rows] == GAMES
    for row in rows:
        game = card_envs.load_game(row[0].split("`")[1])
        assert row[0] == f"`{game.name}`: {game.title}"
        assert row[1] == f"{game.players[0]}–{game.players[-1]}"


def test_the_page_of_players_names_every_built_in_player_and_no_other() -> None:
    for name, rows in zip(GAMES, tables("docs/players.md", "Player | How"), strict=True):
        game, more = card_envs.load_game(name), registered_players(name)
        listed = [row[0].strip("`") for row in rows]
        policies = {resolve(spec, game).policy.name for spec in listed if spec not in more}  # type: ignore[union-attr]
        assert policies == {policy.name for policy in game.policies}
        assert set(more) <= set(listed)
        assert [row[0].strip("`") for row in rows if "default opponent" in row[1]] == [game.default_opponent]


@pytest.mark.parametrize("page", TEXTS)
def test_rankings_have_the_same_players_in_rows_and_columns(page: str) -> None:
    for ranked in tables(page, "one ↓ among"):
        assert [row.index("–") for row in ranked] == list(range(1, len(ranked) + 1))


def test_make_targets_and_extras_exist() -> None:
    made = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    for page, text in TEXTS.items():
        assert set(re.findall(r"`make ([\w-]+)`", text)) <= made, page
        assert set(re.findall(r"\.\[(\w+)\]", text)) <= set(extras), page
    told = [*PAGES, *NOTEBOOKS, *(ROOT / "card_envs").rglob("*.py"), *(ROOT / "train").glob("*.py")]
    named = {extra for file in told for extra in re.findall(r"card-envs\[(\w+)\]", file.read_text(encoding="utf-8"))}
    assert {"plot", "ray", "render"} <= named <= set(extras)


def test_commands_exist() -> None:
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
    for text in TEXTS.values():
        modules |= set(re.findall(r"`python -m ([\w.]+)", text))
        seen |= set(re.findall(r"`card-envs (\w+)", text))
    assert {"games", "rules", "play", "replay", "bench", "risk", "speed"} <= seen
    assert {"train.ppo", "tests.playthroughs"} <= modules
    for name in seen:
        assert CliRunner().invoke(app, [name, "--help"]).exit_code == 0, name
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
