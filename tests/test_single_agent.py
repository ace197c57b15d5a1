"""The environments of a single learner: Gymnasium, its vector environments, and the core that they share."""

from __future__ import annotations

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import card_envs
from card_envs.engine import loops
from card_envs.engine.batch import Batch
from card_envs.envs.gym import build_gym_id
from card_envs.envs.single_agent import SingleAgentBatch
from tests import games
from tests.games.pis_yedili import ten_draws
from tests.helpers import GAMES, kit_options, label, make_card_vec_env, quick

SEED = 20261129

every_game = pytest.mark.parametrize("name", GAMES)


def gym_name(name: str) -> str:
    return build_gym_id(card_envs.load_game(name))


def legal(rng: np.random.Generator, masks: np.ndarray) -> np.ndarray:
    return np.array([rng.choice(np.flatnonzero(mask)) for mask in masks])


def returns_of_matches(learner: SingleAgentBatch, rng: np.random.Generator) -> dict[tuple[int, ...], list]:
    """Play random learners until every row has ended a match.

    Returns, for each match, the seat of the learner, their actions, what they were paid and whether the match ended."""
    batch = Batch.wrap(learner.matches)
    matches: dict[tuple[int, ...], list] = {}
    while len({key[loops.ROW] for key, match in matches.items() if match[3]}) < batch.size:
        ids = [tuple(row) for row in batch.identity().tolist()]
        seats = learner.learner_seat
        actions = legal(rng, learner.action_mask())
        outcome = learner.step(actions)
        for row, key in enumerate(ids):
            match = matches.setdefault(key, [int(seats[row]), [], 0.0, False])
            match[1].append(int(actions[row]))
            match[2] += outcome.rewards[row]
            match[3] = bool(outcome.terminated[row] or outcome.truncated[row])
    return matches


def replayed_return(name: str, identity: tuple[int, ...], seat: int, actions: list[int], **arguments) -> float:
    """What the seat of the learner is paid when the same match is played on a batch of one, against random opponents."""
    batch = card_envs.batch(name, 1, seed=0, **arguments)
    batch.matches.auto_reset = False
    batch.matches.deal_ordered(identity, [])
    mine = iter(actions)
    total = 0.0
    while batch.to_move[0] >= 0:
        action = [next(mine)] if batch.to_move[0] == seat else batch.sample()
        batch.step(action)
        total += batch.rewards[0, seat]
    assert next(mine, None) is None
    return total


@pytest.mark.parametrize("reward", ["win", "score", "margin"])
@pytest.mark.parametrize("episode", ["match", "deal"])
@pytest.mark.parametrize("players", [2, 4])
@every_game
def test_rewards_returned_sum_to_the_match_return_of_every_seat(name, players, episode, reward):
    arguments = {"players": players, "reward": reward, "episode": episode}
    learner = SingleAgentBatch(card_envs.load_game(name), 4 * players, opponents="random", seed=SEED, **arguments)
    matches = returns_of_matches(learner, np.random.default_rng(SEED))
    ended = {key: match for key, match in matches.items() if match[3]}
    assert {match[0] for match in ended.values()} == set(range(players))
    for key, (seat, actions, paid, _) in ended.items():
        assert paid == pytest.approx(replayed_return(name, key, seat, actions, **arguments)), (SEED, key)


def test_skipped_matches_are_counted_with_what_they_paid():
    # with twelve players, Flip Four or Just One More now and then ends the deal of a seat before its first turn
    arguments = {"players": 12, "episode": "deal"}
    learner = SingleAgentBatch(card_envs.load_game("flip7"), 512, opponents="random", seat=11, seed=SEED, **arguments)
    rng = np.random.default_rng(SEED)
    skipped, skipped_rewards, paid, played = 0, 0.0, 0.0, 0
    for _ in range(60):
        outcome = learner.step(legal(rng, learner.action_mask()))
        skipped += outcome.skipped.sum()
        skipped_rewards += outcome.skipped_rewards.sum()
        paid += outcome.rewards.sum()
        played += (outcome.terminated | outcome.truncated).sum()
    assert skipped > 100
    # every match that a row has left was either played or skipped, and both kinds pay
    left = learner.matches.identity[:, loops.MATCH].sum()
    assert played + skipped <= left
    assert left - (played + skipped) <= 512  # the matches skipped in reset()
    assert skipped_rewards != 0.0
    total = (paid + skipped_rewards) / (played + skipped)
    assert abs(total) < 4 * np.sqrt(1 / (played + skipped)), SEED


