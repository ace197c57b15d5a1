"""Rules that only Rummy has: the deck, the actions, known cards, states from outside."""

from __future__ import annotations

import base64
import random
from itertools import chain
from typing import Any

import numpy as np
import pytest

import card_envs
from card_envs.engine.rows import from_bytes, open_row
from tests.games.rummy import worth
from tests.helpers import Options, label, play_on, replay_changed, some_options
from tests.reference.french_deck import CARDS, RANKS, SUITS

GAME = card_envs.load_game("rummy")
NO_CARD = -1
IDLE = 10  # idle turns for each player that end a deal (R10)


def dealt(*hands: str, up: str, stock: str = "") -> list[str]:
    """The deck that gives the players these hands, seat 0 first, and then turns up a card."""
    return [*chain(*zip(*map(str.split, hands), strict=True)), up, *stock.split()]


# ---- the deck and the action space


def test_the_deck_and_the_options() -> None:
    assert list(GAME.cards) == CARDS
    assert set(GAME.copies) == {1}
    assert GAME.players == range(2, 5)
    assert GAME.phases == ("draw", "play", "over")
    basic = {
        "players": 2, "pile": "top", "aces": "low", "scoring": "positive", "simple": False, "limit": False, "target": 100,
        "settle": "each", "max_deals": 100,
    }  # fmt: skip
    assert GAME.resolve({}) == GAME.resolve({"variant": "basic"}) == basic
    rummy500 = basic | {"pile": "spread", "aces": "universal", "scoring": "laid", "target": 500}
    assert GAME.resolve({"variant": "rummy500"}) == rummy500
    assert GAME.resolve({"variant": "rummy500", "aces": "low", "players": 4}) == rummy500 | {"aces": "low", "players": 4}


@pytest.mark.parametrize("players", GAME.players)
def test_the_hands(players: int) -> None:
    """R2, R3: 13 cards with two players, else 7, one at a time from the dealer's left; one card is turned up."""
    size = 13 if players == 2 else 7
    state = card_envs.table("rummy", players=players, deck=CARDS).state()
    assert state["hands"] == [CARDS[seat : size * players : players] for seat in range(players)]
    assert state["pile"] == [CARDS[size * players]]
    assert state["deck"] == CARDS[size * players + 1 :]


def sets() -> list[str]:
    """R12, spelled out: every three and all four cards of each rank."""
    threes = [[rank + suit for suit in SUITS if suit != left] for rank in RANKS for left in [*SUITS, ""]]
    return [f"meld {' '.join(cards)}" for cards in threes]


def runs(ladder: str) -> list[str]:
    """R11, spelled out: three or more cards of a suit in a row on a ladder of ranks, no card twice."""
    spans = [ladder[i:j] for i in range(len(ladder)) for j in range(i + 3, len(ladder) + 1) if j - i <= len(RANKS)]
    return [f"meld {' '.join(rank + suit for rank in ranks)}" for suit in SUITS for ranks in spans]


def test_the_action_space() -> None:
    """65 sets, 264 runs with low aces and 44 more with high ones, 156 lay-offs, 52 takes, 52 discards, draw and end."""
    low, all_runs = runs(RANKS), runs(RANKS + "A")
    assert (len(sets()), len(low), len(set(all_runs) - set(low))) == (65, 264, 44)
    assert set(low) < set(all_runs)
    layoffs = [f"layoff {card} {place}" for place in ("set", "below", "above") for card in CARDS]
    assert len(layoffs) == 156
    takes, discards = [f"take {card}" for card in CARDS], [f"discard {card}" for card in CARDS]
    expected = {"draw", "end", *takes, *discards, *layoffs, *sets(), *all_runs}
    for players in GAME.players:
        assert GAME.num_actions(players) == len(expected) == 635
        for seat in range(players):
            strings = [GAME.action_string(index, seat, players) for index in range(635)]
            assert set(strings) == expected
            assert [GAME.action_index(string, seat, players) for string in strings] == [*range(635)]


