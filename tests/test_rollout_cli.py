"""``python -m train.rollouts``: a whole run from the command line, and what it refuses in one line."""

from __future__ import annotations

import json
import os
import pickle
import shlex
import shutil
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

import card_envs
from card_envs.engine.networks import MAP, SCORER
from card_envs.players import load_player
from card_envs.players.checkpoint import save_network
from tests.networks import FORMS, make_random_network
from tests.rollout_training import GAME, OPTIONS, ROUND, RUN, invoke, make_student, write_arguments
from tests.training import refused
from train import rollouts
from train.rollouts import RolloutRun
from train.scorer import load_state

torch = pytest.importorskip("torch")

SMALL = replace(RUN, deals=2 * ROUND)
PIS, AGENT = "pis_yedili", "agent.safetensors"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a finished run; tests work on copies."""
    out = tmp_path_factory.mktemp("made") / "run"
    result = invoke(*write_arguments(SMALL), "--out", str(out))
    assert result.exit_code == 0, result.output
    return out


@pytest.fixture
def trained(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "run")
    return tmp_path / "run"


def resume(out: Path, *arguments: str) -> Any:
    return invoke(PIS, "--out", str(out), "--resume", *arguments)


def change_run(out: Path, **values: Any) -> None:
    path = out / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


# ---- whole runs


def test_a_run_reports_on_deals_that_nothing_was_learned_by(trained: Path) -> None:
    names = sorted(path.name for path in trained.iterdir() if "tfevents" not in path.name)
    assert names == [AGENT, "run.json", "state.pt"]
    evaluation = load_player(trained / AGENT).metadata["evaluation"]
    assert (evaluation["board_list"], evaluation["deals"]) == ("report", 2 * ROUND)
    assert list(evaluation["share"]) == ["random", *GAME.aliases, *(["best"] if "best" not in GAME.aliases else [])]
    assert all(low <= mean <= high for mean, low, high in evaluation["share"].values())


def test_the_stored_command_makes_the_same_run(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = shlex.split(load_player(trained / AGENT).metadata["command"])
    assert command[:3] == ["python", "-m", "train.rollouts"]
    seen: list[RolloutRun] = []
    monkeypatch.setattr(rollouts, "start_run", lambda run, *a, **k: seen.append(run))
    for run in (SMALL, RUN, RolloutRun("rummy", ray="local", threads=2, rollout="greedy", report_matches=200)):
        assert invoke(*write_arguments(run)).exit_code == 0
        assert seen[-1] == run
    assert invoke(*command[3:]).exit_code == 0
    assert seen[-1] == SMALL


def test_a_finished_run_is_only_reported_again(trained: Path) -> None:
    before = (trained / "state.pt").read_bytes()
    result = resume(trained, "--report-matches", "120", "--threads", "2")
    assert result.exit_code == 0, result.output
    assert f"{2 * ROUND} of them done" in result.output
    assert (trained / "state.pt").read_bytes() == before
    assert load_player(trained / AGENT).metadata["evaluation"]["matches"] == 120
    assert json.loads((trained / "run.json").read_text())["threads"] == 2, "it is remembered"


def test_an_interrupt_says_how_to_go_on(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is a state to go on from."""

    def interrupt(*arguments: Any, **keywords: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(rollouts, "train", interrupt)
    result = invoke(*write_arguments(SMALL), "--out", str(tmp_path / "new"))
    assert (result.exit_code, result.stderr) == (130, "interrupted\n")
    result = resume(trained)
    assert result.exit_code == 130
    assert result.stderr == f"interrupted: go on with python -m train.rollouts pis_yedili --out {trained} --resume\n"


# ---- wrong arguments

PLAIN = [name for name in card_envs.available_games() if (name, SCORER) not in FORMS]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["pis"], "unknown game 'pis'"),
        *[([name], f"{name} has no action features, which a scorer needs") for name in PLAIN],
        ([PIS, "--players", "99"], "option players = 99: allowed is"),
        ([PIS, "--option", "deal=1"], "unknown option of pis_yedili 'deal' – did you mean 'deals'?"),
        ([PIS, "--start", "bestt"], "unknown player of pis_yedili 'bestt' – did you mean 'best'?"),
        ([PIS, "--start", "self"], "unknown player of pis_yedili 'self'"),
        ([PIS, "--start", "none.safetensors"], "none.safetensors: not a readable safetensors file"),
        ([PIS, "--start", "tests.arena_players:First"], "a built-in player or a checkpoint is expected, which runs compiled"),
        (
            [PIS, "--rollout", "self", "--opponents", "tests.arena_players:First"],
            "--opponents tests.arena_players:First: a built-in",
        ),
        ([PIS, "--rollout", "tests.arena_players:First"], "a built-in player or a checkpoint is expected, which runs compiled"),
        ([PIS, "--rollout", "no_module:X"], "No module named 'no_module'"),
        ([PIS, "--opponents", "best,slef"], "unknown player of pis_yedili 'slef'"),
        ([PIS, "--opponents", ""], "player"),
        ([PIS, "--deals", "0"], "--deals 0: allowed is a whole number from 1"),
        ([PIS, "--deals", "9999999999"], "--deals 9999999999: allowed"),
        ([PIS, "--seed", "-1"], "--seed -1: allowed"),
        ([PIS, "--threads", "0"], "--threads 0: allowed"),
        ([PIS, "--evaluate-every", "0"], "--evaluate-every 0: allowed"),
        ([PIS, "--evaluate-matches", "10"], "--evaluate-matches 10: allowed is a whole number from 100"),
        ([PIS, "--report-matches", "10"], "--report-matches 10: allowed is a whole number from 100"),
        ([PIS, "--set", "shards"], "--set 'shards': NAME=VALUE is expected"),
        ([PIS, "--set", "shard=2"], "unknown setting 'shard' – did you mean 'shards'?"),
        ([PIS, "--set", "shards=0"], "setting shards = 0: allowed is a whole number from 1"),
        ([PIS, "--set", "shards=2.0"], "setting shards = 2.0: allowed is a whole number"),
        ([PIS, "--set", "decks=-1"], "setting decks = -1: allowed is a whole number from 0"),
        ([PIS, "--set", "labelled=0"], "setting labelled = 0: allowed is a number from"),
        ([PIS, "--set", "labelled=1.1"], "setting labelled = 1.1: allowed is a number from"),
        ([PIS, "--set", "labelled=True"], "setting labelled = True: allowed is a number from"),
        ([PIS, "--set", "teacher_share=.7", "--set", "random_share=.7"], "are more than 1 together"),
        ([PIS, "--set", "hidden=[]"], "setting hidden = []: allowed is a list"),
        ([PIS, "--set", "hidden=[0]"], "setting hidden = [0]: allowed is a list"),
        ([PIS, "--set", "hidden=96"], "setting hidden = 96: allowed is a list"),
        ([PIS, "--set", "learning_rate=fast"], "setting learning_rate = 'fast': allowed is a number"),
        ([PIS, "--set", "learning_rate=1e400"], "allowed is a number"),
        ([PIS, "--set", "average=1.5"], "setting average = 1.5: allowed is a number from 0.0 to 1.0"),
        ([PIS, "--set", "episode=day"], "setting episode = 'day': allowed is deal or match"),
        ([PIS, "--set", "value=money"], "setting value = 'money': allowed is margin or match"),
        ([PIS, "--resume"], "--resume: there is no run in"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_gets_one_line_and_changes_nothing(arguments: list[str], message: str, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert message in refused(invoke(*arguments, "--out", str(out)))
    assert not out.exists()


def test_a_map_is_no_start(tmp_path: Path) -> None:
    """But it may sit opposite and play on."""
    path = str(tmp_path / "map.safetensors")
    save_network(path, make_random_network(GAME, OPTIONS, MAP, 1, teacher="random"))
    words = write_arguments(SMALL)
    wrong = invoke(*words, "--start", path, "--out", str(tmp_path / "run"))
    assert "a network that scores actions is expected" in refused(wrong)
    assert rollouts.Plan.from_run(replace(SMALL, rollout=path, opponents=f"self,{path}")).rollout.name == path


def test_a_checkpoint_of_another_table_is_refused(tmp_path: Path) -> None:
    path = str(tmp_path / "three.safetensors")
    options = GAME.resolve({**OPTIONS, "players": 3})
    save_network(path, make_random_network(GAME, options, SCORER, 1))
    for flag in ("--start", "--rollout", "--opponents"):
        wrong = invoke(*write_arguments(SMALL), flag, path, "--out", str(tmp_path / "run"))
        assert "trained for option players 3, but the table's is 2" in refused(wrong)


def test_what_exists_is_not_overwritten(trained: Path, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in trained.iterdir()}
    wrong = invoke(*write_arguments(SMALL), "--out", str(trained))
    assert "exists: choose another directory, or go on with the run in it by --resume" in refused(wrong)
    assert {path: path.read_bytes() for path in trained.iterdir()} == before
    (tmp_path / "file").touch()
    wrong = invoke(*write_arguments(SMALL), "--out", str(tmp_path / "file" / "run"))
    assert "cannot be written" in refused(wrong)


@pytest.mark.parametrize(("library", "extra"), [("torch", "train"), ("ray", "ray")])
def test_a_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str, extra: str) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    wrong = invoke(*write_arguments(replace(SMALL, ray="local")), "--out", str(tmp_path / "run"))
    assert f"training needs {library}: pip install -e '.[{extra}]'" in refused(wrong)
    assert not (tmp_path / "run").exists()


def test_resume_goes_on_with_the_runs_own_arguments(trained: Path) -> None:
    assert f"has deals = {2 * ROUND}, not 5000" in refused(resume(trained, "--deals", "5000"))
    assert "has options = ['deals=1'], not ['deals=2']" in refused(resume(trained, "--option", "deals=2"))
    assert "has start = 'random', not 'best'" in refused(resume(trained, "--start", "best"))


# ---- files from a stranger


def test_broken_arguments_of_a_run_are_refused(trained: Path) -> None:
    for text in ("{", "[]", '{"gam": "rummy"}', "[" * 100_000, '{"game": NaN}', "9" * 5000, '{"game": "rummy", "": 1}'):
        (trained / "run.json").write_text(text)
        assert "run.json: these are not the arguments of a training run" in refused(resume(trained)), text
    (trained / "run.json").write_bytes(b" " * 2**21)
    assert "it is too large" in refused(resume(trained))


def test_arguments_of_wrong_types_are_refused_in_one_line(trained: Path) -> None:
    whole = (trained / "run.json").read_text()
    for name in json.loads(whole):
        for value in (True, 1.5, 1e400, ["x", 1], [["x"]], {"x": 1}, -1, 2**64, "(" * 3000):
            (trained / "run.json").write_text(whole)
            change_run(trained, **{name: value})
            if (name, value) != ("ray", "(" * 3000):
                assert refused(resume(trained)), (name, value)


def test_a_run_from_a_stranger_runs_no_code(trained: Path, tmp_path: Path) -> None:
    """What is typed again is trusted, as it stands in the file."""
    harm = f"os:system('touch {tmp_path}/harmed')"
    whole = (trained / "run.json").read_text()
    for name in ("start", "opponents", "rollout"):
        for text in (harm, f"self,{harm}") if name == "opponents" else (harm,):
            (trained / "run.json").write_text(whole)
            change_run(trained, **{name: text})
            assert f"if you trust it, type --{name} {shlex.quote(text)}" in refused(resume(trained))
        change_run(trained, **{name: "a_player_of_mine:make"})
        assert "runs code" in refused(resume(trained))
        assert "No module named 'a_player_of_mine'" in refused(resume(trained, f"--{name}", "a_player_of_mine:make"))
    assert not (tmp_path / "harmed").exists()


def test_a_checkpoint_from_elsewhere_is_used_when_it_is_typed_again(trained: Path, tmp_path: Path) -> None:
    """Also where it stands for opponents and for the player who plays on, by default. One beside the run needs no typing."""
    elsewhere = str(tmp_path / "start.safetensors")
    save_network(elsewhere, make_student())
    change_run(trained, start=elsewhere, opponents=None, rollout=None, settings=[])
    os.unlink(trained / "state.pt")
    assert f"if you trust it, type --start {elsewhere}" in refused(resume(trained))
    seen: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rollouts, "train", lambda plan, *rest, **more: seen.append(plan) or make_student())
        assert resume(trained, "--start", elsewhere).exit_code == 0
        shutil.move(elsewhere, trained / "start.safetensors")
        change_run(trained, start="start.safetensors")
        assert resume(trained).exit_code == 0
    for plan, path in zip(seen, (elsewhere, str(trained.resolve() / "start.safetensors")), strict=True):
        assert plan.start.name == plan.rollout.name == path
        assert [player and player.name for player in plan.opponents] == [path, None]
        assert path in plan.judges


