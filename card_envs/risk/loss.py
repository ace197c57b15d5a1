"""What decisions cost: points, or win probability, given away per decision; and the same values as a control variate.

The loss of a decision is max(Q(draw), Q(stay)) - Q(what was chosen), both by the solo solver on the deck as it lies: Swap,
Steal, Discard and being given cards are left out of Q, so of a decision made to deny an opponent it is no judge. In a solo
round E[X_π] = V*(∅) - E[Σ losses]: the losses say what the points say, with a fraction of their variance.

In the game of several players the values cannot be exact, but they can still take luck out of a mean: of each card drawn on a
turn V(after it) less its expectation over the deck has the mean 0 whatever V is, so that subtracting it leaves the mean as it
is (AIVAT: Burch, Schmid, Moravčík, Morrill and Bowling 2018). ``real_round`` does that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import card_envs
from card_envs.engine.game import Metric, unknown
from card_envs.engine.matches import Matches
from card_envs.engine.measures import DEALS, LOST, Appraiser
from card_envs.engine.table import Table
from card_envs.games.flip7 import GAME
from card_envs.games.flip7.state import ACTION_DRAW, ACTION_STAY
from card_envs.players.player import Decisions
from card_envs.risk.kernel import SCORES
from card_envs.risk.live import draw_and_stay, surely_draws
from card_envs.risk.model import CAVEAT, View, names_of
from card_envs.risk.race import TARGET, Race, race
from card_envs.risk.solve import POINTS, Array

UNITS = ("points", "win")


@dataclass(frozen=True)
class Decision:
    """A choice between drawing and staying, and what it gave away, in points or win probability.

    Attributes:
        number: of the decision in the match, from 1; deal, seat: whose and when; line: his cards.
        action: what he chose; draw, stay: what either was worth; loss: best less chosen, at least 0.
    """

    number: int
    deal: int
    seat: int
    line: tuple[str, ...]
    action: str
    draw: float
    stay: float

    @property
    def loss(self) -> float:
        return max(self.draw, self.stay) - (self.draw if self.action == "draw" else self.stay)

    def facts(self) -> dict[str, Any]:
        """JSON-able."""
        return vars(self) | {"line": list(self.line), "loss": self.loss}


def payoffs_of(view: View, unit: str, table: Race | None = None) -> Array:
    """g for each row of a view, float64 [n, 160]: points, or the win probability of the race against the best opponent."""
    if unit == "points":
        return np.broadcast_to(POINTS, (len(view.turn), SCORES)).copy()
    if unit != "win":
        raise unknown("unit", unit, UNITS)
    totals = np.clip(view.totals + TARGET - int(view.options["target"]), 0, TARGET - 1)
    payoffs: Array = (table or race("plain")).payoffs[totals[:, 0], totals[:, 1:].max(axis=1)]
    return payoffs


@dataclass(frozen=True)
class Choices:
    """Choices between drawing and staying that are about to be made in some rows of a batch; n of them.

    Attributes:
        rows: int64 [n]; view: what their movers see; drew: bool [n], whether drawing was chosen.
        draw, stay: float64 [n], what either is worth.
    """

    rows: NDArray[np.int64]
    view: View
    drew: NDArray[np.bool_]
    draw: Array
    stay: Array

    @property
    def loss(self) -> Array:
        return given_away(self.draw, self.stay, self.drew)


def given_away(draw: Array, stay: Array, drew: NDArray[np.bool_]) -> Array:
    """The better of either less what was chosen, float64 [n]."""
    lost: Array = np.maximum(draw, stay) - np.where(drew, draw, stay)
    return lost


def choices_in(batch: Matches, rows: NDArray[np.int64], unit: str = "points", table: Race | None = None) -> Choices | None:
    """The choices among the decisions of these rows, whose actions are in the batch; ``None`` if there are none."""
    rows = _choosing(batch, rows)
    if not len(rows):
        return None
    view = View.of(Decisions(batch, rows).observation, batch.options)
    draw, stay = draw_and_stay(view, np.arange(len(rows)), payoffs_of(view, unit, table))
    return Choices(rows, view, batch.actions[rows] == ACTION_DRAW, draw, stay)


def _choosing(batch: Matches, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rows in which there is a choice between drawing and staying."""
    choosing: NDArray[np.int64] = rows[batch.mask[rows, ACTION_STAY] == 1]
    return choosing


def millionths_lost(batch: Matches, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """What the actions about to be played in these rows give away, int64 [n] in millionths of a point."""
    lost = np.zeros(batch.size, np.int64)
    asked = _choosing(batch, rows)
    if len(asked):
        view = View.of(Decisions(batch, asked).observation, batch.options)
        drew = batch.actions[asked] == ACTION_DRAW
        doubtful = np.flatnonzero(~(drew & surely_draws(view, np.arange(len(asked)))))  # the others lose nothing
        payoffs = np.broadcast_to(POINTS, (len(doubtful), SCORES)).copy()
        draw, stay = draw_and_stay(view, doubtful, payoffs)
        lost[asked[doubtful]] = np.rint(1e6 * given_away(draw, stay, drew[doubtful]))
    return lost[rows]


APPRAISER = Appraiser(
    Metric(
        "decision loss",
        f"points that draws and stays gave away in a round, by the solo solver ({CAVEAT})",
        lambda c: c[LOST] / 1e6 / c[DEALS],
    ),
    millionths_lost,
)


def review(record: Mapping[str, Any] | Table, unit: str = "points") -> list[Decision]:
    """Every choice between drawing and staying in a match, in order.

    Args:
        record: of a match (``Table.record()``), or the table that played it from its start.
        unit: ``"points"`` of the round, or ``"win"`` probability by the race of two against the best opponent.
    """
    played = record if isinstance(record, Table) else card_envs.replay(record)
    if played.game.name != GAME.name:
        raise ValueError(f"bust risk is of {GAME.name}, not of {played.game.name}")
    table = card_envs.replay(dict(played.record()) | {"actions": []})
    observations, about = [], []
    for number, action in enumerate(played.actions, 1):
        seat = table.to_move
        if action in ("draw", "stay") and seat is not None and "stay" in table.legal_actions():
            observations.append(table.observation(seat))
            about.append((number, len(table.deals) + 1, seat, action))
        table.play(action)
    if not observations:
        return []
    view = View.of(np.stack(observations), played.options)
    draw, stay = draw_and_stay(view, np.arange(len(about)), payoffs_of(view, unit))
    return [
        Decision(number, deal, seat, tuple(names_of(int(view.lines[row, 0]))), action, float(draw[row]), float(stay[row]))
        for row, (number, deal, seat, action) in enumerate(about)
    ]
