"""Runs of ``train.rollouts``: resumed to the bit, on other numbers of threads, after kills; and that they learn."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from card_envs.arena import play_duel
from card_envs.players import load_player
from card_envs.players.checkpoint import save_network
from tests.rollout_training import GAME, OPTIONS, ROUND, ROUNDS, RUN, make_student, run_again
from tests.training import QUIET, KilledError, assert_same
from train import progress
from train.progress import Keeper
from train.rollouts import Plan, RolloutRun, train
from train.scorer import load_state, make_learner

torch = pytest.importorskip("torch")
STATE, AGENT = "state.pt", "agent.safetensors"


def assert_same_run(one: Path, other: Path, *, command: bool = True) -> None:
    """Assert that states and players of two runs are equal to the last bit; ``command`` is whether that is the same too."""
    assert_same(load_state(one / STATE), load_state(other / STATE), "state")
    a, b = (load_player(folder / AGENT) for folder in (one, other))
    if not command:
        b.metadata["command"] = a.metadata["command"]
    assert a.metadata == b.metadata
    for mine, its in zip([*a.layers, (a.skip,)], [*b.layers, (b.skip,)], strict=True):
        for array, its_array in zip(mine, its, strict=True):
            np.testing.assert_array_equal(array, its_array)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a run that was not interrupted."""
    out = tmp_path_factory.mktemp("whole")
    train(Plan.from_run(RUN), out, console=QUIET)
    return out


def kill_after(monkeypatch: pytest.MonkeyPatch, rounds: int) -> None:
    """End training after so many rounds, as if the process had ended."""
    after_round = Keeper.after_round

    def note(self: Keeper, *arguments: Any) -> None:
        after_round(self, *arguments)
        if self.rounds == rounds:
            raise KilledError

    monkeypatch.setattr(Keeper, "after_round", note)


def train_until_killed(run: RolloutRun, out: Path, rounds: int) -> None:
    """Begin with a run that ends after so many rounds."""
    with pytest.MonkeyPatch.context() as patch:
        kill_after(patch, rounds)
        with pytest.raises(KilledError):
            train(Plan.from_run(run), out, console=QUIET)


def test_a_run_leaves_a_player_and_a_state(whole: Path) -> None:
    assert load_state(whole / STATE)["rounds"] == ROUNDS
    player = load_player(whole / AGENT)
    player.check(GAME, OPTIONS)
    assert player.metadata["command"] == RUN.command
    assert player.metadata["evaluation"]["deals"] == ROUNDS * ROUND
    assert list(player.metadata["evaluation"]["share"]) == ["best", "random"], "the strongest built-in player and the start"
    assert (player.layers[-1][0] != 0).any(), "it has learned"
    assert any("tfevents" in path.name for path in whole.iterdir())


@pytest.mark.parametrize("rounds", [1, 3])
def test_a_run_that_was_stopped_goes_on_to_the_bit(whole: Path, tmp_path: Path, rounds: int) -> None:
    train_until_killed(RUN, tmp_path, rounds)
    assert load_state(tmp_path / STATE)["rounds"] == rounds
    run_again(tmp_path, Plan.from_run(RUN), QUIET)
    assert_same_run(tmp_path, whole)


def test_threads_do_not_matter(whole: Path, tmp_path: Path) -> None:
    """Not even in the middle of a run."""
    train_until_killed(replace(RUN, threads=3), tmp_path, 2)
    run_again(tmp_path, Plan.from_run(replace(RUN, threads=2)), QUIET)
    assert_same_run(tmp_path, whole, command=False)


def test_a_state_is_written_where_the_run_is_measured(tmp_path: Path) -> None:
    """Rounds in between are lost by a kill, and made again."""
    run = replace(RUN, evaluate_every=2 * ROUND)
    train_until_killed(run, tmp_path, 3)
    assert load_state(tmp_path / STATE)["rounds"] == 2


