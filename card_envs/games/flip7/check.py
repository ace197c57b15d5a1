"""Whether foreign bytes are a state of Flip 7: compiled rules trust what they read."""

from __future__ import annotations

from collections import Counter
from typing import Any

from card_envs.games.flip7.lines import sum_line, sum_minus
from card_envs.games.flip7.state import (
    BONUS, BONUS_TASK, COPIES, DEAL_TASK, DECK_SIZE, DRAW_TASK, FIRST_ACTION, FIRST_MODIFIER, FLIP_FOUR, GIVE, GIVE_TASK,
    JUST_ONE_MORE, KINDS, NO_QUEUE, NOBODY, OVER, PICK, PICK_TASK, QUEUE_TASK, ROUND_END_TASK, STAY_TASK, SWAP, TURN,
    TURN_TASK,
)  # fmt: skip

_TOP = {TURN: TURN_TASK, GIVE: GIVE_TASK, PICK: PICK_TASK, BONUS: BONUS_TASK}  # the task that asks, by phase


def check(s: Any) -> str | None:
    """What is wrong with a state whose fields lie within their bounds; ``None`` if nothing."""
    agenda = [tuple(s.agenda[i, column] for column in range(4)) for i in range(s.depth)]
    if s.drawn > s.deck_size:
        return "more cards are drawn than the deck holds"
    if (s.phase == OVER) != (not agenda) or bool(s.over) != (s.phase == OVER) or (s.over and s.to_move >= 0):
        return "the match is over, or it is not"
    if agenda and (agenda[-1][0] != _TOP[s.phase] or not 0 <= s.to_move < s.players):
        return "the phase is not what is to be decided"
    return _agenda(s, agenda) or _lines(s) or _cards(s, agenda)


def _agenda(s: Any, agenda: list[tuple[int, ...]]) -> str | None:
    """The tasks stand as the rules push them, so that no nest is deeper than theirs."""
    for depth, (task, seat, card, count) in enumerate(agenda):
        if task != DEAL_TASK and not 0 <= seat < s.players:
            return "a seat on the agenda is not at the table"
        if (depth == 0) != (task in (DEAL_TASK, TURN_TASK, BONUS_TASK)) or task == ROUND_END_TASK:
            return "the agenda does not begin with a deal or a turn"
        if task == DEAL_TASK and not 0 <= count <= s.players:
            return "more seats are dealt to than there are"
        if task == DRAW_TASK and (agenda[depth - 1][0] != STAY_TASK or (card, count) != (NO_QUEUE, 0)):
            return "a card is drawn for nothing"
        if task in (GIVE_TASK, PICK_TASK) and depth + 1 != len(agenda):
            return "a decision waits under another"
    if s.dealer >= s.players or s.turn >= s.players or s.flipper >= s.players:
        return "a seat is not at the table"
    swap = s.phase == PICK and agenda[-1][2] == SWAP
    if s.picked_seat != NOBODY and not (swap and s.picked_seat < s.players and s.held[s.picked_seat] >> s.picked_card & 1):
        return "the first pick of a swap lies in no line"
    return None


def _lines(s: Any) -> str | None:
    for seat in range(s.players):
        if s.void[seat] > s.length[seat]:
            return f"the line of seat {seat} is shorter than its void"
        line = [s.cards[seat, i] for i in range(s.void[seat], s.length[seat])]
        if len(set(line)) != len(line):
            return f"the line of seat {seat} holds a card twice"
        held = sum(1 << card for card in line)
        if (s.held[seat], s.numbers[seat], s.minus[seat]) != (held, sum_line(held), sum_minus(held)):
            return f"the sums of the line of seat {seat} are wrong"
    return None


def _cards(s: Any, agenda: list[tuple[int, ...]]) -> str | None:
    """All cards are there once, so that no line, queue or nest can outgrow its place."""
    cards = Counter(s.deck[i] for i in range(s.drawn, s.deck_size))
    if any(cards[kind] != s.unseen[kind] for kind in range(KINDS)):
        return "the counts of the deck are wrong"
    for kind in range(KINDS):
        cards[kind] += s.discard[kind]
    for seat in range(s.players):
        cards.update(s.cards[seat, i] for i in range(s.length[seat]))
    end = s.queued
    for task, _, card, count in reversed(agenda):
        if task == QUEUE_TASK:
            if not 0 <= card <= card + count <= end:
                return "a queue is out of its bounds"
            cards.update([FLIP_FOUR, *(s.queue[i] for i in range(card + count, end))])
            end = card
        elif task == STAY_TASK:
            cards[JUST_ONE_MORE] += 1
        elif task in (GIVE_TASK, PICK_TASK):
            if not (FIRST_MODIFIER if task == GIVE_TASK else FIRST_ACTION) <= card < KINDS:
                return "a card of the agenda is no action or modifier"
            cards[card] += 1
    if [cards[kind] for kind in range(KINDS)] != list(COPIES):
        return f"the {DECK_SIZE} cards of the deck are not all there once"
    return None
