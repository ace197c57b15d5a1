"""Trained networks as players: a safetensors file with JSON metadata, played by a forward pass in NumPy.

Loading reads nothing but arrays and JSON, and never runs code from the file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from card_envs.engine.files import write_file
from card_envs.engine.game import Game, OptionValue
from card_envs.engine.random import stream, unit
from card_envs.players.player import Decisions

FORMAT = "card_envs.network/1"
ACTIVATIONS: dict[str, Callable[[Any], Any]] = {"tanh": np.tanh, "relu": lambda x: np.maximum(x, 0.0)}
CHUNK = 64  # the rows of each matrix product
_KEYS = {
    "format": str, "game": str, "version": int, "options": dict, "observation": list, "network": dict, "command": str,
    "evaluation": dict,
}  # fmt: skip


def describe_layout(game: Game, options: Mapping[str, OptionValue]) -> list[list[Any]]:
    """Return the name and size of every observation field: the meaning of the inputs of a network."""
    return [[name, int(np.prod(field.shape, dtype=int))] for name, field in game.observation_fields(options).items()]


class Network:
    """A multilayer perceptron from the observation to a logit for each action.

    Args:
        layers: The layers in order, each (weight [out, in], bias [out]) in float32. All but the last are followed by the
            activation.
        metadata: The metadata of the checkpoint, as :func:`save_network` writes it.
        deterministic: Whether to play the likeliest legal action. Otherwise actions are drawn by their probabilities, from the
            key of the decision.
        name: The name in errors and reports.
    """

    batch_invariant = True

    def __init__(
        self,
        layers: list[tuple[NDArray[np.float32], NDArray[np.float32]]],
        metadata: Mapping[str, Any],
        *,
        deterministic: bool = True,
        name: str = "network",
    ) -> None:
        self.layers = layers
        self.metadata = dict(metadata)
        self.activation = ACTIVATIONS[metadata["network"]["activation"]]
        self.deterministic = deterministic
        self.name = name

    def logits(self, observation: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the logits, float32 [n, A], of observations, float32 [n, D].

        Linear algebra libraries choose the order of summation by the shape of the arrays, so the last bits of a row may depend
        on the number of rows. Here every product has :data:`CHUNK` rows, so that the logits of a row depend on that row alone.
        """
        n, width = observation.shape
        chunks = -(-n // CHUNK)
        padded = np.zeros((chunks * CHUNK, width), np.float32)
        padded[:n] = observation
        x = padded.reshape(chunks, CHUNK, width)
        for number, (weight, bias) in enumerate(self.layers):
            x = x @ weight.T + bias  # a product for each chunk
            if number + 1 < len(self.layers):
                x = self.activation(x)
        return x.reshape(chunks * CHUNK, -1)[:n]

    def act(self, decisions: Decisions) -> NDArray[np.int64]:
        logits = np.where(decisions.action_mask != 0, self.logits(decisions.observation), -np.inf)
        if not self.deterministic:  # the Gumbel trick: the argmax of logits + noise is a draw by probability
            with np.errstate(over="ignore"):
                uniform = np.stack([unit(stream(decisions.key, action)) for action in range(logits.shape[1])], axis=1)
            logits = logits - np.log(-np.log(uniform))
        actions: NDArray[np.int64] = np.argmax(logits, axis=1)
        return actions

    def check(self, game: Game, options: Mapping[str, OptionValue]) -> None:
        """Raise ``ValueError`` unless this network was trained for this game with these options."""
        trained = self.metadata
        pairs = [("game", trained["game"], game.name), ("version", trained["version"], game.version)]
        if not any(mine != its for _, mine, its in pairs):
            pairs += [(f"option {k}", trained["options"].get(k), v) for k, v in options.items()]
            pairs += [("observation layout", trained["observation"], describe_layout(game, options))]
        for what, mine, its in pairs:
            if mine != its:
                raise ValueError(f"{self.name}: trained for {what} {mine!r}, but the table's is {its!r}")

    def __repr__(self) -> str:
        return f"<player {self.name}>"


def save_network(path: str | Path, network: Network) -> None:
    """Write a checkpoint atomically: a reader sees either the old file or the whole new one."""
    tensors = {}
    for number, (weight, bias) in enumerate(network.layers):
        tensors[f"{number}.weight"] = np.ascontiguousarray(weight, np.float32)
        tensors[f"{number}.bias"] = np.ascontiguousarray(bias, np.float32)
    metadata = {key: json.dumps(value) for key, value in network.metadata.items()}
    write_file(Path(path), save(tensors, metadata))


def load_player(path: str | Path, *, deterministic: bool = True) -> Network:
    """Return the player of a checkpoint.

    Args:
        path: A safetensors file written by :func:`save_network` (or ``train/``).
        deterministic: Whether to play the likeliest action. Otherwise actions are drawn by their probabilities.

    Raises:
        ValueError: There is no such file, or it is not a checkpoint of this package.
    """
    try:
        with safe_open(str(path), framework="numpy") as file:
            raw = file.metadata() or {}
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 (not a mapping)
    except (OSError, SafetensorError) as error:
        raise ValueError(f"{path}: not a readable safetensors file ({error})") from None
    metadata = {}
    for key, kind in _KEYS.items():
        try:
            metadata[key] = json.loads(raw[key])
        except (KeyError, ValueError):
            raise ValueError(f"{path}: not a checkpoint of card_envs ({key!r} is missing from its metadata)") from None
        if not isinstance(metadata[key], kind):
            raise ValueError(f"{path}: {key!r} in its metadata is not of type {kind.__name__}")
    if metadata["format"] != FORMAT:
        raise ValueError(f"{path}: its format is {metadata['format']!r}, but this package reads {FORMAT!r}")
    activation = metadata["network"].get("activation")
    if activation not in tuple(ACTIVATIONS):  # it may be unhashable
        raise ValueError(f"{path}: unknown activation {activation!r} (known: {', '.join(ACTIVATIONS)})")
    return Network(_read_layers(path, tensors, metadata), metadata, deterministic=deterministic, name=str(path))


def _read_layers(path: str | Path, tensors: dict[str, Any], metadata: dict[str, Any]) -> list[tuple[Any, Any]]:
    """Return the layers in order, after checking that each fits the one before."""
    try:
        size = sum(int(width) for _, width in metadata["observation"])
    except (TypeError, ValueError):
        raise ValueError(f"{path}: 'observation' in its metadata is not a list of (name, size)") from None
    layers = []
    for number in range(len(tensors) // 2):
        weight, bias = tensors.get(f"{number}.weight"), tensors.get(f"{number}.bias")
        if weight is None or bias is None or bias.ndim != 1 or weight.shape != (len(bias), size):
            raise ValueError(f"{path}: layer {number} is missing or has a wrong shape")
        if any(array.dtype != np.float32 or not np.isfinite(array).all() for array in (weight, bias)):
            raise ValueError(f"{path}: layer {number} does not consist of finite float32 numbers")
        layers.append((weight, bias))
        size = len(bias)
    if not layers or 2 * len(layers) != len(tensors) or size != metadata["network"].get("actions"):
        raise ValueError(f"{path}: its tensors are not the layers of one network")
    return layers
