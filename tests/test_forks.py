"""Forks: what each candidate action is worth is what plain play-outs at a table pay, all on the same decks."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import card_envs
from card_envs import Batch, Game, IllegalAction, Table
from card_envs.engine import keys, loops
from card_envs.engine.random import REDEAL
from card_envs.players import resolve
from card_envs.players.player import BuiltIn
from tests.batches import SETS, advance, every_game
from tests.helpers import GAMES, label, quick, short
from tests.reference import streams

every_set = pytest.mark.parametrize(("game", "options"), SETS, ids=label)
until_both = pytest.mark.parametrize("until", ["deal", "match"])


def default_policy(game: Game) -> tuple[str, NDArray[np.float64]]:
    """The built-in policy of the game's default opponent, and its parameters."""
    player = resolve(game.default_opponent, game)
    assert isinstance(player, BuiltIn)
    return player.policy.name, player.parameters


def keep_bytes(batch: Batch) -> list[bytes]:
    """Everything that belongs to a batch, as bytes."""
    matches = batch.matches
    return [array.tobytes() for array in [*matches.arrays, matches.seeds, *matches.later_orders.to_arrays()]]


# ---- the plain twin


def lay_deck(table: Table, root: bytes, numbers: tuple[int, int, int], deck: int) -> None:
    """Shuffle the stock of a table by the plain reference, give it the key of a deck, and its players their stream."""
    states, (row, match, decision) = table.matches.states, numbers
    key = streams.derive(root, keys.FORK_DECK, row, match, decision, deck)
    drawn, end = int(states["drawn"][0]), int(states["deck_size"][0])
    stock = states["deck"][0, drawn:end].tolist()
    states["deck"][0, drawn:end] = streams.shuffled(stock, key, REDEAL)
    states["key"] = key
    table.matches.later_orders.forget()
    states["ordered"] = 0
    table.matches.keys[0, loops.STREAM] = streams.derive(root, keys.FORK_POLICIES, row, match, decision, deck)


def play_out(table: Table, action: int, policy: str, parameters: NDArray[np.float64], until: str) -> float:
    """Play an action at a table and go on by one policy in all seats. Returns what the seat that was to move is paid."""
    mover, players = table.to_move, table.players
    assert mover is not None
    while True:
        table.play(action)
        if table.is_over or (until == "deal" and table.deals):
            break
        actions = np.empty(1, np.int64)
        table.batch.choose(policy, parameters, actions)
        action = int(actions[0])
    if until == "match":
        return float(table.rewards[mover])
    scores = [float(score) for score in table.deals[-1]]
    return (scores[mover] - (sum(scores) - scores[mover]) / (players - 1.0)) * table.game.score_scale(table.options)


def plain_values(
    batch: Batch,
    candidates: NDArray[np.int64],
    policy: str,
    parameters: NDArray[np.float64],
    *,
    decks: int,
    until: str,
) -> NDArray[np.float64]:
    """The values of all candidates by play-outs at tables, one after the other."""
    values = np.full(candidates.shape, np.nan)
    for row, c in np.argwhere(candidates >= 0):
        seed, *where = batch.matches.read_identity(row)
        total = 0.0
        for deck in range(max(1, decks)):
            table = Table.from_row(batch.matches, row)
            if decks:
                lay_deck(table, streams.root_key(seed), (*where, int(batch.decisions()[row])), deck)
            total += play_out(table, int(candidates[row, c]), policy, parameters, until)
        values[row, c] = total / max(1, decks)
    return values


@until_both
@every_set
def test_values_are_those_of_plain_play_outs(game: str, options: dict[str, Any], until: str, seed: int) -> None:
    """To the last bit, at every stage of a match; and nothing of the batch has changed."""
    batch = card_envs.batch(game, 3, seed=seed, **short(game, options))
    random_policy = ("random", np.empty(0))
    for steps, (policy, parameters) in ((0, default_policy(batch.game)), (7, random_policy), (41, default_policy(batch.game))):
        advance(batch, steps)
        candidates, before = batch.legal_actions()[:, :6], keep_bytes(batch)
        for decks in (0, 2):
            values = batch.fork_values(candidates, policy, parameters, decks=decks, until=until)
            expected = plain_values(batch, candidates, policy, parameters, decks=decks, until=until)
            np.testing.assert_array_equal(values, expected, f"seed {seed}, {steps} steps, {decks} decks")
        assert keep_bytes(batch) == before


