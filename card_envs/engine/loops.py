"""The loops of every game, as plain functions over a game's rules: ``compiled.py`` compiles them, or they run as they are.

A loop works on the :class:`Arrays` of many matches, all of which are allocated by the caller, and on the rows that it is
given. Row ``r`` of every array belongs to match ``r``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from numba.extending import register_jitable
from numpy.typing import NDArray

from card_envs.engine.game import Game, Policy
from card_envs.engine.keys import DECK, NO_SALT, POLICIES, derive
from card_envs.engine.random import count_legal, nth_legal, stream

RESET = -1  # as an action: deal the row's match anew
REFRESH = -2  # as an action: only write observation, mask and seat to move again

WIN, SCORE, MARGIN = range(3)  # reward modes

SEED, ROW, MATCH, IDENTITY = range(4)  # the columns of `identity`, and how many there are
UNSEEDED, LONG_SEED = -1, -2  # in the column of the seed: there is none yet, or one that needs more than 63 bits
ROOT_LOW, ROOT_HIGH, STREAM, KEYS = range(4)  # the columns of `keys`, and how many there are
SEATS = 16  # more than any game has
NOBODY = -1  # where a seat is expected


class Arrays(NamedTuple):
    """The arrays that the loops read and write, described at :class:`card_envs.engine.matches.Matches`."""

    states: NDArray[Any]
    template: NDArray[Any]
    identity: NDArray[Any]
    decisions: NDArray[Any]
    keys: NDArray[Any]
    actions: NDArray[Any]
    mask: NDArray[Any]
    words: NDArray[Any]
    observation: NDArray[Any]
    to_move: NDArray[Any]
    rewards: NDArray[Any]
    terminated: NDArray[Any]
    truncated: NDArray[Any]
    final_observation: NDArray[Any]


@register_jitable
def begin_match(s, identity, decisions, keys, r):
    """Derive the keys of row ``r``'s match: that of its shuffles, in its state, and the stream of its compiled policies."""
    low, high, row, match = keys[r, ROOT_LOW], keys[r, ROOT_HIGH], identity[r, ROW], identity[r, MATCH]
    s.key = derive(low, high, DECK, row, match, 0, NO_SALT)
    keys[r, STREAM] = derive(low, high, POLICIES, row, match, 0, NO_SALT)
    decisions[r] = 0


@register_jitable
def decision_key(key, decision, seat):
    """The stream of one decision in a match whose compiled policies draw from ``key``: keyed by decision number and seat."""
    return stream(key, decision * SEATS + seat)


@register_jitable
def best(totals, players, scale):
    """The highest total, or the lowest where the scale of scores is negative."""
    top = totals[0]
    for seat in range(1, players):
        if (totals[seat] > top) == (scale > 0.0) and totals[seat] != top:
            top = totals[seat]
    return top


@register_jitable
def pay_win(s, scale, rewards):
    """Each of k winners among n players gets (n-k)/(k(n-1)), the others get -1/(n-1); nobody gets anything if all tie."""
    players = s.players
    top = best(s.totals, players, scale)
    winners = 0
    for seat in range(players):
        winners += s.totals[seat] == top
    if winners < players:
        for seat in range(players):
            if s.totals[seat] == top:
                rewards[seat] += (players - winners) / (winners * (players - 1.0))
            else:
                rewards[seat] -= 1.0 / (players - 1.0)


@register_jitable
def pay_score(s, margin, scale, rewards):
    """Every seat's score of the deal times the scale; as a margin, minus the mean of the other seats' scores."""
    players = s.players
    total = 0
    for seat in range(players):
        total += s.scores[seat]
    for seat in range(players):
        points = float(s.scores[seat])
        if margin:
            points -= (total - points) / (players - 1.0)
        rewards[seat] += points * scale


@dataclass(frozen=True)
class Loop:
    """A loop's plain function and the rule functions that it runs, of which its name in the cache holds a digest."""

    name: str
    function: Callable[..., Any]
    rules: tuple[Any, ...]


