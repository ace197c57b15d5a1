"""Flip 7: With a Vengeance as a PettingZoo environment; the docstring of ``raw_env`` is its page."""

from card_envs.envs.aec import make_classes

env, raw_env = make_classes("flip7", __name__)
