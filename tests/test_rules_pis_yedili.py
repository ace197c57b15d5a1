"""Rules that only Pis Yedili has: the deck, the actions, observations of rare positions, ends of deals, states from outside."""

from __future__ import annotations

import base64
import random
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np
import pytest

import card_envs
from card_envs import Table
from card_envs.engine.rows import from_bytes, open_row
from tests.games.pis_yedili import PHASES
from tests.helpers import check_observation, play_on, replay_changed
from tests.reference.french_deck import CARDS, SUITS
from tests.reference.pis_yedili import POINTS

GAME = card_envs.load_game("pis_yedili")


def dealt(one: str, other: str, stock: str = "") -> list[str]:
    """The deck that gives two players these hands."""
    return [card for pair in zip(one.split(), other.split()) for card in pair] + stock.split()


# ---- the deck and the action space


def test_the_deck() -> None:
    """P1: one French deck, 2 to 6 players; cards by suit c d h s, then rank A … K."""
    assert list(GAME.cards) == CARDS
    assert " ".join(CARDS[:14]) == "Ac 2c 3c 4c 5c 6c 7c 8c 9c Tc Jc Qc Kc Ad"
    assert " ".join(CARDS[-3:]) == "Js Qs Ks"
    assert set(GAME.copies) == {1}
    assert GAME.players == range(2, 7)
    assert GAME.phases == (*PHASES, "over")
    assert GAME.resolve({}) == {"players": 4, "deals": 4, "penalty_keeps_turn": False, "club_lap": False}


@pytest.mark.parametrize("players", GAME.players)
def test_seven_cards_each(players: int) -> None:
    """P19, P2: seven cards each, one at a time from the dealer's left; no card is turned up."""
    state = card_envs.table("pis_yedili", players=players, deck=CARDS).state()
    assert state["hands"] == [CARDS[seat : 7 * players : players] for seat in range(players)]
    assert state["deck"] == CARDS[7 * players :]
    assert state["pile"] == []


def test_every_deal_is_dealt_from_a_deck_of_its_own(seed: int) -> None:
    """P19: shuffle k is drawn from the key of the match and k; only the order of the first deal is given."""
    table = card_envs.table("pis_yedili", seed=seed, deck=CARDS)
    orders = []
    for _ in play_on(table, random.Random(seed), eager=0.5):
        state = table.state()
        if not state["pile"] and len(orders) < state["deal"]:
            orders.append(list(chain(*state["hands"], state["deck"])))
            assert sorted(orders[-1]) == sorted(CARDS), f"seed {seed}"
    assert orders[0][28:] == CARDS[28:]
    assert len({tuple(order) for order in orders}) == 4


def test_the_action_space() -> None:
    """52 plays, draw, take, pass, four suits: the same for every seat and number of players."""
    actions = [f"play {card}" for card in CARDS] + ["draw", "take", "pass"] + [f"suit {suit}" for suit in SUITS]
    for players in GAME.players:
        assert GAME.num_actions(players) == len(actions) == 59
        for seat in range(players):
            assert [GAME.action_string(index, seat, players) for index in range(59)] == actions


@pytest.mark.parametrize(
    "string",
    [
        "", "0", "play", "play ", "play 1c", "play 10c", "play Tx", "play tc", "play TC", "play cT", "play 6c ", " play 6c",
        "play  6c", "play 6c\n", "play\t6c", "play 6c 7c", "Play 6c", "6c", "draw ", "Draw", "draw 1", "take 3", "take ",
        "pass ", "Pass", "suit", "suit x", "suit C", "suit clubs", "suit  c", "suit c d", "play 6♣", "play 6c\x00",
    ],
)  # fmt: skip
def test_strings_that_are_no_actions(string: str) -> None:
    assert GAME.action_index(string, 0, 4) is None
    table = card_envs.table("pis_yedili", deck=["6c"], seed=1)
    state = table.state()
    assert "play 6c" in table.legal_actions()
    with pytest.raises(card_envs.IllegalAction):
        table.play(string)
    assert table.state() == state


def test_what_the_cards_count() -> None:
    """P25, spelled out; scores are checked with POINTS below."""
    assert POINTS == {
        "2": 2, "3": 3, "4": 4, "5": 5, "6": 6, "7": 20, "8": 8, "9": 9, "T": 10, "J": 25, "Q": 10, "K": 10, "A": 15,
    }  # fmt: skip


