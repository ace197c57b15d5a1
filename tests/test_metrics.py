"""What players are measured by: the counts against the plain references' matches, the figures by hand, and in a benchmark."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import card_envs
from card_envs import Table
from card_envs.arena import derive_list_seed, run_benchmark
from card_envs.engine.measures import DEALS, LOST, load_measures
from card_envs.players import Decisions, resolve
from card_envs.risk import review
from tests.helpers import GAMES, play_on
from tests.test_reference import ADAPTERS, follow

Counts = list[Counter[str]]  # by seat

# ---- the same counts, told by a reference


def tell_flip7(reference: Any, counts: Counts) -> None:
    """At the end of a round everybody's line is scored: how do they stand, and who has flipped 7?"""
    score = reference.score

    def noting(seat: int, flipper: int | None) -> int:
        counts[seat]["busts"] += reference.status[seat] == "busted"
        counts[seat]["flips"] += seat == flipper
        return int(score(seat, flipper))

    reference.score = noting


def tell_pis_yedili(reference: Any, counts: Counts) -> None:
    hand_empty, stock_empty = reference.scores_hand_empty, reference.scores_stock_empty

    def out(winner: int) -> Any:
        counts[winner]["outs"] += 1
        counts[winner]["sevens"] += reference.pile[-1][0] == "7"
        counts[winner]["jacks"] += reference.pile[-1][0] == "J"
        return hand_empty(winner)

    def nobody() -> Any:
        for mine in counts:
            mine["stock_outs"] += 1
        return stock_empty()

    reference.scores_hand_empty, reference.scores_stock_empty = out, nobody


def tell_rummy(reference: Any, counts: Counts) -> None:
    scores = reference.scores

    def noting() -> Any:
        for seat, mine in enumerate(counts):
            mine["laid"] += reference.laid_value(seat)
            mine["caught"] += sum(reference.value(card) for card in reference.hands[seat])
            mine["outs"] += not reference.hands[seat]
        return scores()

    reference.scores = noting


TELL: dict[str, Callable[[Any, Counts], None]] = {"flip7": tell_flip7, "pis_yedili": tell_pis_yedili, "rummy": tell_rummy}


def tell_action(state: dict[str, Any], action: str, mine: Counter[str]) -> None:
    """What the mover is about to do."""
    verb, *card = action.split()
    if state["game"] == "flip7":
        mine["draws"] += verb == "draw"
    elif state["game"] == "pis_yedili":
        mine["drawn"] += verb == "draw"
        mine["penalty"] += min(3 * state["sevens"], len(state["deck"])) if verb == "take" else 0
    elif verb == "take":
        mine["takes"] += 1
        mine["taken"] += len(state["pile"]) - state["pile"].index(*card)


def tell_deals(table: Table, counts: Counts) -> None:
    """What the scores and totals say at the end."""
    for seat, mine in enumerate(counts):
        scores = [deal[seat] for deal in table.deals]
        if table.game.name == "flip7":
            mine["rounds"], mine["points"], mine["squares"] = len(scores), sum(scores), sum(score**2 for score in scores)
            if table.scores[seat] >= int(table.options["target"]):
                mine["reached"], mine["rounds_to_target"] = 1, len(scores)
        else:
            mine["deals"] = len(scores)
            if table.game.name == "pis_yedili":
                mine["points"] = sum(scores)


def tell_endings(table: Table, counts: Counts) -> None:
    """The endings in words say the same: who went out or flipped 7, and with what; who busted."""
    words = " | ".join(table.endings)
    for seat, mine in enumerate(counts):
        if table.game.name == "flip7":
            busted = [re.findall(r"\d+", part) for part in re.findall(r"seats? ([\d, and]+) busted", words)]
            assert sum(str(seat) in seats for seats in busted) == mine["busts"]
            assert len(re.findall(rf"seat {seat} flips 7", words)) == mine["flips"]
        else:
            assert len(re.findall(rf"seat {seat} goes out", words)) == mine["outs"]
            assert len(re.findall(rf"seat {seat} goes out with 7. \(points × 3\)", words)) == mine["sevens"]
            assert len(re.findall(rf"seat {seat} goes out with J. \(points × 2\)", words)) == mine["jacks"]
            assert words.count("the stock runs out") == mine["stock_outs"]


class Counting:
    """What the game counts of a table's match: ``counts`` int64 [players, C] by seat."""

    def __init__(self, table: Table) -> None:
        self.matches = table.matches
        self.finished = np.zeros(1, np.int64)
        self.all = np.zeros((1, table.players, len(table.game.count_names)), np.int64)
        self.names = table.game.count_names

    def before(self, action: int) -> None:
        """Of a match that is over it does not matter which."""
        self.matches.actions[:] = action
        self.matches.count(self.matches.rows, self.finished, self.all)

    def of(self, seat: int) -> dict[str, int]:
        return dict(zip(self.names, self.all[0, seat].tolist(), strict=True))


