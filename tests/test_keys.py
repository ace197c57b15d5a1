"""Keys: SipHash by its published vectors, keys and decks as the plain reference derives them, identities of up to 256 bits."""

from __future__ import annotations

import copy
import pickle
from itertools import product
from typing import Any

import numpy as np
import pytest

import card_envs
from card_envs import Table, flip7_v0, pis_yedili_v0
from card_envs.engine import keys, loops
from card_envs.envs.single_agent import SingleAgentBatch
from card_envs.players import Decisions
from tests.helpers import GAMES
from tests.reference import streams

U64 = np.uint64
LONG = 2**256 - 1
IDENTITIES = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (2**63 - 1, 4095, 10**6), (2**63, 0, 0), (2**64, 7, 2), (LONG, 1, 3)]
# SipHash-2-4 of the first n of the bytes 0, 1, 2, … under the key of the bytes 0 … 15: the authors' vectors.h
PUBLISHED = {
    0: "310e0edd47db6f72", 1: "fd67dc93c539f874", 7: "37d1018bf50002ab", 8: "6224939a79f5f593", 15: "e545be4961ca29a1",
    16: "db9bc2577fcc2a3f", 31: "42c341d8fa92d832", 32: "ce7cf2722f512771", 40: "d0a704536ba93e0e", 63: "724506eb4c328a95",
}  # fmt: skip
# uint64 arithmetic wraps around on purpose
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")


def test_siphash_gives_the_published_outputs() -> None:
    for length, output in PUBLISHED.items():
        assert streams.siphash(bytes(range(16)), bytes(range(length))).to_bytes(8, "little").hex() == output, length
    low, high = np.frombuffer(bytes(range(16)), "<u8")
    words = np.frombuffer(bytes(range(40)), "<u8")
    assert int(keys.siphash(low, high, *words)).to_bytes(8, "little").hex() == PUBLISHED[40]


def test_siphash_compiled_equals_plain_python(seed: int) -> None:
    rng = np.random.default_rng(seed)
    game = card_envs.load_game("flip7")
    matches = card_envs.batch(game.name, 50, seed=seed).matches
    matches.keys[:] = rng.integers(0, 2**64, matches.keys.shape, U64)
    matches.identity[:] = rng.integers(0, 2**63, matches.identity.shape)
    numbers, salts = rng.integers(0, 2**63, 50), rng.integers(0, 2**64, 50, U64)
    for purpose in range(11):
        derived = matches.derive(purpose, matches.rows, numbers, salts)
        for row in range(50):
            _, board, match = matches.identity[row].tolist()
            key = matches.keys[row, :2].astype("<u8").tobytes()
            assert int(derived[row]) == streams.derive(key, purpose, board, match, int(numbers[row]), int(salts[row]))


@pytest.mark.parametrize("identity", IDENTITIES)
def test_keys_equal_plain_python(identity: tuple[int, int, int]) -> None:
    """The key of the shuffles, the stream of the policies, and what a player is handed, each its own output."""
    table = card_envs.table("rummy", seed=identity)
    root, (_, row, match) = streams.root_key(identity[0]), identity
    assert table.identity == identity
    assert int(table.matches.states["key"][0]) == streams.deck_key(identity) == streams.derive(root, keys.DECK, row, match)
    assert int(table.matches.keys[0, loops.STREAM]) == streams.derive(root, keys.POLICIES, row, match)
    table.play(table.legal_actions()[0])
    decisions, number = Decisions.at(table), 1 * 16 + int(table.to_move or 0)
    assert decisions.match.tolist() == [streams.derive(root, keys.MATCH_NUMBER, row, match)]
    assert decisions.key.tolist() == [streams.derive(root, keys.DECISION, row, match, number)]
    assert decisions.tables()[0].identity == (streams.derive(root, keys.SEARCH, row, match, number), 0, 0)


