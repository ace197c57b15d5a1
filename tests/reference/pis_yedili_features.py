"""The action features of Pis Yedili, written plainly from their descriptions; shares no code with the package.

Cards are names, hands are lists, and everything comes from ``Table.view(seat)``: what the seat knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.reference.french_deck import CARDS, RANKS, SUITS
from tests.reference.pis_yedili import POINTS, in_groups, rank_of, suit_of

KINDS = ["play", "draw", "take", "pass", "suit"]
PHASES = ["lead", "turn", "drawn", "sevens", "suit", "ace"]
LIMIT = 100.0  # of the appraisal, in points


def points_of(cards: list[str]) -> float:
    """P25: the points of some cards."""
    return float(sum(POINTS[rank_of(card)] for card in cards))


def fits(card: str, *, on: str) -> bool:
    """P11: whether a card may lie on one that is no jack."""
    return suit_of(card) == suit_of(on) or rank_of(card) == rank_of(on) or rank_of(card) == "J"


def plain(cards: list[str]) -> list[str]:
    """The cards that are no jacks."""
    return [card for card in cards if rank_of(card) != "J"]


def in_suit(cards: list[str], suit: str) -> list[str]:
    """P13: those of the cards that may lie on a jack for which a suit was named."""
    return [card for card in plain(cards) if suit_of(card) == suit]


def find_longest(hand: list[str]) -> str:
    """The suit of which a hand has most cards that are no jacks; the first of several."""
    return max(SUITS, key=lambda suit: len(in_suit(hand, suit)))


def count_lonely(hand: list[str]) -> int:
    """How many cards, jacks left out, share neither suit nor rank with another one."""
    cards = plain(hand)
    return sum(
        not any(suit_of(card) == suit_of(other) or rank_of(card) == rank_of(other) for other in cards if other != card)
        for card in cards
    )


def chance(wanted: list[str], unseen: list[str], size: int) -> float:
    """How likely one of the wanted cards is in a hand whose every card is drawn from all unseen ones."""
    share = len([card for card in wanted if card in unseen]) / max(1, len(unseen))
    return float(1 - (1 - share) ** size)


class Weights:
    """How likely a seat holds each unseen card, compared with one of which its choices have shown nothing.

    Args:
        shown: What the choices of the seat have shown, as in ``Table.view``.
        size: How many cards the seat holds.
        unseen: The cards that may be in its hand.
    """

    def __init__(self, shown: Mapping[str, Any], size: int, unseen: list[str]) -> None:
        self.of = dict.fromkeys(unseen, 1.0)
        self.size = size
        for card in unseen:
            if in_groups(card, shown["proved"]):
                self.of[card] = min(1.0, shown["proved_drawn"] / size)
            if in_groups(card, shown["suggested"]):
                doubt = 0.6 if rank_of(card) in "J7" else 0.05
                doubtful = 1 - (1 - doubt) * (1 - min(1.0, shown["suggested_drawn"] / size))
                self.of[card] = min(self.of[card], doubtful)

    def mean(self) -> float:
        """The mean weight of all unseen cards."""
        return sum(self.of.values()) / max(1, len(self.of))

    def chance(self, wanted: list[str], size: int | None = None) -> float:
        """How likely one of the wanted cards is in a hand whose every card is drawn by these weights."""
        share = sum(weight for card, weight in self.of.items() if card in wanted) / max(1e-9, sum(self.of.values()))
        return float(1 - (1 - share) ** (self.size if size is None else size))


class Decision:
    """A decision as the mover sees it.

    Args:
        view: ``Table.view(seat)`` of the seat to move.
        seat: The seat.
    """

    def __init__(self, view: Mapping[str, Any], seat: int) -> None:
        self.view, self.seat = view, seat
        self.players, self.phase = view["players"], view["phase"]
        self.hand: list[str] = view["hands"][seat]
        self.pile: list[str] = view["pile"]
        self.unseen = [card for card in CARDS if card not in self.hand and card not in self.pile]
        self.stock: int = view["deck"]
        sizes = {s: hand for s, hand in enumerate(view["hands"]) if s != seat}
        self.seats = [(seat + d * view["direction"]) % self.players for d in range(1, self.players)]
        self.around = [sizes[other] for other in self.seats]
        self.fewest = min(self.around)
        self.late = self.players / (self.players + self.stock)
        mean = points_of(self.unseen) / max(1, len(self.unseen))
        self.others_mean = mean * sum(self.around) / len(self.around)
        self.lead = self.others_mean - points_of(self.hand)

    def keep(self, action: str) -> list[str]:
        """The hand after the action, of which drawn cards are not known."""
        return [card for card in self.hand if action != f"play {card}"]

    def count_drawn(self, action: str) -> int:
        """How many cards the action draws: P7, P14, P17."""
        return {"draw": 1, "take": min(3 * self.view["sevens"], self.stock)}.get(action, 0)

    def is_played(self, action: str, ranks: str) -> bool:
        """Whether the action plays a card of one of the ranks with its effect, which it has not in the lead (P5)."""
        return action.startswith("play") and self.phase != "lead" and rank_of(action[5:]) in ranks

    def follow(self, cards: list[str], action: str) -> list[str]:
        """Those of some cards that may lie on the pile as the action leaves it."""
        verb, _, what = action.partition(" ")
        first_turns = self.players if self.view["options"]["club_lap"] else 1
        if verb == "suit":
            return in_suit(cards, what)
        if self.phase == "lead" and (verb == "draw" or len(self.pile) + 1 < first_turns):  # P3, P4
            return [card for card in cards if suit_of(card) == "c"]
        if verb == "play" and rank_of(what) == "J":
            return in_suit(cards, "c" if self.phase == "lead" else find_longest(self.keep(action)))
        top = what if verb == "play" else self.pile[-1]
        if rank_of(top) == "J":
            return in_suit(cards, self.view["suit"])
        return [card for card in cards if fits(card, on=top)]

    def find_replier(self, action: str) -> int:
        """How many turns after the next one comes that of the first other player to be asked after the action."""
        if self.is_played(action, "8"):  # P20; with two players the own turn comes before the reply
            return 1 % len(self.around)
        return -1 if self.is_played(action, "T") else 0  # P21

    def weigh(self, turn: int) -> Weights:
        """The weights of the unseen cards for the player of that turn."""
        return Weights(self.view["shown"][self.seats[turn]], self.around[turn], self.unseen)

    def find_answers(self, action: str) -> list[str]:
        """The unseen cards that may be played after the action: P14."""
        if self.is_played(action, "7"):
            return [card for card in self.unseen if rank_of(card) == "7"]
        return self.follow(self.unseen, action)


def of_ranks(cards: list[str], ranks: str) -> list[list[str]]:
    """The cards of each of some ranks."""
    return [[card for card in cards if rank_of(card) == rank] for rank in ranks]


def flag_few(size: int) -> list[float]:
    """One card, two cards."""
    return [float(size == 1), float(size == 2)]


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
    verb, _, what = action.partition(" ")
    card = what if verb == "play" else None
    rest, drawn = d.keep(action), d.count_drawn(action)
    size, ahead, replier = len(rest) + drawn, d.around[0], d.around[d.find_replier(action)]
    next_weights, weights = d.weigh(0), d.weigh(d.find_replier(action))
    follow, answers = d.follow(rest, action), d.find_answers(action)
    ends = not rest or (drawn > 0 and drawn == d.stock)
    again = (
        verb == "draw"
        or d.is_played(action, "AJ" if d.players > 2 else "AJ8")
        or (verb == "take" and view["options"]["penalty_keeps_turn"])
    )
    covered = [other for other in plain(answers) if any(fits(mine, on=other) for mine in rest)]
    same = [other for other in rest if suit_of(other) == suit_of(card)] if card else in_suit(rest, what) if what else []
    return {
        "players": [d.players],
        "phase": [d.phase == phase for phase in PHASES],
        "sevens": [view["sevens"]],
        "stock": [d.stock],
        "late": [d.late],
        "hand_size": [len(d.hand)],
        "hand_inverse": [1 / len(d.hand)],
        "hand_points": [points_of(d.hand)],
        "hand_jacks": [len(of_ranks(d.hand, "J")[0])],
        "hand_sevens": [len(of_ranks(d.hand, "7")[0])],
        "expected_lead": [d.lead],
        "next_size": [ahead],
        "next_inverse": [1 / ahead],
        "next_few": flag_few(ahead),
        "fewest_size": [d.fewest],
        "fewest_inverse": [1 / d.fewest],
        "fewest_few": flag_few(d.fewest),
        "others_size": [sum(d.around) / len(d.around)],
        "unseen_jacks": [len(of_ranks(d.unseen, "J")[0])],
        "unseen_sevens": [len(of_ranks(d.unseen, "7")[0])],
        "next_jack": [chance(of_ranks(CARDS, "J")[0], d.unseen, ahead)],
        "next_seven": [chance(of_ranks(CARDS, "7")[0], d.unseen, ahead)],
        "next_jack_weighted": [next_weights.chance(of_ranks(CARDS, "J")[0])],
        "next_seven_weighted": [next_weights.chance(of_ranks(CARDS, "7")[0])],
        "next_weight": [next_weights.mean()],
        "kind": [verb == kind for kind in KINDS],
        "rank": [card is not None and rank_of(card) == rank for rank in RANKS],
        "points": [points_of([card]) if card else 0.0],
        "ends": [ends],
        "again": [again and not ends],
        "reply_size": [replier],
        "reply_inverse": [1 / replier],
        "reply": [chance(answers, d.unseen, replier)],
        "reply_card": [len(answers) / max(1, len(d.unseen))],
        "reply_ranks": [chance(some, d.unseen, replier) for some in of_ranks(answers, "J7A8")],
        "reply_weighted": [weights.chance(answers)],
        "reply_one": [weights.chance(answers, 1)],
        "reply_ranks_weighted": [weights.chance(some) for some in of_ranks(answers, "J7A8")],
        "reply_weight": [weights.mean()],
        "rest_size": [size],
        "rest_few": flag_few(size),
        "rest_points": [points_of(rest)],
        "rest_ranks": [len(some) for some in of_ranks(rest, "J7A8")],
        "follow": [len(follow)],
        "follow_any": [bool(follow)],
        "follow_share": [len(follow) / max(1, len(rest))],
        "follow_points": [points_of(follow)],
        "comeback": [len(covered) / max(1, len(plain(answers)))],
        "comeback_weighted": [sum(weights.of[other] for other in covered) / max(1, len(plain(answers)))],
        "lonely": [count_lonely(rest)],
        "longest": [len(in_suit(rest, find_longest(rest)))],
        "suits": [len({suit_of(card) for card in plain(rest)})],
        "ranks": [len({rank_of(card) for card in rest})],
        "same_suit": [len(same)],
        "appraisal": [min(max(appraise(d, action, parameters), -LIMIT), LIMIT)],
        "best": [action == chosen],
    }


# ---- the player `best`


def appraise(d: Decision, action: str, w: Mapping[str, float]) -> float:
    """What an action is worth by the parameters of `best`, as their comments say."""
    verb, _, what = action.partition(" ")
    if verb == "suit":
        return appraise_suit(d, what, w)
    if verb == "play":
        return appraise_card(d, what, w) if len(d.hand) > 1 else 20.0
    if verb == "take":
        return w["take"] + w["take_more"] * (d.view["sevens"] - 1)
    draw, decline = w["draw"] + w["draw_short"] / d.fewest, w["decline"] + w["decline_two"] * (d.players == 2)
    if verb == "pass":
        return decline
    return draw + decline if d.phase == "drawn" else draw


def appraise_card(d: Decision, card: str, w: Mapping[str, float]) -> float:
    """What it is worth to play a card that is not the last."""
    action, rank = f"play {card}", rank_of(card)
    rest, ahead = d.keep(action), d.around[0]
    effect, two, last = d.phase != "lead", d.players == 2, len(rest) == 1
    fitting = in_suit(CARDS, find_longest(rest)) if rank == "J" else [other for other in CARDS if fits(other, on=card)]
    follow = [other for other in rest if other in fitting]
    share = len(follow) / len(rest)
    value = points_of([card]) * (w["short"] / d.fewest + w["late"] * d.late) + w["follow"] * share
    value += two * (w["follow_two"] * len(follow) + w["lonely_two"] * count_lonely(rest))
    value += last * (bool(follow) * w["finish"] + (rank_of(rest[0]) == "7") * w["finish_seven"])
    if not effect:
        value += {"J": w["jack_lead"], "7": w["seven_lead"]}.get(rank, 0.0)
    elif rank == "8":
        value += w["eight"] / ahead + two * w["again_eight"]
    elif rank == "J":
        value += w["jack"] + w["jack_late"] * d.late + w["jack_only"] * (not of_ranks(rest, "J")[0])
    elif rank == "7":
        only = not of_ranks(rest, "7")[0]
        back = chance(of_ranks(CARDS, "7")[0], d.unseen, ahead)
        value += w["seven"] + w["seven_late"] * d.late + w["seven_few"] / len(d.hand) + only * w["seven_only"]
        return value + two * (w["again_seven"] * (1 - back) + only * w["seven_back"] * back)
    if effect and (rank == "A" or (rank == "8" and two)):
        return value + bool(follow) * (w["again"] + w["again_follow"] * share + last * w["out"])
    replier = d.around[d.find_replier(action)]
    if replier == 1:
        if rank == "J" and not effect:
            fitting = in_suit(CARDS, "c")
        value += w["reply"] * chance(fitting, d.unseen, 1)
    return value


def appraise_suit(d: Decision, suit: str, w: Mapping[str, float]) -> float:
    """What it is worth to name a suit for a jack."""
    own = in_suit(d.hand, suit)
    value = w["suit"] * len(own) / len(d.hand) + w["suit_late"] * d.late * points_of(own)
    value += w["suit_reply"] * chance(in_suit(CARDS, suit), d.unseen, d.around[0])
    value += w["suit_seven"] * (f"7{suit}" in own)
    if not own:
        return value + w["suit_none"] * d.late * d.lead
    return value + w["suit_finish"] * (len(d.hand) <= 2)
