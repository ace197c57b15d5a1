"""Benchmarks on Ray: the same results, bit for bit, also when a worker or a machine dies."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from card_envs.arena import run_benchmark
from card_envs.arena.roster import Roster
from card_envs.arena.workers import RayCluster
from card_envs.cli import app
from tests.arena_players import First

ray = pytest.importorskip("ray")

SHORT: dict[str, Any] = {"tables": [3], "matches": 90, "target": 50}


@pytest.fixture(scope="module")
def machines() -> Iterator[Any]:
    """A cluster of two nodes with a core each, as of two machines."""
    from ray.cluster_utils import Cluster as Machines

    machines = Machines(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    machines.add_node(num_cpus=1)
    yield machines
    machines.shutdown()


def play_on(address: str | None, players: list[str], **arguments: Any) -> tuple[dict[str, Any], int]:
    """A benchmark's report, played on Ray, and how many matches came back."""
    clusters: list[RayCluster] = []
    counted: list[int] = []

    def workers(roster: Roster) -> RayCluster:
        clusters.append(RayCluster(roster, address, workers=2))
        return clusters[0]

    try:
        return run_benchmark("flip7", players, workers=workers, progress=counted.append, **arguments), sum(counted)
    finally:
        for cluster in clusters:
            cluster.close()


def test_ray_plays_the_same_and_a_killed_worker_costs_one_board(tmp_path: Path) -> None:
    """The killer ends the process that asks it, once, in mid-run. It notes which process has asked it in which match."""
    killer = f"tests.arena_players:Killer({str(tmp_path)!r})"
    report, matches = play_on(None, ["random", killer], **SHORT)
    assert (tmp_path / "killed").exists(), "a worker was killed"
    assert matches == 2 * 90, "every board came back once"
    files = (file.name.split("-") for file in tmp_path.glob("*-*"))
    notes = {(match, process) for match, process in files if process != str(os.getpid())}  # here a board is only checked
    played_twice = [match for match, times in Counter(match for match, _ in notes).items() if times > 1]
    assert len(notes) - len(played_twice) == 2 * 90, "it sits in every match"
    assert 0 < len(played_twice) <= 3, "the rotations of one board"
    here = run_benchmark("flip7", ["random", killer], **SHORT)
    assert report["results"] == here["results"]
    assert report["results_sha256"] == here["results_sha256"]
    assert report["boards"] == here["boards"]


def test_a_cluster_of_machines_plays_the_same_and_outlives_one(machines: Any) -> None:
    """By its address. The second machine is lost after a few boards."""
    players = ["random", "count3", "tests.arena_players:First()"]
    extra = machines.add_node(num_cpus=2)
    lost: list[int] = []

    def lose(matches: int) -> None:
        if not lost:
            machines.remove_node(extra)
        lost.append(matches)

    cluster = None

    def workers(roster: Roster) -> RayCluster:
        nonlocal cluster
        cluster = RayCluster(roster, machines.address)
        return cluster

    try:
        report = run_benchmark("flip7", players, workers=workers, progress=lose, **SHORT)
    finally:
        assert cluster is not None
        cluster.close()
    assert report["results"] == run_benchmark("flip7", players, threads=2, **SHORT)["results"]


def test_the_command_goes_to_an_address(machines: Any, tmp_path: Path) -> None:
    quick = ["bench", "flip7", "random", "count3", "--players", "2", "--matches", "60", "--option", "target=50"]
    done = CliRunner().invoke(app, [*quick, "--ray", machines.address], prog_name="card-envs")
    assert done.exit_code == 0, done.output
    report = run_benchmark("flip7", ["random", "count3"], tables=[2], matches=60, target=50)
    assert f"SHA-256 {report['results_sha256']}" in done.stdout


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("127.0.0.1:9", "no Ray cluster answers at '127.0.0.1:9'"),
        ("127.0.0.1:99999", "no Ray cluster"),
        ("here:x", "expected is HOST:PORT"),
    ],
)
def test_an_address_without_a_cluster_is_named(address: str, message: str) -> None:
    quick = ["bench", "flip7", "random", "count3", "--players", "2", "--matches", "60", "--ray", address]
    done = CliRunner().invoke(app, quick, prog_name="card-envs")
    assert done.exit_code == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert "broke off" not in done.stderr, "nothing had begun"
    assert not done.stdout


def test_objects_do_not_go_to_ray() -> None:
    with pytest.raises(ValueError, match="named by specs"):
        run_benchmark("flip7", {"a": First(), "random": "random"}, workers=RayCluster)
