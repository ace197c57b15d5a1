"""Rummy and Rummy 500, written slowly and plainly from the numbered rules (R2-R30).

A reference to cross-check the fast engine against; it shares no code with it. Every function is a paragraph of the rules
and quotes their numbers.
"""

from collections.abc import Callable, Generator, Sequence
from copy import deepcopy
from itertools import combinations
from typing import Any

from tests.reference.french_deck import CARDS, RANKS, SUITS, canonical
from tests.reference.match import Decisions, Match
from tests.reference.streams import deck_of_each_deal

BASIC: dict[str, Any] = {  # the table of options, in its order
    "players": 2, "pile": "top", "aces": "low", "scoring": "positive", "simple": False, "limit": False, "target": 100,
    "settle": "each", "max_deals": 100,
}  # fmt: skip
VARIANTS = {
    "basic": BASIC,
    "rummy500": {**BASIC, "pile": "spread", "aces": "universal", "scoring": "laid", "target": 500},
}
CHOICES = {
    "pile": ("top", "spread"), "aces": ("low", "universal"), "scoring": ("positive", "laid", "negative"),
    "settle": ("each", "once"),
}  # fmt: skip

PLAIN = [  # of the state
    "deal", "dealer", "to_move", "phase", "totals", "deck", "winners", "truncated", "hands", "pile", "melds",
    "past", "taken", "must", "melded", "idle",
]  # fmt: skip

Meld = dict[str, Any]  # {"kind": "set" | "run", "cards": [...]}: a run from low to high, a set in suit order


def is_set(cards: list[str]) -> bool:
    """R12: three or four of one rank."""
    return len(cards) in (3, 4) and len({card[0] for card in cards}) == 1


def sets(rank: str, cards: list[str]) -> list[list[str]]:
    """R12: every set of this rank that can be made of the cards, in suit order."""
    held = [rank + suit for suit in SUITS if rank + suit in cards]
    return [list(some) for size in (3, 4) for some in combinations(held, size)]


def resolve(variant: str, given: dict[str, Any]) -> dict[str, Any]:
    """The options: the column of the variant, and over it what was given."""
    if variant not in VARIANTS or not given.keys() <= BASIC.keys():
        raise ValueError("unknown variant or option")
    options = {**VARIANTS[variant], **given}
    if any(type(options[name]) is not type(BASIC[name]) for name in BASIC):
        raise ValueError("an option of the wrong type")
    if not 2 <= options["players"] <= 4 or options["target"] < 1 or options["max_deals"] < 1:
        raise ValueError("players must be 2..4, target and max_deals at least 1")
    if any(options[name] not in choices for name, choices in CHOICES.items()):
        raise ValueError("no such choice")
    return options


