"""The agents of ``agents/``: the shipped checkpoints and the searching player."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import card_envs
from agents.flat_monte_carlo import FlatMonteCarlo
from card_envs.arena import play_duel
from card_envs.games import load_game
from card_envs.players import Decisions, load_player, resolve
from tests.helpers import GAMES

AGENTS = sorted((Path(__file__).parents[1] / "agents").glob("*.safetensors"))


def test_there_is_one_for_flip7() -> None:
    assert "flip7.safetensors" in [path.name for path in AGENTS]


@pytest.mark.parametrize("path", AGENTS, ids=lambda path: path.stem)
def test_a_shipped_agent_plays_its_game_and_beats_random_clearly(path: Path) -> None:
    """The arena refuses a match at the first action that is not legal."""
    about = load_player(path).metadata
    game = load_game(about["game"])
    assert about["version"] == game.version, "it was trained for another version of the game"
    options = about["options"]
    assert options == game.resolve(options), "every option is named"
    result = play_duel(game, str(path), "random", matches=1000, board_list="tune", seed=1, **options)
    assert result.truncated < 0.05 * result.matches
    assert result.share.low > 1.5 * result.fair, result


@pytest.mark.parametrize("path", AGENTS, ids=lambda path: path.stem)
def test_a_shipped_agent_says_how_it_was_made_and_how_good_it_is(path: Path) -> None:
    about = load_player(path).metadata
    assert about["command"].startswith(f"python -m train.ppo {about['game']} ")
    evaluation = about["evaluation"]
    assert evaluation["board_list"] == "report", "measured on deals that nothing was chosen by"
    assert evaluation["matches"] >= 10_000
    game = card_envs.load_game(about["game"])
    assert {"random", game.default_opponent, *game.aliases} <= set(evaluation["share"])
    assert all(low <= mean <= high for mean, low, high in evaluation["share"].values())


# ---- flat Monte Carlo


@pytest.mark.parametrize("until", ["match", "deal"])
@pytest.mark.parametrize("name", GAMES)
def test_flat_monte_carlo_plays_a_whole_match(name: str, until: str, seed: int) -> None:
    """It plays legally and chooses the same from the same key, whatever the true hidden cards are."""
    player = FlatMonteCarlo(20, until=until)
    table = card_envs.table(name, seed=seed, players=3)
    rng = np.random.default_rng(seed)
    searched = 0
    while table.to_move is not None and searched < 25:
        decisions = Decisions.at(table)
        [action] = player.act(decisions)
        assert table.action_mask()[action] == 1, f"seed {seed}, {table.actions}"
        searched += len(table.legal_actions()) > 1
        hidden = table.clone()
        hidden.redeal(table.to_move, int(rng.integers(2**62)))
        hidden.matches.identity[:], hidden.matches.keys[:] = table.matches.identity, table.matches.keys  # the same decision key
        assert player.act(Decisions.at(hidden)).tolist() == [action], f"seed {seed}, {table.actions}"
        table.play(int(action))
    assert searched


@pytest.mark.parametrize("name", GAMES)
def test_with_all_caution_it_is_its_policy(name: str, seed: int) -> None:
    game = card_envs.load_game(name)
    batch = card_envs.batch(name, 16, players=2, seed=seed)
    batch.step(batch.sample())
    decisions = Decisions(batch.matches, np.arange(16))
    cautious = FlatMonteCarlo(10, caution=1e9).act(decisions)
    np.testing.assert_array_equal(cautious, resolve(game.default_opponent, game).act(decisions))


def test_it_sees_what_wins() -> None:
    """The target is 12 and the first seat has stayed with one card: the second should stay with more and draw with less."""
    erred = 0
    for first, second, best in (("11", "12", "stay"), ("12", "11", "draw")):
        for seed in range(5):
            table = card_envs.table("flip7", players=2, target=12, seed=seed, deck=[first, second])
            table.play("stay")
            [usual], [action] = (
                p.act(Decisions.at(table)) for p in (resolve("random", table.game), FlatMonteCarlo(200, "random"))
            )
            erred += table.action_string(int(usual)) != best
            assert table.action_string(int(action)) == best
    assert erred > 1, "the policy itself does not see it"


@pytest.mark.parametrize("name", GAMES)
def test_it_improves_the_policy_of_its_rollouts(name: str, seed: int) -> None:
    result = play_duel(
        name, FlatMonteCarlo(100, "random", until="deal"), "random", players=2, matches=20, board_list="tune", seed=seed
    )
    assert result.share.low > 0.5, f"seed {seed}: {result.share}"


def test_what_it_cannot_do_is_said() -> None:
    with pytest.raises(ValueError, match="rollouts = 0: allowed is a whole number from 1"):
        FlatMonteCarlo(0)
    table = card_envs.table("flip7", seed=0, deck=["5", "6", "7", "8"])
    with pytest.raises(ValueError, match="policy = 'exact': a built-in player of flip7 is expected"):
        FlatMonteCarlo(5, "exact").act(Decisions.at(table))
    with pytest.raises(ValueError, match="unknown player of flip7 'evv' – did you mean 'ev'"):
        FlatMonteCarlo(5, "evv").act(Decisions.at(table))
    with pytest.raises(ValueError, match="unknown until 'end'"):
        FlatMonteCarlo(5, until="end").act(Decisions.at(table))
