"""Networks in compiled code: they compute what NumPy computes, copy their teachers, and choose in every loop."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import card_envs
from card_envs import Batch, Game
from card_envs.engine.loops import STREAM
from card_envs.engine.networks import MAP, SCORER, NetworkParameters, ScoredActions
from card_envs.engine.rollouts import start_streams
from card_envs.players import Decisions, load_player
from card_envs.players.checkpoint import save_network
from card_envs.players.network import Network
from tests.batches import advance
from tests.helpers import GAMES, quick
from tests.networks import FORMS, list_parameters, make_copying_network, make_random_network, write_out

SHAPES = [((), "relu"), ((24,), "tanh"), ((70, 9), "relu"), ((6, 33), "tanh")]  # hidden layers and their activation
ENOUGH = 10_000  # decisions
CLOSE = 1e-5

# Loops over rules and a network take long to compile, and they are the same for all games.
IN_LOOPS = [("flip7", MAP), ("pis_yedili", MAP), ("pis_yedili", SCORER)]

every_form = pytest.mark.parametrize(("name", "form"), FORMS)
in_loops = pytest.mark.parametrize(("name", "form"), IN_LOOPS)


def teach(game: Game) -> tuple[str, np.ndarray]:
    """A teacher, and parameters that are not its own."""
    teacher = game.default_opponent
    return teacher, list_parameters(game, teacher, None) * 1.25


def make_network(name: str, form: str, seed: int, shape: tuple[tuple[int, ...], str] = SHAPES[2], **options: Any) -> Network:
    game = card_envs.load_game(name)
    teacher, parameters = teach(game)
    hidden, activation = shape
    return make_random_network(
        game, game.resolve(options), form, seed, hidden=hidden, activation=activation, teacher=teacher, parameters=parameters
    )


def play_teacher(batch: Batch) -> np.ndarray:
    """What the teacher of the networks would do in every row."""
    actions = np.zeros(batch.size, np.int64)
    batch.choose(*teach(batch.game), actions)
    return actions


def ask(batch: Batch, network: Network) -> np.ndarray:
    """What a network does in every row."""
    actions = np.full(batch.size, -1)
    batch.choose(*network.bind(batch.game, batch.options), actions)
    return actions


def score(batch: Batch, network: Network) -> ScoredActions:
    return batch.matches.score_actions(batch.matches.rows, *network.bind(batch.game, batch.options))


def score_plainly(batch: Batch, network: Network, scored: ScoredActions) -> np.ndarray:
    """The scores by NumPy, from the features or the observation, and from what the teacher would do."""
    row = np.repeat(np.arange(batch.size), scored.counts)
    taught = (scored.actions == play_teacher(batch)[row]).astype(np.float32)
    if network.form == MAP:
        logits = network.scores(batch.observation)
        return np.asarray(logits[row, scored.actions] + taught * network.skip)
    legal = batch.legal_actions()
    features = batch.matches.write_action_features(batch.matches.rows, legal)[legal >= 0]
    inputs = np.concatenate([features, taught[:, None]], axis=1)
    np.testing.assert_array_equal(scored.inputs, inputs)
    return network.scores(inputs)


# ---- what they compute


@every_form
def test_compiled_networks_compute_and_choose_what_numpy_does(name: str, form: str, seed: int) -> None:
    """Scores agree to 1e-5, and so does every choice but where the two best scores differ by less."""
    decisions = near = 0
    for number, shape in enumerate(SHAPES):
        network = make_network(name, form, seed + number, shape, players=3)
        batch = advance(card_envs.batch(name, 500, seed=seed + number, **network.metadata["options"]), 3)
        for step in range(6):
            scored = score(batch, network)
            plain, where = score_plainly(batch, network, scored), f"{shape}, step {step}, seed {seed}"
            np.testing.assert_allclose(scored.scores, plain, rtol=0, atol=CLOSE, err_msg=where)
            np.testing.assert_array_equal(scored.counts, batch.action_mask.sum(axis=1))
            chosen, ends = ask(batch, network), np.cumsum(scored.counts)
            for row, (start, end) in enumerate(zip(ends - scored.counts, ends, strict=True)):
                order = np.sort(plain[start:end])
                if end - start > 1 and order[-1] - order[-2] < CLOSE:
                    near += 1
                else:
                    assert chosen[row] == scored.actions[start + plain[start:end].argmax()], f"row {row}, {where}"
            decisions += batch.size
            for _ in range(4):
                batch.step(play_teacher(batch))
            batch.step(chosen)
    assert decisions >= ENOUGH
    assert near < decisions / 100


@every_form
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_numpy_computes_the_formula(name: str, form: str, shape: tuple[tuple[int, ...], str], seed: int) -> None:
    network = make_network(name, form, seed, shape, players=3)
    width = network.layers[0][0].shape[1]
    inputs = np.random.default_rng(seed).normal(size=(3, width)).astype(np.float32)
    for row, found in zip(inputs, network.scores(inputs), strict=True):
        np.testing.assert_allclose(found, write_out(network, row), atol=1e-4, err_msg=f"seed {seed}")


@every_form
def test_a_sampling_network_draws_by_probability(name: str, form: str, seed: int) -> None:
    """Frequencies of 20,000 draws agree with the softmax over the legal actions, and the same keys draw the same actions."""
    network, n = make_network(name, form, seed, players=2), 20_000
    batch = advance(card_envs.batch(name, 64, seed=seed, players=2), 4)
    row = int(np.abs(batch.action_mask.sum(axis=1) - 4).argmin())
    many = batch.gather(np.full(n, row))
    many.matches.keys[:, STREAM] = start_streams(np.arange(n) + seed * n)
    scored = score(batch.gather([row]), network)
    scores = scored.scores.astype(float)
    p = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
    assert len(p) > 1
    assert (ask(many, network) == scored.actions[p.argmax()]).all()
    network.deterministic = False
    drawn = ask(many, network)
    counts = np.bincount(drawn, minlength=many.num_actions)
    assert counts.sum() == counts[scored.actions].sum(), "only legal ones"
    wrong = np.abs(counts[scored.actions] - n * p) > 5 * np.sqrt(n * p * (1 - p)) + 1e-9
    assert not wrong.any(), f"seed {seed}: {counts[scored.actions] / n}, {p}"
    np.testing.assert_array_equal(drawn, ask(many, network))
    some = np.arange(0, n, 97)
    np.testing.assert_array_equal(network.act(Decisions(many.matches, some)), drawn[some])
    network.deterministic = True
    assert (ask(many, network) == scored.actions[p.argmax()]).all()


@every_form
def test_layers_can_be_replaced(name: str, form: str, seed: int) -> None:
    batch = advance(card_envs.batch(name, 200, seed=seed, players=2), 5)
    one, other = (make_network(name, form, seed + i, players=2) for i in range(2))
    before = ask(batch, one)
    expected = ask(batch, Network(other.layers, one.metadata, skip=one.skip))
    one.layers = other.layers
    np.testing.assert_array_equal(ask(batch, one), expected)
    assert (expected != before).any()
    with pytest.raises(ValueError, match="other shapes"):
        one.layers = other.layers[:-1]


# ---- teachers


@every_form
@pytest.mark.parametrize("which", ["default", "random"])
def test_a_network_without_weights_is_its_teacher(name: str, form: str, which: str, seed: int) -> None:
    """In every decision of whole matches, at tables of several sizes; also where the teacher draws at random."""
    game = card_envs.load_game(name)
    teacher, parameters = teach(game) if which == "default" else ("random", np.zeros(0))
    for players in (2, 3, game.players[-1]):
        options = game.resolve(quick(name, {"players": players}))
        network = make_copying_network(game, options, form, teacher, parameters)
        batch, ended = card_envs.batch(name, 16, seed=seed, **options), np.zeros(16, bool)
        actions, steps = np.zeros(16, np.int64), 0
        while not ended.all() and steps < 3000:
            batch.choose(teacher, parameters, actions)
            np.testing.assert_array_equal(ask(batch, network), actions, f"{players} players, step {steps}, seed {seed}")
            batch.step(actions)
            ended |= batch.terminated | batch.truncated
            steps += 1
        assert ended.any()


# ---- loops


@every_form
def test_interpreted_networks_are_the_same(name: str, form: str, seed: int) -> None:
    network = make_network(name, form, seed, ((5, 4), "relu"), players=2)
    one, two = (
        advance(card_envs.batch(name, 2, seed=seed, interpreted=interpreted, players=2), 4) for interpreted in (False, True)
    )
    np.testing.assert_array_equal(ask(one, network), ask(two, network))
    for mine, its in zip(score(one, network), score(two, network), strict=True):
        np.testing.assert_array_equal(mine, its, f"seed {seed}")


@pytest.mark.parametrize("form", [SCORER, MAP])
def test_interpreted_loops_are_the_same(form: str, seed: int) -> None:
    """Those in which a policy chooses, in one game: they are the same in all, and interpreted rules are slow."""
    options = quick("pis_yedili", {"players": 2})
    network = make_network("pis_yedili", form, seed, ((5, 4), "relu"), **options)
    results = []
    for interpreted in (False, True):
        batch = advance(card_envs.batch("pis_yedili", 2, seed=seed, interpreted=interpreted, **options), 6)
        policy, parameters = network.bind(batch.game, batch.options)
        candidates = batch.legal_actions()[:, :2]
        values = batch.fork_values(candidates, policy, parameters, decks=1, until="deal")
        paid = batch.clone().rollout(candidates[:, 0], policy, parameters, until="deal")
        ended, wins = batch.playout(3, policy, parameters)
        results.append([values, paid, np.array(ended), wins, batch.observation.copy()])
    for one, two in zip(*results, strict=True):
        np.testing.assert_array_equal(one, two, f"seed {seed}")


@in_loops
@pytest.mark.parametrize("until", ["deal", "match"])
def test_loops_do_what_a_network_does_step_by_step(name: str, form: str, until: str, seed: int) -> None:
    options = quick(name, {"players": 2})
    network = make_network(name, form, seed, **options)
    policy, parameters = network.bind(card_envs.load_game(name), network.metadata["options"])
    batch = advance(card_envs.batch(name, 6, seed=seed, **options), 5)
    candidates = batch.legal_actions()[:, :2]
    values = batch.fork_values(candidates, policy, parameters, decks=0, until=until)
    for c in range(2):
        rows = np.flatnonzero(candidates[:, c] >= 0)
        forked = batch.gather(rows)
        movers = forked.to_move.copy()
        paid = forked.clone().rollout(candidates[rows, c], policy, parameters, until=until)
        np.testing.assert_array_equal(paid[np.arange(len(rows)), movers], values[rows, c])
        for row in range(len(rows)):
            table = card_envs.Table.from_row(forked.matches, row)
            deals = len(table.deals)
            table.play(int(candidates[rows[row], c]))
            while not table.is_over and (until == "match" or len(table.deals) == deals):
                table.play(int(network.act(Decisions.at(table))[0]))
            if until == "match":
                expected = np.asarray(table.rewards, float)
            else:
                scores = np.array(table.deals[deals], float)
                expected = (scores - (scores.sum() - scores)) * forked.matches.scale
            np.testing.assert_allclose(paid[row], expected, atol=1e-12, err_msg=f"row {row}, seed {seed}")


@in_loops
def test_forks_do_not_depend_on_threads(name: str, form: str, seed: int) -> None:
    network = make_network(name, form, seed, players=2)
    values = []
    for threads in (1, 2):
        batch = advance(card_envs.batch(name, 150, seed=seed, players=2, threads=threads), 5)
        policy, parameters = network.bind(batch.game, batch.options)
        values.append(batch.fork_values(batch.legal_actions()[:, :3], policy, parameters, decks=2))
    np.testing.assert_array_equal(*values)


@every_form
def test_threads_can_share_a_network(name: str, form: str, seed: int) -> None:
    """As the arena's do. Two of them ask it at the same time, each for matches of its own."""
    network = make_network(name, form, seed, ((64, 64), "tanh"), players=2)
    batches = [advance(card_envs.batch(name, 1500, seed=seed + i, players=2), 4) for i in range(2)]
    expected = [ask(batch, network) for batch in batches]
    rows = batches[0].matches.rows

    def choose(number: int) -> None:
        matches, who = batches[number % 2].matches, np.zeros(1500, np.int8)
        for _ in range(4):
            matches.actions[:] = -1
            network.write_actions(matches, rows, who, 0)
            np.testing.assert_array_equal(matches.actions, expected[number % 2])
            np.testing.assert_array_equal(network.act(Decisions(matches, rows)), expected[number % 2])

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(choose, range(2)))


