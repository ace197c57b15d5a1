"""What the tests of training by rollouts share: a small game, a shard of labels, tiny runs, the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import card_envs
from card_envs.engine.networks import SCORER
from card_envs.players import resolve
from card_envs.players.network import Network
from tests.games.pis_yedili import QUICK
from tests.networks import make_random_network

torch = pytest.importorskip("torch")
pytest.importorskip("tensorboard")

from train.labels import ShardTask  # noqa: E402
from train.rollouts import Plan, RolloutRun, app, train  # noqa: E402
from train.scorer import load_state  # noqa: E402

GAME = card_envs.load_game("pis_yedili")
OPTIONS = GAME.resolve({**QUICK, "players": 2})
WORDS = [f"{name}={str(value).lower()}" for name, value in QUICK.items() if name != "players"]

ROUND = 12  # deals
ROUNDS = 4
SETTINGS = ["shards=3", "shard_deals=4", "decks=1", "labelled=.7", "hidden=[6]", "batch_size=16", "random_share=.2"]
RUN = RolloutRun(
    "pis_yedili",
    players=2,
    start="random",
    opponents="random,self",
    deals=ROUNDS * ROUND,
    options=WORDS,
    settings=SETTINGS,
    seed=4,
    evaluate_every=ROUND,
    evaluate_matches=100,
    report_matches=100,
)


def make_student(seed: int = 3, teacher: str = "random") -> Network:
    return make_random_network(GAME, OPTIONS, SCORER, seed, hidden=(8,), teacher=teacher)


def make_task(**changes: Any) -> ShardTask:
    """A small shard, in which the learner meets ``random`` and itself."""
    values: dict[str, Any] = {
        "game": GAME, "options": OPTIONS, "seed": 5, "number": 1, "deals": 12, "episode": "deal", "value": "margin",
        "student": make_student(), "opponents": [resolve("random", GAME, OPTIONS), None], "weights": [1.0, 1.0],
        "rollout": resolve("random", GAME, OPTIONS), "decks": 1, "labelled": 0.6, "teacher_share": 0.2, "random_share": 0.2,
        "candidates": 0,
    }  # fmt: skip
    return ShardTask(**values | changes)


def run_again(out: Path, plan: Plan, console: Any) -> None:
    """Go on with a run from its state, if it has one."""
    path = out / "state.pt"
    train(plan, out, state=load_state(path) if path.exists() else None, console=console)


def invoke(*arguments: str) -> Any:
    """Run ``python -m train.rollouts`` with these arguments."""
    return CliRunner().invoke(app, [*arguments], env={"COLUMNS": "100"})


def write_arguments(run: RolloutRun = RUN) -> list[str]:
    """The arguments of the command that makes a run."""
    import shlex

    return shlex.split(run.command)[3:]
