"""Another process that compiles into the same cache, so that a cold start uses a second core.

It is a convenience: whatever goes wrong with it, the process that asked compiles everything itself. The helper is no
``multiprocessing`` child, because a user's script need not protect its main module. It stops when its standard input is closed,
so that it does not outlive the process that asked, however that ends.
"""

from __future__ import annotations

import atexit
import json
import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numba

VARIABLE = "CARD_ENVS_HELPER"  # "0" in the environment keeps helpers from being started
PATIENCE = 120.0  # seconds for which an answer is waited for
PROGRAM = "import sys; sys.path[:] = {path!r}; from card_envs.engine.warming import serve; serve()"
config: Any = numba.config


def can_start() -> bool:
    """Return whether there is a Python interpreter that could be started.

    There is none in a frozen application, nor where Python is embedded into another program.
    """
    if getattr(sys, "frozen", False) or not sys.executable:
        return False
    program = Path(sys.executable)
    return program.name.lower().startswith(("python", "pypy")) and program.is_file()


def count_cores() -> int:
    """Return how many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        return os.cpu_count() or 1


class Helper:
    """A process that compiles what it is asked for, one order after the other.

    Args:
        once: Whether it is asked only once, and ends when it has answered.

    Raises:
        OSError: No process can be started.
    """

    def __init__(self, once: bool = False) -> None:
        environment = os.environ | {VARIABLE: "0"}
        if config.CACHE_DIR:
            environment["NUMBA_CACHE_DIR"] = config.CACHE_DIR
        program = PROGRAM.format(path=[entry for entry in sys.path if isinstance(entry, str)])
        self._once = once
        self._owner = os.getpid()
        self._changed = threading.Condition()
        self._open: set[str] = set()  # orders that have not been answered
        self._answers: dict[str, dict[str, Any]] = {}
        self._process = subprocess.Popen(
            [sys.executable, "-c", program],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, text=True,
        )  # fmt: skip
        assert self._process.stdin is not None
        self._orders = self._process.stdin
        self._listener = threading.Thread(target=self._listen, name="card_envs.helper", daemon=True)
        self._listener.start()
        atexit.register(self.stop)

    def ask(self, orders: Sequence[str]) -> None:
        """Let the process carry out these orders: see :func:`card_envs.engine.warming.carry_out`."""
        with self._changed:
            self._open.update(orders)
        try:
            self._orders.write("".join(f"{order}\n" for order in orders))
            self._orders.flush()
        except (OSError, ValueError):  # it has ended, and so do the orders
            self._end()

    def wait(self, order: str, timeout: float | None = None) -> dict[str, Any] | None:
        """Return the answer to an order once there is one; ``None`` if there will be none."""
        if os.getpid() != self._owner:  # a fork of the process that asked: nobody listens here
            return None
        with self._changed:
            if not self._changed.wait_for(lambda: order not in self._open, timeout):
                self._open.clear()
            return self._answers.pop(order, None)

    def stop(self) -> None:
        """End the process, whatever it does."""
        if os.getpid() == self._owner:
            atexit.unregister(self.stop)
            self._process.kill()
            self._process.wait()
            with suppress(OSError):
                self._orders.close()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as answers:
            for line in answers:
                try:
                    answer = json.loads(line)
                    order = answer["order"]
                except (ValueError, TypeError, KeyError):  # something else that the process prints
                    continue
                with self._changed:
                    self._answers[order] = answer
                    self._open.discard(order)
                    self._changed.notify_all()
                    if self._once and not self._open:
                        break
        self.stop()
        self._end()

    def _end(self) -> None:
        with self._changed:
            self._open.clear()
            self._changed.notify_all()


_helping: dict[str, Helper] = {}  # by what a helper was asked for


def start_helper(orders: Sequence[str]) -> None:
    """Let another process carry out these orders meanwhile, if that makes sense here."""
    if os.environ.get(VARIABLE) == "0" or not can_start() or count_cores() < 2 or multiprocessing.parent_process() is not None:
        return
    try:
        helper = Helper(once=True)
    except OSError:
        return
    _helping.update(dict.fromkeys(orders, helper))
    helper.ask(orders)


def wait_for_helper(order: str) -> bool:
    """Wait if another process is carrying out this order; return whether it has."""
    helper = _helping.pop(order, None)
    if helper is None:
        return False
    answered = helper.wait(order, PATIENCE) is not None
    if helper not in _helping.values():
        helper.stop()
    return answered


def stop_helpers() -> None:
    """End all processes that are helping."""
    for helper in set(_helping.values()):
        helper.stop()
    _helping.clear()
