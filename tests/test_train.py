"""Training: what the buffer stores, runs that are killed and resumed, exported networks."""

from __future__ import annotations

import pickle
import shlex
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import card_envs
from card_envs.players import Decisions, load_player

torch = pytest.importorskip("torch")
pytest.importorskip("sb3_contrib")

from stable_baselines3.common.logger import Logger  # noqa: E402

from tests.training import (  # noqa: E402
    AGAINST_OTHERS,
    QUIET,
    RESIDUAL,
    ROLLOUT,
    ROLLOUTS,
    SELF_PLAY,
    SMALL,
    WARM,
    Kill,
    KilledError,
    assert_same,
    flat,
    invoke,
    refused,
)  # fmt: skip
from train import warm_start  # noqa: E402
from train.callbacks import Callback  # noqa: E402
from train.checkpoints import copy_layers, load_state, make_blank_network, restore_state, save_state  # noqa: E402
from train.ppo import Plan, make_model, train  # noqa: E402
from train.runs import Run  # noqa: E402


def assert_same_state(one: Path, other: Path) -> None:
    states = [load_state(path / "state.pt") for path in (one, other)]
    for state in states:
        for match in state["environment"]["finished"]:
            match[2] = 0.0  # the time that has passed
    assert_same(*states, "state")


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The directories of whole runs."""
    made = {}
    for name, run in (("others", AGAINST_OTHERS), ("itself", SELF_PLAY), ("warm", WARM), ("residual", RESIDUAL)):
        made[name] = tmp_path_factory.mktemp(name)
        train(run, made[name], console=QUIET)
    return made


@pytest.mark.parametrize("at", [1, ROLLOUT + 30, 2 * ROLLOUT, ROLLOUTS * ROLLOUT])
def test_a_run_that_was_stopped_goes_on_to_the_bit(uninterrupted: dict[str, Path], tmp_path: Path, at: int) -> None:
    """Weights, optimiser, steps, random states, environments and the best share are the same as without the stop."""
    with pytest.raises(KilledError):
        train(AGAINST_OTHERS, tmp_path, console=QUIET, callbacks=[Kill(at)])
    state = load_state(tmp_path / "state.pt")
    assert state["num_timesteps"] == (at - 1) // ROLLOUT * ROLLOUT, "the state is that of the last rollout's end"
    train(AGAINST_OTHERS, tmp_path, state=state, console=QUIET)
    assert_same_state(tmp_path, uninterrupted["others"])
    for name in ("best.safetensors", "last.safetensors"):
        one, other = (load_player(path / name) for path in (tmp_path, uninterrupted["others"]))
        assert one.metadata == other.metadata
        assert all((a == b).all() for a, b in zip(flat(one.layers), flat(other.layers), strict=True)), name


def test_a_killed_self_play_run_goes_on_to_the_bit(uninterrupted: dict[str, Path], tmp_path: Path) -> None:
    """The same holds in self-play, for a process that was ended by SIGKILL."""
    code = (
        "from pathlib import Path; from tests.test_train import *;"
        f"train(SELF_PLAY, Path({str(tmp_path)!r}), console=QUIET, callbacks=[Kill({2 * ROLLOUT + 50}, process=True)])"
    )
    ended = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=120)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    state = load_state(tmp_path / "state.pt")
    assert state["num_timesteps"] == 2 * ROLLOUT
    train(SELF_PLAY, tmp_path, state=state, console=QUIET)
    assert_same_state(tmp_path, uninterrupted["itself"])


@pytest.mark.parametrize("at", [1, ROLLOUT + 30])
def test_a_warm_started_run_that_was_stopped_goes_on_to_the_bit(
    uninterrupted: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    """What the agent learned by imitation is in the state of the run, so nobody is watched again."""
    with pytest.raises(KilledError):
        train(WARM, tmp_path, console=QUIET, callbacks=[Kill(at)])
    monkeypatch.setattr(warm_start, "watch", None)
    train(WARM, tmp_path, state=load_state(tmp_path / "state.pt"), console=QUIET)
    assert_same_state(tmp_path, uninterrupted["warm"])
    one, other = (load_player(path / "best.safetensors") for path in (tmp_path, uninterrupted["warm"]))
    assert one.metadata == other.metadata


@pytest.mark.parametrize("at", [1, 2 * ROLLOUT + 30])
def test_a_residual_run_with_earlier_selves_that_was_stopped_goes_on_to_the_bit(
    uninterrupted: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    """The skip, the earlier selves and the ranges of the inputs are in the state of the run."""
    with pytest.raises(KilledError):
        train(RESIDUAL, tmp_path, console=QUIET, callbacks=[Kill(at)])
    monkeypatch.setattr(warm_start, "watch", None)
    train(RESIDUAL, tmp_path, state=load_state(tmp_path / "state.pt"), console=QUIET)
    assert_same_state(tmp_path, uninterrupted["residual"])
    for name in ("best.safetensors", "last.safetensors"):
        one, other = (load_player(path / name) for path in (tmp_path, uninterrupted["residual"]))
        assert one.metadata == other.metadata
        assert one.skip == other.skip
        assert all((a == b).all() for a, b in zip(flat(one.layers), flat(other.layers), strict=True)), name


def test_a_run_killed_in_its_warm_start_begins_anew(
    uninterrupted: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run goes on by --resume with its own arguments."""

    def killed(*arguments: Any, **keywords: Any) -> None:
        raise KilledError

    out = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(warm_start, "imitate", killed)
        result = invoke(*shlex.split(WARM.command)[3:], "--out", str(out))
    assert isinstance(result.exception, KilledError)
    assert not (out / "state.pt").exists()
    assert "exists: choose another" in refused(invoke(*shlex.split(WARM.command)[3:], "--out", str(out)))
    result = invoke("flip7", "--out", str(out), "--resume", "--report-matches", "100")
    assert result.exit_code == 0, result.output
    assert_same_state(out, uninterrupted["warm"])
    assert load_player(out / "best.safetensors").metadata["command"] == replace(WARM, report_matches=100).command


