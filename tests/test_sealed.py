"""Sealed deals: the seed is kept and not told, and a report that does not follow from it is found out."""

from __future__ import annotations

import base64
import copy
import json
import os
import stat
import zlib
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import card_envs
from card_envs.arena import Benchmark, derive_list_seed
from card_envs.arena.results import hash_json
from card_envs.arena.sealed import Sealed, open_seed, seal_seed, verify_report
from card_envs.arena.workers import Threads
from card_envs.cli import app
from tests.arena_players import FAILURES, Failing, First

SHORT: dict[str, Any] = {"matches": 24, "target": 25}
Report = dict[str, Any]


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Sealed:
    """A seed that is the same in every run: a changed action may by chance lead to the same results."""
    file = tmp_path_factory.mktemp("sealed") / "seed"
    file.write_text(sha256(b"a sealed seed").hexdigest() + "\n", encoding="ascii")
    return open_seed(file)


def play(sealed: Sealed, players: Any, **arguments: Any) -> Benchmark:
    benchmark = Benchmark.create("flip7", players, seed=sealed.seed, sealed=sealed.sha256, **{**SHORT, **arguments})
    benchmark.play(Threads(benchmark.tournament.roster))
    return benchmark


@pytest.fixture(scope="module")
def report(sealed: Sealed) -> Report:
    players = {"first": First(), "count3": "count3", "failing": Failing(FAILURES["illegal"], 30)}
    made: Report = json.loads(json.dumps(play(sealed, players, tables=[2, 3]).make_report()))
    return made


def test_a_seed_is_kept_for_its_owner(tmp_path: Path) -> None:
    file = tmp_path / "seed"
    sealed = seal_seed(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert open_seed(file) == sealed
    assert sealed.sha256 == sha256(file.read_bytes()).hexdigest()
    assert 2**200 < sealed.seed < 2**256
    before = file.read_bytes()
    with pytest.raises(ValueError, match="exists already"):
        seal_seed(file)
    assert file.read_bytes() == before
    with pytest.raises(ValueError, match="cannot be written"):
        seal_seed(tmp_path / "nowhere" / "seed")


def test_what_is_no_sealed_seed_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "seed"
    good = seal_seed(file) and file.read_bytes()
    assert isinstance(good, bytes)
    for text in (b"", good[:-1], good[:-2] + b"\n", good.upper(), good + b"\n", b"x" + good[1:], b"\xff" * 65, bytes(10**6)):
        file.write_bytes(text if text != good else b"")
        with pytest.raises(ValueError, match="holds no sealed seed"):
            open_seed(file)
    with pytest.raises(ValueError, match="no regular file"):
        open_seed(tmp_path)
    with pytest.raises(ValueError, match="cannot be read"):
        open_seed(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="no regular file"):
        open_seed(tmp_path / "pipe")


def test_the_report_states_the_hash_and_not_the_seed(sealed: Sealed, report: Report) -> None:
    text = json.dumps(report)
    assert report["results"]["boards"]["sealed"] == report["boards"]["sealed"] == sealed.sha256
    assert report["results"]["boards"]["seed"] is report["boards"]["seed"] is None
    for secret in (sealed.seed, derive_list_seed("report", sealed.seed)):
        assert str(secret) not in text
        assert f"{secret:x}" not in text


def test_the_boards_are_those_of_the_seed(sealed: Sealed) -> None:
    seeds = {derive_list_seed(name, seed) for name in ("train", "tune", "report") for seed in (0, 1, 2**40, sealed.seed)}
    assert len(seeds) == 12
    table = card_envs.table("flip7", seed=(derive_list_seed("report", sealed.seed), 3, 0))
    assert card_envs.replay(table.record()).order == table.order


def test_a_true_report_is_verified(sealed: Sealed, report: Report) -> None:
    """Also with a player that loses matches by failing, whose record ends there."""
    checked = verify_report(report, sealed)
    assert checked.boards == 12 + 8
    assert checked.replayed == sum(3 if entry["players"] == 2 else 2 for entry in report["boards"]["shards"])
    assert any(row["illegal"] for row in report["results"]["league"])


def test_a_continued_report_is_verified(sealed: Sealed, report: Report) -> None:
    players = {"first": First(), "count3": "count3", "failing": Failing(FAILURES["illegal"], 30)}
    again = Benchmark.create(
        "flip7", players, tables=[2, 3], seed=sealed.seed, sealed=sealed.sha256, **{**SHORT, "matches": 36}
    )
    again.resume(report)
    again.play(Threads(again.tournament.roster))
    verify_report(json.loads(json.dumps(again.make_report())), sealed)
    open_one = Benchmark.create("flip7", players, tables=[2, 3], **SHORT)
    with pytest.raises(ValueError, match="its seed is None, but here it is 0"):
        open_one.resume(report)


def sample_of(report: Report) -> dict[str, list[list[int]]]:
    """The actions of the first line-up's sample."""
    actions: dict[str, list[list[int]]] = report["boards"]["shards"][0]["shards"][0]["actions"]
    return actions


def change_action(report: Report) -> None:
    actions = sample_of(report)["0"][0]
    turn = next(n for n, action in enumerate(actions) if action in (0, 1))  # the first choice between drawing and staying
    actions[turn] = 1 - actions[turn]


def drop_action(report: Report) -> None:
    sample_of(report)["1"][1].pop()


def add_action(report: Report) -> None:
    sample_of(report)["1"][1].append(0)


def drop_board(report: Report) -> None:
    del sample_of(report)["1"]


def drop_sample(report: Report) -> None:
    del report["boards"]["shards"][0]["shards"][0]["actions"]


def change_figure(report: Report) -> None:
    report["results"]["league"][0]["win"] += 0.01


def swap_boards(report: Report) -> None:
    shard = report["boards"]["shards"][0]["shards"][0]
    margins = np.frombuffer(zlib.decompress(base64.b64decode(shard["margins"])), "<i8").reshape(-1, 2)
    shard["margins"] = base64.b64encode(zlib.compress(margins[::-1].tobytes())).decode()


def change_decks(report: Report) -> None:
    report["results"]["boards"]["by_players"]["2"]["sha256"] = "0" * 64


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (change_action, "board 0 of count3, failing: the recorded actions do not lead to the recorded results"),
        (drop_action, "board 1 of .*do not lead"),
        (add_action, "board 1 of .*do not lead"),
        (drop_board, "board 1 of .*does not hold its actions"),
        (drop_sample, "board 0 of .*does not hold its actions"),
        (change_figure, "the league table for 2 players does not follow from the boards"),
        (swap_boards, "do not lead to the recorded results"),
        (change_decks, "the decks for 2 players are not those of the sealed seed"),
    ],
)
def test_what_was_changed_is_found(change: Callable[[Report], None], message: str, sealed: Sealed, report: Report) -> None:
    """Although whoever changed it has made the hashes of the report agree again."""
    changed = copy.deepcopy(report)
    change(changed)
    for part in ("results", "boards"):
        changed[f"{part}_sha256"] = hash_json(changed[part])
    with pytest.raises(ValueError, match=message):
        verify_report(changed, sealed)


