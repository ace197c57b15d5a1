"""Mutated states for the fuzz of foreign data: some are changed blindly, some so that all cards stay on the table."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from numpy.typing import NDArray

import card_envs
from card_envs import Game
from card_envs.engine.rows import States, view_bytes
from card_envs.games.flip7.lines import sum_line, sum_minus
from tests import games
from tests.helpers import Options, choice

TRUSTED = ("deck", "order", "padding")  # changed at random, they are nearly always just refused, or mean nothing


def draw_states(name: str, rng: random.Random, number: int) -> list[tuple[Options, States]]:
    """States of random matches with random options, each with the options of its match."""
    states: list[tuple[Options, States]] = []
    while len(states) < number:
        options = games.load(name).draw_options(rng)
        table = card_envs.table(name, seed=rng.getrandbits(62), **options)
        busy, eager = games.load(name).busy, rng.choice([0.0, 0.5, 0.9])
        good = rng.random() < 0.3
        for _ in range(rng.choice([0, 3, 20, 60, 200, 600])):
            if table.is_over:
                break
            nested = name == "flip7" and table.matches.states["depth"][0] > 2  # an action within another one: rare
            if len(states) < number and rng.random() < (0.6 if nested else 0.05):
                states.append((dict(table.options), table.matches.states.copy()))
            legal = table.legal_actions()
            table.play(choice(table) if good else busy(legal, rng) if rng.random() < eager else rng.choice(legal))
        states.append((dict(table.options), table.matches.states.copy()))
    return states[:number]


def mutate(game: Game, states: States, others: States, rng: random.Random) -> States:
    """A copy of one state with one to three changes.

    Args:
        game: Whose states they are.
        states: The state, structured [1].
        others: Another state of the game, structured [1], from which fields are taken.
        rng: Draws the changes.
    """
    states = states.copy()
    changes = [_change_byte, _change_value, _change_value, _exchange_values, _take_field, _move_bit, _move_deals]
    changes += 4 * [_move_cards[game.name]]
    drawn = rng.choices(changes, k=rng.choice([1, 1, 1, 2, 3]))
    for change in sorted(drawn, key=lambda change: change is _change_byte):  # the others need sound options
        change(game, states, others, rng)
    if game.name == "flip7" and rng.random() < 0.7:
        add_up_lines(states)
    return states


def _names(game: Game) -> list[str]:
    options = {option.name for option in game.options}
    return [name for name in game.state_dtype.names or () if name not in options and name not in TRUSTED]


def _change_byte(game: Game, states: States, others: States, rng: random.Random) -> None:
    data = view_bytes(states)
    data[rng.randrange(len(data))] = rng.randrange(256)


def _change_value(game: Game, states: States, others: States, rng: random.Random) -> None:
    """One value becomes another that its bounds allow, often one of them or a neighbour of the old value."""
    name = rng.choice(_names(game))
    flat = states[name].reshape(-1)
    i = rng.randrange(len(flat))
    info = np.iinfo(flat.dtype)
    low, high = game.bounds.get(name, (int(info.min), int(info.max)))
    old = int(flat[i])
    value = rng.choice([low, high, old - 1, old + 1, rng.randint(low, high), rng.randint(low, min(high, low + 30))])
    flat[i] = min(max(value, int(info.min)), int(info.max))


def _exchange_values(game: Game, states: States, others: States, rng: random.Random) -> None:
    names = [name for name in _names(game) if states[name].size > 1]
    flat = states[rng.choice(names)].reshape(-1)
    i, j = rng.randrange(len(flat)), rng.randrange(len(flat))
    flat[[i, j]] = flat[[j, i]]


def _take_field(game: Game, states: States, others: States, rng: random.Random) -> None:
    name = rng.choice(_names(game))
    states[name] = others[name]


def _move_bit(game: Game, states: States, others: States, rng: random.Random) -> None:
    """One bit of a set moves to another place of the same set, or to that of another seat."""
    names = [name for name in _names(game) if states[name].dtype.itemsize > 2 and name not in ("key", "totals")]
    flat = states[rng.choice(names)].reshape(-1)
    i, j = rng.randrange(len(flat)), rng.randrange(len(flat))
    bit = flat.dtype.type(1 << rng.randrange(27))
    flat[i] ^= bit
    flat[j] ^= bit if i != j else flat.dtype.type(1 << rng.randrange(27))


def _move_deals(game: Game, states: States, others: States, rng: random.Random) -> None:
    """The match stands at another deal, its first or last ones above all."""
    cap = next(name for name in ("max_rounds", "deals", "max_deals") if name in (game.state_dtype.names or ()))
    last = int(states[cap][0])
    finished = rng.choice([0, 1, last - 1, last, last + 1, rng.randint(0, last), 2**31 - 2])
    states["finished"] = finished
    states["deal"] = finished + (not states["over"][0])
    states["dealer"] = (int(states["deal"][0]) - 2) % max(1, int(states["players"][0]))
    low, high = game.bounds["scores"]
    for seat in range(min(int(states["players"][0]), game.players[-1])):
        scale = rng.choice([0, 1, finished])
        states["scores"][0, seat] = rng.choice([0, low, high])
        states["totals"][0, seat] = min(max(scale * rng.choice([0, 1, low, high]), -(2**31)), 2**31 - 1)


# ---- cards change places, and all that follows from that is set right


def _swap_places(places: list[tuple[NDArray[Any], int]], rng: random.Random) -> None:
    (a, i), (b, j) = rng.choice(places), rng.choice(places)
    a[i], b[j] = b[j], a[i]


def _move_flip7_cards(game: Game, states: States, others: States, rng: random.Random) -> None:
    s = states[0]
    places = [(s["deck"], i) for i in range(s["drawn"], min(s["deck_size"], 108))]
    for seat in range(s["players"]):
        places += 3 * [(s["cards"][seat], i) for i in range(min(s["length"][seat], 14))]
    places += 2 * [(s["queue"], i) for i in range(min(s["queued"], 8))]
    places += 3 * [(s["agenda"][i], 2) for i in range(min(s["depth"], 12))]
    for _ in range(rng.choice([1, 1, 2, 6])):
        if places:
            _swap_places(places, rng)
    seat = rng.randrange(s["players"])
    kind = rng.randrange(6)
    if kind == 0 and s["length"][seat] > 0:  # the last card of a line goes to the discard pile
        s["length"][seat] -= 1
        card = s["cards"][seat, s["length"][seat]]
        if 0 <= card < 27:
            s["discard"][card] += 1
    elif kind in (1, 2):  # cards go from the discard pile to a line, which may be a busted one
        for card in rng.sample(range(22), rng.randint(1, 8)):
            if s["discard"][card] > 0 and s["length"][seat] < 14:
                s["discard"][card] -= 1
                s["cards"][seat, s["length"][seat]] = card
                s["length"][seat] += 1
    elif kind == 3:
        s["void"][seat] = rng.randint(0, max(0, s["length"][seat]))
        s["status"][seat] = 2 if s["void"][seat] else rng.randint(0, 2)
    elif kind == 4:
        s["status"][seat] = rng.randint(0, 2)


def add_up_lines(states: States) -> None:
    """Make the sums of Flip 7's lines and the counts of its deck those of the cards."""
    s = states[0]
    for seat in range(len(s["cards"])):
        line = s["cards"][seat, max(0, s["void"][seat]) : max(0, s["length"][seat])]
        held = sum({1 << (int(card) & 31) for card in line}) & 0x7FFFFFFF
        s["held"][seat] = held
        s["numbers"][seat], s["minus"][seat] = sum_line(held), sum_minus(held)
    deck = [int(card) for card in s["deck"][max(0, s["drawn"]) : max(0, s["deck_size"])] if 0 <= card < 27]
    s["unseen"] = np.bincount(deck, minlength=27)


