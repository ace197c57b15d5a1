"""``python -m tests.pictures``: draw the pictures of the README, one of each game, anew."""

from __future__ import annotations

from pathlib import Path

import card_envs
from card_envs import Table
from card_envs.render import to_svg
from tests import games
from tests.helpers import GAMES, choice

FOLDER = Path(__file__).parents[1] / ".github"


def table_in_picture(game: str) -> Table:
    """A match in which the default opponent has sat in every seat for some decisions."""
    options, seed, decisions = games.load(game).PICTURE
    table = card_envs.table(game, seed=seed, **options)
    for _ in range(decisions):
        table.play(choice(table))
    return table


def main() -> None:
    for game in GAMES:
        (FOLDER / f"{game}.svg").write_text(to_svg(table_in_picture(game).picture()) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
