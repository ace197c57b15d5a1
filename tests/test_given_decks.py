"""Decks in a given order: what is dealt from them, and which are refused."""

from __future__ import annotations

import copy
import pickle
import random

import pytest

import card_envs
from card_envs import Table
from tests import games
from tests.batches import every_game
from tests.helpers import GAMES, play_on, through_json


@every_game
def test_bad_decks_name_the_card(game: str) -> None:
    rules = card_envs.load_game(game)
    rare = min(zip(rules.copies, rules.cards))[1]
    too_many = [rare] * (rules.copies[rules.cards.index(rare)] + 1)
    with pytest.raises(ValueError, match=f"'{rare}' is named more than"):
        card_envs.table(game, deck=too_many)
    with pytest.raises(ValueError, match="unknown card 'joker'"):
        card_envs.table(game, deck=["joker"])
    with pytest.raises(ValueError, match="a list of card names is expected"):
        card_envs.table(game, deck=rare)
    everything = [card for card, count in zip(rules.cards, rules.copies) for _ in range(count)]
    with pytest.raises(ValueError, match="is named more than"):
        card_envs.table(game, deck=[*everything, everything[0]])


@every_game
def test_a_given_deck_is_dealt_and_the_next_match_has_its_own(game: str) -> None:
    rules = card_envs.load_game(game)
    everything = [card for card, count in zip(rules.cards, rules.copies) for _ in range(count)]
    assert card_envs.table(game, deck=everything).order == everything
    prefix = everything[::7]
    table = card_envs.table(game, deck=prefix, seed=3)
    assert table.order[: len(prefix)] == prefix
    assert sorted(table.order) == sorted(everything)
    assert card_envs.table(game, deck=prefix, seed=4).order[len(prefix) :] != table.order[len(prefix) :]


def to_deal(table: Table, number: int, rng: random.Random) -> Table:
    """Play on to the beginning of a deal."""
    for _ in play_on(table, rng, eager=0.5):
        if table.state()["deal"] == number:
            break
    return table


@pytest.mark.parametrize("game", [game for game in GAMES if card_envs.load_game(game).shuffles_every_deal])
def test_a_given_deck_for_each_deal(game: str, seed: int) -> None:
    """The second and the third deal have the second and the third order, in copies and records too; the fourth is shuffled."""
    cards = list(card_envs.load_game(game).cards)
    orders = [cards, cards[::-1], cards[::2] + cards[1::2]]
    deck = [orders[0], orders[1][:-3], orders[2][:-3]]  # prefixes: three cards lie under them in random order
    options = games.load(game).LONG
    table = card_envs.table(game, seed=seed, deck=deck, **options)
    assert table.state() == card_envs.table(game, seed=seed, deck=deck[0], **options).state()
    copies = [table.clone(), copy.deepcopy(table), pickle.loads(pickle.dumps(table))]
    copies.append(card_envs.replay(through_json(table.record())))
    hidden = table.clone()
    hidden.redeal(0, 4)
    fourth = set()
    for one in (table, *copies):
        for number, order in ((2, orders[1]), (3, orders[2])):
            state = to_deal(one, number, random.Random(seed)).state()
            hands, gone = sum(map(len, state["hands"])), len(order) - len(state["deck"])
            assert state["pile"] == order[hands:gone], f"seed {seed}"
            for distance in range(1, one.players + 1):
                seat = (state["dealer"] + distance) % one.players
                assert sorted(state["hands"][seat]) == sorted(order[distance - 1 : hands : one.players]), f"seed {seed}"
            assert state["deck"][:-3] == order[gone:-3], f"seed {seed}"
            assert sorted(state["deck"][-3:]) == sorted(order[-3:]), f"seed {seed}"
            again = card_envs.replay(through_json(one.record()))
            assert again.state() == state
            assert again.record() == one.record()
        fourth.add(tuple(to_deal(one, 4, random.Random(seed)).state()["deck"]))
    assert len(fourth) == 1
    assert not fourth & {tuple(order[gone:]) for order in orders}
    assert "deck" not in hidden.record()
    for number, order in ((2, orders[1]), (3, orders[2])):
        assert to_deal(hidden, number, random.Random(seed)).state()["deck"][:-3] != order[gone:-3], (
            "given orders are hidden too"
        )


@every_game
def test_bad_decks_for_several_deals(game: str) -> None:
    rules = card_envs.load_game(game)
    card = rules.cards[0]
    if not rules.shuffles_every_deal:
        with pytest.raises(ValueError, match=f"{game} has one deck for all deals"):
            card_envs.table(game, deck=[[card], [card]])
        return
    with pytest.raises(ValueError, match="a list of card names is expected instead of"):
        card_envs.table(game, deck=[[card], card])
    for bad in ([[card], ["joker"]], [[], [card, card]]):
        with pytest.raises(ValueError, match=r"unknown card 'joker'|is named more than"):
            card_envs.table(game, deck=bad)