@every_game
def test_interpreted_forks_are_the_same(game: str, seed: int) -> None:
    compiled, plain = (
        advance(card_envs.batch(game, 4, seed=seed, interpreted=interpreted, **quick(game, {"players": 3})), 9)
        for interpreted in (False, True)
    )
    candidates, before = compiled.legal_actions(), keep_bytes(plain)
    np.testing.assert_array_equal(plain.legal_actions(), candidates)
    for until in ("deal", "match"):
        for decks in (0, 2):
            one, two = (batch.fork_values(candidates, decks=decks, until=until) for batch in (compiled, plain))
            np.testing.assert_array_equal(one, two, f"{until}, {decks} decks")
    assert keep_bytes(plain) == before


@every_game
def test_a_deal_by_itself_can_be_forked(game: str, seed: int) -> None:
    """With ``episode="deal"`` the deal is the match."""
    batch = advance(card_envs.batch(game, 5, seed=seed, episode="deal", players=3), 3)
    policy, parameters = default_policy(batch.game)
    candidates = batch.legal_actions()[:, :4]
    for until in ("deal", "match"):
        values = batch.fork_values(candidates, policy, decks=2, until=until)
        expected = plain_values(batch, candidates, policy, parameters, decks=2, until=until)
        np.testing.assert_array_equal(values, expected, until)


# ---- rollouts, given decks


@until_both
@every_game
def test_on_the_true_deck_forks_are_rollouts(game: str, until: str, seed: int) -> None:
    batch = advance(card_envs.batch(game, 30, seed=seed, **short(game, {"players": 3})), 11)
    policy, parameters = default_policy(batch.game)
    candidates, rows, seeds = batch.legal_actions(), np.arange(30), np.arange(30) - 7
    for given in (None, seeds):
        values = batch.fork_values(candidates, policy, decks=0, until=until, seeds=given)
        for c in range(candidates.shape[1]):
            there = rows[candidates[:, c] >= 0]
            paid = batch.gather(there).rollout(
                candidates[there, c], policy, parameters, until=until, seeds=None if given is None else given[there]
            )
            np.testing.assert_array_equal(values[there, c], paid[np.arange(len(there)), batch.to_move[there]])
        assert np.isnan(values[candidates < 0]).all()


@pytest.mark.parametrize("game", [game for game in GAMES if card_envs.load_game(game).shuffles_every_deal])
def test_given_decks_are_played_and_forgotten(game: str, seed: int) -> None:
    """On the true deck the later deals have the orders that were given, in rollouts too; new decks know nothing of them."""
    its = card_envs.load_game(game)
    policy, parameters = default_policy(its)
    rng = random.Random(seed)
    long = {"deals": 5} if game == "pis_yedili" else {"target": 10_000, "max_deals": 5}
    changed = 0
    for number in range(8):
        deck = [rng.sample(its.cards, size) for size in (52, 52, 45, 52)]
        table = Table(its, seed=seed + number, deck=deck, **long)
        for _ in range(number):
            table.play(table.legal_actions()[-1])
        batch, before, mover = table.batch, keep_bytes(table.batch), table.to_move
        candidates = batch.legal_actions()[:, :3]
        true = batch.fork_values(candidates, policy, decks=0, until="match")
        for c, action in enumerate(candidates[0].tolist()):
            assert true[0, c] == play_out(table.clone(), action, policy, parameters, "match"), f"seed {seed}"
            assert table.clone().batch.rollout([action], policy)[0, mover] == true[0, c]
        new = batch.fork_values(candidates, policy, decks=3, until="match")
        np.testing.assert_array_equal(new, plain_values(batch, candidates, policy, parameters, decks=3, until="match"))
        assert keep_bytes(batch) == before
        batch.matches.later_orders.forget()
        np.testing.assert_array_equal(batch.fork_values(candidates, policy, decks=3, until="match"), new)
        changed += int((batch.fork_values(candidates, policy, decks=0, until="match") != true).sum())
    assert changed, "the orders matter"