def test_the_rates_fall_linearly(tmp_path: Path) -> None:
    """Update k of K has (K-k)/K of the learning rate, and the entropy bonus falls linearly from its start to its end."""
    seen = []

    class Watch(Callback):
        def _on_rollout_end(self) -> None:
            seen.append((self.model.ent_coef, None))

        def _on_rollout_start(self) -> None:
            if seen:
                seen[-1] = seen[-1][0], self.model.policy.optimizer.param_groups[0]["lr"]

        _on_training_end = _on_rollout_start

    run = Run(
        "flip7",
        players=2,
        opponents="random",
        steps=4 * ROLLOUT,
        evaluate_matches=100,
        settings=[*SMALL, "learning_rate=.01", "ent_coef=.08", "ent_coef_end=.04"],
    )
    train(run, tmp_path, console=QUIET, callbacks=[Watch()])
    np.testing.assert_allclose(seen, [(0.08, 0.01), (0.07, 0.0075), (0.06, 0.005), (0.05, 0.0025)])


def test_the_opponents_of_self_play_are_the_current_policy(tmp_path: Path) -> None:
    seen = []

    class Watch(Callback):
        def _on_rollout_end(self) -> None:
            (player,) = self.training_env.venv.learner.runner.players  # type: ignore[attr-defined]
            seen.append(player)
            for its, current in zip(flat(player.layers), flat(copy_layers(self.model)), strict=True):
                np.testing.assert_array_equal(its, current)

    train(SELF_PLAY, tmp_path, console=QUIET, callbacks=[Watch()])
    assert len(seen) == ROLLOUTS
    assert not seen[0].deterministic, "drawn by probability: the best reply to one that always does the same is no policy"


