"""Warm starts: what is imitated, what it teaches, which settings hold after it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import card_envs
from card_envs.players import Decisions, load_player, resolve

torch = pytest.importorskip("torch")
pytest.importorskip("sb3_contrib")

from stable_baselines3.common.logger import Logger  # noqa: E402

from tests.training import QUIET, SMALL, WARM, Kill, KilledError, assert_same, flat  # noqa: E402
from train import warm_start  # noqa: E402
from train.checkpoints import load_state  # noqa: E402
from train.ppo import Plan, make_env, make_model, train  # noqa: E402
from train.runs import Run  # noqa: E402
from train.settings import FILE, load_settings  # noqa: E402
from train.warm_start import imitate, watch  # noqa: E402


@pytest.mark.parametrize("decisions", [1, 200])
@pytest.mark.parametrize("reward", ["win", "score", "margin"])
def test_what_is_imitated_is_what_was_played_and_what_came_of_it(reward: str, decisions: int) -> None:
    """They are those of the same matches played step by step through the VecEnv, with returns added up in plain Python."""
    plan = Plan.from_run(Run("flip7", players=3, opponents="random", settings=[*SMALL, f"reward={reward}"]))
    player = resolve("count3", plan.game, plan.options)
    seeds = np.arange(6) + 70
    env = make_env(plan, plan.opponents)
    env.learner.reset(seeds)
    shown = watch(env.learner, player, decisions)
    steps = -(-decisions // 6)
    assert len(shown) == 6 * steps

    def rows_of(tensor: Any) -> Any:
        return tensor.numpy().reshape(steps, 6, *tensor.shape[1:])

    env = make_env(plan, plan.opponents)
    env.seed(70)
    observation, paid, ended, seats = env.reset(), [], [], set()
    while len(paid) < steps or not np.any(ended[steps - 1 :], axis=0).all():
        step, mask = len(paid), env.action_masks()
        actions = player.act(Decisions(env.learner.matches, np.arange(6)))
        if step < steps:
            seats.update(env.learner.learner_seat.tolist())
            np.testing.assert_array_equal(rows_of(shown.observation)[step], observation)
            np.testing.assert_array_equal(rows_of(shown.action_mask)[step], mask)
            np.testing.assert_array_equal(rows_of(shown.action)[step], actions)
            assert (mask.sum(axis=1) >= 2).all(), "forced choices are not asked for"
        observation, rewards, over, _ = env.step(actions)
        paid.append(rewards)
        ended.append(over)
    assert seats == {0, 1, 2}
    for row in range(6):
        for step in range(steps):
            expected, at = 0.0, step
            while True:
                expected += float(paid[at][row])
                if ended[at][row]:
                    break
                at += 1
            assert rows_of(shown.returns)[step, row] == pytest.approx(expected, abs=1e-5), (row, step)


def test_the_opponents_of_imitation_are_those_of_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With --self-play the imitated player sits there: the agent is about to become that player."""
    seen = []

    def look(learner: Any, player: Any, *rest: Any) -> Any:
        seen.append((player.name, [repr(p) for p in learner.runner.players], int(learner.matches.identity[0, 0])))
        return watch(learner, player, *rest)

    monkeypatch.setattr(warm_start, "watch", look)
    small = {"settings": WARM.settings, "steps": 1, "evaluate_matches": 100, "warm_start": "count3", "imitate": True}
    for run in (Run("flip7", self_play=True, **small), Run("flip7", opponents="ev,sum26", players=3, **small)):  # type: ignore[arg-type]
        train(run, tmp_path, console=QUIET)
    assert seen == [("count3", ["<player count3>"], 6), ("count3", ["<player ev>", "<player sum26>"], 6)]


def test_imitation_learns_the_players_choices_and_their_worth_and_leaves_ppos_optimiser_alone() -> None:
    plan = Plan.from_run(
        Run("flip7", players=2, opponents="random", settings=["n_envs=64", "hidden=[32]"], warm_start="count3", imitate=True)
    )
    model, _ = make_model(plan)
    model.set_logger(Logger(None, []))
    learner = make_env(plan, plan.opponents).learner
    learner.reset(1)
    shown = watch(learner, resolve("count3", plan.game, plan.options), 6000)
    before = model.policy.optimizer.state_dict()
    generators = torch.get_rng_state()

    def error() -> float:
        with torch.no_grad():
            return float(((model.policy.predict_values(shown.observation).flatten() - shown.returns) ** 2).mean())

    untrained = error()
    settings = replace(plan.settings, warm_start_epochs=6, warm_start_batch_size=64, warm_start_learning_rate=0.01)
    _, accuracy = imitate(model, shown, settings, seed=0)
    assert accuracy > 0.9
    assert error() < 0.7 * untrained
    assert_same(model.policy.optimizer.state_dict(), before, "optimizer")
    assert all(p.grad is None for p in model.policy.parameters())
    assert torch.equal(torch.get_rng_state(), generators), "PPO's own stream is not drawn from"


def test_the_imitation_is_the_first_checkpoint(tmp_path: Path) -> None:
    """Therefore the best checkpoint is never worse on the deals that chose it."""
    with pytest.raises(KilledError):
        train(WARM, tmp_path, console=QUIET, callbacks=[Kill(1)])
    best, last = (load_player(tmp_path / f"{name}.safetensors") for name in ("best", "last"))
    assert best.metadata["evaluation"]["steps"] == 0
    share = best.metadata["evaluation"]["share"]["sum26"][0]
    assert load_state(tmp_path / "state.pt")["best"] == pytest.approx(share, abs=1e-4)
    assert all((a == b).all() for a, b in zip(flat(best.layers), flat(last.layers), strict=True))


def test_after_a_warm_start_settings_of_its_own_hold(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """[default] < [GAME] < [warm_start] < [GAME.warm_start] < --set."""
    lines = (
        FILE.read_text().split("\n[warm_start]")[0]
        + "\n"
        + "\n".join(
            [
                *("[warm_start]", "learning_rate = 0.3", "clip_range = 0.3", "ent_coef = 0.3"),
                *("[flip7]", "learning_rate = 0.2", "vf_coef = 0.2"),
                *("[flip7.warm_start]", "clip_range = 0.4", "ent_coef = 0.4"),
            ]
        )
    )
    monkeypatch.setattr("train.settings.FILE", tmp_path / "settings.toml")
    (tmp_path / "settings.toml").write_text(lines)
    game = card_envs.load_game("flip7")
    cold, warm = (load_settings(game, ["ent_coef=.5"], warm_start=w) for w in (False, True))
    assert (cold.vf_coef, cold.learning_rate, cold.ent_coef) == (0.2, 0.2, 0.5)
    assert cold.clip_range not in {0.3, 0.4}
    assert (warm.vf_coef, warm.learning_rate, warm.clip_range, warm.ent_coef) == (0.2, 0.3, 0.4, 0.5)
    assert cold.gamma == warm.gamma == 1.0
