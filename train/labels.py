"""Labels for a scorer: decisions of a learner among other players, and what each of their actions is worth by rollouts.

A *shard* is a number of deals, and its labels are a function of its :class:`ShardTask` alone. Shards are independent of each
other, so it does not matter how many workers make them, or where.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from card_envs.arena import derive_list_seed
from card_envs.engine.game import Game, OptionValue, Policy
from card_envs.engine.loops import RESET
from card_envs.engine.matches import Matches
from card_envs.engine.networks import ScoredActions
from card_envs.engine.pairs import PairParameters, make_pair, pair_parameters
from card_envs.engine.parameters import Parameters
from card_envs.players import Player
from card_envs.players.network import Network
from card_envs.players.player import Bindable
from card_envs.players.runner import Runner


@dataclass(frozen=True)
class ShardTask:
    """What the labels of a shard are made from.

    Attributes:
        game: The game.
        options: Its resolved options.
        seed: The seed of the run.
        number: The number of the shard in the run.
        deals: How many deals it has, or matches with ``episode="match"``.
        episode: What is played: ``"deal"`` or ``"match"``.
        value: What an action is worth: the ``"margin"`` of the deal, or the share of the ``"match"``.
        student: The network that learns. It decides for the learner, but for the explored choices.
        opponents: Who else may sit at a table; one kind at each. ``None`` is the student, which does not explore.
        weights: How likely each of them is.
        rollout: The player who plays on from every labelled action, in all seats. ``None``: everybody plays on as they really
            do, the student without exploring.
        decks: On how many decks each action is played.
        labelled: The share of the learner's decisions that are labelled.
        teacher_share: How likely the learner plays as the teacher of the student would.
        random_share: How likely the learner plays at random.
        candidates: How many actions are labelled at most: those that the student scores highest. 0 stands for all.
    """

    game: Game
    options: Mapping[str, OptionValue]
    seed: int
    number: int
    deals: int
    episode: str
    value: str
    student: Network
    opponents: Sequence[Player | None]
    weights: Sequence[float]
    rollout: Bindable | None
    decks: int
    labelled: float
    teacher_share: float
    random_share: float
    candidates: int


@dataclass(frozen=True)
class Labels:
    """Labelled decisions, the actions of one after those of the other.

    Attributes:
        counts: How many actions each decision has, int64 [n]; m is their sum.
        inputs: The inputs of the scorer, float32 [m, F + 1].
        values: What the actions are worth, less the mean over the actions of the decision, float32 [m].
    """

    counts: NDArray[np.int64]
    inputs: NDArray[np.float32]
    values: NDArray[np.float32]

    @classmethod
    def join(cls, parts: Sequence[Labels]) -> Labels:
        """Return the labels of several shards, in their order."""
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("counts", "inputs", "values")))


def make_labels(task: ShardTask) -> Labels:
    """Play the deals of a shard and label the decisions of the learner, who has one seat in each of them.

    Only the learner explores. Everybody else acts by a policy that the learner will really meet, so that what the hidden hands
    tell in the labels is what such players would hold.
    """
    student, opponents = copy.deepcopy((task.student, task.opponents))  # other shards are made with them at the same time
    rng = np.random.default_rng([task.seed, task.number])
    matches = Matches(
        task.game, task.deals, task.options, reward="margin", episode=task.episode, auto_reset=False, write_observations=False
    )
    players = [student if player is None else player for player in opponents]
    runner = Runner(matches, players, play_forced=True)
    rows = matches.rows
    runner.learner[:] = (rows + task.number) % matches.players
    runner.seating[:] = rng.choice(len(players), len(rows), p=np.array(task.weights) / sum(task.weights))[:, None]
    matches.identify(rows, derive_list_seed("train", task.seed), task.number * task.deals + rows, 0)
    matches.actions[:] = RESET
    runner.play(rows.copy())
    rollouts = _find_rollouts(task, student, players)
    parts = [_make_no_labels(task)]
    while len(waiting := np.flatnonzero(matches.to_move >= 0)):
        scored = matches.score_actions(waiting, *student.bind(task.game, task.options))
        label = rng.random(len(waiting)) < task.labelled
        if label.any():
            for opponent, rollout in rollouts.items():
                here = label if opponent is None else label & (runner.seating[waiting, 0] == opponent)
                if here.any():
                    parts.append(_label(task, matches, waiting, scored, here, *rollout))
        matches.actions[waiting] = _explore(task, scored, rng)
        runner.play(waiting)
    return Labels.join(parts)


def _find_rollouts(
    task: ShardTask, student: Network, players: Sequence[Player]
) -> dict[int | None, tuple[Policy, Parameters | PairParameters]]:
    """Return who plays on, by the number of the opponent at the table, or by ``None`` if it is the same at all tables."""
    if task.rollout is not None:
        return {None: task.rollout.bind(task.game, task.options)}
    own, mine = student.bind(task.game, task.options)
    found: dict[int | None, tuple[Policy, Parameters | PairParameters]] = {}
    for number, player in enumerate(players):
        others, theirs = cast(Bindable, player).bind(task.game, task.options)
        found[number] = (own, mine) if player is student else (make_pair(own, others), pair_parameters(mine, theirs))
    return found


def _make_no_labels(task: ShardTask) -> Labels:
    width = task.student.layers[0][0].shape[1]
    return Labels(np.zeros(0, np.int64), np.zeros((0, width), np.float32), np.zeros(0, np.float32))


def _explore(task: ShardTask, scored: ScoredActions, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return what the learner plays: mostly the action with the highest score, sometimes the teacher's or any other."""
    starts = np.cumsum(scored.counts) - scored.counts
    best = starts + _find_first_maximum(scored.scores, scored.counts)
    taught = starts + _find_first_maximum(scored.inputs[:, -1], scored.counts)
    anything = starts + np.floor(rng.random(len(starts)) * scored.counts).astype(np.int64)
    draw = rng.random(len(starts))
    chosen = np.where(draw < task.random_share + task.teacher_share, taught, best)
    return scored.actions[np.where(draw < task.random_share, anything, chosen)]


