"""What the tests of training share: small runs, and the command line."""

from __future__ import annotations

from typing import Any

import pytest
from typer.testing import CliRunner

pytest.importorskip("torch")
pytest.importorskip("sb3_contrib")

from train.ppo import app
from train.runs import Run

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
    steps=2 * ROLLOUT,
    settings=[*SMALL, "warm_start_decisions=300", "warm_start_batch_size=32", "warm_start_epochs=2"],
    seed=8,
    evaluate_every=ROLLOUT,
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
