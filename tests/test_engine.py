"""The engine: rules interpreted and compiled, rows that depend on nothing but their identity, auto-reset, copies."""

from __future__ import annotations

import copy
import pickle
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import card_envs
from card_envs import IllegalAction, Table
from card_envs.engine import loops
from card_envs.engine.rows import open_row
from tests.batches import advance, are_same, assert_equal, every_game, every_set, keep_all
from tests.helpers import play_on, short

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
    before = keep_all(clone)
    advance(batch, 200)
    assert are_same(before, keep_all(clone)), "a clone shares memory with its origin"
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
