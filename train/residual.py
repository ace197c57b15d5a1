"""A policy that is residual on a built-in player: it adds to the logit of the action that this player, its teacher, would choose.

Its environment is ``CardVecEnv(teacher=…)``, whose observations end with the teacher's choice. The perceptrons of the policy
and of the value do not see this part; the policy adds one number, the skip, to the logit of the teacher's action. That is what a
checkpoint with a teacher computes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from sb3_contrib.common.maskable.distributions import MaskableDistribution
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.torch_layers import MlpExtractor
from torch import Tensor, nn


class BesideExtractor(MlpExtractor):
    """The hidden layers of policy and value over the first ``inputs`` values; the policy gets the other values as they are."""

    def __init__(self, inputs: int, net_arch: Sequence[int], activation_fn: type[nn.Module], device: Any) -> None:
        super().__init__(inputs, net_arch=list(net_arch), activation_fn=activation_fn, device=device)
        self.inputs = inputs

    def forward_actor(self, features: Tensor) -> Tensor:
        return torch.cat([super().forward_actor(features[:, : self.inputs]), features[:, self.inputs :]], dim=1)

    def forward_critic(self, features: Tensor) -> Tensor:
        return super().forward_critic(features[:, : self.inputs])


class ResidualPolicy(MaskableActorCriticPolicy):  # type: ignore[misc]
    """A policy whose logits are those of a perceptron and, for the action of the teacher, the skip. The skip is learned, too.

    It begins as the teacher, if the skip is set to more than zero: the last layer of the perceptron is zero.
    """

    def _build_mlp_extractor(self) -> None:
        self.skip = nn.Parameter(torch.zeros(1))
        inputs = self.features_dim - int(self.action_space.n)
        self.mlp_extractor = BesideExtractor(inputs, self.net_arch, self.activation_fn, self.device)

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)
        with torch.no_grad():
            self.action_net.weight.zero_()
            self.action_net.bias.zero_()

    def _get_action_dist_from_latent(self, latent_pi: Tensor) -> MaskableDistribution:
        latent, advice = latent_pi.split([self.mlp_extractor.latent_dim_pi, int(self.action_space.n)], dim=1)
        return self.action_dist.proba_distribution(action_logits=self.action_net(latent) + self.skip * advice)


def find_skip(legal: np.ndarray[Any, Any], probability: float) -> float:
    """Find the skip with which the action of the teacher has this probability, when all other logits are zero.

    Args:
        legal: How many actions were legal in each of some decisions, an integer array [n].
        probability: The mean over these decisions, less than 1.
    """
    counts, frequency = np.unique(legal[legal > 1], return_counts=True)
    if not len(counts):
        return 0.0
    low, high = 0.0, 100.0
    for _ in range(60):
        skip = (low + high) / 2
        reached = np.average(1.0 / (1.0 + (counts - 1.0) * np.exp(-skip)), weights=frequency)
        low, high = (skip, high) if reached < probability else (low, skip)
    return (low + high) / 2
