"""What happens around MaskablePPO's loop: the entropy schedule, self-play, evaluation, checkpoints, the progress bar."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback

from card_envs.arena import Duel
from card_envs.players.network import Network, save_network
from train.checkpoints import layers_of, save_state
from train.evaluation import as_metadata, one_line


class Callback(BaseCallback):
    """One that lets every step pass."""

    model: MaskablePPO

    def _on_step(self) -> bool:
        return True


class EntropySchedule(Callback):
    """Sets the entropy bonus for the update that follows a rollout, which SB3 keeps constant."""

    def __init__(self, schedule: Callable[[float], float], steps: int) -> None:
        super().__init__()
        self.schedule = schedule
        self.steps = steps

    def _on_rollout_end(self) -> None:
        self.model.ent_coef = self.schedule(1.0 - self.num_timesteps / self.steps)
        self.logger.record("train/ent_coef", self.model.ent_coef)


class SelfPlay(Callback):
    """Seats the current policy, which draws its actions by their probabilities, opposite the learner."""

    def __init__(self, opponent: Network) -> None:
        super().__init__()
        self.opponent = opponent

    def _on_rollout_start(self) -> None:
        self.opponent.layers = layers_of(self.model)


class Keeper(Callback):
    """Between two rollouts: evaluates on the deals ``"tune"`` and writes the best and the last network and the run's state.

    Args:
        out: the run's directory.
        agent: the network as a player; gets the policy's layers.
        evaluate: plays the agent against all yardsticks.
        every: steps from one evaluation to the next.
        first: evaluate before the first step too.
        judge: the yardstick that tells which checkpoint is the best.
        best: the best share so far.
    """

    def __init__(
        self, out: Path, agent: Network, evaluate: Callable[[Network], dict[str, Duel]],
        *, every: int, first: bool, judge: str, best: float | None, console: Console,
    ) -> None:  # fmt: skip
        super().__init__()
        self.out, self.agent, self.evaluate = out, agent, evaluate
        self.every, self.first, self.judge, self.best, self.console = every, first, judge, best, console
        self._resumed = False

    def _on_training_start(self) -> None:
        self._resumed = self.num_timesteps > 0  # what is on disk is this very state

    def _on_rollout_start(self) -> None:
        if not self._resumed:
            rollout = self.model.n_steps * self.model.n_envs
            self._keep(self.num_timesteps // self.every > (self.num_timesteps - rollout) // self.every)
        self._resumed = False

    def _on_training_end(self) -> None:
        if not self._resumed:
            self._keep(True)

    def _keep(self, evaluate: bool) -> None:
        self.agent.layers = layers_of(self.model)
        if evaluate and (self.num_timesteps or self.first):
            duels = self.evaluate(self.agent)
            for spec, d in duels.items():
                self.logger.record(f"share/{spec}", d.share.mean)
                self.logger.record(f"share_low/{spec}", d.share.low)
                self.logger.record(f"share_high/{spec}", d.share.high)
            self.logger.dump(self.num_timesteps)
            self.agent.metadata["evaluation"] = as_metadata(duels, steps=self.num_timesteps, deal_list="tune")
            share = duels[self.judge].share.mean
            is_best = self.best is None or share > self.best
            line = f"{self.num_timesteps:>11,} steps: wins % {one_line(duels)}{'  (best)' if is_best else ''}"
            self.console.print(line, highlight=False, soft_wrap=True)
            if is_best:
                self.best = share
                save_network(self.out / "best.safetensors", self.agent)
        save_network(self.out / "last.safetensors", self.agent)
        save_state(self.out / "state.pt", self.model, self.best)


class Bar(Callback):
    """A progress bar: steps, steps a second, the mean reward of the latest matches."""

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
