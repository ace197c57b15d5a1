"""Flip 7: With a Vengeance as a PettingZoo environment; ``raw_env`` has the environment's page."""

from card_envs.envs.aec import aec

env, raw_env = aec("flip7", __name__)
