"""The transcripts of tests/playthroughs/ are exactly what the package plays today."""

from __future__ import annotations

import pytest

import card_envs
from tests.playthroughs import FOLDER, PLAYTHROUGHS, Playthrough, transcript


@pytest.mark.parametrize("playthrough", PLAYTHROUGHS, ids=lambda p: p.file)
def test_playthrough(playthrough: Playthrough) -> None:
    kept = (FOLDER / playthrough.file).read_text("utf-8").splitlines()
    played = transcript(playthrough).splitlines()
    for number, (old, new) in enumerate(zip(kept, played), 1):
        assert new == old, (
            f"{playthrough.file}, line {number}: behaviour has changed. If that was intended, the game needs a new version and"
            " python -m tests.playthroughs"
        )
    assert len(played) == len(kept)


def test_every_game_and_no_stale_file() -> None:
    assert {path.name for path in FOLDER.glob("*.txt")} == {playthrough.file for playthrough in PLAYTHROUGHS}
    assert {playthrough.game for playthrough in PLAYTHROUGHS} == set(card_envs.available_games())
