"""What tables and batches refuse: illegal actions, malformed arrays, wrong settings, seeds, decks, rows and seats."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import card_envs
from card_envs import IllegalAction
from tests.batches import OUTPUT, advance, are_same, assert_equal, every_game, keep_all


@every_game
def test_illegal_actions_name_their_rows_and_step_none(game: str) -> None:
    batch = advance(card_envs.batch(game, 8, seed=3), 5)
    actions = batch.sample()
    wrong = actions.copy()
    wrong[2] = int(np.flatnonzero(batch.action_mask[2] == 0)[0])
    wrong[5] = batch.num_actions
    before = keep_all(batch)
    with pytest.raises(IllegalAction, match="rows 2, 5") as caught:
        batch.step(wrong)
    assert f"seat {batch.to_move[2]} is to move" in str(caught.value)
    assert are_same(before, keep_all(batch))
    for bad in (-1, -2, -3, batch.num_actions, 2**31, -(2**31), 2**63 - 1, -(2**63)):
        wrong = actions.copy()
        wrong[7] = bad
        with pytest.raises(IllegalAction, match="row 7"):
            batch.step(wrong)
        assert are_same(before, keep_all(batch)), bad
    batch.step(actions)


@every_game
def test_malformed_action_arrays(game: str) -> None:
    batch = card_envs.batch(game, 4, seed=3)
    before = keep_all(batch)
    good = batch.sample()
    nan = good.astype(float)
    nan[2] = np.nan
    bad: dict[str, Any] = {
        "nan in row 2": nan,
        "expected integers, got float64": good.astype(float),
        "expected integers, got float32": good.astype(np.float32),
        "expected integers, got bool": good.astype(bool),
        r"shape \(4,\), got shape \(3,\)": good[:3],
        r"got shape \(4, 1\)": good[:, None],
        r"got shape \(\)": 0,
        r"got shape \(0,\)": [],
        "expected integers, got <U": ["draw"] * 4,
        "expected integers, got object": [None] * 4,
        r"row 1 is over 2\*\*63 - 1": np.array([0, 2**63, 0, 0], np.uint64),
    }
    for message, actions in bad.items():
        with pytest.raises(ValueError, match=message) as caught:
            batch.step(actions)
        assert "\n" not in str(caught.value)
        assert not isinstance(caught.value, IllegalAction)
        assert are_same(before, keep_all(batch)), message
    for dtype in (np.int8, np.uint8, np.int32, np.uint64):
        clone = batch.clone()
        clone.step(good.astype(dtype))
    batch.step(good.tolist())
    assert_equal(batch, clone)


@every_game
def test_the_buffers_cannot_be_written(game: str) -> None:
    batch = card_envs.batch(game, 2, seed=0)
    for name in OUTPUT:
        with pytest.raises(ValueError, match="read-only"):
            getattr(batch, name)[0] = 1


@every_game
def test_an_illegal_action_at_a_table_changes_nothing(game: str) -> None:
    table = card_envs.table(game, seed=1)
    state, record = table.state(), table.record()
    legal = table.legal_actions()
    for bad in ["", " ", "foo", legal[0] + " ", " " + legal[0], legal[0].upper(), -1, 10**6, None, True, 0.0, 1.5, "0"]:
        with pytest.raises(IllegalAction) as caught:
            table.play(bad)  # type: ignore[arg-type]
        text = str(caught.value)
        assert repr(bad) in text
        assert f"seat {table.to_move} is to move" in text
        assert all(action in text for action in legal)
        assert "\n" not in text
    assert table.state() == state
    assert table.record() == record


@every_game
def test_bad_settings_are_named(game: str) -> None:
    lowest, highest = card_envs.load_game(game).players[0], card_envs.load_game(game).players[-1]
    for players in (lowest - 1, highest + 1, 0, -1, 2.0, "2", None, True):
        with pytest.raises(ValueError, match=rf"players = .*{lowest} … {highest}"):
            card_envs.table(game, players=players)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="did you mean 'players'"):
        card_envs.table(game, player=3)
    with pytest.raises(ValueError, match=r"unexpected keyword argument 'colour'.*players"):
        card_envs.batch(game, 2, colour=1)
    for option in card_envs.load_game(game).options:
        for value in ("yes please", 1.5, None, [], -1):
            with pytest.raises(ValueError, match=f"option {option.name} = ") as caught:
                card_envs.table(game, **{option.name: value})  # type: ignore[arg-type]
            assert option.allowed in str(caught.value)
        if option.high:
            for value in (option.low - 1, option.high + 1):
                with pytest.raises(ValueError, match=f"option {option.name} = {value}"):
                    card_envs.table(game, **{option.name: value})
    with pytest.raises(ValueError, match="unknown reward 'winn' – did you mean 'win'"):
        card_envs.batch(game, 2, reward="winn")
    with pytest.raises(ValueError, match="unknown episode 'deals' – did you mean 'deal'"):
        card_envs.batch(game, 2, episode="deals")
    for size in (0, -1, 1.0, "1", True, None):
        with pytest.raises(ValueError, match=r"size = .*whole number from 1"):
            card_envs.batch(game, size)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="threads = 0"):
        card_envs.batch(game, 2, threads=0)


def test_an_unknown_game_is_named_with_the_nearest() -> None:
    with pytest.raises(ValueError, match="unknown game 'flip_7' – did you mean 'flip7'"):
        card_envs.table("flip_7")
    with pytest.raises(ValueError, match=r"unknown game 'chess'.*known: .*flip7"):
        card_envs.batch("chess", 2)


@every_game
def test_bad_seeds(game: str) -> None:
    for seed in (-1, 2**256, 1.5, "1", True, (1, 2), (1, 2, 3, 4), (1, 2, -3), (1, 2, None)):
        with pytest.raises(ValueError, match=r"^(seed|match of an identity) = "):
            card_envs.table(game, seed=seed)  # type: ignore[arg-type]
    batch = card_envs.batch(game, 2, seed=1)
    before = keep_all(batch)
    for bad in (-1, 2**256, 1.5, "1", [1], [1, 2, 3], [1.0, 2.0], [1, -2], [[1, 2]], [float("nan"), 1], [1, 2**256]):
        with pytest.raises(ValueError, match="seed"):
            batch.reset(bad)  # type: ignore[arg-type]
        assert are_same(before, keep_all(batch)), bad
    assert batch.identity().tolist() == [[1, 0, 0], [1, 1, 0]]
    card_envs.table(game, seed=2**256 - 1)
    batch.reset(np.int32(3))


@every_game
def test_bad_rows_and_seats(game: str) -> None:
    batch = card_envs.batch(game, 3, seed=1)
    for bad in ([3], [-1], [], [[0]], [0.0], ["0"]):
        with pytest.raises(ValueError, match="indices"):
            batch.gather(bad)
    for seats in (-1, batch.players, [0, 0], [0, 0, batch.players], 0.5):
        with pytest.raises(ValueError, match="seats"):
            batch.observe(seats)
        with pytest.raises(ValueError, match="seats"):
            batch.redeal(seats, 1)
    table = card_envs.table(game, seed=1)
    for seat in (-1, table.players, 0.0, "0", None, True):
        for ask in (table.observation, table.view, lambda s: table.redeal(s, 1)):
            with pytest.raises(ValueError, match=f"seat = .*0 … {table.players - 1}"):
                ask(seat)  # type: ignore[arg-type]
