"""States from outside: those that the rules cannot produce are refused, and every other one can be played on to its end."""

from __future__ import annotations

import base64
import random
from collections import Counter
from typing import Any

import numpy as np
import pytest

import card_envs
from card_envs import Table
from card_envs.engine.rows import States
from card_envs.engine.validation import find_fault
from tests import games
from tests.batches import every_game
from tests.helpers import Options, through_json
from tests.mutations import draw_states, mutate

SHORT, LONG = 1_500, 100_000  # mutated states of each game


def make_record(game: str, options: Options, states: States) -> dict[str, Any]:
    """The record of a table that was redealt, with this state instead."""
    record = card_envs.table(game, seed=0, **options).record()
    del record["deck"]
    state = base64.b64encode(states.tobytes()).decode()
    return through_json(record | {"start": {"state": state, "decisions": 0, "deals": [], "endings": []}})


def play_to_the_end(table: Table, policy: str, rng: random.Random) -> dict[str, Any]:
    """The state at the end of the match, played by one policy in compiled code."""
    if not table.is_over:
        batch = table.batch
        actions = [batch.game.action_index(table.legal_actions()[0], table.to_move or 0, table.players)]
        batch.rollout(np.array(actions), policy, seeds=[rng.getrandbits(62)])
    return table.state()


def look(table: Table) -> None:
    """Everything that can be asked of a table works."""
    assert str(table)
    state = table.state()
    for seat in range(table.players):
        assert table.view(seat)["to_move"] == state["to_move"]
        observation = table.observation(seat)
        assert np.isfinite(observation).all()
    assert table.is_over or table.legal_actions()


def play_slowly(table: Table, steps: int, rng: random.Random) -> None:
    """Random play in plain Python, where an index out of bounds or a number too large raises."""
    slow = card_envs.table(table.game.name, seed=0, interpreted=True, **table.options)
    assert table.start is not None
    slow.restart(table.start)
    for _ in range(steps):
        if slow.is_over:
            return
        slow.play(rng.choice(slow.legal_actions()))


@every_game
def test_mutated_states_are_refused_or_played_to_their_end(game: str, seed: int, request: pytest.FixtureRequest) -> None:
    """Issue 11, items 4, 5 and 6. The long run is meant for NUMBA_BOUNDSCHECK=1 and an empty NUMBA_CACHE_DIR."""
    long = bool(request.config.getoption("--long"))
    rng = random.Random(f"{seed} {game}")
    the_game = card_envs.load_game(game)
    all_cards = Counter(dict(zip(the_game.cards, the_game.copies, strict=True)))
    policies = ["random", the_game.default_opponent]
    pool = draw_states(game, rng, 2_000 if long else 150)
    for options, states in pool:
        assert find_fault(the_game, options, states) is None, "the rules have produced it"
    messages: Counter[str] = Counter()
    for number in range(LONG if long else SHORT):
        options, states = rng.choice(pool)
        changed = mutate(the_game, states, rng.choice(pool)[1], rng)
        story = f"seed {seed}, {game}, state {number}: {options} {base64.b64encode(changed.tobytes()).decode()}"
        try:
            table = card_envs.replay(make_record(game, options, changed))
        except ValueError as refusal:
            messages[str(refusal)] += 1
            continue
        try:
            look(table)
            if number % 10 == 0:
                play_slowly(table, 40, rng)
            if number % 3 == 0:
                table.redeal(rng.randrange(table.players), rng.getrandbits(62))
            state = play_to_the_end(table, policies[number % 2], rng)
        except Exception as error:
            raise AssertionError(story) from error
        assert state["over"], story
        assert games.load(game).all_cards(state) == all_cards, story
    refused = messages.total()
    accepted = (LONG if long else SHORT) - refused
    assert not any("\n" in message for message in messages)
    print(f"{game}: {refused} refused, {accepted} played to their end")
    assert refused > 100
    assert accepted > 100
