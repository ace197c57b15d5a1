"""Flat Monte Carlo, the simplest search: all redeals of the hidden cards count the same, and a built-in player plays on.

``agents.flat_monte_carlo:FlatMonteCarlo(400, "best")`` is a spec like any other if the working directory is the checkout. This
is the rollout algorithm of Tesauro and Galperin (1996) with a statistical test.
"""

from __future__ import annotations

from card_envs.players import Search


class FlatMonteCarlo(Search):
    """A player that searches one move deep.

    Args:
        rollouts: The number of rollouts for a decision, about.
        policy: The player that plays on in all seats. By default it is the default opponent of the game.
        until: ``"match"`` to maximise the share of the win, ``"deal"`` to maximise the margin of the current deal.
        caution: By how many standard errors another action must be better than the usual one.
    """

    def __init__(self, rollouts: int = 400, policy: str | None = None, until: str = "match", caution: float = 2.0) -> None:
        super().__init__(rollouts, policy=policy, until=until, value="margin", caution=caution, beliefs=False)
