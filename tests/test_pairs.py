"""Pairs of policies: in a fork, the seat to move plays on by one and everybody else by the other."""

from __future__ import annotations

import numpy as np
import pytest

import card_envs
from card_envs.engine.game import Policy
from card_envs.engine.matches import Matches
from card_envs.engine.networks import SCORER
from card_envs.engine.pairs import make_pair, pair_parameters
from card_envs.engine.table import Table
from tests.batches import advance, every_game
from tests.helpers import quick
from tests.networks import make_random_network
from tests.reference import streams
from tests.test_forks import default_policy, lay_deck

DECKS = 2


def play_on_as_pair(table: Table, action: int, own: tuple[Policy, object], others: tuple[Policy, object]) -> float:
    """Play an action at a table, go on by a policy in the seat that was to move and by another in all others: the margin."""
    mover = table.to_move
    assert mover is not None
    while True:
        table.play(action)
        if table.is_over or table.deals:
            break
        policy, parameters = own if table.to_move == mover else others
        actions = np.empty(1, np.int64)
        table.batch.choose(policy, parameters, actions)  # type: ignore[arg-type]
        action = int(actions[0])
    scores = [float(score) for score in table.deals[-1]]
    return (scores[mover] - (sum(scores) - scores[mover]) / (table.players - 1)) * table.game.score_scale(table.options)


def fork(matches: Matches, candidates: np.ndarray, own: tuple[Policy, object], others: tuple[Policy, object]) -> np.ndarray:
    policy, parameters = make_pair(own[0], others[0]), pair_parameters(own[1], others[1])  # type: ignore[arg-type]
    return matches.fork_values(matches.rows, candidates, policy, parameters, DECKS, False)


@every_game
def test_the_mover_plays_on_by_one_policy_and_everybody_else_by_the_other(game: str, seed: int) -> None:
    batch = advance(card_envs.batch(game, 4, seed=seed, **quick(game, {"players": 3})), 11)
    policy, parameters = default_policy(batch.game)
    strong, weak = (batch.game.policy(policy), parameters), (batch.game.policy("random"), np.empty(0))
    candidates = batch.legal_actions()[:, :4]
    found = {}
    for which, own, others in (("strong", strong, weak), ("weak", weak, strong)):
        values = found[which] = fork(batch.matches, candidates, own, others)
        for row, c in np.argwhere(candidates >= 0):
            root, *where = batch.matches.read_identity(row)
            total = 0.0
            for deck in range(DECKS):
                table = Table.from_row(batch.matches, row)
                lay_deck(table, streams.root_key(root), (where[0], where[1], int(batch.decisions()[row])), deck)
                total += play_on_as_pair(table, int(candidates[row, c]), own, others)
            assert values[row, c] == total / DECKS, f"seed {seed}, {which}, row {row}"
    assert not np.array_equal(found["strong"], found["weak"], equal_nan=True)


def test_a_pair_of_one_policy_is_that_policy_and_threads_do_not_disturb_each_other(seed: int) -> None:
    batch = advance(card_envs.batch("pis_yedili", 64, seed=seed, players=3, threads=2), 11)
    network = make_random_network(batch.game, batch.matches.options, SCORER, seed, hidden=(8,))
    policy, parameters = network.bind(batch.game, batch.matches.options)
    candidates = batch.legal_actions()
    alone = batch.matches.fork_values(batch.matches.rows, candidates, policy, parameters, DECKS, False)
    paired = fork(batch.matches, candidates, (policy, parameters), (policy, parameters))
    np.testing.assert_array_equal(paired, alone, f"seed {seed}")


def test_only_forks_take_a_pair() -> None:
    batch = card_envs.batch("pis_yedili", 2, seed=1, players=2)
    pair = make_pair(batch.game.policy("random"), batch.game.policy("high"))
    with pytest.raises(ValueError, match=r"pair_random_high: two policies can choose only in Matches\.fork_values"):
        batch.choose(pair, None, np.zeros(2, np.int64))
