"""The rules of Flip 7: With a Vengeance, as functions of one record (``state.STATE``). F25 is a number of RULES.md.

Effects do not call effects: each pushes what is to happen on the agenda, and :func:`run` carries out what lies on top until a
seat has to choose. So neither a Flip Four inside a Flip Four nor a round that ends in the deal needs recursion.

``0 + …`` makes an int64 of a field, so that a rule that others call is compiled for one type of seats and cards only.
"""

from card_envs.engine.game import CUT_OFF, DECIDED, GOES_ON
from card_envs.engine.jitable import register_jitable
from card_envs.engine.random import REDEAL, shuffle
from card_envs.games.flip7.deck import build_deck, draw_card, lay_out
from card_envs.games.flip7.lines import (
    BONUS_POINTS, append_card, discard_lines, has_card, is_flip_seven, place_card, remove_card, score_seat,
)  # fmt: skip
from card_envs.games.flip7.state import (
    ACTION_BONUS, ACTION_DRAW, ACTION_GIVE, ACTION_PICK, ACTION_STAY, ACTIVE, BONUS, BONUS_TASK, BUSTED, DEAL_TASK,
    DISCARD, DRAW_TASK, FIRST_ACTION, FIRST_MODIFIER, FLIPPED, FLIP_FOUR, GIVE, GIVE_TASK, JUST_ONE_MORE, NOBODY,
    NO_QUEUE, PER_SEAT, PICK, PICK_TASK, QUEUE_TASK, ROUND_END_TASK, SEATS_FROM, STAYED, STAY_TASK, STEAL, SWAP, TURN,
    TURN_TASK, ZERO,
)  # fmt: skip

# ---- receiving a number card


@register_jitable
def flip_seven(s, seat):
    """F34: the round ends at once; what waits in queues and the actions being carried out go to the discard pile."""
    s.flipper = seat
    end = s.queued
    for top in range(s.depth - 1, -1, -1):
        task = s.agenda[top, 0]
        if task == QUEUE_TASK:
            start = s.agenda[top, 2]
            for i in range(start + s.agenda[top, 3], end):
                s.discard[s.queue[i]] += 1
            end = start
            s.discard[FLIP_FOUR] += 1
        elif task == STAY_TASK:
            s.discard[JUST_ONE_MORE] += 1
    s.queued = 0
    s.depth = 0
    push(s, BONUS_TASK if s.brutal else ROUND_END_TASK, seat, 0, 0)


@register_jitable
def receive(s, seat, card):
    """F22–F24: a card comes to a line, in whatever way; then a Flip 7 is looked for."""
    place_card(s, seat, card)
    if card < FIRST_MODIFIER and is_flip_seven(s.held[seat], s.pair_counts_twice):
        flip_seven(s, seat)


@register_jitable
def exchange(s, first, first_card, second, second_card):
    """F25: both cards leave and both arrive, which may wipe or bust either line; then a Flip 7 is looked for."""
    remove_card(s, first, first_card)
    remove_card(s, second, second_card)
    place_card(s, first, second_card)
    place_card(s, second, first_card)
    if is_flip_seven(s.held[first], s.pair_counts_twice):
        flip_seven(s, first)
    elif is_flip_seven(s.held[second], s.pair_counts_twice):
        flip_seven(s, second)


# ---- what may be done


@register_jitable
def count_holders(s):
    """How many players who have not busted have a card in their line."""
    holders = 0
    for seat in range(s.players):
        holders += s.status[seat] != BUSTED and s.held[seat] != 0
    return holders


@register_jitable
def may_receive(s, seat, card):
    """Whether a drawn action or modifier can be given to ``seat``."""
    if card < FIRST_ACTION:
        return s.brutal or s.status[seat] != BUSTED  # F16, F17, F42
    if s.status[seat] == BUSTED:  # F10, F11
        return False
    if card == STEAL:  # F13, F14, F19: another player must have a card
        return count_holders(s) > (s.held[seat] != 0)
    if card == SWAP:  # two different players must have one
        return count_holders(s) >= 2
    if card == DISCARD:
        for other in range(s.players):
            if s.held[other] != 0:  # F18, F21
                return True
        return False
    return True


@register_jitable
def may_pick_from(s, seat, mover, card):
    """Whether the live cards of ``seat`` are on offer to ``mover``, who carries out ``card`` (F18)."""
    if s.held[seat] == 0:
        return False
    if card == DISCARD:
        return True  # F21: one's own too, and in Brutal the modifiers that a player was given after a bust
    if s.status[seat] == BUSTED:
        return False
    if card == STEAL:
        return seat != mover  # F19
    return seat != s.picked_seat  # F25: of two different players