# ---- common random numbers


@every_game
def test_candidates_do_not_influence_each_other(game: str, seed: int) -> None:
    """In another order, alone or twice in a row they have the same values, to the last bit."""
    rng = np.random.default_rng(seed)
    batch = advance(card_envs.batch(game, 8, seed=seed, players=2), 12)
    policy, _ = default_policy(batch.game)
    candidates = batch.legal_actions()
    values = batch.fork_values(candidates, policy, decks=3)
    order = rng.permutation(candidates.shape[1])
    np.testing.assert_array_equal(batch.fork_values(candidates[:, order], policy, decks=3), values[:, order])
    np.testing.assert_array_equal(batch.fork_values(np.repeat(candidates, 2, 1), policy, decks=3), np.repeat(values, 2, 1))
    for c in range(candidates.shape[1]):
        np.testing.assert_array_equal(batch.fork_values(candidates[:, [c]], policy, decks=3), values[:, [c]])
    rows = rng.integers(0, 8, 20)
    np.testing.assert_array_equal(batch.fork_values(candidates[rows], policy, decks=3, rows=rows), values[rows])
    np.testing.assert_array_equal(batch.gather(rows).fork_values(candidates[rows], policy, decks=3), values[rows])


@every_game
def test_decks_differ_by_identity_decision_number_and_seed(game: str, seed: int) -> None:
    """The same state has other decks in another match or at another decision, unless the seeds are the same."""
    batch = card_envs.batch(game, 6, seed=seed, players=4).gather([0] * 6)
    batch.matches.identity[1, loops.MATCH] += 1
    batch.matches.identity[2, loops.ROW] += 1
    batch.matches.decisions[3] += 1
    batch.matches.keys[4, : loops.STREAM] += np.uint64(1)
    policy, _ = default_policy(batch.game)
    candidates = batch.legal_actions()[:, :1]

    def list_values(seeds: NDArray[np.int64] | None = None) -> list[tuple[float, ...]]:
        """The values of the rows with several numbers of decks, which are equal by chance in one of them only."""
        several = [batch.fork_values(candidates, policy, decks=decks, seeds=seeds)[:, 0] for decks in (9, 20, 31)]
        return [tuple(row) for row in np.column_stack(several).tolist()]

    values = list_values()
    assert len(set(values[:5])) == 5
    assert values[5] == values[0]
    batch.matches.decisions[3] -= 1  # the policy would still draw other numbers there
    values = list_values(np.array([5, 5, -5, 5, 2**63 - 1, 5]))
    assert values[0] == values[1] == values[3] == values[5]
    assert len(set(values)) == 3
    by_deck = [batch.fork_values(candidates[:1], policy, decks=decks, rows=[0])[0, 0] * decks for decks in range(1, 30)]
    assert len(set(np.diff(by_deck).round(9))) > 3, "every deck is another"