@pytest.mark.parametrize("write", [3, 4])
def test_a_process_killed_while_it_writes_leaves_the_old_state(whole: Path, tmp_path: Path, write: int) -> None:
    """By SIGKILL, at the moment when the player or the state of the second round is about to take its place."""
    code = (
        "import os, signal; from pathlib import Path; from tests.test_rollout_runs import *\n"
        "replace_file, calls = os.replace, []\n"
        "def kill(*names, **more):\n"
        "    calls.extend(name for name in names[1:] if str(name).endswith((STATE, AGENT)))\n"
        f"    if len(calls) == {write}: os.kill(os.getpid(), signal.SIGKILL)\n"
        "    replace_file(*names, **more)\n"
        "os.replace = kill\n"
        f"train(Plan.from_run(RUN), Path({str(tmp_path)!r}), console=QUIET)"
    )
    ended = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=300)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert load_state(tmp_path / STATE)["rounds"] == 1
    assert load_player(tmp_path / AGENT).metadata["evaluation"]["deals"] == (write - 2) * ROUND
    assert [name for name in os.listdir(tmp_path) if name.startswith(".")], "the new file, which nobody reads"
    run_again(tmp_path, Plan.from_run(RUN), QUIET)
    assert_same_run(tmp_path, whole)


def test_a_second_iteration_starts_as_the_first_ended(whole: Path, tmp_path: Path) -> None:
    """With its weights, its hidden layers and its teacher; and its play-outs are the network's."""
    agent = str(whole / AGENT)
    plan = Plan.from_run(replace(RUN, start=agent, rollout=agent, settings=[*RUN.settings, "hidden=[50]"]))
    assert plan.teacher.name == "random"
    assert plan.rollout.name == agent
    seen: list[Any] = []

    class Stop(Keeper):
        def after_round(self, learner: Any, earlier: Any, labels: Any, loss: float, student: Any) -> None:
            seen.append(earlier)
            raise KilledError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(progress, "Keeper", Stop)
        with pytest.raises(KilledError):
            train(plan, tmp_path, console=QUIET)
    loaded = load_player(agent)
    for layer, (weight, bias) in zip(seen[0].layers, loaded.layers, strict=True):
        np.testing.assert_array_equal(layer.weight.detach().numpy(), weight)
        np.testing.assert_array_equal(layer.bias.detach().numpy(), bias)
    np.testing.assert_array_equal(seen[0].skip.detach().numpy(), loaded.skip)


def test_a_start_with_another_activation_is_refused(tmp_path: Path) -> None:
    """The learner would take its weights for those of another function."""
    student = make_student()
    student.metadata["network"]["activation"] = "tanh"
    save_network(tmp_path / "tanh.safetensors", student)
    with pytest.raises(ValueError, match="a network with the activation relu is expected, not tanh"):
        Plan.from_run(replace(RUN, start=str(tmp_path / "tanh.safetensors")))


def test_a_learner_is_made_of_the_seed() -> None:
    settings = {"learning_rate": 0.1, "weight_decay": 0.0, "average": 0.9, "batch_size": 8}
    one, same, other = (make_learner(GAME, OPTIONS, [5], **settings, seed=seed) for seed in (1, 1, 2))
    first = [learner.scorer.layers[0].weight for learner in (one, same, other)]
    assert torch.equal(first[0], first[1])
    assert not torch.equal(first[0], first[2])


def test_it_learns(tmp_path: Path) -> None:
    """From a thousand deals played at random, enough to win far more than half of the matches against random play."""
    run = RolloutRun(
        "pis_yedili", players=2, start="random", opponents="random", deals=1024, options=RUN.options, seed=1,
        settings=["shards=2", "shard_deals=128", "decks=1", "hidden=[16]", "batch_size=128", "learning_rate=.01", "passes=3"],
        evaluate_every=10**6, evaluate_matches=100,
    )  # fmt: skip
    agent = train(Plan.from_run(run), tmp_path, console=QUIET)
    duel = play_duel(GAME, agent, "random", matches=1000, board_list="report", seed=0, **OPTIONS)
    assert duel.share.low > 0.55, duel