@register_jitable
def action_mask(s, mask):
    """Set the legal actions of the seat to move in ``mask``, which is all zero."""
    mover = 0 + s.to_move
    players = s.players
    if s.phase == TURN:  # F36
        mask[ACTION_DRAW] = 1
        mask[ACTION_STAY] = not has_card(s.held[mover], ZERO)  # F31
        return
    card = 0 + s.agenda[s.depth - 1, 2]
    for distance in range(players):
        seat = (mover + distance) % players
        base = SEATS_FROM + distance * PER_SEAT
        if s.phase == GIVE:
            mask[base + ACTION_GIVE] = may_receive(s, seat, card)
        elif s.phase == BONUS:
            mask[base + ACTION_BONUS] = 1  # F43
        elif may_pick_from(s, seat, mover, card):
            for i in range(s.void[seat], s.length[seat]):
                mask[base + ACTION_PICK + s.cards[seat, i]] = 1


# ---- what happens


@register_jitable
def push(s, task, seat, card, count):
    top = s.depth
    s.agenda[top, 0] = task
    s.agenda[top, 1] = seat
    s.agenda[top, 2] = card
    s.agenda[top, 3] = count
    s.depth = top + 1


@register_jitable
def give(s, target):
    """The card is given to ``target``. What it does is what it pushes on the agenda, the last thing first."""
    s.depth -= 1
    card = 0 + s.agenda[s.depth, 2]
    if card < FIRST_ACTION:
        append_card(s, target, card)  # F16
    elif card == JUST_ONE_MORE:  # F33
        push(s, STAY_TASK, target, card, 0)
        push(s, DRAW_TASK, target, NO_QUEUE, 1)
    elif card == FLIP_FOUR:  # F32
        start = s.queued
        push(s, QUEUE_TASK, target, start, 0)
        push(s, DRAW_TASK, target, start, 4)
    else:
        push(s, PICK_TASK, target, card, 0)  # F12: the receiver chooses


@register_jitable
def pick(s, seat, card):
    """The receiver of a Steal, Swap or Discard has chosen a card."""
    action = 0 + s.agenda[s.depth - 1, 2]
    if action == SWAP and s.picked_seat == NOBODY:
        s.picked_seat = seat
        s.picked_card = card
        return
    s.depth -= 1
    s.discard[action] += 1  # F9
    if action == DISCARD:
        remove_card(s, seat, card)
        s.discard[card] += 1
    elif action == STEAL:
        remove_card(s, seat, card)
        receive(s, 0 + s.to_move, card)
    else:
        first = 0 + s.picked_seat
        s.picked_seat = NOBODY
        exchange(s, first, 0 + s.picked_card, seat, card)


@register_jitable
def end_round(s):
    """F39: score, discard the lines."""
    for seat in range(0 + s.players):
        points = score_seat(s, seat)
        if s.brutal and s.bonus == seat:
            points += BONUS_POINTS if s.flipper == seat else -BONUS_POINTS  # F43
        elif not s.brutal and s.flipper == seat:
            points += BONUS_POINTS
        s.scores[seat] = points
        s.last_status[seat] = FLIPPED if s.flipper == seat else s.status[seat]
    discard_lines(s)
    s.depth = 0
    s.deal_over = 1


@register_jitable
def judge_match(s):
    """F40: a total has reached the target; F45: the cap on the number of rounds."""
    for seat in range(s.players):
        if s.totals[seat] >= s.target:
            return DECIDED
    return CUT_OFF if s.finished >= s.max_rounds else GOES_ON


@register_jitable
def next_active(s, seat):
    """The next active player clockwise after ``seat``, who comes last; NOBODY if there is none."""
    other = seat
    for _ in range(s.players):
        other = 0 if other + 1 == s.players else other + 1
        if s.status[other] == ACTIVE:
            return other
    return NOBODY


@register_jitable
def has_receiver(s, card):
    for seat in range(0 + s.players):
        if may_receive(s, seat, card):
            return True
    return False


