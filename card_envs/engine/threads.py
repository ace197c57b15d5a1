"""Threads that share the rows of a step.

A thread that has carried out its share stands by for the next one for :data:`STANDS_BY` seconds, before it sleeps. So whoever
steps in a loop is served at once, and no core is kept busy for longer. Rows are shared while that takes less time than it took
one thread alone, which it does not where other processes need the cores.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.engine.compiled import unwrap
from card_envs.engine.loops import Arrays
from card_envs.engine.posts import ASKED, ASLEEP, READY, REFUSED, SAMPLES, SERVES, STATE, UNFINISHED, UNTRIED, WORDS

STANDS_BY = 200e-6  # seconds
NAP = 50e-6  # seconds for which the caller sleeps where the other thread does not get a core
LEAST = 20e-6  # seconds of work that can be worth sharing
WAKING = 200e-6  # seconds of work that are worth waking a thread
TRIALS = 4  # steps in vain after which rows are no longer shared for a while
LONGEST_REST = 1024  # steps
LARGEST_CREW = max(1, (os.cpu_count() or 1) - 1)  # threads besides the caller
REFRESHED = 256  # after so many steps one thread does all of it, to know how long that takes

Rows = NDArray[np.int64]
Post = NDArray[np.int64]
Which = NDArray[np.int64] | None
# what `make_share_loop` describes: (rows, posts, copied, which, task, looks, auto_reset, write_observations)
Share = Callable[[Rows, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], int, int, int, int], int]


class Worker:
    """A thread that serves at one post after the other.

    Attributes:
        lock: Held by the caller for whom it works.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._post: Post | None = None
        self._error: BaseException | None = None
        self._tasks: SimpleQueue[tuple[Post, Callable[[], Any]]] = SimpleQueue()
        threading.Thread(target=self._work, name="card_envs", daemon=True).start()

    def stands_at(self, post: Post) -> bool:
        """Return whether the thread stands by at this post."""
        return self._post is post and bool(post[STATE] == READY)

    def send(self, post: Post, serve: Callable[[], Any]) -> None:
        """Let the thread stand by at a post, and leave the one where it does so now."""
        if self._post is not None and self._post is not post and self._post[STATE] == READY:
            self._post[STATE] = ASLEEP  # nobody asks there, since nobody but us holds the lock
        self._post = post
        post[STATE] = READY
        self._tasks.put((post, serve))

    def raise_error(self) -> None:
        """Raise what the last share has raised, if it has."""
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def _work(self) -> None:
        while True:
            post, serve = self._tasks.get()
            try:
                serve()
            except BaseException as error:
                self._error = error
                post[STATE] = ASLEEP
            del post, serve  # arrays of matches that may be forgotten


class Crew:
    """The workers of a process, which all matches share."""

    def __init__(self) -> None:
        self._workers: list[Worker] = []
        self._lock = threading.Lock()

    def hire(self, count: int) -> list[Worker]:
        """Return up to so many workers that nobody else needs now, with their locks held."""
        hired: list[Worker] = []
        with self._lock:
            while len(self._workers) < min(count, LARGEST_CREW):
                self._workers.append(Worker())
            for worker in self._workers:
                if len(hired) < count and worker.lock.acquire(blocking=False):
                    hired.append(worker)
        return hired


_crews: dict[int, Crew] = {}


def find_crew() -> Crew:
    """Return the crew of this process, since threads do not survive a fork."""
    pid = os.getpid()
    if pid not in _crews:
        _crews.clear()
        _crews[pid] = Crew()
    return _crews[pid]


