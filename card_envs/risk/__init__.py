"""Bust risk in Flip 7: exact odds, optimal stopping, frontiers, the race to 200, and the price of a decision.

Exact where it is exact: one solo round. Solo means that Swap, Steal, Discard and being given cards are left out
(:data:`CAVEAT`); :func:`real_round` plays the same players at the real table, with intervals.
"""

from card_envs.risk.frontier import Point, Reach, bust_frontier, cvar_frontier, most_mean, reach_table
from card_envs.risk.loss import Decision, review
from card_envs.risk.model import CAVEAT, MODELS, Model, Position, model_of, position_of, positions_of
from card_envs.risk.odds import Draws, Odds, odds
from card_envs.risk.race import Race, race, rounds_to
from card_envs.risk.simulate import Losses, Rate, RealRound, match_losses, real_round, wilson
from card_envs.risk.solve import (
    POINTS,
    Distribution,
    Solution,
    Solved,
    Strategy,
    always_draw,
    cards_at_least,
    evaluate,
    line_rule,
    one_step,
    optimal,
    reach,
    risk_at_least,
    solve,
    solve_model,
    sum_at_least,
)  # fmt: skip

__all__ = [
    "CAVEAT", "MODELS", "POINTS", "Decision", "Distribution", "Draws", "Losses", "Model", "Odds", "Point", "Position", "Race",
    "Rate", "Reach", "RealRound", "Solution", "Solved", "Strategy", "always_draw", "bust_frontier", "cards_at_least",
    "cvar_frontier", "evaluate", "line_rule", "match_losses", "model_of", "most_mean", "odds", "one_step", "optimal",
    "position_of", "positions_of", "race", "reach", "reach_table", "real_round", "review", "risk_at_least", "rounds_to",
    "solve", "solve_model", "sum_at_least", "wilson",
]  # fmt: skip
