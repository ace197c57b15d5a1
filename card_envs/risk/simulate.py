"""The same questions at the real table: rounds and matches with actions and modifiers, played by the engine, with intervals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.arena import Estimate, derive_list_seed, estimate_mean
from card_envs.engine.game import OptionValue
from card_envs.engine.loops import RESET
from card_envs.engine.matches import Matches
from card_envs.games.flip7 import GAME
from card_envs.games.flip7.state import ACTION_DRAW, BUSTED, FLIPPED, NUMBERS, TURN
from card_envs.players import Player, resolve
from card_envs.players.runner import Runner, Watcher
from card_envs.risk import kernel
from card_envs.risk.kernel import compile_kernel
from card_envs.risk.loss import Decision, find_choices
from card_envs.risk.model import name_cards
from card_envs.risk.race import solve_race
from card_envs.risk.solve import POINTS
from card_envs.risk.tables import build_rules, solve_wiped_round

AT_ONCE = 4096  # matches that are played side by side
WORST = 10  # decisions that are kept
Z = 1.959964  # the half width of a 95 % interval of the standard normal distribution
Watch = Callable[[Matches, NDArray[np.int64], NDArray[np.int64]], None]

_measure_luck = compile_kernel(kernel.measure_luck)


@dataclass(frozen=True)
class Rate:
    """A rate with its Wilson 95 % interval (Wilson 1927).

    Attributes:
        mean: The share of the rounds, 0 … 1.
        low, high: The ends of the interval.
        n: The number of rounds.
    """

    mean: float
    low: float
    high: float
    n: int


def estimate_rate(count: int, n: int) -> Rate:
    """Return the rate of ``count`` among ``n``, 0 <= count <= n, n >= 1, with its Wilson interval."""
    p, z2 = count / n, Z * Z
    middle = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = Z * (p * (1 - p) / n + z2 / (4 * n * n)) ** 0.5 / (1 + z2 / n)
    return Rate(p, middle - half, middle + half, n)


@dataclass(frozen=True)
class RealRound:
    """The first round of a player at a real table, played many times.

    Attributes:
        player, others: The player, and the player in each of the other seats.
        players: The number of seats at the table.
        mean: The points of the round, with a 95 % interval.
        adjusted: The same, with the luck of the cards drawn on the player's turns taken out; ``None`` if that was not asked
            for.
        factor: The variance of the raw points divided by that of the adjusted ones; ``None`` likewise.
        sd: The standard deviation of the points.
        bust: How often the player busted.
        flip7: How often the player flipped 7.
        rounds: The number of rounds.
        seed: The seed of the deals.
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
        """Return the figures as JSON-able values."""
        parts = {"mean": self.mean, "adjusted": self.adjusted, "bust": self.bust, "flip7": self.flip7}
        return vars(self) | {name: None if part is None else vars(part) for name, part in parts.items()}


def play_real_round(
    player: str | Player,
    others: str | Player = "ev",
    *,
    players: int = 4,
    rounds: int = 20_000,
    seed: int = 0,
    adjust: bool = True,
    **options: OptionValue,
) -> RealRound:
    """Play the first round of a match, from a full deck, many times. The player's seat changes from round to round.

    Args:
        player: The player whose round it is.
        others: The player in each of the other seats.
        players: The number of seats at the table, 2 … 12.
        rounds: The number of rounds, at least 2, each with its own deal.
        seed: The seed of the deals, which are those of the board list ``"report"``.
        adjust: Whether to take the luck of the player's draws out of the mean as well, which takes several times as long.
        **options: The options of the game.

    Raises:
        ValueError: A player, a number or an option is wrong.
    """
    play = _Play(player, others, players, rounds, seed, options)
    luck = np.zeros(rounds)
    wiped = float(solve_wiped_round() @ POINTS)

    def watch(played: Matches, rows: NDArray[np.int64], seats: NDArray[np.int64]) -> None:
        states = played.states[rows]
        drawn = np.flatnonzero((played.actions[rows] == ACTION_DRAW) & (states["drawn"] < states["deck_size"]))
        if not adjust or not len(drawn):
            return
        some, who = states[drawn], seats[drawn]
        lines = some["held"][np.arange(len(some)), who].astype(np.int64) & NUMBERS
        rules = build_rules(lines, bool(some["pair_counts_twice"][0]), brutal=False)
        cards = some["deck"][np.arange(len(some)), some["drawn"]].astype(np.int64)
        gained = np.empty(len(some))
        _measure_luck(lines, some["unseen"].astype(np.int64), rules, cards, POINTS, wiped, gained)
        luck[play.first + rows[drawn]] += gained

    scores, bust, flip7 = play.run(watch, first_round=True)
    points = scores.astype(np.float64)
    adjusted = estimate_mean(points - luck) if adjust else None
    factor = float(points.var() / (points - luck).var()) if adjust else None
    return RealRound(
        play.names[0], play.names[1], players, estimate_mean(points), adjusted, factor, float(points.std(ddof=1)),
        estimate_rate(int(bust.sum()), rounds), estimate_rate(int(flip7.sum()), rounds), rounds, seed,
    )  # fmt: skip


