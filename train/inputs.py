"""Inputs of a network that never vary while it learns.

With ``episode="deal"``, for example, the match score is always zero, and the number of the deal always one. The weights of such
an input learn nothing but a bias. In whole matches the input varies, and these weights would then add noise. Therefore their
part in what was learned is moved into the biases of the first layer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from card_envs.players.network import Floats, Layers


class InputRanges:
    """The least and the greatest value that each input has had in what a network has learned from.

    Args:
        size: The number of inputs.
    """

    def __init__(self, size: int) -> None:
        self.low = np.full(size, np.inf, np.float32)
        self.high = np.full(size, -np.inf, np.float32)

    def watch(self, inputs: Floats) -> None:
        """Take note of inputs that are learned from, float32 [..., size] or with more at the end, which are left out."""
        axes = tuple(range(inputs.ndim - 1))
        size = len(self.low)
        np.minimum(self.low, inputs.min(axis=axes)[:size], out=self.low)
        np.maximum(self.high, inputs.max(axis=axes)[:size], out=self.high)

    @property
    def constant(self) -> NDArray[np.bool_]:
        """Whether each input has been seen and has never varied, bool [size]."""
        constant: NDArray[np.bool_] = self.low == self.high
        return constant

    def save(self) -> dict[str, Any]:
        """Return the ranges as tensors."""
        return {"low": torch.from_numpy(self.low.copy()), "high": torch.from_numpy(self.high.copy())}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what :meth:`save` returned for as many inputs."""
        for name, mine in (("low", self.low), ("high", self.high)):
            its = state[name].numpy()
            if (its.shape, its.dtype) != (mine.shape, mine.dtype) or np.isnan(its).any():
                raise ValueError(f"the {name} ends of the ranges of {len(mine)} inputs are expected")
            mine[:] = its


def fold_constants(layers: Layers, ranges: InputRanges, earlier: Floats | None = None) -> list[tuple[Floats, Floats]]:
    """Return layers that compute the same where the constant inputs have their values, without what was learned about these.

    Args:
        layers: The layers of a network, each (weight [out, in], bias [out]).
        ranges: What its inputs were while it learned.
        earlier: The weights of the first layer before it learned, float32 [out, in]. Those of constant inputs become these
            again. By default they become zero, since random weights are nothing to go back to.
    """
    weight, bias = layers[0]
    which = ranges.constant
    kept = weight.copy()
    kept[:, which] = 0.0 if earlier is None else earlier[:, which]
    moved = (weight - kept)[:, which] @ ranges.low[which]
    return [(kept, bias + moved.astype(np.float32)), *layers[1:]]
