"""Built-in players of Pis Yedili (stub)."""
from card_envs.engine.game import Policy
from card_envs.engine.random import choose_random
POLICIES = (Policy("random", choose_random, "a uniformly random legal action"),)
ALIASES: dict[str, str] = {}
