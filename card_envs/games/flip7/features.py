"""What an action of Flip 7 does, in figures without seats, from what the seat to move knows, which is all but the deck's order.

The *target* of an action is the player who is given a card or the 15, or whose card is picked. The *partner* is the other
player whose line changes: who steals the card, or who owned the first pick of a swap. The fields of lines say how they lie
before the action. A *change* is that of the line's score, in which a Flip 7 counts with its 15; what a card that is given
makes the receiver draw or pick is not in it.
"""

import numpy as np

from card_envs.engine.game import FieldSpec, locate_fields
from card_envs.engine.jitable import register_jitable
from card_envs.games.figures import copy_first
from card_envs.games.flip7.appraisals import (
    NO_POINTS, appraise_discard, appraise_exchange, appraise_gift, appraise_steal, find_leader, get_line, is_active,
    project_total,
)  # fmt: skip
from card_envs.games.flip7.deck import count_cards
from card_envs.games.flip7.lines import (
    BONUS_POINTS, BUST, FLIP_SEVEN, add_card, count_busting, count_line, get_minus, get_value, has_card, is_flip_seven,
    score_line, score_seat, sum_minus,
)  # fmt: skip
from card_envs.games.flip7.policies import EV, choose_ev, weigh_by_ev
from card_envs.games.flip7.rules import next_active
from card_envs.games.flip7.state import (
    ACTION_BONUS, ACTION_DRAW, ACTION_GIVE, ACTION_PICK, BUSTED, DISCARD, FIRST_ACTION, FIRST_MODIFIER, GIVE, HALF,
    KINDS, LUCKY_13, NOBODY, PER_SEAT, PICK, SEATS_FROM, STEAL, SWAP, UNLUCKY_7, ZERO,
)  # fmt: skip
from card_envs.games.flip7.targets import NOTHING, appraise_bonus, pick_steal
from card_envs.games.flip7.turns import FAR, TURN_FIELDS, clip, compare, write_turn

LIMIT = 5.0  # of the appraisal
NO_CARD = -1

ACTION_FIELDS = (
    # the decision, the same for all its actions: first what matters for draw or stay
    *TURN_FIELDS,
    FieldSpec("phase", (4,), "what is being decided: turn, give, pick, bonus"),
    FieldSpec("resolving", (KINDS - FIRST_MODIFIER,), "the card to be given or being carried out: -2 … /2, then the actions"),
    FieldSpec("second", (1,), "the first card of a swap has been picked"),
    # the action
    FieldSpec("kind", (5,), "what the action is: draw, stay, give, bonus, pick"),
    FieldSpec("number", (1,), "the value of the number card that is picked", 13.0),
    FieldSpec("minus_card", (1,), "the points that the minus card takes away if one is given or picked", 10.0),
    FieldSpec("special", (4,), "the card that is given or picked is: 0, lucky13, unlucky7, /2"),
    # the target
    FieldSpec("target", (4,), "the target is: the seat to move, the next active other, the highest of all, the best other"),
    FieldSpec("target_status", (3,), "the target is active, stayed, busted"),
    FieldSpec("target_behind", (1,), "by how many points the standing of the target exceeds the own", 100.0, -FAR, FAR),
    FieldSpec("target_need", (1,), "points that the standing of the target lacks of the target score", 200.0, -1.0, FAR),
    FieldSpec("target_reaches", (1,), "the standing of the target reaches the target score"),
    FieldSpec("target_score", (1,), "what the line of the target would score as it lies", 50.0, -1.0, 2.0),
    FieldSpec("target_numbers", (1,), "how many of the seven cards of a Flip 7 are in it", float(FLIP_SEVEN)),
    FieldSpec("target_minus", (1,), "the points that its minus cards take away", 30.0),
    FieldSpec("target_special", (2,), "in the line of the target is: Zero, /2"),
    FieldSpec("target_p_bust", (1,), "exact probability that one card drawn now would bust the target"),
    FieldSpec("target_change", (1,), "the change of the line of the target", 50.0, -2.0, 2.0),
    FieldSpec("target_ends", (2,), "the line of the target busts, flips 7"),
    # the partner
    FieldSpec("partner", (4,), "the partner is: the seat to move, the next active other, the highest of all, the best other"),
    FieldSpec("partner_active", (1,), "the partner is active"),
    FieldSpec("partner_behind", (1,), "by how many points the standing of the partner exceeds the own", 100.0, -FAR, FAR),
    FieldSpec("partner_change", (1,), "the change of the line of the partner", 50.0, -2.0, 2.0),
    FieldSpec("partner_ends", (2,), "the line of the partner busts, flips 7"),
    # the player `ev`
    FieldSpec(
        "appraisal", (1,),
        "what the player ev finds the action worth, in points; of the 15 ten times what the match pays if that ends it; 0 for"
        " staying and for giving a Discard or a Swap, or a Steal to another",
        20.0, -LIMIT, LIMIT,
    ),
    FieldSpec("ev", (1,), "the player ev would choose the action"),
)  # fmt: skip
FIRST, _ = locate_fields(ACTION_FIELDS)


