"""How an agent begins: residual on a built-in player, with the weights of a checkpoint, or by imitation; its earlier selves."""

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

from tests.training import QUIET, RESIDUAL, ROLLOUT, SELF_PLAY, SMALL, Kill, KilledError, flat, invoke, refused  # noqa: E402
from train.callbacks import Callback  # noqa: E402
from train.checkpoints import copy_layers, load_state  # noqa: E402
from train.ppo import Plan, make_agent, make_env, make_model, train  # noqa: E402
from train.residual import find_skip  # noqa: E402
from train.runs import Run  # noqa: E402
from train.selves import Selves  # noqa: E402
from train.settings import load_settings  # noqa: E402
from train.start import find_start  # noqa: E402

QUICK = [*SMALL, "warm_start_value_decisions=200", "warm_start_epochs=1", "warm_start_batch_size=32"]
STARTS = [("pis_yedili", "best", 2), ("flip7", "ev", 3)]


def make_run(game: str, spec: str, players: int, **changes: Any) -> Run:
    run = Run(
        game, players=players, opponents="random", warm_start=spec, steps=ROLLOUT, settings=QUICK, evaluate_matches=100,
        evaluate_every=10**6,
    )  # fmt: skip
    return replace(run, **changes)


@pytest.mark.parametrize("game", card_envs.available_games())
@pytest.mark.parametrize("warm", [False, True])
def test_where_hands_are_hidden_the_margin_of_the_deal_is_learned(game: str, warm: bool) -> None:
    settings = load_settings(card_envs.load_game(game), warm_start=warm)
    if game == "flip7":
        assert (settings.reward, settings.episode) == ("win" if warm else "margin", "match")
    else:
        assert (settings.reward, settings.episode) == ("margin", "deal")
    assert settings.pool == 0


def test_episodes_are_those_of_the_settings() -> None:
    """With episode="deal" the learner's match is over after one deal, so no total ever differs from zero."""
    plan = Plan.from_run(Run("pis_yedili", players=2, settings=["n_envs=8", "batch_size=64"], opponents="random"))
    env = make_env(plan, plan.opponents)
    total = plan.game.observation_fields(plan.options)["total"].slice
    observation, ended = env.reset(), []
    for _ in range(60):
        assert not observation[:, total].any()
        observation, _, over, infos = env.step(env.action_masks().argmax(axis=1))
        ended += [infos[row]["terminal_observation"][total].any() for row in np.flatnonzero(over)]
    assert len(ended) > 8
    assert any(ended)


# ---- residual on a built-in player


@pytest.mark.parametrize(("game", "spec", "players"), STARTS)
def test_before_it_learns_the_agent_is_its_teacher(game: str, spec: str, players: int, tmp_path: Path, seed: int) -> None:
    """The exported agent makes every choice of whole matches as the built-in player does."""
    with pytest.raises(KilledError):
        train(make_run(game, spec, players), tmp_path, console=QUIET, callbacks=[Kill(1)])
    for name in ("best", "last"):
        agent = load_player(tmp_path / f"{name}.safetensors")
        assert agent.metadata["network"]["teacher"] == spec
    batch = card_envs.batch(game, 20, seed=seed, players=players)
    teacher = resolve(spec, card_envs.load_game(game))
    over, decisions = np.zeros(20, int), 0
    while (over < 2).any():
        choices = teacher.act(Decisions(batch.matches, np.arange(20)))
        np.testing.assert_array_equal(agent.act(Decisions(batch.matches, np.arange(20))), choices)
        batch.step(choices)
        over += batch.terminated
        decisions += 20
    assert decisions > 1000


def test_the_skip_gives_the_teacher_the_asked_probability_on_average(seed: int) -> None:
    legal = np.random.default_rng(seed).integers(1, 12, 500)
    for probability in (0.5, 0.95, 0.999):
        skip = find_skip(legal, probability)
        shares = [np.exp(skip) / (np.exp(skip) + k - 1) for k in legal.tolist() if k > 1]
        assert np.mean(shares) == pytest.approx(probability, abs=1e-9)
    assert find_skip(np.array([1, 1]), 0.95) == 0.0


def test_a_residual_policy_explores_around_its_teacher(tmp_path: Path) -> None:
    """At the start, the other legal actions share equally what the teacher's does not have, about one in twenty."""
    seen = []

    class Look(Callback):
        def _on_rollout_start(self) -> None:
            observation, mask = self.model._last_obs, self.training_env.env_method("action_masks")
            distribution = self.model.policy.get_distribution(torch.from_numpy(observation), action_masks=np.stack(mask))
            probabilities = distribution.distribution.probs.detach().numpy()
            skip = float(self.model.policy.skip.detach())
            for row, (advice, legal) in enumerate(zip(observation[:, -len(mask[0]) :], mask, strict=True)):
                expected = np.where(advice == 1, np.exp(skip), 1.0) * legal
                np.testing.assert_allclose(probabilities[row], expected / expected.sum(), atol=1e-6)
                seen.append(probabilities[row][advice == 1][0])

    with pytest.raises(KilledError):
        train(make_run("pis_yedili", "best", 2), tmp_path, console=QUIET, callbacks=[Look(), Kill(1)])
    assert len(seen) == 6
    assert np.mean(seen) > 0.85


