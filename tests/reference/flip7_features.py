"""What the features of an action of Flip 7 must say, in plain figures from a view, written from their description."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.reference.flip7 import ACTIONS, CARDS, MODIFIERS, NUMBERS, VALUE

Line = list[str]


# ---- lines


def busts(line: Line, card: str) -> bool:
    """Whether a number card busts a player with this line (F22, F28, F30), counted anew."""
    if card not in NUMBERS or card == "unlucky7":
        return False
    numbers = [*(other for other in line if other in NUMBERS), card]
    alike = [other for other in numbers if VALUE[other] == VALUE[card]]
    return len(alike) > (2 if "lucky13" in alike else 1)


def line_points(line: Line, status: str, brutal: bool, flips: bool) -> int:
    """F39 without the 15, F31, F41, F42, F44."""
    minus = sum(int(card) for card in line if card.startswith("-"))
    if status == "busted":
        return minus
    if "0" in line and not flips:
        return 0
    points = sum(VALUE[card] for card in line if card in NUMBERS)
    points = (points // 2 if "/2" in line else points) + minus
    return points if brutal else max(points, 0)


def add(line: Line, card: str) -> Line | None:
    """The line once a card has come; ``None`` after a bust."""
    if card == "unlucky7":
        return [card]
    return None if busts(line, card) else [*line, card]


def without(line: Line, card: str) -> Line:
    return [other for other in line if other != card]


def minus_of(line: Line) -> int:
    return -sum(int(card) for card in line if card.startswith("-"))


@dataclass
class Desk:
    """A view of the table, as the seat to move looks at it."""

    view: Mapping[str, Any]
    seat: int
    ev: Mapping[str, float]

    def __post_init__(self) -> None:
        options = self.view["options"]
        self.players, self.brutal, self.target = options["players"], options["brutal"], options["target"]
        self.twice = options["pair_counts_twice"]
        self.others = [(self.seat + distance) % self.players for distance in range(1, self.players)]
        # F7: what the next card is drawn from; a view tells the size of the deck, and its cards are those not seen elsewhere
        self.source = self.count_deck() or list(self.view["discard"])

    def count_deck(self) -> Line:
        view, left = self.view, []
        seen = [*view["discard"]]
        for cards in (*view["lines"], *view["void"]):
            seen += cards
        for action in view["open"]:
            seen += [action["card"], *action["queue"]]
        if view["phase"] == "give":
            seen.append(view["resolving"])
        copies = {card: 1 if card in ("0", "1", "lucky13", "unlucky7", *MODIFIERS) else 2 for card in CARDS}
        copies |= {str(n): n for n in range(2, 13)} | {"7": 6, "13": 12}
        for card, number in copies.items():
            left += [card] * (number - seen.count(card))
        assert len(left) == view["deck"]
        return left

    def count(self, line: Line) -> int:
        """How many of the seven cards of a Flip 7 there are (F29)."""
        numbers = [card for card in line if card in NUMBERS]
        return len(numbers) if self.twice else len({VALUE[card] for card in numbers})

    def line(self, seat: int) -> Line:
        return list(self.view["lines"][seat])

    def status(self, seat: int) -> str:
        return str(self.view["status"][seat])

    def is_active(self, seat: int) -> bool:
        return self.status(seat) == "active"

    def score(self, seat: int) -> int:
        flips = self.view["phase"] == "bonus" and seat == self.seat
        return line_points(self.line(seat), self.status(seat), self.brutal, flips)

    def standing(self, seat: int) -> int:
        return int(self.view["totals"][seat]) + self.score(seat)

    def share(self, hits: int) -> float:
        return hits / max(1, len(self.source))

    def p_bust(self, seat: int) -> float:
        return 0.0 if self.status(seat) == "busted" else self.share(sum(busts(self.line(seat), card) for card in self.source))

    # -- as ev reckons

    def value(self, total: float, numbers: float, minus: int, half: bool, zero: bool, active: bool) -> float:
        """What a line is worth to its owner."""
        share, flips = 0.5 if half else 1.0, numbers > 6.5
        points = 0.0 if zero and not flips else total * share - minus
        if active and not flips:
            if zero:
                points = max(13.0, (total * share - minus + 15) * (numbers - 1) / 8)
            else:
                points = max(points, (24 + 0.1 * total) * share - 0.7 * minus)
        return (points if self.brutal else max(points, 0.0)) + (15 if flips else 0)

    def worth(self, line: Line | None, active: bool) -> float:
        if line is None:
            return 0.0
        total = sum(VALUE[card] for card in line if card in NUMBERS)
        return self.value(total, self.count(line), minus_of(line), "/2" in line, "0" in line, active)

    def worth_drawn(self, line: Line, active: bool, draws: int) -> float:
        """What a line is worth after forced draws, roughly: the chance to survive them times the mean of what they bring."""
        numbers = [card for card in self.source if card in NUMBERS]
        good = [card for card in numbers if card == "unlucky7" or not busts(line, card)]
        bad, cards = len(numbers) - len(good), len(self.source)
        if not good:
            return 0.0 if bad else self.worth(line, active)
        mean = sum(VALUE[card] for card in good) / len(good)
        often = len(good) / max(1, cards - bad)
        again = sum(good.count(card) - 1 for card in good) / len(good) / cards
        total, count = float(sum(VALUE[card] for card in line if card in NUMBERS)), float(self.count(line))
        alive, risk = 1.0, bad / cards
        for _ in range(draws):
            alive *= 1 - risk
            total += 0.85 * often * mean
            count += often
            risk = min(1.0, risk + often * again)
            if count > 6.5:
                break
        return alive * self.value(total, count, minus_of(line), "/2" in line, "0" in line, active)

    def gain(self, loss: float) -> float:
        """What all the numbers to come bring, each drawn once; a bust costs ``loss``."""
        line, now = self.line(self.seat), self.score(self.seat)
        after = [add(line, card) for card in self.source if card in NUMBERS]
        return sum(-loss if other is None else self.worth(other, True) - now for other in after)

    def leader(self, card: str | None) -> int | None:
        """The other who stands highest, the next one first, of those whom the card can touch."""
        can = [
            seat for seat in self.others
            if self.status(seat) != "busted" or (self.brutal and card not in ACTIONS)
        ]  # fmt: skip
        return max(can, key=self.standing) if can else None

    def weigh(self, seat: int, leader: int | None) -> float:
        return 1.0 if seat == self.seat else -1.0 if seat == leader else -0.3

    def turn_into(self, seat: int, line: Line | None, leader: int | None) -> float:
        """What it brings the seat to move that the line of a seat becomes another."""
        active = self.is_active(seat)
        return self.weigh(seat, leader) * (self.worth(line, active) - self.worth(self.line(seat), active))

    def swap(self, first: int, card: str, second: int, other: str, leader: int | None) -> float:
        mine, its = add(without(self.line(first), card), other), add(without(self.line(second), other), card)
        return self.turn_into(first, mine, leader) + self.turn_into(second, its, leader)

    def steal(self, owner: int, card: str, leader: int | None) -> float:
        taken = self.turn_into(self.seat, add(self.line(self.seat), card), leader)
        return taken + self.turn_into(owner, without(self.line(owner), card), leader)

    def appraise_draw(self) -> float:
        top, total = max(self.view["totals"][seat] for seat in self.others), self.view["totals"][self.seat]
        loss = self.score(self.seat) - self.ev["chase"] * (top - total)
        if top + 60 >= self.target:
            loss -= self.ev["rush"] * (self.players - 2)
        others = sum(card not in NUMBERS for card in self.source)
        return (self.ev["card"] * others + self.gain(loss)) / len(self.source)

    def appraise_give(self, target: int, card: str) -> float:
        leader, line, active = self.leader(card), self.line(target), self.is_active(target)
        if card == "steal" and target == self.seat:
            picks = [(owner, its) for owner in self.others if self.status(owner) != "busted" for its in self.line(owner)]
            return max(self.steal(owner, its, leader) for owner, its in picks)
        if card in ("steal", "swap", "discard"):
            return 0.0
        after = {"flip_four": (active, 4), "just_one_more": (False, 1)}
        worth = self.worth_drawn(line, *after[card]) if card in after else self.worth([*line, card], active)
        return self.weigh(target, leader) * (worth - self.worth(line, active))

    def appraise_pick(self, target: int, card: str) -> float:
        resolving, picked = self.view["resolving"], self.view["picked"]
        leader = self.leader(resolving)
        if resolving == "steal":
            return self.steal(target, card, leader)
        if resolving == "discard":
            return self.turn_into(target, without(self.line(target), card), leader)
        if picked:
            return self.swap(picked[0], picked[1], target, card, leader)
        seats = [seat for seat in range(self.players) if seat != target and self.status(seat) != "busted"]
        return max(self.swap(target, card, seat, its, leader) for seat in seats for its in self.line(seat))

    def appraise_bonus(self, target: int) -> float:
        """Ten times what the match pays if it ends, else .1 for what ``ev`` finds right."""
        own = self.standing(self.seat)
        ends = [self.standing(seat) - (15 if seat == target else 0) for seat in self.others]
        mine = own + (15 if target == self.seat else 0)
        if max(mine, *ends) >= self.target or self.view["deal"] >= self.view["options"]["max_rounds"]:
            winners = ends.count(mine) + 1
            paid = (self.players - winners) / (winners * (self.players - 1))
            return 10 * (1.0 if mine > max(ends) else paid if mine == max(ends) else -1.0)
        leader = self.leader(None)
        assert leader is not None
        near = self.players == 2 or self.standing(leader) + 30 >= self.target
        right = leader if near and own + 15 < self.standing(leader) else self.seat
        return 0.1 if target == right else 0.0

    # -- fields

    def turn_facts(self) -> dict[str, list[float]]:
        seat, line, source = self.seat, self.line(self.seat), self.source
        total, own = self.view["totals"][seat], self.standing(seat)
        good = [VALUE[card] for card in source if card in NUMBERS and add(line, card) is not None]
        standings = sorted((self.standing(other) for other in self.others), reverse=True)
        active = [self.standing(other) for other in self.others if self.is_active(other)]

        def compare(points: float, mine: float) -> float:
            return max(-500.0, min(500.0, points - mine))

        facts = {
            "players": self.players,
            "players_inverse": 2 / self.players,
            "brutal": self.brutal,
            "score": self.score(seat),
            "sum": sum(VALUE[card] for card in line if card in NUMBERS),
            "numbers": min(7, self.count(line)),
            "six": self.count(line) == 6,
            "minus": minus_of(line),
            "half": "/2" in line,
            "zero": "0" in line,
            "cards": len(source),
            "p_bust": self.p_bust(seat),
            "p_action": self.share(sum(card in ACTIONS for card in source)),
            "p_modifier": self.share(sum(card in MODIFIERS for card in source)),
            "p_unlucky": self.share(source.count("unlucky7")),
            "p_zero": self.share(source.count("0")),
            "mean_number": sum(good) / max(1, len(good)),
            "gain": max(-100.0, min(100.0, self.gain(self.score(seat)) / max(1, len(source)))),
            "need": min(1000, self.target - total),
            "near": min(50, self.target - total),
            "standing_need": max(-200, min(1000, self.target - own)),
            "reaches": own >= self.target,
            "active": len(active) / self.players,
            "behind_total": compare(max(self.view["totals"][other] for other in self.others), total),
            "behind": compare(standings[0], own),
            "behind_second": compare(standings[1], own) if self.players > 2 else 0.0,
            "behind_active": compare(max(active), own) if active else 0.0,
            "other_reaches": standings[0] >= self.target,
        }
        return {name: [float(value)] for name, value in facts.items()}

    def who(self, seat: int | None) -> list[float]:
        if seat is None:
            return [0.0] * 4
        turn = [other for other in self.others if self.is_active(other)]
        best = max(self.standing(other) for other in self.others)
        highest = self.standing(seat) == max(best, self.standing(self.seat))
        return [
            float(flag)
            for flag in (
                seat == self.seat, bool(turn) and seat == turn[0], highest, seat != self.seat and self.standing(seat) == best,
            )
        ]  # fmt: skip

    def behind(self, seat: int | None) -> float:
        return 0.0 if seat is None else max(-500.0, min(500.0, self.standing(seat) - self.standing(self.seat)))

    def change(self, seat: int, line: Line | None) -> tuple[float, list[float]]:
        """The change of the score of a line that becomes another, and whether that is a bust or a Flip 7."""
        flips = line is not None and self.count(line) >= 7
        points = 0 if line is None else line_points(line, "", self.brutal, flips) + 15 * flips
        return max(-100.0, min(100.0, float(points - self.score(seat)))), [float(line is None), float(flips)]


PHASES = ["turn", "give", "pick", "bonus"]
KINDS = ["draw", "stay", "give", "bonus", "pick"]
GIVEN = MODIFIERS + ACTIONS


def action_facts(view: dict[str, Any], seat: int, action: str, chosen: str, ev: Mapping[str, float]) -> dict[str, list[float]]:
    """What the features of an action must say, from ``view(seat)`` and what ``ev`` with these parameters would do."""
    desk = Desk(view, seat, ev)
    verb, *words = action.split()
    target = int(words[0]) if words else None
    resolving, picked = view["resolving"], view["picked"]
    card = words[1] if verb == "pick" else resolving if verb == "give" else ""
    partner: int | None = None
    change, partner_change = (0.0, [0.0, 0.0]), (0.0, [0.0, 0.0])
    appraisal = desk.appraise_draw() if verb == "draw" else 0.0
    if verb == "give" and target is not None:
        appraisal = desk.appraise_give(target, card)
        if card in MODIFIERS:
            change = desk.change(target, [*desk.line(target), card])
    if verb == "bonus" and target is not None:
        appraisal = desk.appraise_bonus(target)
        change = (15.0 if target == seat else -15.0, [0.0, 0.0])
    if verb == "pick" and target is not None:
        appraisal = desk.appraise_pick(target, card)
        rest = without(desk.line(target), card)
        change = desk.change(target, rest)
        if resolving == "steal":
            partner, partner_change = seat, desk.change(seat, add(desk.line(seat), card))
        elif resolving == "swap" and picked:
            partner, its = picked
            change = desk.change(target, add(rest, its))
            partner_change = desk.change(partner, add(without(desk.line(partner), its), card))
    line = [] if target is None else desk.line(target)
    need = 0.0 if target is None else max(-200.0, min(1000.0, float(desk.target - desk.standing(target))))
    return {
        **desk.turn_facts(),
        "phase": [float(view["phase"] == phase) for phase in PHASES],
        "resolving": [float(resolving == other) for other in GIVEN],
        "second": [float(bool(picked))],
        "kind": [float(verb == kind) for kind in KINDS],
        "number": [float(VALUE.get(card, 0))],
        "minus_card": [float(minus_of([card]))],
        "special": [float(card == other) for other in ("0", "lucky13", "unlucky7", "/2")],
        "target": desk.who(target),
        "target_status": [
            float(target is not None and desk.status(target) == status) for status in ("active", "stayed", "busted")
        ],
        "target_behind": [desk.behind(target)],
        "target_need": [need],
        "target_reaches": [float(target is not None and desk.standing(target) >= desk.target)],
        "target_score": [0.0 if target is None else float(desk.score(target))],
        "target_numbers": [float(min(7, desk.count(line)))],
        "target_minus": [float(minus_of(line))],
        "target_special": [float("0" in line), float("/2" in line)],
        "target_p_bust": [0.0 if target is None else desk.p_bust(target)],
        "target_change": [change[0]],
        "target_ends": change[1],
        "partner": desk.who(partner),
        "partner_active": [float(partner is not None and desk.is_active(partner))],
        "partner_behind": [desk.behind(partner)],
        "partner_change": [partner_change[0]],
        "partner_ends": partner_change[1],
        "appraisal": [max(-100.0, min(100.0, appraisal))],
        "ev": [float(action == chosen)],
    }