@every_game
def test_the_mean_over_decks_is_that_over_all_orders_of_the_stock(game: str, seed: int) -> None:
    """The difference to rollouts on stocks shuffled by NumPy is within four standard errors, which are a few percent."""
    orders, rng = 4000, np.random.default_rng(seed)
    start = advance(card_envs.batch(game, 1, seed=seed, players=4), 2)
    policy, _ = default_policy(start.game)
    action = start.legal_actions()[:, 0]
    worlds = start.gather(np.zeros(orders, int))
    states = worlds.matches.states
    drawn, end = int(states["drawn"][0]), int(states["deck_size"][0])
    states["deck"][:, drawn:end] = rng.permuted(states["deck"][:, drawn:end], axis=1)
    states["key"] = rng.integers(0, 2**64, orders, np.uint64)
    paid = worlds.rollout(np.repeat(action, orders), policy, until="deal", seeds=np.arange(orders))[:, start.to_move[0]]
    by_seed = start.fork_values(
        np.repeat(action[:, None], orders, 0), policy, rows=np.zeros(orders, int), seeds=np.arange(orders)
    )
    for values in (by_seed[:, 0], start.fork_values(action[:, None], policy, decks=orders)):
        error = ((paid.var() + by_seed.var()) / orders) ** 0.5
        assert 0.0 < error < 0.05 * max(1.0, abs(paid).max())
        assert abs(values.mean() - paid.mean()) < 4 * error, f"seed {seed}"


@every_game
def test_threads_do_not_matter(game: str, seed: int) -> None:
    batches = [advance(card_envs.batch(game, 301, seed=seed, threads=threads, players=2), 8) for threads in (1, 2, 5)]
    candidates = batches[0].legal_actions()
    one, *others = (batch.fork_values(candidates, decks=2) for batch in batches)
    for other in others:
        np.testing.assert_array_equal(one, other)


def test_later_shuffles_are_others_too(seed: int) -> None:
    """Flip 7 makes a new deck of the discard pile within a match. If the deck is empty, that is where decks differ."""
    batch = card_envs.batch("flip7", 1, seed=seed, players=2)
    states = batch.matches.states
    while states["drawn"][0] < 90 or states["phase"][0] != 0:
        batch.step(batch.sample())
    drawn, end = int(states["drawn"][0]), int(states["deck_size"][0])
    for card in states["deck"][0, drawn:end]:  # the deck goes to the discard pile
        states["discard"][0, card] += 1
    states["unseen"], states["drawn"] = 0, end
    batch.matches.refresh()
    by_deck = [batch.fork_values([[0]], "ev", decks=decks)[0, 0] * decks for decks in range(1, 30)]
    assert len(set(np.diff(by_deck).round(9))) > 3


# ---- legal actions


@every_set
def test_legal_actions_are_those_of_the_mask(game: str, options: dict[str, Any], seed: int) -> None:
    batch = card_envs.batch(game, 9, seed=seed, **options)
    for _ in range(30):
        batch.step(batch.sample())
        legal = batch.legal_actions()
        assert legal.dtype == np.int64
        assert legal.shape == (9, batch.action_mask.sum(axis=1).max())
        for row in range(9):
            there = np.flatnonzero(batch.action_mask[row]).tolist()
            assert legal[row].tolist() == there + [-1] * (legal.shape[1] - len(there))
        some = batch.legal_actions([8, 1, 1])
        np.testing.assert_array_equal(some, legal[[8, 1, 1], : some.shape[1]])
        assert (some >= 0).any(axis=0).all()
        narrow = batch.matches.list_legal(batch.matches.rows, 2)
        np.testing.assert_array_equal(narrow, np.pad(legal, ((0, 0), (0, 2)), constant_values=-1)[:, :2])


@every_game
def test_a_match_that_is_over_has_no_legal_actions(game: str) -> None:
    batch = card_envs.batch(game, 2, seed=1)
    batch.rollout(batch.sample())
    assert batch.legal_actions().shape == (2, 0)


# ---- what is refused


