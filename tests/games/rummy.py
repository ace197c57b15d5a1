"""Test data of Rummy: see ``tests/games/__init__.py``."""

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
from tests.reference import rummy_features
from tests.reference.french_deck import CARDS, RANKS, SUITS
from tests.reference.rummy_features import worth

MOST_TOTAL = 2.0  # targets: what the observation of a total is cut off at

SHORT: dict[str, Any] = {"max_deals": 2}
QUICK: dict[str, Any] = {"target": 1}
LONG: dict[str, Any] = {"target": 10_000}
FORCED: dict[str, Any] = {"pile": "spread"}  # a card taken from below the top must be played
RULES = ("R", 30)
OPPONENTS = ("random", "random")
MATCHES = 2560  # some 3,200 deals; the reference is slow
CHECK_EVERY = 4
VERBS = {"draw", "take", "meld", "discard"}
RANKED_PLAYERS, RANKED_MATCHES = (2, 4), 2000
QUESTIONS = ["draw", "play"]
PICTURE: tuple[dict[str, Any], int, int] = ({"players": 4, "variant": "rummy500"}, 12, 40)
PLAYTHROUGHS: dict[str, tuple[dict[str, Any], int, float]] = {
    "2": ({"players": 2, "max_deals": 2}, 409, 0.5),
    "2_universal": ({"aces": "universal", "settle": "once", "max_deals": 1}, 380, 0.6),
    "3_rummy500": ({"players": 3, "variant": "rummy500", "max_deals": 2}, 369, 0.6),
    "4_limit_negative": (
        {"players": 4, "pile": "spread", "limit": True, "scoring": "negative", "simple": True, "target": 60},
        350,
        0.6,
    ),
}


def busy(legal: list[str], rng: random.Random) -> str:
    """Meld or lay off whatever can be; at the start of a turn take from the pile what can be taken."""
    laying = [action for action in legal if action.startswith(("meld ", "layoff "))]
    return rng.choice(laying or [action for action in legal if action.startswith("take ")] or legal)


def all_cards(state: dict[str, Any]) -> Counter[str]:
    """Every card of the table: in the stock, the pile, a hand or a meld."""
    cards = sum(map(Counter, state["hands"]), Counter(state["deck"]) + Counter(state["pile"]))
    return cards + sum((Counter(meld["cards"]) for meld in state["melds"]), Counter())


def draw_options(rng: random.Random) -> dict[str, Any]:
    """A preset and, beside it, up to three other options; one deal or two."""
    options: dict[str, Any] = {"variant": rng.choice(["basic", "rummy500"]), "players": rng.randint(2, 4)}
    others: dict[str, list[Any]] = {
        "pile": ["top", "spread"], "aces": ["low", "universal"], "scoring": ["positive", "laid", "negative"],
        "simple": [False, True], "limit": [False, True], "settle": ["each", "once"], "target": [1, 30, 100],
    }  # fmt: skip
    for name in rng.sample([*others], rng.randint(0, 3)):
        options[name] = rng.choice(others[name])
    return options | {"max_deals": rng.choice([1, 1, 1, 2])}


def question(game: Game, state: Any) -> str:
    """What is being asked in a row of a batch's states: the phase."""
    return str(game.phases[state["phase"]])


