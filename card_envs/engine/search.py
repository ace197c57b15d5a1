"""The loop of a search: candidate actions are played in the same worlds, and the better half of them goes on to more worlds.

A *world* is one way in which everything may lie that the mover cannot know. The budget is spent by sequential halving (Karnin,
Koren and Somekh 2013, as at the root of Gumbel MuZero). The *usual* action, which the playing policy itself would choose, stays
to the end, since all others are measured against it. Worlds are weighted by how likely the others' observed actions are in
them, so means are those of self-normalised importance sampling.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from card_envs.engine.game import Game, Policy
from card_envs.engine.jitable import register_jitable
from card_envs.engine.keys import NO_SALT, REDEALS, derive
from card_envs.engine.loops import NOBODY, ROOT_HIGH, ROOT_LOW, Loop
from card_envs.engine.random import stream
from card_envs.engine.rollouts import make_play_on, pay_mover

BEGIN, SAMPLE, HALVE, DECIDE, WHOLE = range(5)  # what a call of the loop does
MARGIN, MATCH_VALUE, WIN = range(3)  # what the end of a play-out is worth; with WIN whole matches are played
FEWEST = 2  # worlds of a round: with one there is no standard error
USUAL_ACTION = 1 << 40  # the number of the stream from which the usual action is drawn; worlds do not reach it

# The columns of ``sums``, where w is the weight of a world, v what the action is worth in it, and d its advantage over the
# usual action: the numbers of worlds, the sums of w and w², and the sums of wx, w²x and w²x² for x = v and x = d.
COUNT, WEIGHT, SQUARES, VALUE, ADVANTAGE, SUMS = 0, 1, 2, 3, 6, 9


class Searches(NamedTuple):
    """Decisions that are searched. Entry n of every array belongs to decision n.

    Attributes:
        rows: The rows of the matches, int64 [n].
        keys: The random streams from which everything is drawn, uint64 [n].
        candidates: The legal actions, then -1, int64 [n, C].
        left: 1 for the candidates that are still tried, int8 [n, C].
        usual: The place of the usual action among the candidates, int64 [n].
        worlds: How many worlds there have been, int64 [n].
        sums: What has been seen of each candidate, float64 [n, C, SUMS].
        chosen: The place of the chosen action among the candidates, int64 [n].
    """

    rows: NDArray[np.int64]
    keys: NDArray[np.uint64]
    candidates: NDArray[np.int64]
    left: NDArray[np.int8]
    usual: NDArray[np.int64]
    worlds: NDArray[np.int64]
    sums: NDArray[np.float64]
    chosen: NDArray[np.int64]

    def select(self, part: slice) -> Searches:
        """Return some of the decisions. The arrays share their memory with these."""
        rows, keys, candidates, left, usual, worlds, sums, chosen = self
        return Searches(
            rows[part], keys[part], candidates[part], left[part], usual[part], worlds[part], sums[part], chosen[part]
        )


class Settings(NamedTuple):
    """How a search is made: one setting for all decisions.

    Attributes:
        width: The most candidates of a network; those with the highest scores. Built-in policies have no scores.
        worth: What the end of a play-out is worth: ``MARGIN``, ``MATCH_VALUE`` or ``WIN``.
        weighted: Whether worlds are weighted by the likelihood of the others' actions.
        caution: By how many standard errors another action must be better than the usual one.
        scale: The factor of ``reward="score"``, negative if the lowest total wins.
    """

    width: int
    worth: int
    weighted: bool
    caution: float
    scale: float


def prepare_searches(keys: NDArray[np.uint64], candidates: NDArray[np.int64]) -> Searches:
    """Return searches among ``candidates`` [n, C] in rows 0 … n-1 that have not begun, drawn from ``keys`` [n]."""
    n, width = candidates.shape
    return Searches(
        rows=np.arange(n),
        keys=keys,
        candidates=candidates,
        left=(candidates >= 0).astype(np.int8),
        usual=np.zeros(n, np.int64),
        worlds=np.zeros(n, np.int64),
        sums=np.zeros((n, width, SUMS)),
        chosen=np.zeros(n, np.int64),
    )


@register_jitable
def count_rounds(candidates):
    """The binary logarithm of the number of candidates, rounded up."""
    rounds = 0
    while 1 << rounds < candidates:
        rounds += 1
    return rounds


@register_jitable
def estimate(sums, first):
    """``(mean, standard error)`` of the quantity whose sums begin at column ``first``, ``VALUE`` or ``ADVANTAGE``."""
    weight, squares = sums[WEIGHT], sums[SQUARES]
    if squares <= 0.0:
        return 0.0, math.inf
    mean = sums[first] / weight
    effective = weight * weight / squares
    if effective <= 1.0:
        return mean, math.inf
    spread = sums[first + 2] - 2.0 * mean * sums[first + 1] + mean * mean * squares
    return mean, math.sqrt(max(0.0, spread) * effective / (effective - 1.0)) / weight


@register_jitable
def count_left(left):
    """How many candidates are still tried."""
    found = 0
    for c in range(len(left)):
        found += left[c]
    return found


@register_jitable
def halve(left, usual, sums):
    """Keep the better half of the candidates beside the usual one. Of equals, the first stay."""
    others = count_left(left) - 1
    for _ in range(others // 2):
        worst = NOBODY
        for c in range(len(left)):
            if left[c] != 0 and c != usual and (worst < 0 or sums[c, VALUE] <= sums[worst, VALUE]):
                worst = c
        left[worst] = 0


@register_jitable
def decide(left, usual, sums, caution):
    """The place of the best candidate, or of the usual one if the best is not ahead by more than ``caution`` errors."""
    best = usual
    for c in range(len(left)):
        if left[c] != 0 and sums[c, ADVANTAGE] > sums[best, ADVANTAGE]:
            best = c
    if best != usual:
        mean, error = estimate(sums[best], ADVANTAGE)
        if not mean > caution * error:
            best = usual
    return best


@register_jitable
def add_value(sums, weight, value, usual_value):
    """Add to the sums of a candidate what it is worth in a world, and what the usual action is worth there."""
    squared = weight * weight
    advantage = value - usual_value
    sums[COUNT] += 1.0
    sums[WEIGHT] += weight
    sums[SQUARES] += squared
    sums[VALUE] += weight * value
    sums[VALUE + 1] += squared * value
    sums[VALUE + 2] += squared * value * value
    sums[ADVANTAGE] += weight * advantage
    sums[ADVANTAGE + 1] += squared * advantage
    sums[ADVANTAGE + 2] += squared * advantage * advantage


@register_jitable
def find_place(candidates, action):
    """The place of an action among the candidates."""
    place = 0
    for c in range(len(candidates)):
        if candidates[c] == action:
            place = c
    return place


@register_jitable
def _keep_highest(left, usual, parameters, width):
    """Try only the ``width`` candidates to which a network has just given the highest scores, and the usual one among them."""
    legal = count_left(left)
    for c in range(legal):
        before = 1  # how many come before candidate c, the usual one first
        for d in range(legal):
            if d not in (c, usual):
                one, other = parameters.scores[d], parameters.scores[c]
                before += one > other or (one == other and d < c)
        left[c] = c == usual or before < width


@register_jitable
def _keep_all(left, usual, parameters, width):
    """The candidates of a built-in policy, which has no scores, are all tried."""


@register_jitable
def _weigh_equally(s, seat):
    """The likelihood where a game does not say how likely the others' actions were."""
    return 1.0


