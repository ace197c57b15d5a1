"""What a run leaves on disk: networks to play with, and the state from which it can go on."""

from __future__ import annotations

import io
import random
from collections import deque
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
import torch
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.vec_env import VecMonitor
from torch import nn

from card_envs.engine.files import write_file
from card_envs.engine.game import Game, OptionValue
from card_envs.engine.loops import MATCH, ROW
from card_envs.engine.messages import join_lines, shorten
from card_envs.engine.networks import MAP
from card_envs.engine.validation import find_fault
from card_envs.envs.sb3 import CardVecEnv
from card_envs.envs.single_agent import SingleAgentBatch
from card_envs.players.checkpoint import make_metadata
from card_envs.players.network import Network, count_inputs
from card_envs.players.player import BuiltIn
from train.residual import ResidualPolicy
from train.runs import BadState, read_state

STATE = "card_envs.training/2"

Layers = list[tuple[NDArray[np.float32], NDArray[np.float32]]]


class Part(Protocol):
    """What a run keeps beside its model and its environment, and the rest of the run depends on."""

    def save(self) -> Any:
        """Return it as tensors and plain values."""

    def restore(self, state: Any) -> None:
        """Go on from what :meth:`save` returned; what is not sound raises any exception."""


def list_linear(policy: MaskableActorCriticPolicy) -> list[nn.Linear]:
    """List the linear layers of a policy, from the observation to the logits."""
    modules = [*policy.mlp_extractor.policy_net, policy.action_net]
    return [module for module in modules if isinstance(module, nn.Linear)]


def copy_layers(model: MaskablePPO) -> Layers:
    """Copy the layers of the policy, from the observation to the logits, each (weight [out, in], bias [out])."""
    return [(at.weight.detach().numpy().copy(), at.bias.detach().numpy().copy()) for at in list_linear(model.policy)]


def copy_policy(model: MaskablePPO, network: Network, fold: Callable[[Layers], Layers] | None = None) -> None:
    """Make a network play as the policy of the model does; ``fold`` may change the layers."""
    layers = copy_layers(model)
    network.layers = layers if fold is None else fold(layers)
    if isinstance(model.policy, ResidualPolicy):
        network.skip = model.policy.skip.detach().numpy().copy()


def take_weights(model: MaskablePPO, network: Network) -> None:
    """Make the policy of the model play as a network of the same shape does."""
    with torch.no_grad():
        for layer, (weight, bias) in zip(list_linear(model.policy), network.layers, strict=True):
            layer.weight.copy_(torch.from_numpy(weight))
            layer.bias.copy_(torch.from_numpy(bias))
        if isinstance(model.policy, ResidualPolicy):
            model.policy.skip.copy_(torch.from_numpy(network.skip))


def make_blank_network(
    game: Game,
    options: Mapping[str, OptionValue],
    hidden: list[int],
    activation: str,
    command: str = "",
    *,
    teacher: BuiltIn | None = None,
    deterministic: bool = True,
) -> Network:
    """Make a network of the right shape and metadata whose layers are zero, so that all its logits are equal."""
    metadata = make_metadata(
        game, options, MAP, activation=activation, command=command, teacher=None if teacher is None else teacher.policy.name,
        teacher_parameters=None if teacher is None else teacher.parameters,
    )  # fmt: skip
    widths = [count_inputs(metadata["inputs"], MAP), *hidden, game.num_actions(int(options["players"]))]
    layers = [(np.zeros((n, m), np.float32), np.zeros(n, np.float32)) for m, n in pairwise(widths)]
    return Network(layers, metadata, deterministic=deterministic, name="the agent")


def save_state(path: Path, model: MaskablePPO, best: float | None, parts: Mapping[str, Part] | None = None) -> None:
    """Write everything that the rest of a run depends on, atomically.

    A run that is saved between two rollouts goes on from there as if it had not been interrupted, to the last bit.

    Args:
        path: The file to write.
        model: The model of the run.
        best: The share of wins of the best evaluation so far.
        parts: What else is kept, by name.
    """
    monitor, env = _get_environments(model)
    kind, words, position, gauss, cached = np.random.get_state()  # noqa: NPY002 (SB3 draws from it)
    state = {
        "format": STATE,
        "best": best,
        "parts": {name: part.save() for name, part in (parts or {}).items()},
        "policy": model.policy.state_dict(),
        "optimizer": model.policy.optimizer.state_dict(),
        "num_timesteps": model.num_timesteps,
        "n_updates": model._n_updates,
        "random": {
            "torch": torch.get_rng_state(),
            "numpy": (kind, cast(Any, words).tolist(), position, gauss, cached),
            "python": random.getstate(),
        },
        "environment": {
            "learner": [torch.frombuffer(bytearray(part), dtype=torch.uint8) for part in env.learner.save()],
            "observation": torch.from_numpy(cast(Any, model._last_obs).copy()),
            "starts": torch.from_numpy(cast(Any, model._last_episode_starts).copy()),
            "returns": torch.from_numpy(monitor.episode_returns.copy()),
            "lengths": torch.from_numpy(monitor.episode_lengths.copy()),
            "episodes": monitor.episode_count,
            "finished": [[float(info["r"]), int(info["l"]), float(info["t"])] for info in model.ep_info_buffer or ()],
        },
    }
    buffer = io.BytesIO()
    torch.save(state, buffer)
    write_file(path, buffer.getvalue())


