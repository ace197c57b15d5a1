"""The players ``exact`` and ``racer``: they draw or stay by the solver, and leave cards to give and to pick to ``ev``."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from card_envs.games.flip7 import GAME
from card_envs.games.flip7.state import ACTION_DRAW, ACTION_STAY, ACTIVE, NUMBERS
from card_envs.players.player import Decisions, Player
from card_envs.players.spec import resolve
from card_envs.risk.live import draw_and_stay
from card_envs.risk.model import View
from card_envs.risk.race import TARGET, Race, race
from card_envs.risk.solve import POINTS

FEW = 2  # number cards: with less nobody stops, and looking ahead is dear
FLOOR = 27.0  # of 20, 24, 27 and 30 the one that won most against one `ev` on the deal list "tune"


class Stopper:
    """Draws or stays by :meth:`stays`, but where banking decides the match; all other choices are those of ``ev``."""

    batch_invariant = True

    def __init__(self) -> None:
        self.other: Player = resolve(GAME.default_opponent, GAME)

    def act(self, decisions: Decisions) -> NDArray[np.int64]:
        actions = self.other.act(decisions)
        view = View.of(decisions.observation, decisions.options)
        choice = view.turn & (decisions.action_mask[:, ACTION_STAY] == 1) & ~decided(view)
        rows = np.flatnonzero(choice)
        if len(rows):
            actions[rows] = np.where(self.stays(view, rows), ACTION_STAY, ACTION_DRAW)
        return actions

    def stays(self, view: View, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        raise NotImplementedError


def decided(view: View) -> NDArray[np.bool_]:
    """Where banking now wins or loses the match and no opponent can change that by drawing on: bool [n]."""
    target = int(view.options["target"])
    standing = view.totals + view.scores
    others = standing[:, 1:]
    active = view.status[:, 1:] == ACTIVE
    top = np.where(~active | (others >= target), others, np.iinfo(np.int64).min).max(axis=1)
    mine = standing[:, 0]
    over = np.maximum(mine, top) >= target
    decides: NDArray[np.bool_] = over & ((mine < top) | ~active.any(axis=1))
    return decides


class Exact(Stopper):
    """Maximises the expected points of the round: the solver on the deck as it lies, with Zero, both 13s and modifiers."""

    def stays(self, view: View, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        stays = np.zeros(len(rows), np.bool_)
        numbers = (view.lines[rows, 0, None] & NUMBERS) >> np.arange(16) & 1
        many = np.flatnonzero(numbers.sum(axis=1) >= FEW)
        if len(many):
            draw, stay = draw_and_stay(view, rows[many], np.broadcast_to(POINTS, (len(many), len(POINTS))).copy())
            stays[many] = stay >= draw
        return stays

    def __repr__(self) -> str:
        return "<player exact>"


class Racer(Stopper):
    """Stays once the line scores T(mine, theirs), the threshold of the race; theirs is the best of the others' totals.

    In the race nobody can touch a line that has stayed; at the real table everybody can, so that to stop early when ahead costs
    more there: T counts as ``floor`` at least.
    """

    def __init__(self, floor: float = FLOOR) -> None:
        super().__init__()
        self.floor = floor

    @cached_property
    def race(self) -> Race:
        return race("plain")

    def stays(self, view: View, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        mine, theirs = self.totals(view, rows)
        threshold = np.maximum(self.race.thresholds[mine, theirs], self.floor)
        stays: NDArray[np.bool_] = view.scores[rows, 0] >= threshold
        return stays

    def totals(self, view: View, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Mine and theirs as if 200 ended the match: what counts is how far it is to the target."""
        shifted = np.clip(view.totals[rows] + TARGET - int(view.options["target"]), 0, TARGET - 1)
        return shifted[:, 0], shifted[:, 1:].max(axis=1)

    def __repr__(self) -> str:
        return "<player racer>"


class LiveRacer(Racer):
    """Maximises the win probability of the race after this round, looking ahead on the deck as it lies."""

    def stays(self, view: View, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        mine, theirs = self.totals(view, rows)
        payoffs = self.race.payoffs[mine, theirs]
        draw, stay = draw_and_stay(view, rows, payoffs)
        stays: NDArray[np.bool_] = stay >= draw
        return stays

    def __repr__(self) -> str:
        return "<player racer(live=True)>"


def exact() -> Player:
    """The player ``exact``."""
    return Exact()


def racer(floor: float = FLOOR, live: bool = False) -> Player:
    """The player ``racer``; ``live`` looks ahead on the table's own deck instead of using the table of thresholds."""
    return LiveRacer() if live else Racer(floor)
