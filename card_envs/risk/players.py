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

FEW = 2  # with fewer number cards drawing is always best, and the solver would take long
FLOOR = 27.0  # among 20, 24, 27 and 30 it won most against one `ev` on the board list "tune"


class Stopper:
    """A player who draws or stays by :meth:`decide`, unless staying decides the match, and does all else like ``ev``."""

    name: str
    batch_invariant = stateless = True

    def __init__(self) -> None:
        self.other: Player = resolve(GAME.default_opponent, GAME)

    def act(self, decisions: Decisions) -> NDArray[np.int64]:
        """Return an action for each decision, int64 [n]."""
        actions = self.other.act(decisions)
        view = View.read(decisions.observation, decisions.options)
        choice = view.turn & (decisions.action_mask[:, ACTION_STAY] == 1) & ~find_decided(view)
        rows = np.flatnonzero(choice)
        if len(rows):
            actions[rows] = np.where(self.decide(view, rows), ACTION_STAY, ACTION_DRAW)
        return actions

    def decide(self, view: View, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return whether to stay at these tables, bool [len(rows)]."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<player {self.name}>"


def find_decided(view: View) -> NDArray[np.bool_]:
    """Return where staying now decides the match, whatever the opponents draw, bool [n]."""
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

    name = "exact"

    def decide(self, view: View, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        stays = np.zeros(len(rows), np.bool_)
        many = np.flatnonzero(count_line(view.lines[rows, 0], True) >= FEW)
        if len(many):
            draw, stay = value_choices(view, rows[many], np.broadcast_to(POINTS, (len(many), len(POINTS))).copy())
            stays[many] = stay >= draw
        return stays


class Racer(Stopper):
    """Stays once the line scores T(mine, theirs), the threshold of the race; ``theirs`` is the total of the best opponent.

    In the race nobody can touch a line that has stayed. At the real table everybody can, so that stopping early when ahead
    costs more there.

    Args:
        floor: The least number of points that counts as the threshold.
        live: Whether to maximise the win probability after this round instead, looking ahead on the deck as it lies.
    """

    def __init__(self, floor: float = FLOOR, live: bool = False) -> None:
        super().__init__()
        self.floor = floor
        self.live = live
        self.name = "racer(live=True)" if live else "racer"

    @cached_property
    def race(self) -> Race:
        """The race to 200 of the model ``plain``."""
        return solve_race("plain")

    def decide(self, view: View, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        mine, theirs = shift_totals(view.totals[rows], int(view.options["target"]))
        if self.live:
            draw, stay = value_choices(view, rows, self.race.payoffs[mine, theirs])
        else:
            draw, stay = np.maximum(self.race.thresholds[mine, theirs], self.floor), view.scores[rows, 0]
        stays: NDArray[np.bool_] = stay >= draw
        return stays


exact, racer = Exact, Racer  # the names by which specs ask for them
