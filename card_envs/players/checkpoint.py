"""Checkpoints: networks as safetensors files, with what they are for and how they were made as JSON in the metadata.

Loading one reads nothing but arrays and JSON, never runs code from the file, and needs no library for training.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
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
from card_envs.engine.networks import ACTIVATIONS, FORMS, MAP, SCORER
from card_envs.engine.parameters import LARGEST_PARAMETER
from card_envs.players.network import Network, count_inputs, describe_inputs

FORMAT = "card_envs.network/2"
MOST_BYTES = 2**28  # of a checkpoint: those of this package have less than 2 MB
DEEPEST = 8  # how deep metadata may be nested
LARGEST_SIZE = 10**6  # of a field of the inputs
MOST_PARAMETERS = 100  # of a teacher
# ``inputs`` are the names and sizes of the fields that the network sees; ``network`` says its form, its activation, the number
# of actions of the game, and the built-in policy on which it is residual, ``teacher``, with its parameters, or null and []
_KEYS = {
    "format": str, "game": str, "version": int, "options": dict, "inputs": list, "network": dict, "command": str,
    "evaluation": dict,
}  # fmt: skip


def make_metadata(
    game: Game,
    options: Mapping[str, OptionValue],
    form: str,
    *,
    activation: str,
    teacher: str | None = None,
    teacher_parameters: NDArray[np.float64] | None = None,
    command: str = "",
    evaluation: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Make the metadata of a network.

    Args:
        game: The game that it plays.
        options: The resolved options with which it plays.
        form: ``"scorer"`` or ``"map"``: see :class:`Network`.
        activation: ``"relu"`` or ``"tanh"``.
        teacher: The name of the built-in policy on which it is residual.
        teacher_parameters: The parameters of that policy.
        command: The command that trained it.
        evaluation: How it did, as JSON-able figures.
    """
    return {
        "format": FORMAT,
        "game": game.name,
        "version": game.version,
        "options": dict(options),
        "inputs": describe_inputs(game, options, form),
        "network": {
            "form": form,
            "activation": activation,
            "actions": game.num_actions(int(options["players"])),
            "teacher": teacher,
            "teacher_parameters": [] if teacher_parameters is None else teacher_parameters.tolist(),
        },
        "command": command,
        "evaluation": dict(evaluation or {}),
    }


def save_network(path: str | Path, network: Network) -> None:
    """Write a checkpoint atomically: a reader sees either the old file or the whole new one."""
    tensors = {"skip": np.ascontiguousarray(network.skip, np.float32)}
    for number, (weight, bias) in enumerate(network.layers):
        tensors[f"{number}.weight"] = np.ascontiguousarray(weight, np.float32)
        tensors[f"{number}.bias"] = np.ascontiguousarray(bias, np.float32)
    metadata = {key: json.dumps(value) for key, value in network.metadata.items()}
    write_file(Path(path), save(tensors, metadata))


def load_player(path: str | Path, *, deterministic: bool = True) -> Network:
    """Return the player of a checkpoint. Nothing in the file is run, and no more is read than a network can hold.

    Args:
        path: A safetensors file written by :func:`save_network` (or ``train/``).
        deterministic: Whether to play the action with the highest score. Otherwise actions are drawn by their probabilities.

    Raises:
        ValueError: There is no such file, or it is not a checkpoint of this package.
    """
    name = name_file(path)
    raw, tensors = _read_file(Path(path), name)
    metadata = _check_metadata(name, raw)
    layers = _read_layers(name, tensors, metadata)
    skip = _read_skip(name, tensors, metadata)
    return Network(layers, metadata, skip=skip, deterministic=deterministic, name=name)


def read_metadata(path: str | Path) -> dict[str, Any]:
    """Return the metadata of a checkpoint, as :func:`make_metadata` makes them.

    Raises:
        ValueError: There is no such file, or it is not a checkpoint of this package.
    """
    name = name_file(path)
    return _check_metadata(name, _read_file(Path(path), name)[0])


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


def _check_metadata(name: str, raw: Mapping[str, str]) -> dict[str, Any]:
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
    for entry in metadata["inputs"]:
        if not isinstance(entry, list) or [type(part) for part in entry] != [str, int] or not 0 < entry[1] <= LARGEST_SIZE:
            raise ValueError(f"{name}: 'inputs' in its metadata is not a list of (name, size)")
    _check_network(name, metadata["network"])
    return metadata


def _check_network(name: str, network: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` unless the metadata describe a network; whether its teacher is there is asked at the table."""
    for key, known in (("activation", ACTIVATIONS), ("form", FORMS)):
        value = network.get(key)
        if not isinstance(value, str) or value not in known:
            raise ValueError(f"{name}: unknown {key} {shorten(value)} (known: {', '.join(known)})")
    actions, teacher, parameters = (network.get(key) for key in ("actions", "teacher", "teacher_parameters"))
    if type(actions) is not int or not 0 < actions <= LARGEST_SIZE:
        raise ValueError(f"{name}: {shorten(actions)} is no number of actions")
    needed = network["form"] == SCORER  # only a map need not have one, and says so
    if "teacher" not in network or not isinstance(teacher, str | None) or (teacher is None and needed):
        raise ValueError(f"{name}: {shorten(teacher)} is no name of a teacher")
    if (
        not isinstance(parameters, list)
        or len(parameters) > MOST_PARAMETERS
        or any(type(value) not in (int, float) or not abs(value) <= LARGEST_PARAMETER for value in parameters)
    ):
        raise ValueError(f"{name}: {shorten(parameters)} are no parameters of a teacher")


def _is_nested(value: object) -> bool:
    """Whether a value from JSON is nested more than :data:`DEEPEST` deep."""
    level: list[Any] = [value]
    for _ in range(DEEPEST + 1):
        containers = [list(one.values()) if isinstance(one, dict) else one for one in level if isinstance(one, dict | list)]
        level = [inner for container in containers for inner in container]
    return any(isinstance(one, dict | list) for one in level)


def _read_layers(name: str, tensors: dict[str, Any], metadata: dict[str, Any]) -> list[tuple[Any, Any]]:
    """Return the layers in order, after checking that each fits the one before."""
    network = metadata["network"]
    size = count_inputs(metadata["inputs"], network["form"])
    layers = []
    for number in range((len(tensors) - 1) // 2):
        weight, bias = tensors.get(f"{number}.weight"), tensors.get(f"{number}.bias")
        if weight is None or bias is None or bias.ndim != 1 or not len(bias) or weight.shape != (len(bias), size):
            raise ValueError(f"{name}: layer {number} is missing or has a wrong shape")
        if not all(np.isfinite(array).all() for array in (weight, bias)):
            raise ValueError(f"{name}: layer {number} does not consist of finite numbers")
        layers.append((weight, bias))
        size = len(bias)
    outputs = network["actions"] if network["form"] == MAP else 1
    if not layers or 2 * len(layers) + 1 != len(tensors) or size != outputs:
        raise ValueError(f"{name}: its tensors are not the layers of one network")
    return layers


def _read_skip(name: str, tensors: dict[str, Any], metadata: dict[str, Any]) -> Any:
    skip = tensors.get("skip")
    form = metadata["network"]["form"]
    size = count_inputs(metadata["inputs"], form) if form == SCORER else 1
    if skip is None or skip.shape != (size,) or not np.isfinite(skip).all():
        raise ValueError(f"{name}: skip is missing, or it is not {size} finite numbers")
    return skip