# ---- copies


WAYS = {"pickle": lambda value: pickle.loads(pickle.dumps(value)), "deepcopy": copy.deepcopy}


@every_form
@pytest.mark.parametrize("way", WAYS)
def test_a_copy_of_a_network_that_has_played_plays_the_same(name: str, form: str, way: str, seed: int) -> None:
    network = make_network(name, form, seed, players=2)
    batch = advance(card_envs.batch(name, 100, seed=seed, players=2), 5)
    expected = ask(batch, network)
    other = WAYS[way](network)
    assert other.metadata == network.metadata
    other_batch = WAYS[way](batch)  # which has been played by a network
    np.testing.assert_array_equal(ask(other_batch, other), expected)
    mine, its = (one.bind(batch.game, batch.options)[1] for one in (network, other))
    assert not any(np.shares_memory(a, b) for a, b in zip(mine, its, strict=True))


def test_a_network_plays_the_same_in_another_process(tmp_path: Path, seed: int) -> None:
    name, form = FORMS[-1]
    network = make_network(name, form, seed, players=2)
    save_network(tmp_path / "net.safetensors", network)
    batch = advance(card_envs.batch(name, 100, seed=seed, players=2), 5)
    (tmp_path / "it").write_bytes(pickle.dumps((load_player(tmp_path / "net.safetensors"), batch)))
    code = (
        "import pickle, sys, numpy as np; from card_envs.players import Decisions;"
        "player, batch = pickle.load(open(sys.argv[1], 'rb'));"
        "print(player.act(Decisions(batch.matches, np.arange(100))).tolist())"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "it"], capture_output=True, text=True, timeout=300, check=True
    )
    assert ended.stdout.strip() == str(ask(batch, network).tolist())


