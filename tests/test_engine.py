"""The engine: rules interpreted and compiled, rows that depend on nothing but their identity, refusal of bad input."""

from __future__ import annotations

import base64
import copy
import json
import os
import pickle
import random
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import card_envs
from card_envs import Batch, IllegalAction, Table
from card_envs.engine import compiled, loops
from card_envs.engine.game import Game
from card_envs.engine.rows import open_row
from card_envs.players import resolve
from card_envs.players.player import BuiltIn
from tests import games
from tests.helpers import GAMES, all_options, label, play_on, short, some_options

SETS = [(game, options) for game in GAMES for options in some_options(game)]
ALL_SETS = [(game, options) for game in GAMES for options in all_options(game)]
OUTPUT = ("observation", "action_mask", "to_move", "rewards", "terminated", "truncated", "final_observation")

every_game = pytest.mark.parametrize("game", GAMES)
every_set = pytest.mark.parametrize(("game", "options"), SETS, ids=label)


def assert_equal(a: Batch, b: Batch, story: object = "", rows: Any = slice(None), others: Any = slice(None)) -> None:
    """Assert that ``rows`` of one batch and ``others`` of another have the same outputs and the same states."""
    for name in OUTPUT:
        np.testing.assert_array_equal(getattr(a, name)[rows], getattr(b, name)[others], f"{name} {story}")
    assert a.matches.states[rows].tobytes() == b.matches.states[others].tobytes(), f"states {story}"
    np.testing.assert_array_equal(a.identity()[rows], b.identity()[others], f"identity {story}")
    np.testing.assert_array_equal(a.decisions()[rows], b.decisions()[others], f"decisions {story}")


def advance(batch: Batch, steps: int) -> Batch:
    for _ in range(steps):
        batch.step(batch.sample())
    return batch


def kept(batch: Batch) -> dict[str, Any]:
    return {name: getattr(batch, name).copy() for name in OUTPUT} | {"states": batch.matches.states.tobytes()}


