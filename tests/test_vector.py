"""The vector environments: decks and masks given to ``reset()``, how they go on after a match, orders of calls."""

from __future__ import annotations

import pickle
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode
from numpy.testing import assert_array_equal

import card_envs
from tests.games.pis_yedili import ten_draws
from tests.helpers import make_card_vec_env, quick
from tests.test_single_agent import every_game, gym_name, legal

MODES = [mode.value for mode in AutoresetMode]
every_mode = pytest.mark.parametrize("mode", MODES)


def make(name: str, num_envs: int = 4, mode: str = "SameStep", **options: Any) -> Any:
    return gymnasium.make_vec(gym_name(name), num_envs=num_envs, autoreset_mode=mode, opponents="random", **options)


def shown(env: Any) -> list[str]:
    """The tables of all rows as text."""
    return list(env.render())


# ---- decks


@every_mode
def test_a_deck_is_laid_in_every_row(mode: str) -> None:
    """Issue 11, clients: ``reset(options={"deck": …})`` works as in the single environment, in every row."""
    env = make("flip7", 3, mode, players=2, seat=0, render_mode="ansi")
    single = gymnasium.make(gym_name("flip7"), players=2, opponents="random", seat=0)
    observations, infos = env.reset(seed=7, options={"deck": ["lucky13", "5"]})
    for row in range(3):
        seen, info = single.reset(seed=7 + row, options={"deck": ["lucky13", "5"]})
        assert_array_equal(observations[row], seen)
        assert_array_equal(infos["action_mask"][row], info["action_mask"])
    env.reset(seed=7)
    plain = shown(env)
    env.reset(seed=7, options={})
    assert shown(env) == plain, "the deck was given for one match"


def test_a_deck_for_each_deal_is_laid_in_every_row() -> None:
    game = card_envs.load_game("pis_yedili")
    decks = [ten_draws(), ten_draws(), list(reversed(game.cards))]
    env = make("pis_yedili", 3, players=6, seat=0)
    single = gymnasium.make(gym_name("pis_yedili"), players=6, opponents="random", seat=0)
    observations, _ = env.reset(seed=7, options={"deck": decks})
    seen, _ = single.reset(seed=7, options={"deck": decks})
    draw = game.action_index("draw", 0, 6)
    for _ in range(10):  # seat 1 ends the second deal
        observations, *_ = env.step([draw] * 3)
        seen, *_ = single.step(draw)
        assert_array_equal(observations[0], seen)
    fields = game.observation_fields({"players": 6})
    assert (observations[:, fields["deal"].slice] * fields["deal"].scale == 3).all()
    dealt = set(decks[2][4:42:6])
    for observation in observations:
        held = {game.cards[i] for i in np.flatnonzero(observation[fields["cards"].slice] >= 0)}
        assert dealt <= held


def test_given_decks_end_with_their_match() -> None:
    """The decks of later deals belong to one match of one row."""
    game = card_envs.load_game("pis_yedili")
    decks = [ten_draws(), ten_draws(), list(reversed(game.cards))]
    options = {"players": 6, "seat": 0, "render_mode": "ansi"}
    env, other = make("pis_yedili", 2, **options), make("pis_yedili", 2, **options)
    env.reset(seed=7, options={"deck": decks})
    env.reset(seed=9, options={"reset_mask": np.array([True, False])})
    other.reset(seed=9)
    draw = game.action_index("draw", 0, 6)
    for _ in range(8):
        env.step([draw] * 2)
        other.step([draw] * 2)
        assert shown(env)[0] == shown(other)[0]
    assert shown(env)[1] != shown(other)[1]


def test_stable_baselines_takes_a_deck_for_all_rows_or_for_each() -> None:
    """Issue 11, clients: ``set_options`` was ignored with more than one row."""
    fields = card_envs.load_game("flip7").observation_fields({"players": 2})

    def own_cards(observations: np.ndarray) -> list[list[int]]:
        return [seen[fields["line"].slice].reshape(2, -1)[0].nonzero()[0].tolist() for seen in observations]

    env = make_card_vec_env("flip7", 3, players=2, opponents="random", seat=0, seed=1)
    env.set_options({"deck": ["lucky13", "5"]})
    assert own_cards(env.reset()) == [[14]] * 3
    env.set_options([{"deck": ["3", "5"]}, {}, {"deck": ["8", "5"]}])
    env.seed(1)
    own = own_cards(env.reset())
    assert (own[0], own[2]) == ([3], [8])
    env.seed(1)
    assert own_cards(env.reset())[1] == own[1], "a deck holds for one reset, in its own row"


