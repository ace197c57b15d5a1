"""The loops of every game, as plain functions over a game's rules: ``compiled.py`` compiles them, or they run as they are.

All arrays are allocated by the caller; row ``r`` of each belongs to match ``r``. ``identity[r]`` is (seed, row, match,
decisions made).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numba.extending import register_jitable

from card_envs.engine.game import Game, Policy
from card_envs.engine.random import DECK, PLAYERS, count_legal, match_key, nth_legal, stream

RESET = -1  # as an action: deal the row's match anew
LOOK = -2  # as an action: only write what is to be seen

WIN, SCORE, MARGIN = range(3)  # reward modes

# the columns of `settings`
AUTO_RESET, REWARD, SHOW, SETTINGS = range(4)
# the columns of `identity`
SEED, ROW, MATCH, DECISION, IDENTITY = range(5)
SEATS = 16  # more than any game has


@register_jitable
def begin_match(s, identity, keys, r):
    """Set the keys of row ``r``'s match: the deck's in its state, the players' in ``keys``."""
    key = match_key(identity[r, SEED], identity[r, ROW], identity[r, MATCH])
    s.key = stream(key, DECK)
    keys[r] = stream(key, PLAYERS)
    identity[r, DECISION] = 0


@register_jitable
def decision_key(identity, keys, r, seat):
    """The stream of one decision: keyed by (match, seat, decision number), apart from the deck's."""
    return stream(keys[r], identity[r, DECISION] * SEATS + seat)


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
    """k winners of n share: (n-k)/(k(n-1)) each, the others -1/(n-1); nothing if all tie."""
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
    """The deal's score times the scale; as a margin, less the mean of the others'."""
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
    """A loop's plain function, and the rule functions that it runs (for the digest of its cache)."""

    name: str
    function: Callable[..., Any]
    rules: tuple[Any, ...]


def step_loop(game: Game) -> Loop:
    """The one loop that holds the rules' ``init`` and ``step``: resets, steps and shows rows."""
    init, play, action_mask, observe = game.init, game.step, game.action_mask, game.observe

    def step(
        states, template, identity, keys, rows, actions, settings, scale,
        observation, mask, words, to_move, rewards, terminated, truncated, final_observation,
    ):  # fmt: skip
        auto_reset = settings[AUTO_RESET]
        mode = settings[REWARD]
        show = settings[SHOW]
        for n in range(len(rows)):
            r = rows[n]
            s = states[r]
            action = actions[r]
            ended = False
            restart = action == RESET
            for seat in range(rewards.shape[1]):
                rewards[r, seat] = 0.0
            mover = s.to_move
            if action >= 0:
                finished = s.finished
                identity[r, DECISION] += 1
                play(s, action)
                if s.over:
                    ended = True
                    if mode == WIN:
                        pay_win(s, scale, rewards[r])
                if mode != WIN and s.finished != finished:
                    pay_score(s, mode == MARGIN, scale, rewards[r])
                if ended and auto_reset:
                    observe(s, mover, final_observation[r])
                    identity[r, MATCH] += 1
                    restart = True
                terminated[r] = ended and not s.truncated
                truncated[r] = ended and s.truncated != 0
            elif restart:
                terminated[r] = False
                truncated[r] = False
            if restart:
                states[r] = template[0]
                begin_match(s, identity, keys, r)
                init(s)
            to_move[r] = s.to_move
            for w in range(words.shape[1]):
                words[r, w] = 0
            if not s.over:
                mover = s.to_move
                action_mask(s, mask[r])
            if show and mover >= 0:  # when over: what the last mover sees
                observe(s, mover, observation[r])
        return 0

    return Loop("step", step, (init, play, action_mask, observe, begin_match, pay_win, pay_score))


def observe_loop(game: Game) -> Loop:
    """What any seat sees."""
    observe = game.observe

    def look(states, rows, seats, observation):
        for n in range(len(rows)):
            observe(states[rows[n]], seats[n], observation[n])
        return 0

    return Loop("observe", look, (observe,))


def redeal_loop(game: Game) -> Loop:
    """Resample what a seat cannot know."""
    redeal = game.redeal

    def resample(states, rows, seats, keys):
        for n in range(len(rows)):
            redeal(states[rows[n]], seats[n], keys[n])
        return 0

    return Loop("redeal", resample, (redeal,))


