"""The players ``exact`` and ``racer``: they draw or stay by the solver and leave all other choices to ``ev``."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from card_envs.games.flip7 import GAME
from card_envs.games.flip7.lines import count_line
from card_envs.games.flip7.state import ACTION_DRAW, ACTION_STAY, ACTIVE
from card_envs.players.player import Decisions, Player
from card_envs.players.spec import resolve
from card_envs.risk.race import Race, shift_totals, solve_race
from card_envs.risk.solve import POINTS
from card_envs.risk.tables import View, value_choices

FEW = 2  # with fewer number cards nobody stops, and looking ahead costs much
FLOOR = 27.0  # of 20, 24, 27 and 30 the one that won most against one `ev` on the board list "tune"


class Stopper:
    """A player who draws or stays by :meth:`decide`, unless banking decides the match, and does all else like ``ev``."""

    batch_invariant = True

    def __init__(self) -> None:
        self.other: Player = resolve(GAME.default_opponent, GAME)

    def act(self, decisions: Decisions) -> NDArray[np.int64]:
        """An action for each decision, int64 [n]."""
        actions = self.other.act(decisions)
        view = View.read(decisions.observation, decisions.options)
        choice = view.turn & (decisions.action_mask[:, ACTION_STAY] == 1) & ~find_decided(view)
        rows = np.flatnonzero(choice)
        if len(rows):
            actions[rows] = np.where(self.decide(view, rows), ACTION_STAY, ACTION_DRAW)
        return actions

    def decide(self, view: View, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether to stay at these tables, bool [len(rows)]."""
        raise NotImplementedError


def find_decided(view: View) -> NDArray[np.bool_]:
    """Where banking now wins or loses the match and no opponent can change that by drawing on, bool [n]."""
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
    """Maximises the expected points of the round, by the solver on the deck as it lies, with Zero, both 13s and modifiers."""

    def decide(self, view: View, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        stays = np.zeros(len(rows), np.bool_)
        many = np.flatnonzero(count_line(view.lines[rows, 0], True) >= FEW)
        if len(many):
            draw, stay = value_choices(view, rows[many], np.broadcast_to(POINTS, (len(many), len(POINTS))).copy())
            stays[many] = stay >= draw
        return stays

    def __repr__(self) -> str:
        return "<player exact>"


class Racer(Stopper):
    """Stays once the line scores T(mine, theirs), the threshold of the race; ``theirs`` is the total of the best opponent.

    In the race nobody can touch a line that has stayed. At the real table everybody can, so that stopping early when ahead
    costs more there.

    Args:
        floor: The points that T counts as at least.
    """

    def __init__(self, floor: float = FLOOR) -> None:
        super().__init__()
        self.floor = floor

    @cached_property
    def race(self) -> Race:
        """The race to 200 of the model ``plain``."""
        return solve_race("plain")

    def decide(self, view: View, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        mine, theirs = shift_totals(view.totals[rows], int(view.options["target"]))
        threshold = np.maximum(self.race.thresholds[mine, theirs], self.floor)
        stays: NDArray[np.bool_] = view.scores[rows, 0] >= threshold
        return stays

    def __repr__(self) -> str:
        return "<player racer>"


class LiveRacer(Racer):
    """Maximises the win probability of the race after this round, looking ahead on the deck as it lies."""

    def decide(self, view: View, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        mine, theirs = shift_totals(view.totals[rows], int(view.options["target"]))
        draw, stay = value_choices(view, rows, self.race.payoffs[mine, theirs])
        stays: NDArray[np.bool_] = stay >= draw
        return stays

    def __repr__(self) -> str:
        return "<player racer(live=True)>"


def exact() -> Player:
    """The player ``exact``."""
    return Exact()


def racer(floor: float = FLOOR, live: bool = False) -> Player:
    """The player ``racer``.

    Args:
        floor: The threshold of the race counts as this many points at least.
        live: Look ahead on the table's own deck instead of using the thresholds.
    """
    return LiveRacer() if live else Racer(floor)