def step_loop(game: Game) -> Loop:
    """The loop that resets rows, plays actions and writes what is seen: compiled once, since the rules take long to compile."""
    init, play, action_mask, observe = game.init, game.step, game.action_mask, game.observe

    def step(m, rows, auto_reset, write_observations, reward, scale):
        for n in range(len(rows)):
            r = rows[n]
            s = m.states[r]
            action = m.actions[r]
            ended = False
            restart = action == RESET
            for seat in range(m.rewards.shape[1]):
                m.rewards[r, seat] = 0.0
            mover = s.to_move
            if action >= 0:
                finished = s.finished
                m.decisions[r] += 1
                play(s, action)
                if s.over:
                    ended = True
                    if reward == WIN:
                        pay_win(s, scale, m.rewards[r])
                if reward != WIN and s.finished != finished:
                    pay_score(s, reward == MARGIN, scale, m.rewards[r])
                if ended and auto_reset:
                    observe(s, mover, m.final_observation[r])
                    m.identity[r, MATCH] += 1
                    restart = True
                m.terminated[r] = ended and not s.truncated
                m.truncated[r] = ended and s.truncated != 0
            elif restart:
                m.terminated[r] = False
                m.truncated[r] = False
            if restart:
                m.states[r] = m.template[0]
                begin_match(s, m.identity, m.decisions, m.keys, r)
                init(s)
            m.to_move[r] = s.to_move
            for w in range(m.words.shape[1]):
                m.words[r, w] = 0
            if not s.over:
                mover = s.to_move
                action_mask(s, m.mask[r])
            if write_observations and mover >= 0:  # when the match is over, its last mover sees the end
                observe(s, mover, m.observation[r])
        return 0

    return Loop("step", step, (init, play, action_mask, observe, begin_match, pay_win, pay_score))


def observe_loop(game: Game) -> Loop:
    """Write what any seat of a row sees: ``seats[n]`` of ``rows[n]`` into ``observation[n]``."""
    observe = game.observe

    def write(m, rows, seats, observation):
        for n in range(len(rows)):
            observe(m.states[rows[n]], seats[n], observation[n])
        return 0

    return Loop("observe", write, (observe,))


def derive_loop() -> Loop:
    """Derive an output for each row: ``derived[n]`` of ``numbers[n]`` in the match of ``rows[n]``, with ``salts[rows[n]]``."""

    def write(m, rows, purpose, numbers, salts, derived):
        for n in range(len(rows)):
            r = rows[n]
            low, high, row, match = m.keys[r, ROOT_LOW], m.keys[r, ROOT_HIGH], m.identity[r, ROW], m.identity[r, MATCH]
            derived[n] = derive(low, high, purpose, row, match, numbers[n], salts[r])
        return 0

    return Loop("derive", write, (derive,))


def redeal_loop(game: Game) -> Loop:
    """Resample what ``seats[n]`` of ``rows[n]`` cannot know, with ``keys[n]``."""
    redeal = game.redeal

    def resample(m, rows, seats, keys):
        for n in range(len(rows)):
            redeal(m.states[rows[n]], seats[n], keys[n])
        return 0

    return Loop("redeal", resample, (redeal,))


def count_loop(game: Game) -> Loop:
    """Count what the game's metrics are made of: deals that have ended since the last call, and actions about to be played.

    ``finished[r]`` is the number of deals counted before; ``counts[r]`` is int64 [players, len(count_names)].
    """
    count_action, count_deal = game.count_action, game.count_deal

    def count(m, rows, finished, counts):
        for n in range(len(rows)):
            r = rows[n]
            s = m.states[r]
            if s.finished != finished[r]:
                finished[r] = s.finished
                count_deal(s, counts[r])
            if not s.over:
                count_action(s, m.actions[r], counts[r])
        return 0

    return Loop("count", count, (count_action, count_deal))


def choose_loop(game: Game, policy: Policy) -> Loop:
    """Write a built-in player's actions for the rows in which ``who[r] == index`` into ``actions[r]``."""
    choose = policy.choose

    def act(m, rows, who, index, parameters, actions):
        for n in range(len(rows)):
            r = rows[n]
            if who[r] == index:
                s = m.states[r]
                key = decision_key(m.keys[r, STREAM], m.decisions[r], s.to_move)
                actions[r] = choose(s, s.to_move, m.words[r], key, parameters)
        return 0

    return Loop(f"choose_{policy.name}", act, (choose, decision_key))