def same(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return all(np.array_equal(a[name], b[name]) for name in a)


# ---- interpreted and compiled


@pytest.mark.parametrize(("reward", "episode"), [("win", "match"), ("score", "match"), ("margin", "deal")])
@every_set
def test_interpreted_equals_compiled(game: str, options: dict[str, Any], reward: str, episode: str, seed: int) -> None:
    settings = {"seed": seed, "reward": reward, "episode": episode, **options}
    fast, slow = card_envs.batch(game, 4, **settings), card_envs.batch(game, 4, interpreted=True, **settings)
    ended = 0
    for step in range(250):
        assert_equal(fast, slow, f"step {step} of {game} {settings}")
        actions = fast.sample()
        if step % 10 == 0:
            np.testing.assert_array_equal(actions, slow.sample(), f"step {step} of {game} {settings}")
            np.testing.assert_array_equal(fast.observe(options["players"] - 1), slow.observe(options["players"] - 1))
        if step % 100 == 99:
            fast.redeal(fast.to_move, step)
            slow.redeal(slow.to_move, step)
        fast.step(actions)
        slow.step(actions)
        ended += int((fast.terminated | fast.truncated).sum())
    assert ended or episode == "match", f"no {episode} ended: {game} {settings}"


@every_game
def test_interpreted_rows_refuse_what_does_not_fit(game: str) -> None:
    """Interpreted runs check what compiled ones cannot: values that leave a field's range, indices out of bounds."""
    states = np.zeros(1, card_envs.load_game(game).state_dtype)
    row: Any = open_row(states)
    with pytest.raises(ValueError, match=r"int8|format"):
        row.to_move = 200
    with pytest.raises(IndexError):
        row.deck[len(row.deck)] = 0
    row.to_move = -1
    assert states["to_move"][0] == -1


# ---- rows and their identities


@every_set
def test_a_row_is_the_table_of_its_identity(game: str, options: dict[str, Any], seed: int) -> None:
    """Row i of a batch plays (seed, i, 0), then (seed, i, 1) and so on, as single tables of these identities do."""
    options = short(game, options)
    batch = card_envs.batch(game, 24, seed=seed, **options)
    rows = [0, 1, 23]
    tables = {row: card_envs.table(game, seed=(seed, row, 0), **options) for row in rows}
    matches = 0
    for _ in range(600):
        actions = batch.sample()
        for row, table in tables.items():
            story = f"identity {table.identity} {options}"
            assert table.to_move == batch.to_move[row], story
            np.testing.assert_array_equal(table.action_mask(), batch.action_mask[row], story)
            np.testing.assert_array_equal(table.observation(table.to_move or 0), batch.observation[row], story)
        movers = batch.to_move.copy()
        batch.step(actions)
        for row, table in tables.items():
            table.play(int(actions[row]))
            np.testing.assert_array_equal(table.rewards, batch.rewards[row])
            assert table.is_over == (batch.terminated[row] or batch.truncated[row])
            if table.is_over:
                np.testing.assert_array_equal(table.observation(int(movers[row])), batch.final_observation[row])
                matches += 1
                s, r, m = table.identity
                tables[row] = card_envs.table(game, seed=(s, r, m + 1), **options)
                assert (*batch.identity()[row], batch.decisions()[row]) == (s, r, m + 1, 0)
    assert matches >= len(rows)


@every_game
def test_rows_do_not_depend_on_the_size_of_the_batch(game: str, seed: int) -> None:
    small, large = card_envs.batch(game, 5, seed=seed), card_envs.batch(game, 300, seed=seed)
    for step in range(300):
        assert_equal(small, large, f"step {step}", others=slice(5))
        small.step(small.sample())
        large.step(large.sample())


@every_game
def test_rows_do_not_depend_on_threads(game: str, seed: int) -> None:
    one, two = card_envs.batch(game, 4096, seed=seed), card_envs.batch(game, 4096, seed=seed, threads=2)
    for _ in range(60):
        actions = one.sample()
        np.testing.assert_array_equal(actions, two.sample())
        one.step(actions)
        two.step(actions)
    assert_equal(one, two)


@every_game
def test_reset_without_a_seed_goes_on_to_the_next_match(game: str) -> None:
    batch = card_envs.batch(game, 3, seed=9)
    batch.step(batch.sample())
    batch.reset()
    assert batch.identity().tolist() == [[9, 0, 1], [9, 1, 1], [9, 2, 1]]
    batch.reset(4)
    assert batch.identity().tolist() == [[4, 0, 0], [4, 1, 0], [4, 2, 0]]
    assert not batch.rewards.any()
    assert not batch.terminated.any()


@every_game
def test_an_array_of_seeds_gives_each_row_its_own(game: str) -> None:
    """Row i is dealt (seeds[i], 0, 0), which is how Gymnasium's seed + i comes in."""
    batch = card_envs.batch(game, 3, seed=np.array([5, 7, 5]))
    assert batch.identity().tolist() == [[5, 0, 0], [7, 0, 0], [5, 0, 0]]
    alone = card_envs.batch(game, 1, seed=7)
    assert_equal(batch, alone, rows=slice(1, 2))
    assert_equal(batch, batch, rows=slice(0, 1), others=slice(2, 3))


@every_game
def test_never_seeded_means_entropy(game: str) -> None:
    seeds = {int(card_envs.batch(game, 1).identity()[0, loops.SEED]) for _ in range(4)}
    seeds |= {card_envs.table(game).identity[0] for _ in range(4)}
    assert len(seeds) == 8


@every_game
def test_matches_of_a_seed_differ(game: str) -> None:
    decks = {tuple(card_envs.table(game, seed=identity).order) for identity in [1, (1, 0, 1), (1, 1, 0), 2, (0, 1, 1)]}
    assert len(decks) == 5
    assert card_envs.table(game, seed=1).order == card_envs.table(game, seed=(1, 0, 0)).order


# ---- auto-reset


@every_game
def test_auto_reset(game: str, seed: int) -> None:
    """In the step that ends a match, rewards and ends belong to the old match and everything else to the new one."""
    options = short(game, {})
    batch = card_envs.batch(game, 64, seed=seed, **options)
    ends = 0
    for _ in range(600):
        before = batch.clone()
        movers = batch.to_move.copy()
        actions = batch.sample()
        batch.step(actions)
        over = batch.terminated | batch.truncated
        assert not (batch.terminated & batch.truncated).any()
        assert not batch.rewards[~over].any()
        assert batch.action_mask.any(axis=1).all()
        for row in np.flatnonzero(over):
            ends += 1
            s, r, m = before.identity()[row]
            old = Table.from_row(before.matches, int(row))
            old.play(int(actions[row]))
            assert old.is_over
            np.testing.assert_array_equal(batch.rewards[row], old.rewards)
            np.testing.assert_array_equal(batch.final_observation[row], old.observation(int(movers[row])))
            new = card_envs.table(game, seed=(int(s), int(r), int(m) + 1), **options)
            assert batch.matches.states[row : row + 1].tobytes() == new.matches.states.tobytes()
            np.testing.assert_array_equal(batch.observation[row], new.observation(new.to_move or 0))
            np.testing.assert_array_equal(batch.action_mask[row], new.action_mask())
    assert ends >= 64


@every_game
def test_a_table_stops_at_the_end(game: str) -> None:
    table = card_envs.table(game, seed=2)
    for _ in play_on(table, random.Random(2)):
        assert not table.rewards.any()
    assert table.to_move is None
    assert table.legal_actions() == []
    assert not table.action_mask().any()
    state = table.state()
    for action in ("", 0, 1):
        with pytest.raises(IllegalAction, match="the match is over"):
            table.play(action)
    assert table.state() == state
    assert all(table.view(seat) == state for seat in range(table.players))


# ---- copies


@every_game
def test_gather_and_clone(game: str, seed: int) -> None:
    batch = advance(card_envs.batch(game, 16, seed=seed), 40)
    clone, picked = batch.clone(), batch.gather([3, 3, 11])
    assert_equal(batch, clone)
    assert_equal(picked, batch, others=[3, 3, 11])
    before = kept(clone)
    advance(batch, 200)
    assert same(before, kept(clone)), "a clone shares memory with its origin"
    advance(clone, 200)
    advance(picked, 200)
    assert_equal(batch, clone)
    assert_equal(picked, batch, others=[3, 3, 11])


@pytest.mark.parametrize(
    "copied",
    [lambda one: one.clone(), copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))],
    ids=["clone", "deepcopy", "pickle"],
)
@every_game
def test_copies_in_mid_game_go_on_alike(game: str, copied: Callable[[Any], Any], seed: int) -> None:
    batch = advance(card_envs.batch(game, 16, seed=seed, reward="margin", episode="deal"), 40)
    other = copied(batch)
    assert_equal(batch, other)
    advance(batch, 100)
    assert_equal(advance(other, 100), batch)

    table = card_envs.table(game, seed=seed)
    rng = random.Random(seed)
    for _, _ in zip(range(20), play_on(table, rng)):
        pass
    twin = copied(table)
    for action in play_on(table, rng):
        assert twin.state() == table.state()
        assert twin.rewards.tolist() == table.rewards.tolist()
        twin.play(action)
    assert twin.state() == table.state()
    assert twin.rewards.tolist() == table.rewards.tolist()
    assert twin.deals == table.deals
    assert twin.endings == table.endings
    assert twin.record() == table.record()


