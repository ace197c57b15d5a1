"""No player object sees a board twice: what one remembers of it does not help it in the other rotations."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import card_envs
from card_envs.arena import derive_list_seed, estimate_mean, play_duel, run_benchmark
from card_envs.arena.boards import Lineup
from card_envs.arena.playing import limit_blas, play_shard
from card_envs.arena.roster import Roster, copy_player
from card_envs.arena.shard import Task, count_win_units
from card_envs.players import Decisions, Player, resolve
from card_envs.players.player import Function, is_stateless
from tests.arena_players import First

HERE = "tests.test_arena_memory"
SHORT: dict[str, Any] = {"players": 2, "target": 60}


class Ev:
    """Plays Flip 7 like ``ev``."""

    def act(self, decisions: Decisions) -> NDArray[np.int64]:
        return resolve("ev", decisions.game).act(decisions)


class Elephant(Ev):
    """Plays Flip 7 like its twin ``Ev``, but keeps which card followed whenever it could see that.

    Cards leave the deck in the same order in all rotations of a board. So wherever the same cards are left as in another
    rotation, it knows the next one: it draws what does not bust it, and stays otherwise.
    """

    knew = 0  # how often one of them has known the next card

    def __init__(self) -> None:
        self.drew: dict[
            int, tuple[tuple[str, ...], list[str]]
        ] = {}  # by match: what was left and the own line at the last draw
        self.next: dict[tuple[str, ...], str] = {}

    def act(self, decisions: Decisions) -> NDArray[np.int64]:
        actions = super().act(decisions)
        for row, (match, table) in enumerate(zip(decisions.match.tolist(), decisions.tables(), strict=True)):
            state, seat = table.state(), int(decisions.seat[row])
            left, line = tuple(sorted(state["deck"])), state["lines"][seat]
            before, old = self.drew.pop(match, ((), line))
            if len(line) > len(old) and line[: len(old)] == old:
                self.next[before] = line[len(old)]
                then = Counter(before) - Counter(line[len(old) :])
                drawn = then - Counter(left)
                if drawn.total() == 1:  # the other player has drawn one card since
                    self.next[tuple(sorted(then.elements()))] = next(iter(drawn))
            draw, stay = table.action_index("draw"), table.action_index("stay")
            if {draw, stay} == {*np.flatnonzero(decisions.action_mask[row]).tolist()}:
                if left in self.next:
                    Elephant.knew += 1
                    actions[row] = stay if self.next[left] in line else draw
                if actions[row] == draw:
                    self.drew[match] = left, list(line)
        return actions


class Sharing(Roster):
    """A roster that seats one object in all rotations, as the arena once did."""

    def seat_players(self, lineup: Lineup, options: Mapping[str, Any], rotation: int) -> list[Player]:
        players = self.make_players(lineup, options)
        return [players[name] for name in lineup]


def play(roster: Roster, boards: int, seed: int) -> Any:
    game = card_envs.load_game("flip7")
    options = game.resolve(SHORT)
    with limit_blas():
        task = Task(game, options, ("a", "b"), derive_list_seed("tune", seed), 0, boards, forgiving=False, measured=False)
        shard = play_shard(task, roster)
    return estimate_mean(shard.shares[:, 0] / (2 * count_win_units(2)), (0.0, 1.0))


def test_memory_of_a_board_gains_nothing(seed: int) -> None:
    """Issue 11, item 1: its share is inside the interval of its twin, since it never knows a card.

    One object in both rotations would know the next card more than a hundred times.
    """
    game = card_envs.load_game("flip7")
    twin = play(Roster({"a": Ev(), "b": "ev"}, game), 60, seed)
    Elephant.knew = 0
    elephant = play(Roster({"a": Elephant(), "b": "ev"}, game), 60, seed)
    assert twin.low <= elephant.mean <= twin.high, f"seed {seed}"
    assert Elephant.knew < 10, "only by chance"
    play(Sharing({"a": Elephant(), "b": "ev"}, game), 60, seed)
    assert Elephant.knew > 100, "the test would notice"


class Chair(First):
    """Notes which matches it is asked in, and in which seats."""

    made: list[Chair] = []  # noqa: RUF012 (filled by all of them)

    def __init__(self) -> None:
        self.seats: defaultdict[int, set[int]] = defaultdict(set)
        Chair.made.append(self)

    def act(self, decisions: Decisions) -> NDArray[Any]:
        for match, seat in zip(decisions.match.tolist(), decisions.seat.tolist(), strict=True):
            self.seats[match].add(seat)
        return super().act(decisions)


@pytest.mark.parametrize("players", [2, 3])
def test_an_object_has_one_chair_of_every_board(players: int, seed: int) -> None:
    """It sits in one seat of one match of a board, and it meets another line-up's boards in another object."""
    Chair.made.clear()
    boards = 4
    specs = {"one": f"{HERE}:Chair", "other": f"{HERE}:Chair", "random": "random"}
    run_benchmark("flip7", specs, tables=players, matches=boards * players, seed=seed, target=10)
    asked = [chair for chair in Chair.made if chair.seats]
    assert all(len(seats) == 1 for chair in asked for seats in chair.seats.values()), "two seats of a match"
    assert all(len(chair.seats) <= boards for chair in asked), "two matches of a board"
    by_match = Counter(match for chair in asked for match in chair.seats)
    assert max(by_match.values()) <= 2 * players, "a board is played again to see whether it can be reproduced"
    assert len(by_match) > boards * players, "every match of a board has a number of its own"


