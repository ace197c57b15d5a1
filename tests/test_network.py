"""Checkpoints: what is loaded plays like what was saved, and everything else is refused without running any of it."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import card_envs
from card_envs.arena import play_duel
from card_envs.engine.networks import FORMS, MAP, SCORER
from card_envs.players import load_player, resolve
from card_envs.players.checkpoint import save_network
from card_envs.players.network import Network, describe_inputs
from tests.networks import make_random_network

GAME = card_envs.load_game("flip7")
OPTIONS = GAME.resolve({"players": 2})
SIZE, ACTIONS = GAME.observation_size(OPTIONS), GAME.num_actions(2)
OTHER = card_envs.load_game("pis_yedili")
SCORED = OTHER.resolve({"players": 3})


def make_network(seed: int, *, activation: str = "tanh", **changes: Any) -> Network:
    """Make a map of random weights for two players of Flip 7, with changes of its metadata."""
    made = make_random_network(GAME, OPTIONS, MAP, seed, activation=activation)
    return Network(made.layers, made.metadata | changes, skip=made.skip)


@pytest.fixture
def checkpoint(tmp_path: Path, seed: int) -> Path:
    path = tmp_path / "net.safetensors"
    save_network(path, make_network(seed))
    return path


@pytest.fixture
def scorer(tmp_path: Path, seed: int) -> Path:
    """The file of a network that scores actions and starts from a teacher with parameters."""
    path = tmp_path / "scorer.safetensors"
    save_network(path, make_random_network(OTHER, SCORED, SCORER, seed, hidden=(8, 8), teacher="best"))
    return path


@pytest.mark.parametrize("form", FORMS)
def test_a_checkpoint_gives_the_same_network_back(tmp_path: Path, form: str, seed: int) -> None:
    made = make_random_network(OTHER, SCORED, form, seed, hidden=(8, 5), teacher="best")
    path = tmp_path / "net.safetensors"
    save_network(path, made)
    loaded = load_player(path)
    assert loaded.metadata == made.metadata
    np.testing.assert_array_equal(loaded.skip, made.skip)
    for mine, its in zip(made.layers, loaded.layers, strict=True):
        np.testing.assert_array_equal(mine[0], its[0])
        np.testing.assert_array_equal(mine[1], its[1])
    one, other = (
        play_duel(OTHER, player, "random", players=3, matches=30, board_list="train", seed=seed) for player in (made, str(path))
    )
    assert one == other, f"seed {seed}"
    assert list(tmp_path.iterdir()) == [path], "the temporary file is gone"


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


def drop_skip(tensors: dict[str, Any], metadata: dict[str, str]) -> None:
    del tensors["skip"]


def shorten_skip(tensors: dict[str, Any], metadata: dict[str, str]) -> None:
    tensors["skip"] = tensors["skip"][:-1].copy()


def lengthen_skip(tensors: dict[str, Any], metadata: dict[str, str]) -> None:
    tensors["skip"] = np.append(tensors["skip"], np.float32(0.0))


def poison_skip(tensors: dict[str, Any], metadata: dict[str, str]) -> None:
    tensors["skip"][0] = np.nan


def add(tensors: dict[str, Any], metadata: dict[str, str]) -> None:
    tensors["extra"] = np.zeros(3, np.float32)


def set_network(**values: Any) -> Callable[[dict[str, Any], dict[str, str]], None]:
    """Change entries of the description of the network."""

    def change(tensors: dict[str, Any], metadata: dict[str, str]) -> None:
        metadata["network"] = json.dumps(json.loads(metadata["network"]) | values)

    return change


CHANGES = [
    (cut, "layer 0 is missing or has a wrong shape"),
    (narrow, "not the layers of one network|layer 2 is missing"),
    (poison, "layer 1 does not consist of finite numbers"),
    (overflow, "layer 0 does not consist of finite numbers"),
    (doubles, "its tensor '0.weight' is of type F64, not F32"),
    (flat, "layer 0 is missing or has a wrong shape"),
    (scalar, "layer 0 is missing or has a wrong shape"),
    (missing, "not the layers of one network|layer 0 is missing"),
    (drop_skip, "not the layers of one network"),
    (shorten_skip, "skip is missing, or it is not"),
    (lengthen_skip, "skip is missing, or it is not"),
    (poison_skip, "skip is missing, or it is not"),
    (add, "not the layers of one network"),
    (foreign, "not a checkpoint of card_envs"),
    (set_to("format", "another/1"), "its format is 'another/1'"),
    (set_to("format", "card_envs.network/1"), "its format is 'card_envs.network/1'"),
    (set_to("game", "{"), "'game' in its metadata is not readable JSON"),
    (set_to("options", []), "'options' in its metadata is not of type dict"),
    (set_to("network", {"activation": "os.system"}), "unknown activation 'os.system'"),
    (set_to("inputs", [["x"]]), "'inputs' in its metadata"),
    (set_to("inputs", [["x", "y"]]), "'inputs' in its metadata"),
    (set_to("inputs", [["x", True]]), "'inputs' in its metadata"),
    (set_network(activation=["tanh"]), "unknown activation"),
    (set_network(form="table"), "unknown form 'table'"),
    (set_network(form=None), "unknown form None"),
    (set_network(form=["scorer"]), "unknown form"),
    (set_network(actions=0), "0 is no number of actions"),
    (set_network(actions=True), "True is no number of actions"),
    (set_network(actions=10**9), "1000000000 is no number of actions"),
    (set_network(actions=3.0), "3.0 is no number of actions"),
    (set_network(actions=None), "None is no number of actions"),
    (set_network(teacher=3), "3 is no name of a teacher"),
    (set_network(teacher=["best"]), "is no name of a teacher"),
    (set_network(teacher_parameters=None), "None are no parameters of a teacher"),
    (set_network(teacher_parameters={}), "are no parameters of a teacher"),
    (set_network(teacher_parameters=["1"]), "are no parameters of a teacher"),
    (set_network(teacher_parameters=[True]), "are no parameters of a teacher"),
    (set_network(teacher_parameters=[2e9]), "are no parameters of a teacher"),
    (set_network(teacher_parameters=[float("nan")]), "are no parameters of a teacher"),
    (set_network(teacher_parameters=[10**400]), "are no parameters of a teacher"),
    (set_network(teacher_parameters=[0.0] * 1000), "are no parameters of a teacher"),
]


@pytest.mark.parametrize(
    ("change", "message"), CHANGES, ids=lambda value: value if isinstance(value, str) else getattr(value, "__name__", "x")
)
@pytest.mark.parametrize("file", ["checkpoint", "scorer"])
def test_a_changed_checkpoint_is_refused(
    request: pytest.FixtureRequest, file: str, change: Callable[..., None], message: str
) -> None:
    path: Path = request.getfixturevalue(file)
    rewrite(path, change)
    with pytest.raises(ValueError, match=message) as caught:
        load_player(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_scorer_has_a_teacher(scorer: Path) -> None:
    rewrite(scorer, set_network(teacher=None))
    with pytest.raises(ValueError, match="None is no name of a teacher"):
        load_player(scorer)


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
        ({"inputs": [["other", SIZE]]}, {"players": 2}, "trained for inputs"),
    ],
)
def test_a_mismatch_is_refused(
    tmp_path: Path, changes: dict[str, Any], options: dict[str, Any], message: str, seed: int
) -> None:
    path = tmp_path / "net.safetensors"
    save_network(path, make_network(seed, **changes))
    with pytest.raises(ValueError, match=message):
        resolve(str(path), GAME, options)


@pytest.mark.parametrize(
    ("network", "message"),
    [
        ({"teacher": "bestt"}, "its teacher is not there .*did you mean 'best'"),
        ({"teacher": "os:system"}, "its teacher is not there"),
        ({"teacher": ""}, "its teacher is not there"),
        ({"teacher_parameters": [0.0] * 3}, "its teacher is not there .*parameters"),
    ],
)
@pytest.mark.parametrize("form", FORMS)
def test_a_teacher_that_is_not_there_is_named(
    tmp_path: Path, form: str, network: dict[str, Any], message: str, seed: int
) -> None:
    path = tmp_path / "net.safetensors"
    save_network(path, make_random_network(OTHER, SCORED, form, seed, teacher="best"))
    rewrite(path, set_network(**network))
    with pytest.raises(ValueError, match=message) as caught:
        resolve(str(path), OTHER, SCORED)
    assert "\n" not in str(caught.value)


def test_parameters_without_a_teacher_are_refused(checkpoint: Path) -> None:
    rewrite(checkpoint, set_network(teacher_parameters=[1.0]))
    with pytest.raises(ValueError, match="random takes 0 parameters"):
        resolve(str(checkpoint), GAME, OPTIONS)


@pytest.mark.parametrize("form", FORMS)
def test_a_change_of_the_inputs_is_noticed(form: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every renamed field, two that change places, and a field that is a value shorter while the next is a value longer."""
    network = make_random_network(OTHER, SCORED, form, seed)
    network.check(OTHER, SCORED)
    name = "observation_specs" if form == MAP else "action_feature_specs"
    specs = getattr(OTHER, name)
    changed = [(*specs[:i], replace(spec, name=spec.name + "x"), *specs[i + 1 :]) for i, spec in enumerate(specs)]
    changed.append((specs[1], specs[0], *specs[2:]))
    fields = [*describe_inputs(OTHER, SCORED, form)]
    at = next(i for i in range(len(fields) - 1) if fields[i][1] > 1 and isinstance(specs[i].shape[0], int))
    shorter, longer = (replace(specs[at], shape=(fields[at][1] - 1,)), replace(specs[at + 1], shape=(fields[at + 1][1] + 1,)))
    changed.append((*specs[:at], shorter, longer, *specs[at + 2 :]))
    for other in changed:
        with pytest.raises(ValueError, match="trained for inputs"):
            network.check(replace(OTHER, **{name: other}), SCORED)


def test_a_failed_write_leaves_the_old_file(checkpoint: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    before = checkpoint.read_bytes()

    def fail(*arguments: Any) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="full"):
        save_network(checkpoint, make_network(seed + 1))
    assert checkpoint.read_bytes() == before
    assert list(checkpoint.parent.iterdir()) == [checkpoint]