def test_keys_differ() -> None:
    """Neighbouring identities, purposes, numbers and salts give different outputs."""
    near = [*range(6)]
    outputs = {
        streams.derive(streams.root_key(seed), *rest)
        for seed, *rest in product([*range(3), 2**63, LONG], near, near, near, near)
    }
    assert len(outputs) == 5 * 6**4
    assert len({streams.derive(streams.root_key(0), 0, 0, 0, 0, salt) for salt in range(100)}) == 100
    assert len({streams.shuffle_state(key, number) for key in range(40) for number in range(40)}) == 1600


# ---- identities


@pytest.mark.parametrize("name", GAMES)
def test_a_seed_may_have_256_bits(name: str, seed: int) -> None:
    """Everywhere a seed is taken: the same match from a table, a row, a record, a copy, and the environments."""
    long = LONG - seed
    batch = card_envs.batch(name, 4, seed=long)
    assert batch.identity().tolist() == [[long, row, 0] for row in range(4)]
    table = card_envs.table(name, seed=(long, 2, 0))
    assert Table.from_row(batch.matches, 2).identity == table.identity == (long, 2, 0)
    assert Table.from_row(batch.matches, 2).state() == table.state()
    assert table.record()["identity"] == [long, 2, 0]
    assert card_envs.replay(table.record()).state() == table.state()
    copies: list[Any] = [copy.deepcopy(batch), pickle.loads(pickle.dumps(batch)), batch.gather(np.arange(4))]
    for other in [batch, *copies]:
        other.reset()
        assert other.identity().tolist() == [[long, row, 1] for row in range(4)]
        np.testing.assert_array_equal(other.matches.states, batch.matches.states)
    table.redeal(0, LONG)
    batch.redeal(0, LONG)
    assert len({int(key) for key in batch.matches.states["key"]}) == 4


def test_environments_take_long_seeds() -> None:
    long = 2**255 + 1
    table = card_envs.table("pis_yedili", seed=long, players=2)
    env = pis_yedili_v0.raw_env(players=2)
    env.reset(seed=long)
    np.testing.assert_array_equal(env.observe("player_0")["observation"], table.observation(0))
    learners = SingleAgentBatch(card_envs.load_game("pis_yedili"), 5, players=3, seed=long)
    assert learners.matches.read_identity(3) == (long, 3, 0)
    assert learners.learner_seat.tolist() == [(long + row) % 3 for row in range(5)]


@pytest.mark.parametrize("bad", [-1, 2**256, 1.5, "1", True, 10**10_000], ids=["-1", "257 bits", "1.5", "text", "True", "huge"])
def test_what_is_no_seed_is_refused_in_a_line(bad: object) -> None:
    for call in (lambda: card_envs.table("flip7", seed=bad), lambda: card_envs.batch("flip7", 2).reset(bad)):  # type: ignore[arg-type,return-value]
        with pytest.raises(ValueError, match=r"allowed is an integer from 0 to 2\*\*256 - 1") as refused:
            call()
        assert len(str(refused.value)) < 400


def test_counters_past_63_bits_are_refused() -> None:
    """Rows and matches are counted in 63 bits, and a reset that would count past them changes nothing."""
    for identity in ((0, 2**63, 0), (0, 0, 2**63), (0, -1, 0), (0, 0, True)):
        with pytest.raises(ValueError, match=r"of an identity = .*: allowed is an integer from 0 to 2\*\*63 - 1"):
            card_envs.table("flip7", seed=identity)
    batch = card_envs.table("flip7", seed=(3, 0, 2**63 - 1)).batch
    state = batch.matches.states.tobytes()
    with pytest.raises(ValueError, match="match of an identity = 9223372036854775808"):
        batch.reset()
    assert batch.identity().tolist() == [[3, 0, 2**63 - 1]]
    assert batch.matches.states.tobytes() == state
    env = flip7_v0.raw_env()
    env.reset(seed=(3, 0, 2**63 - 1))
    with pytest.raises(ValueError, match="match of an identity"):
        env.reset()
