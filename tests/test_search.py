"""Search: a plain twin of it at tables, what it may see, how worlds are weighted, and when it deviates from its policy."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import card_envs
from card_envs import Batch, Search, Table
from card_envs.engine import loops
from card_envs.engine.jitable import register_jitable
from card_envs.engine.rows import open_row
from card_envs.engine.search import ADVANTAGE, COUNT, SQUARES, SUMS, VALUE, WEIGHT, add_value, decide, estimate, halve
from card_envs.engine.searching import SearchRun
from card_envs.players import Decisions, resolve
from card_envs.players.player import BuiltIn
from card_envs.players.search import Analysis
from tests.batches import SETS, advance, every_game
from tests.helpers import label, quick, short
from tests.reference import streams
from tests.searches import decide_at, make_batch

MARGIN, WIN, MATCH = "margin", "win", "match"


@register_jitable
def like_even_cards(s: Any, seat: int) -> float:
    """A likelihood that singles out the worlds in which the next card has an even number."""
    return 1.0 if s.deck[s.drawn] % 2 == 0 else 0.125


@register_jitable
def value_totals(s: Any, seat: int) -> float:
    """What a match is worth: the player's part of the points so far."""
    points = 1.0
    for other in range(s.players):
        points += s.totals[other]
    return s.totals[seat] / points


def same(one: Analysis, other: Analysis) -> bool:
    """Whether two analyses agree to the last bit."""
    return pickle.dumps(one) == pickle.dumps(other)


# ---- the plain twin


