"""Search: networks that play on, arguments and specs, and whether it is any good."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import card_envs
from card_envs import Game, Search
from card_envs.arena import play_duel
from card_envs.players import resolve
from card_envs.players.checkpoint import make_metadata
from card_envs.players.network import Network
from tests.batches import every_game
from tests.helpers import GAMES
from tests.searches import decide_at, make_batch

# ---- networks


def make_scorer(game: Game, options: dict[str, Any], seed: int) -> Network:
    """A network of random weights that scores actions, residual on the default opponent of the game."""
    rng = np.random.default_rng(seed)
    metadata = make_metadata(
        game, game.resolve(options), "scorer", activation="relu", teacher=game.default_opponent,
        teacher_parameters=np.array([*game.policy(game.default_opponent).defaults.values()], np.float64),
    )  # fmt: skip
    inputs = game.action_feature_size + 1
    shapes = ((4, inputs), (1, 4))
    return Network(
        [(rng.normal(size=s).astype(np.float32), rng.normal(size=s[0]).astype(np.float32)) for s in shapes], metadata
    )


def test_a_network_plays_on_and_chooses_what_is_tried(seed: int) -> None:
    options = {"players": 2}
    game = card_envs.load_game("pis_yedili")
    network = make_scorer(game, options, seed)
    batch = make_batch(game, 30, 6, seed, **options)
    decisions = decide_at(batch)
    policy, parameters = network.bind(game, decisions.options)
    narrow = Search(40, policy=network, width=3).analyse(decisions)
    wide = Search(40, policy=network).analyse(decisions)
    usual = network.act(decisions)
    searched = 0
    for n, (few, many) in enumerate(zip(narrow, wide, strict=True)):
        assert few.usual == many.usual == usual[n]
        tried = few.actions[few.rollouts > 0]
        if len(few.actions) > 3:
            searched += 1
            batch.choose(policy, parameters, np.empty(30, np.int64))  # any call: it shows that the parameters are still sound
            assert len(tried) == 3
            assert np.isnan(few.values[few.rollouts == 0]).all()
            one = decide_at(batch, [n])
            one.choose(policy, parameters)
            scores = parameters.scores[: len(few.actions)]
            assert sorted(tried) == sorted(few.actions[np.argsort(-scores, kind="stable")[:3]])
            assert (many.rollouts > 0).all()
    assert searched


# ---- arguments and specs


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rollouts": 0}, "rollouts = 0: allowed is a whole number from 1"),
        ({"rollouts": True}, "rollouts = True: allowed is a whole number from 1"),
        ({"rollouts": 2.5}, "rollouts = 2.5: allowed is a whole number from 1"),
        ({"rollouts": 10**12}, "rollouts = 1000000000000: allowed is a whole number up to 1000000000"),
        ({"rollouts": 5, "milliseconds": 5}, "only one of them"),
        ({"milliseconds": 0}, "milliseconds = 0: allowed is a number above 0"),
        ({"milliseconds": "5"}, "milliseconds = '5': allowed is a number from 0 to 1e9"),
        ({"milliseconds": math.nan}, "milliseconds = nan: allowed is a number"),
        ({"caution": -1}, "caution = -1: allowed is a number from 0"),
        ({"caution": math.inf}, "caution = inf: allowed is a number from 0"),
        ({"until": "end"}, "unknown until 'end'"),
        ({"value": "points"}, "unknown value 'points'"),
        ({"width": 1}, "width = 1: allowed is a whole number from 2"),
        ({"beliefs": 1}, "beliefs = 1: allowed is True or False"),
        ({"policy": 3}, "policy = 3: a built-in player or a network is expected"),
        ({"policy": ["best"]}, "a built-in player or a network is expected"),
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Search(**arguments)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("search(policy='bst')", "unknown player of pis_yedili 'bst' – did you mean 'best'"),
        ("search(policy='search')", "a built-in player of pis_yedili is expected"),
        ("search(policy='os:system')", "a built-in player of pis_yedili is expected"),
        ("search(policy='none.safetensors')", "none.safetensors: not a readable"),
        ("search(width=3)", "width = 3: best gives actions no scores"),
        ("search(rollouts=0)", "rollouts = 0"),
        ("search(5, seconds=3)", "seconds"),
    ],
)
def test_a_wrong_spec_is_refused_at_once(spec: str, message: str) -> None:
    game = replace(card_envs.load_game("pis_yedili"), match_value=None)
    with pytest.raises(ValueError, match=message):
        resolve(spec, game, {"players": 2})


def test_what_a_game_does_not_know_is_said() -> None:
    game = replace(card_envs.load_game("rummy"), match_value=None)
    with pytest.raises(ValueError, match="value = 'match': rummy does not know what a match is worth between two deals"):
        Search(5, value="match").check(game, game.resolve({}))


def test_a_network_for_another_table_is_refused(seed: int) -> None:
    game = card_envs.load_game("pis_yedili")
    network = make_scorer(game, {"players": 2}, seed)
    with pytest.raises(ValueError, match="trained for option players 2, but the table's is 3"):
        Search(5, policy=network).act(decide_at(make_batch(game, 1, 0, seed, players=3)))


@pytest.mark.parametrize("game", GAMES)
def test_a_spec_says_how_to_search(game: str) -> None:
    best = card_envs.load_game(game).default_opponent
    player = resolve(f"search(rollouts=50, policy={best!r}, until='match', caution=2)", card_envs.load_game(game))
    assert isinstance(player, Search)
    assert (player.rollouts, player.policy, player.until, player.caution) == (50, best, "match", 2.0)
    assert repr(player) == f"<player search(rollouts=50, policy={best!r}, until='match', caution=2)>"
    assert repr(resolve("search", card_envs.load_game(game))) == "<player search>"
    again = pickle.loads(pickle.dumps(player))
    assert again.__getstate__() == player.__getstate__()


@every_game
def test_it_improves_the_policy_of_its_play_outs(game: str, seed: int) -> None:
    result = play_duel(game, Search(100, policy="random"), "random", players=2, matches=20, board_list="tune", seed=seed)
    assert result.share.low > 0.5, f"seed {seed}: {result.share}"