@every_game
def test_a_clone_is_independent(game: str) -> None:
    table = card_envs.table(game, seed=4)
    table.play(0 if table.action_mask()[0] else int(np.flatnonzero(table.action_mask())[0]))
    clone = table.clone()
    state, record = clone.state(), clone.record()
    for _ in play_on(table, random.Random(1)):
        pass
    assert clone.state() == state
    assert clone.record() == record
    assert clone.deals == []


@every_game
def test_redeal_in_bulk_depends_on_seed_and_row_alone(game: str) -> None:
    batch = advance(card_envs.batch(game, 8, seed=3), 20)
    one, two, other = batch.clone(), batch.clone(), batch.clone()
    one.redeal(one.to_move, 6)
    two.redeal(two.to_move, 6)
    other.redeal(other.to_move, 7)
    assert_equal(one, two)
    assert one.matches.states.tobytes() not in (other.matches.states.tobytes(), batch.matches.states.tobytes())
    part = batch.gather([0, 1])
    part.redeal(part.to_move, 6)
    assert_equal(part, one, others=[0, 1])


# ---- bad input


@every_game
def test_illegal_actions_name_their_rows_and_step_none(game: str) -> None:
    batch = advance(card_envs.batch(game, 8, seed=3), 5)
    actions = batch.sample()
    wrong = actions.copy()
    wrong[2] = int(np.flatnonzero(batch.action_mask[2] == 0)[0])
    wrong[5] = batch.num_actions
    before = kept(batch)
    with pytest.raises(IllegalAction, match="rows 2, 5") as caught:
        batch.step(wrong)
    assert f"seat {batch.to_move[2]} is to move" in str(caught.value)
    assert same(before, kept(batch))
    for bad in (-1, -2, -3, batch.num_actions, 2**31, -(2**31), 2**63 - 1, -(2**63)):
        wrong = actions.copy()
        wrong[7] = bad
        with pytest.raises(IllegalAction, match="row 7"):
            batch.step(wrong)
        assert same(before, kept(batch)), bad
    batch.step(actions)


