"""What a seat sees of Flip 7. All but the deck's order is public, so only the point of view differs: own seat first, then clockwise."""

from numba.extending import register_jitable

from card_envs.engine.game import FieldSpec
from card_envs.games.flip7.odds import count_busting, count_cards
from card_envs.games.flip7.rules import line_score
from card_envs.games.flip7.state import (
    ACTIVE, DEAL_TASK, FIRST_ACTION, FIRST_MODIFIER, FLIP_FOUR, GIVE, JUST_ONE_MORE, KINDS, LINE_KINDS, NOBODY, OVER, PICK,
    PICK_TASK, QUEUE_TASK, STAY_TASK,
)  # fmt: skip

ACTION_KINDS = KINDS - FIRST_ACTION
GIVEN_KINDS = KINDS - FIRST_MODIFIER
COPIES_SCALE = 12.0  # the largest number of copies of a card
DECK_SCALE = 108.0
LINE_SCALE = 100.0  # a round scores at most 91

FIELDS = (
    FieldSpec("phase", (4,), "what is being decided: turn, give, pick, bonus"),
    FieldSpec("resolving", (GIVEN_KINDS,), "the card to be given or being carried out: -2 … /2, then the actions"),
    FieldSpec("picked", (LINE_KINDS,), "the first pick of a swap, by card"),
    FieldSpec("open", (ACTION_KINDS,), "actions being carried out, by kind", 2.0),
    FieldSpec("queue", (GIVEN_KINDS,), "cards waiting in Flip Fours, by kind: -2 … /2, then the actions", 2.0),
    FieldSpec("unseen", (KINDS,), "cards in the deck, by kind", COPIES_SCALE),
    FieldSpec("discard", (KINDS,), "cards in the discard pile, by kind", COPIES_SCALE),
    FieldSpec("deck", (1,), "cards in the deck", DECK_SCALE),
    FieldSpec("round", (1,), "the round's number", "max_rounds"),
    FieldSpec("line", ("players", LINE_KINDS), "cards in the live line, by kind: 0 … 13, lucky13, unlucky7, -2 … /2"),
    FieldSpec("line_score", ("players",), "what the line would score as it lies", LINE_SCALE, -1.0),
    FieldSpec("total", ("players",), "points of the finished rounds", "target", -2.0, 2.0),
    FieldSpec("p_bust", ("players",), "exact probability that one card drawn now would bust the seat"),
    FieldSpec("status", ("players", 3), "active, stayed, busted"),
    FieldSpec("to_move", ("players",), "who decides"),
    FieldSpec("turn", ("players",), "whose turn it is (nobody's in the deal)"),
    FieldSpec("dealer", ("players",), "who deals"),
    FieldSpec("undealt", ("players",), "who waits for the card of the deal"),
    FieldSpec("last_card", ("players",), "who stays when a Just One More is resolved"),
    FieldSpec("waiting", ("players",), "cards in Flip Fours that the seat has still to give", 4.0),
    FieldSpec("picked_from", ("players",), "whose card is the first pick of a swap"),
)


@register_jitable
def put(o, k, value, scale, low):
    """Write a scaled value, clipped to [low, max(1, -low)]."""
    x = value / scale
    o[k] = min(max(x, low), max(1.0, -low))
    return k + 1


@register_jitable
def one_hot(o, k, size, index):
    for i in range(size):
        o[k + i] = 0.0
    if 0 <= index < size:
        o[k + index] = 1.0
    return k + size


@register_jitable
def one_seat(o, k, players, seat, chosen):
    """A flag for one seat, counted from ``seat``; none if ``chosen`` is NOBODY."""
    return one_hot(o, k, players, (chosen - seat) % players if chosen != NOBODY else NOBODY)


@register_jitable
def observe(s, seat, o):
    """Write all fields of ``FIELDS``, in their order."""
    players = s.players
    k = one_hot(o, 0, 4, s.phase)
    asked = s.phase == GIVE or s.phase == PICK
    k = one_hot(o, k, GIVEN_KINDS, s.agenda[s.depth - 1, 2] - FIRST_MODIFIER if asked else NOBODY)
    k = one_hot(o, k, LINE_KINDS, s.picked_card if s.picked_seat != NOBODY else NOBODY)

    open_actions = k
    queue = open_actions + ACTION_KINDS
    for i in range(ACTION_KINDS + GIVEN_KINDS):
        o[k + i] = 0.0
    k = queue + GIVEN_KINDS
    last_card = len(o) - 3 * players
    for i in range(2 * players):
        o[last_card + i] = 0.0
    waiting = last_card + players
    end = s.queued
    for top in range(s.depth - 1, -1, -1):
        task = s.agenda[top, 0]
        distance = (s.agenda[top, 1] - seat) % players
        if task == QUEUE_TASK:
            o[open_actions + FLIP_FOUR - FIRST_ACTION] += 0.5
            start = s.agenda[top, 2]
            for i in range(start + s.agenda[top, 3], end):
                o[queue + s.queue[i] - FIRST_MODIFIER] += 0.5
                o[waiting + distance] += 0.25
            end = start
        elif task == STAY_TASK:
            o[open_actions + JUST_ONE_MORE - FIRST_ACTION] += 0.5
            o[last_card + distance] = 1.0
        elif task == PICK_TASK:
            o[open_actions + s.agenda[top, 2] - FIRST_ACTION] += 0.5

    for kind in range(KINDS):
        o[k + kind] = s.unseen[kind] / COPIES_SCALE
        o[k + KINDS + kind] = s.discard[kind] / COPIES_SCALE
    k = put(o, k + 2 * KINDS, s.deck_size - s.drawn, DECK_SCALE, 0.0)
    k = put(o, k, s.deal, float(s.max_rounds), 0.0)

    for i in range(players * LINE_KINDS):
        o[k + i] = 0.0
    cards = float(count_cards(s))
    scores = k + players * LINE_KINDS
    undealt = scores + 9 * players
    dealt = s.agenda[0, 3] if s.depth > 0 and s.agenda[0, 0] == DEAL_TASK else players
    for distance in range(players):
        other = (seat + distance) % players
        for i in range(s.void[other], s.length[other]):
            o[k + distance * LINE_KINDS + s.cards[other, i]] = 1.0
        put(o, scores + distance, line_score(s, other), LINE_SCALE, -1.0)
        put(o, scores + players + distance, s.totals[other], float(s.target), -2.0)
        o[scores + 2 * players + distance] = count_busting(s, other) / cards if cards > 0.0 else 0.0
        one_hot(o, scores + 3 * players + 3 * distance, 3, s.status[other])
        waits = (other - s.dealer - 1) % players >= dealt and s.status[other] == ACTIVE
        o[undealt + distance] = 1.0 if waits else 0.0
    k = scores + 6 * players
    k = one_seat(o, k, players, seat, s.to_move)
    k = one_seat(o, k, players, seat, s.turn if s.phase != OVER else NOBODY)
    k = one_seat(o, k, players, seat, s.dealer)
    one_seat(o, waiting + players, players, seat, s.picked_seat)