# ---- bad input


def spoil(p: NetworkParameters) -> list[tuple[str, Any]]:
    """Parameters of which one array is not what compiled code expects."""
    spoiled: list[tuple[str, Any]] = []
    for name, array in p._asdict().items():
        others: dict[str, Any] = {
            "longer": np.concatenate([array, array[:1]] if len(array) else [array, np.zeros(1, array.dtype)]),
            "deeper": array[None],
            "of another type": array.astype(np.float32 if array.dtype == np.float64 else np.float64),
            "a list": array.tolist(),
            "none": None,
        }
        if len(array):
            others["shorter"] = array[:-1]
            others["empty"] = array[:0]
        if len(array) > 1:
            others["strided"] = np.repeat(array, 2, axis=0)[::2]
        if array.ndim > 1:
            others["narrower"] = np.ascontiguousarray(array[:, 1:])
            others["in columns"] = np.asfortranarray(array) if min(array.shape) > 1 else array[:, ::-1]
        read_only = array.copy()
        read_only.flags.writeable = False
        others["read-only"] = read_only
        spoiled += [(f"{name}: {what}", p._replace(**{name: other})) for what, other in others.items()]
    for sizes in ([], [p.sizes[0]], [0, 1], [-1, 1], [p.sizes[0], -5, p.sizes[-1]], [p.sizes[0], 2**62, p.sizes[-1]]):
        spoiled.append((f"sizes: {sizes}", p._replace(sizes=np.array(sizes, np.int64))))
    if len(p.teacher):
        spoiled += [(f"teacher: {value}", p._replace(teacher=np.full_like(p.teacher, value))) for value in (np.nan, 1e300)]
    return [*spoiled, ("nothing", None), ("numbers", np.zeros(3)), ("a tuple", tuple(p))]