@register_jitable
def _know_no_value(s, seat):
    """What a match is worth between two deals where a game does not say it; nobody asks."""
    return 0.0


def make_search_loop(game: Game, policy: Policy) -> Loop:
    """Make the loop that searches decisions: see :class:`Searches` and :class:`Settings`.

    ``task`` says what a call does: ``BEGIN`` finds the usual action and the candidates; ``SAMPLE`` plays the candidates in
    ``amount`` more worlds; ``HALVE`` drops the worse half of them; ``DECIDE`` writes ``chosen``; ``WHOLE`` does all that with
    about ``amount`` play-outs. The matches ``m`` are only read; ``scratch`` holds another match, which is overwritten.
    """
    play_on, choose, redeal = make_play_on(game, policy), policy.choose, game.redeal
    keep = _keep_highest if policy.form else _keep_all
    likelihood, match_value = game.likelihood or _weigh_equally, game.match_value or _know_no_value

    @register_jitable
    def begin(m, r, searches, n, settings, parameters):
        s = m.states[r]
        action = choose(s, s.to_move, m.words[r], stream(searches.keys[n], USUAL_ACTION), parameters)
        usual = find_place(searches.candidates[n], action)
        searches.usual[n] = usual
        if count_left(searches.left[n]) > 1:  # networks do not score the only action
            keep(searches.left[n], usual, parameters, settings.width)

    @register_jitable
    def appraise_end(s, mover, settings, paid):
        if settings.worth == MATCH_VALUE and not s.over:
            return match_value(s, mover)
        return pay_mover(s, mover, settings.worth != MARGIN, settings.scale, paid)

    @register_jitable
    def play_out(m, r, scratch, searches, n, c, key, settings, parameters, orders):
        scratch.states[0] = scratch.template[0]
        s, mover, whole_match = scratch.states[0], m.states[r].to_move, settings.worth == WIN
        words, mask = scratch.words[0], scratch.mask[0]
        play_on(s, searches.candidates[n, c], m.decisions[r], key, words, mask, whole_match, parameters, NOBODY, orders)
        return appraise_end(s, mover, settings, scratch.rewards[0])

    @register_jitable
    def sample(m, r, scratch, searches, n, worlds, settings, parameters, orders):
        mover = 0 + m.states[r].to_move
        left, usual, sums = searches.left[n], searches.usual[n], searches.sums[n]
        for k in range(searches.worlds[n], searches.worlds[n] + worlds):
            scratch.template[0] = m.states[r]
            start = scratch.template[0]
            redeal(start, mover, stream(searches.keys[n], 2 * k))
            weight = likelihood(start, mover) if settings.weighted else 1.0
            key = stream(searches.keys[n], 2 * k + 1)
            usual_value = play_out(m, r, scratch, searches, n, usual, key, settings, parameters, orders)
            add_value(sums[usual], weight, usual_value, usual_value)
            for c in range(len(left)):
                if left[c] != 0 and c != usual:
                    value = play_out(m, r, scratch, searches, n, c, key, settings, parameters, orders)
                    add_value(sums[c], weight, value, usual_value)
        searches.worlds[n] += worlds

    def search(m, scratch, searches, task, amount, settings, parameters, orders):
        for n in range(len(searches.rows)):
            r = searches.rows[n]
            left, usual, sums = searches.left[n], searches.usual, searches.sums[n]
            if task in (BEGIN, WHOLE):
                begin(m, r, searches, n, settings, parameters)
            if task == SAMPLE:
                sample(m, r, scratch, searches, n, amount, settings, parameters, orders)
            if task == HALVE:
                halve(left, usual[n], sums)
            if task == WHOLE:
                rounds = count_rounds(count_left(left))
                for number in range(rounds):
                    if number > 0:
                        halve(left, usual[n], sums)
                    worlds = max(FEWEST, amount // (rounds * count_left(left)))
                    sample(m, r, scratch, searches, n, worlds, settings, parameters, orders)
            if task in (DECIDE, WHOLE):
                searches.chosen[n] = decide(left, usual[n], sums, settings.caution)
        return 0

    rules = begin, sample, play_out, appraise_end, count_left, count_rounds, halve, decide, estimate
    return Loop(f"search_{policy.name}", search, rules)


def make_conceal_loop(game: Game) -> Loop:
    """Make the loop that resamples what the seat to move cannot know in every row, from the root key of the row."""
    redeal = game.redeal

    def conceal(m):
        for r in range(len(m.states)):
            s = m.states[r]
            redeal(s, 0 + s.to_move, derive(m.keys[r, ROOT_LOW], m.keys[r, ROOT_HIGH], REDEALS, 0, 0, 0, NO_SALT))
        return 0

    return Loop("conceal", conceal, (redeal, derive))
