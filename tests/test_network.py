"""Checkpoints: what is loaded plays like what was saved, and everything else is refused without running any of it."""

from __future__ import annotations

import json
import pickle
import warnings
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import card_envs
from card_envs.arena import play_duel
from card_envs.players import load_player, resolve
from card_envs.players.network import FORMAT, Network, describe_layout, save_network

GAME = card_envs.load_game("flip7")
OPTIONS = GAME.resolve({"players": 2})
SIZE, ACTIONS, HIDDEN = GAME.observation_size(OPTIONS), GAME.num_actions(2), 16


def make_network(seed: int, **changes: Any) -> Network:
    """Make a network of random weights, with changes of its metadata."""
    rng = np.random.default_rng(seed)
    widths = [SIZE, HIDDEN, ACTIONS]
    layers = [
        (rng.normal(size=(n, m)).astype(np.float32) / m**0.5, rng.normal(size=n).astype(np.float32))
        for m, n in pairwise(widths)
    ]
    metadata = {
        "format": FORMAT, "game": "flip7", "version": GAME.version, "options": OPTIONS,
        "observation": describe_layout(GAME, OPTIONS), "network": {"activation": "tanh", "actions": ACTIONS},
        "command": "none", "evaluation": {},
    } | changes  # fmt: skip
    return Network(layers, metadata)


@pytest.fixture
def checkpoint(tmp_path: Path, seed: int) -> Path:
    path = tmp_path / "net.safetensors"
    save_network(path, make_network(seed))
    return path


def test_a_checkpoint_gives_the_same_network_back(checkpoint: Path, seed: int) -> None:
    made, loaded = make_network(seed), load_player(checkpoint)
    assert loaded.metadata == made.metadata
    for mine, its in zip(made.layers, loaded.layers, strict=True):
        np.testing.assert_array_equal(mine[0], its[0])
        np.testing.assert_array_equal(mine[1], its[1])
    one, other = (
        play_duel("flip7", player, "random", players=2, matches=20, board_list="train", seed=seed)
        for player in (made, str(checkpoint))
    )
    assert one == other, f"seed {seed}"
    assert list(checkpoint.parent.iterdir()) == [checkpoint], "the temporary file is gone"


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_logits_are_those_of_the_formula(activation: str, seed: int) -> None:
    network = make_network(seed, network={"activation": activation, "actions": ACTIONS})
    observation = np.random.default_rng(seed + 1).normal(size=(3, SIZE)).astype(np.float32)
    (w0, b0), (w1, b1) = network.layers
    for row, logits in zip(observation, network.logits(observation), strict=True):
        hidden = [
            sum(float(w) * float(x) for w, x in zip(ws, row, strict=True)) + float(b) for ws, b in zip(w0, b0, strict=True)
        ]
        hidden = [float(np.tanh(h)) if activation == "tanh" else max(h, 0.0) for h in hidden]
        expected = [sum(float(w) * h for w, h in zip(ws, hidden, strict=True)) + float(b) for ws, b in zip(w1, b1, strict=True)]
        np.testing.assert_allclose(logits, expected, atol=1e-4, err_msg=f"seed {seed}")


@pytest.mark.parametrize("sizes", [(SIZE, 128, 128, ACTIONS), (698, 64, 635)])
def test_a_row_does_not_depend_on_the_rows_beside_it(sizes: tuple[int, ...], seed: int) -> None:
    """Its logits are the same to the last bit alone, among few or many rows, and in any place. The arena relies on that."""
    rng = np.random.default_rng(seed)
    network = make_network(seed)
    network.layers = [
        (rng.normal(size=(b, a)).astype(np.float32), rng.normal(size=b).astype(np.float32)) for a, b in pairwise(sizes)
    ]
    rows = rng.normal(size=(200, sizes[0])).astype(np.float32)
    among_all = network.logits(rows)
    order = rng.permutation(200)
    np.testing.assert_array_equal(network.logits(rows[order]), among_all[order], err_msg=f"seed {seed}")
    for first, count in ((0, 1), (17, 1), (63, 3), (100, 70)):
        alone = network.logits(rows[first : first + count])
        np.testing.assert_array_equal(alone, among_all[first : first + count], err_msg=f"seed {seed}")


