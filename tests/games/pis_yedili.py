"""Test data of Pis Yedili: see ``tests/games/__init__.py``."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

import card_envs
from card_envs import Game
from card_envs.engine.picture import Picture
from card_envs.engine.rows import States
from tests.reference import pis_yedili_features
from tests.reference.french_deck import CARDS, RANKS, SUITS

PHASES = ["lead", "turn", "drawn", "sevens", "suit", "ace"]

SHORT: dict[str, Any] = {}
QUICK: dict[str, Any] = {"deals": 1}
LONG: dict[str, Any] = {}
FORCED: dict[str, Any] = {}
RULES = ("P", 29)
OPPONENTS = ("random", "high")
MATCHES = 3200
CHECK_EVERY = 1
VERBS = {"play", "draw", "pass", "suit"}
RANKED_PLAYERS, RANKED_MATCHES = (2, 4, 6), 6000
QUESTIONS = PHASES
PICTURE: tuple[dict[str, Any], int, int] = ({"players": 4}, 26, 10)
PLAYTHROUGHS: dict[str, tuple[dict[str, Any], int, float]] = {
    "2": ({"players": 2, "deals": 2}, 369, 0.5),
    "3_keeps_turn": ({"players": 3, "penalty_keeps_turn": True, "deals": 2}, 286, 0.6),
    "4": ({"players": 4}, 290, 0.6),
    "6_club_lap": ({"players": 6, "club_lap": True, "deals": 3}, 386, 0.6),
}


def busy(legal: list[str], rng: random.Random) -> str:
    """Any card that fits: with uniformly random actions most deals end by an empty stock."""
    return rng.choice([action for action in legal if action.startswith("play ")] or legal)


def all_cards(state: dict[str, Any]) -> Counter[str]:
    """Every card of the table: in the stock, the pile, or a hand."""
    return sum(map(Counter, state["hands"]), Counter(state["deck"]) + Counter(state["pile"]))


def draw_options(rng: random.Random) -> dict[str, Any]:
    """Any number of players and any variant; one, two or four deals."""
    return {
        "players": rng.randint(2, 6),
        "penalty_keeps_turn": rng.random() < 0.5,
        "club_lap": rng.random() < 0.5,
        "deals": rng.choice([1, 2, 4]),
    }


def ten_draws() -> list[str]:
    """A deck for six players: neither the leader nor the stock has a club, so that the first ten draws end the deal."""
    clubs, others = [card for card in CARDS if card[1] == "c"], [card for card in CARDS if card[1] != "c"]
    hands = [others[:7], clubs[:7], [*clubs[7:], others[7]], others[8:15], others[15:22], others[22:29]]
    return [hands[seat][number] for number in range(7) for seat in range(6)] + others[29:]


def question(game: Game, state: Any) -> str:
    """What is being asked in a row of a batch's states: the phase."""
    return str(game.phases[state["phase"]])


def facts(state: dict[str, Any], seat: int, history: Sequence[tuple[int, int, str]]) -> dict[str, Any]:
    """What the observation of ``seat`` must say, in plain figures, from ``state()`` alone."""
    players, options = state["players"], state["options"]
    seats = [(seat + distance) % players for distance in range(players)]
    first_turns = players if options["club_lap"] else 1
    unseen = {*CARDS} - {*state["pile"], *state["hands"][seat]}
    groups = [group for group in (*RANKS, *SUITS) if group != "J"]
    return {
        "cards": [float(card in state["hands"][seat]) - float(card in unseen) for card in CARDS],
        "top": [float((state["pile"] or [" "])[-1][0] == rank) for rank in RANKS],
        "suit": [float(state["suit"] == suit) for suit in SUITS],
        "phase": [float(state["phase"] == phase) for phase in PHASES],
        "sevens": [float(state["sevens"])],
        "direction": [float(state["direction"])],
        "stock": [float(len(state["deck"]))],
        "deal": [float(state["deal"])],
        "lap": [float(first_turns - len(state["pile"])) if state["phase"] == "lead" else 0.0],
        "shown": [
            [2.0 * (group in state["shown"][s]["proved"]) + (group in state["shown"][s]["suggested"]) for group in groups]
            for s in seats[1:]
        ],
        "shown_drawn": [[float(state["shown"][s][f"{kind}_drawn"]) for kind in ("proved", "suggested")] for s in seats[1:]],
        "hand_size": [float(len(state["hands"][s])) for s in seats],
        "total": [float(min(state["totals"][s], 1000)) for s in seats],
        "to_move": [float(s == state["to_move"]) for s in seats],
        "dealer": [float(s == state["dealer"]) for s in seats],
    }


def action_facts(view: dict[str, Any], seat: int, action: str, chosen: str) -> dict[str, Any]:
    """What the features of an action must say, in plain figures, from ``view(seat)`` and what the default opponent would do."""
    parameters = card_envs.load_game("pis_yedili").policy("best").defaults
    return pis_yedili_features.action_facts(view, seat, action, chosen, parameters)


def turn_seats(states: States, players: int) -> None:
    """Every seat moves on by one."""
    for name in ("hands", "totals", "scores"):
        states[name][:, :players] = np.roll(states[name][:, :players], 1, axis=1)
    for name in ("lacks", "drawn_since"):
        states[name][:, :, :players] = np.roll(states[name][:, :, :players], 1, axis=2)
    for name in ("to_move", "dealer"):
        states[name] = (states[name] + 1) % players


def mirror_seats(states: States, players: int) -> None:
    """The seats are numbered the other way round."""
    for name in ("hands", "totals", "scores"):
        states[name][:, :players] = states[name][:, :players][:, ::-1].copy()
    for name in ("lacks", "drawn_since"):
        states[name][:, :, :players] = states[name][:, :, :players][:, :, ::-1].copy()
    for name in ("to_move", "dealer"):
        states[name] = players - 1 - states[name]
    states["direction"] *= -1


RENUMBERINGS = (turn_seats, mirror_seats)


def check_picture(picture: Picture, state: dict[str, Any], where: str) -> None:
    """The pile, the direction and the suit to follow, beside what the whole table and every view show."""
    _, pile = picture.zones
    assert pile.size == len(state["pile"]), where
    assert [card.name for card in ((*pile.cards[::-1], pile.top) if pile.top else ())] == state["pile"], where
    assert [seat.note.split()[0] for seat in picture.seats] == [str(len(hand)) for hand in state["hands"]], where
    assert ("clockwise" in picture.facts) == (state["direction"] == 1), where
    follow = {"c": "clubs", "d": "diamonds", "h": "hearts", "s": "spades", None: "to follow"}[state["suit"]]
    assert (follow in "".join(picture.facts)) == (state["suit"] is not None), where
    assert ("no jack" in "".join(picture.facts)) == bool(state["suit"] and state["pile"][-1][0] == "J"), where