def test_another_seed_is_found(sealed: Sealed, report: Report, tmp_path: Path) -> None:
    other = seal_seed(tmp_path / "other")
    with pytest.raises(ValueError, match="was made with the sealed seed"):
        verify_report(report, other)
    forged = Sealed(other.seed, sealed.sha256)
    with pytest.raises(ValueError, match="the decks for 2 players are not those"):
        verify_report(report, forged)
    damaged = copy.deepcopy(report)
    damaged["boards"]["shards"] = []
    with pytest.raises(ValueError, match="its boards are damaged"):
        verify_report(damaged, sealed)
    with pytest.raises(ValueError, match="the report is damaged"):
        verify_report({}, sealed)


def bench(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["bench", *map(str, arguments)], prog_name="card-envs")


def test_a_contest_at_the_command_line(tmp_path: Path) -> None:
    """Issue 11, item 1: commit, play, verify."""
    seed, file = tmp_path / "seed", tmp_path / "report.json"
    announced = bench("--commit", seed)
    assert announced.exit_code == 0
    hashed = announced.output.split()[1]
    assert hashed == open_seed(seed).sha256
    words = ["flip7", "count3", "random", "--matches", 6, "--option", "target=20"]
    assert bench(*words, "--sealed", seed, "--json", file).exit_code == 0
    assert json.loads(file.read_text())["boards"]["sealed"] == hashed
    checked = bench("--verify", file, "--sealed", seed)
    assert (checked.exit_code, hashed in checked.output) == (0, True), checked.output
    for wrong, message in (
        (["--commit", seed], "exists already"),
        (["--verify", file], "name the file of the sealed seed"),
        (["--verify", seed, "--sealed", seed], "not JSON"),
        (["--verify", file, "--sealed", file], "holds no sealed seed"),
        (["flip7", "--commit", tmp_path / "other"], "stands alone"),
        ([*words, "--sealed", seed, "--seed", 3], "--seed does not go with --sealed"),
        ([*words, "--sealed", tmp_path / "none"], "cannot be read"),
        ([], "GAME is missing"),
    ):
        refused = bench(*wrong)
        assert refused.exit_code != 0
        assert message in str(refused.exception or "") + refused.output, wrong
    assert not (tmp_path / "other").exists()