@pytest.mark.parametrize("run", [AGAINST_OTHERS, RESIDUAL], ids=["plain", "residual"])
def test_what_is_stored_is_what_was_acted_on(run: Run) -> None:
    """Observations, masks and actions of the rollout buffer are those that the policy saw and chose, step by step."""
    model, _ = make_model(Plan.from_run(run))
    policy, acted = model.policy, []
    forward = policy.forward

    def watch(observation: Any, deterministic: bool = False, action_masks: Any = None) -> Any:
        answer = forward(observation, deterministic, action_masks)
        acted.append((observation.numpy().copy(), action_masks.copy(), answer[0].numpy().copy()))
        return answer

    policy.forward = watch
    model.set_logger(Logger(None, []))
    model.learn(ROLLOUT)
    buffer = model.rollout_buffer
    assert len(acted) == buffer.buffer_size == 16

    def of_step(array: Any, step: int) -> Any:
        """Once it has been read, the buffer is flattened environment by environment."""
        return array.reshape(6, 16, -1)[:, step]

    for step, (observation, mask, action) in enumerate(acted):
        np.testing.assert_array_equal(of_step(buffer.observations, step), observation)
        np.testing.assert_array_equal(of_step(buffer.action_masks, step), mask)
        np.testing.assert_array_equal(of_step(buffer.actions, step)[:, 0], action)
        assert (np.take_along_axis(mask, action[:, None], axis=1) == 1).all(), "every action was legal"
        assert (mask.sum(axis=1) >= 2).all(), "forced choices are not asked for"
    assert len({observation.tobytes() for observation, _, _ in acted}) == 16


@pytest.mark.parametrize("settings", [["activation=tanh"], ["activation=relu", "hidden=[16]"], ["hidden=[]"]], ids=str)
def test_an_exported_network_is_torchs(settings: list[str]) -> None:
    """The logits and the choices are the same on observations from play."""
    plan = Plan.from_run(Run("flip7", players=3, opponents="random", settings=[*SMALL, *settings], seed=1))
    model, _ = make_model(plan)
    network = make_blank_network(plan.game, plan.options, plan.settings.hidden, plan.settings.activation)
    shapes = [w.shape for w, _ in network.layers]
    network.layers = copy_layers(model)
    assert [w.shape for w, _ in network.layers] == shapes
    batch = card_envs.batch("flip7", 200, seed=3, players=3)
    for _ in range(20):
        batch.step(batch.sample())
    observation, mask = batch.observation.copy(), batch.action_mask.copy()
    with torch.no_grad():
        policy = model.policy
        features = policy.extract_features(torch.from_numpy(observation))
        latent, _ = policy.mlp_extractor(features)
        logits = policy.action_net(latent).numpy()
    np.testing.assert_allclose(network.scores(observation), logits, atol=1e-5)
    actions, _ = model.predict(observation, action_masks=mask, deterministic=True)
    np.testing.assert_array_equal(network.act(Decisions(batch.matches, np.arange(200))), actions)


def test_a_state_of_another_run_or_a_pickle_is_refused(tmp_path: Path) -> None:
    trace, path = tmp_path / "it ran", tmp_path / "state.pt"

    class Payload:
        def __reduce__(self) -> tuple[Any, ...]:
            return Path.touch, (trace,)

    path.write_bytes(b"nothing")
    with pytest.raises(ValueError, match="not a readable state"):
        load_state(path)
    torch.save({"x": 1}, path)
    with pytest.raises(ValueError, match="not a state of a training run of this version"):
        load_state(path)
    for write in (
        lambda value: path.write_bytes(pickle.dumps(value, protocol=2)),
        lambda value: torch.save({"x": value}, path),
    ):
        write(Payload())
        with pytest.raises(ValueError, match="not a readable state"):
            load_state(path)
    assert not trace.exists()
    model, _ = make_model(Plan.from_run(AGAINST_OTHERS))
    model._last_obs, model._last_episode_starts = model.env.reset(), np.ones(6, bool)
    save_state(path, model, None)
    other, _ = make_model(Plan.from_run(Run("flip7", players=2, opponents="random", settings=[*SMALL[1:], "n_envs=8"])))
    with pytest.raises(ValueError, match="another game, size or version"):
        restore_state(other, load_state(path))