@dataclass(frozen=True)
class Losses:
    """What a player's choices between drawing and staying gave away in many matches, by the solo solver.

    Attributes:
        player, others: The player, and the player in each of the other seats.
        players: The number of seats at the table.
        unit: ``"points"``, or ``"win"`` for the probability of winning the race of two.
        mean: What a choice gave away on average.
        per_round: What the choices of a round gave away, with an interval over the matches.
        wrong: The share of the choices that gave something away, 0 … 1.
        choices: The number of choices.
        matches: The number of matches.
        seed: The seed of the deals.
        worst: The ten choices that gave away most, the worst first.
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
        """Return the figures as JSON-able values."""
        return vars(self) | {"per_round": vars(self.per_round), "worst": [decision.facts() for decision in self.worst]}


def measure_losses(
    player: str | Player,
    others: str | Player = "ev",
    *,
    players: int = 4,
    matches: int = 1000,
    seed: int = 0,
    unit: str = "points",
    **options: OptionValue,
) -> Losses:
    """Measure what a player's choices between drawing and staying give away in whole matches.

    Args:
        player: The player whose choices are measured.
        others: The player in each of the other seats.
        players: The number of seats at the table, 2 … 12.
        matches: The number of matches, at least 2.
        seed: The seed of the deals, which are those of the board list ``"report"``.
        unit: ``"points"``, or ``"win"`` for the probability of winning the race of two against the best opponent.
        **options: The options of the game.

    Raises:
        ValueError: A player, a number, the unit or an option is wrong.
    """
    play = _Play(player, others, players, matches, seed, options)
    race = solve_race("plain") if unit == "win" else None
    lost, rounds = np.zeros(matches), np.zeros(matches)
    worst: list[Decision] = []
    choices = wrong = 0

    def watch(played: Matches, rows: NDArray[np.int64], seats: NDArray[np.int64]) -> None:
        nonlocal choices, wrong, worst
        made = find_choices(played, rows, unit, race)
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
                    int(played.decisions[row]) + 1,
                    int(played.states["deal"][row]),
                    int(played.to_move[row]),
                    tuple(name_cards(int(made.view.lines[i, 0]))),
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
    """``count`` matches. In match m the player has the seat m modulo ``players``, and the others have the other seats."""

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
        self.matches = Matches(GAME, min(AT_ONCE, count), resolved, auto_reset=False, write_observations=False)
        self.first = 0

    def run(
        self, watch: Watch, first_round: bool, rounds: NDArray[np.float64] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_]]:
        """Play all matches.

        Args:
            watch: Called with the matches, rows and the player's seats there before the player's choices on a turn are
                carried out.
            first_round: Whether to end each match after its first round.
            rounds: Filled with the number of rounds of each match, float64 [count].

        Returns:
            The player's score in the last round, int64 [count], and whether they busted or flipped 7 in it, bool [count] each.
        """
        matches, n = self.matches, self.matches.players
        scores, bust, flip7 = np.empty(self.count, np.int64), np.empty(self.count, np.bool_), np.empty(self.count, np.bool_)
        matches.template["single_deal"] = first_round
        runner = Runner(matches, self.players, watcher=_Turns(matches, watch, first_round))
        for first in range(0, self.count, matches.size):
            self.first = first
            number = np.arange(first, min(first + matches.size, self.count))
            rows = np.arange(len(number))
            seat = number % n
            runner.seating[rows] = np.arange(n) != seat[:, None]  # 0 for the player, 1 for the others
            matches.identify(rows, self.seed, number, 0)
            matches.actions[rows] = RESET
            runner.play(rows.copy())
            scores[number] = matches.states["scores"][rows, seat]
            bust[number] = matches.states["last_status"][rows, seat] == BUSTED
            flip7[number] = matches.states["last_status"][rows, seat] == FLIPPED
            if rounds is not None:
                rounds[number] = matches.states["finished"][rows]
        return scores, bust, flip7


class _Turns(Watcher):
    """Shows ``watch`` the choices that the first player makes on their turns.

    The flag that ends a match after its first round is set only while actions are carried out. Otherwise the players would see
    it and play as if it were the last round.
    """

    def __init__(self, matches: Matches, watch: Watch, first_round: bool) -> None:
        self.matches = matches
        self.watch = watch
        self.first_round = first_round

    def before_choice(self, rows: NDArray[np.int64], who: NDArray[np.int8]) -> None:
        self.matches.states["single_deal"][rows] = 0

    def after_choice(self, rows: NDArray[np.int64], who: NDArray[np.int8]) -> None:
        turns = rows[(who[rows] == 0) & (self.matches.states["phase"][rows] == TURN)]
        self.watch(self.matches, turns, self.matches.to_move[turns].astype(np.int64))
        self.matches.states["single_deal"][rows] = self.first_round
