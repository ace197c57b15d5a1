"""``card-envs warm``: afterwards nothing is compiled any more, whatever is used."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import GAMES
from tests.test_cli import errors, run

USED = """
import sys, tempfile
import numpy as np
import numba.core.event as event

names = []
class Names(event.Listener):
    def on_start(self, event):
        names.append(event.data["dispatcher"].py_func.__qualname__)
    def on_end(self, event):
        pass

event.register("numba:compile", Names())
import card_envs
from card_envs.arena import run_benchmark
from card_envs.envs.aec import make_classes
from card_envs.envs.vector import SingleAgentVectorEnv
from card_envs.envs.gym import build_gym_id
import gymnasium

name = sys.argv[1]
game = card_envs.load_game(name)
for checked in (0, 1):
    env = make_classes(name, "x")[checked](players=3)
    env.reset(seed=1)
    for agent in env.agent_iter(60):
        seen, _, terminated, truncated, _ = env.last()
        env.observe(env.agents[0]) if env.agents else None
        env.step(None if terminated or truncated else int(seen["action_mask"].argmax()))
table = card_envs.table(name, seed=1)
table.play(table.legal_actions()[0])
table.redealt(0, 1) if hasattr(table, "redealt") else None
for count in (1, 2):
    batch = card_envs.batch(name, 600, seed=1, threads=count)
    for _ in range(8):
        batch.step(batch.sample())
    batch.observe(0)
    batch.redeal(0, 1)
    batch.gather(np.arange(3))
    for policy in game.policies:
        batch.reset()
        batch.playout(2, policy.name)
        batch.rollout(batch.sample(), policy.name, until="deal")
    batch.matches.prepare_threads()
run_benchmark(name, [policy.name for policy in game.policies], matches=20)
learner = gymnasium.make(build_gym_id(game))
learner.reset(seed=1)
learner.step(int(learner.unwrapped.action_masks().argmax()))
vector = SingleAgentVectorEnv(name, 4, auto_forced=True)
_, infos = vector.reset(seed=1)
vector.step(infos["action_mask"].argmax(axis=1))
try:
    from card_envs.envs.sb3 import CardVecEnv
    door = CardVecEnv(name, 4, seed=1)
    door.reset()
    door.step(door.action_masks().argmax(axis=1))
except ModuleNotFoundError:
    pass
if name == "flip7":
    from card_envs import risk
    position = risk.parse_position("3 9 12 lucky13")
    risk.solve_position(position)
    for strategy in (risk.optimal(), risk.risk_at_least(.24), risk.sum_at_least(20), risk.one_step()):
        risk.evaluate(position, strategy)
    risk.solve_race("plain", 5, use_cache=False)
    risk.play_real_round("exact", "racer", players=2, rounds=20)
    run_benchmark(name, ["exact", "racer", "ev"], matches=20)
print(*names, sep="\\n")
"""


def run_alone(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder), "CARD_ENVS_CACHE": str(folder / "results")} | variables
    return subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False, timeout=900
    )


COMMAND = "-c", "from card_envs.cli import main; main()", "warm"


@pytest.mark.parametrize(
    "game", ["pis_yedili", *(pytest.param(game, marks=pytest.mark.long) for game in GAMES if game != "pis_yedili")]
)
def test_after_it_nothing_is_compiled(game: str, tmp_path: Path) -> None:
    done = run_alone(tmp_path, *COMMAND, game, "--jobs", "2")
    assert (done.returncode, done.stderr) == (0, "")
    *lines, last = done.stdout.splitlines()
    assert f"{game}.step compiled" in lines
    assert last.startswith(f"compiled {len(lines)} of {len(lines)} pieces of code in ")
    assert last.endswith(f"the cache is {tmp_path}")
    files = sorted(tmp_path.rglob("*.nb*"))
    used = run_alone(tmp_path, "-c", USED, game, CARD_ENVS_HELPER="0")
    assert used.returncode == 0, used.stderr
    assert used.stdout.split() == []
    assert "compiling" not in used.stderr
    again = run_alone(tmp_path, *COMMAND, game)
    assert again.stdout.splitlines()[-1] == f"all {len(lines)} pieces of code are warm already; the cache is {tmp_path}"
    assert sorted(tmp_path.rglob("*.nb*")) == files


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["flip8"], "unknown game 'flip8' – did you mean 'flip7'?"),
        (["flip7", "ruumy"], "unknown game 'ruumy' – did you mean 'rummy'?"),
        (["--jobs", "0"], "Invalid value for '--jobs'"),
        (["--jobs", "two"], "Invalid value for '--jobs'"),
    ],
)
def test_wrong_arguments_are_told_in_one_line(arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*orders: Any) -> None:
        raise AssertionError("something is compiled")

    monkeypatch.setattr("card_envs.cli.warm.open_workers", fail)
    done = run("warm", *arguments)
    assert done.exit_code == 2
    assert message in errors(done)
    assert errors(done).count("\n") == 1


def test_a_cache_that_cannot_be_written_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    places = dict.fromkeys(["HOME", "XDG_CACHE_HOME"], str(tmp_path / "file"))
    done = run_alone(
        tmp_path / "file", *COMMAND, "pis_yedili", NUMBA_CACHE_LOCATOR_CLASSES="UserProvidedCacheLocator", **places
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.splitlines()[-1].startswith(
        "card-envs: no folder can be written to in which compiled code could be kept"
    )


def test_a_process_that_ends_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("card_envs.engine.helper.PROGRAM", "raise SystemExit(1)")
    done = run("warm", "pis_yedili", "--jobs", "2")
    assert done.exit_code == 2
    assert errors(done).startswith("card-envs: pis_yedili.rule.")
    assert errors(done).endswith(": the process that compiled it has ended\n")