@every_game
@pytest.mark.parametrize("players", [2, 3])
def test_a_random_learner_among_random_opponents_averages_zero(name, players):
    learner = SingleAgentBatch(card_envs.load_game(name), 1024, opponents="random", seed=SEED, players=players)
    returns = []
    running = np.zeros(1024)
    while len(returns) < 6000:
        outcome = learner.step(Batch.wrap(learner.matches).sample())
        running += outcome.rewards
        ended = outcome.terminated | outcome.truncated
        returns += running[ended].tolist()
        running[ended] = 0.0
        assert not outcome.skipped.any()
    values = np.array(returns)
    assert abs(values.mean()) < 3.5 * values.std() / np.sqrt(len(values)), (SEED, values.mean())


@every_game
def test_seats_are_balanced_over_rows_and_take_turns(name):
    learner = SingleAgentBatch(card_envs.load_game(name), 40, opponents="random", seed=5, players=4)
    assert np.bincount(learner.learner_seat).tolist() == [10, 10, 10, 10]
    first = learner.learner_seat
    learner.reset()
    assert (learner.learner_seat == (first + 1) % 4).all()
    fixed = SingleAgentBatch(card_envs.load_game(name), 5, opponents="random", seed=5, players=4, seat=2)
    assert (fixed.learner_seat == 2).all()
    assert (fixed.matches.to_move == 2).all()


@every_game
def test_forced_choices_are_played_for_the_learner(name):
    rng = np.random.default_rng(SEED)
    asked = {True: 0, False: 0}
    options = games.load(name).FORCED
    for forced in asked:
        learner = SingleAgentBatch(
            card_envs.load_game(name), 64, opponents="random", seed=3, players=2, auto_forced=forced, **options
        )
        for _ in range(100):
            masks = learner.action_mask()
            asked[forced] += (masks.sum(axis=1) == 1).sum()
            learner.step(legal(rng, masks))
    assert asked[True] == 0
    assert asked[False] > 0


@pytest.mark.parametrize("reward", ["win", "score"])
@every_game
def test_an_illegal_action_ends_the_match_with_minus_one(name, reward):
    learner = SingleAgentBatch(card_envs.load_game(name), 3, opponents="random", seed=3, players=2, reward=reward)
    matches = learner.matches.identity[:, loops.MATCH].copy()
    seen = learner.observation()
    actions = legal(np.random.default_rng(0), learner.action_mask())
    actions[1] = learner.matches.num_actions  # out of range
    actions[2] = np.flatnonzero(learner.action_mask()[2] == 0)[0]
    outcome = learner.step(actions)
    assert outcome.illegal.tolist() == [False, True, True]
    assert outcome.terminated.tolist()[1:] == [True, True]
    assert not outcome.truncated.any()
    assert outcome.rewards[1:].tolist() == [-1.0, -1.0]
    assert (outcome.final_observation[1:] == seen[1:]).all()
    assert (learner.matches.identity[1:, loops.MATCH] > matches[1:]).all()


@pytest.mark.parametrize("bad", [[0.5, 1.0], [np.nan, 0], [0], [[0, 1]], ["draw", "stay"]])
@every_game
def test_malformed_actions_are_refused_and_nothing_changes(name, bad):
    learner = SingleAgentBatch(card_envs.load_game(name), 2, opponents="random", seed=3)
    before = learner.matches.states.tobytes()
    with pytest.raises(ValueError, match="actions"):
        learner.step(bad)
    assert learner.matches.states.tobytes() == before


@every_game
def test_opponents_sit_clockwise_from_the_learner(name):
    class Named:
        def __init__(self, number):
            self.number = number
            self.seats = set()

        def act(self, decisions):
            self.seats |= set(zip(decisions.match.tolist(), decisions.seat.tolist(), strict=True))
            return np.array([np.flatnonzero(mask)[0] for mask in decisions.action_mask])

    first, second = Named(1), Named(2)
    learner = SingleAgentBatch(card_envs.load_game(name), 6, opponents=[first, second], seed=1, players=3, seat=2)
    for _ in range(10):
        learner.step(legal(np.random.default_rng(1), learner.action_mask()))
    assert {seat for _, seat in first.seats} == {0}
    assert {seat for _, seat in second.seats} == {1}


