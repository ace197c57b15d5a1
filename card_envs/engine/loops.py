"""The loops over the rows of many matches, as plain functions around the rules of a game.

``compiled.py`` compiles them, or they run as they are. A loop takes the :class:`Arrays` of the matches and the rows to work on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from numpy.typing import NDArray

from card_envs.engine.bits import count_legal, list_legal, nth_legal
from card_envs.engine.game import Game, Policy
from card_envs.engine.jitable import register_jitable
from card_envs.engine.keys import DECK, NO_SALT, POLICIES, REDEALS, derive
from card_envs.engine.random import stream

RESET = -1  # in place of an action: deal the match of the row anew
REFRESH = -2  # in place of an action: only write the observation, the mask and the seat to move again

WIN, SCORE, MARGIN = range(3)  # reward modes

SEED, ROW, MATCH, IDENTITY = range(4)  # the columns of `identity` and their number
UNSEEDED, LONG_SEED = -1, -2  # in the column of the seed: there is none yet, or it needs more than 63 bits
ROOT_LOW, ROOT_HIGH, STREAM, KEYS = range(4)  # the columns of `keys` and their number
SEATS = 16  # more than any game has
NOBODY = -1  # where a seat is expected


class Arrays(NamedTuple):
    """The arrays that the loops read and write; :class:`card_envs.engine.matches.Matches` describes them."""

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
    """The match of row ``r`` gets its keys: that of its shuffles in its state, and that of its policies in ``keys``."""
    low, high, row, match = keys[r, ROOT_LOW], keys[r, ROOT_HIGH], identity[r, ROW], identity[r, MATCH]
    s.key = derive(low, high, DECK, row, match, 0, NO_SALT)
    keys[r, STREAM] = derive(low, high, POLICIES, row, match, 0, NO_SALT)
    decisions[r] = 0


@register_jitable
def decision_key(key, decision, seat):
    """The random stream of a compiled policy's decision, from the key of the policies, its number and the seat."""
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
    """The plain function of a loop, and the rules that it runs. The digest of both becomes part of its name in the cache.

    While the loop is compiled, another process can compile what ``beside`` names: rules that are linked to it, and loops that
    are about to be needed. The names are those of :mod:`card_envs.engine.warming`.
    """

    name: str
    function: Callable[..., Any]
    rules: tuple[Any, ...]
    beside: tuple[str, ...] = ()
    calls: tuple[Loop, ...] = ()  # other loops that it calls


def make_step_loop(game: Game) -> Loop:
    """Make the loop that deals, plays actions and writes observations: a single one, as the rules take long to compile."""
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
            mover = 0 + s.to_move  # an int64 as every other seat, so that one compiled `observe` serves all loops
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
                mover = 0 + s.to_move
                action_mask(s, m.mask[r])
            if write_observations and mover >= 0:  # when the match is over, its last mover sees the end
                observe(s, mover, m.observation[r])
        return 0

    rules = init, play, action_mask, observe, begin_match, pay_win, pay_score
    return Loop("step", step, rules, beside=("rule.observe", "rule.action_mask", "legal", "choose_random"))


@register_jitable
def allows(m, r):
    """Whether the action of row ``r``, which may be any integer, is legal; the padding of the mask allows nothing."""
    action = m.actions[r]
    return 0 <= action < m.mask.shape[1] and m.mask[r, action] != 0


def make_legal_loop(game: Game) -> Loop:
    """Make the loop that writes whether the action of ``rows[n]``, which may be any integer, is legal into ``legal[n]``.

    It returns how many are not.
    """

    def check(m, rows, legal):
        illegal = 0
        for n in range(len(rows)):
            legal[n] = allows(m, rows[n])
            illegal += not legal[n]
        return illegal

    return Loop("legal", check, (allows,))


