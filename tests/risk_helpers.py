"""Bust risk again, written from the rules page: a simulation and a plain recursion that share no code with the package."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numba
import numpy as np
import pytest
from numpy.typing import NDArray

PLAIN = [card for card in range(14) for _ in range(max(card, 1))]
LUCKY, UNLUCKY = 14, 15
SPECIAL = [0, *(c for c in range(1, 14) for _ in range(c - (c in (7, 13)))), LUCKY, UNLUCKY]
SUM, RISK, CARDS, ALWAYS = range(4)


def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all tests of a run: what takes seconds is computed once."""
    path = tmp_path_factory.getbasetemp() / "risk-cache"
    path.mkdir(exist_ok=True)
    return path


@numba.njit
def simulate(deck: NDArray[np.int64], specials: bool, rule: int, threshold: float, n: int, seed: int) -> NDArray[np.float64]:
    """Scores of n rounds; -1 stands for a bust."""
    np.random.seed(seed)  # noqa: NPY002 (what numba has)
    cards = deck.copy()
    scores = np.empty(n)
    for game in range(n):
        have = np.zeros(16, np.int64)
        drawn = 0
        while True:
            total, count = 0, 0
            for card in range(16):
                if have[card]:
                    total += 13 if card == 14 else 7 if card == 15 else card
                    count += 1
            if count == 7:
                scores[game] = total + 15
                break
            must = specials and have[0] == 1
            if not must:
                stop = False
                if rule == 0:
                    stop = total >= threshold
                elif rule == 2:
                    stop = count >= threshold
                elif rule == 1:
                    bad = 0
                    for i in range(drawn, len(cards)):
                        c = cards[i]
                        if c < 14 and (have[c] or (c == 7 and have[15])):
                            bad += 1
                    stop = bad >= threshold * (len(cards) - drawn)
                if stop:
                    scores[game] = total
                    break
            j = np.random.randint(drawn, len(cards))  # noqa: NPY002
            card = cards[j]
            cards[j] = cards[drawn]
            cards[drawn] = card
            drawn += 1
            if card == 15:
                have[:] = 0
            elif have[card] or (card == 7 and have[15]):
                scores[game] = -1.0
                break
            have[card] = 1
    return scores


def recursion(
    line: tuple[int, ...], deck: tuple[int, ...], discard: tuple[int, ...], payoff: dict[int, float], specials: bool
) -> float:
    """The optimal value of a round: lines and decks as tuples of cards, in plain Python."""

    def worth(cards: tuple[int, ...], flips: bool) -> int:
        if specials and 0 in cards and not flips:
            return 0
        return sum({LUCKY: 13, UNLUCKY: 7}.get(card, card) for card in cards) + 15 * flips

    @cache
    def value(line: tuple[int, ...], deck: tuple[int, ...], discard: tuple[int, ...]) -> float:
        if len(line) == 7:
            return payoff[worth(line, True)]
        stay = payoff[worth(line, False)]
        if not deck:
            deck, discard = discard, ()
        if not deck:
            return stay
        draw = 0.0
        for i, card in enumerate(deck):
            rest = deck[:i] + deck[i + 1 :]
            if card == UNLUCKY:
                draw += value((UNLUCKY,), rest, tuple(sorted(discard + line)))
            elif card in line or (card == 7 and UNLUCKY in line):
                draw += payoff[0]
            else:
                draw += value(tuple(sorted((*line, card))), rest, discard)
        draw /= len(deck)
        return draw if specials and 0 in line else max(stay, draw)

    return value(tuple(sorted(line)), tuple(sorted(deck)), tuple(sorted(discard)))