@pytest.mark.parametrize("interpreted", [False, True])
@pytest.mark.parametrize("name", GAMES)
def test_counts_are_what_the_reference_tells(name: str, interpreted: bool, seed: int) -> None:
    rng = random.Random(f"{name} {seed}")
    total: Counter[str] = Counter()
    for match in range(60):
        options = ADAPTERS[name].draw_options(rng)
        table = card_envs.table(name, seed=(seed, 8, match), interpreted=interpreted, **options)
        reference, counting = follow(table), Counting(table)
        told: Counts = [Counter() for _ in range(table.players)]
        TELL[name](reference, told)
        for action in play_on(table, rng, rng.choice([0.0, 0.5, 0.9])):
            counting.before(table.action_index(action) or 0)
            tell_action(table.state(), action, told[table.to_move or 0])
            reference.play(action)
        counting.before(0)
        tell_deals(table, told)
        assert len(table.endings) == len(table.deals)
        tell_endings(table, told)
        for seat, mine in enumerate(told):
            story = f"{name} {options}, match {(seed, 8, match)}, seat {seat}"
            assert counting.of(seat) == {key: mine[key] for key in table.game.count_names}, story
            total += mine
    assert set(total) == set(card_envs.load_game(name).count_names), "something never happened"


# ---- figures of counts

BY_HAND: dict[str, tuple[dict[str, float], dict[str, float]]] = {
    "flip7": (  # scores 10, 20, 0 (a bust) and 42 (a Flip 7); one match of two won in 3 rounds
        {"rounds": 4, "points": 72, "squares": 2264, "busts": 1, "flips": 1, "draws": 14, "reached": 2, "rounds_to_target": 7,
         "millionths lost": 3e6, "deals appraised": 2},
        {"bust %": 25, "flip 7 %": 25, "round mean": 18, "round sd": (2264 / 4 - 18**2) ** 0.5, "draws/round": 3.5,
         "rounds to target": 3.5, "decision loss": 1.5},
    ),
    "pis_yedili": (
        {"deals": 8, "points": 200, "drawn": 12, "penalty": 6, "outs": 4, "sevens": 2, "jacks": 1, "stock_outs": 2},
        {"points/deal": 25, "goes out %": 50, "with a 7 %": 25, "with a J %": 12.5, "stock out %": 25, "drawn/deal": 1.5,
         "penalty cards/deal": 0.75},
    ),
    "rummy": (
        {"deals": 4, "laid": 200, "caught": 50, "outs": 1, "takes": 6, "taken": 9},
        {"goes out %": 25, "laid/deal": 50, "caught/deal": 12.5, "takes/deal": 1.5, "cards/take": 1.5},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", GAMES)
def test_figures_by_hand(name: str) -> None:
    counts, figures = BY_HAND[name]
    measures = load_measures(card_envs.load_game(name))
    assert set(counts) == set(measures.names)
    arrays = {key: np.array([value, 2 * value], float) for key, value in counts.items()}
    assert {metric.name: metric.value(arrays)[0] for metric in measures.metrics} == pytest.approx(figures)
    assert {metric.name: metric.value(arrays)[1] for metric in measures.metrics} == pytest.approx(figures), "no sum, a mean"


# ---- in a benchmark

FIRM = {"flip7": ["count3", "sum26"], "pis_yedili": ["high", "full"], "rummy": ["greedy", "guard"]}  # draw nothing at random


@pytest.mark.parametrize("name", GAMES)
def test_a_benchmark_measures_the_matches_of_its_boards(name: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """At a table of three: one A in each seat among B, and one B among A. The same matches at tables, counted one by one."""
    monkeypatch.setattr("card_envs.arena.playing.APPRAISED", 2)
    game, boards = card_envs.load_game(name), 5
    a, b = FIRM[name]
    report = run_benchmark(name, [a, b], tables=[3], matches=3 * boards, seed=seed)
    total: dict[str, Counter[str]] = {a: Counter(), b: Counter()}
    for board in range(boards):
        for seating in ([a, b, b], [b, a, b], [b, b, a], [b, a, a], [a, b, a], [a, a, b]):
            table = card_envs.table(name, seed=(derive_list_seed("report", seed), board, 0), players=3)
            players, counting = [resolve(spec, game) for spec in seating], Counting(table)
            while table.to_move is not None:
                [action] = players[table.to_move].act(Decisions.at(table))
                counting.before(action)
                table.play(action)
            counting.before(0)
            for seat, player in enumerate(seating):
                total[player].update(counting.of(seat))
                if name == "flip7" and board < 2:
                    lost = sum(decision.loss for decision in review(table) if decision.seat == seat)
                    total[player].update({LOST: round(1e6 * lost), DEALS: len(table.deals)})
    for row in report["results"]["league"]:
        mine = {key: np.float64(value) for key, value in total[row["player"]].items()}
        for metric in load_measures(game).metrics:
            figure = row["metrics"][metric.name]
            story = f"seed {seed}: {row['player']}, {metric.name}"
            assert figure["value"] == pytest.approx(metric.value(mine), abs=2e-5), story
            assert figure["low"] <= figure["value"] <= figure["high"], story