def make_list_loop(game: Game) -> Loop:
    """Make the loop that writes the legal actions of ``rows[n]`` into ``legal[n]``, in the order of their indices, then -1.

    What does not fit into ``legal[n]`` is left out. The loop returns the largest number of legal actions in one of the rows.
    """

    def write(m, rows, legal):
        most = 0
        width = legal.shape[1]
        for n in range(len(rows)):
            found = list_legal(m.words[rows[n]], legal[n])
            for i in range(found, width):
                legal[n, i] = -1
            most = max(most, found)
        return most

    return Loop("list", write, (list_legal,))


def make_observe_loop(game: Game) -> Loop:
    """Make the loop that writes what ``seats[n]`` knows in ``rows[n]`` into ``observation[n]``."""
    observe = game.observe

    def write(m, rows, seats, observation):
        for n in range(len(rows)):
            observe(m.states[rows[n]], seats[n], observation[n])
        return 0

    return Loop("observe", write, (observe,))


def make_derive_loop(game: Game) -> Loop:
    """Make the loop that derives ``derived[n]`` for ``numbers[n]`` in the match of ``rows[n]``, with ``salts[rows[n]]``."""

    def write(m, rows, purpose, numbers, salts, derived):
        for n in range(len(rows)):
            r = rows[n]
            low, high, row, match = m.keys[r, ROOT_LOW], m.keys[r, ROOT_HIGH], m.identity[r, ROW], m.identity[r, MATCH]
            derived[n] = derive(low, high, purpose, row, match, numbers[n], salts[r])
        return 0

    return Loop("derive", write, (derive,))


def make_redeal_loop(game: Game) -> Loop:
    """Make the loop that resamples what ``seats[n]`` cannot know in ``rows[n]``, from n and a root key."""
    redeal = game.redeal

    def resample(m, rows, seats, low, high):
        for n in range(len(rows)):
            redeal(m.states[rows[n]], seats[n], derive(low, high, REDEALS, n, 0, 0, NO_SALT))
        return 0

    return Loop("redeal", resample, (redeal, derive))


def make_count_loop(game: Game) -> Loop:
    """Make the loop that counts for the metrics of the game: actions about to be played, and deals ended since the last call.

    ``finished[r]`` is the number of deals that were counted before, and ``counts[r]`` is int64 [players, len(count_names)].
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


def make_choose_loop(game: Game, policy: Policy) -> Loop:
    """Make the loop that writes the actions of a built-in policy into ``actions[r]`` where ``who[r] == index``.

    Matches that are over are left alone. The loop returns how many there were.
    """
    choose = policy.choose

    def act(m, rows, who, index, parameters, actions):
        over = 0
        for n in range(len(rows)):
            r = rows[n]
            if who[r] == index:
                s = m.states[r]
                if m.to_move[r] < 0:
                    over += 1
                else:
                    key = decision_key(m.keys[r, STREAM], m.decisions[r], s.to_move)
                    actions[r] = choose(s, s.to_move, m.words[r], key, parameters)
        return over

    return Loop(f"choose_{policy.name}", act, (choose, decision_key))


def make_sort_loop(game: Game) -> Loop:
    """Make the loop that sorts rows after a step by who acts next.

    ``seating[r, seat]`` is the number of the player in a seat. ``learner[r]`` is the seat whose decisions are made elsewhere,
    or NOBODY. What the step paid the learner is added to ``earned[r]``.

    The loop moves rows that wait for a player to the front of ``rows`` and writes the number of the player into ``who[r]``.
    With ``play_forced`` these include rows whose learner has only one legal action; it is written into ``actions``, and
    ``who[r]`` is NOBODY. Rows whose match is over go into ``over``, and rows that wait for their learner are left out. The loop
    returns how many rows wait for a player, and how many are over.
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


def make_playout_loop(game: Game, policy: Policy) -> Loop:
    """Make the loop that plays ``steps`` decisions in every row with one built-in policy in all seats, without observations.

    When a match ends, the next one of its row is dealt. ``wins[seat]`` gets the sum of what the matches pay. The loop returns
    how many matches have ended.
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
