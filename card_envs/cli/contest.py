"""The sealed deals of ``card-envs bench``: drawing a seed before a contest, and checking the report after it."""

from __future__ import annotations

from pathlib import Path

from card_envs.arena.sealed import open_seed, seal_seed, verify_report
from card_envs.arena.shard import SAMPLE
from card_envs.console import read_json


def commit_seed(file: Path) -> None:
    """Draw a sealed seed into a file and print its SHA-256."""
    sealed = seal_seed(file)
    print(f"SHA-256 {sealed.sha256}")
    print(f"Publish this line before any player is named, and keep {file} secret until the contest is over.")


def verify_contest(report: Path, sealed: Path | None) -> None:
    """Check a report with the sealed seed that it was made from, and print what was checked.

    Raises:
        ValueError: Something does not agree, or a file cannot be read.
    """
    if sealed is None:
        raise ValueError("--verify: name the file of the sealed seed with --sealed")
    seed = open_seed(sealed)
    checked = verify_report(read_json(report, "report"), seed)
    numbers = ", ".join(map(str, SAMPLE))
    print(f"{report} agrees with the seed of SHA-256 {seed.sha256}:")
    print(f"the decks of {checked.boards:,} boards are those of the seed,")
    print(f"the recorded actions lead to the recorded results on {checked.replayed:,} boards ({numbers} of every line-up),")
    print("and the league and cross-tables follow from the boards of the report.")
