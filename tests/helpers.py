"""What several tests share: option sets of every game, random play, and the random streams in plain Python."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import card_envs
from card_envs import Game, Table
from card_envs.engine.game import OptionValue

Options = dict[str, OptionValue]
GAMES = card_envs.available_games()

# ---- option sets


def variants(game: Game) -> list[Options]:
    """The defaults, and each other value of a flag or a choice."""
    found: list[Options] = [{}]
    for option in game.options:
        if isinstance(option.default, bool):
            found.append({option.name: not option.default})
        found += [{option.name: choice} for choice in option.choices if choice != option.default]
    return found


def all_options(name: str) -> list[Options]:
    """Every number of players with every variant."""
    game = card_envs.load_game(name)
    return [{"players": players, **variant} for players in game.players for variant in variants(game)]


def some_options(name: str) -> list[Options]:
    """Few, medium and many players, each variant once at least."""
    game = card_envs.load_game(name)
    counts = sorted({game.players[0], game.players[len(game.players) // 3], game.players[-1]})
    sets = variants(game)
    return [{"players": counts[i % len(counts)], **sets[i % len(sets)]} for i in range(max(len(counts), len(sets)))]


def door_options(name: str) -> list[Options]:
    """What the doors' own test kits run with: 2, 3, 4, many and the most players, with every variant."""
    game = card_envs.load_game(name)
    most = game.players[-1]
    return [{"players": players, **variant} for players in sorted({2, 3, 4, 2 * most // 3, most}) for variant in variants(game)]


# what keeps matches short that last long in random play
SHORT: dict[str, Options] = {"rummy": {"max_deals": 2}}


def short(name: str, options: Options) -> Options:
    """The options, for a short match."""
    return {**options, **SHORT.get(name, {})}


def label(value: object) -> str:
    """A test id: ``4-brutal=True`` for ``{"players": 4, "brutal": True}``."""
    if isinstance(value, dict):
        return "-".join(str(v) if k == "players" else f"{k}={v}" for k, v in value.items())
    return str(value)


# ---- playing


def play_a_card(legal: list[str], rng: random.Random) -> str:
    """Pis Yedili: any card that fits; with uniformly random actions most deals end by an empty stock."""
    return rng.choice([action for action in legal if action.startswith("play ")] or legal)


def meld_a_card(legal: list[str], rng: random.Random) -> str:
    """Rummy: meld or lay off whatever can be, at the start of a turn take from the pile what can be taken."""
    laying = [action for action in legal if action.startswith(("meld ", "layoff "))]
    return rng.choice(laying or [action for action in legal if action.startswith("take ")] or legal)


# what a player does who keeps matches busy, given the legal actions
BUSY: dict[str, Callable[[list[str], random.Random], str]] = {
    "flip7": lambda legal, rng: legal[0],  # draw
    "pis_yedili": play_a_card,
    "rummy": meld_a_card,
}


def play_on(table: Table, rng: random.Random, eager: float = 0.0) -> Iterator[str]:
    """Play random legal actions, or with probability ``eager`` busy ones, until the match is over.

    Each is yielded before it is played.
    """
    while not table.is_over:
        legal = table.legal_actions()
        action = BUSY[table.game.name](legal, rng) if rng.random() < eager else rng.choice(legal)
        yield action
        table.play(action)


def flip7_cards(state: dict[str, Any]) -> Counter[str]:
    """Every card of a Flip 7 table, wherever it lies."""
    cards = Counter(state["deck"]) + Counter(state["discard"])
    for line in state["lines"] + state["void"]:
        cards.update(line)
    for action in state["open"]:
        cards.update([action["card"], *action["queue"]])
    if state["phase"] == "give":
        cards[state["resolving"]] += 1
    return cards


def pis_yedili_cards(state: dict[str, Any]) -> Counter[str]:
    """Every card of a Pis Yedili table: in the stock, the pile, or a hand."""
    return sum(map(Counter, state["hands"]), Counter(state["deck"]) + Counter(state["pile"]))


def rummy_cards(state: dict[str, Any]) -> Counter[str]:
    """Every card of a Rummy table: in the stock, the pile, a hand or a meld."""
    cards = sum(map(Counter, state["hands"]), Counter(state["deck"]) + Counter(state["pile"]))
    return cards + sum((Counter(meld["cards"]) for meld in state["melds"]), Counter())


def ten_draws() -> list[str]:
    """A Pis Yedili deck for six players: neither the leader nor the stock has a club, so the first ten draws end the deal."""
    cards = card_envs.load_game("pis_yedili").cards
    clubs, others = [card for card in cards if card[1] == "c"], [card for card in cards if card[1] != "c"]
    hands = [others[:7], clubs[:7], [*clubs[7:], others[7]], others[8:15], others[15:22], others[22:29]]
    return [hands[seat][number] for number in range(7) for seat in range(6)] + others[29:]


CARDS_OF: dict[str, Callable[[dict[str, Any]], Counter[str]]] = {
    "flip7": flip7_cards,
    "pis_yedili": pis_yedili_cards,
    "rummy": rummy_cards,
}

# ---- SplitMix64 in plain Python, to compare the engine's with

WORD = 2**64
GOLDEN = 0x9E3779B97F4A7C15


def mix(x: int) -> int:
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % WORD
    return x ^ (x >> 31)


def stream(key: int, number: int) -> int:
    return mix(key ^ mix((number + 1) * GOLDEN % WORD))


def match_key(seed: int, row: int, match: int) -> int:
    return stream(stream(mix(seed), row), match)


def below(state: int, n: int) -> tuple[int, int]:
    """A uniform number below n: multiply the high 32 bits of an output, reject what would be biased."""
    while True:
        state = (state + GOLDEN) % WORD
        value, rest = divmod((mix(state) >> 32) * n, 2**32)
        if rest >= 2**32 % n:
            return value, state


def shuffled(cards: list[str], key: int, number: int) -> list[str]:
    """Fisher-Yates from the end with stream ``number`` of ``key``."""
    cards, state = list(cards), stream(key, number)
    for i in range(len(cards) - 1, 0, -1):
        j, state = below(state, i + 1)
        cards[i], cards[j] = cards[j], cards[i]
    return cards