@every_game
def test_malformed_action_arrays(game: str) -> None:
    batch = card_envs.batch(game, 4, seed=3)
    before = kept(batch)
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
        assert same(before, kept(batch)), message
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
    with pytest.raises(ValueError, match=f"unknown option of {game} 'colour'.*players"):
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
    for seed in (-1, 2**63, 1.5, "1", True, (1, 2), (1, 2, 3, 4), (1, 2, -3), (1, 2, None)):
        with pytest.raises(ValueError, match="seed"):
            card_envs.table(game, seed=seed)  # type: ignore[arg-type]
    batch = card_envs.batch(game, 2, seed=1)
    before = kept(batch)
    for bad in (-1, 2**63, 1.5, "1", [1], [1, 2, 3], [1.0, 2.0], [1, -2], [[1, 2]], [float("nan"), 1]):
        with pytest.raises(ValueError, match="seed"):
            batch.reset(bad)  # type: ignore[arg-type]
        assert same(before, kept(batch)), bad
    assert batch.identity().tolist() == [[1, 0, 0], [1, 1, 0]]
    card_envs.table(game, seed=2**63 - 1)
    batch.reset(np.int32(3))


@every_game
def test_bad_decks_name_the_card(game: str) -> None:
    rules = card_envs.load_game(game)
    rare = min(zip(rules.copies, rules.cards))[1]
    too_many = [rare] * (rules.copies[rules.cards.index(rare)] + 1)
    with pytest.raises(ValueError, match=f"'{rare}' is named more than"):
        card_envs.table(game, deck=too_many)
    with pytest.raises(ValueError, match="unknown card 'joker'"):
        card_envs.table(game, deck=["joker"])
    with pytest.raises(ValueError, match="a list of card names is expected"):
        card_envs.table(game, deck=rare)
    everything = [card for card, count in zip(rules.cards, rules.copies) for _ in range(count)]
    with pytest.raises(ValueError, match="is named more than"):
        card_envs.table(game, deck=[*everything, everything[0]])


@every_game
def test_a_given_deck_is_dealt_and_the_next_match_has_its_own(game: str) -> None:
    rules = card_envs.load_game(game)
    everything = [card for card, count in zip(rules.cards, rules.copies) for _ in range(count)]
    assert card_envs.table(game, deck=everything).order == everything
    prefix = everything[::7]
    table = card_envs.table(game, deck=prefix, seed=3)
    assert table.order[: len(prefix)] == prefix
    assert sorted(table.order) == sorted(everything)
    assert card_envs.table(game, deck=prefix, seed=4).order[len(prefix) :] != table.order[len(prefix) :]


def to_deal(table: Table, number: int, rng: random.Random) -> Table:
    """Play on to the beginning of a deal."""
    for _ in play_on(table, rng, eager=0.5):
        if table.state()["deal"] == number:
            break
    return table


