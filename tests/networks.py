"""What tests of networks share: networks of random weights, and those that only copy their teacher."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

import card_envs
from card_envs import Game
from card_envs.engine.game import OptionValue
from card_envs.engine.networks import MAP, SCORER
from card_envs.players.checkpoint import make_metadata
from card_envs.players.network import Network, count_inputs
from tests.helpers import GAMES

FEATURED = [name for name in GAMES if card_envs.load_game(name).action_features is not None]
FORMS = [(name, form) for name in GAMES for form in (SCORER, MAP) if form == MAP or name in FEATURED]


def find_sizes(game: Game, options: dict[str, OptionValue], form: str) -> tuple[int, int]:
    """The numbers of inputs and outputs of a network."""
    if form == SCORER:
        return game.action_feature_size + 1, 1
    return game.observation_size(options), game.num_actions(int(options["players"]))


def make_random_network(
    game: Game,
    options: dict[str, OptionValue],
    form: str,
    seed: int,
    *,
    hidden: tuple[int, ...] = (16,),
    activation: str = "relu",
    teacher: str | None = None,
    parameters: ArrayLike | None = None,
) -> Network:
    """Make a network of random weights for a table with these resolved options."""
    rng = np.random.default_rng(seed)
    inputs, outputs = find_sizes(game, options, form)
    layers = [
        (rng.normal(size=(m, n)).astype(np.float32) / np.float32(n**0.5), rng.normal(size=m).astype(np.float32) * 0.3)
        for n, m in pairwise([inputs, *hidden, outputs])
    ]
    teacher = teacher or ("random" if form == SCORER else None)
    metadata = make_metadata(
        game,
        options,
        form,
        activation=activation,
        teacher=teacher,
        teacher_parameters=None if teacher is None else list_parameters(game, teacher, parameters),
        command="none",
    )
    skip = rng.normal(size=inputs if form == SCORER else 1).astype(np.float32) * 0.3
    if teacher is None:
        skip[:] = 0
    return Network(layers, metadata, skip=skip)


def make_copying_network(
    game: Game, options: dict[str, OptionValue], form: str, teacher: str, parameters: ArrayLike | None = None
) -> Network:
    """Make a network whose layers are zero, with a bonus for the action that its teacher would choose."""
    random = make_random_network(game, options, form, 0, hidden=(3,), teacher=teacher, parameters=parameters)
    skip = np.zeros_like(random.skip)
    skip[-1] = 0.1
    layers = [(np.zeros_like(weight), np.zeros_like(bias)) for weight, bias in random.layers]
    return Network(layers, random.metadata, skip=skip)


def list_parameters(game: Game, policy: str, parameters: ArrayLike | None) -> np.ndarray:
    """The given parameters of a built-in policy, or its own."""
    given = [*game.policy(policy).defaults.values()] if parameters is None else parameters
    return np.array(given, np.float64)


def write_out(network: Network, inputs: np.ndarray) -> float | np.ndarray:
    """What the formula of a network gives for the inputs of one row, in plain Python and double precision."""
    x = [float(value) for value in inputs]
    activate = {"tanh": lambda h: float(np.tanh(h)), "relu": lambda h: max(h, 0.0)}[network.metadata["network"]["activation"]]
    for number, (weight, bias) in enumerate(network.layers):
        x = [
            sum(float(w) * value for w, value in zip(ws, x, strict=True)) + float(b) for ws, b in zip(weight, bias, strict=True)
        ]
        if number + 1 < len(network.layers):
            x = [activate(h) for h in x]
    if network.form == MAP:
        return np.array(x)
    assert count_inputs(network.metadata["inputs"], SCORER) == len(inputs)
    return x[0] + sum(float(s) * float(value) for s, value in zip(network.skip, inputs, strict=True))
