"""The shipped checkpoints: they load, say where they come from, play legally, and play well."""

from __future__ import annotations

from pathlib import Path

import pytest

import card_envs
from card_envs.arena import duel
from card_envs.games import game_of
from card_envs.players import load_player

AGENTS = sorted((Path(__file__).parents[1] / "agents").glob("*.safetensors"))


def test_there_is_one_for_flip7() -> None:
    assert "flip7.safetensors" in [path.name for path in AGENTS]


@pytest.mark.parametrize("path", AGENTS, ids=lambda path: path.stem)
def test_a_shipped_agent_plays_its_game_and_beats_random_clearly(path: Path) -> None:
    """Matches are refused at the first action that is not legal."""
    about = load_player(path).metadata
    game = game_of(about["game"])
    assert about["version"] == game.version, "it was trained for another version of the game"
    options = about["options"]
    assert options == game.resolve(options), "every option is named"
    found = duel(game, str(path), "random", matches=1000, deal_list="tune", seed=1, **options)
    assert found.truncated < 0.05 * found.matches
    assert found.share.low > 1.5 * found.fair, found


@pytest.mark.parametrize("path", AGENTS, ids=lambda path: path.stem)
def test_a_shipped_agent_says_how_it_was_made_and_how_good_it_is(path: Path) -> None:
    about = load_player(path).metadata
    assert about["command"].startswith(f"python -m train.ppo {about['game']} ")
    evaluation = about["evaluation"]
    assert evaluation["deal_list"] == "report", "measured on deals that nothing was chosen by"
    assert evaluation["matches"] >= 10_000
    game = card_envs.game(about["game"])
    assert {"random", game.default_opponent, *game.aliases} <= set(evaluation["share"])
    assert all(low <= mean <= high for mean, low, high in evaluation["share"].values())