class Team:
    """The threads that share the rows of some matches.

    Args:
        threads: How many threads there are at most, with the caller.
        size: The largest number of rows.
        share: The loop by which they share them.
        sampled: Where it writes random actions, int64 [size].
    """

    def __init__(self, threads: int, size: int, share: Share, sampled: NDArray[np.int64]) -> None:
        self._threads = threads
        self._sampled = sampled
        self._share = share
        self._posts = np.zeros((LARGEST_CREW, WORDS), np.int64)
        self._copied = np.zeros((LARGEST_CREW, size), np.int64)
        self._crew: Crew | None = None
        self._places: dict[Worker, tuple[Post, NDArray[np.int64]]] = {}  # the post of each worker, and its number
        self._pace = 0.0  # seconds that a row takes one thread alone
        self._ended = 0.0  # when the last rows were carried out
        self._steps = 0
        self._shares = False  # whether the last rows were shared
        self._in_vain = 0
        self._rest, self._rests_until = TRIALS, TRIALS
        self._looks = 0  # how often a thread that stands by looks at its post before it sleeps

    def run(self, rows: Rows, alone: Callable[[Rows], bool], task: int, auto_reset: int, write_observations: int) -> bool:
        """Carry out rows: the caller some of them, and workers the others; or the caller all of them by ``alone``.

        With the task ``CHECKS`` nothing is carried out if some actions are not legal. Each thread checks the rows that it
        carries out, because it has their masks: what another processor has looked at must be fetched back before it is written.

        Returns:
            Whether the rows were carried out.
        """
        start = time.perf_counter()
        self._steps += 1
        work = len(rows) * self._pace
        if work < LEAST or self._steps < self._rests_until or self._steps % REFRESHED == 0:
            self._shares = False
            done = alone(rows)
            self._ended = time.perf_counter()
            pace = (self._ended - start) / max(1, len(rows))
            self._pace = min(pace, 1.05 * self._pace) if self._pace else pace  # what took long once was interrupted
            return done
        soon, long = start - self._ended < STANDS_BY, work > WAKING
        left = self._run_shared(rows, task, auto_reset, write_observations, soon, long)
        self._shares = left not in (UNTRIED, len(rows))
        if left == UNTRIED:
            return alone(rows)
        if left == REFUSED:
            return False
        if left != len(rows):
            self._judge(self._ended - start > work)
        return True

    def sample(self, rows: Rows) -> NDArray[np.int64] | None:
        """Draw random actions for rows with the workers who stand by; ``None`` if nobody does, or if a match is over.

        Returns:
            A copy of the actions of all rows, int64 [size]. Those of other rows are of no account.
        """
        if not self._shares or self._crew is not find_crew():
            return None
        left = self._run_shared(rows, SAMPLES, 0, 0, False, False)
        return self._sampled.copy() if left >= 0 else None

    def _judge(self, slower: bool) -> None:
        """Give up sharing for a while if it has been slower than one thread alone several times in succession."""
        self._in_vain = self._in_vain + 1 if slower else 0
        if self._in_vain == TRIALS:
            self._in_vain = 0
            self._rest = min(2 * self._rest, LONGEST_REST)
            self._rests_until = self._steps + self._rest
        elif not self._in_vain:
            self._rest = TRIALS

    def _run_shared(self, rows: Rows, task: int, auto_reset: int, write_observations: int, soon: bool, long: bool) -> int:
        """Carry out rows with the workers who are at hand, and return what the loop returns; ``UNTRIED`` if nobody is."""
        crew = find_crew()
        if self._crew is not crew:
            self._crew, self._places = crew, {}
            self._posts[:] = ASLEEP
            self.prepare()
        hired = crew.hire(min(self._threads, len(rows)) - 1)
        which: Which = None
        left = UNFINISHED
        try:
            which = self._list_posts(hired, soon, long)
            if which is None:
                return UNTRIED
            left = self._share(rows, self._posts, self._copied, which, task, self._looks, auto_reset, write_observations)
            return left
        finally:
            self._dismiss(hired, which, left in (UNFINISHED, UNTRIED))

    def _list_posts(self, hired: list[Worker], soon: bool, long: bool) -> Which:
        """Return the numbers of the posts of those workers who are at hand, ``None`` if nobody is."""
        which: Which = None
        for worker in hired:
            if self._is_at_hand(worker, soon, long):
                here = self._places[worker][1]
                which = here if which is None else np.concatenate([which, here])
        return which

    def _dismiss(self, hired: list[Worker], which: Which, busy: bool) -> None:
        """Let workers go, after those who are still busy have done their share."""
        while busy and which is not None and (self._posts[which, STATE] == ASKED).any():
            time.sleep(NAP)
        self._ended = time.perf_counter()
        for worker in hired:
            worker.lock.release()
        for worker in hired:
            worker.raise_error()

    def prepare(self) -> None:
        """Compile the loop that shares the rows, if that is still to be done, and count the looks at a post."""
        self._looks = self._looks or self._count_looks()

    def _count_looks(self) -> int:
        """Return how often a thread can look at a post in the time for which it stands by."""
        seconds, looks = [], 20_000
        for _ in range(4):  # the first time to compile, or to load from the cache; others may be interrupted
            self._posts[0, STATE] = READY
            start = time.perf_counter()
            self._share(self._copied[0], self._posts, self._copied, np.zeros(1, np.int64), SERVES, looks, 0, 0)
            seconds.append(time.perf_counter() - start)
        return int(looks * STANDS_BY / min(seconds))

    def _is_at_hand(self, worker: Worker, soon: bool, long: bool) -> bool:
        """Return whether a worker is to have a share. It is woken if there is much to do, or if there soon will be more."""
        place = self._places.get(worker)
        if place is None:
            number = len(self._places)
            place = self._places[worker] = self._posts[number], np.array([number])
        if worker.stands_at(place[0]):
            return True
        if long or soon:
            serve = partial(self._share, self._copied[0], self._posts, self._copied, place[1], SERVES, self._looks, 0, 0)
            worker.send(place[0], serve)
        return long


def make_team(threads: int, loop: Callable[..., int], arrays: Arrays, reward: int, scale: float) -> Team:
    """Make the team for the matches with these arrays, from the loop by which it shares their rows."""

    size = len(arrays.states)
    who, parameters, sampled = np.zeros(size, np.int8), np.empty(0), np.zeros(size, np.int64)

    def share(*arguments: Any) -> int:
        nonlocal loop
        left = loop(arrays, *arguments, reward, scale, who, parameters, sampled)
        loop = unwrap(loop)
        return left

    return Team(threads, size, share, sampled)