@every_form
def test_other_parameters_are_refused(name: str, form: str, seed: int) -> None:
    network = make_network(name, form, seed, players=2)
    batch = card_envs.batch(name, 4, seed=seed, players=2)
    policy, parameters = network.bind(batch.game, batch.options)
    candidates, actions = batch.legal_actions(), np.zeros(4, np.int64)
    before = batch.matches.states.tobytes()
    for what, wrong in spoil(parameters):
        for call in (
            lambda p: batch.choose(policy, p, actions),
            lambda p: batch.playout(1, policy, p),
            lambda p: batch.rollout(candidates[:, 0], policy, p),
            lambda p: batch.fork_values(candidates, policy, p),
            lambda p: Decisions(batch.matches, batch.matches.rows).choose(policy, p),
        ):
            with pytest.raises(ValueError, match=policy.name):
                print(what, call(wrong))
    assert batch.matches.states.tobytes() == before
    batch.choose(policy, parameters, actions)


@pytest.mark.parametrize("name", GAMES)
def test_networks_of_other_tables_are_refused(name: str, seed: int) -> None:
    """The number of players changes the actions and the observation."""
    network = make_network(name, MAP, seed, players=2)
    policy, parameters = network.bind(card_envs.load_game(name), network.metadata["options"])
    batch = card_envs.batch(name, 4, seed=seed, players=4)
    with pytest.raises(ValueError, match=policy.name):
        batch.choose(policy, parameters, np.zeros(4, np.int64))
    with pytest.raises(ValueError, match="trained for option players 2, but the table's is 4"):
        ask(batch, network)
    with pytest.raises(ValueError, match=r"^random"):
        batch.choose("random", parameters, np.zeros(4, np.int64))  # type: ignore[arg-type]


def test_a_game_without_action_features_has_no_scorers() -> None:
    from card_envs.engine.forward import make_scorer

    for name in GAMES:
        game = card_envs.load_game(name)
        if (name, SCORER) not in FORMS:
            with pytest.raises(ValueError, match="has no action features"):
                make_scorer(game, game.policy("random"))
