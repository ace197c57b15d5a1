"""What is shown and kept of a run of training by rollouts: progress bar, learning curve, checkpoint, state."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from torch.utils.tensorboard import SummaryWriter

from card_envs.players.checkpoint import save_network
from card_envs.players.network import Network
from train.evaluation import evaluate, format_line, format_metadata
from train.labels import Labels
from train.runs import AGENT, STATE
from train.scorer import Learner, Scorer, save_state

if TYPE_CHECKING:
    from train.rollouts import Plan


class Keeper:
    """Measures the player of a run on the deals ``"tune"``, writes checkpoint and state, and shows how far the run is.

    Args:
        plan: The run.
        out: Its directory.
        console: Where the progress is shown.
        done: How many rounds were done before.
    """

    def __init__(self, plan: Plan, out: Path, console: Console, done: int) -> None:
        self.plan, self.out, self.console, self.rounds = plan, out, console, done
        self.labels = 0  # action values since the start of this process
        self.progress = Progress(
            TextColumn("deals"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[info]}"), TimeElapsedColumn(),
            TextColumn("left"), TimeRemainingColumn(), console=console,
        )  # fmt: skip
        self.task = self.progress.add_task("", total=plan.deals, completed=self.deals, info="")
        self.writer = SummaryWriter(str(out))

    @property
    def deals(self) -> int:
        """How many deals are done."""
        return self.rounds * self.plan.settings.round_deals

    def __enter__(self) -> Keeper:
        self.progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.progress.stop()
        self.writer.close()

    def after_round(self, learner: Learner, earlier: Scorer, labels: Labels, loss: float, student: Network) -> None:
        """Take note of a round, after which the player is ``student``."""
        before = self.deals
        self.rounds += 1
        self.labels += len(labels.values)
        elapsed = self.progress.tasks[self.task].elapsed or 0.0
        speed = self.labels / elapsed if elapsed else 0.0
        self.progress.update(self.task, completed=self.deals, info=f"{speed / 1000:,.0f}k labels/s")
        variance = float((labels.values.astype(float) ** 2).sum() / max(1, len(labels.counts)))
        self._write({"train/loss": loss, "train/variance": variance, "time/labels_per_second": speed})
        last = self.rounds == self.plan.rounds
        every = self.plan.run.evaluate_every
        if last or self.deals // every > before // every:
            self._measure(student)
            save_network(self.out / AGENT, student)
            save_state(self.out / STATE, learner, self.rounds, earlier)

    def _measure(self, student: Network) -> None:
        run = self.plan.run
        duels = evaluate(
            student, self.plan.game, self.plan.options, self.plan.judges, board_list="tune", seed=run.seed,
            matches=run.evaluate_matches,
        )  # fmt: skip
        student.metadata["evaluation"] = format_metadata(duels, deals=self.deals, board_list="tune")
        for spec, d in duels.items():
            self._write({f"share/{spec}": d.share.mean, f"share_low/{spec}": d.share.low, f"share_high/{spec}": d.share.high})
        self.console.print(f"{self.deals:>11,} deals: wins % {format_line(duels)}", highlight=False, soft_wrap=True)

    def _write(self, figures: dict[str, float]) -> None:
        for name, value in figures.items():
            self.writer.add_scalar(name, value, self.deals)
