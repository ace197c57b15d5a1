"""The compiled kernels of bust risk, by name, for :mod:`card_envs.engine.warming`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from card_envs.engine.table import Table
from card_envs.games.flip7 import GAME as FLIP7
from card_envs.games.flip7.state import UNLUCKY_7
from card_envs.risk.kernel import NUMBER_KINDS, SCORES
from card_envs.risk.model import Position
from card_envs.risk.race import solve_race
from card_envs.risk.simulate import play_real_round
from card_envs.risk.solve import evaluate, optimal
from card_envs.risk.tables import View, find_sure_draws, value_choices


def list_compilers() -> dict[str, Callable[[], Any]]:
    """Return functions that solve something small, and so compile the kernels or find them in the cache."""
    return {"solve": _solve, "race": _race, "luck": _luck, "sure": _find_sure, "choices": _value}


def _solve() -> None:
    few = tuple(int(kind in (8, UNLUCKY_7)) for kind in range(NUMBER_KINDS))
    evaluate(Position(0, few), optimal(), threads=1)


def _race() -> None:
    solve_race("plain", 1, threads=1, use_cache=False)


def _luck() -> None:
    play_real_round("random", "random", players=2, rounds=2)


def _make_view() -> View:
    table = Table(FLIP7, seed=0, players=2)
    return View.read(table.observation(0)[None], table.options)


def _find_sure() -> None:
    find_sure_draws(_make_view(), np.zeros(1, np.int64))


def _value() -> None:
    value_choices(_make_view(), np.zeros(1, np.int64), np.zeros((1, SCORES)))
