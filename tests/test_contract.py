"""What the engine asks of a game: the layout of its state, its observation, its mask, its action strings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import card_envs
from card_envs.engine.game import Game
from tests.batches import advance, every_game, every_set


@every_game
def test_the_state_has_no_gaps(game: str) -> None:
    dtype = card_envs.load_game(game).state_dtype
    at = 0
    for name in dtype.names or ():
        kind, offset = dtype.fields[name][:2]  # type: ignore[index]
        assert offset == at, name
        assert offset % kind.base.itemsize == 0, f"{name} is not aligned"
        at += kind.itemsize
    assert at == dtype.itemsize
    assert at % 8 == 0, "rows of 8-byte words keep the key aligned"


@every_game
def test_a_state_with_gaps_is_refused(game: str) -> None:
    rules = card_envs.load_game(game)
    fields = {name: getattr(rules, name) for name in Game.__dataclass_fields__}
    gaps = np.dtype([*rules.state_dtype.descr, ("tail", np.int8)], align=True)
    with pytest.raises(TypeError, match="gaps"):
        Game(**{**fields, "state_dtype": gaps})
    with pytest.raises(TypeError, match="lacks key"):
        Game(**{**fields, "state_dtype": np.dtype([("to_move", np.int8)])})


@every_set
def test_observations_lie_within_their_fields(game: str, options: dict[str, Any], seed: int) -> None:
    rules = card_envs.load_game(game)
    batch = card_envs.batch(game, 64, seed=seed, **options)
    fields = rules.observation_fields(batch.options)
    ends = [field.slice.stop for field in fields.values()]
    assert [field.slice.start for field in fields.values()] == [0, *ends[:-1]]
    assert ends[-1] == batch.observation_size == batch.observation.shape[1]
    for _ in range(200):
        advance(batch, 3)
        for seat in range(batch.players):
            observation = batch.observe(seat)
            assert np.isfinite(observation).all()
            for name, field in fields.items():
                part = observation[:, field.slice]
                assert field.low <= part.min(), (name, seed)
                assert part.max() <= field.high, (name, seed)


@every_game
def test_the_mask_is_padded_with_zeros(game: str) -> None:
    batch = advance(card_envs.batch(game, 32, seed=1), 50)
    assert batch.action_mask.shape == (32, card_envs.load_game(game).num_actions(batch.players))
    assert set(np.unique(batch.action_mask)) == {0, 1}
    assert not batch.matches.mask[:, batch.num_actions :].any()


@every_set
def test_action_strings_and_indices_are_inverse(game: str, options: dict[str, Any]) -> None:
    rules, players = card_envs.load_game(game), options["players"]
    for seat in range(players):
        strings = [rules.action_string(index, seat, players) for index in range(rules.num_actions(players))]
        assert [rules.action_index(string, seat, players) for string in strings] == list(range(len(strings)))
        for string in strings:
            assert string == " ".join(string.split())
            for bad in (string + " ", " " + string, string.title(), string.replace(" ", "  ") + "\n", string + " 0"):
                assert rules.action_index(bad, seat, players) is None, bad