@pytest.mark.parametrize("game", [game for game in GAMES if card_envs.load_game(game).shuffles_every_deal])
def test_a_given_deck_for_each_deal(game: str, seed: int) -> None:
    """The second and the third deal have the second and the third order, in copies and records too; the fourth is shuffled."""
    cards = list(card_envs.load_game(game).cards)
    orders = [cards, cards[::-1], cards[::2] + cards[1::2]]
    deck = [orders[0], orders[1][:-3], orders[2][:-3]]  # prefixes: three cards lie under them in random order
    options = games.load(game).LONG
    table = card_envs.table(game, seed=seed, deck=deck, **options)
    assert table.state() == card_envs.table(game, seed=seed, deck=deck[0], **options).state()
    copies = [table.clone(), copy.deepcopy(table), pickle.loads(pickle.dumps(table))]
    copies.append(card_envs.replay(through_json(table.record())))
    hidden = table.clone()
    hidden.redeal(0, 4)
    fourth = set()
    for one in (table, *copies):
        for number, order in ((2, orders[1]), (3, orders[2])):
            state = to_deal(one, number, random.Random(seed)).state()
            hands, gone = sum(map(len, state["hands"])), len(order) - len(state["deck"])
            assert state["pile"] == order[hands:gone], f"seed {seed}"
            for distance in range(1, one.players + 1):
                seat = (state["dealer"] + distance) % one.players
                assert sorted(state["hands"][seat]) == sorted(order[distance - 1 : hands : one.players]), f"seed {seed}"
            assert state["deck"][:-3] == order[gone:-3], f"seed {seed}"
            assert sorted(state["deck"][-3:]) == sorted(order[-3:]), f"seed {seed}"
            again = card_envs.replay(through_json(one.record()))
            assert again.state() == state
            assert again.record() == one.record()
        fourth.add(tuple(to_deal(one, 4, random.Random(seed)).state()["deck"]))
    assert len(fourth) == 1
    assert not fourth & {tuple(order[gone:]) for order in orders}
    assert "deck" not in hidden.record()
    for number, order in ((2, orders[1]), (3, orders[2])):
        assert to_deal(hidden, number, random.Random(seed)).state()["deck"][:-3] != order[gone:-3], (
            "given orders are hidden too"
        )


@every_game
def test_bad_decks_for_several_deals(game: str) -> None:
    rules = card_envs.load_game(game)
    card = rules.cards[0]
    if not rules.shuffles_every_deal:
        with pytest.raises(ValueError, match=f"{game} has one deck for all deals"):
            card_envs.table(game, deck=[[card], [card]])
        return
    with pytest.raises(ValueError, match="stands where a list of card names is expected"):
        card_envs.table(game, deck=[[card], card])
    for bad in ([[card], ["joker"]], [[], [card, card]]):
        with pytest.raises(ValueError, match=r"unknown card 'joker'|is named more than"):
            card_envs.table(game, deck=bad)


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


# ---- records


def through_json(value: dict[str, Any]) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(json.dumps(value))
    return loaded


@every_set
def test_a_record_replays_to_the_same_match(game: str, options: dict[str, Any], seed: int) -> None:
    table = card_envs.table(game, seed=(seed, 3, 1), **options)
    rng = random.Random(seed)
    for number, _ in enumerate(play_on(table, rng)):
        if number in (0, 1, 30):
            again = card_envs.replay(through_json(table.record()))
            assert again.state() == table.state()
            assert again.record() == table.record()
    again = card_envs.replay(through_json(table.record()))
    assert again.state() == table.state()
    assert again.deals == table.deals
    assert again.endings == table.endings
    assert again.rewards.tolist() == table.rewards.tolist()
    assert set(table.record()) == {"format", "game", "version", "options", "identity", "deck", "actions"}


@every_game
def test_a_redealt_table_records_its_state(game: str, seed: int) -> None:
    table = card_envs.table(game, seed=seed)
    rng = random.Random(seed)
    for _, _ in zip(range(15), play_on(table, rng)):
        pass
    table.redeal(table.to_move or 0, 5)
    for _, _ in zip(range(15), play_on(table, rng)):
        pass
    again = card_envs.replay(through_json(table.record()))
    assert again.state() == table.state()
    for action in play_on(table, rng):  # the shuffles to come are the same too
        again.play(action)
    assert again.state() == table.state()