def count_loop(game: Game) -> Loop:
    """Count what the game's metrics are made of: the deals that have ended since the last call, and the actions to come.

    ``finished[r]`` are the deals counted before; ``counts[r]`` is int64 [players, len(count_names)].
    """
    count_action, count_deal = game.count_action, game.count_deal

    def count(states, rows, actions, finished, counts):
        for n in range(len(rows)):
            r = rows[n]
            s = states[r]
            if s.finished != finished[r]:
                finished[r] = s.finished
                count_deal(s, counts[r])
            if not s.over:
                count_action(s, actions[r], counts[r])
        return 0

    return Loop("count", count, (count_action, count_deal))


def choose_loop(game: Game, policy: Policy) -> Loop:
    """A built-in player's actions for the rows of which ``who[r] == index``."""

    choose = policy.choose

    def act(states, identity, keys, rows, who, index, words, parameters, actions):
        for n in range(len(rows)):
            r = rows[n]
            if who[r] == index:
                s = states[r]
                actions[r] = choose(s, s.to_move, words[r], decision_key(identity, keys, r, s.to_move), parameters)
        return 0

    return Loop(f"choose_{policy.name}", act, (choose, decision_key))


def sort_loop(game: Game) -> Loop:
    """After a step with a learner among other players: who is to act in each row?

    Adds what the step paid the learner to ``earned``, and packs the rows that wait for somebody else (``who`` names the
    player; for a choice of one, which the learner need not be asked, ``actions`` has it) in front of ``rows``, those whose
    match is over behind them. Returns how many there are of each.
    """

    def sort(rows, to_move, learner, seating, words, rewards, earned, play_forced, who, actions, over):
        going = 0
        ended = 0
        for n in range(len(rows)):
            r = rows[n]
            seat = to_move[r]
            earned[r] += rewards[r, learner[r]]
            if seat < 0:
                over[ended] = r
                ended += 1
                continue
            who[r] = seating[r, seat]
            if seat == learner[r]:
                if not play_forced or count_legal(words[r]) != 1:
                    continue
                actions[r] = nth_legal(words[r], 0)
            rows[going] = r
            going += 1
        return going, ended

    return Loop("sort", sort, (count_legal, nth_legal))


def playout_loop(game: Game, policy: Policy) -> Loop:
    """Play every row ``steps`` decisions on, all seats by one built-in player, without observations.

    A match that ends is followed by the row's next one; ``wins[seat]`` sums what it pays. Returns how many ended.
    """
    init, play, action_mask, choose, reads_mask = game.init, game.step, game.action_mask, policy.choose, policy.reads_mask

    def playout(states, template, identity, keys, rows, steps, scale, mask, words, parameters, wins):
        ended = 0
        for n in range(len(rows)):
            r = rows[n]
            s = states[r]
            for _ in range(steps):
                if reads_mask:
                    for w in range(words.shape[1]):
                        words[r, w] = 0
                    action_mask(s, mask[r])
                action = choose(s, s.to_move, words[r], decision_key(identity, keys, r, s.to_move), parameters)
                identity[r, DECISION] += 1
                play(s, action)
                if s.over:
                    ended += 1
                    pay_win(s, scale, wins)
                    identity[r, MATCH] += 1
                    states[r] = template[0]
                    begin_match(s, identity, keys, r)
                    init(s)
        return ended

    return Loop(f"playout_{policy.name}", playout, (init, play, action_mask, choose, begin_match, decision_key, pay_win))


def rollout_loop(game: Game, policy: Policy) -> Loop:
    """Play one action in every row, then on by one built-in player in all seats, until the match or the deal is over.

    ``values[r]`` gets what that pays each seat: of a whole match the shares of the win, of a deal the margins.
    """
    play, action_mask, choose, reads_mask = game.step, game.action_mask, policy.choose, policy.reads_mask

    def rollout(states, identity, keys, rows, actions, whole_match, scale, mask, words, parameters, values):
        for n in range(len(rows)):
            r = rows[n]
            s = states[r]
            finished = s.finished
            action = actions[r]
            while True:
                identity[r, DECISION] += 1
                play(s, action)
                if s.over or (not whole_match and s.finished != finished):
                    break
                if reads_mask:
                    for w in range(words.shape[1]):
                        words[r, w] = 0
                    action_mask(s, mask[r])
                action = choose(s, s.to_move, words[r], decision_key(identity, keys, r, s.to_move), parameters)
            if whole_match:
                pay_win(s, scale, values[r])
            else:
                pay_score(s, True, scale, values[r])
        return 0

    return Loop(f"rollout_{policy.name}", rollout, (play, action_mask, choose, decision_key, pay_win, pay_score))
