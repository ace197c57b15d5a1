"""Test data of Flip 7: see ``tests/games/__init__.py``."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

import card_envs
from card_envs import Game
from card_envs.engine.picture import Picture, Seat
from card_envs.engine.rows import States
from card_envs.games.flip7.state import CARDS, GIVE, NOBODY, PICK
from tests.reference import flip7_features
from tests.reference.flip7 import ACTIONS, MODIFIERS, NUMBERS, VALUE
from tests.reference.flip7_features import busts, line_points

LINE_CARDS = NUMBERS + MODIFIERS
GIVEN = MODIFIERS + ACTIONS
PHASES = ["turn", "give", "pick", "bonus"]

SHORT: dict[str, Any] = {}
QUICK: dict[str, Any] = {"target": 20}
LONG: dict[str, Any] = {}
FORCED: dict[str, Any] = {}
RULES = ("F", 45)
OPPONENTS = ("ev", "risk24")
MATCHES = 3200
CHECK_EVERY = 4
VERBS = {"draw", "stay", "give"}
RANKED_PLAYERS, RANKED_MATCHES = (2, 4), 12_000
GIVEN_CARDS = ("just_one_more", "flip_four", "discard", "steal", "swap", "/2", "-10")
QUESTIONS = ["turn 0", *(f"give {card}" for card in GIVEN_CARDS), *(f"pick {card}" for card in GIVEN_CARDS[2:5]), "bonus 0"]
PICTURE: tuple[dict[str, Any], int, int] = ({"players": 4, "brutal": True}, 45, 53)
PLAYTHROUGHS: dict[str, tuple[dict[str, Any], int, float]] = {
    "2": ({"players": 2, "target": 100}, 339, 0.4),
    "4_brutal": ({"players": 4, "brutal": True, "target": 80}, 352, 0.4),
    "5_pairs_once": ({"players": 5, "pair_counts_twice": False, "target": 60}, 182, 0.7),
    "12": ({"players": 12, "max_rounds": 2}, 352, 0.6),
}


def busy(legal: list[str], rng: random.Random) -> str:
    """The first legal action, which in a turn is to draw."""
    return legal[0]


def all_cards(state: dict[str, Any]) -> Counter[str]:
    """Every card of the table, wherever it lies."""
    cards = Counter(state["deck"]) + Counter(state["discard"])
    for line in state["lines"] + state["void"]:
        cards.update(line)
    for action in state["open"]:
        cards.update([action["card"], *action["queue"]])
    if state["phase"] == "give":
        cards[state["resolving"]] += 1
    return cards


def draw_options(rng: random.Random) -> dict[str, Any]:
    """Any number of players and any variant; high and low targets, with and without a cap."""
    return {
        "players": rng.randint(2, 12),
        "brutal": rng.random() < 0.5,
        "pair_counts_twice": rng.random() < 0.5,
        "target": 200 if rng.random() < 0.4 else rng.randint(1, 150),
        "max_rounds": 200 if rng.random() < 0.7 else rng.randint(1, 12),
    }


def question(game: Game, state: Any) -> str:
    """What is being asked in a row of a batch's states: the phase, and the card that is given or carried out."""
    card = state["agenda"][state["depth"] - 1, 2] if state["phase"] in (GIVE, PICK) else 0
    return f"{game.phases[state['phase']]} {game.cards[card]}"


def next_card(state: dict[str, Any], seat: int, source: list[str]) -> float:
    """What a card drawn now is expected to bring an active seat: of each, the score with it less that without it."""
    line, options, points = state["lines"][seat], state["options"], 0
    if state["status"][seat] != "active" or state["phase"] in ("bonus", "over"):
        return 0.0
    now = line_points(line, "active", options["brutal"], flips=False)
    for card in source:
        if card not in NUMBERS:
            continue
        after = ["unlucky7"] if card == "unlucky7" else [*line, card]
        numbers = [other for other in after if other in NUMBERS]
        flips = (len(numbers) if options["pair_counts_twice"] else len({VALUE[other] for other in numbers})) >= 7
        points -= now
        if not busts(line, card):
            points += line_points(after, "active", options["brutal"], flips) + 15 * flips
    return points / len(source)


