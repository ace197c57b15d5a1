"""Checkpoints from a stranger: a player, or one line that says what is wrong; nothing hangs and nothing fills the memory."""

from __future__ import annotations

import json
import os
import random
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from card_envs.players import load_player
from card_envs.players.checkpoint import MOST_BYTES, save_network
from card_envs.players.network import Network
from tests.test_network import ACTIONS, GAME, OPTIONS, make_network


@pytest.fixture
def checkpoint(tmp_path: Path, seed: int) -> Path:
    path = tmp_path / "net.safetensors"
    save_network(path, make_network(seed))
    return path


def refusal(path: Path) -> str:
    """The one line by which a file is refused."""
    with pytest.raises(ValueError) as caught:
        load_player(path)
    text = str(caught.value)
    assert "\n" not in text
    assert len(text) < 1000
    return text


def read_parts(path: Path) -> tuple[dict[str, Any], bytes]:
    """The header of a safetensors file, and what follows it."""
    data = path.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    return json.loads(data[8 : 8 + size]), data[8 + size :]


def write_parts(path: Path, header: dict[str, Any] | bytes, data: bytes) -> None:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def change_metadata(path: Path, **values: str) -> None:
    header, data = read_parts(path)
    write_parts(path, header | {"__metadata__": header["__metadata__"] | values}, data)


def test_what_is_no_regular_file_is_not_opened(tmp_path: Path) -> None:
    """Issue 11, item 9: opening a FIFO waits for ever, and a device has no end."""
    os.mkfifo(tmp_path / "fifo.safetensors")
    (tmp_path / "null.safetensors").symlink_to("/dev/zero")
    (tmp_path / "directory.safetensors").mkdir()
    for name in ("fifo", "null", "directory"):
        assert "it is not a regular file" in refusal(tmp_path / f"{name}.safetensors")
    assert "No such file" in refusal(tmp_path / "none.safetensors")
    for name in ("a\nb.safetensors", "a\0b.safetensors"):
        refusal(tmp_path / name)


def test_a_huge_file_is_not_read(checkpoint: Path) -> None:
    """Issue 11, item 9: the file is sparse, but the tensor would fill the memory."""
    header, _ = read_parts(checkpoint)
    size = 10**11
    header["0.weight"] = {"dtype": "F32", "shape": [size // 4], "data_offsets": [0, size]}
    with open(checkpoint, "wb") as file:
        text = json.dumps(header).encode()
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(size + 8 + len(text))
    assert f"a checkpoint has at most {MOST_BYTES:,}" in refusal(checkpoint)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("evaluation", '{"a":' * 5000 + "1" + "}" * 5000, "'evaluation' in its metadata"),
        ("evaluation", '{"a":' * 90 + "1" + "}" * 90, "'evaluation' in its metadata is nested more than 8 deep"),
        ("network", "[" * 100_000, "'network' in its metadata is not readable JSON"),
        ("inputs", "[" * 900 + "]" * 900, "'inputs' in its metadata is nested more than 8 deep"),
        ("inputs", '[["x", 1e400]]', "'inputs' in its metadata is not a list of (name, size)"),
        ("inputs", '[["x", 1e308]]', "'inputs' in its metadata is not a list of (name, size)"),
        ("inputs", '[["x", -5]]', "'inputs' in its metadata is not a list of (name, size)"),
        ("inputs", f'[["x", {"9" * 400}]]', "'inputs' in its metadata is not a list of (name, size)"),
        ("inputs", f'[["x", {"9" * 5000}]]', "'inputs' in its metadata is not readable JSON"),
        ("inputs", '{"x": 1}', "'inputs' in its metadata is not of type list"),
        ("version", "true", "'version' in its metadata is not of type int"),
        ("options", '{"players": [2]}', "option 'players' = [2] in its metadata is no value of an option"),
        ("network", '{"activation": {}, "actions": 3}', "unknown activation {}"),
        ("network", '{"activation": "tanh", "form": "map", "actions": 1e400}', "inf is no number of actions"),
        ("format", json.dumps("x" * 100_000), "its format is"),
    ],
    ids=lambda value: value[:20],
)
def test_metadata_of_wrong_kinds(checkpoint: Path, key: str, value: str, message: str) -> None:
    """Issue 11, item 9."""
    change_metadata(checkpoint, **{key: value})
    assert message in refusal(checkpoint)