def test_a_sampling_network_draws_by_probability(seed: int) -> None:
    """Frequencies of 20,000 draws agree with the softmax over the legal actions, and the same keys draw the same actions."""
    network = make_network(seed)
    network.deterministic = False
    n = 20_000
    rng = np.random.default_rng(seed)
    mask = np.zeros(ACTIONS, np.int8)
    mask[[0, 1, 5, ACTIONS - 1]] = 1
    observation = rng.normal(size=SIZE).astype(np.float32)
    decisions = SimpleNamespace(
        observation=np.tile(observation, (n, 1)),
        action_mask=np.tile(mask, (n, 1)),
        key=rng.integers(2**64, size=n, dtype=np.uint64),
    )
    actions = network.act(cast(Any, decisions))
    weights = np.where(mask != 0, np.exp(network.logits(observation[None])[0].astype(float)), 0.0)
    p = weights / weights.sum()
    counts = np.bincount(actions, minlength=ACTIONS)
    assert counts[mask == 0].sum() == 0
    assert (np.abs(counts - n * p) <= 5 * np.sqrt(n * p * (1 - p)) + 1e-9).all(), (
        f"seed {seed}: {counts[mask != 0] / n}, {p[mask != 0]}"
    )
    np.testing.assert_array_equal(actions, network.act(cast(Any, decisions)))
    for row in range(20):  # one row alone: NumPy up to 2.3 can take it for a number, unless the warning of it is an error
        alone = SimpleNamespace(**{name: array[row : row + 1] for name, array in vars(decisions).items()})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert network.act(cast(Any, alone)).tolist() == [actions[row]], f"seed {seed}"
    network.deterministic = True
    assert (network.act(cast(Any, decisions)) == p.argmax()).all()


def rewrite(path: Path, change: Callable[[dict[str, Any], dict[str, str]], None]) -> None:
    """Change a checkpoint's tensors or metadata, and write it as safetensors again."""
    from safetensors import safe_open

    with safe_open(str(path), framework="numpy") as file:
        metadata = dict(file.metadata())
    tensors = load_file(path)
    change(tensors, metadata)
    save_file(tensors, path, metadata)


def cut(tensors: dict[str, Any], metadata: dict[str, str]) -> None:
    tensors["0.weight"] = tensors["0.weight"][:, 1:].copy()


def narrow(tensors: dict[str, Any], metadata: dict[str, str]) -> None:
    tensors["1.weight"], tensors["1.bias"] = tensors["1.weight"][1:].copy(), tensors["1.bias"][1:].copy()


def poison(tensors: dict[str, Any], metadata: dict[str, str]) -> None:
    tensors["1.weight"][3, 3] = np.nan


def overflow(tensors: dict[str, Any], metadata: dict[str, str]) -> None:
    tensors["0.bias"][0] = np.inf


def doubles(tensors: dict[str, Any], metadata: dict[str, str]) -> None:
    tensors["0.weight"] = tensors["0.weight"].astype(np.float64)


def flat(tensors: dict[str, Any], metadata: dict[str, str]) -> None:
    tensors["0.weight"] = tensors["0.weight"].ravel()


def scalar(tensors: dict[str, Any], metadata: dict[str, str]) -> None:
    tensors["0.bias"] = np.array(1.0, np.float32)


def missing(tensors: dict[str, Any], metadata: dict[str, str]) -> None:
    del tensors["1.weight"], tensors["1.bias"], tensors["0.bias"]


def foreign(tensors: dict[str, Any], metadata: dict[str, str]) -> None:
    metadata.clear()