@every_game
def test_a_record_of_another_version_is_refused(game: str) -> None:
    record = through_json(card_envs.table(game, seed=1).record())
    version = record["version"]
    with pytest.raises(ValueError, match=f"{game}_v{version + 1}.*{game}_v{version}"):
        card_envs.replay({**record, "version": version + 1})


@every_game
def test_broken_records_are_refused(game: str) -> None:
    table = card_envs.table(game, seed=1)
    table.play(table.legal_actions()[0])
    record = through_json(table.record())
    changes: dict[str, dict[str, Any]] = {
        "unknown game 'tarot'": {"game": "tarot"},
        "'game' is missing or": {"game": 7},
        "'actions' is missing or": {"actions": "draw"},
        "'identity' is missing or": {"identity": None},
        "'options' is missing or": {"options": []},
        "'version' is missing or": {"version": "0"},
        "an identity is": {"identity": [1, 2]},
        "seed = -1": {"identity": [-1, 0, 0]},
        "unknown option": {"options": {"colour": 1}},
        "option players = 99": {"options": {"players": 99}},
        "unknown card": {"deck": ["joker"]},
        "action 2: illegal action 'fly'": {"actions": [*record["actions"], "fly"]},
    }
    for message, change in changes.items():
        with pytest.raises(ValueError, match=message) as caught:
            card_envs.replay({**record, **change})
        assert "\n" not in str(caught.value)
    for key in ("game", "version", "options", "identity", "actions"):
        with pytest.raises(ValueError, match=f"'{key}' is missing"):
            card_envs.replay({k: v for k, v in record.items() if k != key})
    for what in ([], "flip7", None, 3):
        with pytest.raises(ValueError, match="a record is a JSON object"):
            card_envs.replay(what)  # type: ignore[arg-type]


@every_game
def test_a_corrupted_start_is_refused(game: str) -> None:
    table = card_envs.table(game, seed=1)
    table.redeal(0, 5)
    record = through_json(table.record())
    data = base64.b64decode(record["start"]["state"])
    dtype = card_envs.load_game(game).state_dtype

    def changed(field: str, value: int) -> str:
        states = np.frombuffer(bytearray(data), dtype)
        states[field] = value
        return base64.b64encode(states.tobytes()).decode()

    bad = {
        "no base64": "???",
        "cut short": base64.b64encode(data[:-1]).decode(),
        "two states": base64.b64encode(data * 2).decode(),
        "nothing": "",
        "another option": changed("players", table.players + 1),
    }
    for field, (low, high) in card_envs.load_game(game).bounds.items():
        info = np.iinfo(dtype[field].base)
        if low > info.min:
            bad[f"{field} too low"] = changed(field, low - 1)
        if high < info.max:
            bad[f"{field} too high"] = changed(field, high + 1)
    for what, start in bad.items():
        with pytest.raises(ValueError, match="record: start"):
            print(what, card_envs.replay({**record, "start": {**record["start"], "state": start}}))
    for what, start in {"text": "x", "no deals": {"state": record["start"]["state"]}}.items():
        with pytest.raises(ValueError, match="record: start"):
            print(what, card_envs.replay({**record, "start": start}))
    with pytest.raises(ValueError, match="deals"):
        card_envs.replay({**record, "start": {**record["start"], "deals": [[1]]}})
    with pytest.raises(ValueError, match="endings"):
        card_envs.replay({**record, "start": {**record["start"], "endings": ["one too many"]}})
    assert card_envs.replay(record).state() == table.state()


@every_game
def test_a_changed_byte_of_a_start_is_refused_or_harmless(game: str, seed: int) -> None:
    """Every state that passes the check can be played on. Interpreted, an index out of bounds would raise."""
    rng = random.Random(seed)
    accepted = 0
    for number in range(300):
        table = card_envs.table(game, seed=number)
        for _ in range(rng.randrange(120)):
            if not table.is_over:
                table.play(rng.choice(table.legal_actions()))
        if table.is_over:
            continue
        table.redeal(0, number)
        record = table.record()
        data = bytearray(base64.b64decode(record["start"]["state"]))
        data[rng.randrange(len(data))] = rng.randrange(256)
        record["start"]["state"] = base64.b64encode(data).decode()
        try:
            start = card_envs.replay(record).start
        except ValueError:
            continue
        accepted += 1
        slow = card_envs.table(game, seed=0, interpreted=True)
        slow.restart(start)
        for _ in range(60):
            if slow.is_over:
                break
            assert slow.state()["game"] == game
            slow.play(rng.choice(slow.legal_actions()))
    print(f"seed {seed}: {accepted} accepted")
    assert accepted > 20