def test_what_a_residual_policy_has_learned_is_exported(tmp_path: Path) -> None:
    """After updates, logits and choices of the exported agent are those of torch; the skip has been learned, too."""
    begun = []

    class Look(Callback):
        def _on_training_start(self) -> None:
            begun.append(float(self.model.policy.skip.detach()))

    run = make_run("flip7", "count3", 3, steps=3 * ROLLOUT, settings=[*QUICK, "learning_rate=.1", "teacher_probability=.5"])
    model = train(run, tmp_path, console=QUIET, callbacks=[Look()])
    agent = load_player(tmp_path / "last.safetensors")
    assert begun != agent.skip.tolist()
    env = model.env.venv
    learned = 0.0
    for _ in range(10):
        seen, mask = env.observation(), env.action_masks()
        observation, advice = np.split(seen, [env.learner.matches.observation_size], axis=1)
        scores = agent.scores(observation)
        learned = max(learned, float(np.ptp(scores)))
        logits = scores + agent.skip * advice
        with torch.no_grad():
            expected = model.policy.get_distribution(torch.from_numpy(seen)).distribution.logits.numpy()
        np.testing.assert_allclose(logits - logits[:, :1], expected - expected[:, :1], atol=1e-4)
        choices, _ = model.predict(seen, action_masks=mask, deterministic=True)
        np.testing.assert_array_equal(agent.act(Decisions(env.learner.matches, np.arange(6))), choices)
        env.step(choices)
    assert learned > 0.1, "the perceptron adds to the teacher"


# ---- other starts


def test_a_player_is_taken_over_as_exactly_as_possible(tmp_path: Path) -> None:
    game = card_envs.load_game("flip7")
    built_in = resolve("ev", game)
    assert find_start(built_in, game).teacher is built_in
    assert not find_start(built_in, game).imitates
    agent = make_agent(Plan.from_run(make_run("flip7", "count3", 3)))
    start = find_start(agent, game)
    assert start.network is agent
    assert start.teacher is not None
    assert (start.teacher.policy.name, start.teacher.parameters.tolist()) == ("count", [3.0])
    assert find_start(make_agent(Plan.from_run(SELF_PLAY)), game).teacher is None
    searcher = resolve("agents.flat_monte_carlo:FlatMonteCarlo(4)", game)
    for start in (find_start(searcher, game), find_start(built_in, game, imitate=True), find_start(agent, game, imitate=True)):
        assert start.imitates
        assert (start.teacher, start.network) == (None, None)


@pytest.mark.parametrize("spec", [None, "count3"], ids=["plain", "residual"])
def test_a_run_goes_on_from_a_checkpoint(spec: str | None, tmp_path: Path) -> None:
    """It begins with the weights of the checkpoint, whatever the settings of its own say about layers."""
    first, second = tmp_path / "first", tmp_path / "second"
    shape = ["hidden=[6]", "activation=relu"]
    train(make_run("flip7", "", 3, warm_start=spec, settings=[*QUICK, *shape]), first, console=QUIET)
    path = first / "last.safetensors"
    with pytest.raises(KilledError):
        train(make_run("flip7", str(path), 3), second, console=QUIET, callbacks=[Kill(1)])
    one, other = load_player(path), load_player(second / "last.safetensors")
    assert all((a == b).all() for a, b in zip(flat(one.layers), flat(other.layers), strict=True))
    assert one.skip == other.skip
    assert one.metadata["network"] == other.metadata["network"]
    assert other.metadata["network"]["teacher"] == (None if spec is None else "count")
    wrong = invoke("flip7", "--players", "4", "--warm-start", str(path), "--out", str(tmp_path / "third"))
    assert "trained for option players" in refused(wrong)


# ---- earlier selves


def test_the_pool_holds_the_latest_snapshots_and_the_opponents_are_drawn_from_it() -> None:
    settings = [*SMALL[2:], "n_envs=512", "n_steps=1", "batch_size=512", "pool=2", "pool_every=3"]
    plan = Plan.from_run(replace(SELF_PLAY, settings=settings))
    model, selves = make_model(plan)
    assert selves is not None
    selves.begin(model)
    taken = []
    for rollouts in range(10):
        with torch.no_grad():
            model.policy.action_net.bias.fill_(rollouts)
        selves.follow(model, rollouts)
        biases = [network.layers[-1][1][0] for network in (selves.current, *selves.past)]
        assert biases[0] == rollouts
        taken.append(sorted(biases[1:]))
    start = float(taken[0][0])
    assert taken == [[start, 0]] + [[start, 0]] * 2 + [[0, 3]] * 3 + [[3, 6]] * 3 + [[6, 9]]
    env = model.env.venv
    assert env.learner.runner.players == [selves.current, *selves.past]
    env.reset()
    seats = env.learner.runner.seating
    opposite = seats[seats >= 0]
    assert len(opposite) == 2 * 512
    shares = np.bincount(opposite, minlength=3) / len(opposite)
    np.testing.assert_allclose(shares, [0.5, 0.25, 0.25], atol=0.08)


def test_all_selves_begin_as_the_player_of_the_warm_start(tmp_path: Path) -> None:
    seen: list[Selves] = []

    class Watch(Callback):
        def _on_training_start(self) -> None:
            for player in self.training_env.venv.learner.runner.players:  # type: ignore[attr-defined]
                assert player.skip == self.model.policy.skip.detach().numpy() > 0
                for its, current in zip(flat(player.layers), flat(copy_layers(self.model)), strict=True):
                    np.testing.assert_array_equal(its, current)
                seen.append(player)

    with pytest.raises(KilledError):
        train(RESIDUAL, tmp_path, console=QUIET, callbacks=[Watch(), Kill(1)])
    assert len(seen) == 3
    parts = load_state(tmp_path / "state.pt")["parts"]
    assert len(parts["selves"]) == 2
    parts["selves"][1][3][0] = torch.nan
    _, selves = make_model(Plan.from_run(RESIDUAL))
    assert selves is not None
    with pytest.raises(ValueError, match="not a finite number"):
        selves.restore(parts["selves"])
    with pytest.raises(ValueError, match="2 earlier selves are expected"):
        selves.restore(parts["selves"][:1])