@register_jitable
def take(s, seat, queue):
    """``seat`` is dealt or draws a card: a number is received, any other card is to be given, at once or (F32) from a queue."""
    card = 0 + draw_card(s)
    if card < FIRST_MODIFIER:
        receive(s, seat, card)
    elif queue == NO_QUEUE:
        push(s, GIVE_TASK, seat, card, 0)
    else:
        s.queue[s.queued] = card
        s.queued += 1


@register_jitable
def choose(s, seat, phase):
    s.to_move = seat
    s.phase = phase


@register_jitable
def run(s):
    """Do what is on top of the agenda until a seat has to choose, or the round is over."""
    while s.depth > 0:
        top = s.depth - 1
        task = s.agenda[top, 0]
        seat = 0 + s.agenda[top, 1]
        card = 0 + s.agenda[top, 2]
        count = 0 + s.agenda[top, 3]
        if task == DEAL_TASK:  # F4: clockwise from the dealer's left
            if count < s.players:
                s.agenda[top, 3] = count + 1
                seat = s.dealer + 1 + count
                seat = seat - s.players if seat >= s.players else seat
                if s.status[seat] == ACTIVE:  # F6
                    take(s, seat, NO_QUEUE)  # F5
            else:
                s.agenda[top, 0] = TURN_TASK
                s.agenda[top, 1] = s.dealer
                s.agenda[top, 3] = 0
        elif task == TURN_TASK:  # F36
            seat = next_active(s, seat)
            if seat != NOBODY:
                s.agenda[top, 1] = seat
                s.turn = seat
                choose(s, seat, TURN)
                return
            s.agenda[top, 0] = ROUND_END_TASK  # F37
        elif task == DRAW_TASK:
            if s.status[seat] == BUSTED:  # F32: a bust stops the drawing, this queue is dropped
                s.depth = top
                if card != NO_QUEUE:
                    for i in range(card, s.queued):
                        s.discard[s.queue[i]] += 1
                    s.queued = card
            elif count > 0:
                s.agenda[top, 3] = count - 1
                take(s, seat, card)
            else:
                s.depth = top
        elif task == QUEUE_TASK:  # F32: in the order drawn, the receiver being the drawer of each
            if card + count < s.queued:
                s.agenda[top, 3] = count + 1
                push(s, GIVE_TASK, seat, s.queue[card + count], 0)
            else:
                s.depth = top
                s.queued = card
                s.discard[FLIP_FOUR] += 1
        elif task == STAY_TASK:  # F33
            s.depth = top
            s.discard[JUST_ONE_MORE] += 1
            if s.status[seat] == ACTIVE:
                s.status[seat] = STAYED
        elif task == GIVE_TASK:
            if has_receiver(s, card):
                choose(s, seat, GIVE)
                return
            s.depth = top  # F13
            s.discard[card] += 1
        elif task == PICK_TASK:
            choose(s, seat, PICK)
            return
        elif task == BONUS_TASK:
            choose(s, seat, BONUS)
            return
        else:
            end_round(s)


# ---- what the engine calls


@register_jitable
def begin_deal(s):
    """Deal a round; the first one from a new deck, which then lasts for the match."""
    if s.finished == 0:
        build_deck(s)
    for seat in range(s.players):
        s.status[seat] = ACTIVE
    s.turn = NOBODY
    s.flipper = NOBODY
    s.bonus = NOBODY
    s.picked_seat = NOBODY
    push(s, DEAL_TASK, NOBODY, 0, 0)
    run(s)


@register_jitable
def step(s, action):
    """Play a legal action of the seat to move, and go on to the next decision."""
    if action == ACTION_DRAW:
        take(s, 0 + s.to_move, NO_QUEUE)
    elif action == ACTION_STAY:
        s.status[s.to_move] = STAYED
    else:
        target = (s.to_move + (action - SEATS_FROM) // PER_SEAT) % s.players
        what = (action - SEATS_FROM) % PER_SEAT
        if what == ACTION_GIVE:
            give(s, target)
        elif what == ACTION_BONUS:
            s.bonus = target
            s.depth = 0
            push(s, ROUND_END_TASK, NOBODY, 0, 0)
        else:
            pick(s, target, what - ACTION_PICK)
    run(s)


@register_jitable
def redeal(s, seat, key):
    """Only the deck's order is hidden, from everybody; and with a new key the shuffles to come."""
    s.key = key
    for i in range(s.drawn):  # forgotten, so that from equal views come equal tables
        s.deck[i] = 0
    lay_out(s, s.unseen, s.drawn)
    shuffle(s.deck, s.drawn, s.deck_size, key, REDEAL)
