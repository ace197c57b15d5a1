"""The same questions at the real table: rounds and matches on the engine, with actions and modifiers, and with intervals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.arena import Estimate, derive_list_seed, estimate_mean
from card_envs.engine.game import OptionValue
from card_envs.engine.matches import Matches
from card_envs.games.flip7 import GAME
from card_envs.games.flip7.state import ACTION_DRAW, BUSTED, NUMBERS, TURN
from card_envs.players import Player, resolve
from card_envs.players.runner import Runner
from card_envs.risk.kernel import card_luck
from card_envs.risk.live import after_unlucky_7
from card_envs.risk.loss import Decision, choices_in
from card_envs.risk.model import names_of
from card_envs.risk.race import race
from card_envs.risk.solve import POINTS

AT_ONCE = 4096
WORST = 10
Z = 1.959964
Watch = Callable[[Matches, NDArray[np.int64], NDArray[np.int64]], None]


@dataclass(frozen=True)
class Rate:
    """A rate with its Wilson 95 % interval (Wilson 1927), of n rounds."""

    mean: float
    low: float
    high: float
    n: int


def wilson(count: int, n: int) -> Rate:
    """``count`` of ``n``."""
    p, z2 = count / n, Z * Z
    middle = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = Z * (p * (1 - p) / n + z2 / (4 * n * n)) ** 0.5 / (1 + z2 / n)
    return Rate(p, middle - half, middle + half, n)


@dataclass(frozen=True)
class RealRound:
    """One player's first round at a real table.

    Attributes:
        mean: points, normal 95 % interval; adjusted: the same with the luck of the cards drawn on his turns taken out.
        factor: variance of the raw mean by that of the adjusted one.
        sd, bust, flip7: of the round.
        rounds, seed, players: how it was found.
    """

    player: str
    others: str
    players: int
    mean: Estimate
    adjusted: Estimate | None
    factor: float | None
    sd: float
    bust: Rate
    flip7: Rate
    rounds: int
    seed: int

    def facts(self) -> dict[str, Any]:
        """JSON-able."""
        parts = {"mean": self.mean, "adjusted": self.adjusted, "bust": self.bust, "flip7": self.flip7}
        return vars(self) | {name: None if part is None else vars(part) for name, part in parts.items()}


def real_round(
    player: str | Player,
    others: str | Player = "ev",
    *,
    players: int = 4,
    rounds: int = 20_000,
    seed: int = 0,
    adjust: bool = True,
    **options: OptionValue,
) -> RealRound:
    """The first round, from a full deck, of ``player`` among ``players - 1`` of ``others``; his seat changes each round.

    Args:
        rounds: how many, at least 2, each of its own deal; seed: of the deal list ``"report"``.
        adjust: also take the luck of his draws out of the mean; that takes several times as long.
    """
    play = _Play(player, others, players, rounds, seed, options)
    luck = np.zeros(rounds)
    wiped = float(after_unlucky_7() @ POINTS)

    def watch(batch: Matches, rows: NDArray[np.int64], seats: NDArray[np.int64]) -> None:
        states = batch.states[rows]
        drawn = np.flatnonzero((batch.actions[rows] == ACTION_DRAW) & (states["drawn"] < states["deck_size"]))
        if not adjust or not len(drawn):
            return
        some, who = states[drawn], seats[drawn]
        held = some["held"][np.arange(len(some)), who].astype(np.int64)
        rules = np.tile(np.array([1, some["pair_counts_twice"][0], 0, 0, 1, 15], np.int64), (len(some), 1))
        cards = some["deck"][np.arange(len(some)), some["drawn"]].astype(np.int64)
        found = np.empty(len(some))
        card_luck(held & NUMBERS, some["unseen"].astype(np.int64), rules, cards, POINTS, wiped, found)
        luck[play.first + rows[drawn]] += found

    scores, bust, flip7 = play.run(watch, first_round=True)
    points = scores.astype(np.float64)
    adjusted = estimate_mean(points - luck) if adjust else None
    factor = float(points.var() / (points - luck).var()) if adjust else None
    return RealRound(
        play.names[0], play.names[1], players, estimate_mean(points), adjusted, factor, float(points.std(ddof=1)),
        wilson(int(bust.sum()), rounds), wilson(int(flip7.sum()), rounds), rounds, seed,
    )  # fmt: skip


@dataclass(frozen=True)
class Losses:
    """What one player's choices between drawing and staying gave away in many matches, by the solo solver.

    Attributes:
        unit: points, or win probability of the race of two; mean: per choice; per_round.
        wrong: part of the choices that gave something away; worst: the worst of them.
    """

    player: str
    others: str
    players: int
    unit: str
    mean: float
    per_round: Estimate
    wrong: float
    choices: int
    matches: int
    seed: int
    worst: tuple[Decision, ...]

    def facts(self) -> dict[str, Any]:
        """JSON-able."""
        return vars(self) | {"per_round": vars(self.per_round), "worst": [decision.facts() for decision in self.worst]}


def match_losses(
    player: str | Player,
    others: str | Player = "ev",
    *,
    players: int = 4,
    matches: int = 1000,
    seed: int = 0,
    unit: str = "points",
    **options: OptionValue,
) -> Losses:
    """The decision loss of ``player`` among ``players - 1`` of ``others`` in whole matches; an interval over the matches."""
    play = _Play(player, others, players, matches, seed, options)
    table = race("plain") if unit == "win" else None
    lost, rounds = np.zeros(matches), np.zeros(matches)
    worst: list[Decision] = []
    choices = wrong = 0

    def watch(batch: Matches, rows: NDArray[np.int64], seats: NDArray[np.int64]) -> None:
        nonlocal choices, wrong, worst
        made = choices_in(batch, rows, unit, table)
        if made is None:
            return
        rows, loss = made.rows, made.loss
        choices += len(rows)
        wrong += int((loss > 1e-9).sum())
        lost[play.first + rows] += loss
        for i in np.argsort(-loss)[:WORST]:
            row = int(rows[i])
            worst.append(
                Decision(
                    int(batch.decisions[row]) + 1,
                    int(batch.states["deal"][row]),
                    int(batch.to_move[row]),
                    tuple(names_of(int(made.view.lines[i, 0]))),
                    "draw" if made.drew[i] else "stay",
                    float(made.draw[i]),
                    float(made.stay[i]),
                )
            )
        worst = sorted(worst, key=lambda decision: -decision.loss)[:WORST]

    play.run(watch, first_round=False, rounds=rounds)
    return Losses(
        play.names[0], play.names[1], players, unit, float(lost.sum() / max(choices, 1)), estimate_mean(lost / rounds),
        wrong / max(choices, 1), choices, matches, seed, tuple(worst),
    )  # fmt: skip


class _Play:
    """``count`` deals, each with the player in seat ``deal % players`` and the others elsewhere."""

    def __init__(
        self, player: str | Player, others: str | Player, players: int, count: int, seed: int, options: dict[str, OptionValue]
    ) -> None:
        if isinstance(count, bool) or not isinstance(count, int) or count < 2:
            raise ValueError(f"{count!r} rounds or matches: allowed is a whole number from 2")
        resolved: dict[str, Any] = GAME.resolve({**options, "players": players})
        self.players = [resolve(player, GAME, resolved), resolve(others, GAME, resolved)]
        self.names = [spec if isinstance(spec, str) else repr(spec) for spec in (player, others)]
        self.count = count
        self.seed = derive_list_seed("report", seed)
        self.batch = Matches(GAME, min(AT_ONCE, count), resolved, auto_reset=False, write_observations=False)
        self.runner = Runner(self.batch, self.players)
        self.first = 0

    def run(
        self, watch: Watch, first_round: bool, rounds: NDArray[np.float64] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_]]:
        """Play all; the player's score of the last round, and whether he bust or flipped 7 in it.

        ``watch`` sees every choice of his on a turn, before it is carried out. To end after the first round without anybody
        playing as in a last one, the flag that ends the match is set while actions are carried out only.
        """
        batch, n = self.batch, self.batch.players
        scores, bust, flip7 = np.empty(self.count, np.int64), np.empty(self.count, np.bool_), np.empty(self.count, np.bool_)
        batch.template["single_deal"] = first_round
        for first in range(0, self.count, batch.size):
            self.first = first
            number = np.arange(first, min(first + batch.size, self.count))
            every = rows = np.arange(len(number))
            seat = number % n
            self.runner.seating[:] = 1
            self.runner.seating[rows, seat] = 0
            batch.identity[rows] = np.stack([np.full(len(rows), self.seed), number, 0 * rows], axis=1)
            batch.deal(rows)
            while len(rows := rows[batch.to_move[rows] >= 0]):
                mine = batch.to_move[rows] == seat[rows]
                batch.states["single_deal"][rows] = 0
                self.runner.choose(rows)
                watched = rows[mine & (batch.states["phase"][rows] == TURN)]
                watch(batch, watched, seat[watched])
                batch.states["single_deal"][rows] = first_round
                batch.run(rows)
            scores[number] = batch.states["scores"][every, seat]
            bust[number] = batch.states["status"][every, seat] == BUSTED
            flip7[number] = batch.states["flipper"][every] == seat
            if rounds is not None:
                rounds[number] = batch.states["finished"][every]
        return scores, bust, flip7
