"""Flip 7: With a Vengeance."""

from card_envs.engine.game import Game

GAME = Game.from_package(
    __name__,
    name="flip7",
    title="Flip 7: With a Vengeance",
    version=0,
    summary="Press your luck for 200 points; everything but the deck's order is public.",
    default_opponent="ev",
    score_scale=lambda options: 1.0 / int(options["target"]),
)