# ---- the digest of a loop's cache


def replaced(function: types.FunctionType, **names: Any) -> types.FunctionType:
    """The same function with other globals."""
    return types.FunctionType(function.__code__, {**function.__globals__, **names}, function.__name__)


def test_the_digest_follows_helpers_and_constants() -> None:
    space: dict[str, Any] = {"LIMIT": 3}
    source = "def helper(s):\n    return s + 1\n\ndef rule(s):\n    return helper(s) * LIMIT\n"

    def compute_digest(text: str, **names: Any) -> str:
        scope = {**space, **names}
        exec(compile(text, "rules.py", "exec"), scope)
        return compiled.hash_code((scope["rule"],))

    same_code = source.replace("def helper", "\n\n# a comment\ndef helper").replace("s + 1\n", "s + 1  # why\n")
    assert compute_digest(source) == compute_digest(same_code)
    assert compute_digest(source) != compute_digest(source.replace("s + 1", "s + 2"))
    assert compute_digest(source) != compute_digest(source.replace("s + 1", "s - 1"))
    assert compute_digest(source) != compute_digest(source, LIMIT=4)
    assert compute_digest(source, LIMIT=np.array([1, 2])) != compute_digest(source, LIMIT=np.array([1, 3]))


@every_game
def test_the_digest_of_a_game_changes_with_any_rule_that_it_calls(game: str) -> None:
    step = card_envs.load_game(game).step
    plain = compiled.hash_code((step,))
    assert compiled.hash_code((replaced(step),)) == plain
    helpers = [name for name in step.__code__.co_names if isinstance(step.__globals__.get(name), types.FunctionType)]
    assert helpers
    for name in helpers:
        assert compiled.hash_code((replaced(step, **{name: lambda s: s}),)) != plain, name
        inner = step.__globals__[name]
        for deeper in inner.__code__.co_names:  # a helper of a helper, often in another module
            if isinstance(inner.__globals__.get(deeper), types.FunctionType):
                other = replaced(inner, **{deeper: lambda s: s})
                assert compiled.hash_code((replaced(step, **{name: other}),)) != plain, (name, deeper)


def test_each_loop_is_named_by_game_and_digest() -> None:
    names = set()
    for game in GAMES:
        loop = loops.step_loop(card_envs.load_game(game))
        compiled.compile_loop(card_envs.load_game(game), loop)
        names.add(loop.function.__qualname__)
        assert loop.function.__qualname__.startswith(f"{game}.step.")
    assert len(names) == len(GAMES)


# ---- the contract


@every_game
def test_the_state_has_no_gaps(game: str) -> None:
    dtype = card_envs.load_game(game).state_dtype
    at = 0
    for name in dtype.names or ():
        kind, offset = dtype.fields[name][:2]  # type: ignore[index]
        assert offset == at, name
        assert offset % kind.base.itemsize == 0, f"{name} is not aligned"
        at += kind.itemsize
    assert at == dtype.itemsize
    assert at % 8 == 0, "rows of 8-byte words keep the key aligned"


@every_game
def test_a_state_with_gaps_is_refused(game: str) -> None:
    rules = card_envs.load_game(game)
    fields = {name: getattr(rules, name) for name in Game.__dataclass_fields__}
    gaps = np.dtype([*rules.state_dtype.descr, ("tail", np.int8)], align=True)
    with pytest.raises(TypeError, match="gaps"):
        Game(**{**fields, "state_dtype": gaps})
    with pytest.raises(TypeError, match="lacks key"):
        Game(**{**fields, "state_dtype": np.dtype([("to_move", np.int8)])})


