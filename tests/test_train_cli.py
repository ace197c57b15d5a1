"""``python -m train.ppo``: whole runs from the command line, what it refuses, and the demo."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import card_envs
from card_envs.players import load_player
from card_envs.players.checkpoint import save_network

torch = pytest.importorskip("torch")
pytest.importorskip("sb3_contrib")

from sb3_contrib import MaskablePPO  # noqa: E402

from tests.training import AGAINST_OTHERS, ROLLOUT, SELF_PLAY, SMALL, WARM, invoke, refused  # noqa: E402
from train import demo, ppo  # noqa: E402
from train.ppo import Plan, make_model  # noqa: E402
from train.rollouts import Plan as RolloutPlan  # noqa: E402
from train.runs import Run  # noqa: E402
from train.settings import load_settings  # noqa: E402

TINY = ["flip7", "--players", "2", "--opponents", "random", "--steps", "100"] + [x for s in SMALL for x in ("--set", s)]
QUICK = ["--evaluate-matches", "100", "--report-matches", "100"]


@pytest.fixture
def trained(tmp_path: Path) -> Path:
    out = tmp_path / "run"
    result = invoke(*TINY, *QUICK, "--out", str(out))
    assert result.exit_code == 0, result.output
    return out


def test_a_run_reports_on_deals_that_nothing_was_chosen_by(trained: Path) -> None:
    assert sorted(p.name for p in trained.iterdir() if "tfevents" not in p.name) == [
        "best.safetensors",
        "last.safetensors",
        "run.json",
        "state.pt",
    ]
    assert any("tfevents" in p.name for p in trained.iterdir())
    best, last = (load_player(trained / f"{name}.safetensors").metadata for name in ("best", "last"))
    assert (best["evaluation"]["board_list"], last["evaluation"]["board_list"]) == ("report", "tune")
    assert best["evaluation"]["steps"] == 2 * ROLLOUT, "100 decisions are rounded up to whole rollouts"
    assert list(best["evaluation"]["share"]) == ["random", *card_envs.load_game("flip7").aliases] + (
        ["ev"] if card_envs.load_game("flip7").default_opponent == "ev" else []
    )
    assert all(low <= mean <= high for mean, low, high in best["evaluation"]["share"].values())


def test_the_stored_command_makes_the_same_run(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = shlex.split(load_player(trained / "best.safetensors").metadata["command"])
    assert command[:3] == ["python", "-m", "train.ppo"]
    seen = []
    monkeypatch.setattr(ppo, "start", lambda run, *a, **k: seen.append(run))
    assert invoke(*command[3:]).exit_code == 0
    assert invoke(*TINY, *QUICK).exit_code == 0
    assert seen[0] == seen[1]
    for run in (SELF_PLAY, WARM, Run("flip7", options=["brutal=true", "target=100"])):
        assert invoke(*shlex.split(run.command)[3:]).exit_code == 0
        assert seen[-1] == run


def test_a_finished_run_is_only_reported_again(trained: Path) -> None:
    before = (trained / "state.pt").read_bytes()
    result = invoke("flip7", "--out", str(trained), "--resume", "--report-matches", "100")
    assert result.exit_code == 0, result.output
    assert "192 of them done" in result.output
    assert (trained / "state.pt").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["flip"], "unknown game 'flip' – did you mean 'flip7'?"),
        (["flip7", "--players", "13"], "option players = 13: allowed is 2 … 12"),
        (["flip7", "--option", "brutl=true"], "unknown option of flip7 'brutl' – did you mean 'brutal'?"),
        (["flip7", "--option", "brutal=yes"], "option brutal = 'yes': allowed is true or false"),
        (["flip7", "--option", "brutal"], "option 'brutal': NAME=VALUE is expected"),
        (["flip7", "--players", "3", "--option", "players=4"], "option players is given twice"),
        (["flip7", "--set", "n_envs"], "--set 'n_envs': NAME=VALUE is expected"),
        (["flip7", "--opponents", "randm"], "unknown player of flip7 'randm' – did you mean 'random'?"),
        (["flip7", "--players", "4", "--opponents", "random,random"], "2 are named; allowed is one for all seats, or 3"),
        (["flip7", "--opponents", "none.safetensors"], "none.safetensors: not a readable safetensors file"),
        (["flip7", "--self-play", "--opponents", "random"], "--self-play and --opponents exclude each other"),
        (["flip7", "--warm-start", "randm"], "unknown player of flip7 'randm' – did you mean 'random'?"),
        (["flip7", "--warm-start", "none.safetensors"], "none.safetensors: not a readable safetensors file"),
        (["flip7", "--set", "warm_start_decisions=1"], "setting warm_start_decisions = 1: allowed is a whole number from 2"),
        (["flip7", "--set", "warm_start_learning_rate=0"], "setting warm_start_learning_rate = 0: allowed is a number over 0"),
        (["flip7", "--steps", "0"], "--steps 0: allowed is a whole number from 1"),
        (["flip7", "--steps", "-5"], "--steps -5: allowed"),
        (["flip7", "--seed", "-1"], "--seed -1: allowed"),
        (["flip7", "--threads", "0"], "--threads 0: allowed"),
        (["flip7", "--evaluate-matches", "10"], "--evaluate-matches 10: allowed is a whole number from 100"),
        (["flip7", "--report-matches", "10"], "--report-matches 10: allowed is a whole number from 100"),
        (["flip7", "--set", "learning_rat=1"], "unknown setting 'learning_rat' – did you mean 'learning_rate'?"),
        (["flip7", "--set", "learning_rate=fast"], "setting learning_rate = 'fast': allowed is a number over 0"),
        (["flip7", "--set", "learning_rate=0"], "setting learning_rate = 0: allowed is a number over 0"),
        (["flip7", "--set", "gamma=1.5"], "setting gamma = 1.5: allowed is a number from 0 to 1"),
        (["flip7", "--set", "n_envs=2.5"], "setting n_envs = 2.5: allowed is a whole number from 1"),
        (["flip7", "--set", "hidden=[0]"], "setting hidden = [0]: allowed is a list of whole numbers from 1"),
        (["flip7", "--set", "reward=money"], "setting reward = 'money': allowed is win or score or margin"),
        (["flip7", "--set", "episode=round"], "setting episode = 'round': allowed is match or deal"),
        (["flip7", "--set", "pool=-1"], "setting pool = -1: allowed is a whole number from 0 to 100"),
        (["flip7", "--set", "pool=1"], "setting pool = 1: earlier selves are there only with --self-play"),
        (["flip7", "--set", "pool_every=0"], "setting pool_every = 0: allowed is a whole number from 1"),
        (["flip7", "--set", "teacher_probability=1"], "setting teacher_probability = 1: allowed is a number from 0.5 to 0.999"),
        (["flip7", "--imitate"], "--imitate needs --warm-start, which says who is imitated"),
        (["flip7", "--set", "batch_size=1000"], "setting batch_size = 1000: allowed is a divisor over 1 of n_envs * n_steps"),
        (["flip7", "--resume"], "--resume: there is no run in"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)  # fmt: skip
def test_bad_input_gets_one_line_and_changes_nothing(arguments: list[str], message: str, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert message in refused(invoke(*arguments, "--out", str(out)))
    assert not out.exists()


def test_an_out_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "cannot be written" in refused(invoke(*TINY, "--out", str(tmp_path / "file" / "run")))


def test_an_out_that_exists_is_not_overwritten(trained: Path, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in trained.iterdir()}
    assert "exists: choose another directory, or go on with the run in it by --resume" in refused(
        invoke(*TINY, "--out", str(trained))
    )
    assert {path: path.read_bytes() for path in trained.iterdir()} == before
    (tmp_path / "file").touch()
    assert "exists: choose another" in refused(invoke(*TINY, "--out", str(tmp_path / "file")))


def test_resume_goes_on_with_the_runs_own_arguments(trained: Path) -> None:
    result = invoke("flip7", "--out", str(trained), "--resume", "--steps", "5000")
    assert "has steps = 100, not 5000" in refused(result)
    result = invoke("flip7", "--out", str(trained), "--resume", "--option", "brutal=true")
    assert "has options = [], not ['brutal=true']" in refused(result)


def test_a_broken_state_is_refused(trained: Path) -> None:
    path = trained / "state.pt"
    path.write_bytes(path.read_bytes()[:1000])
    assert f"{path}: this is not a readable state of a training run" in refused(
        invoke("flip7", "--out", str(trained), "--resume")
    )


def test_broken_arguments_of_a_run_are_refused(trained: Path) -> None:
    for text in (
        "{",
        "[]",
        '{"gam": "flip7"}',
        "[" * 100_000,
        "\ufeff{}",
        '{"game": NaN}',
        "9" * 5000,
        '{"game": "flip7", "": 1}',
    ):
        (trained / "run.json").write_text(text)
        result = invoke("flip7", "--out", str(trained), "--resume")
        assert "run.json: these are not the arguments of a training run" in refused(result), text
    (trained / "run.json").write_bytes(b" " * 2**21)
    assert "it is too large" in refused(invoke("flip7", "--out", str(trained), "--resume"))


def change_run(out: Path, **values: Any) -> None:
    path = out / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def test_arguments_of_wrong_types_are_refused_in_one_line(trained: Path) -> None:
    """Issue 11, item 14."""
    whole = (trained / "run.json").read_text()
    for name in json.loads(whole):
        for value in (None, True, 1.5, 1e400, "x", [], ["x", 1], [["x"]], {"x": 1}, -1, 2**64, "(" * 3000):
            (trained / "run.json").write_text(whole)
            change_run(trained, **{name: value})
            sound = (name, value) in [
                ("options", []),
                ("settings", []),
                ("players", None),
                ("warm_start", None),
                ("self_play", True),
            ]
            if not sound and not (name == "opponents" and value is None):
                assert refused(invoke("flip7", "--out", str(trained), "--resume")), (name, value)
    for change in (f"hidden={'[' * 3000}", f"gamma={'-' * 3000}1", "n_envs=" + "9" * 5000):
        (trained / "run.json").write_text(whole)
        change_run(trained, settings=[change])
        assert refused(invoke("flip7", "--out", str(trained), "--resume")), change[:9]


def test_a_run_from_a_stranger_runs_no_code(trained: Path, tmp_path: Path) -> None:
    """Issue 11, item 2: neither its arguments nor what its checkpoint says of its evaluation."""
    harm = f"os:system('touch {tmp_path}/harmed')"
    for name in ("opponents", "warm_start"):
        whole = (trained / "run.json").read_text()
        change_run(trained, **{name: harm})
        text = refused(invoke("flip7", "--out", str(trained), "--resume"))
        assert f"if you trust it, type --{name.replace('_', '-')} {shlex.quote(harm)}" in text
        change_run(trained, **{name: "a_player_of_mine:make"})
        assert "runs code" in refused(invoke("flip7", "--out", str(trained), "--resume"))
        flag = f"--{name.replace('_', '-')}"
        typed = refused(invoke("flip7", "--out", str(trained), "--resume", flag, "a_player_of_mine:make"))
        assert "No module named 'a_player_of_mine'" in typed, "it was trusted"
        (trained / "run.json").write_text(whole)
    agent = load_player(trained / "best.safetensors")
    agent.metadata["evaluation"]["share"] = {harm: [0.5, 0.4, 0.6]}
    save_network(trained / "best.safetensors", agent)
    result = invoke("flip7", "--out", str(trained), "--resume")
    assert result.exit_code == 0, result.output
    assert harm not in load_player(trained / "best.safetensors").metadata["evaluation"]["share"]
    assert not (tmp_path / "harmed").exists()


def test_a_checkpoint_from_a_stranger_is_not_reported(trained: Path) -> None:
    path = trained / "best.safetensors"
    agent = load_player(path)
    for change, message in (
        ({"evaluation": {}}, "its evaluation does not say after how many steps"),
        ({"evaluation": {"steps": [[]]}}, "its evaluation does not say after how many steps"),
        ({"game": "rummy"}, "trained for game 'rummy'"),
    ):
        agent.metadata |= change
        save_network(path, agent)
        assert message in refused(invoke("flip7", "--out", str(trained), "--resume"))
    path.unlink()
    os.mkfifo(path)
    assert "not a readable safetensors file" in refused(invoke("flip7", "--out", str(trained), "--resume"))


def test_a_state_from_a_stranger_is_checked(trained: Path) -> None:
    """Issue 11, item 4: compiled code goes on from the matches in it."""
    path = trained / "state.pt"
    whole = torch.load(path, weights_only=True)

    def change(number: int, dtype: Any, value: int) -> dict[str, Any]:
        state = torch.load(path, weights_only=True)
        part = state["environment"]["learner"][number]
        part.numpy().view(dtype)[...] = value
        return dict(state)

    states = 1  # beside the seeds, which come first
    changed = [change(states, np.int8, 127), change(-4, np.int64, 99), change(-3, np.int8, 77)]
    environment = whole["environment"]
    changed += [whole | {"environment": 3}, whole | {"policy": {}}, whole | {"environment": environment | {"learner": []}}]
    changed += [whole | {"environment": environment | {"starts": torch.zeros(3)}}, whole | {"random": {}}]
    inputs = whole["parts"]["inputs"]
    changed += [whole | {"parts": {"inputs": inputs | {"low": low}}} for low in (inputs["low"][1:], inputs["low"] * torch.nan)]
    for number, state in enumerate(changed):
        torch.save(state, path)
        assert "this is not a state of this run" in refused(invoke("flip7", "--out", str(trained), "--resume")), number
    torch.save(whole | {"num_timesteps": None}, path)
    assert "(num_timesteps = None)" in refused(invoke("flip7", "--out", str(trained), "--resume"))
    path.unlink()
    os.mkfifo(path)
    assert "it is not a regular file" in refused(invoke("flip7", "--out", str(trained), "--resume"))


def test_a_directory_with_leftovers_alone_counts_as_empty(tmp_path: Path) -> None:
    """Issue 11, item 14: a kill while the first file was written leaves a temporary one."""
    out = tmp_path / "run"
    out.mkdir()
    (out / ".run.json.x3_a8k2q").write_text("{")
    result = invoke(*TINY, *QUICK, "--out", str(out))
    assert result.exit_code == 0, result.output
    other = tmp_path / "other"
    other.mkdir()
    for name in (".run.json", ".hidden", "run.json.abc", ".other.safetensors.abcd"):
        (other / name).touch()
        assert "exists: choose another directory" in refused(invoke(*TINY, "--out", str(other)))
        (other / name).unlink()


def test_resume_remembers_the_matches_of_the_report(trained: Path) -> None:
    """Issue 11, item 14. Others may be asked for, and are then remembered."""

    def report_matches() -> Any:
        return load_player(trained / "best.safetensors").metadata["evaluation"]["matches"]

    assert invoke("flip7", "--out", str(trained), "--resume").exit_code == 0
    assert report_matches() == 100
    assert invoke("flip7", "--out", str(trained), "--resume", "--report-matches", "120").exit_code == 0
    assert invoke("flip7", "--out", str(trained), "--resume").exit_code == 0
    assert report_matches() == 120


def test_a_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert "training needs torch: pip install -e '.[train]'" in refused(invoke(*TINY, "--out", str(tmp_path / "run")))


def test_help_explains_every_argument() -> None:
    text = " ".join(invoke("--help").output.split())
    for flag in (
        "--players",
        "--opponents",
        "--self-play",
        "--warm-start",
        "--imitate",
        "--steps",
        "--option",
        "--set",
        "--out",
        "--resume",
        "--seed",
        "--threads",
    ):
        assert flag in text
    for words in ("rounded up to whole rollouts", "deals 'tune'", "deals 'report'", "from its last rollout"):
        assert words in text


def test_options_and_settings_are_read_by_their_types() -> None:
    game = card_envs.load_game("flip7")
    options = Plan.from_run(Run("flip7", players=5, options=["brutal=True", "target=120"])).options
    assert (options["players"], options["brutal"], options["target"]) == (5, True, 120)
    settings = load_settings(game, ["learning_rate=.5", "hidden=[3]", "activation=relu"])
    assert (settings.learning_rate, settings.hidden, settings.activation) == (0.5, [3], "relu")
    assert isinstance(make_model(Plan.from_run(AGAINST_OTHERS))[0], MaskablePPO)


def test_an_interrupted_run_says_how_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*arguments: Any, **keywords: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ppo, "train", interrupt)
    result = invoke(*TINY, "--out", str(tmp_path / "run"))
    assert result.exit_code == 130
    assert result.stderr == f"interrupted: go on with python -m train.ppo flip7 --out {tmp_path / 'run'} --resume\n"


def test_the_demo_never_overwrites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("demo", "demo-2", "demo-3"):
        assert demo.find_free_directory() == Path("runs") / name
        demo.find_free_directory().mkdir(parents=True)
    assert {"random", "best"} <= set(RolloutPlan.from_run(demo.RUN).against)
    assert demo.RUN.report_matches >= 2000