@register_jitable
def get_resolved(s):
    """The card that is to be given or is being carried out."""
    return np.int64(s.agenda[s.depth - 1, 2]) if s.phase == GIVE or s.phase == PICK else NO_CARD


@register_jitable
def write_decision(s, seat, f):
    """The fields before ``kind``."""
    write_turn(s, seat, f)
    f[FIRST.phase + s.phase] = 1.0
    card = get_resolved(s)
    if card != NO_CARD:
        f[FIRST.resolving + card - FIRST_MODIFIER] = 1.0
    f[FIRST.second] = 1.0 if s.picked_seat != NOBODY else 0.0


@register_jitable
def write_card(card, f):
    """The fields from ``number`` to ``special``."""
    if card < FIRST_MODIFIER:
        f[FIRST.number] = get_value(card) / 13.0
    elif card < HALF:
        f[FIRST.minus_card] = get_minus(card) / 10.0
    f[FIRST.special] = 1.0 if card == ZERO else 0.0
    f[FIRST.special + 1] = 1.0 if card == LUCKY_13 else 0.0
    f[FIRST.special + 2] = 1.0 if card == UNLUCKY_7 else 0.0
    f[FIRST.special + 3] = 1.0 if card == HALF else 0.0


@register_jitable
def write_who(s, seat, other, first, f):
    """Four flags of ``other``: the seat to move, the next active other, the highest of all, the best other."""
    points = project_total(s, other)
    best = NO_POINTS
    for distance in range(1, s.players):
        best = max(best, project_total(s, (seat + distance) % s.players))
    f[first] = 1.0 if other == seat else 0.0
    f[first + 1] = 1.0 if other != seat and other == next_active(s, seat) else 0.0
    f[first + 2] = 1.0 if points >= max(best, project_total(s, seat)) else 0.0
    f[first + 3] = 1.0 if other != seat and points == best else 0.0


@register_jitable
def write_change(s, other, line, change, ends, f):
    """What becomes of the line of ``other``: the change of its score, and whether it busts or flips 7."""
    if line == BUST:
        points = 0
        f[ends] = 1.0
    else:
        flips = is_flip_seven(line, s.pair_counts_twice)
        points = score_line(line, flips, s.brutal)
        if flips:
            points += BONUS_POINTS
            f[ends + 1] = 1.0
    f[change] = clip((points - score_seat(s, other)) / 50.0, -2.0, 2.0)


@register_jitable
def write_target(s, seat, target, f):
    """The fields from ``target`` to ``target_p_bust``."""
    held = get_line(s, target)
    points = project_total(s, target)
    write_who(s, seat, target, FIRST.target, f)
    f[FIRST.target_status + s.status[target]] = 1.0
    f[FIRST.target_behind] = compare(points, project_total(s, seat))
    f[FIRST.target_need] = clip((s.target - points) / 200.0, -1.0, FAR)
    f[FIRST.target_reaches] = 1.0 if points >= s.target else 0.0
    f[FIRST.target_score] = score_seat(s, target) / 50.0
    f[FIRST.target_numbers] = min(count_line(held, s.pair_counts_twice), FLIP_SEVEN) / float(FLIP_SEVEN)
    f[FIRST.target_minus] = sum_minus(held) / 30.0
    f[FIRST.target_special] = has_card(held, ZERO)
    f[FIRST.target_special + 1] = has_card(held, HALF)
    f[FIRST.target_p_bust] = count_busting(s, target) / float(max(1, count_cards(s)))


@register_jitable
def write_partner(s, seat, partner, f):
    """The fields from ``partner`` to ``partner_behind``."""
    write_who(s, seat, partner, FIRST.partner, f)
    f[FIRST.partner_active] = 1.0 if is_active(s, partner) else 0.0
    f[FIRST.partner_behind] = compare(project_total(s, partner), project_total(s, seat))


