"""What a line of Flip 7 is: each function of a set of cards against the rules page, card by card."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import permutations
from typing import Any

import numba
import numpy as np
import pytest

from card_envs.engine.rows import open_row
from card_envs.games.flip7 import deck, lines
from card_envs.games.flip7.state import ACTIVE, CARDS, COPIES, NOBODY, STATE
from tests.games.flip7 import next_card
from tests.reference.flip7 import MODIFIERS, VALUE

MINUS = {name: -int(name) for name in MODIFIERS if name.startswith("-")}


def held(*names: str) -> int:
    """A line as a set."""
    return sum(1 << CARDS.index(name) for name in names)


def some_lines(seed: int, number: int = 500) -> Iterator[tuple[list[str], int]]:
    """Random lines, by their names and as sets."""
    rng = random.Random(seed)
    for _ in range(number):
        names = rng.sample([*VALUE, *MODIFIERS], rng.randint(0, 14))
        yield names, held(*names)


def test_value_sum_minus_and_count(seed: int) -> None:
    for names, line in some_lines(seed):
        numbers = [name for name in names if name in VALUE]
        pair = {"13", "lucky13"} <= set(names)
        assert lines.sum_line(line) == sum(VALUE[name] for name in numbers), names
        assert lines.sum_minus(line) == sum(MINUS.get(name, 0) for name in names), names
        assert lines.count_line(line, True) == len(numbers), names
        assert lines.count_line(line, False) == len(numbers) - pair, names
        assert lines.is_flip_seven(line, False) == (len(numbers) - pair >= 7), names


def test_doubles() -> None:
    """F22: a second card of the same value; F28: one of two 13s may be lucky; F30: Unlucky 7 wipes the line instead."""
    for first, second in permutations(VALUE, 2):
        lawful = {first, second} == {"13", "lucky13"} or second == "unlucky7"
        double = VALUE[first] == VALUE[second] and not lawful
        assert lines.is_double(held(first), CARDS.index(second)) == double, (first, second)
    for name in (str(value) for value in range(14)):
        assert lines.is_double(held(name, "-2", "/2"), CARDS.index(name))
    assert lines.is_double(held("13", "lucky13"), CARDS.index("13"))
    for name in MODIFIERS:
        assert not lines.is_double(held("7", "13"), CARDS.index(name))


def test_a_card_arrives() -> None:
    assert lines.add_card(held("3", "9", "-4"), CARDS.index("12")) == held("3", "9", "-4", "12")
    assert lines.add_card(held("3", "9"), CARDS.index("9")) == lines.BUST
    assert lines.add_card(held("unlucky7"), CARDS.index("7")) == lines.BUST
    assert lines.add_card(held("13"), CARDS.index("lucky13")) == held("13", "lucky13")
    assert lines.add_card(held("lucky13"), CARDS.index("13")) == held("13", "lucky13")
    assert lines.add_card(held("7", "0", "lucky13", "/2"), CARDS.index("unlucky7")) == held("unlucky7")


@pytest.mark.parametrize(
    ("names", "flips", "brutal", "score"),
    [
        ("3 11 5 7 10 8 4 /2 -4", True, False, 20),  # the example of F39, without the 15
        ("13 lucky13", False, False, 26),
        ("5 4 /2", False, False, 4),  # rounded down
        ("2 -10", False, False, 0),
        ("2 -10", False, True, -8),  # F41
        ("0 12 -10", False, False, 0),  # F31
        ("0 12 -10", False, True, 0),  # F44
        ("0 1 2 3 4 5 6", True, False, 21),
        ("", False, True, 0),
    ],
)
def test_score(names: str, flips: bool, brutal: bool, score: int) -> None:
    assert lines.score_line(held(*names.split()), flips, brutal) == score


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (lines.count_set, ()),
        (lines.sum_line, ()),
        (lines.sum_minus, ()),
        (lines.find_doubles, ()),
        (lines.count_line, (False,)),
        (lines.score_line, (False, True)),
        (lines.score_line, (True, False)),
    ],
)
def test_compiled_is_interpreted(function: Callable[..., Any], arguments: tuple[Any, ...], seed: int) -> None:
    compiled = numba.njit(lambda line: function(line, *arguments))
    for names, line in some_lines(seed, 100):
        assert compiled(line) == function(line, *arguments), names


def test_arrays_of_lines(seed: int) -> None:
    sets = np.array([line for _, line in some_lines(seed)])
    for function in (lines.count_set, lines.sum_line, lines.sum_minus, lines.find_doubles):
        assert function(sets).tolist() == [function(int(line)) for line in sets]
    assert lines.count_line(sets, True).tolist() == [lines.count_line(int(line), True) for line in sets]


# ---- the next card


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
@pytest.mark.parametrize("empty", [False, True])
def test_counts_in_words_add_up_as_they_do_one_by_one(empty: bool, seed: int) -> None:
    """F7: the next card comes from the deck or, when that is empty, from the discard pile."""
    rng = np.random.default_rng(seed)
    state = np.zeros(1, STATE)
    s = open_row(state)
    for kinds in [*range(0, 1 << 16, 77), (1 << 16) - 1]:
        state["unseen"], state["discard"] = (rng.integers(0, np.array(COPIES) + 1) for _ in range(2))
        state["deck_size"], state["drawn"] = (40, 40) if empty else (40, 39)
        counts = state["discard" if empty else "unseen"][0].tolist()
        plain = sum(counts[kind] for kind in range(16) if kinds >> kind & 1)
        assert deck.sum_packed(*deck.pack_next(s), kinds) == plain


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
@pytest.mark.parametrize("brutal", [False, True])
@pytest.mark.parametrize("pair_counts_twice", [False, True])
def test_the_next_card_brings_what_each_card_brings(brutal: bool, pair_counts_twice: bool, seed: int) -> None:
    """F22, F27–F31, F39, F41, F44: also with Zero, /2, more minus than points, and six cards of a Flip 7."""
    rng = random.Random(seed)
    state = np.zeros(1, STATE)
    s = open_row(state)
    state["status"], state["flipper"], state["drawn"], state["deck_size"] = ACTIVE, NOBODY, 0, 100
    state["brutal"], state["pair_counts_twice"] = brutal, pair_counts_twice
    options = {"brutal": brutal, "pair_counts_twice": pair_counts_twice}
    sixes = 0
    for names, line in some_lines(seed, 1500):
        count = lines.count_line(line, pair_counts_twice)
        if count > 6 or {"7", "unlucky7"} <= set(names):
            continue
        sixes += count == 6
        counts = [0 if copies == 1 and line >> kind & 1 else rng.randint(0, copies) for kind, copies in enumerate(COPIES)]
        state["held"][0, 0], state["unseen"][0] = line, counts
        state["numbers"][0, 0], state["minus"][0, 0] = lines.sum_line(line), lines.sum_minus(line)
        source = [CARDS[kind] for kind, count in enumerate(counts) for _ in range(count)]
        shown = {"lines": [names], "status": ["active"], "phase": "turn", "options": options}
        plain = next_card(shown, 0, source) * len(source)
        assert lines.expect_points(s, 0, *deck.pack_next(s)) == pytest.approx(plain), (names, counts)
    assert sixes > 100