def test_weighted_opponents_are_drawn_per_match_by_weight():
    learner = SingleAgentBatch(
        card_envs.load_game("flip7"), 4000, opponents={"random": 3, "count3": 1}, seed=SEED, players=2, seat=0
    )
    share = (learner.runner.seating[:, 1] == 0).mean()
    assert abs(share - 0.75) < 4 * np.sqrt(0.75 * 0.25 / 4000), SEED
    assert (learner.runner.seating[:, 0] == -1).all()
    seeds = SEED + np.arange(20)
    learner = SingleAgentBatch(card_envs.load_game("flip7"), 20, opponents={"random": 1, "count3": 1}, players=2)
    learner.reset(seeds)
    alone = SingleAgentBatch(card_envs.load_game("flip7"), 1, opponents={"random": 1, "count3": 1}, players=2)
    for row in range(20):  # one row alone: NumPy up to 2.3 can take it for a number, unless the warning of it is an error
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            alone.reset(seeds[row : row + 1])
        assert (alone.runner.seating == learner.runner.seating[row]).all()


@pytest.mark.parametrize(
    ("opponents", "message"),
    [
        ("randm", "did you mean 'random'"),
        (["random"], "4 players need 3"),
        ({"random": -1.0}, "weights"),
        ({}, "weights"),
        (3, "a spec, a player"),
    ],
)
def test_bad_opponents_are_named(opponents, message):
    with pytest.raises(ValueError, match=message):
        SingleAgentBatch(card_envs.load_game("flip7"), 2, opponents=opponents, players=4)


# ---- Gymnasium


@pytest.mark.parametrize(("name", "options"), [(name, options) for name in GAMES for options in kit_options(name)], ids=label)
def test_gymnasium_and_sb3_check_the_environment(name, options):
    env = gymnasium.make(gym_name(name), opponents="random", **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)
    sb3_checker = pytest.importorskip("stable_baselines3.common.env_checker")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sb3_checker.check_env(env.unwrapped)


@every_game
def test_every_game_is_registered(name):
    env = gymnasium.make(gym_name(name), opponents="random")
    observation, info = env.reset(seed=1)
    assert env.observation_space.contains(observation)
    assert info["action_mask"].dtype == np.int8
    assert (info["action_mask"] == env.unwrapped.action_masks()).all()


@every_game
def test_rows_of_vector_environments_play_like_single_ones(name):
    """Row i of a vector environment with seed s plays like a single environment with seed s + i."""
    n, seed = 5, 40
    options = quick(name, {"players": 3, "opponents": "random"})
    vector = gymnasium.make_vec(gym_name(name), num_envs=n, **options)
    sb3 = make_card_vec_env(name, n, seed=seed, **options)
    singles = [gymnasium.make(gym_name(name), **options) for _ in range(n)]
    observations, infos = vector.reset(seed=seed)
    masks = infos["action_mask"]
    assert (sb3.reset() == observations).all()
    for i, env in enumerate(singles):
        seen, info = env.reset(seed=seed + i)
        assert (seen == observations[i]).all()
        assert (info["action_mask"] == masks[i]).all()
    rng = np.random.default_rng(SEED)
    ends = 0
    for _ in range(150):
        actions = legal(rng, masks)
        observations, rewards, terminated, truncated, infos = vector.step(actions)
        masks = infos["action_mask"]
        seen, paid, over, sb3_infos = sb3.step(actions)
        assert (seen == observations).all()
        assert (paid == rewards.astype(np.float32)).all()
        assert (over == (terminated | truncated)).all()
        assert (np.stack(sb3.env_method("action_masks")) == masks).all()
        for i, env in enumerate(singles):
            seen, reward, end, cut, info = env.step(actions[i])
            assert (reward, end, cut) == (rewards[i], terminated[i], truncated[i])
            if end:
                ends += 1
                assert (infos["final_obs"][i] == seen).all()
                assert (sb3_infos[i]["terminal_observation"] == seen).all()
                assert not info["action_mask"].any()
                seen, info = env.reset()
            assert (seen == observations[i]).all()
            assert (info["action_mask"] == masks[i]).all()
    assert ends > 5


