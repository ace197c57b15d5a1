"""What decisions cost: the points, or the win probability, that each choice between drawing and staying gives away.

The loss of a choice is max(Q(draw), Q(stay)) - Q(what was chosen), by the solo solver on the deck as it lies. Swap, Steal,
Discard and being given cards are left out of Q, so that it cannot judge a choice made to deny an opponent something. In a solo
round E[X_π] = V*(∅) - E[Σ losses]: the losses say the same as the points, with a fraction of their variance.

In the game of several players the values cannot be exact, but they can still take luck out of a mean. For each card drawn on a
turn, the value V after it less the expectation of V over the deck has the mean 0, whatever V is. Subtracting this difference
therefore leaves the mean unchanged (AIVAT: Burch, Schmid, Moravčík, Morrill and Bowling 2018), which
``simulate.play_real_round`` does.
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
from card_envs.games.flip7.state import ACTION_DRAW, ACTION_STAY
from card_envs.players.player import Decisions
from card_envs.risk.kernel import SCORES
from card_envs.risk.model import CAVEAT, name_cards
from card_envs.risk.race import Race, shift_totals, solve_race
from card_envs.risk.solve import POINTS, Array
from card_envs.risk.tables import View, check_game, find_sure_draws, value_choices

UNITS = ("points", "win")


@dataclass(frozen=True)
class Decision:
    """A choice between drawing and staying, and what it gave away.

    Attributes:
        number: The number of the decision in the match, from 1.
        deal: The round in which it was made, from 1.
        seat: The seat that made it.
        line: The names of the cards in its line.
        action: What was chosen, ``"draw"`` or ``"stay"``.
        draw, stay: What drawing and staying were worth, in points or win probability.
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
        """The value of the better choice less that of the one that was made, at least 0."""
        return max(self.draw, self.stay) - (self.draw if self.action == "draw" else self.stay)

    def facts(self) -> dict[str, Any]:
        """Return the figures as JSON-able values."""
        return vars(self) | {"line": list(self.line), "loss": self.loss}


def build_payoffs(view: View, unit: str, race: Race | None = None) -> Array:
    """Return what the score x is worth at each table of a view, at ``x + 32``, float64 [n, 160].

    Args:
        view: The tables.
        unit: ``"points"``, or ``"win"`` for the probability of winning the race of two against the best opponent.
        race: The race of the model ``"plain"`` to 200, if it has been solved already.

    Raises:
        ValueError: The unit is unknown.
    """
    if unit == "points":
        return np.broadcast_to(POINTS, (len(view.turn), SCORES)).copy()
    if unit != "win":
        raise unknown("unit", unit, UNITS)
    mine, theirs = shift_totals(view.totals, int(view.options["target"]))
    payoffs: Array = (race or solve_race("plain")).payoffs[mine, theirs]
    return payoffs


@dataclass(frozen=True)
class Choices:
    """Choices between drawing and staying that are about to be carried out in n rows of many matches.

    Attributes:
        rows: The rows, int64 [n].
        view: What the seats to move observe.
        drew: Whether drawing was chosen, bool [n].
        draw, stay: What drawing and staying are worth, float64 [n].
    """

    rows: NDArray[np.int64]
    view: View
    drew: NDArray[np.bool_]
    draw: Array
    stay: Array

    @property
    def loss(self) -> Array:
        """The value that each choice gives away, float64 [n], at least 0."""
        return compute_loss(self.draw, self.stay, self.drew)


def compute_loss(draw: Array, stay: Array, drew: NDArray[np.bool_]) -> Array:
    """Return the value of the better choice less that of the one that was made, float64 [n]."""
    lost: Array = np.maximum(draw, stay) - np.where(drew, draw, stay)
    return lost


def find_choices(matches: Matches, rows: NDArray[np.int64], unit: str = "points", race: Race | None = None) -> Choices | None:
    """Return the choices among the actions that are about to be carried out in these rows; ``None`` if there are none."""
    rows = _select_choosing(matches, rows)
    if not len(rows):
        return None
    view = View.read(Decisions(matches, rows).observation, matches.options)
    draw, stay = value_choices(view, np.arange(len(rows)), build_payoffs(view, unit, race))
    return Choices(rows, view, matches.actions[rows] == ACTION_DRAW, draw, stay)


def _select_choosing(matches: Matches, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return those of the rows in which there is a choice between drawing and staying."""
    choosing: NDArray[np.int64] = rows[matches.mask[rows, ACTION_STAY] == 1]
    return choosing


def measure_millionths(matches: Matches, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Measure what the actions about to be carried out in these rows give away, in millionths of a point, int64 [n]."""
    lost = np.zeros(matches.size, np.int64)
    asked = _select_choosing(matches, rows)
    if len(asked):
        view = View.read(Decisions(matches, asked).observation, matches.options)
        drew = matches.actions[asked] == ACTION_DRAW
        doubtful = np.flatnonzero(~(drew & find_sure_draws(view, np.arange(len(asked)))))  # the others lose nothing
        payoffs = np.broadcast_to(POINTS, (len(doubtful), SCORES)).copy()
        draw, stay = value_choices(view, doubtful, payoffs)
        lost[asked[doubtful]] = np.rint(1e6 * compute_loss(draw, stay, drew[doubtful]))
    return lost[rows]


APPRAISER = Appraiser(
    Metric(
        "decision loss",
        f"points that draws and stays gave away in a round, by the solo solver ({CAVEAT})",
        lambda c: c[LOST] / 1e6 / c[DEALS],
    ),
    measure_millionths,
)


def review(record: Mapping[str, Any] | Table, unit: str = "points") -> list[Decision]:
    """Return every choice between drawing and staying in a match, in order.

    Args:
        record: The record of a match (``Table.record()``), or the table at which it was played from its start.
        unit: ``"points"`` of the round, or ``"win"`` for the probability of winning the race of two against the best opponent.

    Raises:
        ValueError: The match is not one of Flip 7, the record is wrong, or the unit is unknown.
    """
    played = record if isinstance(record, Table) else card_envs.replay(record)
    check_game(played)
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
    view = View.read(np.stack(observations), played.options)
    draw, stay = value_choices(view, np.arange(len(about)), build_payoffs(view, unit))
    return [
        Decision(number, deal, seat, tuple(name_cards(int(view.lines[row, 0]))), action, float(draw[row]), float(stay[row]))
        for row, (number, deal, seat, action) in enumerate(about)
    ]
