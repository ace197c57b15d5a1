"""What the tests of training share: small runs, the command line, runs that are killed, values equal to the last bit."""

from __future__ import annotations

import os
import signal
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from rich.console import Console
from typer.testing import CliRunner

torch = pytest.importorskip("torch")
pytest.importorskip("sb3_contrib")

from train.callbacks import Callback  # noqa: E402
from train.checkpoints import Layers  # noqa: E402
from train.ppo import app  # noqa: E402
from train.runs import Run  # noqa: E402

QUIET = Console(quiet=True)
SMALL = ["n_envs=6", "n_steps=16", "batch_size=32", "n_epochs=2", "hidden=[8, 8]"]
ROLLOUT = 6 * 16
ROLLOUTS = 4
AGAINST_OTHERS = Run(
    "flip7",
    players=2,
    opponents="count3",
    steps=ROLLOUTS * ROLLOUT,
    settings=[*SMALL, "reward=score"],  # pays during matches, so that there is more state to go on from
    seed=5,
    evaluate_every=ROLLOUT,
    evaluate_matches=100,
)
SELF_PLAY = Run(
    "flip7",
    players=3,
    self_play=True,
    steps=ROLLOUTS * ROLLOUT,
    settings=SMALL,
    seed=6,
    evaluate_every=2 * ROLLOUT,
    evaluate_matches=100,
)
WARM = Run(
    "flip7",
    players=2,
    opponents="sum26",
    warm_start="count3",
    imitate=True,
    steps=2 * ROLLOUT,
    settings=[*SMALL, "warm_start_decisions=300", "warm_start_batch_size=32", "warm_start_epochs=2"],
    seed=8,
    evaluate_every=ROLLOUT,
    evaluate_matches=100,
)
RESIDUAL = Run(
    "flip7",
    players=3,
    self_play=True,
    warm_start="count3",
    steps=ROLLOUTS * ROLLOUT,
    settings=[*SMALL, "episode=deal", "pool=2", "pool_every=1", "warm_start_value_decisions=300", "warm_start_epochs=1"],
    seed=9,
    evaluate_every=2 * ROLLOUT,
    evaluate_matches=100,
)


def invoke(*arguments: str) -> Any:
    """Run ``python -m train.ppo`` with these arguments."""
    return CliRunner().invoke(app, [*arguments], env={"COLUMNS": "100"})


def refused(result: Any) -> str:
    """The one line of an error that ended the program with code 2."""
    assert result.exit_code == 2, result.output
    assert isinstance(result.exception, SystemExit)
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: ")
    return str(line)


def flat(layers: Layers) -> list[NDArray[np.float32]]:
    return [array for layer in layers for array in layer]


class KilledError(Exception):
    """Stands for the end of the process."""


class Kill(Callback):
    """Ends training in the middle of a rollout: by an exception, or the whole process at once."""

    def __init__(self, at: int, *, process: bool = False) -> None:
        super().__init__()
        self.at, self.process = at, process

    def _on_step(self) -> bool:
        if self.num_timesteps >= self.at:
            if self.process:
                os.kill(os.getpid(), signal.SIGKILL)
            raise KilledError
        return True


def assert_same(one: Any, other: Any, where: str) -> None:
    """Assert that two values are equal to the last bit, with everything in them."""
    assert type(one) is type(other), where
    if isinstance(one, dict):
        assert one.keys() == other.keys(), where
        for key in one:
            assert_same(one[key], other[key], f"{where}.{key}")
    elif isinstance(one, list | tuple):
        assert len(one) == len(other), where
        for i, (a, b) in enumerate(zip(one, other, strict=True)):
            assert_same(a, b, f"{where}[{i}]")
    elif isinstance(one, torch.Tensor):
        assert one.dtype == other.dtype, where
        assert torch.equal(one, other), where
    else:
        assert one == other, where