@every_game
def test_next_step_autoreset_ignores_one_action(name):
    options = quick(name, {"players": 2, "opponents": "random"})
    env = gymnasium.make_vec(gym_name(name), num_envs=3, autoreset_mode="NextStep", **options)
    assert env.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    same = gymnasium.make_vec(gym_name(name), num_envs=3, **options)
    _, infos = env.reset(seed=9)
    rng = np.random.default_rng(9)
    waits = np.zeros(3, bool)
    ends = 0
    for _ in range(240):
        masks = infos["action_mask"]
        assert (masks == env.action_masks()).all()
        assert all(np.flatnonzero(mask).tolist() == [0] for mask in masks[waits])  # a softmax over no action would be NaN
        actions = legal(rng, masks)
        actions[waits] = rng.integers(0, env.single_action_space.n, 3)[waits]  # whatever it is
        _, rewards, terminated, _, infos = env.step(actions)
        assert (rewards[waits] == 0).all()
        assert not terminated[waits].any()
        assert infos["action_mask"][waits].any(axis=1).all()
        waits = terminated
        ends += terminated.sum()
    assert ends > 5
    assert same.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP


def test_gymnasium_reset_goes_on_and_takes_a_deck():
    env = gymnasium.make("card_envs/Flip7-v0", players=2, opponents="random", seat=0).unwrapped
    first, _ = env.reset(seed=7)
    second, _ = env.reset()
    again, _ = env.reset(seed=7)
    assert (first == again).all()
    assert (first != second).any()
    assert env.reset(seed=7)[1]["seat"] == 0
    fields = card_envs.load_game("flip7").observation_fields({"players": 2})
    seen, _ = env.reset(options={"deck": ["lucky13", "5"]})
    lines = seen[fields["line"].slice].reshape(2, -1)
    assert lines[0].nonzero()[0].tolist() == [14]
    assert lines[1].nonzero()[0].tolist() == [5]
    with pytest.raises(ValueError, match="named more than 1 time"):
        env.reset(options={"deck": ["0", "0"]})


@pytest.mark.parametrize("given", [2, 3])
def test_gymnasium_takes_a_deck_for_each_deal(given):
    game = card_envs.load_game("pis_yedili")
    decks = [ten_draws(), ten_draws(), list(reversed(game.cards))]
    env = gymnasium.make("card_envs/PisYedili-v0", players=6, opponents="random", seat=0).unwrapped
    seen, _ = env.reset(seed=7, options={"deck": decks[:given]})
    for _ in range(10):  # seat 1 ends the second deal
        seen, *_ = env.step(game.action_index("draw", 0, 6))
    fields = game.observation_fields({"players": 6})
    assert seen[fields["deal"].slice] * fields["deal"].scale == 3
    dealt = set(decks[2][4:42:6])  # to seat 0, after seats 2 to 5
    held = {game.cards[i] for i in np.flatnonzero(seen[fields["cards"].slice] >= 0)}
    assert (dealt <= held) == (given == 3)


@every_game
def test_a_step_after_the_end_asks_for_a_reset(name):
    options = quick(name, {"players": 2, "opponents": "random"})
    env = gymnasium.make(gym_name(name), **options).unwrapped
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)
    env.reset(seed=1)
    rng = np.random.default_rng(1)
    over = False
    while not over:
        over = env.step(rng.choice(np.flatnonzero(env.action_masks())))[2]
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)


def test_truncation_is_reported_apart_from_termination():
    env = make_card_vec_env("flip7", 4, players=2, opponents="random", max_rounds=1, seed=2)
    env.reset()
    rng = np.random.default_rng(2)
    cut = 0
    for _ in range(40):
        _, _, over, infos = env.step(legal(rng, np.stack(env.env_method("action_masks"))))
        for row in np.flatnonzero(over):
            cut += infos[row]["truncated"]
            assert "TimeLimit.truncated" not in infos[row]
            assert "terminal_observation" in infos[row]
    assert cut > 5