def facts(state: dict[str, Any], seat: int, history: Sequence[tuple[int, int, str]]) -> dict[str, Any]:
    """What the observation of ``seat`` must say, in plain figures, from ``state()`` alone."""
    players, options, pile, melds = state["players"], state["options"], state["pile"], state["melds"]
    seats = [(seat + distance) % players for distance in range(players)]
    lying = [(meld["kind"], card) for meld in melds for card in meld["cards"]]
    others = [card for s in seats[1:] for card in state["hands"][s] if card not in state["known"][s]]
    ladder = RANKS + ("A" if options["aces"] == "universal" else "")
    points = [0] * players
    fits: dict[str, set[str]] = {"set": set(), "below": set(), "above": set()}
    for meld in melds:
        cards = meld["cards"]
        suit = cards[0][1]
        word = "".join(card[0] for card in cards)
        if meld["kind"] == "set":
            fits["set"] |= {word[0] + other for other in SUITS} - set(cards)
        else:
            fits["below"] |= {rank + suit for rank in RANKS if rank + word in ladder} - set(cards)
            fits["above"] |= {rank + suit for rank in RANKS if word + rank in ladder} - set(cards)
        for number, card in enumerate(cards):
            [owner] = [s for s in range(players) if card in state["laid"][s]]
            points[owner] += worth(card, options, low=meld["kind"] == "run" and number == 0)
    for place in ("below", "above"):
        fits[place] -= {card for _, card in lying}
    shown = {card: -1.0 if kind == "set" else -0.5 for kind, card in lying}
    duty = state["taken"] or state["must"] or ""
    melders = {mover for deal, mover, action in history if deal == state["deal"] and action.startswith("meld")}
    return {
        "hand": [float(card in state["hands"][seat]) for card in CARDS],
        "unseen": [float(card in state["deck"] + others) for card in CARDS],
        "pile": [1 / (len(pile) - pile.index(card)) if card in pile else 0.0 for card in CARDS],
        "table": [shown.get(card, float(any(card in some for some in fits.values()))) for card in CARDS],
        "high_aces": [float(any(m["cards"][-1] == f"A{suit}" and m["kind"] == "run" for m in melds)) for suit in SUITS],
        "duty": [float(state["taken"] is not None), float(state["must"] is not None)],
        "duty_rank": [float(rank in duty[:1]) for rank in RANKS],
        "duty_suit": [float(suit in duty[1:]) for suit in SUITS],
        "phase": [float(state["phase"] == phase) for phase in ("draw", "play")],
        "melded": [float(state["melded"])],
        "idle": [float(state["idle"])],
        "stock": [float(len(state["deck"]))],
        "deal": [float(state["deal"])],
        "past": [[past(state, s, card) for card in CARDS] for s in seats],
        "hand_size": [float(len(state["hands"][s])) for s in seats],
        "laid": [float(points[s]) for s in seats],
        "total": [min(max(state["totals"][s] / options["target"], -MOST_TOTAL), MOST_TOTAL) * options["target"] for s in seats],
        "has_melded": [float(s in melders) for s in seats],
        "to_move": [float(s == state["to_move"]) for s in seats],
        "dealer": [float(s == state["dealer"]) for s in seats],
    }


def past(state: dict[str, Any], seat: int, card: str) -> float:
    """What everybody has seen a player do with a card, as the observation says it."""
    if card in state["known"][seat]:
        return 1.0
    choices = state["past"][seat]
    return 0.5 * (card in choices["taken"]) - 0.5 * (card in choices["declined"]) - 1.0 * (card in choices["discarded"])


def action_facts(view: dict[str, Any], seat: int, action: str, chosen: str) -> dict[str, Any]:
    """What the features of an action must say, in plain figures, from ``view(seat)`` and what the default opponent would do."""
    parameters = card_envs.load_game("rummy").policy("best").defaults
    return rummy_features.action_facts(view, seat, action, chosen, parameters)


def turn_seats(states: States, players: int) -> None:
    """Every seat moves on by one."""
    for name in (
        "hands",
        "known",
        "laid",
        "past",
        "past_number",
        "past_size",
        "points",
        "last_laid",
        "last_caught",
        "has_melded",
        "totals",
        "scores",
    ):
        states[name][:, :players] = np.roll(states[name][:, :players], 1, axis=1)
    for name in ("to_move", "dealer"):
        states[name] = (states[name] + 1) % players


RENUMBERINGS = (turn_seats,)


def check_picture(picture: Picture, state: dict[str, Any], where: str) -> None:
    """The pile and the melds, beside what the whole table and every view show."""
    _, pile, *melds = picture.zones
    assert pile.size == len(state["pile"]), where
    assert [card.name for card in ((*pile.cards[::-1], pile.top) if pile.top else ())] == state["pile"], where
    assert [{"kind": meld.name, "cards": [card.name for card in meld.cards]} for meld in melds] == state["melds"], where
