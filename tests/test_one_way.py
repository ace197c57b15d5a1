"""What a player is handed tells nothing about the deck: the attack that found every deck of old finds none."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

import card_envs
from card_envs.engine import loops
from card_envs.engine import random as engine
from card_envs.players import Decisions
from tests.helpers import GAMES, play_on
from tests.reference import streams

Words = NDArray[np.uint64]
U64 = np.uint64
MATCHES, DEPTH = 64, 3
# uint64 arithmetic wraps around on purpose
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")


def unshift(x: Words, bits: int) -> Words:
    """Undo ``x ^ (x >> bits)``."""
    y = x
    for _ in range(64 // bits):
        y = x ^ (y >> U64(bits))
    return y


def unmix(x: Words) -> Words:
    """Undo ``mix``."""
    x = unshift(x, 31) * U64(pow(0x94D049BB133111EB, -1, 2**64))
    x = unshift(x, 27) * U64(pow(0xBF58476D1CE4E5B9, -1, 2**64))
    return unshift(x, 30)


def unstream(x: Words, number: int) -> Words:
    """Undo ``stream`` in its key."""
    return unmix(x) ^ U64(streams.mix((number + 1) * streams.GOLDEN % 2**64))


def follow(start: Words, numbers: tuple[int, ...]) -> Words:
    """All words that ``DEPTH`` of the package's invertible functions, run forwards or backwards, lead to from these."""
    steps: list[Callable[[Words], Words]] = [unmix, engine.mix]
    for number in numbers:
        steps.append(lambda x, n=number: unstream(x, n))
        steps.append(lambda x, n=number: engine.stream(x, n))
    reached = frontier = np.unique(start)
    for _ in range(DEPTH):
        frontier = np.unique(np.concatenate([step(frontier) for step in steps]))
        reached = np.concatenate([reached, frontier])
    return np.unique(reached)


def guess(match: int, key: int, number: int) -> Words:
    """Every word that may be the key of a match's decks, from what its player was handed in decision ``number``."""
    handed = [match, 2 * match % 2**64, (2 * match + 1) % 2**64, key]  # the number of a match was shifted by one bit
    return follow(np.array(handed, U64), (0, 1, number))


def first_construction(seed: int, row: int, match: int, number: int) -> tuple[int, int, int]:
    """How version 0.1 began: ``match`` and ``key`` as they were handed out, and the key of the deck."""
    match_key = streams.stream(streams.stream(streams.mix(seed), row), match)
    return streams.mix(match_key) >> 1, streams.stream(streams.stream(match_key, 1), number), streams.stream(match_key, 0)


def test_undoing_works() -> None:
    x = np.random.default_rng(1).integers(0, 2**64, 1000, U64)
    np.testing.assert_array_equal(unmix(engine.mix(x)), x)
    np.testing.assert_array_equal(unstream(engine.stream(x, 17), 17), x)


@pytest.mark.parametrize("name", GAMES)
def test_neither_key_nor_match_tells_the_deck(name: str, seed: int) -> None:
    """Issue 11, item 1: in 64 of 64 matches the attack finds the deck of the first construction, and none of today's."""
    rng = random.Random(seed)
    old = new = 0
    for row in range(MATCHES):
        table = card_envs.table(name, seed=(seed, row, 0), players=2)
        for _, _ in zip(range(rng.randrange(8)), play_on(table, rng)):
            pass
        assert table.to_move is not None
        decisions = Decisions.at(table)
        number = int(table.matches.decisions[0]) * loops.SEATS + table.to_move
        match, key, deck_key = first_construction(seed, row, 0, number)
        old += deck_key in guess(match, key, number)
        candidates = guess(int(decisions.match[0]), int(decisions.key[0]), number)
        secrets = [streams.deck_key(table.identity), int(table.matches.keys[0, loops.STREAM])]
        secrets += [streams.shuffle_state(secrets[0], shuffle) for shuffle in range(3)]
        secrets += table.matches.keys[0, : loops.STREAM].tolist()
        new += bool(np.isin(np.array(secrets, U64), candidates).any())
        assert len(candidates) > 300
    assert old == MATCHES, f"seed {seed}"
    assert new == 0, f"seed {seed}"


@pytest.mark.parametrize("name", GAMES)
def test_a_known_shuffle_tells_no_other(name: str, seed: int) -> None:
    """Whoever has worked out how one shuffle began cannot go back to the key or on to the next shuffle."""
    for row in range(MATCHES):
        table = card_envs.table(name, seed=(seed, row, 0))
        key = int(table.matches.states["key"][0])
        begins = [streams.shuffle_state(key, number) for number in range(4)]
        reached = follow(np.array(begins[:1], U64), (0, 1, 2))
        assert not np.isin(np.array([key, *begins[1:]], U64), reached).any(), f"seed {seed}, row {row}"
        old = [streams.stream(key, number) for number in range(4)]
        assert np.isin(np.array([key, *old[1:]], U64), follow(np.array(old[:1], U64), (0, 1, 2, 3))).all()


@pytest.mark.parametrize("name", GAMES)
def test_copies_to_search_in_hold_no_true_key(name: str, seed: int) -> None:
    """Neither the keys nor the identity of a match are in the copies that a searching player gets of it."""
    batch = card_envs.batch(name, MATCHES, seed=seed)
    for _ in range(5):
        batch.step(batch.sample())
    matches = batch.matches
    for row, copy in enumerate(Decisions(matches, matches.rows).tables()):
        secrets = {*matches.keys[row].tolist(), int(matches.states["key"][row])}
        held = {*copy.matches.keys[0].tolist(), int(copy.matches.states["key"][0]), *copy.matches.seeds[0].tolist()}
        assert not secrets & held, f"seed {seed}, row {row}"
        assert copy.identity[0] != seed
