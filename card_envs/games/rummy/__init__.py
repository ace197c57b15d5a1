"""Rummy and Rummy 500."""

from card_envs.engine.game import Game, Options


def scale_scores(options: Options) -> float:
    """The scale of ``reward="score"``: points are divided by the target, penalty points by -100."""
    return -0.01 if options["scoring"] == "negative" else 1.0 / int(options["target"])


GAME = Game.from_package(
    __name__,
    name="rummy",
    title="Rummy",
    version=0,
    summary="Draw, meld, discard: basic rummy and Rummy 500 (variant='rummy500'). Hands are hidden.",
    default_opponent="best",
    score_scale=scale_scores,
)
