"""Flip 7: With a Vengeance, written slowly and plainly from the numbered rules (F1-F45).

A reference to cross-check the fast engine against; it shares no code with it. Every function is a paragraph of the rules
and quotes their numbers.
"""

from collections import Counter
from collections.abc import Callable, Generator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from tests.reference.match import Decisions, Match
from tests.reference.streams import deck_key, shuffled

NUMBERS = [*(str(n) for n in range(14)), "lucky13", "unlucky7"]
MODIFIERS = ["-2", "-4", "-6", "-8", "-10", "/2"]
ACTIONS = ["just_one_more", "flip_four", "discard", "steal", "swap"]
CARDS = NUMBERS + MODIFIERS + ACTIONS  # the canonical order
VALUE = {**{str(n): n for n in range(14)}, "lucky13": 13, "unlucky7": 7}

# F1, F2: how often each card is in the pack: n times n, but one 0, and one 7 and one 13 are the named ones
PACK = Counter({**{str(n): n for n in range(14)}, "0": 1, "7": 6, "13": 12, "lucky13": 1, "unlucky7": 1})
PACK += Counter(MODIFIERS + ACTIONS + ACTIONS)

PLAIN = ["deal", "dealer", "to_move", "phase", "totals", "deck", "winners", "truncated", "turn", "lines", "status", "void"]
OPTIONS = ["players", "brutal", "target", "pair_counts_twice", "max_rounds"]

Target = tuple[int, str]  # a card in front of a seat


def canonical(cards: list[str]) -> list[str]:
    """The cards, sorted in the canonical order."""
    return sorted(cards, key=CARDS.index)


def values(line: list[str]) -> list[int]:
    """The values of the number cards of a line."""
    return [VALUE[card] for card in line if card in NUMBERS]


@dataclass
class Open:
    """An action that is being carried out; only a Flip Four has a queue."""

    card: str
    receiver: int
    queue: list[str] = field(default_factory=list)


class FlipSeven(Exception):
    """F34: a seat has seven number cards, which ends the round from wherever it is."""


