"""Action features: what they say, what they must not depend on, and that batches keep them."""

from __future__ import annotations

import pickle
import random
from itertools import cycle, islice
from typing import Any

import numpy as np
import pytest

import card_envs
from card_envs import Batch
from card_envs.engine.batch import make_matches
from card_envs.engine.matches import Matches
from tests import games
from tests.batches import advance
from tests.helpers import GAMES, Options, all_options, choice, label, play_on, quick

FEATURED = [name for name in GAMES if card_envs.load_game(name).action_features is not None]
PLAIN = [name for name in GAMES if name not in FEATURED]
MOST_DECISIONS = 250  # of a match …
LOOKED_AT = 0.2  # … of which so many are looked at, and those with an action of a kind that has not been seen
SETS = [(name, options) for name in FEATURED for options in all_options(name)]

every_game = pytest.mark.parametrize("name", FEATURED)
every_set = pytest.mark.parametrize(("name", "options"), SETS, ids=label)


def list_legal(matches: Matches) -> np.ndarray:
    """Every legal action at its own index and -1 elsewhere, int64 [size, A]."""
    return np.where(matches.action_mask != 0, np.arange(matches.num_actions), -1)


def compute(matches: Matches) -> np.ndarray:
    """The features of all actions, float32 [size, A, F]."""
    return matches.write_action_features(matches.rows, list_legal(matches))


# ---- what they say


@every_set
def test_features_say_what_a_plain_twin_says(name: str, options: Options, seed: int) -> None:
    data, game, rng = games.load(name), card_envs.load_game(name), random.Random(f"{seed} {options}")
    fields = game.action_fields(game.resolve(options))
    scales = np.concatenate([np.full(field.slice.stop - field.slice.start, field.scale) for field in fields.values()])
    verbs, decisions = set(), 0
    for row, eager in enumerate(cycle((0.0, 0.8, 0.97))):
        if row > 2 and decisions > 40:
            break
        table = card_envs.table(name, seed=(seed, row, 0), **quick(name, options))
        for _ in islice(play_on(table, rng, eager), MOST_DECISIONS):
            seat, legal = table.to_move, table.legal_actions()
            assert seat is not None
            if rng.random() > LOOKED_AT and verbs.issuperset(action.split()[0] for action in legal):
                continue
            chosen = choice(table)
            view, values = table.view(seat), compute(table.matches)[0]
            decisions += 1
            for action in legal:
                verbs.add(action.split()[0])
                expected = data.action_facts(view, seat, action, chosen)
                assert list(expected) == list(fields)
                figures = values[game.action_index(action, seat, table.players)] * scales
                wrong = np.abs(figures - np.concatenate([*expected.values()])) > 1e-4
                names = [key for key, field in fields.items() if wrong[field.slice].any()]
                assert not names, f"{names} of {action}, identity {table.identity}, {options}, {table.actions}"
    assert verbs >= data.VERBS


@every_game
def test_features_lie_within_their_fields(name: str, seed: int) -> None:
    game = card_envs.load_game(name)
    for options in all_options(name):
        for eager in (False, True):
            batch = card_envs.batch(name, 24, seed=seed, action_features=True, **options)
            actions = np.zeros(batch.size, np.int64)
            for _ in range(100):
                features = batch.action_features[batch.action_mask != 0]
                for field_name, field in game.action_fields(batch.options).items():
                    part = features[:, field.slice]
                    assert field.low <= part.min(), (field_name, options, seed)
                    assert part.max() <= field.high, (field_name, options, seed)
                batch.choose(game.default_opponent, None, actions)
                batch.step(actions if eager else batch.sample())


@every_game
def test_shapes_do_not_depend_on_the_table(name: str) -> None:
    game = card_envs.load_game(name)
    layouts = [
        {key: (field.slice, field.shape) for key, field in game.action_fields(options).items()} for options in all_options(name)
    ]
    assert all(layout == layouts[0] for layout in layouts)
    assert max(where.stop for where, _ in layouts[0].values()) == game.action_feature_size


# ---- what they must not depend on


@every_set
def test_a_redeal_does_not_change_them(name: str, options: Options, seed: int) -> None:
    """They are made from what the seat to move knows."""
    batch = card_envs.batch(name, 24, seed=seed, action_features=True, **options)
    for step in range(24):
        advance(batch, 5)
        other = batch.clone()
        other.redeal(other.to_move, step)
        np.testing.assert_array_equal(other.action_features, batch.action_features, f"step {step}, seed {seed}")
        hidden = "hands" if "hands" in other.matches.states.dtype.names else "deck"
        assert (other.matches.states[hidden] != batch.matches.states[hidden]).any(axis=1).mean() > 0.5


@every_set
def test_seats_can_be_renumbered(name: str, options: Options, seed: int) -> None:
    data = games.load(name)
    batch = advance(card_envs.batch(name, 64, seed=seed, **options), 20)
    for _ in range(14):
        advance(batch, 8)
        features = compute(batch.matches)
        for change in data.RENUMBERINGS:
            other = batch.clone()
            change(other.matches.states, batch.players)
            other.matches.refresh()
            assert (other.to_move != batch.to_move).any()
            np.testing.assert_array_equal(other.action_mask, batch.action_mask)
            np.testing.assert_array_equal(compute(other.matches), features)