@pytest.mark.parametrize("kind", ["BF16", "F16", "F8_E4M3", "F8_E5M2", "F64", "I8", "BOOL", "U64"])
def test_tensors_of_other_types(checkpoint: Path, kind: str) -> None:
    """Issue 11, item 9: NumPy does not know all of them."""
    header, data = read_parts(checkpoint)
    size = {"F64": 8, "U64": 8, "BF16": 2, "F16": 2}.get(kind, 1)
    header["extra"] = {"dtype": kind, "shape": [8 // size], "data_offsets": [len(data), len(data) + 8]}
    write_parts(checkpoint, header, data + bytes(8))
    assert f"its tensor 'extra' is of type {kind}, not F32" in refusal(checkpoint)


def test_a_network_with_another_number_of_actions_is_refused(checkpoint: Path, seed: int) -> None:
    made = make_network(seed)
    made.metadata["network"]["actions"] = ACTIONS - 1
    weight, bias = made.layers[-1]
    save_network(checkpoint, Network([*made.layers[:-1], (weight[1:], bias[1:])], made.metadata))
    with pytest.raises(ValueError, match=f"trained for number of actions {ACTIONS - 1}, but the table's is {ACTIONS}"):
        load_player(checkpoint).check(GAME, OPTIONS)


VALUES = [None, True, -1, 0, 1, 2**63, 1e400, "", "x", [], [[]], [["x", 3]], {}, {"activation": "relu"}, [1, [2, [3, [4]]]]]


def damage(path: Path, rng: random.Random) -> None:
    """One change of a checkpoint: of its bytes, its header, its metadata or its length."""
    kind = rng.randrange(5)
    data = bytearray(path.read_bytes())
    if kind == 0:
        for _ in range(rng.choice([1, 3, 30])):
            data[rng.randrange(len(data))] = rng.randrange(256)
        path.write_bytes(data)
    elif kind == 1:
        path.write_bytes(data[: rng.randrange(len(data))] + rng.randbytes(rng.choice([0, 0, 8, 1000])))
    elif kind == 2:
        header, rest = read_parts(path)
        key = rng.choice(list(header["__metadata__"]))
        value = json.dumps(rng.choice(VALUES)) if rng.random() < 0.8 else rng.choice(["{", "", "NaN", "[" * 500])
        write_parts(path, header | {"__metadata__": header["__metadata__"] | {key: value}}, rest)
    elif kind == 3:
        header, rest = read_parts(path)
        entry = header[rng.choice([key for key in header if key != "__metadata__"])]
        entry[rng.choice(list(entry))] = rng.choice([*VALUES, "F16", "BF16", [1, 2], [0, 2**62], [2**32, 2**32]])
        write_parts(path, header, rest)
    else:
        header, rest = read_parts(path)
        text = bytearray(json.dumps(header).encode())
        text[rng.randrange(len(text))] = rng.randrange(256)
        write_parts(path, bytes(text), rest)


def test_damaged_checkpoints(checkpoint: Path, seed: int, request: pytest.FixtureRequest) -> None:
    """Each is a player that answers, or it is refused in one line."""
    rng = random.Random(seed)
    whole = checkpoint.read_bytes()
    loaded, messages = 0, set()
    observation = np.zeros((2, GAME.observation_size(OPTIONS)), np.float32)
    for number in range(20_000 if request.config.getoption("--long") else 500):
        checkpoint.write_bytes(whole)
        damage(checkpoint, rng)
        story = f"seed {seed}, file {number}"
        try:
            player = load_player(checkpoint)
            player.check(GAME, OPTIONS)
        except ValueError as refused:
            messages.add(str(refused))
            continue
        except Exception as error:
            raise AssertionError(story) from error
        assert isinstance(player, Network)
        with np.errstate(all="ignore"):
            assert player.scores(observation).shape == (2, ACTIONS), story
        loaded += 1
    assert not [message for message in messages if "\n" in message or len(message) > 1000]
    assert loaded > 20
    assert len(messages) > 20
