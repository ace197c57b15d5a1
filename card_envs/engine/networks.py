"""The parameters of multilayer perceptrons that compiled code runs: weights, and the memory in which it computes.

Compiled loops allocate nothing, so two threads must not share the parameters; see :func:`copy_parameters`.

There are two forms. A *scorer* gives each action a score of its own, from the features of the action and whether its teacher,
a built-in policy, would choose it. A *map* has a logit for every action of the game, from the observation.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Layers = Sequence[tuple[Floats, Floats]]

SCORER, MAP = "scorer", "map"
FORMS = (SCORER, MAP)
ACTIVATIONS = ("relu", "tanh")
RELU, TANH = range(len(ACTIVATIONS))
ACTIVATION, DRAWS = range(2)  # the places in the settings


class NetworkParameters(NamedTuple):
    """The parameters of a network as a policy.

    Attributes:
        weights: All layers in order: of each the weights by input, [in, out], and then the biases [out]. Float32, flat.
        sizes: The number of inputs of the network and of outputs of each layer, int64 [layers + 1].
        skip: What is added to the output of a scorer for each unit of each input, float32 [inputs]; of a map, what is added to
            the logit of its teacher's action, float32 [1].
        teacher: The parameters of the teacher, float64.
        settings: The index of the activation in :data:`ACTIVATIONS`, and whether actions are drawn by their probabilities,
            int64 [2].
        actions: The legal actions of a decision, int64 [A].
        inputs: The inputs, float32 [A, inputs] of a scorer, [1, inputs] of a map.
        first: What the first layer makes of the inputs of the first action, float32 [width].
        hidden: The outputs of two layers, float32 [2, width].
        scores: The score of each of ``actions``, float32 [A].
    """

    weights: Floats
    sizes: NDArray[np.int64]
    skip: Floats
    teacher: NDArray[np.float64]
    settings: NDArray[np.int64]
    actions: NDArray[np.int64]
    inputs: Floats
    first: Floats
    hidden: Floats
    scores: Floats


class ScoredActions(NamedTuple):
    """The legal actions of n decisions and what a network makes of them, one decision after the other.

    Attributes:
        counts: How many actions each decision has, int64 [n]; m is their sum.
        actions: The actions, int64 [m], within each decision in the order of their indices.
        scores: Their scores, float32 [m].
        inputs: The inputs of a scorer, float32 [m, inputs]; of a map there are none.
    """

    counts: NDArray[np.int64]
    actions: NDArray[np.int64]
    scores: Floats
    inputs: Floats


def flatten_layers(layers: Layers) -> Floats:
    """Return layers, each (weight [out, in], bias [out]), as the ``weights`` of :class:`NetworkParameters`."""
    return np.concatenate([part.ravel() for weight, bias in layers for part in (weight.T, bias)]).astype(np.float32)


def make_parameters(
    layers: Layers,
    skip: Floats,
    teacher: NDArray[np.float64],
    *,
    activation: str,
    draws: bool,
    num_actions: int,
    is_scorer: bool,
) -> NetworkParameters:
    """Make the parameters of a network from its layers, each (weight [out, in], bias [out]) in float32."""
    sizes = [layers[0][0].shape[1], *(len(bias) for _, bias in layers)]
    width = max(sizes[1:])
    return NetworkParameters(
        weights=flatten_layers(layers),
        sizes=np.array(sizes, np.int64),
        skip=np.array(skip, np.float32),
        teacher=np.array(teacher, np.float64),
        settings=np.array([ACTIVATIONS.index(activation), draws], np.int64),
        actions=np.zeros(num_actions, np.int64),
        inputs=np.zeros((num_actions if is_scorer else 1, sizes[0]), np.float32),
        first=np.zeros(width, np.float32),
        hidden=np.zeros((2, width), np.float32),
        scores=np.zeros(num_actions, np.float32),
    )


def fits_network(p: NetworkParameters, form: str, inputs: int, num_actions: int) -> bool:
    """Whether compiled code can run a network in a game with these numbers of inputs and actions."""
    if not all(isinstance(array, np.ndarray) for array in p) or p.sizes.dtype != np.int64:
        return False
    if p.sizes.ndim != 1 or len(p.sizes) < 2 or (p.sizes < 1).any():
        return False
    sizes = p.sizes.tolist()
    width = max(sizes[1:])
    rows, outputs, skips = (num_actions, 1, inputs) if form == SCORER else (1, num_actions, 1)
    weights = sum((n + 1) * m for n, m in pairwise(sizes))
    shapes = {
        "weights": (np.float32, (weights,)), "sizes": (np.int64, p.sizes.shape), "skip": (np.float32, (skips,)),
        "teacher": (np.float64, p.teacher.shape), "settings": (np.int64, (2,)), "actions": (np.int64, (num_actions,)),
        "inputs": (np.float32, (rows, inputs)), "first": (np.float32, (width,)), "hidden": (np.float32, (2, width)),
        "scores": (np.float32, (num_actions,)),
    }  # fmt: skip
    return (sizes[0], sizes[-1]) == (inputs, outputs) and all(
        (array.dtype, array.shape) == shapes[name] and array.flags.carray for name, array in p._asdict().items()
    )


def copy_parameters(parameters: Any) -> Any:
    """Return parameters of a policy that another thread can use. Arrays of numbers are only read and need no copy."""
    if not isinstance(parameters, NetworkParameters):
        return parameters
    scratch = {name: np.empty_like(getattr(parameters, name)) for name in ("actions", "inputs", "first", "hidden", "scores")}
    return parameters._replace(**scratch)
