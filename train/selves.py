"""Self-play: the learner's opponents are its current policy and, if there is a pool, its earlier selves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from sb3_contrib import MaskablePPO

from card_envs.players import Player
from card_envs.players.network import Network
from train.checkpoints import copy_policy


class Selves:
    """The players opposite a learner that plays against itself. They draw their actions by probability.

    Without a pool the current policy takes all seats. With one, a seat is taken by the current policy or, as often, by one of
    the earlier ones; it is drawn for each seat of each match. At the start all of them are the first policy.

    Attributes:
        current: The network of the current policy.
        past: The networks of earlier policies.

    Args:
        make: Makes a network of the policy's shape.
        pool: The number of earlier policies.
        every: After so many rollouts, the current policy takes the place of the oldest one.
    """

    def __init__(self, make: Callable[[], Network], pool: int, every: int) -> None:
        self.current = make()
        self.past = [make() for _ in range(pool)]
        self.every = every

    @property
    def opponents(self) -> Player | dict[Player, float]:
        """The opponents, as the environment takes them."""
        if not self.past:
            return self.current
        return {self.current: 1.0, **{network: 1.0 / len(self.past) for network in self.past}}

    def begin(self, model: MaskablePPO) -> None:
        """Make all of them equal to the policy of the model, which is about to begin."""
        for network in (self.current, *self.past):
            copy_policy(model, network)

    def follow(self, model: MaskablePPO, rollouts: int) -> None:
        """Go along with the policy of the model after a number of rollouts."""
        copy_policy(model, self.current)
        if self.past and rollouts % self.every == 0:
            copy_policy(model, self.past[rollouts // self.every % len(self.past)])

    def save(self) -> list[list[torch.Tensor]]:
        """Return the earlier policies as tensors; the current one is part of the model."""
        return [[torch.from_numpy(array.copy()) for array in _list_arrays(network)] for network in self.past]

    def restore(self, state: list[list[torch.Tensor]]) -> None:
        """Go on from what :meth:`save` returned for selves that were made with the same arguments."""
        if len(state) != len(self.past):
            raise ValueError(f"{len(self.past)} earlier selves are expected, not {len(state)}")
        for network, tensors in zip(self.past, state, strict=True):
            mine = _list_arrays(network)
            its: list[Any] = [tensor.numpy() for tensor in tensors]
            if [(a.shape, a.dtype) for a in its] != [(a.shape, a.dtype) for a in mine]:
                raise ValueError("the layers of an earlier self have other shapes")
            if not all(np.isfinite(array).all() for array in its):
                raise ValueError("a weight of an earlier self is not a finite number")
            network.skip = its[0]
            network.layers = list(zip(its[1::2], its[2::2], strict=True))


def _list_arrays(network: Network) -> list[Any]:
    return [network.skip, *(part for layer in network.layers for part in layer)]
