"""The loops that play on from a decision by a built-in policy: rollouts, and forks into several actions on the same decks.

Like those of ``loops.py`` they are plain functions around the rules of a game.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from card_envs.engine.game import Game, Policy, Rule
from card_envs.engine.jitable import register_jitable
from card_envs.engine.keys import FORK_DECK, FORK_POLICIES, derive, derive_roots
from card_envs.engine.loops import MATCH, NOBODY, ROW, STREAM, Arrays, Loop, decision_key, pay_score, pay_win
from card_envs.engine.pairs import PAIR, take_no_seat, take_seat
from card_envs.engine.random import REDEAL, mix, shuffle, stream


class Forks(NamedTuple):
    """Decisions at which matches are forked, and what is drawn there. Entry n of every array belongs to decision n.

    Attributes:
        rows: The rows of the matches, int64 [n].
        candidates: The actions to be tried, int64 [n, C]; a negative one stands for none.
        roots: The root keys from which the decks are drawn, uint64 [n, 2].
        numbers: What tells the draws from one root key apart, int64 [n, 3]: the row and the match of an identity, and the
            number of the decision.
        streams: The key from which the policies draw on the true deck, uint64 [n].
        values: What the candidates are worth, float64 [n, C].
    """

    rows: NDArray[np.int64]
    candidates: NDArray[np.int64]
    roots: NDArray[np.uint64]
    numbers: NDArray[np.int64]
    streams: NDArray[np.uint64]
    values: NDArray[np.float64]

    def select(self, part: slice) -> Forks:
        """Return some of the decisions. The arrays share their memory with these."""
        rows, candidates, roots, numbers, streams, values = self
        return Forks(rows[part], candidates[part], roots[part], numbers[part], streams[part], values[part])


def prepare_forks(
    m: Arrays, rows: NDArray[np.int64], candidates: NDArray[np.int64], seeds: NDArray[np.int64] | None = None
) -> Forks:
    """Return the forks of these rows into ``candidates`` [n, C], drawn from the identities or else from ``seeds`` [n]."""
    if seeds is None:
        numbers = np.column_stack([m.identity[rows, ROW], m.identity[rows, MATCH], m.decisions[rows]])
        roots, streams = m.keys[rows, :STREAM], m.keys[rows, STREAM]
    else:
        numbers = np.zeros((len(rows), 3), np.int64)
        roots, streams = derive_roots(seeds.view(np.uint64).tolist()), start_streams(seeds)
    values = np.empty(candidates.shape)
    return Forks(rows, candidates, np.ascontiguousarray(roots), np.ascontiguousarray(numbers), streams, values)


def start_streams(seeds: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the keys from which the compiled policies of rows draw that were given seeds, uint64 [n]."""
    with np.errstate(over="ignore"):
        return stream(mix(seeds.astype(np.uint64)), 0)  # type: ignore[no-any-return]


@register_jitable
def _lay_given_order(s, r, orders):
    """Give the next deck its order if there is one for row ``r`` after the deals that are finished now."""
    for i in range(len(orders.rows)):
        if orders.rows[i] == r and orders.finished[i] == s.finished:
            s.ordered = orders.sizes[i]
            for place in range(orders.sizes[i]):
                s.order[place] = orders.cards[i, place]


@register_jitable
def _lay_no_order(s, r, orders):
    """In a game with one deck for all deals no later deck has an order."""


@register_jitable
def shuffle_stock(s, key):
    """Shuffle what is still to be drawn. Later shuffles get a new key as well, and the next deck loses a given order."""
    s.key = key
    s.ordered = 0
    shuffle(s.deck, s.drawn, s.deck_size, key, REDEAL)


def make_play_on(game: Game, policy: Policy) -> Callable[..., Any]:
    """Make the function that plays an action and goes on with one built-in policy until the match or the deal is over.

    It takes the state, the action, the number of the decision, and the key from which the policy draws; a mask and its words as
    scratch memory; whether to play the whole match; the parameters of the policy; and the row whose given orders of later decks
    are laid down, or NOBODY. It returns the number of decisions made in the match.
    """
    play, action_mask, choose, reads_mask = game.step, game.action_mask, policy.choose, policy.reads_mask
    lay_order = _lay_given_order if game.shuffles_every_deal else _lay_no_order

    @register_jitable
    def play_on(s, action, decision, key, words, mask, whole_match, parameters, given, orders):
        finished = s.finished
        while True:
            decision += 1
            play(s, action)
            if s.over:
                return decision
            if s.finished != finished:
                if not whole_match:
                    return decision
                finished = s.finished
                lay_order(s, given, orders)
            if reads_mask:
                for w in range(len(words)):
                    words[w] = 0
                action_mask(s, mask)
            action = choose(s, s.to_move, words, decision_key(key, decision, s.to_move), parameters)

    return play_on