# ---- the observation


def test_a_total_over_a_thousand_is_seen_as_a_thousand(seed: int) -> None:
    table = card_envs.table("pis_yedili", seed=seed, players=6, deals=30)
    for decision, _ in enumerate(play_on(table, random.Random(seed))):
        if decision % 25 == 0:
            check_observation(table, table.to_move or 0, [], f"seed {seed}, decision {decision}")
    assert max(table.scores) > 1000
    check_observation(table, 0, [], f"seed {seed}, the end")


def test_the_observation_after_a_led_jack_and_in_the_choice_of_a_suit() -> None:
    """P5, P12: the suit to follow is clubs after a led Jc; there is none while one is being named."""
    table = card_envs.table("pis_yedili", players=2, deck=dealt("Jc 2d 3d 4d 5d 6d 8d", "6c Jh 2h 3h 4h 5h 8h"))
    suits = GAME.observation_fields({"players": 2})["suit"].slice
    seen = [[*table.observation(0)[suits]]]
    for action in ("play Jc", "play 6c", "draw", "pass", "play Jh", "suit s"):
        table.play(action)
        check_observation(table, 0, [], action)
        check_observation(table, 1, [], action)
        seen.append([*table.observation(0)[suits]])
    none, clubs, spades = [0, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1]
    assert seen == [none, clubs, clubs, clubs, clubs, none, spades]


# ---- what is known


def test_observations_do_not_tell_two_hands_apart() -> None:
    """P29: two tables that differ only in hidden cards look the same, move by move, to the seat that cannot see them."""
    decks = [dealt("6c 2c 9d 3h 4h 5h Kh", other, "Ks Qs Ts") for other in ("7c 2d 3d 4d 5d 6d 8d", "7c 2s 3s 4s 5s 6s 8s")]
    tables = [card_envs.table("pis_yedili", players=2, seed=1, deck=deck) for deck in decks]
    for action in (None, "play 6c", "play 7c", "take"):
        for table in tables:
            if action:
                table.play(action)
        a, b = tables
        assert a.observation(0).tobytes() == b.observation(0).tobytes(), action
        assert a.observation(1).tobytes() != b.observation(1).tobytes(), action
        assert a.view(0) == b.view(0), action
        if a.to_move == 0:
            assert a.legal_actions() == b.legal_actions(), action


# ---- ends of deals


def endings(table: Table, rng: random.Random, eager: float) -> Iterator[tuple[dict[str, Any], str, list[int]]]:
    """Yield, for every deal of a match, the state before its last action, that action and the scores."""
    before, last, finished = table.state(), "", 0
    for action in chain(play_on(table, rng, eager), [""]):
        row = open_row(table.matches.states)
        if row.finished > finished:
            finished += 1
            yield before, last, table.deals[-1]
        last = action
        if action and (row.deck_size - row.drawn <= 12 or int(row.hands[row.to_move]).bit_count() == 1):
            before = table.state()  # the action may end the deal: it empties the hand, or the stock (P17: 12 cards at most)


def test_every_end_of_a_deal_in_busy_play(seed: int) -> None:
    """P23, P24, P25: the scores at each kind of end, counted again from the hands before the last action."""
    rng, ends = random.Random(seed), Counter[str]()
    for match in range(400):
        options = {"players": rng.randint(2, 6), "penalty_keeps_turn": rng.random() < 0.5, "club_lap": rng.random() < 0.5}
        table = card_envs.table("pis_yedili", seed=(seed, 0, match), **options)
        for before, action, scores in endings(table, rng, eager=rng.choice([0.5, 0.9, 1.0])):
            story = f"identity {table.identity}, {options}, deal {before['deal']}, {action!r}"
            hands, mover = before["hands"], before["to_move"]
            verb, _, card = action.partition(" ")
            if verb == "play":
                assert hands[mover] == [card], story
                hands[mover] = []
                ends[f"last {card[0]}"] += 1
            else:
                assert len(before["deck"]) <= (1 if verb == "draw" else 3 * before["sevens"]), story
                hands[mover] += before["deck"]
                ends[f"stock, {before['phase']}"] += 1
            sums = [sum(POINTS[held[0]] for held in hand) for hand in hands]
            times = {"7": 3, "J": 2}.get(card[:1], 1)
            assert scores == [0 if points == min(sums) else times * points for points in sums], story
    kinds = {f"last {rank}" for rank in "7JA8TQ"} | {f"stock, {phase}" for phase in ("lead", "turn", "drawn", "sevens")}
    assert kinds <= set(ends), f"seed {seed}: {ends}"