@register_jitable
def write_pick(s, seat, target, card, f):
    """What becomes of the lines if ``card`` of ``target`` is picked."""
    resolved = get_resolved(s)
    rest = get_line(s, target) & ~(1 << card)
    if resolved == SWAP and s.picked_seat != NOBODY:
        partner = np.int64(s.picked_seat)
        picked = np.int64(s.picked_card)
        write_partner(s, seat, partner, f)
        write_change(s, target, add_card(rest, picked), FIRST.target_change, FIRST.target_ends, f)
        line = add_card(get_line(s, partner) & ~(1 << picked), card)
        write_change(s, partner, line, FIRST.partner_change, FIRST.partner_ends, f)
        return
    write_change(s, target, rest, FIRST.target_change, FIRST.target_ends, f)
    if resolved == STEAL:
        write_partner(s, seat, seat, f)
        write_change(s, seat, add_card(get_line(s, seat), card), FIRST.partner_change, FIRST.partner_ends, f)


@register_jitable
def appraise_first_pick(s, seat, leader, first, card):
    """What the best swap of ``card`` of the player ``first`` brings ``seat``."""
    best = NOTHING
    for distance in range(s.players):
        second = (seat + distance) % s.players
        if s.status[second] != BUSTED and second != first:
            for i in range(s.void[second], s.length[second]):
                other = np.int64(s.cards[second, i])
                gain = appraise_exchange(s, seat, leader, first, card, other)
                best = max(best, gain + appraise_exchange(s, seat, leader, second, other, card))
    return best


@register_jitable
def appraise_pick(s, seat, target, card):
    """What it brings ``seat`` to pick ``card`` of ``target``."""
    resolved = get_resolved(s)
    leader = find_leader(s, seat, resolved)
    if resolved == STEAL:
        return appraise_steal(s, seat, leader, target, card)
    if resolved == DISCARD:
        return appraise_discard(s, seat, leader, target, card)
    if s.picked_seat == NOBODY:
        return appraise_first_pick(s, seat, leader, target, card)
    picked = np.int64(s.picked_card)
    gain = appraise_exchange(s, seat, leader, np.int64(s.picked_seat), picked, card)
    return gain + appraise_exchange(s, seat, leader, target, card, picked)


@register_jitable
def appraise_give(s, seat, target, card):
    """What it brings ``seat`` to give ``card`` to ``target``, as far as ``ev`` reckons."""
    if card < DISCARD:
        return appraise_gift(s, seat, find_leader(s, seat, card), target, card)
    return pick_steal(s, seat)[1] if card == STEAL and target == seat else 0.0


@register_jitable
def write_action(s, seat, action, f):
    """The fields from ``kind`` on, but for ``ev``."""
    value = 0.0
    if action < SEATS_FROM:
        f[FIRST.kind + action] = 1.0
        if action == ACTION_DRAW:
            value = weigh_by_ev(s, seat, EV) / max(1, count_cards(s))
    else:
        target = (seat + (action - SEATS_FROM) // PER_SEAT) % s.players
        what = (action - SEATS_FROM) % PER_SEAT
        f[FIRST.kind + 2 + min(what, ACTION_PICK)] = 1.0
        write_target(s, seat, target, f)
        held = get_line(s, target)
        if what == ACTION_GIVE:
            card = get_resolved(s)
            if card < FIRST_ACTION:
                write_card(card, f)
                write_change(s, target, held | 1 << card, FIRST.target_change, FIRST.target_ends, f)
            value = appraise_give(s, seat, target, card)
        elif what == ACTION_BONUS:
            value = appraise_bonus(s, seat, find_leader(s, seat, 0), target) * 10.0
            f[FIRST.target_change] = (BONUS_POINTS if target == seat else -BONUS_POINTS) / 50.0
        else:
            card = what - ACTION_PICK
            write_card(card, f)
            write_pick(s, seat, target, card, f)
            value = appraise_pick(s, seat, target, card)
    f[FIRST.appraisal] = clip(value / 20.0, -LIMIT, LIMIT)


@register_jitable
def action_features(s, seat, words, actions, features):
    """Write all fields of ``ACTION_FIELDS`` for every action that is not below 0. What is zero already is left alone."""
    seat = np.int64(seat)
    chosen = choose_ev(s, seat, words, np.uint64(0), EV)
    first = -1
    for n in range(len(actions)):
        action = np.int64(actions[n])
        if action < 0:
            continue
        f = features[n]
        if first < 0:
            first = n
            write_decision(s, seat, f)
        else:
            copy_first(features, first, n, FIRST.kind)
        write_action(s, seat, action, f)
        f[FIRST.ev] = 1.0 if action == chosen else 0.0
