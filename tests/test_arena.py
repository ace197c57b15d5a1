"""The arena against truths that are known without it: equals share evenly, every match is a table's match."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import card_envs
from card_envs import IllegalAction, Table
from card_envs.arena import BOARD_LISTS, derive_list_seed, estimate_mean, play_duel
from card_envs.arena.boards import assign_seats
from card_envs.arena.playing import limit_blas, play_shard
from card_envs.arena.roster import Roster
from card_envs.arena.shard import Shard, Task, count_win_units
from card_envs.arena.statistics import bound_unseen_share
from card_envs.arena.storage import pack_shard
from card_envs.players import Decisions, Player, resolve
from tests.arena_players import First, Uniform
from tests.helpers import GAMES


class Outlaw:
    """Always answers with action 0, legal or not."""

    def act(self, decisions: Decisions) -> NDArray[np.int64]:
        return np.zeros(len(decisions), np.int64)

    def __repr__(self) -> str:
        return "<the outlaw>"


class Broken(First):
    """Fails when it is asked."""

    def act(self, decisions: Decisions) -> NDArray[Any]:
        raise RuntimeError("no idea")


def play_boards(name: str, players: dict[str, Player], lineup: tuple[str, ...], first: int, boards: int, seed: int) -> Shard:
    game = card_envs.load_game(name)
    with limit_blas():
        return play_shard(
            Task(game, game.resolve({"players": len(lineup)}), lineup, seed, first, boards), Roster(players, game)
        )


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("players", [2, 3])
def test_identical_players_share_exactly(name: str, players: int, seed: int) -> None:
    """On every board, so that the interval is the one that none of n equal boards leaves open."""
    result = play_duel(name, "random", "random", players=players, matches=60, seed=seed)
    assert result.share.mean == pytest.approx(1 / players, abs=1e-12), seed
    unseen = bound_unseen_share(60 // players, 0.025)
    assert (result.share.low, result.share.high) == pytest.approx(
        ((1 - unseen) / players, (1 + (players - 1) * unseen) / players)
    )
    assert result.margin.mean == pytest.approx(0.0, abs=1e-9), seed
    assert result.margin.high - result.margin.low < 1e-12, "a board has all its rotations"


@pytest.mark.parametrize("name", GAMES)
def test_equals_that_draw_differently_share_within_the_interval(name: str, seed: int) -> None:
    result = play_duel(name, Uniform(), "random", players=2, matches=1000, seed=seed)
    sd = (result.share.high - result.share.low) / (2 * 1.96)
    assert abs(result.share.mean - 0.5) < 4 * sd, f"seed {seed}: {result}"
    assert 0.01 < sd <= 1.01 * 0.5 / 500**0.5, "of 500 boards, whose shares deviate by .5 at most"


@pytest.mark.parametrize("name", GAMES)
def test_every_match_is_that_of_a_table(name: str, seed: int) -> None:
    """Each match is that of the table (seed, board, 0) with the same seating, and everybody gets what it pays their seat.

    A player sits in each seat of a board once, so that the shares by seat of a single board are those of single matches.
    """
    game = card_envs.load_game(name)
    lineup = ("first", "random", "usual")
    specs: dict[str, Any] = {"first": First(), "random": "random", "usual": game.default_opponent}
    players = {key: resolve(spec, game, {"players": 3}) for key, spec in specs.items()}
    for board in range(4):
        played = play_boards(name, players, lineup, board, 1, seed)
        points, margins = np.zeros(3), np.zeros(3)
        for rotation in range(3):
            [places] = assign_seats(seed, np.array([board]), np.array([rotation]), 3)
            table = Table(game, seed=(seed, board, 0), players=3)
            while table.to_move is not None:
                [action] = players[lineup[places[table.to_move]]].act(Decisions.at(table))
                table.play(int(action))
            scores = np.array(table.scores)
            points[places] += scores
            margins[places] += np.sign(game.score_scale(table.options)) * (3 * scores - scores.sum())
            for seat, place in enumerate(places):
                where = f"seed {seed}, board {board}, rotation {rotation}, seat {seat}"
                share = played.seat_shares[place, seat] / count_win_units(3)
                assert share == pytest.approx((2 * table.rewards[seat] + 1) / 3), where  # win: (n-k)/(k(n-1)), else -1/(n-1)
        np.testing.assert_array_equal(played.points, points, err_msg=f"seed {seed}, board {board}")
        np.testing.assert_array_equal(played.margins[0], margins, err_msg=f"seed {seed}, board {board}")


@pytest.mark.parametrize("at_once", [1, 7, 19, 20])
def test_how_many_are_played_at_once_changes_nothing(at_once: int, seed: int) -> None:
    game = card_envs.load_game("flip7")
    players: dict[str, Player] = {"a": resolve("random", game), "b": First(), "c": resolve("random", game)}
    whole = play_boards("flip7", players, ("a", "b", "c"), 0, 20, seed)
    first, *rest = (
        play_boards("flip7", players, ("a", "b", "c"), start, min(at_once, 20 - start), seed) for start in range(0, 20, at_once)
    )
    assert pack_shard(first.join(rest)) == pack_shard(whole), f"seed {seed}"


def test_both_sides_of_a_duel_share_the_wins(seed: int) -> None:
    ab, ba = (
        play_duel("flip7", *pair, players=2, matches=100, seed=seed) for pair in (("random", "count3"), ("count3", "random"))
    )
    assert ab.share.mean + ba.share.mean == pytest.approx(1.0), f"seed {seed}"
    assert ab.margin.mean == pytest.approx(-ba.margin.mean), f"seed {seed}"


def test_another_seed_deals_other_matches(seed: int) -> None:
    one, other = (play_duel("flip7", "random", "count3", players=2, matches=40, seed=s) for s in (seed, seed + 1))
    assert one.margin != other.margin


@pytest.mark.parametrize("tied", [2, 3])
def test_shares_of_the_win_split_ties(tied: int, seed: int) -> None:
    """One round of Flip 7 among three: on the first board that ends so, two or all three of them share the win."""
    game = card_envs.load_game("flip7")
    options = game.resolve({"players": 3, "max_rounds": 1})
    players = {name: resolve("count3", game) for name in "abc"}
    for board in range(3000):
        table = Table(game, seed=(seed, board, 0), **options)
        while table.to_move is not None:
            table.play(int(players["a"].act(Decisions.at(table))[0]))
        winners = table.state()["winners"]
        if len(winners) == tied:
            break
    else:
        pytest.fail(f"seed {seed}: no such board")
    shard = play_shard(Task(game, options, ("a", "b", "c"), seed, board, 1), Roster(players, game))
    expected = [count_win_units(3) // tied if seat in winners else 0 for seat in range(3)]
    assert shard.seat_shares.tolist() == [expected] * 3, "equals do the same in every seat"


def test_intervals_take_the_board_as_the_unit() -> None:
    """The interval of a duel is that of the means of its boards, not of its matches."""
    result = play_duel("flip7", "count3", "random", players=2, matches=400)
    game = card_envs.load_game("flip7")
    players = {"count3": resolve("count3", game), "random": resolve("random", game)}
    shard = play_boards("flip7", players, ("count3", "random"), 0, 200, derive_list_seed("report"))
    assert result.share == estimate_mean(shard.shares[:, 0] / (2 * count_win_units(2)), (0.0, 1.0))
    assert result.margin == estimate_mean(shard.margins[:, 0] / 2)
    assert result.share.n == 200


def test_matches_are_rounded_up_to_whole_boards() -> None:
    assert play_duel("flip7", "random", "random", players=3, matches=7).matches == 9


def test_board_lists_share_no_board() -> None:
    """A list's seeds are a range of their own, the largest seed included."""
    ranges = [(derive_list_seed(name, 0), derive_list_seed(name, 2**40 - 1)) for name in BOARD_LISTS]
    assert all(low + 2**40 - 1 == high for low, high in ranges)
    assert all(high < low for (_, high), (low, _) in pairwise(ranges))
    assert ranges[0][0] == 0, "training's environments are seeded with small numbers"
    margins = {play_duel("flip7", "random", "count3", players=2, matches=100, board_list=name).margin for name in BOARD_LISTS}
    assert len(margins) == len(BOARD_LISTS)


def test_a_failure_in_a_duel_is_named() -> None:
    with pytest.raises(IllegalAction, match="<the outlaw>: illegal action in row"):
        play_duel("flip7", Outlaw(), "random", players=2, matches=40)
    with pytest.raises(RuntimeError, match="no idea"):
        play_duel("flip7", "random", Broken(), players=2, matches=40)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"game": "flip"}, "unknown game 'flip' – did you mean 'flip7'"),
        ({"a": "randm"}, "did you mean 'random'"),
        ({"players": 13}, "option players = 13: allowed is 2 … 12"),
        ({"board_list": "tun"}, "unknown board list 'tun' – did you mean 'tune'"),
        ({"seed": 2**256}, "allowed is an integer from 0 to 2\\*\\*256 - 1"),
        ({"seed": -1}, "seed of the board list = -1"),
        ({"players": 4, "matches": 4}, "matches = 4: allowed is a whole number from 5"),
        ({"matches": 20.0}, "matches = 20.0: allowed is a whole number from 5"),
    ],
)
def test_bad_input_is_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        play_duel(**{"game": "flip7", "a": "random", "b": "random", "players": 4, **arguments})