@every_game
def test_an_action_is_described_alone(name: str, seed: int) -> None:
    """Its features do not depend on which other actions are listed, nor on its place."""
    rng = np.random.default_rng(seed)
    batch = advance(card_envs.batch(name, 200, seed=seed), 20)
    features = compute(batch.matches)
    for width in (1, 4, 9):
        rows = rng.permutation(batch.size)[:120]
        actions = np.full((len(rows), width), -1)
        for place, row in enumerate(rows):
            legal = rng.permutation(np.flatnonzero(batch.action_mask[row]))[:width]
            actions[place, rng.permutation(width)[: len(legal)]] = legal
        some = batch.matches.write_action_features(rows, actions)
        expected = np.where((actions >= 0)[:, :, None], features[rows[:, None], actions], 0)
        np.testing.assert_array_equal(some, expected)


@every_game
def test_matches_that_are_over_have_none(name: str, seed: int) -> None:
    matches = make_matches(card_envs.load_game(name), 3, auto_reset=False, action_features=True, episode="deal")
    batch = Batch.wrap(matches)
    batch.reset(seed)
    while (batch.to_move >= 0).all():
        batch.step(batch.sample())
    over = np.flatnonzero(batch.to_move < 0)
    assert not batch.action_features[over].any()
    assert not matches.write_action_features(over, np.zeros((len(over), 2), np.int64)).any()


# ---- batches keep them


def check(batch: Batch, story: object = "") -> None:
    """The features of a batch are those of its states, and zero where an action is not legal."""
    np.testing.assert_array_equal(batch.action_features, compute(batch.matches), f"{story}")
    legal = batch.action_mask != 0
    assert batch.action_features[legal].any(axis=1).all(), story
    assert not batch.action_features[~legal].any(), story


@every_game
def test_a_batch_writes_them_wherever_it_writes_observations(name: str, seed: int) -> None:
    batch = card_envs.batch(name, 32, seed=seed, action_features=True, episode="deal")
    check(batch, "made")
    for _ in range(60):
        check(advance(batch, 1), "step")
    batch.reset(seed + 1)
    check(batch, "reset")
    batch.playout(30)
    check(batch, "playout")
    batch.redeal(1, seed)
    check(batch, "redeal")
    copies = {
        "clone": batch.clone(),
        "gather": batch.gather([3, 3, 5]),
        "pickle": pickle.loads(pickle.dumps(batch)),
    }
    advance(batch, 5)
    for how, other in copies.items():
        check(other, how)
        check(advance(other, 3), how)
    batch.rollout(batch.sample(), until="deal", seeds=np.arange(batch.size))
    check(batch.clone(), "rollout")


@every_game
def test_interpreted_features_equal_compiled_ones(name: str, seed: int) -> None:
    for options in all_options(name):
        settings: dict[str, Any] = {"seed": seed, "action_features": True, **options}
        fast, slow = card_envs.batch(name, 2, **settings), card_envs.batch(name, 2, interpreted=True, **settings)
        for step in range(30):
            np.testing.assert_array_equal(fast.action_features, slow.action_features, f"step {step}, {options}")
            actions = fast.sample()
            fast.step(actions)
            slow.step(actions)


@every_game
def test_threads_share_the_rows(name: str, seed: int) -> None:
    one, two = (card_envs.batch(name, 200, seed=seed, threads=threads, action_features=True) for threads in (1, 2))
    for _ in range(10):
        actions = one.sample()
        one.step(actions)
        two.step(actions)
        np.testing.assert_array_equal(one.action_features, two.action_features)
    np.testing.assert_array_equal(compute(two.matches), compute(one.matches))


@every_game
def test_the_array_is_read_only_and_stays_the_same(name: str) -> None:
    batch = card_envs.batch(name, 4, seed=1, action_features=True)
    array = batch.action_features
    assert array.shape == (4, batch.num_actions, batch.game.action_feature_size)
    assert array.dtype == np.float32
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1
    advance(batch, 3)
    assert batch.action_features is array


def test_they_are_written_on_request_only() -> None:
    for name in GAMES:
        batch = card_envs.batch(name, 2, seed=1)
        assert batch.action_features is None
        assert batch.matches.legal_features is None


@pytest.mark.parametrize("name", PLAIN)
def test_a_game_without_them_says_so(name: str) -> None:
    assert card_envs.load_game(name).action_fields() == {}
    assert card_envs.load_game(name).action_feature_size == 0
    with pytest.raises(ValueError, match=f"action_features: {name} has none"):
        card_envs.batch(name, 2, action_features=True)


@pytest.mark.parametrize("value", [1, "yes", None, 0])
def test_asking_takes_a_bool(value: Any) -> None:
    with pytest.raises(ValueError, match=r"action_features = .*: allowed is true or false"):
        card_envs.batch(FEATURED[0], 2, action_features=value)