def set_to(key: str, value: Any) -> Callable[[dict[str, Any], dict[str, str]], None]:
    def change(tensors: dict[str, Any], metadata: dict[str, str]) -> None:
        metadata[key] = value if value == "{" else json.dumps(value)

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (cut, "layer 0 is missing or has a wrong shape"),
        (narrow, "not the layers of one network"),
        (poison, "layer 1 does not consist of finite float32"),
        (overflow, "layer 0 does not consist of finite float32"),
        (doubles, "its tensor '0.weight' is of type F64, not F32"),
        (flat, "layer 0 is missing or has a wrong shape"),
        (scalar, "layer 0 is missing or has a wrong shape"),
        (missing, "layer"),
        (foreign, "not a checkpoint of card_envs"),
        (set_to("format", "another/1"), "its format is 'another/1'"),
        (set_to("game", "{"), "'game' in its metadata is not readable JSON"),
        (set_to("options", []), "'options' in its metadata is not of type dict"),
        (set_to("network", {"activation": "os.system"}), "unknown activation 'os.system'"),
        (set_to("network", {"activation": ["tanh"], "actions": ACTIONS}), "unknown activation"),
        (set_to("network", {"activation": "tanh"}), "not the layers of one network"),
        (set_to("observation", [["x"]]), "'observation' in its metadata"),
        (set_to("observation", [["x", "y"]]), "'observation' in its metadata"),
    ],
    ids=lambda value: value if isinstance(value, str) else getattr(value, "__name__", "x"),
)
def test_a_changed_checkpoint_is_refused(checkpoint: Path, change: Callable[..., None], message: str) -> None:
    rewrite(checkpoint, change)
    with pytest.raises(ValueError, match=message) as caught:
        load_player(checkpoint)
    assert str(checkpoint) in str(caught.value)
    assert "\n" not in str(caught.value)


class Payload:
    """A pickle that creates a file when it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def test_a_pickle_is_refused_and_not_run(tmp_path: Path) -> None:
    trace, path = tmp_path / "it ran", tmp_path / "net.safetensors"
    path.write_bytes(pickle.dumps(Payload(trace)))
    with pytest.raises(ValueError, match="not a readable safetensors file"):
        load_player(path)
    assert not trace.exists()
    pickle.loads(path.read_bytes())
    assert trace.exists(), "the payload would have worked"


@pytest.mark.parametrize("n", [0, 7, 8, 9, 5000])
def test_random_bytes_are_refused(tmp_path: Path, n: int, seed: int) -> None:
    path = tmp_path / "net.safetensors"
    path.write_bytes(np.random.default_rng(seed).bytes(n))
    with pytest.raises(ValueError, match="not a readable safetensors file"):
        load_player(path)


def test_half_a_checkpoint_is_refused(checkpoint: Path) -> None:
    checkpoint.write_bytes(checkpoint.read_bytes()[:-100])
    with pytest.raises(ValueError, match="not a readable safetensors file"):
        load_player(checkpoint)


def test_no_file_and_a_directory_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none.safetensors", tmp_path):
        with pytest.raises(ValueError, match="not a readable safetensors file"):
            load_player(path)


@pytest.mark.parametrize(
    ("changes", "options", "message"),
    [
        ({}, {"players": 3}, "trained for option players 2, but the table's is 3"),
        ({}, {"players": 2, "brutal": True}, "trained for option brutal False, but the table's is True"),
        ({"version": GAME.version + 1}, {"players": 2}, f"trained for version {GAME.version + 1}"),
        ({"game": "rummy"}, {"players": 2}, "trained for game 'rummy', but the table's is 'flip7'"),
        ({"observation": [["other", SIZE]]}, {"players": 2}, "trained for observation layout"),
    ],
)
def test_a_mismatch_is_refused(
    tmp_path: Path, changes: dict[str, Any], options: dict[str, Any], message: str, seed: int
) -> None:
    path = tmp_path / "net.safetensors"
    save_network(path, make_network(seed, **changes))
    with pytest.raises(ValueError, match=message):
        resolve(str(path), GAME, options)


def test_a_failed_write_leaves_the_old_file(checkpoint: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    before = checkpoint.read_bytes()

    def fail(*arguments: Any) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="full"):
        save_network(checkpoint, make_network(seed + 1))
    assert checkpoint.read_bytes() == before
    assert list(checkpoint.parent.iterdir()) == [checkpoint]
