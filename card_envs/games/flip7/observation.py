"""What a seat sees of Flip 7: all but the deck's order. Only the point of view differs, own seat first, then clockwise."""

import numpy as np

from card_envs.engine.bits import write_set
from card_envs.engine.game import FieldSpec, locate_fields
from card_envs.engine.jitable import register_jitable
from card_envs.games.flip7.deck import count_cards, pack_next, sum_packed
from card_envs.games.flip7.lines import expect_points, find_doubles, score_seat
from card_envs.games.flip7.state import (
    ACTIVE, BONUS, DEAL_TASK, DECK_SIZE, FIRST_ACTION, FIRST_MODIFIER, FLIP_FOUR, GIVE, JUST_ONE_MORE, KINDS, LINE_KINDS,
    NOBODY, OVER, PICK, PICK_TASK, QUEUE_TASK, STAY_TASK, TURN,
)  # fmt: skip

ACTION_KINDS = KINDS - FIRST_ACTION
GIVEN_KINDS = KINDS - FIRST_MODIFIER
COPIES_SCALE = 12.0  # the largest number of copies of a card
MAX_WAITING = 6.0  # with both Flip Fours: three cards of each wait while one is given
LINE_SCALE = 100.0  # a round scores at most 91
GAIN_SCALE = 100.0  # a bust costs no more

FIELDS = (
    FieldSpec("phase", (4,), "what is being decided: turn, give, pick, bonus"),
    FieldSpec("resolving", (GIVEN_KINDS,), "the card to be given or being carried out: -2 … /2, then the actions"),
    FieldSpec("picked", (LINE_KINDS,), "the first pick of a swap, by card"),
    FieldSpec("open", (ACTION_KINDS,), "actions being carried out, by kind", 2.0),
    FieldSpec("queue", (GIVEN_KINDS,), "cards waiting in Flip Fours, by kind: -2 … /2, then the actions", 2.0),
    FieldSpec("unseen", (KINDS,), "cards in the deck, by kind", COPIES_SCALE),
    FieldSpec("discard", (KINDS,), "cards in the discard pile, by kind", COPIES_SCALE),
    FieldSpec("deck", (1,), "cards in the deck", float(DECK_SIZE)),
    FieldSpec("round", (1,), "the round's number", "max_rounds"),
    FieldSpec("next_card", (1,), "points that one card drawn now is expected to bring an active seat", GAIN_SCALE, -1.0),
    FieldSpec("line", ("players", LINE_KINDS), "cards in the live line, by kind: 0 … 13, lucky13, unlucky7, -2 … /2"),
    FieldSpec("line_score", ("players",), "what the line would score as it lies", LINE_SCALE, -1.0),
    FieldSpec("total", ("players",), "points of the finished rounds", "target", -2.0, 2.0),
    FieldSpec("standing", ("players",), "total and what the line would score as it lies", "target", -2.0, 2.0),
    FieldSpec("p_bust", ("players",), "exact probability that one card drawn now would bust the seat"),
    FieldSpec("status", ("players", 3), "active, stayed, busted"),
    FieldSpec("to_move", ("players",), "who decides"),
    FieldSpec("turn", ("players",), "whose turn it is (nobody's in the deal)"),
    FieldSpec("dealer", ("players",), "who deals"),
    FieldSpec("undealt", ("players",), "who waits for the card of the deal"),
    FieldSpec("last_card", ("players",), "who stays when a Just One More is resolved"),
    FieldSpec("waiting", ("players",), "cards in Flip Fours that the seat has still to give", MAX_WAITING),
    FieldSpec("picked_from", ("players",), "whose card is the first pick of a swap"),
)


FIRST, PER_PLAYER = locate_fields(FIELDS)
MOST_COPIES = np.float32(COPIES_SCALE)
PER_LINE_POINT, PER_GAIN_POINT, PER_CARD = 1.0 / LINE_SCALE, 1.0 / GAIN_SCALE, 1.0 / DECK_SIZE


@register_jitable
def clip(value, low, high):
    return min(max(value, low), high)


@register_jitable
def count_clockwise(s, seat, other):
    """How many seats ``other`` sits clockwise from ``seat``."""
    distance = np.int64(other) - np.int64(seat)
    return distance + s.players if distance < 0 else distance