@pytest.mark.parametrize("aces", ["low", "universal"])
def test_every_meld_can_be_laid_by_exactly_one_action(aces: str) -> None:
    """A hand that holds it is offered it once, and playing it lays exactly these cards, in this order (R11, R12)."""
    for string in sets() + runs(RANKS + ("A" if aces == "universal" else "")):
        cards = string.split()[1:]
        others = [card for card in CARDS if card not in cards]
        filler = others[: 13 - len(cards)]
        hands = [cards + filler, [card for card in others if card not in filler][:13]]
        table = card_envs.table("rummy", aces=aces, deck=[card for pair in zip(*hands) for card in pair], seed=1, max_deals=1)
        table.play("draw")
        assert table.legal_actions().count(string) == 1
        table.play(string)
        state = table.state()
        [meld] = state["melds"]
        assert meld == {"kind": "set" if len({card[0] for card in cards}) == 1 else "run", "cards": cards}
        assert state["laid"] == [sorted(cards, key=CARDS.index), []]
        role = [worth(card, table.options, low=meld["kind"] == "run" and n == 0) for n, card in enumerate(cards)]
        assert open_row(table.matches.states).points[0] == sum(role), string
        assert state["over"] == (len(cards) == 14), string


def test_no_meld_but_these(seed: int) -> None:
    """With a whole suit and with random hands, the melds offered are those of the lists that the hand holds."""
    rng = random.Random(seed)
    for aces in ("low", "universal"):
        every = sets() + runs(RANKS + ("A" if aces == "universal" else ""))
        for number in range(60):
            deck = CARDS[:] if number == 0 else rng.sample(CARDS, 52)
            if number % 3 == 1:  # dense hands with few ranks or suits
                deck.sort(key=lambda card: (RANKS.index(card[0]) // 4, rng.random()))
            deck = [card for pair in zip(deck[:13], deck[13:26]) for card in pair] + deck[26:]
            table = card_envs.table("rummy", aces=aces, deck=deck)
            table.play("draw")
            hand = set(table.state()["hands"][0])
            expected = [string for string in every if hand.issuperset(string.split()[1:])]
            assert {a for a in table.legal_actions() if a.startswith("meld")} == set(expected), f"seed {seed}, deck {deck}"


@pytest.mark.parametrize(
    "string",
    [
        "", "0", "draw ", "Draw", "end 1", "take", "take ", "take 10c", "take tc", "take  6c", "discard", "discard 6c 7c",
        "meld", "meld 4c 5c", "meld 5c 4c 6c", "meld 6c 5c 4c", "meld 4c 5c 6d", "meld 9d 9c 9h", "meld 9c 9d 9h 9h",
        "meld Kc Ac 2c", "meld Ac Qc Kc", "meld 4c 5c  6c", "meld 4c 5c 6c ", "layoff 6c", "layoff 6c below 0",
        "layoff 6c on", "layoff 6c Below", "layoff below 6c", "layoff 6c set ",
        "meld Ac 2c 3c 4c 5c 6c 7c 8c 9c Tc Jc Qc Kc Ac",
    ],
)  # fmt: skip
def test_strings_that_are_no_actions(string: str) -> None:
    assert GAME.action_index(string, 0, 4) is None
    deck = dealt("4c 5c 6c 9c 9d 9h Kd", "2c 3d 5h 7d 8s Tc Qc", "2d 3h 5s 7h 8c Td Qd", up="7c")
    table = card_envs.table("rummy", players=3, deck=deck, seed=1)
    table.play("draw")
    state = table.state()
    with pytest.raises(card_envs.IllegalAction):
        table.play(string)
    assert table.state() == state


# ---- what is known


@pytest.mark.parametrize("options", some_options("rummy"), ids=label)
def test_the_known_cards_are_those_seen_taken(options: Options, seed: int) -> None:
    """R30: known cards are those that a player took from the pile and still holds; here they follow from the actions alone."""
    table = card_envs.table("rummy", seed=(seed, 1, 0), **options, max_deals=2)
    known: list[set[str]] = [set() for _ in range(table.players)]
    deal = 1
    for decision, action in enumerate(play_on(table, random.Random(seed), eager=0.6)):
        state = table.state()
        if state["deal"] != deal:
            deal, known = state["deal"], [set() for _ in range(table.players)]
        where = f"{table.identity}, {options}, decision {decision}"
        assert [set(cards) for cards in state["known"]] == known, where
        assert all(set(cards) <= set(hand) for cards, hand in zip(state["known"], state["hands"])), where
        verb, *cards = action.split()
        mover = table.to_move or 0
        if verb == "take":
            known[mover] |= {*state["pile"][state["pile"].index(cards[0]) :]}
        known[mover] -= set() if verb in ("take", "draw", "end") else {*cards}


SPREAD = [{"players": players, "variant": "rummy500", **more} for players in (2, 3, 4) for more in ({}, {"limit": True})]


@pytest.mark.parametrize("options", SPREAD, ids=label)
def test_a_redeal_keeps_known_cards_and_leaves_the_mover_a_move(options: Options, seed: int) -> None:
    """R30, R8: this holds from every seat, also for those who know little of the hand that has to play a card."""
    rng = random.Random(f"{seed} {options}")
    musts = others_known = 0
    for match in range(2):
        table = card_envs.table("rummy", seed=(seed, 2, match), **options, max_deals=2)
        for decision, _ in enumerate(play_on(table, rng, eager=0.6)):
            state = table.state()
            if state["must"] is None and decision % 6:
                continue
            for seat in range(table.players):
                where = f"seat {seat}, decision {decision}, {table.identity}, {options}"
                other = table.clone()
                other.redeal(seat, rng.randrange(2**63))
                its = other.state()
                assert other.action_mask().any(), where
                assert its["hands"][seat] == state["hands"][seat], where
                assert its["known"] == state["known"], where
                assert all(set(cards) <= set(hand) for cards, hand in zip(its["known"], its["hands"])), where
                assert other.observation(seat).tobytes() == table.observation(seat).tobytes(), where
                others_known += any(cards for s, cards in enumerate(its["known"]) if s != seat)
                if state["must"] and seat != state["to_move"]:
                    musts += 1
                    legal = other.legal_actions()
                    assert all(state["must"] in action.split() and not action.startswith("discard") for action in legal), where
                    for _, _ in zip(range(4), play_on(other, rng)):
                        assert other.action_mask().any(), where
    assert musts > 5, f"seed {seed}, {options}"
    assert others_known > 20, f"seed {seed}, {options}"


def test_observations_do_not_tell_two_hands_apart() -> None:
    """R30: two tables that differ only in hidden cards look the same, move by move, to the seat that cannot see them."""
    mine, third = "4c 5c 6c 9c 9d 9h Kd", "2d 3h 5s 7h 8c Td Qd"
    decks = [dealt(mine, other, third, up="7c", stock="Ks") for other in ("2c 3d 5h 7d 8s Tc Qc", "2c 3c 5d 7s 8d Jc Qh")]
    tables = [card_envs.table("rummy", players=3, seed=1, deck=deck) for deck in decks]
    for action in (None, "take 7c", "meld 4c 5c 6c", "layoff 7c above", "discard Kd", "take Kd", "discard 2c"):
        for table in tables:
            if action:
                table.play(action)
        a, b = tables
        assert a.view(0) == b.view(0), action
        assert a.observation(0).tobytes() == b.observation(0).tobytes(), action
        assert a.observation(1).tobytes() != b.observation(1).tobytes(), action
        if a.to_move == 0:
            assert a.legal_actions() == b.legal_actions(), action


# ---- play


MODES = [
    {"pile": pile, "aces": aces, "limit": limit}
    for pile in ("top", "spread")
    for aces in ("low", "universal")
    for limit in (False, True)
]


@pytest.mark.parametrize("options", MODES, ids=label)
def test_no_mask_is_empty_and_every_match_ends(options: Options, seed: int) -> None:
    """R5, R6, R8 and R10 hold at each decision of many matches, half of them with as many melds as possible."""
    for players in GAME.players:
        batch = card_envs.batch("rummy", 64, seed=seed, players=players, max_deals=1, **options)
        rng = np.random.default_rng(seed)
        ended = np.zeros(64, bool)
        first_lay = GAME.action_index("layoff Ac set", 0, 2)
        for step in range(1500):
            mask = batch.action_mask
            where = f"seed {seed}, step {step}, {players} players, {options}"
            assert mask.any(axis=1).all(), where
            states = batch.matches.states
            assert (states["idle"] <= IDLE * players).all(), where
            actions = batch.sample()
            for row in np.flatnonzero(mask[:, first_lay:].any(axis=1) & (np.arange(64) % 2 == 0)):
                actions[row] = first_lay + rng.choice(np.flatnonzero(mask[row, first_lay:]))
            taken = states["taken"]
            for row in np.flatnonzero(taken != NO_CARD):
                assert not mask[row, GAME.action_index(f"discard {CARDS[taken[row]]}", 0, 2)], where
            batch.step(actions)
            ended |= batch.terminated | batch.truncated
            if ended.all():
                break
        assert ended.all(), f"seed {seed}, {players} players, {options}"


@pytest.mark.parametrize("players", GAME.players)
def test_an_empty_stock_ends_nothing_by_itself(players: int, seed: int) -> None:
    """R9: the turn in which the stock runs out is played to its end; after that a turn begins with take or end."""
    table = card_envs.table("rummy", players=players, seed=seed, max_deals=1)
    rng = random.Random(seed)
    while table.state()["deck"]:
        assert "end" not in table.legal_actions()
        table.play("draw")
        table.play(rng.choice([action for action in table.legal_actions() if action.startswith("discard")]))
    pile = table.state()["pile"]
    assert table.legal_actions() == ["end", f"take {pile[-1]}"]
    table.play(f"take {pile[-1]}")
    table.play(next(action for action in table.legal_actions() if action.startswith("discard")))
    assert set(table.legal_actions()) == {"end", f"take {table.state()['pile'][-1]}"}
    table.play("end")
    assert table.is_over


# ---- states from outside

HANDS = ("4c 5c 9s 9d 2h Jh Kd", "2c 3d 5h 7d 8s Tc Qc", "2d 3h 5s 7h 8c Td Qd")


def started(*actions: str, **options: Any) -> dict[str, Any]:
    """A record with a start (see ``Table.redeal``) after these actions."""
    table = card_envs.table("rummy", players=3, seed=1, deck=dealt(*HANDS, up="6c", stock="As Ks"), **options)
    for action in actions:
        table.play(action)
    table.redeal(table.to_move or 0, 1)
    return table.record()


MELDED = ("take 6c", "meld 4c 5c 6c")


def test_a_state_from_outside_plays_on() -> None:
    assert replay_changed(started(*MELDED)).state()["melds"] == [{"kind": "run", "cards": ["4c", "5c", "6c"]}]


@pytest.mark.parametrize(
    ("actions", "fields", "message"),
    [
        ((), {"over": 1}, "the match is over, or it is not"),
        ((), {"phase": 2}, "the match is over, or it is not"),
        ((), {"to_move": -1}, "the match is over, or it is not"),
        ((), {"drawn": 52, "deck_size": 51}, "the stock is out of its bounds"),
        ((), {"deck_size": 51}, "the stock is out of its bounds"),
        ((), {"to_move": 3}, "a seat is not at the table"),
        ((), {"dealer": 3}, "the deal has not come to this dealer"),
        ((), {"pile_size": 0}, "the phase does not fit"),
        ((), {"taken": 3}, "a card was taken before the turn, or after it"),
        ((), {"must": 3}, "a card was taken before the turn, or after it"),
        ((), {"melded": 1}, "the phase does not fit"),
        ((), {"idle": 30}, "the idle turns do not fit"),
        (("draw",), {"idle": 31}, "the idle turns do not fit"),
        (("draw",), {"must": 3}, "a card that was taken need not be played now"),
        (("draw",), {"must": 3, "taken": 4}, "a card that was taken need not be played now"),
        (("draw",), {"melds": 1}, "is no set"),
        (MELDED, {"fits_set": 1}, "the cards that fit are not those that fit the melds"),
        (MELDED, {"fits_above": 0}, "the cards that fit are not those that fit the melds"),
        (MELDED, {"fits_below": 0}, "the cards that fit are not those that fit the melds"),
        ((), {"pile": 2}, "another value of option pile"),
        ((), {"pile": -2}, "another value of option pile"),
        (MELDED, {"meld_high": 4}, "is no run"),
        (MELDED, {"meld_of": 5}, "is no run"),
        (MELDED, {"meld_high": 7}, "the cards laid are not those of the melds"),
        (MELDED, {"melds": 0}, "the cards laid are not those of the melds"),
        (MELDED, {"taken": 4}, "the card that was taken is not in the hand"),
        (MELDED, {"points": [[14, 0, 0, 0]]}, "the points of the cards that seat 0 has laid are wrong"),
        (MELDED, {"points": [[15, 1, 0, 0]]}, "the points of the cards that seat 1 has laid are wrong"),
        (("draw",), {"points": [[0, 0, 396, 0]]}, "the points of the cards that seat 2 has laid are wrong"),
        (("draw",), {"must": 40}, "a card that was taken need not be played now"),
        (("draw",), {"hands": [[0, 0, 0, 0]]}, "a hand is empty"),
        (("draw",), {"hands": [[1, 2, 4, 0]]}, "the 52 cards of the deck are not all there once"),
        (("draw",), {"known": [[0, 1, 0, 0]]}, "a card known to be in a hand is not there"),
        ((), {"deck": [[0] * 52]}, "the 52 cards of the deck are not all there once"),
        ((), {"ordered": 2, "order": [[7] * 52]}, "the given order names a card twice"),
    ],
)
def test_a_broken_state_from_outside_is_refused(actions: tuple[str, ...], fields: dict[str, Any], message: str) -> None:
    record = started(*actions)
    replay_changed(record)
    with pytest.raises(ValueError, match=message):
        replay_changed(record, **fields)


def test_a_hand_of_the_barred_card_alone_is_refused() -> None:
    """R7: it could not move."""
    record = started("take 6c")
    hands = from_bytes(base64.b64decode(record["start"]["state"]), GAME.state_dtype)[0]["hands"].copy()
    six = 1 << CARDS.index("6c")
    hands[1], hands[0] = int(hands[1]) | (int(hands[0]) & ~six), six
    with pytest.raises(ValueError, match="the seat to move has no move"):
        replay_changed(record, hands=[hands])


@pytest.mark.parametrize(("run", "points", "wrong"), [("Ac 2c 3c", 6, 20), ("Qc Kc Ac", 35, 21)])
def test_points_depend_on_where_a_universal_ace_lies(run: str, points: int, wrong: int) -> None:
    """R21, R22: in a state from outside too, it counts 1 at the low end of a run, and 15 at the high end."""
    hand = f"{run} 5h 7h 9h Jh 4s 6s 8s Ts Qd Kd"
    others = " ".join([card for card in CARDS if card not in hand.split()][:13])
    table = card_envs.table("rummy", players=2, seed=1, deck=dealt(hand, others, up="Ks"), variant="rummy500")
    table.play("draw")
    table.play(f"meld {run}")
    table.redeal(0, 1)
    record = table.record()
    assert replay_changed(record, points=[[points, 0, 0, 0]]).state() == table.state()
    with pytest.raises(ValueError, match="the points of the cards that seat 0 has laid are wrong"):
        replay_changed(record, points=[[wrong, 0, 0, 0]])