# ---- masks and seeds


@every_mode
@every_game
def test_reset_mask_resets_these_rows_only(name: str, mode: str, seed: int) -> None:
    """Issue 11, clients: ``reset_mask`` was ignored, and all rows were reset."""
    options = quick(name, {"players": 2, "render_mode": "ansi"})
    env, twin = make(name, 4, mode, **options), make(name, 4, mode, **options)
    for one in (env, twin):
        one.reset(seed=seed)
    rng = np.random.default_rng(seed)
    for _ in range(3):
        actions = legal(rng, env.action_masks())
        env.step(actions)
        twin.step(actions)
        if mode == "Disabled" and (ended := ended_rows(env)).any():
            for one in (env, twin):
                one.reset(options={"reset_mask": ended})
    mask = np.array([False, True, False, True])
    given = {"reset_mask": mask, "anything": 1}
    observations, infos = env.reset(seed=[None, 77, None, None], options=given)
    assert given["reset_mask"] is mask, "the wrappers of Gymnasium read it after the reset"
    kept = twin.action_masks()
    assert_array_equal(infos["action_mask"][~mask], kept[~mask])
    for row in (0, 2):
        assert shown(env)[row] == shown(twin)[row]
    single = gymnasium.make(gym_name(name), opponents="random", **options)
    seen, info = single.reset(seed=77)
    assert_array_equal(observations[1], seen)
    assert_array_equal(infos["action_mask"][1], info["action_mask"])
    assert infos["seat"][1] == info["seat"]
    for _ in range(20):  # the other rows go on as if nothing had happened
        actions = legal(rng, env.action_masks())
        ours, theirs = env.step(actions), twin.step(np.where(mask, legal(rng, twin.action_masks()), actions))
        for part in range(4):
            assert_array_equal(ours[part][~mask], theirs[part][~mask])
        if mode == "Disabled":
            for one in (env, twin):
                if (ended := ended_rows(one)).any():
                    one.reset(options={"reset_mask": ended})


def ended_rows(env: Any) -> np.ndarray:
    """The rows whose match is over, where nobody deals the next one."""
    return np.array(["over" in text for text in shown(env)])


def test_a_list_of_seeds_may_hold_none() -> None:
    """Issue 11, clients: such a row goes on to its next match."""
    env = make("flip7", 3, players=2, render_mode="ansi")
    env.reset(seed=[5, 6, 7])
    env.reset(seed=[None, 9, None])
    mixed = shown(env)
    env.reset(seed=[5, 9, 7])
    assert shown(env)[1] == mixed[1]
    env.reset(seed=[5, 6, 7])
    env.reset()
    assert [shown(env)[row] for row in (0, 2)] == [mixed[row] for row in (0, 2)]
    fresh = make("flip7", 3, players=2, render_mode="ansi")
    fresh.reset(seed=[None, 9, None])
    assert shown(fresh)[1] == mixed[1]


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"seed": [1, 2]}, ValueError, "3 numbers are expected, one for each row, but 2 are given"),
        ({"seed": [1, -2, 3]}, ValueError, "seed = -2: allowed"),
        ({"seed": [1, None, -3]}, ValueError, "seed = -3: allowed"),
        ({"seed": -1}, ValueError, "seed = -1"),
        ({"seed": 2**256 - 1}, ValueError, f"seed = {2**256}: allowed"),
        ({"seed": [1, 2, 3.0]}, ValueError, "seed = 3.0: allowed"),
        ({"seed": True}, ValueError, "seed = True"),
        ({"options": {"deck": ["flip_fuor"]}}, ValueError, "did you mean 'flip_four'"),
        ({"options": {"deck": ["0", "0"]}}, ValueError, "named more than 1 time"),
        ({"options": {"reset_mask": [True, False, False]}}, TypeError, "a NumPy array of booleans"),
        ({"options": {"reset_mask": np.ones(3, np.int64)}}, TypeError, "a NumPy array of booleans"),
        ({"options": {"reset_mask": np.ones(2, np.bool_)}}, ValueError, r"shape \(3,\)"),
        ({"options": {"reset_mask": np.zeros(3, np.bool_)}}, ValueError, "with a row to reset"),
    ],
)
def test_a_bad_reset_is_one_line_and_changes_nothing(arguments: dict[str, Any], kind: type[Exception], message: str) -> None:
    env, twin = make("flip7", 3, players=2, render_mode="ansi"), make("flip7", 3, players=2, render_mode="ansi")
    for one in (env, twin):
        one.reset(seed=4)
    with pytest.raises(kind, match=message) as caught:
        env.reset(**arguments)
    assert "\n" not in str(caught.value)
    assert shown(env) == shown(twin)
    rng = np.random.default_rng(4)
    for _ in range(30):
        actions = legal(rng, env.action_masks())
        for part, other in zip(env.step(actions)[:4], twin.step(actions)[:4], strict=True):
            assert_array_equal(part, other)


