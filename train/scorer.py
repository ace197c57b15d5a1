"""The scorer of actions in torch: how it learns from labels, and how it becomes a player."""

from __future__ import annotations

import copy
import io
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from card_envs.engine.files import write_file
from card_envs.engine.game import Game, OptionValue
from card_envs.engine.messages import join_lines, shorten
from card_envs.engine.networks import SCORER
from card_envs.players.checkpoint import make_metadata
from card_envs.players.network import Network, count_inputs
from card_envs.players.player import BuiltIn
from train.labels import Labels
from train.runs import BadState, read_state

STATE = "card_envs.rollouts/1"
TEACHER_BONUS = 0.05  # the score of the teacher's action at the start, when all else is zero
YOUNG = 200_000  # decisions learned from, after which the moving average is no longer nearly the newest weights


class Scorer(nn.Module):
    """A perceptron that scores an action by its inputs, with a bonus for each input beside it.

    Its last layer is zero at the start, so that it scores the teacher's action highest and all others alike.

    Args:
        inputs: The number of inputs; the last says whether the teacher would choose the action.
        hidden: The widths of the hidden layers.
    """

    def __init__(self, inputs: int, hidden: Sequence[int]) -> None:
        super().__init__()
        self.layers = [nn.Linear(n, m) for n, m in pairwise([inputs, *hidden, 1])]
        self.net = nn.ModuleList(self.layers)
        self.skip = nn.Parameter(torch.zeros(inputs))
        with torch.no_grad():
            last = self.layers[-1]
            last.weight.zero_()
            last.bias.zero_()
            self.skip[-1] = TEACHER_BONUS

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return the scores [m] of actions with these inputs [m, F + 1]."""
        x = inputs
        for layer in self.layers[:-1]:
            x = torch.relu(layer(x))
        scores: torch.Tensor = self.layers[-1](x).squeeze(1) + inputs @ self.skip
        return scores


class Learner:
    """A scorer, the moving average of its weights, and its optimizer.

    Args:
        inputs, hidden: See :class:`Scorer`.
        learning_rate: At the start; :meth:`learn` takes the share of it that is left.
        weight_decay: Of AdamW.
        average: How much of the moving average is kept at each update.
        batch_size: Decisions in an update.
        seed: The seed of the weights, and of the order of the labels.
    """

    def __init__(
        self, inputs: int, hidden: Sequence[int], *,
        learning_rate: float, weight_decay: float, average: float, batch_size: int, seed: int,
    ) -> None:  # fmt: skip
        torch.manual_seed(seed)
        self.scorer = Scorer(inputs, hidden)
        self.average = copy.deepcopy(self.scorer)
        self.optimizer = torch.optim.AdamW(self.scorer.parameters(), lr=learning_rate, weight_decay=weight_decay)
        self.learning_rate, self.kept, self.batch_size, self.seed = learning_rate, average, batch_size, seed
        self.learned = 0  # decisions

    def learn(self, labels: Labels, number: int, passes: float, remaining: float) -> float:
        """Go through labels in a random order and return the mean squared error of the centred scores, for each decision.

        Args:
            labels: The labels.
            number: The number of the round, which seeds the order.
            passes: How often to go through them; 1.5 is once, and then through half of them.
            remaining: The share of the learning rate at the start.
        """
        for group in self.optimizer.param_groups:
            group["lr"] = self.learning_rate * remaining
        rng = np.random.default_rng([self.seed, number])
        size = len(labels.counts)
        orders = [rng.permutation(size) for _ in range(int(np.ceil(passes)))]
        order = np.concatenate(orders)[: int(passes * size)]
        if not len(order):
            return 0.0
        starts = np.cumsum(labels.counts) - labels.counts
        inputs, values = torch.from_numpy(labels.inputs), torch.from_numpy(labels.values)
        total = 0.0
        batches = max(1, len(order) // self.batch_size)
        for batch in np.array_split(order, batches):
            counts = labels.counts[batch]
            first = np.cumsum(counts) - counts
            which = torch.from_numpy(np.repeat(starts[batch] - first, counts) + np.arange(counts.sum()))
            of = torch.from_numpy(np.repeat(np.arange(len(batch)), counts))
            total += self._update(inputs[which], values[which], of, torch.from_numpy(counts))
        return total / batches

    def _update(self, inputs: torch.Tensor, values: torch.Tensor, of: torch.Tensor, counts: torch.Tensor) -> float:
        scores = self.scorer(inputs)
        means = torch.zeros(len(counts)).index_add(0, of, scores) / counts
        loss = ((scores - means[of] - values) ** 2).sum() / len(counts)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.scorer.parameters(), 1.0)
        self.optimizer.step()
        self.learned += len(counts)
        kept = min(self.kept, self.learned / (self.learned + YOUNG))
        with torch.no_grad():
            for mean, newest in zip(self.average.parameters(), self.scorer.parameters(), strict=True):
                mean.lerp_(newest, 1.0 - kept)
        return float(loss.detach())

    def take_weights(self, network: Network) -> None:
        """Begin with the weights of a player of the same shape and activation."""
        with torch.no_grad():
            for scorer in (self.scorer, self.average):
                for layer, (weight, bias) in zip(scorer.layers, network.layers, strict=True):
                    layer.weight.copy_(torch.from_numpy(weight))
                    layer.bias.copy_(torch.from_numpy(bias))
                scorer.skip.copy_(torch.from_numpy(network.skip))

    def save(self) -> dict[str, Any]:
        """Return everything that further learning depends on, as tensors and plain values."""
        return {
            "scorer": self.scorer.state_dict(),
            "average": self.average.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "learned": self.learned,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from what :meth:`save` returned for a learner that was made with the same arguments.

        Raises:
            ValueError: The optimizer or the number of decisions is not one of such a learner. What torch itself finds wrong
                raises other exceptions, too.
        """
        settings = _list_settings(self.optimizer)
        self.scorer.load_state_dict(state["scorer"])
        self.average.load_state_dict(state["average"])
        self.optimizer.load_state_dict(state["optimizer"])
        if _list_settings(self.optimizer) != settings:
            raise ValueError("the optimizer has other settings")
        for parameter in self.scorer.parameters():
            moments = self.optimizer.state.get(parameter) or {}  # there are none before the first update
            if moments and not all(moments[name].shape == parameter.shape for name in ("exp_avg", "exp_avg_sq")):
                raise ValueError("the optimizer is one of other weights")
            roots = (moment if name == "exp_avg" else moment.sqrt() for name, moment in moments.items())
            if not all(bool(torch.isfinite(root).all()) for root in roots):
                raise ValueError("the optimizer holds what is not a finite number")
        self.learned = state["learned"]
        if type(self.learned) is not int or self.learned < 0:
            raise ValueError(f"learned = {shorten(self.learned)}")