def sort_loop(game: Game) -> Loop:
    """Sort rows that have just been stepped by who acts next.

    ``seating[r, seat]`` is the number of the player in that seat; ``learner[r]`` is the seat that decides elsewhere, or
    NOBODY. What the step paid the learner is added to ``earned[r]``. Rows that wait for a player are packed in front of
    ``rows``, and ``who[r]`` names the player; with ``play_forced`` so are rows whose learner has only one legal action, which
    is written into ``actions`` (and ``who[r]`` is NOBODY). Rows whose match is over are packed into ``over``; rows that wait
    for their learner are left out. Returns how many rows wait for a player and how many are over.
    """

    def sort(m, rows, seating, learner, play_forced, earned, who, over):
        waiting = 0
        ended = 0
        for n in range(len(rows)):
            r = rows[n]
            seat = m.to_move[r]
            mine = learner[r]
            if mine >= 0:
                earned[r] += m.rewards[r, mine]
            if seat < 0:
                over[ended] = r
                ended += 1
                continue
            who[r] = seating[r, seat]
            if seat == mine:
                if not play_forced or count_legal(m.words[r]) != 1:
                    continue
                who[r] = NOBODY
                m.actions[r] = nth_legal(m.words[r], 0)
            rows[waiting] = r
            waiting += 1
        return waiting, ended

    return Loop("sort", sort, (count_legal, nth_legal))


def playout_loop(game: Game, policy: Policy) -> Loop:
    """Play every row ``steps`` decisions on, all seats by one built-in player, without observations.

    A match that ends is followed by the row's next one; ``wins[seat]`` sums what the matches pay. Returns how many ended.
    """
    init, play, action_mask, choose, reads_mask = game.init, game.step, game.action_mask, policy.choose, policy.reads_mask

    def playout(m, rows, steps, scale, parameters, wins):
        ended = 0
        for n in range(len(rows)):
            r = rows[n]
            s = m.states[r]
            for _ in range(steps):
                if reads_mask:
                    for w in range(m.words.shape[1]):
                        m.words[r, w] = 0
                    action_mask(s, m.mask[r])
                key = decision_key(m.keys[r, STREAM], m.decisions[r], s.to_move)
                action = choose(s, s.to_move, m.words[r], key, parameters)
                m.decisions[r] += 1
                play(s, action)
                if s.over:
                    ended += 1
                    pay_win(s, scale, wins)
                    m.identity[r, MATCH] += 1
                    m.states[r] = m.template[0]
                    begin_match(s, m.identity, m.decisions, m.keys, r)
                    init(s)
        return ended

    return Loop(f"playout_{policy.name}", playout, (init, play, action_mask, choose, begin_match, decision_key, pay_win))


def rollout_loop(game: Game, policy: Policy) -> Loop:
    """Play one action in every row, then on by one built-in player in all seats, until the match or the deal is over.

    ``values[r]`` gets what that pays each seat: the shares of the win for a whole match, the margins for a deal.
    """
    play, action_mask, choose, reads_mask = game.step, game.action_mask, policy.choose, policy.reads_mask

    def rollout(m, rows, whole_match, scale, parameters, values):
        for n in range(len(rows)):
            r = rows[n]
            s = m.states[r]
            finished = s.finished
            action = m.actions[r]
            while True:
                m.decisions[r] += 1
                play(s, action)
                if s.over or (not whole_match and s.finished != finished):
                    break
                if reads_mask:
                    for w in range(m.words.shape[1]):
                        m.words[r, w] = 0
                    action_mask(s, m.mask[r])
                key = decision_key(m.keys[r, STREAM], m.decisions[r], s.to_move)
                action = choose(s, s.to_move, m.words[r], key, parameters)
            if whole_match:
                pay_win(s, scale, values[r])
            else:
                pay_score(s, True, scale, values[r])
        return 0

    return Loop(f"rollout_{policy.name}", rollout, (play, action_mask, choose, decision_key, pay_win, pay_score))