@register_jitable
def pay_end(s, whole_match, scale, values):
    """Add what each seat is paid: the shares of the win for a whole match, the margins for a deal."""
    if whole_match:
        pay_win(s, scale, values)
    else:
        pay_score(s, True, scale, values)


def make_rollout_loop(game: Game, policy: Policy) -> Loop:
    """Make the loop that plays one action in every row and goes on with one built-in policy until the match or deal is over.

    ``values[r]`` gets what each seat is paid.
    """
    play_on = make_play_on(game, policy)

    def rollout(m, rows, whole_match, scale, parameters, orders, values):
        for n in range(len(rows)):
            r = rows[n]
            s = m.states[r]
            key = m.keys[r, STREAM]
            m.decisions[r] = play_on(
                s, m.actions[r], m.decisions[r], key, m.words[r], m.mask[r], whole_match, parameters, r, orders
            )
            pay_end(s, whole_match, scale, values[r])
        return 0

    return Loop(f"rollout_{policy.name}", rollout, (play_on, pay_end))


@register_jitable
def pay_mover(s, mover, whole_match, scale, paid):
    """What ``mover`` is paid: their share of the win for a whole match, their margin for a deal. ``paid`` is scratch memory."""
    for seat in range(len(paid)):
        paid[seat] = 0.0
    pay_end(s, whole_match, scale, paid)
    return paid[mover]


def make_fork_loop(game: Game, policy: Policy) -> Loop:
    """Make the loop that plays several actions at each decision, and goes on with one built-in policy, all on the same decks.

    The mean over the decks of what the seat to move is paid is written into the ``values`` of the :class:`Forks`, and NaN where
    there is no candidate. With ``decks`` 0 the true deck is played once. The matches ``m`` are only read; ``scratch`` holds
    another match, which is overwritten.
    """
    return _make_fork_loop(game, policy, "fork", pay_mover)


def make_match_fork_loop(game: Game, policy: Policy) -> Loop:
    """Make the same loop for a game with a ``match_value``, by which it values what the match pays at the end of a deal."""
    match_value = game.match_value
    assert match_value is not None

    @register_jitable
    def value_match(s, mover, whole_match, scale, paid):
        return pay_mover(s, mover, True, scale, paid) if s.over else match_value(s, mover)

    return _make_fork_loop(game, policy, "match_fork", value_match)


def _make_fork_loop(game: Game, policy: Policy, name: str, value_end: Rule) -> Loop:
    play_on = make_play_on(game, policy)
    mark_mover = take_seat if policy.form == PAIR else take_no_seat

    def fork(m, scratch, forks, decks, whole_match, scale, parameters, orders):
        start, s, paid = scratch.template[0], scratch.states[0], scratch.rewards[0]
        words, mask = scratch.words[0], scratch.mask[0]
        passes = max(decks, 1)
        width = forks.candidates.shape[1]
        for n in range(len(forks.rows)):
            r = forks.rows[n]
            mover = m.states[r].to_move
            mark_mover(parameters, mover)
            given = r
            key = forks.streams[n]
            low, high = forks.roots[n, 0], forks.roots[n, 1]
            row, match, decision = forks.numbers[n, 0], forks.numbers[n, 1], forks.numbers[n, 2]
            for c in range(width):
                forks.values[n, c] = 0.0 if forks.candidates[n, c] >= 0 else np.nan
            for k in range(passes):
                scratch.template[0] = m.states[r]
                if decks > 0:
                    given = NOBODY
                    shuffle_stock(start, derive(low, high, FORK_DECK, row, match, decision, np.uint64(k)))
                    key = derive(low, high, FORK_POLICIES, row, match, decision, np.uint64(k))
                for c in range(width):
                    action = forks.candidates[n, c]
                    if action >= 0:
                        scratch.states[0] = scratch.template[0]
                        play_on(s, action, m.decisions[r], key, words, mask, whole_match, parameters, given, orders)
                        forks.values[n, c] += value_end(s, mover, whole_match, scale, paid)
            for c in range(width):
                forks.values[n, c] /= passes
        return 0

    return Loop(f"{name}_{policy.name}", fork, (play_on, mark_mover, value_end, shuffle_stock, derive))