@register_jitable
def observe(s, seat, o):
    """Write all fields of ``FIELDS``; those that are nearly always 0 are cleared first."""
    players = np.int64(s.players)
    line_score = FIRST.line_score + PER_PLAYER.line_score * players
    total = FIRST.total + PER_PLAYER.total * players
    standing = FIRST.standing + PER_PLAYER.standing * players
    p_bust = FIRST.p_bust + PER_PLAYER.p_bust * players
    status = FIRST.status + PER_PLAYER.status * players
    to_move = FIRST.to_move + PER_PLAYER.to_move * players
    turn = FIRST.turn + PER_PLAYER.turn * players
    dealer = FIRST.dealer + PER_PLAYER.dealer * players
    for i in range(FIRST.unseen):
        o[i] = 0.0
    for i in range(status, len(o)):
        o[np.uint64(i)] = 0.0

    for kind in range(KINDS):
        o[FIRST.unseen + kind] = np.float32(s.unseen[kind]) / MOST_COPIES
        o[FIRST.discard + kind] = np.float32(s.discard[kind]) / MOST_COPIES
    o[FIRST.deck] = (s.deck_size - s.drawn) * PER_CARD
    o[FIRST.round] = s.deal / float(s.max_rounds)

    cards = count_cards(s)
    per_card = 1.0 / cards if cards > 0 else 0.0
    per_point = 1.0 / s.target
    low, high = pack_next(s)
    gain = expect_points(s, seat, low, high) * per_card if s.status[seat] == ACTIVE and s.phase < BONUS else 0.0
    o[FIRST.next_card] = clip(gain * PER_GAIN_POINT, -1.0, 1.0)
    other = seat
    for distance in range(players):
        held = s.held[other]
        write_set(o, FIRST.line + distance * LINE_KINDS, np.uint64(held), LINE_KINDS)
        points = score_seat(s, other)
        o[np.uint64(line_score + distance)] = clip(points * PER_LINE_POINT, -1.0, 1.0)
        o[np.uint64(total + distance)] = clip(s.totals[other] * per_point, -2.0, 2.0)
        o[np.uint64(standing + distance)] = clip((s.totals[other] + points) * per_point, -2.0, 2.0)
        o[np.uint64(p_bust + distance)] = sum_packed(low, high, find_doubles(held)) * per_card
        o[np.uint64(status + 3 * distance + s.status[other])] = 1.0
        other += 1
        if other == players:
            other = 0
    o[np.uint64(dealer + count_clockwise(s, seat, s.dealer))] = 1.0
    if s.phase != OVER:
        o[FIRST.phase + s.phase] = 1.0
        o[np.uint64(to_move + count_clockwise(s, seat, s.to_move))] = 1.0
        if s.turn != NOBODY:
            o[np.uint64(turn + count_clockwise(s, seat, s.turn))] = 1.0
        if s.phase != TURN:
            show_effects(s, seat, o)


@register_jitable
def show_effects(s, seat, o):
    """The card to be given or being carried out, and all that waits beneath it."""
    players = np.int64(s.players)
    undealt = FIRST.undealt + PER_PLAYER.undealt * players
    last_card = FIRST.last_card + PER_PLAYER.last_card * players
    waiting = FIRST.waiting + PER_PLAYER.waiting * players
    picked_from = FIRST.picked_from + PER_PLAYER.picked_from * players
    if s.phase == GIVE or s.phase == PICK:
        o[FIRST.resolving + s.agenda[s.depth - 1, 2] - FIRST_MODIFIER] = 1.0
    if s.picked_seat != NOBODY:
        o[FIRST.picked + s.picked_card] = 1.0
        o[picked_from + count_clockwise(s, seat, s.picked_seat)] = 1.0

    end = s.queued
    for top in range(s.depth - 1, -1, -1):
        task = s.agenda[top, 0]
        if task >= QUEUE_TASK:  # all that stand for a card; a GIVE_TASK is not open yet
            distance = count_clockwise(s, seat, s.agenda[top, 1])
            if task == QUEUE_TASK:
                o[FIRST.open + FLIP_FOUR - FIRST_ACTION] += 0.5
                start = s.agenda[top, 2]
                first = start + s.agenda[top, 3]
                for i in range(first, end):
                    o[FIRST.queue + s.queue[i] - FIRST_MODIFIER] += 0.5
                o[waiting + distance] += (end - first) / MAX_WAITING
                end = start
            elif task == STAY_TASK:
                o[FIRST.open + JUST_ONE_MORE - FIRST_ACTION] += 0.5
                o[last_card + distance] = 1.0
            elif task == PICK_TASK:
                o[FIRST.open + s.agenda[top, 2] - FIRST_ACTION] += 0.5

    if s.agenda[0, 0] == DEAL_TASK:
        for distance in range(players):
            other = (seat + distance) % players
            if s.status[other] == ACTIVE and (other - s.dealer - 1) % players >= s.agenda[0, 3]:
                o[undealt + distance] = 1.0
