"""What happens around the loop of MaskablePPO: entropy schedule, self-play, evaluation, checkpoints, progress bar."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback

from card_envs.arena import Duel
from card_envs.players.checkpoint import save_network
from card_envs.players.network import Network
from train.checkpoints import Part, save_state
from train.evaluation import format_line, format_metadata
from train.inputs import InputRanges
from train.selves import Selves


class Callback(BaseCallback):
    """A callback that never stops the training."""

    model: MaskablePPO

    def _on_step(self) -> bool:
        return True


class EntropySchedule(Callback):
    """Sets the entropy bonus, which SB3 would keep constant, before each update."""

    def __init__(self, schedule: Callable[[float], float], steps: int) -> None:
        super().__init__()
        self.schedule = schedule
        self.steps = steps

    def _on_rollout_end(self) -> None:
        self.model.ent_coef = self.schedule(1.0 - self.num_timesteps / self.steps)
        self.logger.record("train/ent_coef", self.model.ent_coef)


class SelfPlay(Callback):
    """Keeps the opponents of a learner that plays against itself up with its policy."""

    def __init__(self, selves: Selves) -> None:
        super().__init__()
        self.selves = selves

    def _on_rollout_start(self) -> None:
        self.selves.follow(self.model, self.num_timesteps // (self.model.n_steps * self.model.n_envs))


class WatchInputs(Callback):
    """Takes note of the ranges of the inputs that are learned from."""

    def __init__(self, ranges: InputRanges) -> None:
        super().__init__()
        self.ranges = ranges

    def _on_rollout_end(self) -> None:
        self.ranges.watch(self.model.rollout_buffer.observations)


class Keeper(Callback):
    """Evaluates on the deals ``"tune"`` between rollouts; writes the best network, the last one and the state of the run.

    Args:
        out: The directory of the run.
        agent: The player that is to play as the policy does.
        export: Makes a player play as the policy of a model does.
        evaluate: Plays the agent against all yardsticks.
        every: The number of steps from one evaluation to the next.
        first: Whether to evaluate before the first step too.
        judge: The yardstick that decides which checkpoint is the best.
        best: The best share of wins so far.
        parts: What the state of the run holds beside the model.
        console: Where a line about each evaluation is printed.
    """

    def __init__(
        self, out: Path, agent: Network, export: Callable[[MaskablePPO, Network], None],
        evaluate: Callable[[Network], dict[str, Duel]], *, every: int, first: bool, judge: str, best: float | None,
        parts: Mapping[str, Part], console: Console,
    ) -> None:  # fmt: skip
        super().__init__()
        self.out, self.agent, self.export, self.evaluate, self.parts = out, agent, export, evaluate, parts
        self.every, self.first, self.judge, self.best, self.console = every, first, judge, best, console
        self._resumed = False

    def _on_training_start(self) -> None:
        self._resumed = self.num_timesteps > 0  # then the state on disk is the current one

    def _on_rollout_start(self) -> None:
        if not self._resumed:
            rollout = self.model.n_steps * self.model.n_envs
            self._keep(self.num_timesteps // self.every > (self.num_timesteps - rollout) // self.every)
        self._resumed = False

    def _on_training_end(self) -> None:
        if not self._resumed:
            self._keep(True)

    def _keep(self, evaluate: bool) -> None:
        self.export(self.model, self.agent)
        if evaluate and (self.num_timesteps or self.first):
            duels = self.evaluate(self.agent)
            for spec, d in duels.items():
                self.logger.record(f"share/{spec}", d.share.mean)
                self.logger.record(f"share_low/{spec}", d.share.low)
                self.logger.record(f"share_high/{spec}", d.share.high)
            self.logger.dump(self.num_timesteps)
            self.agent.metadata["evaluation"] = format_metadata(duels, steps=self.num_timesteps, board_list="tune")
            share = duels[self.judge].share.mean
            is_best = self.best is None or share > self.best
            line = f"{self.num_timesteps:>11,} steps: wins % {format_line(duels)}{'  (best)' if is_best else ''}"
            self.console.print(line, highlight=False, soft_wrap=True)
            if is_best:
                self.best = share
                save_network(self.out / "best.safetensors", self.agent)
        save_network(self.out / "last.safetensors", self.agent)
        save_state(self.out / "state.pt", self.model, self.best, self.parts)


class Bar(Callback):
    """A progress bar that also shows the mean reward of the latest matches."""

    def __init__(self, steps: int, console: Console) -> None:
        super().__init__()
        self.progress = Progress(
            TextColumn("training"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[info]}"),
            TimeElapsedColumn(), TimeRemainingColumn(), console=console,
        )  # fmt: skip
        self.steps = steps

    def _on_training_start(self) -> None:
        self.task = self.progress.add_task("", total=self.steps, completed=self.num_timesteps, info="")
        self.progress.start()

    def _on_step(self) -> bool:
        self.progress.update(self.task, completed=min(self.num_timesteps, self.steps))
        return True

    def _on_rollout_end(self) -> None:
        rewards = [info["r"] for info in self.model.ep_info_buffer or ()]
        if rewards:
            self.progress.update(self.task, info=f"reward {np.mean(rewards):+.2f}")

    def _on_training_end(self) -> None:
        self.progress.stop()
