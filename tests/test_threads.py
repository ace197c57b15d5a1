"""Threads that share the rows of a step: the results are those of one thread, whatever happens to the others."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import card_envs
from card_envs.engine import threads
from card_envs.engine.posts import ASKED, CARRIES_OUT, COUNT, READY, STATE
from card_envs.engine.threads import Team
from tests.batches import assert_equal, every_game


@pytest.fixture(autouse=True)
def sharing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are shared at every step, however few they are, by up to four threads."""
    monkeypatch.setattr(threads, "LEAST", 0.0)
    monkeypatch.setattr(threads, "WAKING", 0.0)
    monkeypatch.setattr(threads, "LONGEST_REST", 0)
    monkeypatch.setattr(threads, "REFRESHED", 10**9)
    monkeypatch.setattr(threads, "LARGEST_CREW", 3)
    monkeypatch.setattr(threads, "_crews", {})


def step_together(one: card_envs.Batch, other: card_envs.Batch, steps: int) -> None:
    for _ in range(steps):
        actions = one.sample()
        np.testing.assert_array_equal(actions, other.sample())
        one.step(actions)
        other.step(actions)


@every_game
@pytest.mark.parametrize(("size", "count"), [(1, 2), (2, 2), (3, 2), (2, 4), (37, 4), (513, 2), (1025, 3)])
def test_results_do_not_depend_on_the_number_of_threads(game: str, size: int, count: int, seed: int) -> None:
    one, other = (card_envs.batch(game, size, seed=seed, threads=threads) for threads in (1, count))
    team = other.matches._team
    assert team is not None
    for _ in range(50):  # a busy machine may keep the workers from their posts for a while
        step_together(one, other, 40)
        assert_equal(one, other)
        if size == 1 or team._posts[:, COUNT].any():
            break
    assert team._posts[:, COUNT].any() == (size > 1), "some rows were carried out by workers"


@every_game
@pytest.mark.parametrize("row", [0, 31, 32, 63])
def test_an_illegal_action_is_found_by_whoever_checks_its_row(game: str, row: int, seed: int) -> None:
    """Nothing has been played then, whichever thread has found it."""
    one, other = (card_envs.batch(game, 64, seed=seed, threads=threads) for threads in (1, 2))
    for action in (-3, int(one.action_mask[row].argmin()), one.num_actions, 2**40):
        step_together(one, other, 20)
        actions = other.sample()
        actions[row] = int(other.action_mask[row].argmin()) if 0 <= action < one.num_actions else action
        with pytest.raises(card_envs.IllegalAction, match=f"illegal action in row {row}:"):
            other.step(actions)
        assert_equal(one, other)


@every_game
def test_copies_share_nothing(game: str) -> None:
    one, other = (card_envs.batch(game, 64, seed=3, threads=threads) for threads in (1, 2))
    step_together(one, other, 20)
    for again in (copy.deepcopy(other), pickle.loads(pickle.dumps(other)), other.gather(np.arange(64))):
        fresh = one.clone()
        step_together(fresh, again, 20)
        assert_equal(fresh, again)
    step_together(one, other, 20)
    assert_equal(one, other)


def test_callers_in_several_threads_do_not_disturb_each_other() -> None:
    """There are fewer workers than they ask for, and these go from one batch to the next."""
    alone = [card_envs.batch("pis_yedili", 200, seed=seed) for seed in range(5)]
    shared = [card_envs.batch("pis_yedili", 200, seed=seed, threads=3) for seed in range(5)]
    failures: list[BaseException] = []

    def play(batch: card_envs.Batch) -> None:
        try:
            for _ in range(100):
                batch.step(batch.sample())
        except BaseException as error:
            failures.append(error)

    callers = [threading.Thread(target=play, args=(batch,)) for batch in shared]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not failures
    for one, other in zip(alone, shared, strict=True):
        play(one)
        assert_equal(one, other)