def _move_french_cards(game: Game, states: States, others: States, rng: random.Random) -> None:
    s = states[0]
    pile = "pile" if game.name == "pis_yedili" else "discards"
    cards: dict[int, Any] = {}
    for i in range(max(0, s["drawn"]), 52):
        cards[int(s["deck"][i])] = ("deck", i)
    for i in range(min(52, max(0, s["pile_size"]))):
        cards[int(s[pile][i])] = (pile, i)
    for seat in range(s["players"]):
        cards |= {card: ("hands", seat) for card in range(52) if int(s["hands"][seat]) >> card & 1}
    for _ in range(rng.choice([1, 1, 2, 5])):
        if len(cards) > 1:
            first, second = rng.sample(sorted(cards), 2)
            for old, new, place in ((first, second, cards[first]), (second, first, cards[second])):
                if place[0] == "hands":
                    s["hands"][place[1]] ^= np.uint64(1 << old | 1 << new)
                else:
                    s[place[0]][place[1]] = new
            cards[first], cards[second] = cards[second], cards[first]
    if rng.random() < 0.2 and 0 < s["pile_size"] < 52:  # the top of the pile goes to a hand
        s["pile_size"] -= 1
        s["hands"][rng.randrange(s["players"])] |= np.uint64(1 << (int(s[pile][s["pile_size"]]) & 63))
    if game.name == "pis_yedili":
        size = min(52, max(0, int(s["pile_size"])))
        s["seen"] = np.uint64(sum({1 << (int(card) & 63) for card in s["pile"][:size]}) & (2**64 - 1))
        s["top"] = s["pile"][size - 1] if size else -1
        if rng.random() < 0.7:
            s["suit"] = s["top"] // 13 if size else -1
        if rng.random() < 0.2:
            s["phase"] = rng.randrange(6)
    else:
        for seat in range(s["players"]):
            s["known"][seat] &= s["hands"][seat]
        if rng.random() < 0.2:
            hand = [card for card in range(52) if int(s["known"][s["to_move"]]) >> card & 1]
            s[rng.choice(["taken", "must"])] = rng.choice([*hand, -1])
        if rng.random() < 0.8:
            _invent_choices(s, rng)


def _invent_choices(s: Any, rng: random.Random) -> None:
    """Choices of Rummy that fit the cards that everybody sees: somebody has discarded each card of the pile."""
    players = int(s["players"])
    choices: list[list[int]] = [
        [2 * 52 + card for card in range(52) if int(s["known"][seat]) >> card & 1] for seat in range(players)
    ]
    for i in range(min(52, max(0, int(s["pile_size"])))):
        for seat in rng.sample(range(players), rng.randint(1, 2)):
            choices[seat].append(rng.choice([0, 0, 0, 1]) * 52 + (int(s["discards"][i]) & 63))
    for seat, entries in enumerate(choices):
        rng.shuffle(entries)
        s["past_size"][seat] = len(entries)
        for number, entry in enumerate(entries):
            s["past_number"][seat, entry % 52] = number
        for kind in range(3):
            s["past"][seat, kind] = np.uint64(sum({1 << entry % 52 for entry in entries if entry // 52 == kind}))


_move_cards = {"flip7": _move_flip7_cards, "pis_yedili": _move_french_cards, "rummy": _move_french_cards}
