"""A policy that is residual on a built-in player, its teacher: it adds to the logit of the action that they would choose.

Its environment is ``CardVecEnv(teacher=…)``, whose observations end with the choice of the teacher. The perceptrons of the
policy and of the value do not see this part. The policy adds one number, the skip, to the logit of the teacher's action, as a
checkpoint with a teacher does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import torch
from gymnasium import spaces
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


class ResidualPolicy(MaskableActorCriticPolicy):
    """A policy whose logits are those of a perceptron and, for the action of the teacher, the skip. The skip is learned, too.

    It begins as the teacher, if the skip is set to more than zero: the last layer of the perceptron is zero.
    """

    action_net: nn.Linear
    net_arch: list[int]

    def _build_mlp_extractor(self) -> None:
        self.actions = int(cast(spaces.Discrete, self.action_space).n)
        self.skip = nn.Parameter(torch.zeros(1))
        inputs = self.features_dim - self.actions
        self.mlp_extractor = BesideExtractor(inputs, self.net_arch, self.activation_fn, self.device)

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)
        nn.init.zeros_(self.action_net.weight)
        nn.init.zeros_(self.action_net.bias)

    def _get_action_dist_from_latent(self, latent_pi: Tensor) -> MaskableDistribution:
        latent, advice = latent_pi[:, : -self.actions], latent_pi[:, -self.actions :]
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
