"""Benchmarks that end in the middle: by TERM, or by KILL at any moment, which loses no more than half a minute (item 12)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from card_envs.arena import Benchmark, benchmark, run_benchmark
from card_envs.arena.workers import Threads
from tests.benchmarks import SHORT, Cut

FIRST = "tests.arena_players:First()"
MATCHES = 120
WORDS = ["flip7", "random", FIRST, "--players", "2", "--option", "target=50", "--matches", str(MATCHES)]
CLI = "from card_envs.arena import benchmark; benchmark.SAVE_EVERY = 0.05; from card_envs.cli import main; main()"


def start(*words: str) -> subprocess.Popen[str]:
    """Start the command, saving all the time; numba's cache is warm after the whole run."""
    command = [sys.executable, "-c", CLI, "bench", *WORDS, *words]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


@pytest.fixture(scope="module")
def whole() -> str:
    """The hash of an unbroken run."""
    report = run_benchmark("flip7", ["random", FIRST], tables=[2], matches=MATCHES, **SHORT)
    return str(report["results_sha256"])


def wait_for(file: Path, process: subprocess.Popen[str]) -> None:
    until = time.monotonic() + 120
    while not file.exists() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.01)


def count_boards(file: Path) -> int:
    report = json.loads(file.read_text())
    return sum(shard["boards"] for entry in report["boards"]["shards"] for shard in entry["shards"])


def test_a_killed_benchmark_goes_on(whole: str, tmp_path: Path, seed: int, request: pytest.FixtureRequest) -> None:
    """Item 12: after a KILL at any moment `--resume` ends with the hash of an unbroken run."""
    rng = np.random.default_rng(seed)
    kills = 20 if request.config.getoption("--long") else 1
    file = tmp_path / "report.json"
    played = [0]
    process = start("--json", str(file))
    for _ in range(kills):
        wait_for(file, process)
        time.sleep(float(rng.uniform(0.0, 0.4)))
        process.send_signal(signal.SIGKILL)
        process.wait()
        if file.exists():
            played.append(count_boards(file))  # and it is whole
        if process.returncode == 0 or played[-1] == MATCHES // 2:
            file.unlink()  # it was faster than the kill: once more
        process = start("--resume", str(file)) if file.exists() else start("--json", str(file))
    _, errors = process.communicate()
    assert process.returncode == 0, errors
    report = json.loads(file.read_text())
    print(f"boards after each kill: {played[1:]}")
    assert report["results_sha256"] == whole, f"seed {seed}"
    assert not report["header"]["interrupted"]


def test_term_counts_as_an_interrupt(whole: str, tmp_path: Path) -> None:
    """Item 12: the report covers what had been played, and can be continued."""
    file = tmp_path / "report.json"
    process = start("--json", str(file))
    wait_for(file, process)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate()
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    report = json.loads(file.read_text())
    assert report["header"]["interrupted"]
    assert os.listdir(tmp_path) == ["report.json"]
    it = Benchmark.create("flip7", ["random", FIRST], tables=[2], matches=MATCHES, **SHORT)
    it.resume(report)
    it.play(Threads(it.tournament.roster))
    assert it.make_report()["results_sha256"] == whole


def test_what_is_saved_meanwhile_can_be_continued(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "SAVE_EVERY", 0.0)
    arguments: dict[str, Any] = {"tables": [2], "matches": 1200, **SHORT}
    it = Benchmark.create("flip7", ["random", "count3"], **arguments)
    saved: list[dict[str, Any]] = []
    it.play(Cut(Threads(it.tournament.roster), 2), save=lambda: saved.append(it.make_report(finished=False)))
    assert saved, "after the first shard, whatever the time"
    assert saved[0]["header"]["interrupted"]
    again = Benchmark.create("flip7", ["random", "count3"], **arguments)
    again.resume(json.loads(json.dumps(saved[0])))
    again.play(Threads(again.tournament.roster, 2))
    assert again.make_report()["results"] == run_benchmark("flip7", ["random", "count3"], **arguments)["results"]


def test_boards_are_merged_once_more_after_an_interrupted_merge() -> None:
    it = Benchmark.create("flip7", ["random", "count3"], tables=[2], matches=1200, **SHORT)
    it.play(Threads(it.tournament.roster))
    [(key, shards)] = it.tournament.shards.items()
    before = it.make_report()["boards"]
    it.tournament.recent = {key: dict(shards)}  # as if Ctrl-C had come before this was emptied
    it.tournament.merge()
    assert it.make_report()["boards"] == before
    assert it.tournament.recent == {}