class Rummy(Match):
    """One match."""

    def __init__(self, deck: Callable[[int], list[str]], *, variant: str = "basic", **options: Any) -> None:
        """Start a match.

        ``deck(k)`` gives the order of all 52 cards for deal k (1, 2, ...), the next card to leave the deck first.
        """
        self.options = resolve(variant, options)
        self.players: int = self.options["players"]
        self.ladder = RANKS + ("A" if self.options["aces"] == "universal" else "")  # R11: what can follow what
        self.order = deck
        self.deal = 0  # dealer, deck, hands, pile, melds, laid, known and so on: set for each deal
        self.taken: str | None = None  # R6: the card that may not be discarded in this turn
        self.must: str | None = None  # R8: the card that must be played next
        self.totals = [0] * self.players
        self.deals: list[list[int]] = []
        self.winners: list[int] = []
        self.truncated = False
        self.begin(self.match())

    # ------------------------------------------------------------------ the outside

    def state(self) -> dict[str, Any]:
        """Everything, as ``Table.state()`` tells it."""
        return {
            "game": "rummy",
            "players": self.players,
            "options": dict(self.options),
            **{key: deepcopy(getattr(self, key)) for key in PLAIN},
            "over": self.phase == "over",
            "laid": [canonical(cards) for cards in self.laid],
            "known": [canonical(cards) for cards in self.known],
        }

    # ------------------------------------------------------------------ match, deal, turn

    def match(self) -> Decisions:
        """Deals until a total reaches the target (R29, R28) or the cap is reached (R10)."""
        while True:
            self.deal += 1
            self.dealer = (self.deal - 2) % self.players  # the last seat deals first
            yield from self.one_deal()
            scores = self.scores()
            self.deals.append(scores)
            self.totals = [total + score for total, score in zip(self.totals, scores, strict=True)]
            if max(self.totals) >= self.options["target"] or self.deal == self.options["max_deals"]:
                break
        self.truncated = max(self.totals) < self.options["target"]
        best = min(self.totals) if self.options["scoring"] == "negative" else max(self.totals)  # R28, R29
        self.winners = [seat for seat in range(self.players) if self.totals[seat] == best]
        yield from self.finish()

    def one_deal(self) -> Decisions:
        """One deal: the cards, then turns until somebody goes out (R17), says end (R9) or all were idle (R10)."""
        self.deck = list(self.order(self.deal))  # R3: newly shuffled
        if canonical(self.deck) != CARDS:
            raise ValueError("the deck must be exactly the 52 cards")
        self.hands: list[list[str]] = [[] for _ in range(self.players)]
        self.laid: list[list[str]] = [[] for _ in range(self.players)]  # who laid which cards
        self.known: list[list[str]] = [[] for _ in range(self.players)]  # R30: seen taken and still held
        self.past: list[dict[str, list[str]]] = [  # R30: what each seat last chose to do with a card
            {"discarded": [], "declined": [], "taken": []} for _ in range(self.players)
        ]
        self.melds: list[Meld] = []
        self.have_melded: set[int] = set()  # R19: seats that have melded in this deal
        self.idle = 0  # R10: idle turns in a row
        first = (self.dealer + 1) % self.players  # R4
        for card in range(self.players * (13 if self.players == 2 else 7)):  # R2: one at a time, clockwise
            self.hands[(first + card) % self.players].append(self.deck.pop(0))
        self.hands = [canonical(hand) for hand in self.hands]
        self.pile = [self.deck.pop(0)]  # R3
        seat = first
        while True:
            action = yield from self.turn(seat)
            self.taken = None  # R6: the bar is for this turn only
            if action == "end" or not self.hands[seat] or self.idle == 10 * self.players:
                return
            seat = (seat + 1) % self.players

    def turn(self, seat: int) -> Generator[None, str, str]:
        """One turn; returns its last action."""
        self.taken, self.must, self.melded = None, None, False
        action = yield from self.ask("draw", seat, self.draws(seat))  # R5
        if action == "end":
            return action
        self.take_in(seat, action)
        while self.hands[seat]:  # R17: an empty hand ends the turn and the deal
            action = yield from self.ask("play", seat, self.plays(seat))
            if action.startswith("discard"):  # R17: it ends the turn
                card = action.split()[1]
                self.leave_hand(seat, [card])
                self.remember(seat, "discarded", card)
                self.pile.append(card)
                return action
            self.lay(seat, action)
        return action

    # ------------------------------------------------------------------ what is legal

    def draws(self, seat: int) -> list[str]:
        """R5: how the turn can start."""
        legal = ["draw"] if self.deck else ["end"]  # R5, R9
        legal.append(f"take {self.pile[-1]}")  # R6: the top card, always
        if self.options["pile"] == "spread":  # R8: a lower one, if it can be played at once
            for place, card in enumerate(self.pile[:-1]):
                if self.plays_of(seat, card, self.hands[seat] + self.pile[place:]):
                    legal.append(f"take {card}")
        return legal

    def plays(self, seat: int) -> list[str]:
        """R16, R17: melds and lay-offs, or a discard."""
        hand = self.hands[seat]
        if self.must is not None:  # R8: nothing but to play it; R7 does not apply
            return self.plays_of(seat, self.must, hand)
        lays = self.meld_actions([*(m for rank in RANKS for m in sets(rank, hand)),
                                  *(m for suit in SUITS for m in self.runs(suit, hand))])  # fmt: skip
        for card in hand:
            lays += self.layoff_actions(seat, card)
        return [*(lay for lay in lays if self.can_finish(seat, lay)),
                *(f"discard {card}" for card in hand if card != self.taken)]  # R6  # fmt: skip

    def plays_of(self, seat: int, card: str, cards: list[str]) -> list[str]:
        """R8: the melds, made of the cards, that contain this card, and its lay-offs on the table as it lies."""
        melds = sets(card[0], cards) + self.runs(card[1], cards)
        return self.meld_actions([meld for meld in melds if card in meld]) + self.layoff_actions(seat, card)

    def meld_actions(self, melds: list[list[str]]) -> list[str]:
        """The actions that lay these melds; R19: with the limit, one meld per turn."""
        if self.options["limit"] and self.melded:
            return []
        return ["meld " + " ".join(meld) for meld in melds]

    def layoff_actions(self, seat: int, card: str) -> list[str]:
        """R14: the ways to lay off this card; R19: with the limit, only for one who has melded in this deal."""
        if self.options["limit"] and seat not in self.have_melded:
            return []
        return [f"layoff {card} {way}" for way in self.ways(card, self.melds)]

    def can_finish(self, seat: int, lay: str) -> bool:
        """R7: a meld or lay-off may leave exactly the barred card only if that card then fits a meld.

        With the limit of R19, too, the seat may then lay it off: it has just melded, or was allowed to lay off.
        """
        if self.taken is None:
            return True
        left, melds = self.after(seat, lay)
        return left != [self.taken] or bool(self.ways(self.taken, melds))

    # ------------------------------------------------------------------ melds

    def is_run(self, cards: list[str]) -> bool:
        """R11: three or more of one suit, in the order of the ladder; nothing is below its lowest or above its end."""
        return len(cards) >= 3 and len({card[1] for card in cards}) == 1 and self.consecutive(cards)

    def consecutive(self, cards: list[str]) -> bool:
        """Do the ranks follow one another on the ladder?"""
        return "".join(card[0] for card in cards) in self.ladder

    def runs(self, suit: str, cards: list[str]) -> list[list[str]]:
        """R11: every run of this suit that can be made of the cards, from low to high."""
        held = [rank + suit in cards for rank in self.ladder]
        return [
            [rank + suit for rank in self.ladder[start:end]]
            for start in range(len(held))
            for end in range(start + 3, min(start + 13, len(held)) + 1)  # at most thirteen: there is only one ace
            if all(held[start:end])
        ]

    def grown(self, meld: Meld, card: str, way: str) -> list[str] | None:
        """R13, R14: the cards of the meld with this card added in this way; None if it does not fit."""
        if way == "set":
            cards = sorted([*meld["cards"], card], key=lambda c: SUITS.index(c[1]))
            return cards if meld["kind"] == "set" and is_set(cards) else None
        cards = [card, *meld["cards"]] if way == "below" else [*meld["cards"], card]
        return cards if meld["kind"] == "run" and self.is_run(cards) else None

    def ways(self, card: str, melds: list[Meld]) -> list[str]:
        """R14: the ways in which the card can be laid off on some meld."""
        return [way for way in ("set", "below", "above") if any(self.grown(meld, card, way) for meld in melds)]

    def after(self, seat: int, lay: str) -> tuple[list[str], list[Meld]]:
        """The hand of the seat and the melds as they will lie after a meld or lay-off; changes nothing."""
        verb, *cards = lay.split()
        melds = list(self.melds)
        if verb == "meld":
            melds.append({"kind": "set" if is_set(cards) else "run", "cards": cards})
        else:
            card, way = cards
            cards = [card]
            place = next(i for i, meld in enumerate(melds) if self.grown(meld, card, way))  # there is only one
            melds[place] = {"kind": melds[place]["kind"], "cards": self.grown(melds[place], card, way)}
        return [card for card in self.hands[seat] if card not in cards], melds

    # ------------------------------------------------------------------ cards

    def take_in(self, seat: int, action: str) -> None:
        """R5, R6, R8: the card or cards at the start of the turn."""
        if action == "draw":
            cards = [self.deck.pop(0)]
            self.remember(seat, "declined", self.pile[-1])
            self.idle = 0  # R10
        else:
            card = action.split()[1]
            place = self.pile.index(card)
            cards, self.pile = self.pile[place:], self.pile[:place]
            self.known[seat] += cards  # R30
            for one in reversed(cards):
                self.remember(seat, "taken", one)
            if len(cards) == 1:
                self.taken = card  # R6
                self.idle += 1  # R10: unless the seat melds or lays off
            else:
                self.must = card  # R8
        self.hands[seat] = canonical(self.hands[seat] + cards)

    def leave_hand(self, seat: int, cards: list[str]) -> None:
        """Cards leave the hand; R30: they are no longer known to be in it."""
        self.hands[seat] = [card for card in self.hands[seat] if card not in cards]
        self.known[seat] = [card for card in self.known[seat] if card not in cards]

    def remember(self, seat: int, choice: str, card: str) -> None:
        """R30: the latest choice of a seat about a card takes the place of an earlier one."""
        for cards in self.past[seat].values():
            if card in cards:
                cards.remove(card)
        self.past[seat][choice].append(card)

    def lay(self, seat: int, action: str) -> None:
        """R11-R16: carry out a meld or lay-off."""
        left, self.melds = self.after(seat, action)
        cards = [card for card in self.hands[seat] if card not in left]
        self.leave_hand(seat, cards)
        self.laid[seat] += cards
        if action.startswith("meld"):
            self.melded = True
            self.have_melded.add(seat)  # R19
        if self.taken in cards:
            self.taken = None
        self.must = None  # R8: it has been played, for nothing else was legal
        self.idle = 0  # R10

    # ------------------------------------------------------------------ score

    def value(self, card: str, lowest_of_run: bool = False) -> int:
        """R20, R21: what a card counts, in hand or on the table."""
        if card[0] == "A":
            if self.options["aces"] == "universal":
                return 1 if lowest_of_run else 15  # with simple counting too
            return 5 if self.options["simple"] else 1
        if card[0] in "TJQK":
            return 10
        return 5 if self.options["simple"] else int(card[0])

    def laid_value(self, seat: int) -> int:
        """R22: the cards that this seat laid, wherever they lie; an ace keeps its role."""
        total = 0
        for meld in self.melds:
            for place, card in enumerate(meld["cards"]):
                if card in self.laid[seat]:
                    total += self.value(card, lowest_of_run=meld["kind"] == "run" and place == 0)
        return total

    def scores(self) -> list[int]:
        """R22-R28: what each seat gets for the deal; R27: who ended it does not matter."""
        hands = [sum(self.value(card) for card in hand) for hand in self.hands]
        if self.options["scoring"] == "laid":  # R22, R23
            return [self.laid_value(seat) - hands[seat] for seat in range(self.players)]
        if self.options["scoring"] == "negative":  # R28
            return hands
        lowest = min(hands)  # R24, R25: 0 if somebody went out
        others = [hand for hand in hands if hand > lowest]
        if not others:  # R26: all tie
            return [0] * self.players
        once = self.options["settle"] == "once"
        pool = sum(others) - lowest if once else sum(hand - lowest for hand in others)  # R25
        share = pool // hands.count(lowest)  # R26: rounded down, the remainder is lost
        return [share if hand == lowest else 0 for hand in hands]


def start(identity: tuple[int, int, int], orders: Sequence[list[str]], options: dict[str, Any]) -> Rummy:
    """The match of an identity, with the given orders of its first decks."""
    return Rummy(deck_of_each_deal(CARDS, identity, orders), **options)