def _find_first_maximum(values: NDArray[Any], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return which of the values of each decision is the highest, the first of several, int64 [n]."""
    padded = np.full((len(counts), int(counts.max())), -np.inf, np.float32)
    padded[np.arange(padded.shape[1]) < counts[:, None]] = values
    first: NDArray[np.int64] = padded.argmax(axis=1)
    return first


def _label(
    task: ShardTask,
    matches: Matches,
    waiting: NDArray[np.int64],
    scored: ScoredActions,
    label: NDArray[np.bool_],
    policy: Policy,
    parameters: Parameters | PairParameters,
) -> Labels:
    """Label some of the decisions that are waiting."""
    width = int(scored.counts.max())
    inside = np.arange(width) < scored.counts[:, None]
    actions = np.full(inside.shape, -1)
    actions[inside] = scored.actions
    places = np.zeros(inside.shape, np.int64)
    places[inside] = np.arange(len(scored.actions))
    if 0 < task.candidates < width:
        scores = np.full(inside.shape, -np.inf, np.float32)
        scores[inside] = scored.scores
        order: NDArray[np.int64] = np.argsort(-scores, axis=1, kind="stable")
        first = order[:, : task.candidates]
        actions, places = np.take_along_axis(actions, first, 1), np.take_along_axis(places, first, 1)
    actions, places, rows = actions[label], places[label], waiting[label]
    values = matches.fork_values(
        rows, np.ascontiguousarray(actions), policy, parameters, task.decks, False, value_match=task.value == "match"
    )
    values -= np.nanmean(values, axis=1, keepdims=True)
    tried = actions >= 0
    return Labels(tried.sum(axis=1), scored.inputs[places[tried]], values[tried].astype(np.float32))
