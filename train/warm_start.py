"""A warm start: before PPO, the agent learns from a player in the place of the learner.

The value is fitted to what the player earns. The policy begins as the player where it can be residual on them, or take over
their weights. Otherwise it imitates them by behaviour cloning: it is fitted to their actions by maximum likelihood.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from sb3_contrib import MaskablePPO
from torch import Tensor, nn
from torch.nn.functional import mse_loss

from card_envs.envs.single_agent import SingleAgentBatch
from card_envs.players import Player
from card_envs.players.runner import Runner
from train.checkpoints import take_weights
from train.residual import ResidualPolicy, find_skip
from train.settings import Settings
from train.start import Start

HELD_OUT = 20  # one of so many decisions is held out to measure the fit

Report = Callable[[int, int], None]  # takes how much is done and how much there is to do


def silent(done: int, total: int) -> None:
    """Report nothing."""


@dataclass
class Demonstrations:
    """Decisions of a player in the place of the learner.

    Attributes:
        observation: What the player knew, float32 [n, D].
        action_mask: Whether each action was legal, bool [n, A].
        action: The choices of the player, int64 [n].
        returns: The sums of the rewards from there to the end of the match, float32 [n].
    """

    observation: Tensor
    action_mask: Tensor
    action: Tensor
    returns: Tensor

    def __len__(self) -> int:
        return len(self.action)

    def select(self, which: Tensor) -> Demonstrations:
        """Return the decisions with these indices."""
        return Demonstrations(self.observation[which], self.action_mask[which], self.action[which], self.returns[which])


def watch(learner: SingleAgentBatch, player: Player, decisions: int, report: Report = silent) -> Demonstrations:
    """Let ``player`` act for the learner, and return their first ``decisions``, rounded up to whole steps of all rows.

    Matches that are not over by then are played to the end, only for their returns.
    """
    matches = learner.matches
    n = matches.size
    steps = -(-decisions // n)
    observation = np.empty((steps, n, matches.observation_size), np.float32)
    action_mask = np.empty((steps, n, matches.num_actions), np.bool_)
    action = np.empty((steps, n), np.int64)
    earned: list[NDArray[np.float64]] = []
    ended: list[NDArray[np.bool_]] = []
    runner = Runner(matches, [player])
    rows = np.arange(n)
    while len(rows):
        runner.choose(rows)
        actions = matches.actions.copy()
        step = len(earned)
        if step < steps:
            observation[step], action_mask[step], action[step] = learner.observation(), learner.action_mask(), actions
            report((step + 1) * n, steps * n)
        outcome = learner.step(actions, rows)
        earned.append(outcome.rewards)
        ended.append(outcome.terminated | outcome.truncated)
        if len(earned) >= steps:
            rows = rows[~ended[-1][rows]]
    returns = np.zeros((len(earned) + 1, n))
    for step in reversed(range(len(earned))):
        returns[step] = earned[step] + np.where(ended[step], 0.0, returns[step + 1])
    return Demonstrations(
        torch.from_numpy(observation).flatten(0, 1),
        torch.from_numpy(action_mask).flatten(0, 1),
        torch.from_numpy(action).flatten(),
        torch.from_numpy(returns[:steps].astype(np.float32)).flatten(),
    )


def imitate(
    model: MaskablePPO, shown: Demonstrations, settings: Settings, seed: int, report: Report = silent
) -> tuple[float, float]:
    """Fit the policy and the value of the model to ``shown``, with a separate optimiser.

    Returns:
        The loss, and the fraction of actions that are the likeliest ones of the policy, both on decisions that were held out.
    """
    policy = model.policy

    def compute_loss(some: Demonstrations) -> Tensor:
        values, log_prob, _ = policy.evaluate_actions(some.observation, some.action, action_masks=some.action_mask)
        loss: Tensor = settings.vf_coef * mse_loss(values.flatten(), some.returns) - log_prob.mean()
        return loss

    def measure_accuracy(some: Demonstrations) -> float:
        likeliest = policy.get_distribution(some.observation, action_masks=some.action_mask.numpy()).mode()
        return float((likeliest == some.action).float().mean())

    return _fit(model, list(policy.parameters()), compute_loss, ("accuracy", measure_accuracy), shown, settings, seed, report)


def fit_value(
    model: MaskablePPO, shown: Demonstrations, settings: Settings, seed: int, report: Report = silent
) -> tuple[float, float]:
    """Fit only the value of the model to ``shown``, with a separate optimiser.

    Returns:
        The loss, and the fraction of the variance of the returns that the value explains, both on decisions that were held out.
    """
    policy = model.policy

    def compute_loss(some: Demonstrations) -> Tensor:
        loss: Tensor = mse_loss(policy.predict_values(some.observation).flatten(), some.returns)
        return loss

    def measure_explained(some: Demonstrations) -> float:
        return 1.0 - float(compute_loss(some)) / max(float(some.returns.var(correction=0)), 1e-12)

    parameters = [*policy.mlp_extractor.value_net.parameters(), *policy.value_net.parameters()]
    return _fit(model, parameters, compute_loss, ("explained", measure_explained), shown, settings, seed, report)


def _fit(
    model: MaskablePPO,
    parameters: list[nn.Parameter],
    compute_loss: Callable[[Demonstrations], Tensor],
    measure: tuple[str, Callable[[Demonstrations], float]],
    shown: Demonstrations,
    settings: Settings,
    seed: int,
    report: Report,
) -> tuple[float, float]:
    """Minimise a loss over ``shown``; return it and a named measure on decisions that were held out, which are logged, too."""
    optimizer = torch.optim.Adam(parameters, lr=settings.warm_start_learning_rate)
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(shown), generator=generator)
    held_out, fitted = order[::HELD_OUT], order[torch.arange(len(shown)) % HELD_OUT > 0]
    updates = settings.warm_start_epochs * -(-len(fitted) // settings.warm_start_batch_size)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, updates)
    name, measure_held_out = measure
    loss, measured, done = 0.0, 0.0, 0
    for epoch in range(1, settings.warm_start_epochs + 1):
        shuffled = fitted[torch.randperm(len(fitted), generator=generator)]
        for which in torch.split(shuffled, settings.warm_start_batch_size):
            optimizer.zero_grad()
            compute_loss(shown.select(which)).backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(parameters, settings.max_grad_norm)
            optimizer.step()
            schedule.step()
            done += len(which)
            report(done, settings.warm_start_epochs * len(fitted))
        with torch.no_grad():
            some = shown.select(held_out)
            loss, measured = float(compute_loss(some)), measure_held_out(some)
        model.logger.record("warm_start/loss", loss)
        model.logger.record(f"warm_start/{name}", measured)
        model.logger.dump(epoch)
    optimizer.zero_grad()
    return loss, measured


def warm_start(
    model: MaskablePPO, learner: SingleAgentBatch, start: Start, name: str, settings: Settings, seed: int, console: Console
) -> Demonstrations:
    """Watch the player called ``name`` in the place of the learner, and make the model begin as they play.

    Either the policy imitates the player, or it takes over their weights, or it becomes residual on them with a skip that makes
    their choice as probable as the settings say. In all cases the value is fitted to what the player earned.

    Returns:
        The decisions that were watched.
    """
    assert start.player is not None
    progress = Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn(),
        console=console, transient=True, disable=not console.is_terminal,
    )  # fmt: skip

    def make_report(task: TaskID) -> Report:
        return lambda done, total: progress.update(task, completed=done, total=total)

    decisions = settings.warm_start_decisions if start.imitates else settings.warm_start_value_decisions
    with progress:
        shown = watch(learner, start.player, decisions, make_report(progress.add_task(f"watching {name}")))
        fit, task = (imitate, "imitating") if start.imitates else (fit_value, "evaluating")
        loss, measured = fit(model, shown, settings, seed, make_report(progress.add_task(f"{task} {name}")))
    if start.network is not None:
        take_weights(model, start.network)
    elif start.teacher is not None:
        skip = find_skip(shown.action_mask.sum(1).numpy(), settings.teacher_probability)
        nn.init.constant_(cast(ResidualPolicy, model.policy).skip, skip)
    if start.imitates:
        done = f"agrees with {name} in {100 * measured:.1f} % of decisions that it was not fitted to"
    else:
        done = f"begins as {name}; the value explains {100 * measured:.1f} % of the variance of what comes of their decisions"
    console.print(f"warm start: {done} (loss {loss:.3f}, {len(shown):,} decisions)", highlight=False, soft_wrap=True)
    return shown
