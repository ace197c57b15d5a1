"""Benchmarks on Ray: the same results, bit for bit, also when a worker dies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from card_envs.arena import bench
from card_envs.arena.cluster import Cluster
from card_envs.arena.run import Roster
from tests.arena_players import First

pytest.importorskip("ray")


def test_ray_plays_the_same_and_outlives_a_worker(tmp_path: Path) -> None:
    """The killer ends the first worker that asks it; only that shard is played again."""
    mark = tmp_path / "killed"
    arguments: dict[str, Any] = {"tables": [3], "matches": 150, "target": 50}
    clusters: list[Cluster] = []

    def workers(roster: Roster) -> Cluster:
        clusters.append(Cluster(roster, workers=2))
        return clusters[0]

    killer = f"tests.arena_players:Killer({str(mark)!r})"
    counted: list[int] = []
    try:
        found = bench("flip7", ["random", killer], workers=workers, progress=counted.append, **arguments)
    finally:
        for cluster in clusters:
            cluster.close()
    assert mark.exists(), "a worker was killed"
    assert sum(counted) == 2 * 150, "every shard came back once"
    here = bench("flip7", ["random", killer], **arguments)
    assert found["results"] == here["results"]
    assert found["results_sha256"] == here["results_sha256"]


def test_objects_do_not_go_to_ray() -> None:
    with pytest.raises(ValueError, match="named by specs"):
        bench("flip7", {"a": First(), "random": "random"}, workers=Cluster)