class Flip7(Match):
    """One match."""

    def __init__(
        self, deck: list[str], shuffle: Callable[[list[str]], list[str]], *, players: int = 4, brutal: bool = False,
        target: int = 200, pair_counts_twice: bool = True, max_rounds: int = 200
    ) -> None:  # fmt: skip
        """Start a match.

        ``deck`` is the order of all 108 cards, next card first. ``shuffle`` gets the discard pile in the canonical
        order, whenever it becomes the new deck (F7), and returns the new order, next card first.
        """
        if Counter(deck) != PACK:
            raise ValueError("the deck must be exactly the 108 cards of F1")
        if not 2 <= players <= 12 or target < 1 or max_rounds < 1:
            raise ValueError("players must be 2..12, target and max_rounds at least 1")
        self.players, self.brutal, self.target = players, brutal, target
        self.pair_counts_twice, self.max_rounds = pair_counts_twice, max_rounds
        self.deck, self.shuffle = list(deck), shuffle
        self.discard: list[str] = []
        self.deal = 0  # dealer, lines, void, status, undealt: set for each round
        self.totals = [0] * players
        self.deals: list[list[int]] = []
        self.winners: list[int] = []
        self.truncated = False
        self.open: list[Open] = []  # outermost first
        self.giving: str | None = None  # the card that is to be given
        self.picked: Target | None = None  # the first pick of a swap
        self.turn: int | None = None
        self.begin(self.match())

    # ------------------------------------------------------------------ the outside

    def state(self) -> dict[str, Any]:
        """Everything, as ``Table.state()`` tells it."""
        picking = self.phase == "pick"
        fours = [entry for entry in self.open if entry.card == "flip_four"]
        return {
            "game": "flip7",
            "players": self.players,
            "options": {name: getattr(self, name) for name in OPTIONS},
            **{key: deepcopy(getattr(self, key)) for key in PLAIN},
            "over": self.phase == "over",
            "discard": canonical(self.discard),
            "undealt": [seat for seat in self.undealt if self.status[seat] == "active"],
            "resolving": self.open[-1].card if picking else self.giving,
            "receiver": self.open[-1].receiver if picking else None,
            "picked": list(self.picked) if self.picked else None,
            "open": [{"card": e.card, "receiver": e.receiver, "queue": list(e.queue)} for e in self.open],
            "queue": list(fours[-1].queue) if fours else [],
        }

    # ------------------------------------------------------------------ match, round, turn

    def match(self) -> Decisions:
        """Rounds until a total reaches the target (F40) or the cap is reached (F45)."""
        while True:
            self.deal += 1
            self.dealer = (self.deal - 2) % self.players  # the last seat deals first
            yield from self.round()
            if max(self.totals) >= self.target or self.deal == self.max_rounds:
                break
        self.truncated = max(self.totals) < self.target
        self.winners = [seat for seat in range(self.players) if self.totals[seat] == max(self.totals)]
        yield from self.finish()

    def clockwise_after(self, seat: int) -> list[int]:
        """All seats, clockwise, that seat last."""
        return [(seat + step) % self.players for step in range(1, self.players + 1)]

    def round(self) -> Decisions:
        """One round: the deal, the turns, the score."""
        self.lines: list[list[str]] = [[] for _ in range(self.players)]
        self.void: list[list[str]] = [[] for _ in range(self.players)]
        self.status = ["active"] * self.players
        self.turn = None  # F8: deck and discard pile persist
        flipper = None
        try:
            yield from self.deal_cards()
            yield from self.turns()
        except FlipSeven as flip:  # F34: whatever is queued or not yet resolved is discarded at once
            flipper = flip.args[0]
            for entry in self.open:
                self.discard += [entry.card, *entry.queue]
            self.open, self.undealt = [], []
        scores = [self.score(seat, flipper) for seat in range(self.players)]
        if flipper is not None and self.brutal:  # F43: the table lies as it is until they have chosen
            action = yield from self.ask("bonus", flipper, [f"bonus {seat}" for seat in range(self.players)])
            seat = int(action.split()[1])
            scores[seat] += 15 if seat == flipper else -15
        self.deals.append(scores)
        for seat in range(self.players):
            self.totals[seat] += scores[seat]
            self.discard += self.lines[seat] + self.void[seat]  # F9
            self.lines[seat], self.void[seat] = [], []

    def deal_cards(self) -> Decisions:
        """F4: one card to each seat, from the dealer's left; F5: each is resolved completely before the next."""
        self.undealt: list[int] = self.clockwise_after(self.dealer)
        while self.undealt:
            seat = self.undealt.pop(0)
            if self.status[seat] == "active":  # F6
                yield from self.draw(seat)

    def turns(self) -> Decisions:
        """F36: turns go clockwise over the active players; F37: until nobody is active."""
        last = self.dealer  # F4
        while "active" in self.status:
            last = next(seat for seat in self.clockwise_after(last) if self.status[seat] == "active")
            self.turn = last
            may_stay = "0" not in self.lines[last]  # F31; F35: an empty line may stay
            action = yield from self.ask("turn", last, ["draw", "stay"] if may_stay else ["draw"])
            if action == "stay":
                self.status[last] = "stayed"
            else:
                yield from self.draw(last)

    def score(self, seat: int, flipper: int | None) -> int:
        """F39 and, in Brutal mode, F41, F42, F44; the choice of F43 comes later."""
        line = self.lines[seat]
        minus = sum(int(card) for card in line if card.startswith("-"))
        if self.status[seat] == "busted":  # F38; F42: only what they were given after the bust lies in their line
            return minus
        if "0" in line and seat != flipper:  # F31, F44
            return 0
        points = sum(values(line))
        if "/2" in line:
            points //= 2
        points += minus
        if not self.brutal:  # F41
            points = max(points, 0)
            if seat == flipper:
                points += 15
        return points

    # ------------------------------------------------------------------ cards

    def next_card(self) -> str:
        """The next card of the deck; F7: only when one is needed does the discard pile become the deck."""
        if not self.deck:
            pile, self.discard = canonical(self.discard), []
            self.deck = list(self.shuffle(list(pile)))
            if canonical(self.deck) != pile:
                raise RuntimeError("shuffle changed the cards")
        return self.deck.pop(0)

    def draw(self, seat: int) -> Decisions:
        """A seat draws one card, which is resolved completely."""
        card = self.next_card()
        if card in NUMBERS:
            self.arrive([(seat, card)])
        else:
            yield from self.give(seat, card)

    def arrive(self, arrived: list[Target]) -> None:
        """Numbers or modifiers come into lines; F22-F25: then the wipe, then busts, then Flip 7, over those lines."""
        for seat, card in arrived:
            self.lines[seat].append(card)
        for seat, card in arrived:
            if card == "unlucky7":  # F30: the one card that is left can neither bust nor be a Flip 7
                self.discard += [other for other in self.lines[seat] if other != "unlucky7"]
                self.lines[seat] = ["unlucky7"]
        for seat, _ in arrived:
            if self.has_double(self.lines[seat]):  # F38: out of play, the double with it
                self.status[seat] = "busted"
                self.void[seat], self.lines[seat] = self.lines[seat], []
        for seat, _ in arrived:
            if self.has_seven(self.lines[seat]):
                raise FlipSeven(seat)

    @staticmethod
    def has_double(line: list[str]) -> bool:
        """Is a value there twice? F28: two 13s are lawful if one of them is Lucky 13."""
        counts = Counter(values(line))
        if "lucky13" in line and counts[13] == 2:
            counts[13] = 1
        return any(count > 1 for count in counts.values())

    def has_seven(self, line: list[str]) -> bool:
        """F29: seven number cards, or seven values if a pair of 13s is to count once."""
        numbers = values(line)
        return len(numbers if self.pair_counts_twice else set(numbers)) >= 7

    def give(self, drawer: int, card: str) -> Decisions:
        """The drawer of an action or modifier gives it to somebody."""
        seats = list(range(self.players))
        if card in ACTIONS:  # F10, F15; F13, F14: only to one who can carry it out
            receivers = [s for s in seats if self.status[s] != "busted" and self.can_carry_out(s, card)]
        else:  # F15-F17, F42
            receivers = [s for s in seats if self.status[s] != "busted" or self.brutal]
        if not receivers:  # F13, F17
            self.discard.append(card)
            return
        self.giving = card
        action = yield from self.ask("give", drawer, [f"give {seat}" for seat in receivers])
        self.giving = None
        receiver = int(action.split()[1])
        if card in ACTIONS:
            yield from self.carry_out(receiver, card)
        else:
            self.arrive([(receiver, card)])

    # ------------------------------------------------------------------ actions

    def can_carry_out(self, receiver: int, card: str) -> bool:
        """F13: could this receiver carry out this action? F7: there is always a card to be drawn."""
        return card in ("flip_four", "just_one_more") or bool(self.targets(receiver, card))

    def targets(self, receiver: int, card: str) -> list[Target]:
        """F18: what can be picked (first) by the receiver of a steal, swap or discard."""
        every = [(seat, c) for seat in range(self.players) for c in self.lines[seat]]
        live = [(seat, c) for seat, c in every if self.status[seat] != "busted"]
        if card == "discard":
            return every  # F21; in front of the busted there lie live modifiers only, and in Brutal mode only
        if card == "steal":
            return [(seat, c) for seat, c in live if seat != receiver]  # F19
        return live if len({seat for seat, _ in live}) >= 2 else []  # swap: of two different players

    def carry_out(self, receiver: int, card: str) -> Decisions:
        """F12: the receiver carries the action out; F9: then it is discarded."""
        self.open.append(Open(card, receiver))
        yield from getattr(self, "do_" + card)(receiver)
        self.open.pop()
        self.discard.append(card)

    def do_just_one_more(self, receiver: int) -> Decisions:
        """F33: one card, resolved completely; only then have they stayed, unless they busted."""
        yield from self.draw(receiver)
        if self.status[receiver] != "busted":
            self.status[receiver] = "stayed"

    def do_flip_four(self, receiver: int) -> Decisions:
        """F32: four cards; numbers at once, all others wait until the fourth has been drawn."""
        queue = self.open[-1].queue
        for _ in range(4):
            card = self.next_card()
            if card in NUMBERS:
                self.arrive([(receiver, card)])
            else:
                queue.append(card)
            if self.status[receiver] == "busted":  # stops the drawing, and this queue is discarded
                self.discard += queue
                queue.clear()
                return
        while queue:  # they are the drawer of each, whatever becomes of them meanwhile
            yield from self.give(receiver, queue.pop(0))

    def pick(self, receiver: int, choice: list[Target]) -> Generator[None, str, Target]:
        """The receiver picks a card in front of somebody."""
        action = yield from self.ask("pick", receiver, [f"pick {seat} {card}" for seat, card in choice])
        _, seat, card = action.split()
        return int(seat), card

    def do_steal(self, receiver: int) -> Decisions:
        """F18, F19: another player's card comes into the receiver's line."""
        seat, card = yield from self.pick(receiver, self.targets(receiver, "steal"))
        self.lines[seat].remove(card)
        self.arrive([(receiver, card)])

    def do_discard(self, receiver: int) -> Decisions:
        """F18, F21: any card goes to the discard pile."""
        seat, card = yield from self.pick(receiver, self.targets(receiver, "discard"))
        self.lines[seat].remove(card)
        self.discard.append(card)

    def do_swap(self, receiver: int) -> Decisions:
        """F18, F25: two cards of two different players: both leave, both arrive, then both lines are checked."""
        choice = self.targets(receiver, "swap")
        self.picked = first = yield from self.pick(receiver, choice)
        second = yield from self.pick(receiver, [(seat, card) for seat, card in choice if seat != first[0]])
        self.picked = None
        self.lines[first[0]].remove(first[1])
        self.lines[second[0]].remove(second[1])
        arrived = [(first[0], second[1]), (second[0], first[1])]
        self.arrive(arrived)


def start(identity: tuple[int, int, int], orders: Sequence[list[str]], options: dict[str, Any]) -> Flip7:
    """The match of an identity, from the given order of the deck or else from its own shuffle."""
    key, shuffles = deck_key(identity), 0
    deck = orders[0] if orders else shuffled(canonical([*PACK.elements()]), key, 0)

    def shuffle(pile: list[str]) -> list[str]:
        nonlocal shuffles
        shuffles += 1
        return shuffled(pile, key, shuffles)

    return Flip7(deck, shuffle, **options)