def load_state(path: Path) -> dict[str, Any]:
    """Read what :func:`save_state` wrote: tensors and plain values, no code.

    Raises:
        ValueError: The file is something else.
    """
    state = read_state(path, STATE)
    for name, kinds in (("num_timesteps", [int]), ("n_updates", [int]), ("best", [float, type(None)])):
        if type(state.get(name)) not in kinds:
            raise ValueError(f"{path}: this is not a state of a training run ({name} = {shorten(state.get(name))})")
    return state


def restore_state(model: MaskablePPO, state: dict[str, Any], parts: Mapping[str, Part] | None = None) -> None:
    """Bring a new model that was made with the same arguments to a saved state, which is checked: it may be a stranger's.

    Args:
        model: The model.
        state: What :func:`load_state` returned.
        parts: What else is kept, by name, which is brought to its state as well.

    Raises:
        BadState: The state is not one of such a model.
    """
    try:
        _restore(model, state)
        for name, part in (parts or {}).items():
            part.restore(state["parts"][name])
    except Exception as error:  # what torch and NumPy raise where a tensor or a value is of another kind
        raise BadState(f"this is not a state of this run ({join_lines(error)})") from error


def _restore(model: MaskablePPO, state: dict[str, Any]) -> None:
    monitor, env = _get_environments(model)
    model.policy.load_state_dict(state["policy"])
    model.policy.optimizer.load_state_dict(state["optimizer"])
    model.num_timesteps = state["num_timesteps"]
    model._n_updates = state["n_updates"]
    held = state["environment"]
    env.restore([part.numpy().tobytes() for part in held["learner"]])
    _check_matches(env.learner)
    model._last_obs = _read_array(held["observation"], cast(Any, env.observation()))
    model._last_episode_starts = _read_array(held["starts"], np.zeros(env.num_envs, np.bool_))
    monitor.episode_returns = _read_array(held["returns"], monitor.episode_returns)
    monitor.episode_lengths = _read_array(held["lengths"], monitor.episode_lengths)
    monitor.episode_count = held["episodes"]
    finished = [{"r": r, "l": length, "t": t} for r, length, t in held["finished"]]
    model.ep_info_buffer = deque(finished, maxlen=model._stats_window_size)
    model.ep_success_buffer = deque(maxlen=model._stats_window_size)  # these games have no successes
    torch.set_rng_state(state["random"]["torch"])
    kind, words, position, gauss, cached = state["random"]["numpy"]
    np.random.set_state((kind, np.array(words, np.uint32), position, gauss, cached))  # noqa: NPY002
    random.setstate(state["random"]["python"])


def _read_array(tensor: torch.Tensor, like: NDArray[Any]) -> NDArray[Any]:
    array: NDArray[Any] = tensor.numpy()
    if (array.shape, array.dtype) != (like.shape, like.dtype):
        raise ValueError(f"an array of {like.dtype} {like.shape} is expected instead of {array.dtype} {array.shape}")
    return array


def _check_matches(learner: SingleAgentBatch) -> None:
    """Raise ``ValueError`` unless compiled code can go on from the matches; masks and observations are written anew."""
    matches = learner.matches
    fault = find_fault(matches.game, matches.options, matches.states)
    if fault:
        raise ValueError(fault)
    seats, seating = learner.runner.learner, learner.runner.seating
    if (matches.identity[:, [ROW, MATCH]] < 0).any() or (matches.decisions < 0).any():
        raise ValueError("a number of a match is negative")
    if (seats < 0).any() or (seats >= matches.players).any() or (matches.states["to_move"] != seats).any():
        raise ValueError("the learner is not to move")
    others = seating[np.arange(matches.players) != seats[:, None]]
    if (others < 0).any() or (others >= len(learner.runner.players)).any():
        raise ValueError("an opponent is not there")
    matches.refresh()


def _get_environments(model: MaskablePPO) -> tuple[VecMonitor, CardVecEnv]:
    monitor = cast(VecMonitor, model.env)
    return monitor, cast(CardVecEnv, monitor.venv)
