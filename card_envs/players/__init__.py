"""The players at a table: built-in policies, trained networks, people, and code of your own.

A player has one method, ``act(decisions) -> actions``. :class:`Decisions` describes what it is given.
"""

from card_envs.players.checkpoint import load_player
from card_envs.players.player import Decisions, Player
from card_envs.players.search import Search
from card_envs.players.spec import (
    check_stored,
    register_player,
    registered_players,
    resolve,
    resolve_policy,
    resolve_stored,
    split_specs,
)

__all__ = [
    "Decisions", "Player", "Search", "check_stored", "load_player", "register_player", "registered_players", "resolve",
    "resolve_policy", "resolve_stored", "split_specs",
]  # fmt: skip