@every_mode
@every_game
def test_any_calls_in_any_order_play_the_matches_of_single_environments(
    name: str, mode: str, seed: int, pytestconfig: pytest.Config
) -> None:
    """Issue 11, clients, as a seeded fuzz: steps, resets with masks, seeds, ``None`` and decks, illegal actions, pickles."""
    options = quick(name, {"players": 2})
    env, rng = make(name, 3, mode, **options), np.random.default_rng((seed, MODES.index(mode)))
    singles = [gymnasium.make(gym_name(name), opponents="random", **options) for _ in range(3)]
    cards = list(card_envs.load_game(name).cards)
    observations, infos = env.reset(seed=seed)
    expected = [single.reset(seed=seed + row) for row, single in enumerate(singles)]
    ended = np.zeros(3, np.bool_)
    for _ in range(2000 if pytestconfig.getoption("--long") else 150):
        call = rng.choice(["step"] * 12 + ["reset", "pickle"])
        if call == "pickle":
            env = pickle.loads(pickle.dumps(env))
        elif call == "reset" or (mode == "Disabled" and ended.any()):
            mask = ended.copy() if ended.any() and rng.random() < 0.7 else rng.random(3) < 0.6
            mask |= ended if mode == "Disabled" or not mask.any() else False
            mask[rng.integers(3)] |= not mask.any()
            seeds = [None if rng.random() < 0.5 else int(rng.integers(2**62)) for _ in range(3)]
            given: dict[str, Any] = {"reset_mask": mask}
            if rng.random() < 0.4:
                given["deck"] = rng.permutation(cards).tolist()[: rng.integers(1, 20)]
            observations, infos = env.reset(seed=seeds, options=given)
            for row in np.flatnonzero(mask):
                expected[row] = singles[row].reset(seed=seeds[row], options={"deck": given.get("deck")})
            ended &= ~mask
        else:
            actions = legal(rng, infos["action_mask"])
            if rng.random() < 0.1:
                actions[rng.integers(3)] = -1
            observations, rewards, terminated, truncated, infos = env.step(actions)
            for row, single in enumerate(singles):
                if ended[row]:  # NextStep: the action is ignored
                    expected[row] = single.reset()
                    answer: tuple[Any, ...] = (0.0, False, False)
                else:
                    seen, *answer, info = single.step(actions[row])
                    expected[row] = seen, info
                    if (answer[1] or answer[2]) and mode == "SameStep":
                        assert_array_equal(infos["final_obs"][row], seen)
                        expected[row] = single.reset()
                assert (rewards[row], terminated[row], truncated[row]) == tuple(answer)
            ended = (terminated | truncated) & (mode != "SameStep")
        for row, (seen, info) in enumerate(expected):
            assert_array_equal(observations[row], seen)
            mask = infos["action_mask"][row]
            assert np.flatnonzero(mask).tolist() == [0] if ended[row] else (mask == info["action_mask"]).all()
            assert infos["seat"][row] == info["seat"]
        assert_array_equal(env.action_masks(), infos["action_mask"])


