"""The arena against truths that are known without it: equals share evenly, every match is a table's match."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import card_envs
from card_envs import IllegalAction, Table
from card_envs.arena import LISTS, Matches, duel, estimate, list_seed, play_matches
from card_envs.players import Decisions, resolve
from tests.arena_players import First, Uniform
from tests.helpers import GAMES


class Outlaw:
    """Always answers with action 0, legal or not."""

    def act(self, decisions: Decisions) -> NDArray[np.int64]:
        return np.zeros(len(decisions), np.int64)

    def __repr__(self) -> str:
        return "<the outlaw>"


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("players", [2, 3])
def test_identical_players_share_exactly(name: str, players: int, seed: int) -> None:
    result = duel(name, "random", "random", players=players, matches=60, seed=seed)
    assert result.share.mean == pytest.approx(1 / players, abs=1e-12), seed
    assert result.share.high - result.share.low < 1e-12, "the block is a deal with all its rotations"
    assert result.margin.mean == pytest.approx(0.0, abs=1e-9), seed


@pytest.mark.parametrize("name", GAMES)
def test_equals_that_draw_differently_share_within_the_interval(name: str, seed: int) -> None:
    result = duel(name, Uniform(), "random", players=2, matches=1000, seed=seed)
    sd = (result.share.high - result.share.low) / (2 * 1.96)
    assert abs(result.share.mean - 0.5) < 4 * sd, f"seed {seed}: {result}"
    assert 0.01 < sd <= 0.5 / 500**0.5, "of 500 blocks, whose shares deviate by .5 at most"


@pytest.mark.parametrize("name", GAMES)
def test_every_match_is_that_of_a_table(name: str, seed: int) -> None:
    """Player p sits at seat (p + rotation) mod n of the table (seed, deal, 0), and gets what it pays that seat."""
    game = card_envs.load_game(name)
    lineup = [First(), "random", game.default_opponent]
    played = play_matches(name, lineup, 4, seed=seed)
    assert played.rewards.shape == played.scores.shape == (4, 3, 3)
    seated = [resolve(player, game, {"players": 3}) for player in lineup]
    for deal in range(4):
        for rotation in range(3):
            table = Table(game, seed=(seed, deal, 0), players=3)
            while table.to_move is not None:
                player = seated[(table.to_move - rotation) % 3]
                action = player.act(Decisions.at(table))
                table.play(int(action[0]))
            for p in range(3):
                where = f"seed {seed}, deal {deal}, rotation {rotation}, player {p}"
                assert played.rewards[deal, rotation, p] == table.rewards[(p + rotation) % 3], where
                assert played.scores[deal, rotation, p] == table.scores[(p + rotation) % 3], where


@pytest.mark.parametrize("at_once", [1, 7, 59, 60, 1000])
def test_how_many_are_played_at_once_changes_nothing(at_once: int, seed: int) -> None:
    lineup = ["random", First(), "random"]
    one, other = (play_matches("flip7", lineup, 20, seed=seed, at_once=n) for n in (4096, at_once))
    for name in ("rewards", "scores", "truncated"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=f"seed {seed}")


def test_the_order_of_the_lineup_changes_nothing(seed: int) -> None:
    ab = play_matches("flip7", ["random", "count3"], 50, seed=seed)
    ba = play_matches("flip7", ["count3", "random"], 50, seed=seed)
    np.testing.assert_array_equal(ab.rewards, ba.rewards[:, ::-1, ::-1], err_msg=f"seed {seed}")


def test_another_seed_deals_other_matches(seed: int) -> None:
    one, other = (play_matches("flip7", ["random", "random"], 20, seed=s) for s in (seed, seed + 1))
    assert (one.scores != other.scores).any()


def test_shares_of_the_win_split_ties() -> None:
    """Three players: one wins; two tie for the win, who get (3-2)/(2*2) each; all tie."""
    rewards = np.array([[[1.0, -0.5, -0.5], [0.25, -0.5, 0.25], [0.0, 0.0, 0.0]]])
    played = Matches(rewards, np.array([[[200, 150, 100]] * 3]), np.zeros((1, 3), bool))
    np.testing.assert_allclose(played.shares, [[[1, 0, 0], [0.5, 0, 0.5], [1 / 3] * 3]], atol=1e-15)
    np.testing.assert_allclose(played.margins[0, 0], [75.0, 0.0, -75.0])


def test_the_interval_is_the_normal_one_over_blocks() -> None:
    """Of 0, 0, 1, 1: mean 1/2, s² = 1/3, half the interval 1.96 s/2."""
    found = estimate(np.array([0.0, 0.0, 1.0, 1.0]))
    half = 1.96 * (1 / 3) ** 0.5 / 2
    assert (found.mean, found.low, found.high, found.blocks) == pytest.approx((0.5, 0.5 - half, 0.5 + half, 4))
    assert str(found) == "0.500 [-0.066, 1.066]"


def test_intervals_take_the_deal_as_the_unit() -> None:
    """The interval of a duel is that of the means of its blocks, not of its matches."""
    result = duel("flip7", "count3", "random", players=2, matches=400)
    blocks = play_matches("flip7", ["count3", "random"], 200, seed=list_seed("report")).shares[:, :, 0].mean(axis=1)
    assert result.share == estimate(blocks)
    assert result.share.blocks == 200


def test_matches_are_rounded_up_to_whole_blocks() -> None:
    assert duel("flip7", "random", "random", players=3, matches=7).matches == 9


def test_deal_lists_share_no_deal() -> None:
    """A list's seeds are a range of their own, the largest seed included."""
    ranges = [(list_seed(name, 0), list_seed(name, 2**40 - 1)) for name in LISTS]
    assert all(low + 2**40 - 1 == high for low, high in ranges)
    assert all(high < low for (_, high), (low, _) in pairwise(ranges))
    assert ranges[0][0] == 0, "training's environments are seeded with small numbers"
    played = {name: duel("flip7", "random", "count3", players=2, matches=100, deal_list=name).margin for name in LISTS}
    assert len(set(played.values())) == len(LISTS)


def test_an_illegal_answer_is_named() -> None:
    with pytest.raises(IllegalAction, match="<the outlaw>: illegal action in row"):
        play_matches("flip7", [Outlaw(), "random"], 20)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: duel("flip", "random", "random"), "unknown game 'flip' – did you mean 'flip7'"),
        (lambda: duel("flip7", "randm", "random"), "did you mean 'random'"),
        (lambda: duel("flip7", "random", "random", players=13), "option players = 13: allowed is 2 … 12"),
        (lambda: duel("flip7", "random", "random", deal_list="tun"), "unknown deal list 'tun' – did you mean 'tune'"),
        (lambda: duel("flip7", "random", "random", seed=2**40), "allowed is an integer from 0 to 2\\*\\*40 - 1"),
        (lambda: duel("flip7", "random", "random", players=4, matches=4), "matches = 4: allowed is a whole number from 5"),
        (lambda: play_matches("flip7", ["random"] * 3, 5, players=2), "the line-up has 3 players, but players = 2"),
        (lambda: play_matches("flip7", ["random"] * 2, 0), "blocks = 0: allowed is a whole number from 1"),
        (lambda: play_matches("flip7", ["random"] * 2, 1, seed=-1), "seed = -1"),
    ],
)
def test_bad_input_is_named(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
