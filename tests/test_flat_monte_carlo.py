"""Flat Monte Carlo, the searching player of ``agents/``."""

from __future__ import annotations

import numpy as np
import pytest

import card_envs
from agents.flat_monte_carlo import FlatMonteCarlo
from card_envs.arena import play_duel
from card_envs.players import Decisions, resolve
from tests.helpers import GAMES


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
