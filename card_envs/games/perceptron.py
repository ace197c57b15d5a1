"""A small network with one output that rules can ask, and the file from which its weights are read.

Rules see the weights as constants, so they are part of the digest of whatever is compiled with them.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load

from card_envs.engine.jitable import make_scratch, register_jitable

HIDDEN = 32  # units in each of the two hidden layers

Weights = NDArray[np.float64]


class Perceptron(NamedTuple):
    """Two hidden layers of :data:`HIDDEN` rectified units and one output. Weights are [inputs, outputs] of their layer."""

    weight1: Weights
    bias1: Weights
    weight2: Weights
    bias2: Weights
    weight3: Weights
    bias3: Weights


def list_shapes(inputs: int) -> dict[str, tuple[int, ...]]:
    """Return the shape of each array of a network with so many inputs."""
    return {
        "weight1": (inputs, HIDDEN), "bias1": (HIDDEN,),
        "weight2": (HIDDEN, HIDDEN), "bias2": (HIDDEN,),
        "weight3": (HIDDEN, 1), "bias3": (1,),
    }  # fmt: skip


def read_perceptron(path: Path, name: str, inputs: int) -> Perceptron:
    """Read the network ``name`` from a safetensors file, whose tensors are called ``name.weight1`` and so on.

    Raises:
        ValueError: A tensor is missing, is not float32, has a wrong shape, or holds a number that is not finite.
    """
    tensors = load(path.read_bytes())
    weights = {}
    for part, shape in list_shapes(inputs).items():
        tensor = tensors.get(f"{name}.{part}")
        if tensor is None or tensor.dtype != np.float32 or tensor.shape != shape or not np.isfinite(tensor).all():
            raise ValueError(f"{path}: {name}.{part} must be finite float32 numbers of the shape {shape}")
        weights[part] = tensor.astype(np.float64)
    return Perceptron(**weights)


@register_jitable
def add_layer(x, weight, bias, rectified, out):
    """Write the outputs of one layer for the inputs ``x``; if they are ``rectified``, negative ones count as 0."""
    for j in range(len(out)):
        out[j] = bias[j]
    for i in range(len(weight)):
        value = x[i]
        if value > 0.0 or (value < 0.0 and not rectified):
            for j in range(len(out)):
                out[j] += value * weight[i, j]


@register_jitable
def ask(network, x):
    """The output of a network for the inputs ``x``."""
    first = make_scratch(HIDDEN)
    second = make_scratch(HIDDEN)
    out = make_scratch(1)
    add_layer(x, network.weight1, network.bias1, False, first)
    add_layer(first, network.weight2, network.bias2, True, second)
    add_layer(second, network.weight3, network.bias3, True, out)
    return out[0]
