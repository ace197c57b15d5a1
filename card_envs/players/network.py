"""Trained networks as players. They choose in compiled code, so that they play, roll out and are measured as built-ins are."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.engine.forward import make_map, make_scorer
from card_envs.engine.game import Game, OptionValue, Policy
from card_envs.engine.matches import Matches
from card_envs.engine.messages import shorten
from card_envs.engine.networks import DRAWS, MAP, SCORER, NetworkParameters, flatten_layers, make_parameters
from card_envs.engine.observation import Field
from card_envs.engine.parameters import check_parameters
from card_envs.players.player import BuiltIn, Decisions, Particular

Floats = NDArray[np.float32]
Layers = Sequence[tuple[Floats, Floats]]

NO_TEACHER = "random"  # who is asked, and not listened to, where a map has no teacher


def describe_inputs(game: Game, options: Mapping[str, OptionValue], form: str) -> list[list[Any]]:
    """Return the name and size of every field of a network's inputs, in order.

    Those of a map are the fields of the observation, those of a scorer the features of an action.
    """
    fields: Mapping[str, Field] = game.observation_fields(options) if form == MAP else game.action_fields(options)
    return [[name, int(np.prod(field.shape, dtype=int))] for name, field in fields.items()]


def count_inputs(inputs: Sequence[Sequence[Any]], form: str) -> int:
    """Return the number of inputs of a network; the last one of a scorer says which action its teacher would choose."""
    return sum(int(size) for _, size in inputs) + (form == SCORER)


class Network(Particular):
    """A multilayer perceptron as a player.

    Its *form*, in ``metadata["network"]["form"]``, says what it computes. A ``"scorer"`` gives each legal action a score, from
    the features of the action and whether its teacher, a built-in player, would choose it; the weights are the same for all
    actions. A ``"map"`` has a logit for every action of the game, from the observation. Both may be *residual* on their
    teacher: with layers that are zero, they play as the teacher does.

    Args:
        layers: The layers in order, each (weight [out, in], bias [out]) in float32. All but the last are followed by the
            activation. A scorer has one output, a map one for each action of the game.
        metadata: The metadata of the checkpoint; :mod:`card_envs.players.checkpoint` describes it.
        skip: What is added to the output. Of a scorer: for each unit of each input, float32 [inputs]. Of a map: to the logit of
            the action that its teacher would choose, float32 [1]. By default nothing is added.
        deterministic: Whether to play the action with the highest score. Otherwise actions are drawn by their probabilities,
            from the key of the decision.
        name: The name in errors and reports.
    """

    batch_invariant = stateless = True

    def __init__(
        self,
        layers: Layers,
        metadata: Mapping[str, Any],
        *,
        skip: Floats | None = None,
        deterministic: bool = True,
        name: str = "network",
    ) -> None:
        self._layers = list(layers)
        self.metadata = dict(metadata)
        self.form: str = metadata["network"]["form"]
        width = self._layers[0][0].shape[1] if self.form == SCORER else 1
        self._skip = np.zeros(width, np.float32) if skip is None else skip
        self.deterministic = deterministic
        self.name = name
        self._forget_binding()

    def _forget_binding(self) -> None:
        self._bound: tuple[object, object] | None = None  # the game and the options for which there are parameters
        self._lock = threading.Lock()  # two threads would compute in the same memory

    @property
    def layers(self) -> list[tuple[Floats, Floats]]:
        """The layers. They are replaced as a whole, by others of the same shapes."""
        return self._layers

    @layers.setter
    def layers(self, layers: Layers) -> None:
        shapes = [[part.shape for part in layer] for layer in self._layers]
        if [[part.shape for part in layer] for layer in layers] != shapes:
            raise ValueError(f"{self.name}: layers of other shapes are expected: {shapes}")
        with self._lock:
            self._layers = list(layers)
            if self._bound is not None:
                self._parameters.weights[:] = flatten_layers(self._layers)

    @property
    def skip(self) -> Floats:
        """What is added to the output. It is replaced as a whole, by another of the same shape."""
        return self._skip

    @skip.setter
    def skip(self, skip: Floats) -> None:
        if skip.shape != self._skip.shape:
            raise ValueError(f"{self.name}: a skip of another shape is expected: {self._skip.shape}")
        with self._lock:
            self._skip = skip
            if self._bound is not None:
                self._parameters.skip[:] = skip

    def bind(self, game: Game, options: Mapping[str, OptionValue]) -> tuple[Policy, NetworkParameters]:
        """Return the network as a policy of the game and its parameters, for compiled code.

        Raises:
            ValueError: It was trained for another game or with other options.
        """
        if self._bound != (game, options):
            self.check(game, options)
            about = self.metadata["network"]
            teacher = game.policy(about["teacher"] or NO_TEACHER)
            self._policy = (make_scorer if self.form == SCORER else make_map)(game, teacher)
            self._parameters = make_parameters(
                self._layers,
                self.skip,
                check_parameters(teacher, about["teacher_parameters"]),
                activation=about["activation"],
                draws=not self.deterministic,
                num_actions=about["actions"],
                is_scorer=self.form == SCORER,
            )
            self._bound = game, dict(options)
        self._parameters.settings[DRAWS] = not self.deterministic
        return self._policy, self._parameters

    def find_teacher(self, game: Game) -> BuiltIn | None:
        """Return the built-in player on which the network is residual, if there is one."""
        about = self.metadata["network"]
        name = about["teacher"]
        return None if name is None else BuiltIn(game, name, about["teacher_parameters"], name)

    def write_actions(self, matches: Matches, rows: NDArray[np.int64], who: NDArray[np.int8], index: int) -> None:
        with self._lock:
            matches.choose(*self.bind(matches.game, matches.options), matches.actions, rows, who, index)

    def act(self, decisions: Decisions) -> NDArray[np.int64]:
        with self._lock:
            return decisions.choose(*self.bind(decisions.game, decisions.options))

    def scores(self, inputs: Floats) -> Floats:
        """Return what the network computes from its inputs, by NumPy; compiled code plays, and agrees to 1e-5.

        Args:
            inputs: Of a map: observations, float32 [n, D]. Of a scorer: the features of actions, each followed by whether the
                teacher would choose the action, float32 [..., F + 1].

        Returns:
            Of a map: the logits without those of the teacher, float32 [n, A]. Of a scorer: the scores, float32 [...].
        """
        x = inputs
        activate = np.tanh if self.metadata["network"]["activation"] == "tanh" else _rectify
        for number, (weight, bias) in enumerate(self._layers):
            x = x @ weight.T + bias
            if number + 1 < len(self._layers):
                x = activate(x)
        return x if self.form == MAP else x[..., 0] + inputs @ self.skip

    def check(self, game: Game, options: Mapping[str, OptionValue]) -> None:
        """Raise ``ValueError`` unless this network was trained for this game with these options."""
        trained = self.metadata
        about = trained["network"]
        pairs = [("game", trained["game"], game.name), ("version", trained["version"], game.version)]
        if not any(mine != its for _, mine, its in pairs):
            pairs += [(f"option {k}", trained["options"].get(k), v) for k, v in options.items()]
            pairs += [("inputs", trained["inputs"], describe_inputs(game, options, self.form))]
            pairs += [("number of actions", about["actions"], game.num_actions(int(options["players"])))]
        for what, mine, its in pairs:
            if mine != its:
                raise ValueError(f"{self.name}: trained for {what} {shorten(mine)}, but the table's is {shorten(its)}")
        try:
            check_parameters(game.policy(about["teacher"] or NO_TEACHER), about["teacher_parameters"])
        except ValueError as error:
            raise ValueError(f"{self.name}: its teacher is not there ({error})") from None

    def __getstate__(self) -> dict[str, Any]:
        hidden = ("_bound", "_lock", "_policy", "_parameters")
        return {name: value for name, value in self.__dict__.items() if name not in hidden}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget_binding()

    def __repr__(self) -> str:
        return f"<player {self.name}>"


def _rectify(x: Floats) -> Floats:
    return np.maximum(x, np.float32(0.0))