def test_settings_of_the_step_reach_the_workers() -> None:
    one, other = (card_envs.batch("pis_yedili", 64, seed=3, threads=threads, episode="deal") for threads in (1, 2))
    for batch in (one, other):
        batch.matches.auto_reset = False
    for _ in range(60):
        for batch in (one, other):
            matches = batch.matches
            rows = matches.rows[matches.to_move >= 0]
            matches.actions[rows] = matches.action_mask[rows].argmax(axis=1)
            matches.run(rows)
    assert_equal(one, other)


# ---- a loop in Python in place of the compiled one


class Loop:
    """What the compiled loop does, except that it never leaves: ``serve`` is what a worker does with a share."""

    def __init__(self, serve: Callable[[], None] = lambda: None) -> None:
        self.serve = serve
        self.shared = 0
        self.alone = 0

    def __call__(self, rows: Any, posts: Any, copied: Any, which: Any, leads: int, *rest: int) -> int:
        if not leads:
            if posts[which[0], STATE] == ASKED:
                self.serve()
                posts[which[0], STATE] = READY
            return 0
        self.shared += 1
        posts[which, STATE] = ASKED
        return -1  # so that the caller waits for the others

    def do_alone(self, rows: Any) -> bool:
        self.alone += 1
        return True


def run_team(loop: Loop, steps: int) -> None:
    team = Team(2, 8, loop, np.zeros(8, np.int64))
    for _ in range(steps):
        assert team.run(np.arange(8), loop.do_alone, CARRIES_OUT, 1, 1)


def test_what_a_worker_raises_reaches_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = threading.Event()

    def fail() -> None:
        raise IndexError("out of bounds")

    class Asking(Loop):
        def __call__(self, *arguments: Any) -> int:
            leads = arguments[4]
            if not leads:
                asked.wait()  # the worker comes after the caller has asked
            result = super().__call__(*arguments)
            if leads:
                asked.set()
            return result

    loop = Asking(fail)
    team = Team(2, 8, loop, np.zeros(8, np.int64))
    monkeypatch.setattr(Team, "prepare", lambda self: None)
    for _ in range(threads.TRIALS - 1):
        assert team.run(np.arange(8), loop.do_alone, CARRIES_OUT, 1, 1)
    with pytest.raises(IndexError, match="out of bounds"):
        assert team.run(np.arange(8), loop.do_alone, CARRIES_OUT, 1, 1)
    asked.clear()
    loop.serve = lambda: None
    before = loop.shared
    assert team.run(np.arange(8), loop.do_alone, CARRIES_OUT, 1, 1)
    assert loop.shared == before + 1, "the worker goes on"


class Clock:
    """A clock that the test moves."""

    now = 0.0

    def perf_counter(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_rows_are_not_shared_where_that_takes_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine whose other cores are busy: it is tried a few times, then more and more rarely."""
    clock = Clock()
    monkeypatch.setattr(threads, "time", clock)
    monkeypatch.setattr(threads, "LONGEST_REST", 64)
    monkeypatch.setattr(Team, "prepare", lambda self: None)

    class Slow(Loop):
        def __call__(self, rows: Any, posts: Any, copied: Any, which: Any, leads: int, *rest: int) -> int:
            if leads:
                self.shared += 1
                clock.now += 2.0
            return 0

        def do_alone(self, rows: Any) -> bool:
            self.alone += 1
            clock.now += 1.0
            return True

    loop = Slow()
    run_team(loop, 1000)
    assert loop.shared + loop.alone == 1000
    assert threads.TRIALS < loop.shared < 120


# ---- processes

FORK = """
import os, sys, numpy as np, card_envs
from card_envs.engine import threads
threads.LEAST = threads.WAKING = threads.LONGEST_REST = 0
one, other = (card_envs.batch("pis_yedili", 64, seed=1, threads=n) for n in (1, 2))
def play():
    for _ in range(50):
        actions = one.sample()
        one.step(actions)
        other.step(actions)
    assert (one.observation == other.observation).all()
play()
child = os.fork()
play()
if child:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_both_halves_of_a_fork_play_on() -> None:
    """And the interpreter ends although a worker stands by or sleeps."""
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
