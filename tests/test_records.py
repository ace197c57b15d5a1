"""Records of matches: they replay to the same match, and broken ones are refused."""

from __future__ import annotations

import base64
import random
from typing import Any

import numpy as np
import pytest

import card_envs
from tests.batches import every_game, every_set
from tests.helpers import play_on, through_json


@every_set
def test_a_record_replays_to_the_same_match(game: str, options: dict[str, Any], seed: int) -> None:
    table = card_envs.table(game, seed=(seed, 3, 1), **options)
    rng = random.Random(seed)
    for number, _ in enumerate(play_on(table, rng)):
        if number in (0, 1, 30):
            again = card_envs.replay(through_json(table.record()))
            assert again.state() == table.state()
            assert again.record() == table.record()
    again = card_envs.replay(through_json(table.record()))
    assert again.state() == table.state()
    assert again.deals == table.deals
    assert again.endings == table.endings
    assert again.rewards.tolist() == table.rewards.tolist()
    assert set(table.record()) == {"format", "game", "version", "options", "identity", "deck", "actions"}


@every_game
def test_a_redealt_table_records_its_state(game: str, seed: int) -> None:
    table = card_envs.table(game, seed=seed)
    rng = random.Random(seed)
    for _, _ in zip(range(15), play_on(table, rng)):
        pass
    table.redeal(table.to_move or 0, 5)
    for _, _ in zip(range(15), play_on(table, rng)):
        pass
    again = card_envs.replay(through_json(table.record()))
    assert again.state() == table.state()
    for action in play_on(table, rng):  # the shuffles to come are the same too
        again.play(action)
    assert again.state() == table.state()


@every_game
def test_a_record_of_another_version_is_refused(game: str) -> None:
    record = through_json(card_envs.table(game, seed=1).record())
    version = record["version"]
    with pytest.raises(ValueError, match=f"{game}_v{version + 1}.*{game}_v{version}"):
        card_envs.replay({**record, "version": version + 1})


@every_game
def test_broken_records_are_refused(game: str) -> None:
    table = card_envs.table(game, seed=1)
    table.play(table.legal_actions()[0])
    record = through_json(table.record())
    changes: dict[str, dict[str, Any]] = {
        "unknown game 'tarot'": {"game": "tarot"},
        "'game' is missing or": {"game": 7},
        "'actions' is missing or": {"actions": "draw"},
        "'identity' is missing or": {"identity": None},
        "'options' is missing or": {"options": []},
        "'version' is missing or": {"version": "0"},
        "an identity is": {"identity": [1, 2]},
        "seed = -1": {"identity": [-1, 0, 0]},
        "unknown option": {"options": {"colour": 1}},
        "option players = 99": {"options": {"players": 99}},
        "unknown card": {"deck": ["joker"]},
        "action 2: illegal action 'fly'": {"actions": [*record["actions"], "fly"]},
    }
    for message, change in changes.items():
        with pytest.raises(ValueError, match=message) as caught:
            card_envs.replay({**record, **change})
        assert "\n" not in str(caught.value)
    for key in ("game", "version", "options", "identity", "actions"):
        with pytest.raises(ValueError, match=f"'{key}' is missing"):
            card_envs.replay({k: v for k, v in record.items() if k != key})
    for what in ([], "flip7", None, 3):
        with pytest.raises(ValueError, match="a record is a JSON object"):
            card_envs.replay(what)  # type: ignore[arg-type]


@every_game
def test_a_corrupted_start_is_refused(game: str) -> None:
    table = card_envs.table(game, seed=1)
    table.redeal(0, 5)
    record = through_json(table.record())
    data = base64.b64decode(record["start"]["state"])
    dtype = card_envs.load_game(game).state_dtype

    def changed(field: str, value: int) -> str:
        states = np.frombuffer(bytearray(data), dtype)
        states[field] = value
        return base64.b64encode(states.tobytes()).decode()

    bad = {
        "no base64": "???",
        "cut short": base64.b64encode(data[:-1]).decode(),
        "two states": base64.b64encode(data * 2).decode(),
        "nothing": "",
        "another option": changed("players", table.players + 1),
    }
    for field, (low, high) in card_envs.load_game(game).bounds.items():
        info = np.iinfo(dtype[field].base)
        if low > info.min:
            bad[f"{field} too low"] = changed(field, low - 1)
        if high < info.max:
            bad[f"{field} too high"] = changed(field, high + 1)
    for what, start in bad.items():
        with pytest.raises(ValueError, match="record: start"):
            print(what, card_envs.replay({**record, "start": {**record["start"], "state": start}}))
    for what, start in {"text": "x", "no deals": {"state": record["start"]["state"]}}.items():
        with pytest.raises(ValueError, match="record: start"):
            print(what, card_envs.replay({**record, "start": start}))
    with pytest.raises(ValueError, match="deals"):
        card_envs.replay({**record, "start": {**record["start"], "deals": [[1]]}})
    with pytest.raises(ValueError, match="endings"):
        card_envs.replay({**record, "start": {**record["start"], "endings": ["one too many"]}})
    assert card_envs.replay(record).state() == table.state()
