"""The action features of Rummy, written plainly from their descriptions; shares no code with the package.

Cards are names, hands are lists, and everything comes from ``Table.view(seat)``: what the seat knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from functools import cache
from itertools import combinations
from typing import Any

from tests.reference.french_deck import CARDS, RANKS, SUITS

KINDS = ["draw", "take", "discard", "layoff", "set", "run", "end"]
PHASES = ["draw", "play"]
CHOICES = ["discarded", "declined", "taken"]
SCORING = ["positive", "laid", "negative"]
UNSEEN_WEIGHT = 0.15
FAR = 0.25
LIMIT = 100.0  # of the appraisal
MOST_LOOSE_NEAR = 25.0
HAND_SIZES = {2: 13, 3: 7, 4: 7}

Meld = dict[str, Any]


def worth(card: str, options: Mapping[str, Any], low: bool = False) -> int:
    """R20, R21 in words; ``low``: the card lies as the lowest of a run."""
    if card[0] == "A":
        if options["aces"] == "universal":
            return 1 if low else 15
        return 5 if options["simple"] else 1
    if card[0] in "TJQK":
        return 10
    return 5 if options["simple"] else int(card[0])


@cache
def list_threes(ladder: str) -> tuple[list[list[str]], dict[str, list[list[str]]]]:
    """Every meld of three cards, and those that hold each card."""
    same_rank = [[rank + suit for suit in three] for rank in RANKS for three in combinations(SUITS, 3)]
    in_row = [[rank + suit for rank in ladder[i : i + 3]] for suit in SUITS for i in range(len(ladder) - 2)]
    threes = same_rank + in_row
    return threes, {card: [three for three in threes if card in three] for card in CARDS}


class Decision:
    """A decision as the mover sees it.

    Args:
        view: ``Table.view(seat)`` of the seat to move.
        seat: The seat.
    """

    def __init__(self, view: Mapping[str, Any], seat: int) -> None:
        self.view, self.seat = view, seat
        self.options, self.players, self.stock = view["options"], view["players"], view["deck"]
        self.ladder = RANKS + ("A" if self.options["aces"] == "universal" else "")
        self.spread = self.options["pile"] == "spread"
        self.hand: list[str] = view["hands"][seat]
        self.pile: list[str] = view["pile"]
        self.melds: list[Meld] = view["melds"]
        self.sizes = {s: hand for s, hand in enumerate(view["hands"]) if s != seat}
        self.ahead = (seat + 1) % self.players
        self.known: list[str] = view["known"][self.ahead]
        self.past: list[list[str]] = [view["past"][self.ahead][choice] for choice in CHOICES]
        self.others_past = [
            [card for s, past in enumerate(view["past"]) if s != seat for card in past[choice]] for choice in CHOICES
        ]
        seen = [*self.hand, *self.pile, *(card for cards in (*view["laid"], *view["known"]) for card in cards)]
        self.unseen = [card for card in CARDS if card not in seen]
        self.hidden_share = (self.sizes[self.ahead] - len(self.known)) / max(1, len(self.unseen))
        self.threes, self.threes_with = list_threes(self.ladder)
        self.fits = self.find_fits(self.melds)

    def points(self, cards: Iterable[str]) -> int:
        """R20: the points of cards in a hand."""
        return sum(worth(card, self.options) for card in cards)

    def find_melds(self, cards: Sequence[str]) -> list[str]:
        """Those of some cards that are in a meld of them."""
        held = set(cards)
        made = {card for three in self.threes if held.issuperset(three) for card in three}
        return [card for card in cards if card in made]

    def find_outs(self, cards: Sequence[str]) -> list[str]:
        """The unseen cards that make a meld with two of some cards."""
        held = set(cards)
        return [
            card
            for card in self.unseen
            if any(all(other in held for other in three if other != card) for three in self.threes_with[card])
        ]

    def next_cards(self, meld: Meld, *, above: bool) -> list[str]:
        """R14: the cards that would come after each other at an end of a run."""
        suit, word = meld["cards"][0][1], "".join(card[0] for card in meld["cards"])
        start = self.ladder.index(word)
        ranks = self.ladder[start + len(word) :] if above else self.ladder[:start][::-1]
        return [rank + suit for rank in ranks if rank + suit not in meld["cards"]]

    def find_fits(self, melds: list[Meld]) -> list[str]:
        """R13, R14: the cards that can be laid off on these melds, if they are in a hand."""
        fits = []
        for meld in melds:
            if meld["kind"] == "set":
                fits += [meld["cards"][0][0] + suit for suit in SUITS]
            else:
                fits += self.next_cards(meld, above=False)[:1] + self.next_cards(meld, above=True)[:1]
        return [card for card in CARDS if card in fits and not any(card in meld["cards"] for meld in melds)]

    def find_playable(self, cards: Sequence[str], melds: list[Meld], may_lay_off: bool) -> list[str]:
        """R8: those of some cards that are in a meld of them or can be laid off."""
        can = self.find_melds(cards) + (self.find_fits(melds) if may_lay_off else [])
        return [card for card in cards if card in can]

    def may_lay_off(self) -> bool:
        """R19: with ``limit`` only a player who has melded, and hence laid cards."""
        return not self.options["limit"] or bool(self.view["laid"][self.seat])

    def nearness(self, card: str, weight: Callable[[str], float], melds: list[Meld], around: bool = False) -> float:
        """The sum, over the melds of three with a card, of the product of the weights of the others, and runs on the table.

        With ``around``, as `best` measures it, a run goes on beyond an ace that fits it.
        """
        total = 0.0
        for three in self.threes_with[card]:
            one, two = (weight(other) for other in three if other != card)
            total += one * two
        for meld in melds:
            if meld["kind"] == "run":
                for above in (False, True):
                    more = self.next_cards(meld, above=above)[:2]
                    if around and len(self.ladder) > len(RANKS) and len(more) == 1 and more[0][0] == "A":
                        more.append(("2" if above else "K") + more[0][1])
                    if more[1:] == [card]:
                        total += weight(more[0])
        return total

    def weigh(self, *groups: tuple[Iterable[str], float]) -> Callable[[str], float]:
        """The weight of a card: that of the first group that it is in."""
        weights: dict[str, float] = {}
        for cards, value in groups:
            for card in cards:
                weights.setdefault(card, value)
        return lambda card: weights.get(card, 0.0)

    def beside(self, card: str, distance: int) -> list[str]:
        """The cards of the suit that lie so far from a card on the ladder of ranks."""
        places = [place for place, rank in enumerate(self.ladder) if rank == card[0]]
        steps = [place + step for place in places for step in (-distance, distance)]
        return [self.ladder[step] + card[1] for step in steps if 0 <= step < len(self.ladder)]

    def is_close(self, card: str, cards: Iterable[str]) -> bool:
        """Whether a card is of the same rank as one of some cards, or beside one in its suit."""
        return any(card[0] == other[0] or card in self.beside(other, 1) for other in cards)

    def take(self, action: str) -> list[str]:
        """R6, R8: the cards that an action takes."""
        verb, *cards = action.split()
        return self.pile[self.pile.index(cards[0]) :] if verb == "take" else []

    def lay(self, action: str) -> tuple[list[str], list[Meld]]:
        """The cards that an action lays, and the table after it."""
        verb, *words = action.split()
        melds: list[Meld] = deepcopy(self.melds)
        if verb == "meld":
            kind = "set" if words[0][0] == words[1][0] else "run"
            return words, [*melds, {"kind": kind, "cards": words}]
        if verb != "layoff":
            return [], melds
        card, place = words
        for meld in melds:
            if meld["kind"] == "set":
                if place == "set" and meld["cards"][0][0] == card[0]:
                    meld["cards"].append(card)
                    break
            elif place != "set" and self.next_cards(meld, above=place == "above")[:1] == [card]:
                meld["cards"].insert(len(meld["cards"]) if place == "above" else 0, card)
                break
        return [card], melds

    def score_laid(self, action: str) -> int:
        """R21, R22: what laying brings."""
        verb, *words = action.split()
        if verb == "layoff":
            return worth(words[0], self.options, low=words[1] == "below")
        run = words[0][0] != words[1][0]
        return sum(worth(card, self.options, low=run and i == 0) for i, card in enumerate(words))


def flag_few(size: int) -> list[float]:
    """One card, two cards."""
    return [float(size == 1), float(size == 2)]


def count(cards: Iterable[str], wanted: Iterable[str]) -> int:
    """How many of some cards are among others."""
    return len(set(cards) & set(wanted))


def card_facts(d: Decision, action: str, cards: list[str], then: list[str], within: list[str]) -> dict[str, Any]:
    """What is said of the card that an action takes, discards or lays off; ``cards`` is the hand with the cards taken."""
    verb, *words = action.split()
    if verb not in ("take", "discard", "layoff"):
        sizes = {"rank": 13, "points": 1, "place": 4, "near": 3, "feed": 1, "feed_known": 2, "next_mates": 3, "unseen_mates": 3}
        sizes |= {"next_choice": 2, "next_past": 9, "others_past": 9, "feed_wanted": 1}
        return {name: [0.0] * size for name, size in sizes.items()}
    card = words[0]
    others = [other for other in cards if other != card]
    mates = [card[0] + suit for suit in SUITS if suit != card[1]]
    groups = (mates, d.beside(card, 1), d.beside(card, 2))
    near = [
        d.nearness(card, d.weigh((others, 1.0), (within, 1.0), (d.unseen, weight)), d.melds) for weight in (UNSEEN_WEIGHT, 0, 1)
    ]
    feed = d.nearness(card, d.weigh((d.known, 1.0), (within, 1.0), (d.unseen, d.hidden_share)), d.melds)
    wanted = [other for other in d.unseen if not d.is_close(other, d.past[0] + d.past[1])]
    return {
        "rank": [card[0] == rank for rank in RANKS],
        "points": [d.points([card])],
        "place": [card in d.find_melds(cards), card in then, card not in then, card in d.fits],
        "near": near,
        "feed": [feed],
        "feed_known": [d.nearness(card, d.weigh((d.known, 1.0), (d.unseen, weight)), d.melds) for weight in (0, 1)],
        "next_mates": [count(d.known, some) for some in groups],
        "unseen_mates": [count(d.unseen, some) for some in groups],
        "next_choice": [card in cards for cards in d.past[:2]],
        "next_past": [count(cards, some) for cards in d.past for some in groups],
        "others_past": [count(cards, some) for cards in d.others_past for some in groups],
        "feed_wanted": [d.nearness(card, d.weigh((d.known, 1.0), (within, 1.0), (wanted, d.hidden_share)), d.melds)],
    }


def action_facts(
    view: Mapping[str, Any], seat: int, action: str, chosen: str, parameters: Mapping[str, float]
) -> dict[str, Any]:
    """What the features of an action must say, in plain figures.

    Args:
        view: ``Table.view(seat)``.
        seat: The seat to move.
        action: One of its legal actions.
        chosen: What the player `best` would do.
        parameters: The parameters of `best`.
    """
    d = Decision(view, seat)
    verb, *words = action.split()
    kind = ("set" if words[0][0] == words[1][0] else "run") if verb == "meld" else verb
    can_now = d.find_playable(d.hand, d.melds, d.may_lay_off())
    loose_now = [card for card in d.hand if card not in can_now]
    taken, (laid, melds) = d.take(action), d.lay(action)
    gone = laid + (words if verb == "discard" else [])
    cards = d.hand + taken
    then = d.find_playable(cards, d.melds, d.may_lay_off())
    within = [card for card in d.pile if card not in taken] if d.spread else []
    rest = [card for card in cards if card not in gone]
    can = d.find_playable(rest, melds, d.may_lay_off() or verb == "meld")
    loose = [card for card in rest if card not in can]
    worths = sorted(d.points([card]) for card in loose)
    near = {card: d.nearness(card, d.weigh((rest, 1.0), (within, 1.0), (d.unseen, UNSEEN_WEIGHT)), melds) for card in loose}
    far = [card for card in loose if near[card] < FAR]
    useful, useful_loose = d.find_outs(rest), d.find_outs(loose)
    new_fits = [card for card in d.find_fits(melds) if card not in d.fits]
    ahead, fewest = d.sizes[d.ahead], min(d.sizes.values())
    idle_end = 10 * d.players
    ends = verb == "end" or not rest or (verb == "discard" and view["idle"] == idle_end)
    before = view["past"][(seat - 1) % d.players]
    reach = within + gone * (verb == "discard")
    offered = d.find_melds(d.known + reach) + d.find_fits(melds)
    offers = [card for card in reach if card in offered]
    value = appraise(d, action, parameters)
    return {
        "players": [d.players],
        "phase": [view["phase"] == phase for phase in PHASES],
        "options": [d.options["aces"] == "universal", d.spread, d.options["limit"]],
        "scoring": [d.options["scoring"] == scoring for scoring in SCORING],
        "stock": [d.stock],
        "late": [d.players / (d.players + d.stock)],
        "pile": [len(d.pile)],
        "idle": [view["idle"] / idle_end],
        "melds": [len(d.melds)],
        "unseen_fits": [count(d.unseen, d.fits)],
        "hand_size": [len(d.hand)],
        "hand_points": [d.points(d.hand)],
        "hand_loose": [len(loose_now)],
        "hand_loose_points": [d.points(loose_now)],
        "hand_plays": [bool(d.find_melds(d.hand)), d.may_lay_off() and count(d.hand, d.fits) > 0],
        "has_laid": [bool(view["laid"][seat]), bool(view["laid"][d.ahead])],
        "melded": [view["melded"]],
        "next_size": [ahead],
        "next_inverse": [1 / ahead],
        "next_few": flag_few(ahead),
        "next_known": [len(d.known)],
        "next_known_points": [d.points(d.known)],
        "next_points": [d.points(d.known) + d.hidden_share * d.points(d.unseen)],
        "next_waiting": [count(d.known, d.find_melds(d.known + d.unseen))],
        "fewest_size": [fewest],
        "fewest_inverse": [1 / fewest],
        "fewest_few": flag_few(fewest),
        "next_past_size": [len(cards) for cards in d.past],
        "kind": [kind == name for name in KINDS],
        "ends": [ends],
        "taken": [len(taken)],
        "laid": [len(laid)],
        "laid_points": [d.score_laid(action) if laid else 0],
        "opens": [count(d.unseen, new_fits), count(d.known, new_fits)],
        **card_facts(d, action, cards, then, within),
        "rest_size": [len(rest)],
        "rest_empty": [not rest],
        "rest_points": [d.points(rest)],
        "rest_melds": [len(d.find_melds(rest))],
        "rest_playable": [len(can)],
        "rest_fits": [len(can) - len(d.find_melds(rest))],
        "outs": [len(useful)],
        "outs_share": [len(useful) / max(1, len(d.unseen))],
        "loose": [len(loose)],
        "loose_few": [not loose, *flag_few(len(loose))],
        "loose_points": [sum(worths)],
        "loose_dearest": [sum(worths[-1:])],
        "loose_spared": [sum(worths[:-1])],
        "loose_outs": [len(useful_loose)],
        "loose_outs_share": [len(useful_loose) / max(1, len(d.unseen))],
        "loose_near": [min(sum(near.values()), MOST_LOOSE_NEAR)],
        "loose_far": [len(far)],
        "loose_far_points": [d.points(far)],
        "outs_offered": [sum(d.is_close(card, before["discarded"] + before["declined"]) for card in useful)],
        "pile_offers": [len(offers)],
        "pile_offers_points": [d.points(offers)],
        "appraisal": [min(max(value, -LIMIT), LIMIT)],
        "best": [action == chosen],
    }


# ---- the player `best`


def appraise(d: Decision, action: str, parameters: Mapping[str, float]) -> float:
    """What `best` finds an action worth, by the parameters that it has for the pile of the game."""
    prefix = "spread_" if d.spread else ""
    w = {name: parameters[prefix + name] for name in parameters if not name.startswith("spread_")}
    verb, *words = action.split()
    if verb in ("draw", "end"):
        return w["stock"]
    if verb == "take":
        return appraise_take(d, d.take(action), w)
    if verb == "discard":
        return appraise_discard(d, words[0], w)
    laid, _ = d.lay(action)
    rest = [card for card in d.hand if card not in laid]
    return d.score_laid(action) + d.points(d.find_playable(rest, d.melds, d.may_lay_off()))


def appraise_take(d: Decision, taken: list[str], w: Mapping[str, float]) -> float:
    """What taking adds to the points that can be laid and to the outs of the other cards, less what it adds to these."""
    can, then = (d.find_playable(cards, d.melds, d.may_lay_off()) for cards in (d.hand, d.hand + taken))
    loose, stays = ([card for card in cards if card not in able] for cards, able in ((d.hand, can), (d.hand + taken, then)))
    carried = [card for card in stays if card in taken]
    further = len(d.find_outs(stays)) - len(d.find_outs(loose))
    return w["points"] * (d.points(then) - d.points(can)) + w["out"] * further - w["carry"] * d.points(carried)


def appraise_discard(d: Decision, card: str, w: Mapping[str, float]) -> float:
    """The points of a card, less what it is worth in the own hand and helps the others."""
    points = d.points([card])
    within = d.pile if d.spread else []
    rest = [other for other in d.hand if other != card]
    keep = d.nearness(card, d.weigh((rest, 1.0), (within, 1.0), (d.unseen, w["unseen"])), d.melds, around=True)
    feed = 0.0
    for distance in range(1, d.players):
        seat = (d.seat + distance) % d.players
        known = d.view["known"][seat]
        share = (d.sizes[seat] - len(known)) / max(1, len(d.unseen))
        weight = d.weigh((known, 1.0), (within, w["in_pile"]), (d.unseen, w["likely"] * share))
        feed += (1.0 if distance == 1 else w["others"]) * d.nearness(card, weight, d.melds, around=True)
    value = w["dear"] * HAND_SIZES[d.players] * points
    value -= (w["keep"] + w["keep_points"] * points) * keep + (w["feed"] + w["feed_points"] * points) * feed
    return value - 100.0 * (card in d.find_melds(d.hand))
