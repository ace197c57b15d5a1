"""Trained networks as players: a safetensors file with JSON metadata, played by a forward pass in NumPy.

Loading reads nothing but arrays and JSON, and never runs code from the file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from stat import S_ISREG
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from card_envs.engine.files import write_file
from card_envs.engine.game import Game, OptionValue
from card_envs.engine.messages import join_lines, name_file, shorten
from card_envs.engine.random import stream, unit
from card_envs.players.player import Decisions


def _rectify(x: Any) -> Any:  # no lambda, which could not be pickled
    return np.maximum(x, 0.0)


FORMAT = "card_envs.network/1"
ACTIVATIONS: dict[str, Callable[[Any], Any]] = {"tanh": np.tanh, "relu": _rectify}
MOST_BYTES = 2**28  # of a checkpoint: those in agents/ have up to 3 MB
DEEPEST = 8  # how deep metadata may be nested
LARGEST_SIZE = 10**6  # of a field of the observation
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

    batch_invariant = stateless = True

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
                uniform = unit(stream(decisions.key[:, None], np.arange(logits.shape[1])))
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
            pairs += [("number of actions", trained["network"]["actions"], game.num_actions(int(options["players"])))]
        for what, mine, its in pairs:
            if mine != its:
                raise ValueError(f"{self.name}: trained for {what} {shorten(mine)}, but the table's is {shorten(its)}")

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
    """Return the player of a checkpoint. Nothing in the file is run, and no more is read than a network can hold.

    Args:
        path: A safetensors file written by :func:`save_network` (or ``train/``).
        deterministic: Whether to play the likeliest action. Otherwise actions are drawn by their probabilities.

    Raises:
        ValueError: There is no such file, or it is not a checkpoint of this package.
    """
    name = name_file(path)
    raw, tensors = _read_file(Path(path), name)
    metadata = _read_metadata(name, raw)
    return Network(_read_layers(name, tensors, metadata), metadata, deterministic=deterministic, name=name)


def _read_file(path: Path, name: str) -> tuple[dict[str, str], dict[str, NDArray[np.float32]]]:
    """Return the metadata and the tensors of a file that may be anything, even a device that never ends."""
    try:
        status = path.stat()
        if not S_ISREG(status.st_mode):  # opening a FIFO would wait for somebody to write
            raise ValueError("it is not a regular file")
        if status.st_size > MOST_BYTES:
            raise ValueError(f"it has {status.st_size:,} bytes; a checkpoint has at most {MOST_BYTES:,}")
        with safe_open(str(path), framework="numpy") as file:
            tensors = {}
            for key in file.keys():  # noqa: SIM118 (not a mapping)
                kind = file.get_slice(key).get_dtype()
                if kind != "F32":
                    raise ValueError(f"its tensor {shorten(key)} is of type {kind}, not F32")
                tensors[key] = file.get_tensor(key)
            return file.metadata() or {}, tensors
    except (OSError, SafetensorError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise ValueError(f"{name}: not a readable safetensors file ({join_lines(reason)})") from None


def _read_metadata(name: str, raw: Mapping[str, str]) -> dict[str, Any]:
    metadata: dict[str, Any] = {}
    for key, kind in _KEYS.items():
        if key not in raw:
            raise ValueError(f"{name}: not a checkpoint of card_envs ({key!r} is missing from its metadata)")
        try:
            metadata[key] = json.loads(raw[key])
        except (ValueError, RecursionError):
            raise ValueError(f"{name}: {key!r} in its metadata is not readable JSON") from None
        if not isinstance(metadata[key], kind) or (kind is int and isinstance(metadata[key], bool)):
            raise ValueError(f"{name}: {key!r} in its metadata is not of type {kind.__name__}")
        if _is_nested(metadata[key]):
            raise ValueError(f"{name}: {key!r} in its metadata is nested more than {DEEPEST} deep")
    if metadata["format"] != FORMAT:
        raise ValueError(f"{name}: its format is {shorten(metadata['format'])}, but this package reads {FORMAT!r}")
    for option, value in metadata["options"].items():
        if not isinstance(value, bool | int | str):
            raise ValueError(f"{name}: option {shorten(option)} = {shorten(value)} in its metadata is no value of an option")
    for entry in metadata["observation"]:
        if not isinstance(entry, list) or [type(part) for part in entry] != [str, int] or not 0 < entry[1] <= LARGEST_SIZE:
            raise ValueError(f"{name}: 'observation' in its metadata is not a list of (name, size)")
    network = metadata["network"]
    activation = network.get("activation")
    if not isinstance(activation, str) or activation not in ACTIVATIONS:
        raise ValueError(f"{name}: unknown activation {shorten(activation)} (known: {', '.join(ACTIVATIONS)})")
    return metadata


def _is_nested(value: object) -> bool:
    """Whether a value from JSON is nested more than :data:`DEEPEST` deep."""
    level: list[Any] = [value]
    for _ in range(DEEPEST + 1):
        containers = [list(one.values()) if isinstance(one, dict) else one for one in level if isinstance(one, dict | list)]
        level = [inner for container in containers for inner in container]
    return any(isinstance(one, dict | list) for one in level)


def _read_layers(name: str, tensors: dict[str, Any], metadata: dict[str, Any]) -> list[tuple[Any, Any]]:
    """Return the layers in order, after checking that each fits the one before."""
    size = sum(width for _, width in metadata["observation"])
    layers = []
    for number in range(len(tensors) // 2):
        weight, bias = tensors.get(f"{number}.weight"), tensors.get(f"{number}.bias")
        if weight is None or bias is None or bias.ndim != 1 or weight.shape != (len(bias), size):
            raise ValueError(f"{name}: layer {number} is missing or has a wrong shape")
        if any(array.dtype != np.float32 or not np.isfinite(array).all() for array in (weight, bias)):
            raise ValueError(f"{name}: layer {number} does not consist of finite float32 numbers")
        layers.append((weight, bias))
        size = len(bias)
    if not layers or 2 * len(layers) != len(tensors) or size != metadata["network"].get("actions"):
        raise ValueError(f"{name}: its tensors are not the layers of one network")
    return layers
