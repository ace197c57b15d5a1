"""Rollouts: each is the match played on, from the streams that were asked for."""

from __future__ import annotations

import numpy as np
import pytest

import card_envs
from card_envs import IllegalAction
from card_envs.players import resolve
from card_envs.players.player import BuiltIn
from tests.helpers import GAMES, short


@pytest.mark.parametrize("until", ["match", "deal"])
@pytest.mark.parametrize("interpreted", [False, True])
@pytest.mark.parametrize("game", GAMES)
def test_a_rollout_is_the_match_played_on(game: str, interpreted: bool, until: str, seed: int) -> None:
    """Its values are those of a match played on step by step with the same choices, rewards added up to the end."""
    its = card_envs.load_game(game)
    policy = resolve(its.default_opponent, its)
    assert isinstance(policy, BuiltIn)
    reward = "win" if until == "match" else "margin"
    options = short(game, {"players": 3})
    start = card_envs.batch(game, 6, seed=seed, reward=reward, interpreted=interpreted, **options)
    for _ in range(9):
        start.step(start.sample())
    actions = start.sample()
    rolled = start.clone()
    values = rolled.rollout(actions, policy.policy.name, policy.parameters, until=until)
    for row in range(6):
        one = start.gather([row])
        finished, paid = int(one.matches.states["finished"][0]), np.zeros(3)
        action = actions[row : row + 1]
        while True:
            one.step(action)
            paid += one.rewards[0]
            ended = bool(one.terminated[0] or one.truncated[0])
            if ended or (until == "deal" and one.matches.states["finished"][0] != finished):
                break
            action = np.empty(1, np.int64)
            one.choose(policy.policy.name, policy.parameters, action)
        np.testing.assert_allclose(values[row], paid, atol=1e-12, err_msg=f"seed {seed}, row {row}")
        if ended:
            assert rolled.to_move[row] == -1
    assert np.abs(values).max() > 0.0


@pytest.mark.parametrize("game", GAMES)
def test_rollouts_draw_from_the_seeds_given(game: str, seed: int) -> None:
    start = card_envs.batch(game, 40, seed=seed, players=3).gather(np.zeros(40, np.int64))
    actions, seeds = np.full(40, start.sample()[0]), np.arange(40) // 2
    one, other = (start.clone().rollout(actions, until="deal", seeds=seeds) for _ in range(2))
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(one[0::2], one[1::2])
    assert len(np.unique(one, axis=0)) > 1, "different seeds play differently"
    unseeded = start.clone().rollout(actions, until="deal")
    assert len(np.unique(unseeded, axis=0)) == 1, "the copies' own streams are the same"


def test_bad_rollouts_change_nothing(seed: int) -> None:
    batch = card_envs.batch("flip7", 3, seed=seed)
    before, actions = batch.matches.states.tobytes(), batch.sample()
    with pytest.raises(IllegalAction, match="illegal action in row 1"):
        batch.rollout([actions[0], batch.num_actions, actions[2]])
    with pytest.raises(ValueError, match="unknown until 'round'"):
        batch.rollout(actions, until="round")
    with pytest.raises(ValueError, match="unknown policy of flip7 'evv' – did you mean 'ev'"):
        batch.rollout(actions, "evv")
    with pytest.raises(ValueError, match="expected integers"):
        batch.rollout(actions, seeds=[0.5, 1, 2])
    for call in (
        lambda: batch.rollout(actions, "ev", np.zeros(2)),
        lambda: batch.playout(2, "ev", np.zeros(4)),
        lambda: batch.choose("ev", np.zeros(0), np.zeros(3, np.int64)),
    ):
        with pytest.raises(ValueError, match=r"ev takes 3 parameters \(card, chase, rush\)"):
            call()
    assert batch.matches.states.tobytes() == before