# ---- going on after a match


@every_game
def test_without_autoreset_a_finished_row_waits_for_its_reset(name: str, seed: int) -> None:
    """Issue 11, clients: ``autoreset_mode="Disabled"`` with ``reset_mask`` plays the matches of the single environment."""
    options = quick(name, {"players": 2})
    env = make(name, 3, "Disabled", **options)
    singles = [gymnasium.make(gym_name(name), opponents="random", **options) for _ in range(3)]
    observations, infos = env.reset(seed=seed)
    assert env.metadata["autoreset_mode"] is AutoresetMode.DISABLED
    for row, single in enumerate(singles):
        single.reset(seed=seed + row)
    rng, ends = np.random.default_rng(seed), 0
    for _ in range(240):
        actions = legal(rng, infos["action_mask"])
        observations, rewards, terminated, truncated, infos = env.step(actions)
        assert "final_obs" not in infos
        ended = terminated | truncated
        for row, single in enumerate(singles):
            seen, reward, end, cut, info = single.step(actions[row])
            assert (reward, end, cut) == (rewards[row], terminated[row], truncated[row])
            assert_array_equal(seen, observations[row])
            if not (end or cut):
                assert_array_equal(info["action_mask"], infos["action_mask"][row])
        if ended.any():
            ends += ended.sum()
            assert all(np.flatnonzero(mask).tolist() == [0] for mask in infos["action_mask"][ended])
            with pytest.raises(ResetNeeded, match=rf"call reset\(\) \(row {np.argmax(ended)}\)"):
                env.step(legal(rng, infos["action_mask"]))
            observations, infos = env.reset(options={"reset_mask": ended})
            for row in np.flatnonzero(ended):
                seen, info = singles[row].reset()
                assert_array_equal(seen, observations[row])
                assert_array_equal(info["action_mask"], infos["action_mask"][row])
    assert ends > 5


@pytest.mark.parametrize("mode", ["NextStep", "Disabled"])  # the wrapper of Gymnasium 1.1 knows no other
def test_gymnasiums_own_wrapper_counts_episodes_with_masks(mode: str) -> None:
    env = gymnasium.wrappers.vector.RecordEpisodeStatistics(make("flip7", 4, mode, players=2, target=20))
    _, infos = env.reset(seed=3)
    rng, returns, expected = np.random.default_rng(3), [], []
    paid = np.zeros(4)
    for _ in range(60):
        _, rewards, terminated, truncated, infos = env.step(legal(rng, infos["action_mask"]))
        paid += rewards
        ended = terminated | truncated
        if ended.any():
            returns += infos["episode"]["r"][ended].tolist()
            expected += paid[ended].tolist()
            paid[ended] = 0.0
            if mode == "Disabled":
                _, infos = env.reset(options={"reset_mask": ended.copy()})
    assert len(returns) > 20
    assert returns == pytest.approx(expected)


@every_mode
@every_game
def test_a_step_before_reset_is_an_error(name: str, mode: str) -> None:
    """Issue 11, clients: it played a match that nobody had asked for."""
    env = make(name, 3, mode, players=2)
    with pytest.raises(ResetNeeded, match=r"call reset\(\)"):
        env.step(np.zeros(3, np.int64))
    env.reset(seed=1, options={"reset_mask": np.array([True, False, True])})
    with pytest.raises(ResetNeeded, match=r"\(row 1\)"):
        env.step(np.zeros(3, np.int64))
    _, infos = env.reset(options={"reset_mask": np.array([False, True, False])})
    env.step(legal(np.random.default_rng(1), infos["action_mask"]))


@every_game
def test_a_step_before_reset_is_an_error_for_stable_baselines(name: str) -> None:
    env = make_card_vec_env(name, 2, players=2, opponents="random", seed=1)
    with pytest.raises(ResetNeeded, match=r"call reset\(\)"):
        env.step(np.zeros(2, np.int64))
    env.reset()
    env.step(legal(np.random.default_rng(1), env.action_masks()))