def test_the_keys_of_rotations_differ(seed: int) -> None:
    """Neither the number of a match nor any key of a decision is the same in two rotations of a board."""
    seen: list[tuple[int, int]] = []
    lock = threading.Lock()

    class Keys(First):
        def act(self, decisions: Decisions) -> NDArray[Any]:
            with lock:
                seen.extend(zip(decisions.match.tolist(), decisions.key.tolist(), strict=True))
            return super().act(decisions)

        def __deepcopy__(self, memo: object) -> Keys:
            return Keys()

    play_duel("flip7", Keys(), "count3", players=3, matches=9, seed=seed, target=80)
    assert len({match for match, _ in seen}) == 9
    assert len({key for _, key in seen}) == len(seen) > 20


# ---- copies


def make_counter() -> Callable[[Decisions], NDArray[Any]]:
    """A function that counts its calls in what it closes over."""
    calls = [0]

    def act(decisions: Decisions) -> NDArray[Any]:
        calls[0] += 1
        act.calls = calls[0]  # type: ignore[attr-defined]
        return np.argmax(decisions.action_mask, axis=1)

    return act


def test_a_function_is_copied_with_what_it_closes_over() -> None:
    table = card_envs.table("flip7", seed=1)
    original = make_counter()
    other: Any = copy_player(Function(original, "counter"))
    for _ in range(3):
        other.act(Decisions.at(table))
    assert other.act.__closure__[1].cell_contents == [3]
    assert original.__closure__ is not None
    assert original.__closure__[1].cell_contents == [0]


ONLY = First()


def same() -> First:
    """A factory that returns the same object every time."""
    return ONLY


def test_a_factory_that_returns_one_object_does_not_share_it() -> None:
    game = card_envs.load_game("flip7")
    roster = Roster({"a": f"{HERE}:same", "b": "random"}, game)
    options = game.resolve({"players": 2})
    seated = [roster.seat_players(("a", "b"), options, rotation) for rotation in range(2)]
    assert seated[0][0] is not seated[1][0]
    assert seated[0][1] is seated[1][1], "a compiled policy keeps nothing"
    assert roster.seat_players(("a", "b"), options, 0)[0] is seated[0][0]


class Locked(First):
    """Cannot be copied."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


class Single(First):
    """Says that it is its own copy."""

    def __deepcopy__(self, memo: object) -> Single:
        return self


@pytest.mark.parametrize(
    ("player", "reason"), [(Locked(), "TypeError: cannot pickle"), (Single(), "returns the object itself")]
)
def test_what_cannot_be_copied_is_refused_with_the_reason(player: Player, reason: str) -> None:
    for call in (
        lambda: play_duel("flip7", player, "random", players=2, matches=10),
        lambda: run_benchmark("flip7", {"it": player, "random": "random"}, matches=10),
    ):
        with pytest.raises(ValueError, match=f"cannot be copied .*{reason}.*name it by a spec, module:factory"):
            call()


def test_only_classes_of_the_package_are_believed_to_be_stateless() -> None:
    class Liar(First):
        stateless = True

    game = card_envs.load_game("flip7")
    assert not is_stateless(Liar())
    assert all(is_stateless(resolve(spec, game)) for spec in ("ev", "random", "exact", "racer"))
