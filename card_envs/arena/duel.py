"""Matches between players on duplicate deals: the same list of deals for everybody, each played in all seat rotations.

The *deal block*, all rotations of one deal, is the unit of every interval: its matches are played from the same deck and are
not independent. Duplicate deals are those of the Annual Computer Poker Competition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.arena.play import Playing
from card_envs.engine.batch import Batch, check_seed
from card_envs.engine.game import Game, OptionValue, unknown
from card_envs.games import load_game
from card_envs.players import Player, resolve

LISTS = ("train", "tune", "report")
LIST_SIZE = 1 << 40  # seeds of a list

MATCHES_AT_ONCE = 4096
NORMAL_95 = 1.96


def list_seed(deal_list: str, seed: int = 0) -> int:
    """The seed of the deals of a named list: deal d has the identity (this, d, 0).

    The lists share no deal: agents learn on ``"train"``, what chooses among them (checkpoints, settings) is played on
    ``"tune"``, and the figures that are reported come from ``"report"`` alone. ``seed``, 0 … 2**40 - 1, picks among many
    lists of the same name.
    """
    if deal_list not in LISTS:
        raise unknown("deal list", deal_list, LISTS)
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < LIST_SIZE:
        raise ValueError(f"seed of the deal list = {seed!r}: allowed is an integer from 0 to 2**40 - 1")
    return LISTS.index(deal_list) * LIST_SIZE + int(seed)


@dataclass(frozen=True)
class Matches:
    """What each player of a line-up got, in every rotation of every deal.

    Attributes:
        rewards: float64 [deals, rotations, players], ``reward="win"`` of ``lineup[p]``, who in rotation k sits at seat
            (p + k) mod players.
        scores: int64 [deals, rotations, players], his total in points.
        truncated: bool [deals, rotations], whether a technical cap cut the match off.
    """

    rewards: NDArray[np.float64]
    scores: NDArray[np.int64]
    truncated: NDArray[np.bool_]

    @property
    def shares(self) -> NDArray[np.float64]:
        """Shares of the win, float64 [deals, rotations, players]: 1/k for each of k winners, else 0. They sum to 1.

        Of the reward r, which is (n-k)/(k(n-1)) for a winner and -1/(n-1) for a loser: (r(n-1) + 1)/n.
        """
        n = self.rewards.shape[2]
        shares: NDArray[np.float64] = (self.rewards * (n - 1) + 1.0) / n
        return shares

    @property
    def margins(self) -> NDArray[np.float64]:
        """The player's total minus the mean of the others', in points, float64 [deals, rotations, players]."""
        n = self.scores.shape[2]
        margins: NDArray[np.float64] = (n * self.scores - self.scores.sum(axis=2, keepdims=True)) / (n - 1)
        return margins


def play_matches(
    game: str | Game,
    lineup: Sequence[str | Player],
    blocks: int,
    *,
    seed: int = 0,
    at_once: int = MATCHES_AT_ONCE,
    **options: OptionValue,
) -> Matches:
    """Play ``blocks`` deals, each in all rotations of the line-up: ``blocks × players`` matches.

    The result depends on the arguments alone, but for ``at_once``, how many matches are played in lock step. (A network's
    matrix products may round differently with another ``at_once``: in the last digit, so hardly ever in its choice.)

    Args:
        game: a game or its name.
        lineup: a player or spec for each seat of the first rotation.
        blocks: how many deals, at least 1.
        seed: that of the deals, as from :func:`list_seed`.
        **options: the game's; ``players`` may be left out, it is the length of the line-up.

    Raises:
        ValueError: an unknown name, a number out of range, a line-up of another length than ``players``.
        IllegalAction: a player has answered with an action that is not legal.
    """
    game = load_game(game) if isinstance(game, str) else game
    n = len(lineup)
    if options.setdefault("players", n) != n:
        raise ValueError(f"the line-up has {n} players, but players = {options['players']!r}")
    resolved: dict[str, Any] = game.resolve(options)
    if isinstance(blocks, bool) or not isinstance(blocks, int | np.integer) or blocks < 1:
        raise ValueError(f"blocks = {blocks!r}: allowed is a whole number from 1")
    seed = check_seed(seed)
    players, index = _resolve(lineup, game, resolved)
    total = int(blocks) * n
    batch = Batch(game, min(max(at_once, 1), total), seed=0, **resolved)
    playing = Playing(batch, players, np.zeros(batch.size, np.uint64))
    # seat s of rotation k is taken by lineup[(s - k) % n]
    taken_by = (np.arange(n) - np.arange(n)[:, None]) % n
    rewards, scores, truncated = np.empty((total, n)), np.empty((total, n), np.int64), np.empty(total, np.bool_)
    for first in range(0, total, batch.size):
        number = np.arange(first, min(first + batch.size, total))
        seats = taken_by[number % n]
        rows = np.arange(len(number))
        batch._identity[rows] = np.stack([np.full(len(rows), seed), number // n, 0 * rows, 0 * rows], axis=1)
        playing.salt[rows] = number % n
        playing.play(rows, index[seats])
        mine = number[:, None], seats
        rewards[mine] = batch._rewards[rows]
        scores[mine] = batch._states["totals"][rows, :n]
        truncated[number] = batch._truncated[rows]
    shape = int(blocks), n, n
    return Matches(rewards.reshape(shape), scores.reshape(shape), truncated.reshape(shape[:2]))


def _resolve(
    lineup: Sequence[str | Player], game: Game, options: dict[str, OptionValue]
) -> tuple[list[Player], NDArray[np.int8]]:
    """The different players of a line-up, and which of them each entry is: int8 [len(lineup)]."""
    different: list[str | Player] = []
    for spec in lineup:
        if not any(spec is known or (isinstance(spec, str) and spec == known) for known in different):
            different.append(spec)
    index = [next(i for i, known in enumerate(different) if spec is known or spec == known) for spec in lineup]
    return [resolve(spec, game, options) for spec in different], np.array(index, np.int8)


@dataclass(frozen=True)
class Estimate:
    """A mean with its normal 95 % interval, mean ± 1.96 s/√n over n independent blocks."""

    mean: float
    low: float
    high: float
    blocks: int

    def __str__(self) -> str:
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"


def estimate(blocks: NDArray[np.float64]) -> Estimate:
    """The mean of independent values, float64 [n], n at least 2."""
    if len(blocks) < 2:
        raise ValueError(f"an interval needs 2 blocks at least, {len(blocks)} given")
    mean = float(blocks.mean())
    half = NORMAL_95 * float(blocks.std(ddof=1)) / len(blocks) ** 0.5
    return Estimate(mean, mean - half, mean + half, len(blocks))


@dataclass(frozen=True)
class Duel:
    """How one A did among n-1 B.

    Attributes:
        share: A's share of the wins, ties split, beside ``fair``.
        fair: 1/n, a player's share among equals.
        margin: how many points A is ahead of the others' mean; with fewer of them where the lowest total wins.
        matches: how many were played.
        truncated: how many of them a technical cap cut off.
    """

    share: Estimate
    fair: float
    margin: Estimate
    matches: int
    truncated: int


def duel(
    game: str | Game,
    a: str | Player,
    b: str | Player,
    *,
    matches: int = 20_000,
    deal_list: str = "report",
    seed: int = 0,
    **options: OptionValue,
) -> Duel:
    """One A among n-1 B, A in every seat of every deal.

    Args:
        game, a, b, **options: the game or its name, two players or specs, the game's options with ``players`` = n.
        matches: how many matches, rounded up to whole blocks of n; 2 blocks at least.
        deal_list: the name of the list of deals, see :func:`list_seed`.
        seed: that of the deal list.
    """
    game = load_game(game) if isinstance(game, str) else game
    resolved: dict[str, Any] = game.resolve(options)
    n = int(resolved["players"])
    if isinstance(matches, bool) or not isinstance(matches, int | np.integer) or matches <= n:
        raise ValueError(f"matches = {matches!r}: allowed is a whole number from {n + 1} (2 blocks of {n})")
    played = play_matches(game, [a, *[b] * (n - 1)], -(-int(matches) // n), seed=list_seed(deal_list, seed), **resolved)
    ahead = 1.0 if game.score_scale(resolved) > 0 else -1.0  # or where the lowest total wins
    return Duel(
        share=estimate(played.shares[:, :, 0].mean(axis=1)),
        fair=1.0 / n,
        margin=estimate(ahead * played.margins[:, :, 0].mean(axis=1)),
        matches=played.truncated.size,
        truncated=int(played.truncated.sum()),
    )
