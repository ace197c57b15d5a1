"""The names of compiled loops: they change with every rule, and machine code of several processes is kept apart."""

from __future__ import annotations

import os
import subprocess
import sys
import types
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba.core import errors

import card_envs
from card_envs.engine import compiled, loops, rollouts
from tests.batches import every_game
from tests.helpers import GAMES

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
    composed = card_envs.load_game(game).step
    step = import_module(f"{card_envs.load_game(game).module}.rules").step
    assert step in compiled.collect_functions((composed,))
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
        loop = loops.make_step_loop(card_envs.load_game(game))
        for flags in (compiled.COUNTED, compiled.UNCOUNTED):
            name = compiled.start_loop(card_envs.load_game(game), loop, flags)[0].py_func.__qualname__
            assert name.startswith(f"{game}.step.")
            names.add(name)
    assert len(names) == 2 * len(GAMES)


def test_a_loop_that_allocates_is_compiled_with_reference_counts(capfd: pytest.CaptureFixture[str]) -> None:
    """So is every loop where numba does not know the flag that turns them off."""

    def fill(n: int) -> float:
        return np.full(n, 1.5).sum()

    loop = compiled.compile_loop(card_envs.load_game("rummy"), loops.Loop("fill", fill, ()))
    assert loop(4) == loop(4) == 6.0


@pytest.mark.parametrize("error", [errors.NumbaRuntimeError, KeyError])
def test_reference_counts_are_used_where_they_cannot_be_turned_off(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    compile_cached, tried = compiled.compile_cached, []

    def refuse(function: Callable[..., Any], flags: dict[str, Any], wait: Callable[[], bool]) -> Any:
        tried.append(flags)
        if "_nrt" in flags:
            raise error("unknown")
        return compile_cached(function, flags, wait)

    monkeypatch.setattr(compiled, "compile_cached", refuse)
    loop = compiled.compile_loop(card_envs.load_game("rummy"), loops.Loop("double", lambda n: 2 * n, ()))
    assert loop(21) == 42
    assert tried == [compiled.UNCOUNTED, compiled.COUNTED]


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
    made = [
        loops.make_step_loop(its),
        loops.make_count_loop(its),
        *(rollouts.make_rollout_loop(its, policy) for policy in its.policies),
        *(rollouts.make_fork_loop(its, policy) for policy in its.policies),
    ]
    names: dict[tuple[str, str], str] = {}
    for loop in made:
        compiled.tell_apart(loop.rules)
        whole = compiled.start_loop(its, loop, compiled.UNCOUNTED)[0].py_func
        for function in (whole, *compiled.collect_functions(loop.rules)):
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
