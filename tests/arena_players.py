"""Players of the arena's tests, for ``module:factory`` specs and as objects."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.engine.random import stream, unit
from card_envs.players import Decisions


class First:
    """Plays the first legal action."""

    def act(self, decisions: Decisions) -> NDArray[Any]:
        return np.argmax(decisions.action_mask, axis=1)


class Uniform:
    """Plays any legal action: as ``random`` does, but drawn in another way."""

    def act(self, decisions: Decisions) -> NDArray[Any]:
        with np.errstate(over="ignore"):
            drawn = unit(stream(decisions.key, 1))
        legal = np.cumsum(decisions.action_mask, axis=1, dtype=np.int64)
        return np.argmax(legal > np.floor(drawn * legal[:, -1])[:, None], axis=1)


class Failing(First):
    """Plays as First does, but fails in the decisions whose key is divisible by ``every``."""

    def __init__(self, failure: Callable[[NDArray[Any], NDArray[np.bool_]], Any], every: int = 40) -> None:
        self.failure, self.every = failure, every

    def act(self, decisions: Decisions) -> NDArray[Any]:
        return np.asarray(self.failure(super().act(decisions), decisions.key % np.uint64(self.every) == 0))


def _raise(actions: NDArray[Any], now: NDArray[np.bool_]) -> NDArray[Any]:
    if now.any():
        raise RuntimeError("no idea")
    return actions


FAILURES: dict[str, Callable[[NDArray[Any], NDArray[np.bool_]], Any]] = {
    "raises": _raise,
    "nan": lambda actions, now: np.where(now, np.nan, actions),
    "half": lambda actions, now: np.where(now, 0.5, actions),
    "illegal": lambda actions, now: np.where(now, 10_000, actions),
    "negative": lambda actions, now: np.where(now, -1, actions),
    "infinite": lambda actions, now: np.where(now, np.inf, actions),
    "words": lambda actions, now: np.array(["?"] * len(actions)) if now.any() else actions,
    "too many": lambda actions, now: np.append(actions, 0) if now.any() else actions,
}


class Killer(First):
    """Ends the process that it is called in, once, in one of its first hundred decisions or so.

    In ``folder`` it leaves a file for every match that a process has asked it in, and the file ``killed`` before it does it.
    """

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)

    def act(self, decisions: Decisions) -> NDArray[Any]:
        for match in decisions.match.tolist():
            (self.folder / f"{match}-{os.getpid()}").touch()
        killed = self.folder / "killed"
        if (decisions.key % np.uint64(100) == 0).any() and not killed.exists():
            killed.touch()
            os._exit(1)
        return super().act(decisions)


class Moody(First):
    """Plays by a generator of its own, which no seed of the benchmark sets."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng()

    def act(self, decisions: Decisions) -> NDArray[Any]:
        return np.asarray((self.rng.random(decisions.action_mask.shape) * decisions.action_mask).argmax(axis=1))


class Leaving(First):
    """Tries to end the process: when it is made, or else when it is asked."""

    def __init__(self, when_made: int = 0) -> None:
        if when_made:
            raise SystemExit(when_made)

    def act(self, decisions: Decisions) -> NDArray[Any]:
        decisions.options.clear()
        raise SystemExit(0)


def broken() -> First:
    """A factory that fails."""
    raise KeyError("no such")