def facts(state: dict[str, Any], seat: int, history: Sequence[tuple[int, int, str]]) -> dict[str, Any]:
    """What the observation of ``seat`` must say, in plain figures, from ``state()`` alone."""
    players, options = state["players"], state["options"]
    seats = [(seat + distance) % players for distance in range(players)]
    flipper = state["to_move"] if state["phase"] == "bonus" else None
    source = state["deck"] or state["discard"]  # F7: the next card's
    waiting: Counter[int] = Counter()
    queued: Counter[str] = Counter()
    for action in state["open"]:
        waiting[action["receiver"]] += len(action["queue"])
        queued.update(action["queue"])
    return {
        "phase": [float(state["phase"] == phase) for phase in PHASES],
        "resolving": [float(state["resolving"] == card) for card in GIVEN],
        "picked": [float((state["picked"] or [None, None])[1] == card) for card in LINE_CARDS],
        "open": [float(sum(action["card"] == card for action in state["open"])) for card in ACTIONS],
        "queue": [float(queued[card]) for card in GIVEN],
        "unseen": [float(state["deck"].count(card)) for card in CARDS],
        "discard": [float(state["discard"].count(card)) for card in CARDS],
        "deck": [float(len(state["deck"]))],
        "round": [float(state["deal"])],
        "next_card": [next_card(state, seat, source)],
        "line": [[float(card in state["lines"][s]) for card in LINE_CARDS] for s in seats],
        "line_score": [
            float(line_points(state["lines"][s], state["status"][s], options["brutal"], s == flipper)) for s in seats
        ],
        "total": [float(np.clip(state["totals"][s], -2 * options["target"], 2 * options["target"])) for s in seats],
        "standing": [
            float(np.clip(
                state["totals"][s] + line_points(state["lines"][s], state["status"][s], options["brutal"], s == flipper),
                -2 * options["target"], 2 * options["target"],
            ))
            for s in seats
        ],
        "p_bust": [
            0.0 if state["status"][s] == "busted"
            else float(Fraction(sum(busts(state["lines"][s], card) for card in source), len(source)))
            for s in seats
        ],
        "status": [[float(state["status"][s] == status) for status in ("active", "stayed", "busted")] for s in seats],
        "to_move": [float(s == state["to_move"]) for s in seats],
        "turn": [float(s == state["turn"] and not state["over"]) for s in seats],
        "dealer": [float(s == state["dealer"]) for s in seats],
        "undealt": [float(s in state["undealt"]) for s in seats],
        "last_card": [
            float(any(a["card"] == "just_one_more" and a["receiver"] == s for a in state["open"])) for s in seats
        ],
        "waiting": [float(waiting[s]) for s in seats],
        "picked_from": [float((state["picked"] or [None])[0] == s) for s in seats],
    }  # fmt: skip


def action_facts(view: dict[str, Any], seat: int, action: str, chosen: str) -> dict[str, Any]:
    """What the features of an action must say, in plain figures, from ``view(seat)`` and what the default opponent would do."""
    parameters = card_envs.load_game("flip7").policy("ev").defaults
    return flip7_features.action_facts(view, seat, action, chosen, parameters)


def turn_seats(states: States, players: int) -> None:
    """Every seat moves on by one."""
    for name in ("totals", "scores", "held", "numbers", "minus", "status", "last_status", "void", "length", "cards"):
        states[name][:, :players] = np.roll(states[name][:, :players], 1, axis=1)
    for name in ("to_move", "dealer", "turn", "flipper", "bonus", "picked_seat"):
        states[name] = np.where(states[name] == NOBODY, NOBODY, (states[name] + 1) % players)
    seats = states["agenda"][:, :, 1]
    states["agenda"][:, :, 1] = np.where(seats == NOBODY, NOBODY, (seats + 1) % players)


RENUMBERINGS = (turn_seats,)


def check_picture(picture: Picture, state: dict[str, Any], where: str) -> None:
    """Lines, badges, the cards in play and the pick of a swap, beside what the whole table and every view show."""

    def cards_of(seat: Seat) -> Counter[str]:
        return Counter(card.name for card in seat.cards)

    for number, seat in enumerate(picture.seats):
        assert cards_of(seat) == Counter(state["lines"][number] + state["void"][number]), where
        assert Counter(card.name for card in seat.cards if card.out) == Counter(state["void"][number]), where
        badges = {badge.text for badge in seat.badges}
        assert ("undealt" in badges) == (number in state["undealt"]), where
        assert (state["status"][number] in badges) == (not state["over"]), where
    marked = [[n, card.name] for n, seat in enumerate(picture.seats) for card in seat.cards if card.marked]
    assert marked == ([state["picked"]] if state["picked"] else []), where
    _, discard, *in_play = picture.zones
    assert discard.size == len(state["discard"]), where
    assert sum((Counter({card.name: card.count}) for card in discard.cards), Counter()) == Counter(state["discard"])
    waiting = [name for action in state["open"] for name in (action["card"], *action["queue"])]
    given = [state["resolving"]] if state["phase"] == "give" else []
    assert Counter(card.name for zone in in_play for card in zone.cards) == Counter(waiting + given), where
