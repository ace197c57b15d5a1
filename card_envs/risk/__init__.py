"""Bust risk in Flip 7: exact odds, optimal stopping, frontiers, the race to 200, and the price of a decision.

The exact figures are those of one solo round. Solo means that Swap, Steal, Discard and being given cards are left out
(:data:`CAVEAT`). :func:`play_real_round` plays the same strategies at the real table and gives intervals.
"""

from card_envs.risk.advisor import Advisor
from card_envs.risk.frontier import Point, Reach, bound_mean, tabulate_reach, trace_bust_frontier, trace_cvar_frontier
from card_envs.risk.loss import Decision, review
from card_envs.risk.model import CAVEAT, MODELS, Model, Position, load_model, parse_position
from card_envs.risk.odds import Draws, Odds, compute_odds
from card_envs.risk.race import Race, expect_rounds, solve_race
from card_envs.risk.simulate import Losses, Rate, RealRound, estimate_rate, measure_losses, play_real_round
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
    reach_payoff,
    risk_at_least,
    solve_model,
    solve_position,
    sum_at_least,
)
from card_envs.risk.tables import View, read_positions

__all__ = [
    "CAVEAT",
    "MODELS",
    "POINTS",
    "Advisor",
    "Decision",
    "Distribution",
    "Draws",
    "Losses",
    "Model",
    "Odds",
    "Point",
    "Position",
    "Race",
    "Rate",
    "Reach",
    "RealRound",
    "Solution",
    "Solved",
    "Strategy",
    "View",
    "always_draw",
    "bound_mean",
    "cards_at_least",
    "compute_odds",
    "estimate_rate",
    "evaluate",
    "expect_rounds",
    "line_rule",
    "load_model",
    "measure_losses",
    "one_step",
    "optimal",
    "parse_position",
    "play_real_round",
    "reach_payoff",
    "read_positions",
    "review",
    "risk_at_least",
    "solve_model",
    "solve_position",
    "solve_race",
    "sum_at_least",
    "tabulate_reach",
    "trace_bust_frontier",
    "trace_cvar_frontier",
]  # fmt: skip