@every_game
def test_bad_forks_change_nothing(game: str, seed: int) -> None:
    batch = advance(card_envs.batch(game, 4, seed=seed, players=2), 5)
    default, before = batch.game.default_opponent, keep_bytes(batch)
    legal = batch.legal_actions()
    own = [*batch.game.policy(default).defaults.values()]
    illegal = legal.copy()
    illegal[2, -1] = int(np.flatnonzero(batch.action_mask[2] == 0)[0])
    with pytest.raises(IllegalAction, match=rf"illegal action in row 2: .* seat {batch.to_move[2]} .* {illegal[2, -1]} is"):
        batch.fork_values(illegal)
    for action in (batch.num_actions, 10**6, 2**63 - 1):
        illegal[2, -1] = action
        with pytest.raises(IllegalAction, match=f"illegal action in row 2: .*{action} is 'no action'; legal are"):
            batch.fork_values(illegal)
    illegal[3, 0] = batch.num_actions
    with pytest.raises(IllegalAction, match="illegal action in rows 2, 3"):
        batch.fork_values(illegal)
    with pytest.raises(IllegalAction, match="illegal action in row 2"):
        batch.fork_values(illegal[[0, 2]], rows=[0, 2])
    missing = legal.astype(float)
    missing[1, 0] = np.nan
    wrong: list[tuple[str, Any]] = [
        (r"candidates: expected an integer array of shape \(4, C\), got shape \(4,\)", lambda: batch.fork_values(legal[:, 0])),
        (r"of shape \(4, C\), got shape \(3, ", lambda: batch.fork_values(legal[:3])),
        (r"of shape \(2, C\), got shape \(4, ", lambda: batch.fork_values(legal, rows=[0, 1])),
        (r"of shape \(4, C\), got shape \(4, 0\)", lambda: batch.fork_values(legal[:, :0])),
        ("candidates: expected integers, got float64", lambda: batch.fork_values(legal.astype(float))),
        ("candidates: expected integers, got float64 .nan in row 1", lambda: batch.fork_values(missing)),
        ("candidates: expected integers, got bool", lambda: batch.fork_values(legal > 0)),
        ("candidates: row 0 is over", lambda: batch.fork_values(np.full((4, 1), 2**63, np.uint64))),
        ("unknown policy of", lambda: batch.fork_values(legal, "nobody")),
        (f"{default} takes {len(own)} parameters", lambda: batch.fork_values(legal, default, [*own, 1.0])),
        ("unknown until 'round'", lambda: batch.fork_values(legal, until="round")),
        ("indices: rows are 0 … 3", lambda: batch.fork_values(legal[:1], rows=[4])),
        ("indices: a non-empty list", lambda: batch.fork_values(legal[:0], rows=[])),
        ("seeds: expected integers", lambda: batch.fork_values(legal, seeds=[0.5, 1, 2, 3])),
        (r"seeds: expected an integer array of shape \(4,\)", lambda: batch.fork_values(legal, seeds=[1])),
        ("indices: rows are 0 … 3", lambda: batch.legal_actions([4])),
    ]
    wrong += [
        (r"decks = .*: allowed is a whole number", lambda decks=decks: batch.fork_values(legal, decks=decks))
        for decks in (-1, 1.0, "1", None, True, 2**63)
    ]
    for message, call in wrong:
        with pytest.raises(ValueError, match=message) as caught:
            call()
        assert "\n" not in str(caught.value)
    assert keep_bytes(batch) == before
    with pytest.raises(TypeError):
        batch.fork_values(legal, default, None, 3)  # type: ignore[misc]
    table = card_envs.table(game, seed=1)
    table.batch.rollout(table.batch.sample())
    with pytest.raises(ValueError, match="the match of row 0 is over"):
        table.batch.fork_values([[0]])


@every_game
def test_kinds_of_arrays_do_not_matter(game: str, seed: int) -> None:
    """Strided, read-only, small and unsigned integers, lists: the values are the same. No candidate is no error."""
    batch = advance(card_envs.batch(game, 4, seed=seed), 3)
    legal = batch.legal_actions()
    values = batch.fork_values(legal)
    strided = np.repeat(legal.astype(">i4"), 2, axis=1)[:, ::2]
    strided.flags.writeable = False
    np.testing.assert_array_equal(batch.fork_values(strided), values)
    np.testing.assert_array_equal(batch.fork_values(np.asfortranarray(legal).tolist()), values)
    np.testing.assert_array_equal(batch.fork_values(legal[:, :1].astype(np.uint16)), values[:, :1])
    assert np.isnan(batch.fork_values(np.full((4, 3), -7))).all()