class Twin:
    """The search of one decision by play-outs at tables, one after the other.

    Args:
        table: A table at which the hidden cards of the seat to move have been dealt anew.
        key: The key of the decision.
        policy: The built-in player that plays on.
        worth: What the end of a play-out is worth.
        weighted: Whether the likelihood of the game counts.
    """

    def __init__(self, table: Table, key: int, policy: BuiltIn, worth: str, weighted: bool) -> None:
        self.table, self.key, self.policy, self.worth, self.weighted = table, key, policy, worth, weighted
        assert table.to_move is not None
        self.seat = table.to_move
        self.legal = np.flatnonzero(table.action_mask()).tolist()
        self.usual = int(policy.act(Decisions.at(table))[0])
        self.left = list(self.legal)
        self.worlds = 0
        self.seen: dict[int, list[tuple[float, float, float]]] = {action: [] for action in self.legal}  # weight, value, usual's

    def deal_world(self) -> Table:
        """The next world, with the random streams of its players."""
        world = Table.from_row(self.table.matches, 0)
        m = world.matches
        with np.errstate(over="ignore"):
            world.game.redeal(open_row(m.states), self.seat, np.uint64(streams.stream(self.key, 2 * self.worlds)))
        m.keys[0, loops.STREAM] = streams.stream(self.key, 2 * self.worlds + 1)
        m.refresh()
        self.worlds += 1
        return world

    def play_out(self, world: Table, action: int) -> float:
        """What the seat is paid in a world if it plays an action and the policy goes on."""
        table = world.clone()
        while True:
            table.play(action)
            if table.is_over or (self.worth != WIN and table.deals):
                break
            action = int(self.policy.act(Decisions.at(table))[0])
        if self.worth == MARGIN:
            scores = [float(score) for score in table.deals[0]]
            others = [score for seat, score in enumerate(scores) if seat != self.seat]
            return (scores[self.seat] - sum(others) / len(others)) * table.game.score_scale(table.options)
        if table.is_over:
            return float(table.rewards[self.seat])
        value: float = value_totals(open_row(table.matches.states), self.seat)
        return value

    def sample(self, worlds: int) -> None:
        """Play all actions that are left in so many more worlds."""
        for _ in range(worlds):
            world = self.deal_world()
            weight = like_even_cards(open_row(world.matches.states), self.seat) if self.weighted else 1.0
            values = {action: self.play_out(world, action) for action in self.left}
            for action, value in values.items():
                self.seen[action].append((weight, value, values[self.usual]))

    def estimate(self, action: int) -> tuple[float, float, float, float]:
        """The value of an action, its standard error, its advantage over the usual one, and the standard error of that."""
        w, v, u = np.array(self.seen[action]).T
        return *weighted_mean(w, v), *weighted_mean(w, v - u)

    def run(self, rollouts: int) -> None:
        """Sequential halving."""
        rounds = math.ceil(math.log2(len(self.legal)))
        for number in range(rounds):
            if number:
                others = sorted((a for a in self.left if a != self.usual), key=lambda action: -self.estimate(action)[0])
                kept = {self.usual, *others[: math.ceil(len(others) / 2)]}
                self.left = [action for action in self.left if action in kept]
            self.sample(max(2, rollouts // (rounds * len(self.left))))

    def choose(self, caution: float) -> int:
        """The best action if it is clearly better than the usual one."""
        best = max(self.left, key=lambda action: self.estimate(action)[2])
        _, _, advantage, error = self.estimate(best)
        return best if best != self.usual and advantage > caution * error else self.usual


def weighted_mean(w: NDArray[np.float64], x: NDArray[np.float64]) -> tuple[float, float]:
    """The mean of self-normalised importance sampling and its standard error, by the textbook (Owen 2013, section 9.2)."""
    p = w / w.sum()
    mean = float((p * x).sum())
    effective = 1.0 / float((p**2).sum())
    return mean, math.sqrt(float((p**2 * (x - mean) ** 2).sum()) * effective / (effective - 1.0))


def check_twin(batch: Batch, row: int, *, worth: str, weighted: bool, **keywords: Any) -> int:
    """Compare the search of one decision with its twin, and return how many worlds there were."""
    until = "match" if worth == WIN else "deal"
    player = Search(30, until=until, value=MARGIN if worth == MARGIN else None, caution=0.5, beliefs=weighted, **keywords)
    decisions = decide_at(batch, [row])
    [found] = player.analyse(decisions)
    policy = resolve(batch.game.default_opponent, batch.game)
    assert isinstance(policy, BuiltIn)
    twin = Twin(decisions.tables()[0], int(decisions.key[0]), policy, worth, weighted)
    assert found.actions.tolist() == twin.legal
    if len(twin.legal) == 1:
        assert found.chosen == found.usual == twin.legal[0]
        assert found.worlds == 0
        return 0
    twin.run(30)
    assert found.usual == twin.usual
    assert found.rollouts.tolist() == [len(twin.seen[action]) for action in twin.legal]
    assert found.worlds == twin.worlds
    expected = np.array([twin.estimate(action) for action in twin.legal]).T
    for figures, plain in zip((found.values, found.errors, found.advantages, found.advantage_errors), expected, strict=True):
        np.testing.assert_allclose(figures, plain, rtol=1e-9, atol=1e-9)
    w = np.array(twin.seen[twin.usual])[:, 0]
    assert found.effective_worlds == pytest.approx(w.sum() ** 2 / (w**2).sum())
    assert found.chosen == twin.choose(0.5)
    assert player.act(decisions).tolist() == [found.chosen]
    return twin.worlds


@pytest.mark.parametrize(("game", "options"), SETS, ids=label)
def test_it_finds_what_play_outs_at_tables_find(game: str, options: dict[str, Any], seed: int) -> None:
    """With all numbers of players and options, to the end of the deal."""
    searched = 0
    for steps in (3, 24):
        batch = make_batch(game, 2, steps, seed, **short(game, options))
        for row in range(2):
            searched += check_twin(batch, row, worth=MARGIN, weighted=False) > 0
    assert searched


@every_game
def test_it_plays_matches_to_their_end(game: str, seed: int) -> None:
    batch = make_batch(game, 3, 9, seed, **quick(game, {"players": 3}))
    assert sum(check_twin(batch, row, worth=WIN, weighted=False) for row in range(3))


def test_worlds_count_by_their_likelihood_and_deals_by_the_match(seed: int) -> None:
    """To the end of a deal, in a game that knows both: the figures are those of the twin, and others than without them."""
    game = replace(card_envs.load_game("pis_yedili"), likelihood=like_even_cards, match_value=value_totals)
    batch = make_batch(game, 6, 30, seed, players=3)
    assert sum(check_twin(batch, row, worth=MATCH, weighted=True) for row in range(6))
    both, unweighted, margins = (
        Search(30, beliefs=beliefs, value=value).analyse(decide_at(batch))
        for beliefs, value in ((True, None), (False, "match"), (True, "margin"))
    )
    for one, other in ((both, unweighted), (both, margins)):
        assert any(not np.allclose(a.values, b.values, equal_nan=True) for a, b in zip(one, other, strict=True))
    assert all(a.effective_worlds < b.effective_worlds for a, b in zip(both, unweighted, strict=True) if b.worlds)


# ---- the parts, by hand


def test_a_mean_by_hand() -> None:
    """Weights 2, 1, 1, values 1, 5, 3, of the usual action 0, 4, 5: (2 + 5 + 3) / 4 = 2.5 and (2 + 1 - 2) / 4 = .25."""
    sums = np.zeros(SUMS)
    for weight, value, usual in ((2.0, 1.0, 0.0), (1.0, 5.0, 4.0), (1.0, 3.0, 5.0)):
        add_value(sums, weight, value, usual)
    assert (sums[COUNT], sums[WEIGHT], sums[SQUARES]) == (3, 4, 6)
    effective = 16 / 6
    mean, error = estimate(sums, VALUE)
    assert mean == 2.5
    assert error == pytest.approx(((4 * 1.5**2 + 2.5**2 + 0.5**2) / 16 * effective / (effective - 1)) ** 0.5)
    mean, error = estimate(sums, ADVANTAGE)
    assert mean == 0.25
    assert error == pytest.approx(((4 * 0.75**2 + 0.75**2 + 2.25**2) / 16 * effective / (effective - 1)) ** 0.5)
    assert estimate(np.zeros(SUMS), VALUE) == (0.0, math.inf)
    one = np.zeros(SUMS)
    add_value(one, 3.0, 2.0, 1.0)
    assert estimate(one, VALUE) == (2.0, math.inf), "one world tells nothing about the error"


def test_the_worse_half_of_the_others_goes_and_the_usual_action_stays() -> None:
    sums = np.zeros((7, SUMS))
    sums[:, VALUE] = [3, 1, 5, 4, 4, 2, 9]
    left = np.array([1, 1, 1, 1, 1, 1, 0], np.int8)  # five others than action 1, of which three stay; the last has gone
    halve(left, 1, sums)
    assert left.tolist() == [0, 1, 1, 1, 1, 0, 0]
    halve(left, 1, sums)  # of equals the first stays
    assert left.tolist() == [0, 1, 1, 1, 0, 0, 0]
    halve(left, 1, sums)
    assert left.tolist() == [0, 1, 1, 0, 0, 0, 0]


def test_caution_counts_standard_errors() -> None:
    """Advantages 1, 3 over two worlds: the mean is 2 and its standard error 1."""
    sums, left = np.zeros((2, SUMS)), np.ones(2, np.int8)
    for advantage in (1.0, 3.0):
        add_value(sums[0], 1.0, 0.0, 0.0)
        add_value(sums[1], 1.0, advantage, 0.0)
    assert [decide(left, 0, sums, caution) for caution in (0.0, 1.9, 2.0, 1e9)] == [1, 1, 0, 0]
    assert decide(np.array([1, 0], np.int8), 0, sums, 0.0) == 0, "one that has gone is not chosen"


@every_game
def test_with_all_caution_it_is_its_policy(game: str, seed: int) -> None:
    decisions = decide_at(make_batch(game, 16, 5, seed, players=2))
    usual = resolve(decisions.game.default_opponent, decisions.game).act(decisions)
    np.testing.assert_array_equal(Search(10, caution=1e9).act(decisions), usual)


# ---- what it depends on


@every_game
def test_it_does_not_see_hidden_cards(game: str, seed: int) -> None:
    """Two tables that look the same to the mover give the same analysis, whatever lies hidden and is given for later deals."""
    batch = make_batch(game, 12, 15, seed, players=3)
    hidden = batch.clone()
    hidden.redeal(hidden.to_move.astype(np.int64), seed + 1)
    assert hidden.matches.states.tobytes() != batch.matches.states.tobytes()
    player = Search(24)
    one, other = player.analyse(decide_at(batch)), player.analyse(decide_at(hidden))
    assert all(map(same, one, other))


def test_given_decks_are_hidden_too(seed: int) -> None:
    """The next deal's deck is given; a search to the end of the match must not know it."""
    deck = [list(card_envs.load_game("pis_yedili").cards)] * 3
    given, free = (card_envs.table("pis_yedili", players=2, deals=3, seed=seed, deck=d) for d in (deck, deck[:1]))
    player = Search(40, until="match")
    assert same(player.analyse(Decisions.at(given))[0], player.analyse(Decisions.at(free))[0])


@every_game
def test_copies_are_the_tables(game: str, seed: int) -> None:
    """Row n of the copies holds what ``tables()[n]`` holds, whichever rows are asked for, and no trace of the true identity."""
    batch = make_batch(game, 5, 11, seed, players=3)
    decisions, before = decide_at(batch), batch.matches.states.tobytes()
    for which in (None, np.array([4, 1])):
        copies = decisions.copies(which)
        tables = [decisions.tables()[n] for n in (range(5) if which is None else which)]
        for name in ("states", "keys", "decisions", "to_move", "words", "observation", "identity", "seeds"):
            expected = np.concatenate([getattr(table.matches, name) for table in tables])
            assert getattr(copies, name).tobytes() == expected.tobytes(), name
    assert batch.matches.states.tobytes() == before


@every_game
def test_a_row_does_not_depend_on_the_others(game: str, seed: int) -> None:
    batch = make_batch(game, 9, 10, seed, players=2)
    player = Search(24)
    alone = [player.analyse(decide_at(batch, [row]))[0] for row in range(9)]
    for rows in (list(range(9)), [7, 2, 2]):
        assert all(same(alone[row], found) for row, found in zip(rows, player.analyse(decide_at(batch, rows)), strict=True))
    batch.matches.threads = 3
    assert all(map(same, alone, player.analyse(decide_at(batch))))
    assert player.batch_invariant
    assert not Search(milliseconds=1).batch_invariant


@every_game
def test_interpreted_searches_are_the_same(game: str, seed: int) -> None:
    compiled, plain = (
        advance(card_envs.batch(game, 2, seed=seed, interpreted=interpreted, **quick(game, {"players": 2})), 5)
        for interpreted in (False, True)
    )
    player = Search(12)
    assert all(map(same, player.analyse(decide_at(compiled)), player.analyse(decide_at(plain))))


# ---- time


@every_game
def test_a_budget_of_time_is_spent_on_all_rounds(game: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock on which every world takes ten microseconds, so that the test does not depend on the machine."""
    now = 0.0
    run = SearchRun.run

    def run_slowly(self: SearchRun, task: int, amount: int = 0, part: slice = slice(None)) -> None:
        nonlocal now
        now += 1e-5 * amount
        run(self, task, amount, part)

    monkeypatch.setattr(SearchRun, "run", run_slowly)
    monkeypatch.setattr("card_envs.players.search.perf_counter", lambda: now)
    decisions = decide_at(make_batch(game, 4, 12, seed, players=2))
    player = Search(milliseconds=3)
    analyses = player.analyse(decisions)
    for found in analyses:
        if len(found.actions) > 1:
            rounds = math.ceil(math.log2(len(found.actions)))
            assert 300 - rounds <= found.worlds <= 300
            fair = 300 / rounds
            assert all(abs(n / fair - round(n / fair)) < 0.1 for n in found.rollouts.tolist()), "each round has the same time"
            assert found.rollouts.max() == found.worlds
        else:
            assert found.worlds == 0
    assert player.act(decisions).tolist() == [found.chosen for found in analyses]


def test_time_ends_on_a_real_clock(seed: int) -> None:
    decisions = decide_at(make_batch("flip7", 1, 3, seed, players=2))
    [found] = Search(milliseconds=0.001).analyse(decisions)
    assert found.worlds >= 2 or len(found.actions) == 1
