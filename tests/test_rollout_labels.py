"""Labels by rollouts: what they are worth, who explores, that the task alone makes them; and what is learned from them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from card_envs.engine.batch import Batch
from card_envs.engine.matches import Matches
from card_envs.engine.pairs import make_pair, pair_parameters
from card_envs.engine.table import Table
from card_envs.players import resolve
from tests.networks import write_out
from tests.rollout_training import GAME, OPTIONS, make_student, make_task
from tests.test_forks import play_out
from train import labels
from train.labels import Labels, make_labels
from train.rollouts import find_learning_rate
from train.scorer import TEACHER_BONUS, YOUNG, Learner, Scorer, make_learner, make_network
from train.workers import open_workers

torch = pytest.importorskip("torch")
LEARNING = {"learning_rate": 0.01, "weight_decay": 0.0, "average": 0.9, "batch_size": 64, "seed": 2}


def assert_same_labels(one: Labels, other: Labels) -> None:
    for name in ("counts", "inputs", "values"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), name)


# ---- what they are


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Matches, np.ndarray, np.ndarray]]:
    """The decisions that are labelled: copies of their matches, their rows, their candidates."""
    noted: list[tuple[Matches, np.ndarray, np.ndarray]] = []

    class Watched(Matches):
        def fork_values(self, rows: Any, candidates: Any, *rest: Any, **named: Any) -> Any:
            noted.append((Matches.gather(self, rows), rows.copy(), candidates.copy()))
            return super().fork_values(rows, candidates, *rest, **named)

    monkeypatch.setattr(labels, "Matches", Watched)
    return noted


@pytest.mark.parametrize("candidates", [0, 2])
def test_values_are_centred_margins_of_plain_play_outs(
    seen: list[tuple[Matches, np.ndarray, np.ndarray]], candidates: int
) -> None:
    """Each candidate is played at a table of its own, on the true deck, and the inputs are its features."""
    task = make_task(decks=0, candidates=candidates)
    made = make_labels(task)
    start = decision = 0
    for matches, rows, tried in seen:
        np.testing.assert_array_equal(matches.to_move, (rows + task.number) % 2, "the seat of the learner")
        batch, taught = Batch.wrap(matches), np.zeros(len(rows), np.int64)
        batch.choose("random", None, taught)  # the teacher of the student
        scored = matches.score_actions(matches.rows, *task.student.bind(GAME, OPTIONS))
        ends = np.cumsum(scored.counts)
        for n in range(len(rows)):
            actions = tried[n][tried[n] >= 0]
            mine = slice(ends[n] - scored.counts[n], ends[n])
            if candidates:
                order = np.argsort(-scored.scores[mine], kind="stable")[:candidates]
                np.testing.assert_array_equal(np.sort(actions), np.sort(scored.actions[mine][order]))
            else:
                np.testing.assert_array_equal(actions, np.flatnonzero(matches.action_mask[n]))
            part = slice(start, start + len(actions))
            worth = [play_out(Table.from_row(matches, n), int(a), "random", np.zeros(0), "deal") for a in actions]
            np.testing.assert_allclose(made.values[part], np.array(worth) - np.mean(worth), atol=1e-6)
            features = matches.write_action_features(matches.rows[n : n + 1], actions[None])[0]
            np.testing.assert_array_equal(made.inputs[part, :-1], features)
            np.testing.assert_array_equal(made.inputs[part, -1], actions == taught[n])
            assert made.counts[decision] == len(actions)
            start, decision = start + len(actions), decision + 1
    assert start == len(made.values)
    assert decision == len(made.counts) > 20


def test_everybody_can_play_on_as_they_really_do(seen: list[tuple[Matches, np.ndarray, np.ndarray]]) -> None:
    """Without a player for rollouts, the student plays on at its seat, and each opponent at theirs."""
    opponents = [resolve("high", GAME, OPTIONS), None]
    task = make_task(decks=0, rollout=None, opponents=opponents)
    made = make_labels(task)
    own = task.student.bind(GAME, OPTIONS)
    expected: list[float] = []
    kinds = set()
    for matches, _, tried in seen:
        for n in range(matches.size):
            values = []
            for other in (0, 1):
                policy, parameters = own if other else opponents[0].bind(GAME, OPTIONS)  # type: ignore[union-attr]
                one = matches.gather(np.array([n]))
                pair = make_pair(own[0], policy), pair_parameters(own[1], parameters)
                values.append(Matches.fork_values(one, one.rows, tried[n : n + 1], *pair, 0, False)[0])
            found = [value[tried[n] >= 0] - np.nanmean(value) for value in values]
            mine = made.values[len(expected) : len(expected) + len(found[0])]
            which = [other for other in (0, 1) if np.allclose(mine, found[other], atol=1e-6)]
            assert which, "neither opponent explains the values"
            kinds |= set(which) if len(which) == 1 else set()
            expected += mine.tolist()
    assert len(expected) == len(made.values)
    assert kinds == {0, 1}, "both opponents are met"


def test_as_many_are_labelled_as_was_asked_for(seen: list[tuple[Matches, np.ndarray, np.ndarray]]) -> None:
    every = make_labels(make_task(labelled=1.0, deals=60))
    some = make_labels(make_task(labelled=0.3, deals=60))
    n = len(every.counts)
    assert every.counts.min() >= 2, "forced choices are not labelled"
    assert abs(len(some.counts) - 0.3 * n) < 5 * (0.3 * 0.7 * n) ** 0.5 + 0.1 * n  # other matches, as other labels are drawn
    none = make_labels(make_task(labelled=1e-9))
    assert len(none.counts) == len(none.values) == 0
    assert none.inputs.shape == (0, GAME.action_feature_size + 1)


@pytest.fixture
def plays(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, np.ndarray]]:
    """What is played: whether the learner is to move, the action, and what ``best``, the student and its teacher would do."""
    noted: list[dict[str, np.ndarray]] = []
    players = {"best": resolve("best", GAME, OPTIONS), "teacher": resolve("random", GAME, OPTIONS), "student": make_student()}
    asked = {name: player.bind(GAME, OPTIONS) for name, player in players.items()}

    class Watched(Matches):
        def run(self, rows: Any) -> None:
            now = rows[self.actions[rows] >= 0]
            if len(now):
                play = {"learner": self.to_move[now] == (now + 1) % 2, "played": self.actions[now].copy()}
                for name, (policy, parameters) in asked.items():
                    actions = np.zeros(self.size, np.int64)
                    self.choose(policy, parameters, actions, now, self.everyone, 0)
                    play[name] = actions[now]
                noted.append(play)
            super().run(rows)

    monkeypatch.setattr(labels, "Matches", Watched)
    return noted


@pytest.mark.parametrize("opponent", ["best", "student"])
@pytest.mark.parametrize(
    ("teacher_share", "random_share"),
    [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (0.3, 0.2)],
    ids=["none", "teacher", "random", "both"],
)
def test_only_the_learner_explores(
    plays: list[dict[str, np.ndarray]], opponent: str, teacher_share: float, random_share: float
) -> None:
    opponents = [resolve("best", GAME, OPTIONS) if opponent == "best" else None]
    make_labels(make_task(opponents=opponents, weights=[1.0], deals=60, teacher_share=teacher_share, random_share=random_share))
    mine = {name: np.concatenate([play[name][play["learner"]] for play in plays]) for name in plays[0]}
    its = {name: np.concatenate([play[name][~play["learner"]] for play in plays]) for name in plays[0]}
    assert len(mine["played"]) > 200
    np.testing.assert_array_equal(its["played"], its[opponent])
    if random_share == 0.0:
        np.testing.assert_array_equal(mine["played"], mine["teacher" if teacher_share else "student"])
    else:
        assert (mine["played"] != mine["student"]).mean() > 0.1
    if random_share == 1.0:
        assert (mine["played"] != mine["teacher"]).mean() > 0.1


def test_opponents_sit_opposite_as_often_as_their_weights_say() -> None:
    """One kind at each table, so that a shard with a weight of zero for one is a shard without it."""
    alone = make_labels(make_task(opponents=[resolve("best", GAME, OPTIONS)], weights=[1.0]))
    never = make_labels(make_task(opponents=[resolve("best", GAME, OPTIONS), None], weights=[1.0, 0.0]))
    assert_same_labels(alone, never)


# ---- who makes them


TASKS = [make_task(number=number, deals=8) for number in range(5)]


def test_labels_do_not_depend_on_who_makes_them_or_when() -> None:
    """Every shard has its own; one thread, several, and another order make the same, also with a network that is shared."""
    shared = make_student(9)
    tasks = [make_task(number=n, deals=8, opponents=[shared, None], rollout=shared) for n in range(5)]
    for these in (TASKS, tasks):
        alone = [make_labels(task) for task in reversed(these)][::-1]
        assert len({part.values.tobytes() for part in alone}) == len(these)
        for threads in (1, 3):
            with open_workers(threads, None) as workers:
                first, second = workers.submit(these), workers.submit(these[:2])
                assert_same_labels(second(), Labels.join(alone[:2]))
                assert_same_labels(first(), Labels.join(alone))


def test_a_task_says_everything() -> None:
    """The same task gives the same labels; another seed or shard gives others."""
    assert_same_labels(make_labels(TASKS[1]), make_labels(make_task(number=1, deals=8)))
    values = make_labels(TASKS[1]).values.tobytes()
    for change in ({"seed": 6}, {"number": 2}, {"decks": 2}, {"random_share": 0.9}, {"student": make_student(8)}):
        assert make_labels(make_task(**{"number": 1, "deals": 8} | change)).values.tobytes() != values, change


def test_ray_makes_the_same_labels() -> None:
    pytest.importorskip("ray")
    with open_workers(1, "local") as workers:
        made = workers.submit(TASKS)()
    with open_workers(1, None) as workers:
        assert_same_labels(made, workers.submit(TASKS)())


# ---- what is learned from them


def make_labels_by_hand(seed: int, size: int, width: int) -> Labels:
    rng = np.random.default_rng(seed)
    counts = rng.integers(2, 5, size)
    values = [rng.normal(size=n) for n in counts]
    centred = np.concatenate([v - v.mean() for v in values]).astype(np.float32)
    return Labels(counts, rng.normal(size=(counts.sum(), width)).astype(np.float32), centred)


def test_a_new_learner_is_its_teacher() -> None:
    learner = make_learner(GAME, OPTIONS, [7], **LEARNING)
    network = make_network(learner.average, GAME, OPTIONS, resolve("best", GAME, OPTIONS))
    inputs = np.random.default_rng(1).normal(size=(9, GAME.action_feature_size + 1)).astype(np.float32)
    np.testing.assert_allclose(network.scores(inputs), TEACHER_BONUS * inputs[:, -1], atol=1e-7)


def test_torch_numpy_and_compiled_code_agree(seed: int) -> None:
    """Scores to 1e-5, and the same choices but where two scores are as near as that, in 10,000 decisions."""
    torch.manual_seed(seed)
    decisions = 0
    for hidden in ([], [16], [33, 9], [12, 8, 5]):
        scorer = Scorer(GAME.action_feature_size + 1, hidden)
        with torch.no_grad():
            for parameter in scorer.parameters():
                parameter.normal_(0, 0.1)
        network = make_network(scorer, GAME, OPTIONS, resolve("random", GAME, OPTIONS))
        batch = Batch(GAME, 640, seed=seed, **OPTIONS)
        for _ in range(4):
            scored = batch.matches.score_actions(batch.matches.rows, *network.bind(GAME, batch.options))
            with torch.no_grad():
                torchs = scorer(torch.from_numpy(scored.inputs)).numpy()
            np.testing.assert_allclose(scored.scores, torchs, rtol=0, atol=1e-5)
            np.testing.assert_allclose(network.scores(scored.inputs), torchs, rtol=0, atol=1e-5)
            chosen, ends = np.zeros(640, np.int64), np.cumsum(scored.counts)
            batch.choose(*network.bind(GAME, batch.options), chosen)
            for row, (start, end) in enumerate(zip(ends - scored.counts, ends, strict=True)):
                best = np.sort(torchs[start:end])[-2:]
                if len(best) == 1 or best[1] - best[0] > 1e-5:
                    assert chosen[row] == scored.actions[start + torchs[start:end].argmax()], f"seed {seed}"
            decisions += 640
            batch.step(batch.sample())
    assert decisions > 10_000


def test_the_loss_is_the_squared_error_of_centred_scores(seed: int) -> None:
    width = GAME.action_feature_size + 1
    made = make_labels_by_hand(seed, 20, width)
    learner = make_learner(GAME, OPTIONS, [5], **LEARNING)
    for parameter in learner.scorer.parameters():
        torch.nn.init.normal_(parameter, 0, 0.3)
    network = make_network(learner.scorer, GAME, OPTIONS, resolve("random", GAME, OPTIONS))
    scores, total, start = [float(write_out(network, row)) for row in made.inputs], 0.0, 0
    for n in made.counts:
        mean = sum(scores[start : start + n]) / n
        total += sum((scores[k] - mean - float(made.values[k])) ** 2 for k in range(start, start + n))
        start += n
    assert learner.learn(made, 0, 1.0, 1.0) == pytest.approx(total / 20, rel=1e-4)


def test_the_learning_rate_is_constant_and_then_falls_to_a_fiftieth() -> None:
    shares = [find_learning_rate(n / 1000) for n in range(1001)]
    assert shares[:280] == [1.0] * 280
    assert shares[400] == pytest.approx(0.84)
    assert shares[700] == pytest.approx(0.42)
    assert shares[990:] == [0.02] * 11
    assert all(a >= b for a, b in pairwise(shares))
    learner = make_learner(GAME, OPTIONS, [5], **LEARNING)
    learner.learn(make_labels_by_hand(0, 9, GAME.action_feature_size + 1), 0, 1.0, 0.25)
    assert learner.optimizer.param_groups[0]["lr"] == pytest.approx(0.0025)


def test_a_label_is_used_as_often_as_passes_say(monkeypatch: pytest.MonkeyPatch) -> None:
    made = make_labels_by_hand(0, 200, GAME.action_feature_size + 1)
    for passes, expected in ((0.5, 100), (1.0, 200), (1.5, 300), (2.25, 450)):
        learner = make_learner(GAME, OPTIONS, [5], **LEARNING)
        sizes: list[int] = []

        def note(inputs: Any, values: Any, of: Any, counts: Any, sizes: list[int] = sizes) -> float:
            sizes.append(len(counts))
            assert int(counts.sum()) == len(values)
            return 0.0

        monkeypatch.setattr(learner, "_update", note)
        learner.learn(made, 3, passes, 1.0)
        assert sum(sizes) == expected
        assert min(sizes) >= 64 or len(sizes) == 1, "an update has at least so many decisions, if there are as many"


def test_nothing_is_learned_from_nothing() -> None:
    learner = make_learner(GAME, OPTIONS, [5], **LEARNING)
    before = [parameter.clone() for parameter in learner.scorer.parameters()]
    assert learner.learn(make_labels(make_task(labelled=1e-9)), 0, 1.5, 1.0) == 0.0
    assert learner.learn(make_labels_by_hand(0, 1, GAME.action_feature_size + 1), 0, 0.5, 1.0) == 0.0
    assert all(torch.equal(a, b) for a, b in zip(before, learner.scorer.parameters(), strict=True))


def test_the_average_follows_the_weights() -> None:
    """At the start it is nearly the newest weights, and it never keeps more than the setting says."""
    made = make_labels_by_hand(0, 40, GAME.action_feature_size + 1)
    for learned, kept in ((0, 40 / (40 + YOUNG)), (10**9, 0.9)):
        learner = Learner(GAME.action_feature_size + 1, [5], **LEARNING)
        learner.learned = learned
        before = [parameter.clone() for parameter in learner.average.parameters()]
        learner.learn(made, 0, 1.0, 1.0)
        for old, new, mean in zip(before, learner.scorer.parameters(), learner.average.parameters(), strict=True):
            torch.testing.assert_close(mean, kept * old + (1 - kept) * new)
