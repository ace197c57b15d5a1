"""Who is better, and how sure is that? Players meet on the same boards, each played in all seat rotations."""

from card_envs.arena.benchmark import Benchmark, run_benchmark
from card_envs.arena.boards import BOARD_LISTS, derive_list_seed
from card_envs.arena.duels import Duel, play_duel
from card_envs.arena.panels import Panel, available_panels, load_panel
from card_envs.arena.statistics import Estimate, estimate_mean

__all__ = [
    "BOARD_LISTS",
    "Benchmark",
    "Duel",
    "Estimate",
    "Panel",
    "available_panels",
    "derive_list_seed",
    "estimate_mean",
    "load_panel",
    "play_duel",
    "run_benchmark",
]
