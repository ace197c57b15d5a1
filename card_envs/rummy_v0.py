"""Rummy as a PettingZoo environment; ``raw_env`` has the environment's page."""

from card_envs.envs.aec import aec

env, raw_env = aec("rummy", __name__)