def _list_settings(optimizer: torch.optim.Optimizer) -> list[dict[str, Any]]:
    """Return the settings of an optimizer but for the learning rate, which changes."""
    return [{name: value for name, value in group.items() if name not in ("lr", "params")} for group in optimizer.param_groups]


def list_layers(scorer: Scorer) -> list[tuple[Any, Any]]:
    """Return copies of the layers as arrays, each (weight [out, in], bias [out])."""
    return [(layer.weight.detach().numpy().copy(), layer.bias.detach().numpy().copy()) for layer in scorer.layers]


def make_network(
    scorer: Scorer, game: Game, options: Mapping[str, OptionValue], teacher: BuiltIn, command: str = "", name: str = "student"
) -> Network:
    """Make a player of a scorer. Later changes of the scorer do not change it."""
    metadata = make_metadata(
        game, options, SCORER, activation="relu", teacher=teacher.policy.name, teacher_parameters=teacher.parameters,
        command=command,
    )  # fmt: skip
    return Network(list_layers(scorer), metadata, skip=scorer.skip.detach().numpy().copy(), name=name)


def make_learner(game: Game, options: Mapping[str, OptionValue], hidden: Sequence[int], **settings: Any) -> Learner:
    """Make a learner for a game; ``settings`` are those of :class:`Learner`."""
    metadata = make_metadata(game, options, SCORER, activation="relu", teacher="random")
    return Learner(count_inputs(metadata["inputs"], SCORER), hidden, **settings)


def save_state(path: Path, learner: Learner, rounds: int, earlier: Scorer) -> None:
    """Write everything that the rest of a run depends on, atomically.

    Args:
        path: The file to write.
        learner: The learner, after its last round.
        rounds: How many rounds are done.
        earlier: The moving average with which the labels of the next round are made.
    """
    buffer = io.BytesIO()
    torch.save({"format": STATE, "rounds": rounds, "earlier": earlier.state_dict(), **learner.save()}, buffer)
    write_file(path, buffer.getvalue())


def load_state(path: Path) -> dict[str, Any]:
    """Read what :func:`save_state` wrote.

    Raises:
        ValueError: The file is something else.
    """
    state = read_state(path, STATE)
    if type(state.get("rounds")) is not int or state["rounds"] < 1:
        raise ValueError(f"{path}: this is not a state of a training run (rounds = {shorten(state.get('rounds'))})")
    return state


def restore_state(learner: Learner, state: Mapping[str, Any]) -> Scorer:
    """Bring a new learner of the same run to a saved state, and return the earlier moving average.

    Raises:
        BadState: The state is not one of such a learner.
    """
    try:
        learner.restore(state)
        earlier = copy.deepcopy(learner.average)
        earlier.load_state_dict(state["earlier"])
        numbers = [*learner.scorer.parameters(), *learner.average.parameters(), *earlier.parameters()]
        if not all(bool(torch.isfinite(number).all()) for number in numbers):
            raise ValueError("a weight is not a finite number")
    except Exception as error:  # what torch raises where a tensor or a value is of another kind
        raise BadState(f"this is not a state of this run ({join_lines(error)})") from error
    return earlier