def test_a_damaged_state_is_refused(trained: Path) -> None:
    path = trained / "state.pt"
    whole = load_state(path)
    bad = "this is not a state of this run"

    def put(value: Any, *keys: Any) -> dict[str, Any]:
        """The state with another value in one place."""
        state = pickle.loads(pickle.dumps(whole))
        at = state
        for key in keys[:-1]:
            at = at[key]
        at[keys[-1]] = value
        return dict(state)

    first = next(iter(whole["scorer"]))
    moments = ("optimizer", "state", 0)
    nan = torch.full_like(whole["scorer"][first], float("nan"))
    for number, state in enumerate(
        [
            *(put(None, name) for name in ("scorer", "average", "earlier", "optimizer", "learned")),
            *(put({}, name) for name in ("scorer", "average", "earlier", "optimizer")),
            *(put(nan, name, first) for name in ("scorer", "average", "earlier")),
            put(torch.zeros(3), "scorer", first), put(-1, "learned"), put(True, "learned"), put(99, "rounds"),
            put(torch.zeros(3), *moments, "exp_avg"), put(nan, *moments, "exp_avg"), put(nan, *moments, "exp_avg_sq"),
            put(-torch.ones_like(nan), *moments, "exp_avg_sq"), put("x", *moments, "exp_avg"), put({"exp_avg": nan}, *moments),
            put(5.0, "optimizer", "param_groups", 0, "weight_decay"), put([0], "optimizer", "param_groups", 0, "params"),
            put(True, "optimizer", "param_groups", 0, "maximize"),
        ]
    ):  # fmt: skip
        torch.save(state, path)
        assert bad in refused(resume(trained)), number
    for rounds in (None, 0, True, "2"):
        torch.save(put(rounds, "rounds"), path)
        assert f"(rounds = {rounds!r})" in refused(resume(trained))
    torch.save(put("card_envs.train/1", "format"), path)
    assert "this is not a state of a training run of this version" in refused(resume(trained))
    change_run(trained, settings=[*SMALL.settings, "hidden=[7]"])
    torch.save(whole, path)
    assert bad in refused(resume(trained)), "one of a network of another size"
    path.write_bytes(path.read_bytes()[:1000])
    assert "this is not a readable state of a training run" in refused(resume(trained))
    path.unlink()
    os.mkfifo(path)
    assert "it is not a regular file" in refused(resume(trained))


class Payload:
    """A pickle that creates a file when it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def test_a_state_that_is_code_is_not_run(trained: Path, tmp_path: Path) -> None:
    torch.save({"format": "card_envs.rollouts/1", "rounds": 1, "x": Payload(tmp_path / "it ran")}, trained / "state.pt")
    assert "this is not a readable state" in refused(resume(trained))
    assert not (tmp_path / "it ran").exists()


def test_help_explains_every_argument() -> None:
    text = " ".join(invoke("--help").output.split())
    for field in fields(RolloutRun):
        name = field.name
        flag = {"options": "option", "settings": "set", "game": ""}.get(name, name.replace("_", "-"))
        assert f"--{flag}" in text, name
    for flag in ("--out", "--resume"):
        assert flag in text