# ---- the picture


def test_every_phase_says_what_is_asked(seed: int) -> None:
    questions: dict[str, str] = {}
    for match in range(30):
        table = card_envs.table("pis_yedili", seed=(seed, 0, match), players=2, deals=1)
        for _ in chain(play_on(table, random.Random(match), eager=0.6), [""]):
            state = table.state()
            said = table.picture().decision
            assert state["over"] or said.startswith(f"seat {state['to_move']} to move: ")
            questions[state["phase"]] = said
            if state["phase"] == "sevens":
                assert f"take {3 * state['sevens']} cards" in said
    assert len(set(questions.values())) == len(questions) == 7


# ---- states from outside


def started(*actions: str) -> tuple[dict[str, Any], Any]:
    """A record with a start after these actions (see ``Table.redeal``), and the fields of its state."""
    table = card_envs.table("pis_yedili", players=2, seed=1, deck=dealt("6c Jd 2d 3d 4d 5d 6d", "7c 7h 2h 3h 4h 5h Ah"))
    for action in actions:
        table.play(action)
    table.redeal(table.to_move or 0, 1)
    record = table.record()
    return record, from_bytes(base64.b64decode(record["start"]["state"]), GAME.state_dtype)[0]


def test_a_state_from_outside_plays_on() -> None:
    record, _ = started("play 6c", "play 7c")
    assert replay_changed(record).state()["phase"] == "sevens"


@pytest.mark.parametrize(
    ("actions", "fields", "message"),
    [
        ([], {"over": 1}, "the match is over, or it is not"),
        ([], {"phase": 6}, "the match is over, or it is not"),
        ([], {"to_move": -1}, "the match is over, or it is not"),
        ([], {"drawn": 52}, "the stock is out of its bounds"),
        ([], {"deck_size": 51}, "the stock is out of its bounds"),
        ([], {"to_move": 2}, "a seat is not at the table"),
        ([], {"dealer": 2}, "the deal has not come to this dealer"),
        ([], {"direction": 0}, "the direction does not fit"),
        ([], {"phase": 1}, "the phase does not fit"),
        ([], {"lap": 0}, "the phase does not fit"),
        ([], {"lap": 3}, "the phase does not fit"),
        (["play 6c"], {"sevens": 1}, "more sevens are open than lie on top"),
        (["play 6c"], {"phase": 3}, "more sevens are open than lie on top"),
        (["play 6c", "play 7c"], {"sevens": 0}, "more sevens are open than lie on top"),
        ([], {"top": 5}, "the top card is not that of the pile"),
        (["play 6c"], {"top": 6}, "the top card is not that of the pile"),
        (["play 6c"], {"top": -1}, "the top card is not that of the pile"),
        (["play 6c"], {"pile_size": 0}, "the phase does not fit"),
        (["play 6c"], {"suit": -1}, "the suit to follow is not that of the top card"),
        (["play 6c"], {"phase": 4}, "the suit to follow is not that of the top card"),
        (["play 6c"], {"seen": 1}, "the cards seen are not those of the pile"),
        (["play 6c"], {"hands": [[1, 2, 0, 0, 0, 0]]}, "the 52 cards of the deck are not all there once"),
        ([], {"deck": [[0] * 52]}, "the 52 cards of the deck are not all there once"),
        ([], {"ordered": 2, "order": [[7] * 52]}, "the given order names a card twice"),
    ],
)
def test_a_broken_state_from_outside_is_refused(actions: list[str], fields: dict[str, Any], message: str) -> None:
    record, _ = started(*actions)
    with pytest.raises(ValueError, match=message):
        replay_changed(record, **fields)


def test_a_card_in_two_hands_is_refused() -> None:
    record, state = started("play 6c")
    hands = state["hands"].copy()
    hands[0] = np.uint64(int(hands[0]) | int(hands[1]))
    with pytest.raises(ValueError, match="not all there once"):
        replay_changed(record, hands=[hands])
