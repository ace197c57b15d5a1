"""Arguments of compiled functions: their types do not decide for later calls, and what is out of range is refused."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import card_envs
from card_envs.players import Decisions, resolve
from card_envs.players.player import BuiltIn
from tests.batches import assert_equal, every_game, keep_all

CALLS = """
import sys, hashlib, numpy as np, card_envs

def odd(array, kind):
    "The same numbers in another kind of array: strided, read-only, of another byte order."
    array = np.repeat(np.asarray(array).astype(kind), 2)[::2]
    array.flags.writeable = False
    return array

kind, whole = sys.argv[2], np.dtype(sys.argv[2]).type
game = card_envs.load_game(sys.argv[1])
batch = card_envs.batch(game.name, 5, seed=1, players=2)
own = [*game.policy(game.default_opponent).defaults.values()]
out = []
batch.playout(whole(3))
out.append(batch.playout(1000)[0])
for _ in range(2):
    actions = np.full(5, -1)
    batch.choose("random", [], actions, odd([0, 3, 4], kind), odd([0, 1, 1, 1, 0], kind), whole(1))
    out.append(actions.tolist())
    batch.choose(game.default_opponent, odd(own, ">f8"), actions)
    out.append(actions.tolist())
    batch.step(odd(actions, kind))
    seen = batch.observe(odd([0, 1, 0, 1, 1], kind)), batch.observe(whole(1))
    out.append([hashlib.sha256(observation.tobytes()).hexdigest() for observation in seen])
    batch = batch.gather(odd([4, 3, 2, 1, 0], kind))
    batch.redeal(odd([0, 1, 0, 1, 1], kind), whole(3))
    batch.redeal(whole(1), 4)
    out.append(batch.clone().rollout(odd(batch.sample(), kind), seeds=odd([1, 2, 3, 4, 5], kind)).tolist())
    out.append(batch.playout(100, game.default_opponent, own)[1].tolist())
batch.reset(odd([1, 2, 3, 4, 5], kind))
print(out, hashlib.sha256(batch.observation.tobytes()).hexdigest())
"""


def run_calls(game: str, kind: str) -> str:
    return subprocess.run([sys.executable, "-c", CALLS, game, kind], capture_output=True, text=True, check=True).stdout


def test_the_types_of_the_first_call_do_not_matter() -> None:
    """Issue 11, item 8: after ``playout(np.int8(3))``, ``playout(1000)`` played nothing."""
    expected = run_calls("pis_yedili", "int64")
    for kind in ("int8", ">u4"):
        assert run_calls("pis_yedili", kind) == expected, kind
    assert "[0" not in expected[:3], "matches have ended"


@every_game
def test_arguments_out_of_range_are_refused(game: str) -> None:
    """Issue 11, item 8: nothing has changed after any of them."""
    batch = card_envs.batch(game, 3, seed=1)
    default = batch.game.default_opponent
    own = [*batch.game.policy(default).defaults.values()]
    before, actions = keep_all(batch), np.zeros(3, np.int64)
    legal = batch.sample()
    wrong: list[Any] = [
        lambda steps=steps: batch.playout(steps) for steps in (0, -1, 2**63, 10**30, True, 1.0, "3", None, np.nan, [3])
    ]
    for parameters in ([], own[:-1], [*own, 1.0], ["x"] * len(own), [np.nan] * len(own), [np.inf] * len(own), [2e9] * len(own),
                       [10**400] * len(own), [own], 3, object()):  # fmt: skip
        wrong += [
            lambda p=parameters: batch.playout(3, default, p),
            lambda p=parameters: batch.choose(default, p, actions),
            lambda p=parameters: batch.rollout(legal, default, p),
            lambda p=parameters: Decisions(batch.matches, batch.matches.rows).choose(default, p),
            lambda p=parameters: BuiltIn(batch.game, default, p, "it"),
        ]
    for rows in ([3], [-1], [0.0], ["0"], [[0]], [], 0, [2**63], [True]):
        wrong += [lambda r=rows: batch.choose("random", [], actions, r), lambda r=rows: batch.gather(r)]
    for who in ([0], [0.0] * 3, 0, [[0]] * 3, ["0"] * 3):
        wrong.append(lambda w=who: batch.choose("random", [], actions, None, w, 0))
    for seats in ([0, 0], [0, 0, batch.players], [0, 0, -1], 2**70, 0.0, "0", [2**63] * 3):
        wrong += [lambda s=seats: batch.observe(s), lambda s=seats: batch.redeal(s, 1)]
    wrong += [lambda s=seed: batch.redeal(0, s) for seed in (-1, 1.5, "1", None, True)]
    wrong += [
        lambda: batch.rollout(legal, until=["match"]),
        lambda: batch.rollout(legal, seeds=[1, 2]),
        lambda: batch.playout(3, "nobody"),
    ]
    for number, call in enumerate(wrong):
        with pytest.raises(ValueError) as caught:
            call()
        assert "\n" not in str(caught.value), number
    for bad in (
        np.zeros(3, np.int32),
        np.zeros((3, 1), np.int64)[:, 0][::-1],
        np.zeros(3),
        [0, 0, 0],
        np.zeros(6, np.int64)[::2],
    ):
        with pytest.raises(TypeError, match="a writable, contiguous array of int64"):
            batch.choose("random", [], bad)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="shape"):
        batch.choose("random", [], np.zeros(4, np.int64))
    assert all(np.array_equal(value, keep_all(batch)[name]) for name, value in before.items())


@every_game
def test_a_match_that_is_over_is_not_played_on(game: str) -> None:
    """Issue 11, item 8: nobody is to move, so that a policy would read beyond the seats."""
    table = card_envs.table(game, seed=1)
    batch = table.batch
    batch.rollout(batch.sample())
    assert table.is_over
    before = keep_all(batch)
    for call in (batch.sample, lambda: batch.playout(1), lambda: batch.choose("random", None, np.zeros(1, np.int64))):
        with pytest.raises(ValueError, match="the match of row 0 is over"):
            call()
    with pytest.raises(card_envs.IllegalAction):
        batch.rollout([0])
    assert batch.observe(0).shape == (1, batch.observation_size)
    assert all(np.array_equal(value, keep_all(batch)[name]) for name, value in before.items())


@every_game
def test_the_largest_parameters_give_legal_actions(game: str, seed: int) -> None:
    """No action is without a value: it would be played although it is none."""
    the_game = card_envs.load_game(game)
    rng = np.random.default_rng(seed)
    for policy in the_game.policies:
        for _ in range(6):
            parameters = rng.choice([-1e9, 0.0, 1.0, 1e9], len(policy.defaults))
            batch = card_envs.batch(game, 20, seed=seed)
            for _ in range(40):
                actions = np.full(20, -1)
                batch.choose(policy.name, parameters, actions)
                batch.step(actions)


def test_spec_and_batch_agree_on_parameters() -> None:
    game = card_envs.load_game("flip7")
    player = resolve("risk(.2)", game)
    one, two = card_envs.batch("flip7", 50, seed=3), card_envs.batch("flip7", 50, seed=3)
    for _ in range(20):
        actions = np.empty(50, np.int64)
        one.choose("risk", (0.2,), actions)
        one.step(actions)
        two.step(player.act(Decisions(two.matches, two.matches.rows)))
    assert_equal(one, two)
