"""How a match goes from deal to deal, which is the same in every game."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from card_envs.engine.jitable import register_jitable
from card_envs.engine.state import NOBODY

Rule = Callable[..., Any]

GOES_ON, DECIDED, CUT_OFF = range(3)  # what `judge_match` of a game returns after a deal


def compose_rules(begin_deal: Rule, step: Rule, judge_match: Rule, over: int) -> tuple[Rule, Rule]:
    """Return the engine's ``init(state)`` and ``step(state, action)`` for the rules of a game.

    A rule that ends a deal sets ``scores`` and ``deal_over``. Everything else happens here: the scores are added to the totals,
    and either the match is over or the next player deals.

    Args:
        begin_deal: ``begin_deal(state)`` deals and plays up to the first decision, or to the end of a deal without decisions.
        step: ``step(state, action)`` plays a legal action up to the next decision, or to the end of the deal.
        judge_match: ``judge_match(state)`` says after each deal whether the match ``GOES_ON``, is ``DECIDED``, or has reached
            a technical cap and is ``CUT_OFF``. It may rely on ``totals`` and ``finished``.
        over: The index of the phase ``"over"``.
    """

    @register_jitable
    def finish_deals(s: Any) -> None:
        while s.deal_over:  # a deal can end while it is dealt
            s.deal_over = 0
            for seat in range(s.players):
                s.totals[seat] += s.scores[seat]
            s.finished += 1
            verdict = judge_match(s)
            if verdict != GOES_ON or s.single_deal:
                s.truncated = verdict == CUT_OFF and not s.single_deal
                s.over = 1
                s.phase = over
                s.to_move = NOBODY
            else:
                s.deal += 1
                s.dealer = (s.dealer + 1) % s.players
                begin_deal(s)

    @register_jitable
    def init(s: Any) -> None:
        s.deal = 1
        s.dealer = s.players - 1
        begin_deal(s)
        finish_deals(s)

    @register_jitable
    def play(s: Any, action: int) -> None:
        step(s, action)
        if s.deal_over:  # asked here, too: the loop is then compiled out of the way of all other steps
            finish_deals(s)

    return init, play
