"""Everything of a game that is compiled, by name, and the process that compiles it for another.

An *order* is one line, ``MODULE NAME``: the module of a game, or another that has a function ``list_compilers()``, and what to
compile of it. ``rule.…`` are rules that are linked to several loops; the other names of a game are those of its loops.
"""

from __future__ import annotations

import importlib
import json
import os
import queue
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numba.core import event

from card_envs.engine import code_cache
from card_envs.engine.compiled import compile_rules
from card_envs.engine.game import Game
from card_envs.engine.matches import Matches


def list_compilers(game: Game) -> dict[str, Callable[[], Any]]:
    """Return what there is to compile, by name: functions that compile it or find it in the cache, rules first.

    Every loop runs over no rows at all, through the methods that everybody else calls, so that it gets the same types.
    """
    m = Matches(game, 0, game.resolve({}))
    none = m.rows
    seats, actions = np.zeros(0, np.int64), np.zeros(0, np.int64)
    who, seating = np.zeros(0, np.int8), np.zeros((0, m.players), np.int8)
    compilers: dict[str, Callable[[], Any]] = {
        "rule.play": partial(compile_rules, game, ("step", "init")),  # they share most of what they call
        "rule.action_mask": partial(compile_rules, game, ("action_mask",)),
        "rule.observe": partial(compile_rules, game, ("observe",)),
        "step": partial(m.run, none),
        "share": m.prepare_threads,
        "legal": partial(m.find_illegal, none),
        "list": partial(m.list_legal, none, 1),
        "observe": partial(m.observe, none, seats),
        "derive": partial(m.derive, 0, none, seats),
        "redeal": partial(m.redeal, seats, 0),
        "count": partial(m.count, none, seats, np.zeros((0, m.players, len(game.count_names)), np.int64)),
        "sort": partial(m.sort, none, seating, seats, 0, np.zeros(0), who, seats),
    }
    if game.action_features is not None:
        compilers["features"] = partial(m.write_action_features, none, np.zeros((0, 1), np.int64))
    for policy in game.policies:
        parameters = np.array([*policy.defaults.values()], np.float64)
        compilers |= {
            f"choose_{policy.name}": partial(m.choose, policy.name, parameters, actions, none, who, 0),
            f"playout_{policy.name}": partial(m.playout, 1, policy.name, parameters),
            f"rollout_{policy.name}": partial(m.rollout, policy.name, parameters, True),
        }
    return compilers


class _Counter(event.Listener):
    """Counts how often numba compiles something."""

    count = 0

    def on_start(self, event: event.Event) -> None:
        self.count += 1

    def on_end(self, event: event.Event) -> None:
        pass


def carry_out(order: str, known: dict[str, dict[str, Callable[[], Any]]]) -> dict[str, Any]:
    """Compile what an order names, or find it in the cache.

    Args:
        order: The order.
        known: What :func:`list_compilers` returned for earlier orders, by their modules.

    Returns:
        The order, whether something was compiled, and an error message, or why the cache could not be written.
    """
    module, name = order.split()
    counter = _Counter()
    error = None
    try:
        if module not in known:
            its = importlib.import_module(module)
            known[module] = list_compilers(its.GAME) if hasattr(its, "GAME") else its.list_compilers()
        with event.install_listener("numba:compile", counter):
            known[module][name]()
    except Exception as failure:  # whoever asked meets it again
        error = f"{type(failure).__name__}: {failure}"
    return {"order": order, "compiled": counter.count > 0, "error": error or code_cache.find_problem()}


def serve() -> None:
    """Carry out the orders on standard input until it is closed, and answer on standard output."""
    answers, sys.stdout = sys.stdout, sys.stderr
    orders: queue.SimpleQueue[str] = queue.SimpleQueue()

    def read() -> None:
        for line in sys.stdin:
            orders.put(line.strip())
        os._exit(0)  # nobody waits for what is still to be compiled

    threading.Thread(target=read, daemon=True).start()
    known: dict[str, dict[str, Callable[[], Any]]] = {}
    while True:
        print(json.dumps(carry_out(orders.get(), known)), file=answers, flush=True)
