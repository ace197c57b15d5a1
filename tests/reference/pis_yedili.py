"""Pis Yedili (Dirty Seven), written slowly and plainly from the numbered rules (P1-P29).

A reference to cross-check the fast engine against; it shares no code with it. Every function is a paragraph of the rules
and quotes their numbers.
"""

from collections.abc import Callable, Generator, Sequence
from typing import Any

from tests.reference.french_deck import CARDS, RANKS, SUITS, canonical
from tests.reference.match import Decisions, Match
from tests.reference.streams import deck_of_each_deal

POINTS = {**{str(n): n for n in range(2, 10)}, "T": 10, "Q": 10, "K": 10, "A": 15, "7": 20, "J": 25}  # P25
KINDS = ("proved", "suggested")
GROUPS = [*RANKS, *SUITS]

Turn = Generator[None, str, int]  # decisions that tell at their end which seat has the next turn


def rank_of(card: str) -> str:
    """The rank of a card."""
    return card[0]


def suit_of(card: str) -> str:
    """The suit of a card."""
    return card[1]


def in_groups(card: str, groups: list[str]) -> bool:
    """Whether a card has one of some ranks, or, if it is no jack, one of some suits."""
    return rank_of(card) in groups or (suit_of(card) in groups and rank_of(card) != "J")


class HandEmpty(Exception):
    """P23: a seat has played its last card, which ends the deal from wherever it is."""


class StockEmpty(Exception):
    """P24, P17: the last card of the stock was drawn, which ends the deal from wherever it is."""


