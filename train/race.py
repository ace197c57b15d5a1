"""Fit the two networks of Flip 7's race: ``python -m train.race value``, then ``python -m train.race turn``.

Both are written into ``card_envs/games/flip7/race.safetensors``, with the command that made them. ``value`` plays matches and
fits how often a seat wins, seen from the start of a round. ``turn`` plays on from turns in doubt to the end of the round, once
after a draw and once after staying, both times on the same decks. It values the ends by the first network, and fits the
difference. The players are ``ev``, or with ``--policy race`` those who decide by the present networks.

The labels are the same for the same seed, whatever the machine; the last bits of a fit depend on the version of torch.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Annotated, Any

import numba
import numpy as np
import torch
import typer
from numpy.typing import NDArray
from rich.console import Console
from safetensors import safe_open
from safetensors.numpy import load, save
from torch import Tensor, nn

import card_envs
from card_envs import Batch
from card_envs.engine.files import write_file
from card_envs.games.flip7.policies import OPEN, decide_end
from card_envs.games.flip7.race import RACE_FIGURES, WEIGHTS, find_highest, write_race
from card_envs.games.flip7.state import ACTION_DRAW, ACTION_STAY, TURN
from card_envs.games.flip7.turns import TURN as FIELDS
from card_envs.games.flip7.turns import TURN_FIGURES, write_turn
from card_envs.games.perceptron import HIDDEN, list_shapes

ROWS = 4096
HELD_OUT = 20  # one of so many samples is held out to measure the fit
BATCH = 8192
LEARNING_RATE = 4e-3
DECAY = 0.01

# Turns in doubt are those with so many points or so many numbers; of the others, one in so many is looked at.
DOUBTFUL_POINTS, DOUBTFUL_NUMBERS, SELDOM = 14, 4, 8
EVERY = 3  # one of so many turns in doubt is labelled, so that those of one match differ
EXPLORED = 0.1  # of the turns are decided by a coin, so that the network also sees what follows from mistakes
DECKS = 2
WARM_UP = 150  # decisions of each seat before the first turn is labelled; a match has about 45

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Setting:
    """Tables of one kind, and which share of the samples comes from them."""

    players: int
    share: float
    options: dict[str, Any] = field(default_factory=dict)

    def make_batch(self, seed: int) -> Batch:
        return card_envs.batch("flip7", ROWS, players=self.players, seed=seed, **self.options)


SETTINGS = (
    Setting(2, 0.24), Setting(3, 0.14), Setting(4, 0.2), Setting(5, 0.08), Setting(6, 0.1), Setting(8, 0.05), Setting(12, 0.03),
    Setting(2, 0.04, {"brutal": True}), Setting(4, 0.04, {"brutal": True}), Setting(7, 0.02, {"brutal": True}),
    Setting(2, 0.02, {"target": 400}), Setting(4, 0.02, {"target": 400}), Setting(3, 0.02, {"target": 100}),
)  # fmt: skip

app = typer.Typer(add_completion=False, help=__doc__)
console = Console()


# ---- the samples of the value


@numba.njit(cache=False)
def describe_races(states: Any, x: Floats) -> None:
    """Write what each seat has before it, float32 [n, players, RACE_FIGURES]."""
    for n in range(len(states)):
        s = states[n]
        points = 0
        for seat in range(s.players):
            points += s.totals[seat]
        for seat in range(s.players):
            write_race(s, np.int64(seat), find_highest(s), points, x[n, seat])


def watch_races(setting: Setting, matches: int, policy: str, seed: int) -> tuple[Floats, Floats]:
    """Play matches. Return the races before all rounds, float32 [n, players, F], and the share of the win of each seat."""
    batch = setting.make_batch(seed)
    states, players = batch.matches.states, setting.players
    actions = np.zeros(ROWS, np.int64)
    rounds = np.full(ROWS, -1)  # that have been written down, in the present match of each row
    pending: list[list[Floats]] = [[] for _ in range(ROWS)]
    races: list[list[Floats]] = [[] for _ in range(ROWS)]  # by row, since the matches that end first are the short ones
    shares: list[list[Floats]] = [[] for _ in range(ROWS)]
    wanted = np.full(ROWS, matches // ROWS)  # the same number of matches from each row, or short ones would be too many
    while wanted.any():
        fresh = np.flatnonzero((states["finished"] != rounds) & (wanted > 0))
        if len(fresh):
            x = np.zeros((len(fresh), players, RACE_FIGURES), np.float32)
            describe_races(states[fresh], x)
            for row, race in zip(fresh.tolist(), x, strict=True):
                pending[row].append(race)
            rounds[fresh] = states["finished"][fresh]
        batch.choose(policy, None, actions)
        batch.step(actions)
        for row in np.flatnonzero((batch.terminated | batch.truncated) & (wanted > 0)).tolist():
            share = (batch.rewards[row] * (players - 1) + 1) / players
            races[row] += pending[row]
            shares[row] += [share.astype(np.float32)] * len(pending[row])
            pending[row] = []
            rounds[row] = -1
            wanted[row] -= 1
    return np.stack([*chain(*races)]), np.stack([*chain(*shares)])


# ---- the samples of turns


@numba.njit(cache=False)
def describe_turns(states: Any, words: Any, x: Floats, is_open: Any) -> None:
    """Write what the seat to move sees, float32 [n, TURN_FIGURES], where draw or stay is open."""
    for n in range(len(states)):
        s = states[n]
        if s.phase == TURN and decide_end(s, np.int64(s.to_move), words[n]) == OPEN:
            is_open[n] = True
            write_turn(s, np.int64(s.to_move), x[n])


def watch_turns(setting: Setting, pairs: int, policy: str, seed: int) -> tuple[Floats, Floats]:
    """Return what the seat to move saw in so many turns, float32 [n, F], and by how much more drawing paid than staying."""
    batch, rng = setting.make_batch(seed), np.random.default_rng(seed)
    matches = batch.matches
    actions = np.zeros(ROWS, np.int64)
    seen: list[Floats] = []
    labels: list[Floats] = []
    found = 0
    for _ in range(WARM_UP * setting.players):  # until the matches of the rows are at different stages
        batch.choose(policy, None, actions)
        batch.step(actions)
    while found < pairs:
        x, is_open = np.zeros((ROWS, TURN_FIGURES), np.float32), np.zeros(ROWS, bool)
        describe_turns(matches.states, matches.words, x, is_open)
        in_doubt = (x[:, FIELDS.score] * 50 >= DOUBTFUL_POINTS) | (x[:, FIELDS.numbers] * 7 >= DOUBTFUL_NUMBERS - 0.5)
        chance = np.where(in_doubt, 1.0, 1.0 / SELDOM) / EVERY
        rows = np.flatnonzero(is_open & (rng.random(ROWS) < chance))
        if len(rows):
            candidates = np.tile([ACTION_STAY, ACTION_DRAW], (len(rows), 1))
            values = batch.fork_values(candidates, policy, decks=DECKS, value="match", rows=rows)
            seen.append(x[rows])
            labels.append((values[:, 1] - values[:, 0]).astype(np.float32))
            found += len(rows)
        batch.choose(policy, None, actions)
        explored = is_open & (rng.random(ROWS) < EXPLORED)
        actions[explored] = rng.integers(0, 2, int(explored.sum()))
        batch.step(actions)
    return np.concatenate(seen)[:pairs], np.concatenate(labels)[:pairs]


# ---- fitting


def make_network(inputs: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(inputs, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 1)
    )  # fmt: skip


def fit(
    inputs: int,
    samples: list[tuple[Floats, Floats]],
    loss: Callable[[Tensor, Tensor], Tensor],
    epochs: int,
    seed: int,
) -> tuple[nn.Sequential, float]:
    """Fit a network to samples of several kinds. Return it and its loss on those held out, the first ones of each kind."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    network = make_network(inputs)
    optimizer = torch.optim.AdamW(network.parameters(), LEARNING_RATE, weight_decay=DECAY)
    data = [(torch.from_numpy(x), torch.from_numpy(y)) for x, y in samples]
    steps = epochs * sum(1 for _ in deal_batches([len(x) for x, _ in data], np.random.default_rng(seed)))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, 1.33 * (1.0 - step / (steps + 1))))
    for epoch in range(epochs):
        for kind, which in deal_batches([len(x) for x, _ in data], rng):
            x, y = data[kind]
            error = loss(network(x[which])[..., 0], y[which])
            optimizer.zero_grad()
            error.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            schedule.step()
        with torch.no_grad():
            held_out = [loss(network(x[: len(x) // HELD_OUT])[..., 0], y[: len(x) // HELD_OUT]).item() for x, y in data]
        weights = [len(x) for x, _ in data]
        console.print(f"epoch {epoch + 1}: held out {np.average(held_out, weights=weights):.6f} {np.round(held_out, 5)}")
    return network, float(np.average(held_out, weights=weights))


def deal_batches(sizes: list[int], rng: np.random.Generator) -> Iterator[tuple[int, Tensor]]:
    """Deal the samples that are not held out into batches of one kind each, in random order: the kind and the samples."""
    batches = []
    for kind, size in enumerate(sizes):
        order = torch.from_numpy(rng.permutation(np.arange(size // HELD_OUT, size)))
        batches += [(kind, part) for part in torch.split(order, BATCH)]
    return (batches[n] for n in rng.permutation(len(batches)))


def score_shares(logits: Tensor, shares: Tensor) -> Tensor:
    """The cross-entropy of the shares of the win that the seats of a table are expected to have."""
    return -(shares * logits.log_softmax(dim=1)).sum(dim=1).mean()


def score_differences(output: Tensor, differences: Tensor) -> Tensor:
    return ((output - differences) ** 2).mean()


def store(name: str, network: nn.Sequential, note: dict[str, Any]) -> None:
    """Put a network in the place of the former one of this name, and how it was made into the metadata."""
    tensors, metadata = load(WEIGHTS.read_bytes()), {}
    with safe_open(WEIGHTS, "numpy") as former:
        metadata = dict(former.metadata() or {})
    parameters = [parameter.detach().numpy().astype(np.float32) for parameter in network.parameters()]
    for part, values in zip(list_shapes(0), parameters, strict=True):
        tensors[f"{name}.{part}"] = np.ascontiguousarray(values.T)
    metadata[name] = json.dumps(note)
    write_file(WEIGHTS, save(tensors, metadata))
    console.print(f"{name}: written into {WEIGHTS}")


@app.command("value")
def fit_value(
    matches: Annotated[int, typer.Option(help="Matches to be played.", min=210_000)] = 400_000,
    policy: Annotated[str, typer.Option(help="Who plays: ev or race.")] = "ev",
    epochs: Annotated[int, typer.Option(help="How often each race is looked at.", min=1)] = 4,
    seed: Annotated[int, typer.Option(help="Seed of the matches and of the fit.", min=0)] = 1,
) -> None:
    """Fit what a match is worth at the start of a round."""
    samples = []
    for number, setting in enumerate(SETTINGS):
        samples.append(watch_races(setting, round(matches * setting.share), policy, 1000 * seed + number))
        console.print(f"{setting}: {len(samples[-1][0]):,} races")
    network, loss = fit(RACE_FIGURES, samples, score_shares, epochs, seed)
    command = f"python -m train.race value --matches {matches} --policy {policy} --epochs {epochs} --seed {seed}"
    store("value", network, {"command": command, "loss": loss})


@app.command("turn")
def fit_turn(
    pairs: Annotated[int, typer.Option(help="Turns to be labelled.", min=10_000)] = 2_500_000,
    policy: Annotated[str, typer.Option(help="Who plays: ev or race.")] = "ev",
    epochs: Annotated[int, typer.Option(help="How often each turn is looked at.", min=1)] = 5,
    seed: Annotated[int, typer.Option(help="Seed of the matches and of the fit.", min=0)] = 1,
) -> None:
    """Fit whether to draw or to stay."""
    samples = []
    for number, setting in enumerate(SETTINGS):
        samples.append(watch_turns(setting, round(pairs * setting.share), policy, 1000 * seed + 500 + number))
        console.print(f"{setting}: {len(samples[-1][0]):,} turns, standard deviation {samples[-1][1].std():.4f}")
    # all kinds of tables count alike, though the more players there are the less a turn decides
    samples = [(x, y / y.std()) for x, y in samples]
    network, loss = fit(TURN_FIGURES, samples, score_differences, epochs, seed)
    command = f"python -m train.race turn --pairs {pairs} --policy {policy} --epochs {epochs} --seed {seed}"
    store("turn", network, {"command": command, "loss": loss})


if __name__ == "__main__":
    sys.exit(app())
