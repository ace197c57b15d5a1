"""What is published: the source distribution, the page on a package index, the metadata."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
HATCH = PROJECT["tool"]["hatch"]


def test_the_source_distribution_holds_what_the_suite_needs() -> None:
    """Issue 11, clients: the suite of an unpacked source distribution could not be collected."""
    included = {pattern.removeprefix("/") for pattern in HATCH["build"]["targets"]["sdist"]["include"]}
    assert all((ROOT / name).exists() for name in included)
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("no checkout")
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    tracked = {file.split("/")[0] for file in files if file}
    always = {"pyproject.toml", ".gitignore"}  # hatchling adds these by itself
    assert tracked - included - always == {".ci"}


def test_the_page_on_an_index_has_no_pictures_and_no_links_to_files() -> None:
    """Issue 11, clients: the README's pictures and links broke where it stands alone."""
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    for change in HATCH["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]:
        assert re.search(change["pattern"], page)
        page = re.sub(change["pattern"], change["replacement"], page)
    assert "<" not in re.sub(r"```.*?```", "", page, flags=re.DOTALL)
    assert not [target for target in re.findall(r"\]\(([^)]*)\)", page) if not target.startswith("https://")]
    assert page.startswith("# card-envs\n\nThree card games")
    for words in ("## Install", "| `rummy`: Rummy |", "a first tour", "MIT licence"):
        assert words in page


def test_the_metadata_names_the_authors_and_only_addresses_that_exist() -> None:
    assert PROJECT["project"]["authors"] == [{"name": "the card-envs authors"}]
    assert "urls" not in PROJECT["project"]
    assert PROJECT["project"]["dynamic"] == ["readme"]
