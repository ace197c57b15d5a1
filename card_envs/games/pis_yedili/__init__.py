"""Pis Yedili, the Turkish crazy eights."""

from card_envs.engine.game import Game

GAME = Game.from_package(
    __name__,
    name="pis_yedili",
    title="Pis Yedili",
    version=0,
    summary="The Turkish crazy eights: shed your hand; jacks name a suit, sevens punish. Hands are hidden.",
    default_opponent="best",
    score_scale=lambda options: -0.01,
)