class PisYedili(Match):
    """One match."""

    def __init__(
        self, deck: Callable[[int], list[str]], *, players: int = 4, deals: int = 4, penalty_keeps_turn: bool = False,
        club_lap: bool = False
    ) -> None:  # fmt: skip
        """Start a match; ``deck(k)`` is the order of all 52 cards for deal k (1, 2, ...), next card first (P19)."""
        if not 2 <= players <= 6 or deals < 1:  # P1
            raise ValueError("players must be 2..6, deals at least 1")
        self.options = {
            "players": players, "deals": deals, "penalty_keeps_turn": penalty_keeps_turn, "club_lap": club_lap
        }  # fmt: skip
        self.players, self.penalty_keeps_turn, self.club_lap = players, penalty_keeps_turn, club_lap
        self.order = deck
        self.number = 0  # of the deal; dealer, hands, deck, pile, suit, sevens, direction: set for each deal
        self.totals = [0] * players
        self.deals: list[list[int]] = []
        self.winners: list[int] = []
        self.begin(self.match())

    # ------------------------------------------------------------------ the outside

    def state(self) -> dict[str, Any]:
        """Everything, as ``Table.state()`` tells it."""
        return {
            "game": "pis_yedili",
            "players": self.players,
            "options": dict(self.options),
            "deal": self.number,
            "dealer": self.dealer,
            "to_move": self.to_move,
            "phase": self.phase,
            "totals": list(self.totals),
            "deck": list(self.deck),
            "over": self.phase == "over",
            "winners": list(self.winners),
            "truncated": False,  # every deal ends without a cap
            "hands": [canonical(hand) for hand in self.hands],
            "pile": list(self.pile),
            "suit": self.suit,
            "sevens": self.sevens,
            "direction": self.direction,
            "shown": [dict(shown) for shown in self.shown],
        }

    # ------------------------------------------------------------------ match, deal

    def match(self) -> Decisions:
        """P27: a number of deals, dealer and leader one seat left each; P28: the lowest total wins, equals share."""
        for number in range(1, self.options["deals"] + 1):
            self.number = number
            self.dealer = (number - 2) % self.players  # the last seat deals first
            yield from self.one_deal()
        self.winners = [seat for seat in range(self.players) if self.totals[seat] == min(self.totals)]
        yield from self.finish()

    def one_deal(self) -> Decisions:
        """P19: the cards are dealt; then the lead and the turns, until a hand (P23) or the stock (P24) is empty."""
        self.deck = list(self.order(self.number))
        if canonical(self.deck) != CARDS:  # P1
            raise RuntimeError(f"the deck of deal {self.number} must be exactly the 52 cards")
        self.hands: list[list[str]] = [[] for _ in range(self.players)]
        self.pile: list[str] = []  # P2: no card is turned up
        self.suit: str | None = None  # to be followed
        self.sevens = 0  # how many are open: k
        self.direction = 1  # P22
        self.shown: list[dict[str, Any]] = [
            {"proved": [], "proved_drawn": 0, "suggested": [], "suggested_drawn": 0} for _ in range(self.players)
        ]
        leader = (self.dealer + 1) % self.players
        for step in range(7 * self.players):  # P19: one card at a time, clockwise
            self.hands[(leader + step) % self.players].append(self.deck.pop(0))
        try:
            yield from self.play_deal(leader)
        except HandEmpty as end:
            scores = self.scores_hand_empty(end.args[0])
        except StockEmpty:
            scores = self.scores_stock_empty()
        self.suit, self.sevens = None, 0  # P23: a jack names no suit, open penalties lapse
        self.deals.append(scores)
        self.totals = [total + score for total, score in zip(self.totals, scores, strict=True)]

    def play_deal(self, leader: int) -> Decisions:
        """P3: the leader, or with club_lap each seat, clockwise, plays a club; then ordinary turns for ever."""
        first_turns = self.players if self.club_lap else 1
        for step in range(first_turns):
            yield from self.lead((leader + step) % self.players)
        seat = (leader + first_turns) % self.players  # P6: the lead was a whole turn
        while True:
            seat = yield from self.turn(seat)

    def hand_sum(self, seat: int) -> int:
        """P25: what the cards in a hand count."""
        return sum(POINTS[rank_of(card)] for card in self.hands[seat])

    def scores_hand_empty(self, winner: int) -> list[int]:
        """P23: 0 for the winner, for the others the sum, times 3 after a last 7, times 2 after a last jack."""
        times = {"7": 3, "J": 2}.get(rank_of(self.pile[-1]), 1)
        return [0 if seat == winner else times * self.hand_sum(seat) for seat in range(self.players)]

    def scores_stock_empty(self) -> list[int]:
        """P24: 0 for the lowest sum and all that tie with it, for the others the sum, once."""
        sums = [self.hand_sum(seat) for seat in range(self.players)]
        return [0 if points == min(sums) else points for points in sums]

    # ------------------------------------------------------------------ turns

    def lead(self, seat: int) -> Decisions:
        """P4: while a seat holds no club, it draws; then it plays a club; P5: without any effect."""
        while not (clubs := [card for card in self.hands[seat] if suit_of(card) == "c"]):
            yield from self.ask("lead", seat, ["draw"])
            self.note_lack(seat, "proved", ["c"])
            self.draw(seat)
        action = yield from self.ask("lead", seat, self.plays(clubs))
        self.lay(seat, self.card_of(action))  # P5: also after Jc its suit, clubs, is to be followed

    def turn(self, seat: int) -> Turn:
        """P14-P16: first the open sevens, if any; P7-P10: then a card, draws, or a pass."""
        has_drawn = False
        if self.sevens > 0:
            hand_sevens = [card for card in self.hands[seat] if rank_of(card) == "7"]
            action = yield from self.ask("sevens", seat, [*self.plays(hand_sevens), "take"])  # P14
            if action != "take":
                return (yield from self.play_card(seat, self.card_of(action)))
            self.note_lack(seat, "suggested", ["7"])
            penalty = 3 * self.sevens
            self.sevens = 0  # P16: the 7 on top is then an ordinary card
            for _ in range(penalty):
                self.draw(seat)
            if not self.penalty_keeps_turn:
                return self.next_seat(seat)  # P15: taking is the whole turn
            has_drawn = True  # P15, option: as if they had drawn
        while True:
            plays = self.plays(self.matching(seat))
            if not has_drawn:
                action = yield from self.ask("turn", seat, [*plays, "draw"])  # P7, P10
            elif plays:
                action = yield from self.ask("drawn", seat, [*plays, "pass"])  # P9
            else:
                action = yield from self.ask("drawn", seat, ["draw", "pass"])  # P8
            if action not in ("pass", "draw"):
                return (yield from self.play_card(seat, self.card_of(action)))
            self.note_lack(seat, "proved" if has_drawn and action == "draw" else "suggested", self.what_fits())
            if action == "pass":
                return self.next_seat(seat)
            self.draw(seat)
            has_drawn = True

    def next_seat(self, seat: int) -> int:
        """The seat after this one, in the present direction (P21)."""
        return (seat + self.direction) % self.players

    def play_card(self, seat: int, card: str) -> Turn:
        """A seat plays a card; unless that ends the deal, the card has its effect; who has the next turn?"""
        self.lay(seat, card)
        rank = rank_of(card)
        if rank == "J":  # P12: any of the four suits
            self.suit = None
            action = yield from self.ask("suit", seat, [f"suit {suit}" for suit in SUITS])
            self.suit = action.split()[1]
        elif rank == "7":  # P14
            self.sevens += 1
        elif rank == "8":  # P20: with two players the same seat is next
            return self.next_seat(self.next_seat(seat))
        elif rank == "T":  # P21
            self.direction = -self.direction
        elif rank == "A":  # P18: one more legal card, with its own effect, or pass
            action = yield from self.ask("ace", seat, [*self.plays(self.matching(seat)), "pass"])
            if action != "pass":
                return (yield from self.play_card(seat, self.card_of(action)))
            self.note_lack(seat, "suggested", self.what_fits())
        return self.next_seat(seat)

    # ------------------------------------------------------------------ cards

    def matching(self, seat: int) -> list[str]:
        """The cards of the hand that are legal on the top of the pile."""
        return [card for card in self.hands[seat] if self.matches(card)]

    def matches(self, card: str) -> bool:
        """P11, P13; P5: also a led Jc is a jack, whose suit is clubs."""
        top = self.pile[-1]
        if rank_of(top) == "J":
            return suit_of(card) == self.suit and rank_of(card) != "J"
        return rank_of(card) == rank_of(top) or suit_of(card) == suit_of(top) or rank_of(card) == "J"

    @staticmethod
    def plays(cards: list[str]) -> list[str]:
        """The actions that play one of these cards."""
        return [f"play {card}" for card in cards]

    @staticmethod
    def card_of(action: str) -> str:
        """The card of a ``play`` action."""
        return action.removeprefix("play ")

    def lay(self, seat: int, card: str) -> None:
        """A card goes from the hand on the pile; P23: an empty hand ends the deal and nothing else happens."""
        for kind in KINDS:
            if in_groups(card, self.shown[seat][kind]) and self.shown[seat][f"{kind}_drawn"] > 0:
                self.shown[seat][f"{kind}_drawn"] -= 1
        self.hands[seat].remove(card)
        self.pile.append(card)
        self.suit = suit_of(card)
        if not self.hands[seat]:
            raise HandEmpty(seat)

    def draw(self, seat: int) -> None:
        """A card goes from the stock into the hand; P24, P17: an empty stock ends the deal, the card is kept."""
        self.hands[seat].append(self.deck.pop(0))
        for kind in KINDS:
            if self.shown[seat][kind]:
                self.shown[seat][f"{kind}_drawn"] += 1
        if not self.deck:
            raise StockEmpty

    # ------------------------------------------------------------------ what choices show (P29)

    def what_fits(self) -> list[str]:
        """P11, P13: the ranks and suits of which all cards may be played now, except that of a suit jacks are left out."""
        top = self.pile[-1]
        return [self.suit or ""] if rank_of(top) == "J" else sorted([rank_of(top), "J", suit_of(top)], key=GROUPS.index)

    def note_lack(self, seat: int, kind: str, groups: list[str]) -> None:
        """A seat shows that it has no card of some ranks and suits; the former ones are kept if both together exclude more."""
        shown, size = self.shown[seat], len(self.hands[seat])
        both = [group for group in GROUPS if group in groups or group in shown[kind]]
        if self.count_unseen(both) * (size - shown[f"{kind}_drawn"]) > self.count_unseen(groups) * size:
            shown[kind] = both
        else:
            shown[kind] = groups
            shown[f"{kind}_drawn"] = 0

    def count_unseen(self, groups: list[str]) -> int:
        """How many cards of some ranks and suits are not in the pile."""
        return len([card for card in CARDS if in_groups(card, groups) and card not in self.pile])


def start(identity: tuple[int, int, int], orders: Sequence[list[str]], options: dict[str, Any]) -> PisYedili:
    """The match of an identity, with the given orders of its first decks."""
    return PisYedili(deck_of_each_deal(CARDS, identity, orders), **options)
