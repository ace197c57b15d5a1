"""What card games share: packs of any number of copies, sets of cards, dealing; melds against plain enumeration."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from typing import Any

import numpy as np
import pytest

from card_envs.engine.deals import compose_rules
from card_envs.engine.game import Option
from card_envs.engine.rows import open_row
from card_envs.engine.state import lay_out_state
from card_envs.games import deck, melds
from tests.reference.streams import deck_key, shuffled

FRENCH = [rank + suit for suit in "cdhs" for rank in "A23456789TJQK"]


def as_set(names: Any) -> np.uint64:
    return np.uint64(sum(1 << FRENCH.index(name) for name in names))


# ---- packs


def test_the_french_pack() -> None:
    assert [*deck.CARDS] == FRENCH
    assert deck.COPIES == (1,) * 52
    assert deck.FULL_DECK.tolist() == [*range(52)]


def test_packs_of_other_suits_ranks_copies_and_jokers() -> None:
    """Two packs of a canasta, and the colours of an UNO with its wild cards."""
    canasta = deck.make_pack(deck.RANKS, deck.SUITS, copies=2, others={"joker": 4})
    assert canasta.cards == (*FRENCH, "joker")
    assert (sum(canasta.copies), canasta.copies[0], canasta.copies[-1]) == (108, 2, 4)
    uno = deck.make_pack("123456789SRD", "rygb", copies=2, others={"0r": 1, "0y": 1, "0g": 1, "0b": 1, "wild": 4, "four": 4})
    assert uno.cards[:3] == ("1r", "2r", "3r")
    assert uno.cards[12] == "1y"
    assert sum(uno.copies) == 108


def test_a_double_deck_is_built_under_its_given_cards_and_shuffled() -> None:
    """The given cards on top in their order, all others below them, shuffled by the stream of the deal."""
    pack = deck.make_pack(deck.RANKS, deck.SUITS, copies=2)
    options = (Option("players", 2, "", 2, 2),)
    states = np.zeros(
        1, lay_out_state(options, ("turn", "over"), pack.copies, (), scores=(0, 1), deck_for_each_deal=True).dtype
    )
    s: Any = open_row(states)
    given = [FRENCH.index(card) for card in ("Kh", "Ac", "Kh")]
    s.key, s.finished = deck_key((3, 0, 0)), 5
    for deal in (5, 6):
        s.finished = deal
        s.ordered = len(given) if deal == 5 else 0
        for i, card in enumerate(given):
            s.order[i] = card
        with np.errstate(over="ignore"):
            deck.build_deck(s, deck.list_cards(pack.copies))
        built = [*s.deck]
        assert (s.deck_size, s.drawn, s.ordered) == (104, 0, 0)
        assert Counter(built) == dict.fromkeys(range(52), 2)
        top = given if deal == 5 else []
        left = Counter(dict.fromkeys(range(52), 2)) - Counter(top)
        below = [str(card) for card in range(52) for _ in range(left[card])]
        assert built == top + [int(card) for card in shuffled(below, s.key, deal)]


def test_counts_are_named_in_the_order_of_the_pack() -> None:
    pack = deck.make_pack("12", "ab", copies=2, others={"joker": 2})
    assert deck.name_counts(pack.cards, [2, 0, 1, 0, 2]) == ["1a", "1a", "1b", "joker", "joker"]
    with pytest.raises(ValueError, match="zip"):
        deck.name_counts(pack.cards, [1])


# ---- sets of cards


def test_sets_of_cards(seed: int) -> None:
    rng = random.Random(seed)
    for size in [1, 2, 51, 52, *(rng.randint(1, 52) for _ in range(100))]:
        names = sorted(rng.sample(FRENCH, size), key=FRENCH.index)
        cards = as_set(names)
        with np.errstate(over="ignore"):
            assert deck.name_cards(int(cards)) == names
            assert [FRENCH[deck.nth(cards, n)] for n in range(size)] == names
            assert deck.name_cards(int(deck.without_lowest(cards))) == names[1:]
            assert [card for card in range(52) if deck.holds(cards, card)] == [FRENCH.index(name) for name in names]
            assert deck.sum_numbers(cards) == sum(int(name[0]) for name in names if name[0] in "23456789")
    for suit, letter in enumerate("cdhs"):
        assert deck.name_cards(int(deck.of_suit(suit))) == [name for name in FRENCH if name[1] == letter]
    for rank, letter in enumerate("A23456789TJQK"):
        assert deck.name_cards(int(deck.of_rank(rank))) == [name for name in FRENCH if name[0] == letter]
    for cards, ranks in (
        (deck.ACES, "A"),
        (deck.TWOS, "2"),
        (deck.NUMBERS, "23456789"),
        (deck.TENS, "TJQK"),
        (deck.KINGS, "K"),
    ):
        assert set(deck.name_cards(int(cards))) == {name for name in FRENCH if name[0] in ranks}


# ---- melds


def all_melds(universal: bool) -> dict[frozenset[str], str]:
    """Every meld and the kind of it, by plain enumeration."""
    found = {}
    for rank in "A23456789TJQK":
        for size in (3, 4):
            for suits in itertools.combinations("cdhs", size):
                found[frozenset(rank + suit for suit in suits)] = "set"
    order = "A23456789TJQK" + "A" * universal
    for suit in "cdhs":
        for low, high in itertools.combinations(range(len(order) + 1), 2):
            if 3 <= high - low <= 13:
                found[frozenset(rank + suit for rank in order[low:high])] = "run"
    return found


def test_every_meld_has_one_number() -> None:
    sets = [frozenset(names) for names in melds.SET_NAMES]
    runs = [frozenset(names) for names in melds.RUN_NAMES]
    assert (len(sets), len(runs)) == (melds.SETS, 4 * melds.PER_SUIT) == (65, 308)
    expected = all_melds(True)
    assert {*sets} == {meld for meld, kind in expected.items() if kind == "set"}
    assert {*runs} == {meld for meld, kind in expected.items() if kind == "run"}
    with np.errstate(over="ignore"):
        assert [as_set(names) for names in sets] == [melds.set_cards(number) for number in range(65)]
        assert [as_set(names) for names in runs] == [melds.run_cards(number) for number in range(308)]


@pytest.mark.parametrize("universal", [False, True])
def test_all_melds_of_a_hand(universal: bool, seed: int) -> None:
    """With cards that a meld must hold, and with a card that may not be left over alone."""
    rng, legal = random.Random(seed), all_melds(universal)
    for size in [*range(3, 20)] * 6:
        ranks = rng.sample("A23456789TJQK", rng.randint(3, 13))
        pool = [name for name in FRENCH if name[0] in ranks]
        hand = frozenset(rng.sample(pool, min(size, len(pool))))
        needed = frozenset(rng.sample(sorted(hand), rng.choice([0, 0, 1, 2])))
        last = frozenset(rng.sample(sorted(hand), rng.randint(0, 1)))
        marks = np.zeros(10 + 65 + 308, np.int8)
        with np.errstate(over="ignore"):
            melds.mark_sets(as_set(hand), as_set(needed), as_set(last), marks, 10)
            melds.mark_runs(as_set(hand), as_set(needed), as_set(last), universal, marks, 75)
        expected = set()
        for meld in legal:
            stuck = last and hand - meld == last and meld | last not in legal
            if needed <= meld <= hand and not stuck:
                expected.add(meld)
        names = [frozenset(names) for names in (*melds.SET_NAMES, *melds.RUN_NAMES)]
        assert {names[i] for i in np.flatnonzero(marks[10:])} == expected, (sorted(hand), sorted(needed), sorted(last))
        assert not marks[:10].any()


@pytest.mark.parametrize("universal", [False, True])
def test_what_fits_a_run(universal: bool) -> None:
    legal = all_melds(universal)
    for low, high in zip(melds.RUN_LOW.tolist(), melds.RUN_HIGH.tolist(), strict=True):
        run = frozenset("A23456789TJQKA"[rank] + "h" for rank in range(low, high + 1))
        if run not in legal:
            continue
        fits = melds.fits_below(2, low) | melds.fits_above(2, high, universal)
        expected = {card for card in FRENCH if card not in run and run | {card} in legal}
        assert {*deck.name_cards(int(fits))} - run == expected, sorted(run)


def test_a_game_of_a_double_deck_runs_on_the_engine() -> None:
    """Deals follow each other with a new deck of two packs each time, interpreted: no rule is bound to 52 cards."""
    pack = deck.make_pack(deck.RANKS, deck.SUITS, copies=2)
    cards = deck.list_cards(pack.copies)
    options = (Option("players", 2, "", 2, 2),)
    states = np.zeros(
        1, lay_out_state(options, ("turn", "over"), pack.copies, (), scores=(0, 1), deck_for_each_deal=True).dtype
    )
    s: Any = open_row(states)
    s.players, s.key = 2, deck_key((1, 0, 0))
    orders = []

    def begin_deal(s: Any) -> None:
        with np.errstate(over="ignore"):
            deck.build_deck(s, cards)
        orders.append([*s.deck])

    def step(s: Any, action: int) -> None:
        s.deal_over = 1

    init, play = compose_rules(begin_deal, step, lambda s: 0, over=1)
    init(s)
    for _ in range(3):
        play(s, 0)
    assert len({tuple(order) for order in orders}) == 4
    assert all(Counter(order) == dict.fromkeys(range(52), 2) for order in orders)
