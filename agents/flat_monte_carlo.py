"""Flat Monte Carlo: try each legal action on many redeals of the hidden cards, play on by a built-in policy, take the best.

``agents.flat_monte_carlo:FlatMonteCarlo(400, "best")`` is a spec like any other if the working directory is the checkout. The
rollouts are spent by sequential halving (Karnin, Koren and Somekh 2013): every action gets some, then the better half gets
more, until one action is left beside the usual one, which the policy itself would take. The usual action is played unless the
other is clearly better, so that the noise of few rollouts costs little. This is the rollout algorithm of Tesauro and Galperin
(1996) with a statistical test.
"""

from __future__ import annotations

from math import ceil, log2

import numpy as np
from numpy.typing import NDArray

from card_envs.engine.table import Table
from card_envs.players import Decisions, resolve_policy
from card_envs.players.player import BuiltIn


class FlatMonteCarlo:
    """A player that searches one move deep.

    All actions are tried on the same redeals and with the same random streams for the players of the rollouts, so that luck
    hardly influences the comparison.

    Args:
        rollouts: The number of rollouts for a decision. Each legal action gets at least two in each round of the halving.
        policy: The built-in player that plays on in all seats. By default it is the default opponent of the game.
        until: ``"match"`` to maximise the share of the win, ``"deal"`` to maximise the margin of the current deal.
        caution: By how many standard errors another action must be better than the usual one.
    """

    def __init__(self, rollouts: int = 400, policy: str | None = None, until: str = "match", caution: float = 2.0) -> None:
        if isinstance(rollouts, bool) or not isinstance(rollouts, int) or rollouts < 1:
            raise ValueError(f"rollouts = {rollouts!r}: allowed is a whole number from 1")
        self.rollouts = rollouts
        self.policy = policy
        self.until = until
        self.caution = caution

    def act(self, decisions: Decisions) -> NDArray[np.int64]:
        """Choose an action for every decision, by search if there is more than one."""
        player = resolve_policy(self.policy or decisions.game.default_opponent, decisions.game)
        actions = player.act(decisions)
        searched = np.flatnonzero(decisions.action_mask.sum(axis=1) > 1)
        if len(searched):
            tables = decisions.tables()
            for row in searched:
                seed = int(decisions.key[row] >> np.uint64(2))
                actions[row] = self.search(tables[row], int(decisions.seat[row]), player, int(actions[row]), seed)
        return actions

    def search(self, table: Table, seat: int, player: BuiltIn, usual: int, seed: int) -> int:
        """Search for an action that is clearly better than the usual one.

        Args:
            table: The table, whose hidden cards have been dealt anew.
            seat: The seat that is to move.
            player: The built-in player of the rollouts.
            usual: The index of the action that this player would take.
            seed: The seed of the redeals and rollouts.

        Returns:
            The index of an action.
        """
        left = np.flatnonzero(table.action_mask())
        values = np.empty((0, len(left)))  # [redeal, action]
        rounds = ceil(log2(len(left)))
        for number in range(rounds):
            redeals = max(2, self.rollouts // (rounds * len(left)))
            worlds = table.batch.gather(np.zeros(redeals, np.int64))
            worlds.redeal(seat, seed + number)
            rows = np.repeat(np.arange(redeals), len(left))
            paid = worlds.gather(rows).rollout(
                np.tile(left, redeals), player.policy.name, player.parameters, until=self.until, seeds=seed + number + rows
            )
            values = np.concatenate([values, paid[:, seat].reshape(redeals, len(left))])
            ranks = np.argsort(np.argsort(-values.mean(axis=0), kind="stable"))
            keep = (ranks < ceil(len(left) / 2)) | (left == usual)
            left, values = left[keep], values[:, keep]
        ahead = values - values[:, left == usual]
        best = int(ahead.mean(axis=0).argmax())
        error = ahead[:, best].std(ddof=1) / len(ahead) ** 0.5
        return int(left[best]) if ahead[:, best].mean() > self.caution * error else usual

    def __repr__(self) -> str:
        return f"<player FlatMonteCarlo({self.rollouts}, {self.policy!r}, {self.until!r}, {self.caution})>"
