"""Flip 7's race: what a match is worth between two rounds, the player `race`, and the file of their networks."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load, save

import card_envs
from card_envs import Batch, Table
from card_envs.engine.compiled import compile_loop
from card_envs.engine.game import OptionValue
from card_envs.engine.loops import Loop
from card_envs.engine.rows import Rows
from card_envs.games.flip7.policies import OPEN, decide_end
from card_envs.games.flip7.race import RACE_FIGURES, WEIGHTS, match_value
from card_envs.games.flip7.state import TURN
from card_envs.games.flip7.turns import TURN_FIELDS
from card_envs.games.perceptron import Perceptron, ask, list_shapes, read_perceptron
from tests.batches import advance
from tests.helpers import choice, play_on
from tests.reference import streams
from tests.test_forks import default_policy, lay_deck

GAME = card_envs.load_game("flip7")
OPTIONS: list[dict[str, OptionValue]] = [
    {"players": 2}, {"players": 3, "brutal": True}, {"players": 4}, {"players": 6, "target": 90}, {"players": 12},
]  # fmt: skip
every_table = pytest.mark.parametrize("options", OPTIONS, ids=str)


def ask_plainly(name: str, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """The output of a network of the file for each row of ``x``, by NumPy."""
    tensors = {key: value.astype(np.float64) for key, value in load(WEIGHTS.read_bytes()).items()}
    for layer in ("1", "2"):
        x = np.maximum(x @ tensors[f"{name}.weight{layer}"] + tensors[f"{name}.bias{layer}"], 0)
    return (x @ tensors[f"{name}.weight3"] + tensors[f"{name}.bias3"])[:, 0]  # type: ignore[no-any-return]


def describe_plainly(table: Table, seat: int) -> list[float]:
    """What a seat has before it at the start of a round."""
    state, target = table.state(), table.options["target"]
    own, players = state["totals"][seat], table.players
    others = sorted((total for other, total in enumerate(state["totals"]) if other != seat), reverse=True)
    place = [(state["dealer"] + 1 + n) % players for n in range(players)].index(seat)

    def compare(points: float) -> float:
        return float(np.clip((points - own) / 100, -5, 5))

    return [
        min(5.0, (target - own) / 200), min(1.0, (target - own) / 50), compare(others[0]), compare(others[1 % len(others)]),
        compare(sum(others) / len(others)), min(1.0, (target - others[0]) / 50), place / (players - 1), float(place == 0),
        players / 12, 2 / players, float(table.options["brutal"]),
    ]  # fmt: skip


def value_plainly(table: Table) -> NDArray[np.float64]:
    """What a match is expected to pay each seat: the shares are the softmax of what the network says of all seats."""
    players = table.players
    weights = np.exp(ask_plainly("value", np.array([describe_plainly(table, seat) for seat in range(players)])))
    shares = weights / weights.sum()
    return (shares * players - 1) / (players - 1)  # type: ignore[no-any-return]


def start_round(seed: int, options: dict[str, OptionValue], rng: random.Random) -> Table:
    """A table at the start of a round, with some totals."""
    table = card_envs.table("flip7", seed=seed, **options)
    totals = [rng.randrange(int(table.options["target"])) for _ in range(table.players)]
    if rng.random() < 0.5:
        totals[0] = totals[-1]
    table.matches.states["totals"][0, : table.players] = totals
    table.matches.states["dealer"] = rng.randrange(table.players)
    return table


# ---- what a match is worth


@every_table
def test_a_match_is_worth_what_a_plain_twin_says(options: dict[str, OptionValue], seed: int) -> None:
    rng = random.Random(seed)
    for number in range(40):
        table = start_round(seed + number, options, rng)
        state: Any = Rows(table.matches.states)[0]
        values = [match_value(state, seat) for seat in range(table.players)]
        np.testing.assert_allclose(values, value_plainly(table), atol=1e-9)
        assert abs(sum(values)) < 1e-9


def test_who_is_ahead_is_expected_to_win() -> None:
    table = card_envs.table("flip7", players=3, seed=1)
    for totals in ([150, 50, 60], [198, 60, 60], [60, 20, 10]):
        table.matches.states["totals"][0, :3] = totals
        state: Any = Rows(table.matches.states)[0]
        values = [match_value(state, seat) for seat in range(3)]
        assert values[0] > 0.2 > -0.1 > max(values[1:])


@pytest.mark.parametrize(("players", "count"), [(2, 6000), (4, 6000)])
def test_values_are_what_matches_pay(players: int, count: int, seed: int) -> None:
    """On the average over many rounds of `ev`, in classes of values, within four standard errors and .02."""
    batch = advance(card_envs.batch("flip7", count, players=players, seed=seed), 0)
    policy, parameters = default_policy(GAME)
    rng = np.random.default_rng(seed)
    states = batch.matches.states
    states["totals"][:, :players] = rng.integers(0, 200, (count, players))
    values = np.array([match_value(state, 0) for state in Rows(states)])
    paid = batch.rollout(first_actions(batch), policy, parameters, until="match")[:, 0]
    for part in np.array_split(np.argsort(values), 5):
        error = paid[part].std() / len(part) ** 0.5
        assert abs(values[part].mean() - paid[part].mean()) < 4 * error + 0.02


def first_actions(batch: Batch) -> NDArray[np.int64]:
    actions = np.zeros(batch.size, np.int64)
    batch.choose("ev", None, actions)
    return actions


# ---- forks


def play_out(table: Table, action: int, parameters: NDArray[np.float64], policy: str) -> float:
    """Play an action and go on to the end of the round. Returns what the match pays the mover, or is expected to pay."""
    mover = table.to_move
    assert mover is not None
    while True:
        table.play(action)
        if table.is_over:
            return float(table.rewards[mover])
        if table.deals:
            return float(value_plainly(table)[mover])
        actions = np.empty(1, np.int64)
        table.batch.choose(policy, parameters, actions)
        action = int(actions[0])


@every_table
def test_forks_are_valued_by_the_match(options: dict[str, OptionValue], seed: int) -> None:
    batch, rng = card_envs.batch("flip7", 6, seed=seed, **options), np.random.default_rng(seed)
    policy, parameters = default_policy(GAME)
    ended = 0
    for _ in range(3):
        target, players = batch.options["target"], batch.players
        batch.matches.states["totals"][:, :players] = rng.integers(int(target) // 2, target, (6, players))
        batch.matches.refresh()
        candidates = batch.legal_actions()[:, :3]
        for decks in (0, 2):
            expected = np.full(candidates.shape, np.nan)
            for row, c in np.argwhere(candidates >= 0):
                root, *where = batch.matches.read_identity(row)
                total = 0.0
                for deck in range(max(1, decks)):
                    table = Table.from_row(batch.matches, row)
                    if decks:
                        lay_deck(table, streams.root_key(root), (*where, int(batch.decisions()[row])), deck)
                    total += play_out(table, int(candidates[row, c]), parameters, policy)
                    ended += table.is_over
                expected[row, c] = total / max(1, decks)
            values = batch.fork_values(candidates, policy, decks=decks, value="match")
            np.testing.assert_allclose(values, expected, atol=1e-9)
        whole = batch.fork_values(candidates, policy, until="match", value="match")
        np.testing.assert_array_equal(whole, batch.fork_values(candidates, policy, until="match"))
        advance(batch, 7)
    assert ended, "some matches end with the round"


def test_interpreted_values_are_the_same(seed: int) -> None:
    one, two = (advance(card_envs.batch("flip7", 2, seed=seed, interpreted=how), 6) for how in (False, True))
    legal = one.legal_actions()
    np.testing.assert_array_equal(*(batch.fork_values(legal, "ev", value="match") for batch in (one, two)))


@pytest.mark.parametrize("name", [name for name in card_envs.available_games() if name != "flip7"])
def test_other_games_cannot_tell(name: str) -> None:
    batch = card_envs.batch(name, 2, seed=1)
    with pytest.raises(ValueError, match=f"value = 'match': {name} cannot tell what a match is worth after a deal"):
        batch.fork_values(batch.legal_actions(), value="match")


def test_a_value_of_another_name_is_refused() -> None:
    batch = card_envs.batch("flip7", 2, seed=1)
    with pytest.raises(ValueError, match="unknown value 'score'"):
        batch.fork_values(batch.legal_actions(), value="score")


# ---- the player `race`


@every_table
def test_race_draws_where_the_network_says_so(options: dict[str, OptionValue], seed: int) -> None:
    """And decides everything else like `ev`, also what the end of the match decides."""
    rng, turns, different = random.Random(seed), 0, 0
    size = len(TURN_FIELDS)
    while turns < 100:
        table = card_envs.table("flip7", seed=seed + turns, **options)
        for _ in play_on(table, rng, 0.5):
            matches, seat = table.matches, table.to_move
            state: Any = Rows(matches.states)[0]
            chosen, by_ev = choice(table, "race"), choice(table)
            if state.phase != TURN or decide_end(state, seat, matches.words[0]) != OPEN:
                assert chosen == by_ev
                continue
            features = matches.write_action_features(matches.rows, np.zeros((1, 1), np.int64))[0, 0, :size]
            weight = ask_plainly("turn", features[None].astype(np.float64))[0]
            if abs(weight) > 1e-4:
                assert chosen == ("draw" if weight > 0 else "stay")
                turns += 1
                different += chosen != by_ev
    assert different


# ---- networks


def make_tensors(rng: np.random.Generator, inputs: int) -> dict[str, NDArray[np.float32]]:
    return {f"net.{part}": rng.normal(size=shape).astype(np.float32) for part, shape in list_shapes(inputs).items()}


def test_compiled_networks_are_those_of_numpy(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    tensors = make_tensors(rng, 9)
    path = tmp_path / "net.safetensors"
    path.write_bytes(save(tensors))
    network = read_perceptron(path, "net", 9)

    def run(m: Any, x: Any, out: Any) -> int:
        for n in range(len(x)):
            out[n] = ask(network, x[n])
        return 0

    x = rng.normal(size=(50, 9))
    x[rng.random(x.shape) < 0.3] = 0.0
    out, plain = np.empty(50), x
    compile_loop(GAME, Loop("ask", run, (ask,)))(0, x, out)
    for layer in (1, 2, 3):
        plain = plain @ tensors[f"net.weight{layer}"].astype(float) + tensors[f"net.bias{layer}"]
        plain = np.maximum(plain, 0) if layer < 3 else plain
    np.testing.assert_allclose(out, plain[:, 0], atol=1e-9)
    assert [ask(network, row) for row in x] == out.tolist()


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path, tensors = tmp_path / "net.safetensors", make_tensors(np.random.default_rng(1), 5)
    infinite = tensors["net.weight2"].copy()
    infinite[3, 3] = np.inf
    wrong: list[dict[str, Any]] = [
        {"net.weight1": tensors["net.weight1"][:4]}, {"net.bias1": tensors["net.bias1"].astype(np.float64)},
        {"net.weight2": infinite}, {"net.bias3": None},
    ]  # fmt: skip
    for change in wrong:
        path.write_bytes(save({key: value for key, value in (tensors | change).items() if value is not None}))
        with pytest.raises(ValueError, match=f"{next(iter(change))} must be finite float32"):
            read_perceptron(path, "net", 5)
    assert isinstance(read_perceptron(WEIGHTS, "value", RACE_FIGURES), Perceptron)
