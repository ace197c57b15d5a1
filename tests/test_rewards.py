"""Rewards and episodes, and invariants of random play."""

from __future__ import annotations

import json
import random
import types
from typing import Any

import numpy as np
import pytest

import card_envs
from card_envs import Table
from card_envs.engine import loops
from tests import games
from tests.batches import every_set
from tests.helpers import GAMES, all_options, label, play_on, short

ALL_SETS = [(game, options) for game in GAMES for options in all_options(game)]

# ---- rewards


def pay(kind: str, table: Table, seat: int) -> float:
    """What a seat earns in a whole match, computed from its total and the scores of its deals."""
    players, totals = table.players, table.scores
    scale = card_envs.load_game(table.game.name).score_scale(table.options)
    if kind == "win":
        best = (max if scale > 0 else min)(totals)
        winners = totals.count(best)
        if winners == players:
            return 0.0
        return (players - winners) / (winners * (players - 1)) if totals[seat] == best else -1 / (players - 1)
    own = sum(deal[seat] for deal in table.deals)
    if kind == "score":
        return own * scale
    others = [sum(deal[other] for deal in table.deals) for other in range(players) if other != seat]
    return (own - sum(others) / len(others)) * scale


@pytest.mark.parametrize("reward", ["win", "score", "margin"])
@every_set
def test_rewards_sum_to_what_the_scores_say(game: str, options: dict[str, Any], reward: str, seed: int) -> None:
    options = short(game, options)
    batch = card_envs.batch(game, 6, seed=seed, reward=reward, **options)
    tables = [card_envs.table(game, seed=(seed, row, 0), **options) for row in range(6)]
    earned = np.zeros_like(batch.rewards)
    while not all(table.is_over for table in tables):
        actions = batch.sample()
        batch.step(actions)
        for row, table in enumerate(tables):
            if not table.is_over:
                deals = len(table.deals)
                table.play(int(actions[row]))
                earned[row] += batch.rewards[row]
                if reward != "win":
                    assert batch.rewards[row].any() <= (len(table.deals) > deals), "paid before a deal was finished"
                if reward != "score":
                    assert abs(batch.rewards[row].sum()) < 1e-9
    for row, table in enumerate(tables):
        expected = [pay(reward, table, seat) for seat in range(table.players)]
        np.testing.assert_allclose(earned[row], expected, atol=1e-12, err_msg=f"{table.identity} {options} {reward}")


@pytest.mark.parametrize(
    ("totals", "scale", "expected"),
    [
        ([5, 3, 1, 1], 1.0, [1, -1 / 3, -1 / 3, -1 / 3]),
        ([5, 5, 1, 1], 1.0, [1 / 3, 1 / 3, -1 / 3, -1 / 3]),
        ([5, 5, 5, 1], 1.0, [1 / 9, 1 / 9, 1 / 9, -1 / 3]),
        ([5, 5, 5, 5], 1.0, [0, 0, 0, 0]),
        ([-5, -7, -5, -9], 1.0, [1 / 3, -1 / 3, 1 / 3, -1 / 3]),
        ([5, 3, 1, 1], -1.0, [-1 / 3, -1 / 3, 1 / 3, 1 / 3]),
        ([7, 2], 1.0, [1, -1]),
    ],
)
def test_winners_share(totals: list[int], scale: float, expected: list[float]) -> None:
    """Each of k winners of n players gets (n-k)/(k(n-1)), the others -1/(n-1); if scores are penalties, the lowest wins."""
    row = types.SimpleNamespace(players=len(totals), totals=totals)
    rewards = np.zeros(len(totals))
    loops.pay_win(row, scale, rewards)
    np.testing.assert_allclose(rewards, expected, atol=1e-15)


@every_set
def test_an_episode_of_one_deal(game: str, options: dict[str, Any], seed: int) -> None:
    """With episode="deal" only the first deal of a match is played; it is ranked by its scores, and a new deck follows."""
    batch = card_envs.batch(game, 8, seed=seed, episode="deal", **options)
    tables = [card_envs.table(game, seed=(seed, row, 0), **options) for row in range(8)]
    waiting = set(range(8))
    while waiting:
        actions = batch.sample()
        before = batch.identity()
        batch.step(actions)
        for row in sorted(waiting):
            table = tables[row]
            table.play(int(actions[row]))
            assert batch.terminated[row] == bool(table.deals)
            if table.deals:
                waiting.remove(row)
                scores = table.deals[0]
                won = (max if table.game.score_scale(table.options) > 0 else min)(scores)
                for seat, score in enumerate(scores):
                    same_for_all = len(set(scores)) == 1
                    assert (batch.rewards[row, seat] > 0) == (score == won and not same_for_all)
                assert (*batch.identity()[row], batch.decisions()[row]) == (seed, row, before[row, loops.MATCH] + 1, 0)
                assert int(batch.matches.states["deal"][row]) == 1
                assert not batch.matches.states["totals"][row].any()


# ---- invariants


def sum_deals(table: Table) -> list[int]:
    return [sum(deal[seat] for deal in table.deals) for seat in range(table.players)]


@pytest.mark.parametrize(("game", "options"), ALL_SETS, ids=label)
def test_invariants_of_random_play(game: str, options: dict[str, Any], seed: int) -> None:
    """Cards are conserved, the mover can move, matches end and totals are the sums of the deals."""
    options = short(game, options)
    rules = card_envs.load_game(game)
    pack, all_cards = dict(zip(rules.cards, rules.copies)), games.load(game).all_cards
    rng = random.Random(f"{seed} {options}")
    for match, eager in enumerate((0.0, 0.7)):
        table = card_envs.table(game, seed=(seed, 0, match), **options)
        story = f"{table.identity} {options}"
        for decision, _ in enumerate(play_on(table, rng, eager)):
            assert table.to_move in range(table.players), story
            assert table.action_mask().any(), story
            assert decision < 20_000, f"no end: {story}"
            if decision % 3 == 0:
                state = table.state()
                assert dict(all_cards(state)) == pack, story
                assert state["totals"] == sum_deals(table), story
                assert state["deal"] == len(table.deals) + 1, story
                assert state["winners"] == [], story
                assert json.loads(json.dumps(state)) == state
        state = table.state()
        assert dict(all_cards(state)) == pack, story
        assert state["deal"] == len(table.deals), story
        assert state["totals"] == sum_deals(table), story
        best = (max if rules.score_scale(table.options) > 0 else min)(state["totals"])
        assert state["winners"] == [seat for seat, total in enumerate(state["totals"]) if total == best], story
