"""Who is better, and how sure are we: matches between players on duplicate deals."""

from card_envs.arena.bench import Bench, bench
from card_envs.arena.duel import LISTS, Duel, Estimate, Matches, duel, estimate, list_seed, play_matches
from card_envs.arena.panel import Panel, panel, panels

__all__ = [
    "LISTS",
    "Bench",
    "Duel",
    "Estimate",
    "Matches",
    "Panel",
    "bench",
    "duel",
    "estimate",
    "list_seed",
    "panel",
    "panels",
    "play_matches",
]
