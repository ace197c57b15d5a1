"""Inputs that never vary while an agent learns: its network does not depend on them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import card_envs
from card_envs.players import load_player
from card_envs.players.network import Network

torch = pytest.importorskip("torch")
pytest.importorskip("sb3_contrib")

from tests.training import QUIET, ROLLOUT, SMALL  # noqa: E402
from train.callbacks import Callback  # noqa: E402
from train.checkpoints import Layers  # noqa: E402
from train.inputs import InputRanges, fold_constants  # noqa: E402
from train.ppo import train  # noqa: E402
from train.runs import Run  # noqa: E402

GAME = card_envs.load_game("pis_yedili")
OPTIONS = GAME.resolve({"players": 2})
FIELDS = GAME.observation_fields(OPTIONS)
CONSTANT = np.r_[FIELDS["total"].slice, FIELDS["deal"].slice]


def compute(layers: Layers, inputs: np.ndarray) -> np.ndarray:
    """What two layers with tanh between them compute, in float64."""
    (weight, bias), (last, end) = [(w.astype(float), b.astype(float)) for w, b in layers]
    return np.tanh(inputs @ weight.T + bias) @ last.T + end


def test_only_the_inputs_that_have_never_varied_are_constant() -> None:
    ranges = InputRanges(4)
    assert not ranges.constant.any(), "nothing has been seen"
    ranges.watch(np.array([[[1, 0, 5, 2, 9], [1, 0, 6, 2, 8]]], np.float32))
    assert ranges.constant.tolist() == [True, True, False, True]
    ranges.watch(np.array([[1, 0, 5, 3]], np.float32))
    assert ranges.constant.tolist() == [True, True, False, False]
    other = InputRanges(4)
    other.restore(ranges.save())
    assert (other.low == ranges.low).all()
    assert (other.high == ranges.high).all()


@pytest.mark.parametrize("has_earlier", [False, True])
def test_folding_keeps_what_is_computed_at_the_constants(has_earlier: bool, seed: int) -> None:
    """Elsewhere, constant inputs count as they did before: not at all, or as in the earlier weights."""
    rng = np.random.default_rng(seed)
    layers = [
        (rng.normal(size=shape).astype(np.float32), rng.normal(size=shape[0]).astype(np.float32)) for shape in ((5, 7), (3, 5))
    ]
    inputs = rng.normal(size=(40, 7)).astype(np.float32)
    inputs[:, 2], inputs[:, 5] = 0.0, 0.75
    ranges = InputRanges(7)
    ranges.watch(inputs)
    earlier = rng.normal(size=(5, 7)).astype(np.float32) if has_earlier else None
    folded = fold_constants(layers, ranges, earlier)
    np.testing.assert_allclose(compute(folded, inputs), compute(layers, inputs), atol=1e-5)
    expected = np.zeros((5, 2)) if earlier is None else earlier[:, [2, 5]]
    np.testing.assert_array_equal(folded[0][0][:, [2, 5]], expected)
    free = [0, 1, 3, 4, 6]
    np.testing.assert_array_equal(folded[0][0][:, free], layers[0][0][:, free])


def test_the_agent_of_single_deals_does_not_look_at_the_match_score(tmp_path: Path, seed: int) -> None:
    """Its logits do not depend on the totals and the number of the deal, and are the policy's where these are as before."""
    seen = []

    class Keep(Callback):
        def _on_rollout_end(self) -> None:
            seen.append(self.model.rollout_buffer.observations.reshape(-1, GAME.observation_size(OPTIONS)).copy())

    run = Run(
        "pis_yedili", players=2, opponents="random", steps=4 * ROLLOUT, settings=[*SMALL, "learning_rate=.01"],
        evaluate_every=2 * ROLLOUT, evaluate_matches=100,
    )  # fmt: skip
    model = train(run, tmp_path, console=QUIET, callbacks=[Keep()])
    observation = np.concatenate(seen)
    assert (observation[:, CONSTANT] == observation[0, CONSTANT]).all()
    agent: Network = load_player(tmp_path / "last.safetensors")
    with torch.no_grad():
        latent, _ = model.policy.mlp_extractor(torch.from_numpy(observation))
        expected = model.policy.action_net(latent).numpy()
        assert (model.policy.mlp_extractor.policy_net[0].weight[:, CONSTANT] != 0).all(), "the policy itself has such weights"
    logits = agent.scores(observation)
    np.testing.assert_allclose(logits, expected, atol=1e-5)
    observation[:, CONSTANT] = np.random.default_rng(seed).normal(size=(len(observation), len(CONSTANT)))
    np.testing.assert_array_equal(agent.scores(observation), logits)
    varied = np.flatnonzero(observation.min(axis=0) < observation.max(axis=0))
    assert (agent.layers[0][0][:, np.setdiff1d(varied, CONSTANT)] != 0).all(), "other inputs are looked at"
