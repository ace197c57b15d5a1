"""Checks of states that come from outside, such as that of a record: compiled code trusts what it reads.

A state is admitted only if the rules can produce it. What every game's state must keep stands here; what a game's own fields
must keep is checked by the game (:attr:`~card_envs.engine.game.Game.check`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from card_envs.engine.game import CUT_OFF, GOES_ON, NOBODY, Game, OptionValue
from card_envs.engine.rows import Rows, States


def find_fault(game: Game, options: Mapping[str, OptionValue], states: States) -> str | None:
    """Return what is wrong with the first of these states that the rules cannot produce; ``None`` if there is none.

    Args:
        game: whose states they are.
        options: all options of the match, resolved: every state must hold them.
        states: structured [n].
    """
    for option in game.options:
        if np.any(states[option.name] != option.encode(options[option.name])):
            return f"it has another value of option {option.name}"
    for name, (low, high) in game.bounds.items():
        if np.any(states[name] < low) or np.any(states[name] > high):
            return f"{name} is out of {low} … {high}"
    rows = Rows(states.copy())  # a game's check may write into the state
    for number in range(len(states)):
        fault = _find_common_fault(game, rows[number]) or game.check(rows[number])
        if fault:
            return fault
    return None


def _find_common_fault(game: Game, s: Any) -> str | None:
    """Return what is wrong with the fields that the states of all games share."""
    if bool(s.over) != (s.phase == len(game.phases) - 1) or bool(s.over) != (s.to_move == NOBODY):
        return "the match is over, or it is not"
    if s.to_move >= s.players:
        return "a seat is not at the table"
    if s.finished != s.deal - (not s.over) or (s.single_deal and s.deal != 1):
        return "the deals finished are not those before this one"
    if s.dealer != (s.deal - 2) % s.players:
        return "the deal has not come to this dealer"
    return _find_wrong_totals(game, s)


def _find_wrong_totals(game: Game, s: Any) -> str | None:
    low, high = game.bounds["scores"]
    before = max(0, s.finished - 1)  # deals whose scores are in the totals alone
    for seat, total in enumerate(s.totals):
        score = s.scores[seat]
        if (seat >= s.players or not s.finished) and (total or score):
            return "there are points that nobody has scored"
        if not before * low <= total - score <= before * high:
            return f"so many deals cannot bring seat {seat} so many points"
    verdict = game.judge_match(s) if s.finished else GOES_ON
    decided = verdict != GOES_ON or bool(s.single_deal and s.finished)
    if decided != bool(s.over) or bool(s.truncated) != (verdict == CUT_OFF and not s.single_deal):
        return "the points end the match, or they do not"
    return None