@every_set
def test_observations_lie_within_their_fields(game: str, options: dict[str, Any], seed: int) -> None:
    rules = card_envs.load_game(game)
    batch = card_envs.batch(game, 64, seed=seed, **options)
    fields = rules.observation_fields(batch.options)
    ends = [field.slice.stop for field in fields.values()]
    assert [field.slice.start for field in fields.values()] == [0, *ends[:-1]]
    assert ends[-1] == batch.observation_size == batch.observation.shape[1]
    for _ in range(200):
        advance(batch, 3)
        for seat in range(batch.players):
            observation = batch.observe(seat)
            assert np.isfinite(observation).all()
            for name, field in fields.items():
                part = observation[:, field.slice]
                assert field.low <= part.min(), (name, seed)
                assert part.max() <= field.high, (name, seed)


@every_game
def test_the_mask_is_padded_with_zeros(game: str) -> None:
    batch = advance(card_envs.batch(game, 32, seed=1), 50)
    assert batch.action_mask.shape == (32, card_envs.load_game(game).num_actions(batch.players))
    assert set(np.unique(batch.action_mask)) == {0, 1}
    assert not batch.matches.mask[:, batch.num_actions :].any()


@every_set
def test_action_strings_and_indices_are_inverse(game: str, options: dict[str, Any]) -> None:
    rules, players = card_envs.load_game(game), options["players"]
    for seat in range(players):
        strings = [rules.action_string(index, seat, players) for index in range(rules.num_actions(players))]
        assert [rules.action_index(string, seat, players) for string in strings] == list(range(len(strings)))
        for string in strings:
            assert string == " ".join(string.split())
            for bad in (string + " ", " " + string, string.title(), string.replace(" ", "  ") + "\n", string + " 0"):
                assert rules.action_index(bad, seat, players) is None, bad


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


# ---- rollouts


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
        batch.rollout([0, batch.num_actions, 0])
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


# ---- compiled code of several processes


def test_functions_of_one_factory_have_names_of_their_own() -> None:
    """Machine code is linked by name, whichever process compiled it."""

    def factory(number: int) -> Callable[[], int]:
        def made() -> int:
            return number

        return made

    one, other, same = factory(1), factory(2), factory(1)
    compiled.tell_apart((lambda: one, [other, same]))
    assert one.__qualname__ == same.__qualname__ != other.__qualname__
    before = one.__qualname__
    compiled.tell_apart((one,))
    assert one.__qualname__ == before, "once is enough"


@pytest.mark.parametrize("game", GAMES)
def test_everything_that_is_compiled_is_called_differently(game: str) -> None:
    its = card_envs.load_game(game)
    made = [loops.step_loop(its), loops.count_loop(its), *(loops.rollout_loop(its, policy) for policy in its.policies)]
    names: dict[tuple[str, str], str] = {}
    for loop in made:
        compiled.compile_loop(its, loop)
        for function in compiled.collect_functions((loop.function, *loop.rules)):
            code = compiled.hash_code((function,))
            assert names.setdefault((function.__module__, function.__qualname__), code) == code, function.__qualname__


CHOICES = """
import sys, numpy as np, card_envs
game = card_envs.load_game(sys.argv[1])
batch = card_envs.batch(game.name, 300, seed=1, players=2)
for _ in range(6):
    batch.step(batch.matches.mask[:, : batch.num_actions].argmax(axis=1))
for name in sys.argv[2:]:
    actions = np.empty(300, np.int64)
    batch.choose(name, np.array([*game.policy(name).defaults.values()], float), actions)
    print(*actions)
"""


@pytest.mark.parametrize(("game", "names"), [("flip7", ["count", "sum"]), ("pis_yedili", ["keepjack", "full"])])
def test_policies_compiled_by_different_processes_stay_themselves(game: str, names: list[str], tmp_path: Path) -> None:
    """Each is compiled by a process of its own into one cache; a process that reads all from there chooses as they did."""

    def choices(*names: str) -> list[str]:
        environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
        command = [sys.executable, "-c", CHOICES, game, *names]
        return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.splitlines()

    assert choices() == []  # compiles the rules, so that the others begin to count their functions at the same number
    alone = [choices(name)[0] for name in names]
    assert choices(*names) == alone
    assert choices(*reversed(names)) == alone[::-1]
    assert len(set(alone)) == 2
