"""Whom to give a card, which card to pick, whom to give the 15: the built-in players of Flip 7 decide that all in one way."""

from card_envs.engine.bits import is_legal
from card_envs.engine.jitable import register_jitable
from card_envs.games.flip7.appraisals import (
    NO_POINTS, appraise_discard, appraise_exchange, appraise_gift, appraise_steal, find_leader, project_total,
)  # fmt: skip
from card_envs.games.flip7.lines import BONUS_POINTS
from card_envs.games.flip7.state import (
    ACTION_BONUS, ACTION_GIVE, ACTION_PICK, BONUS, BUSTED, DISCARD, GIVE, NOBODY, PER_SEAT, SEATS_FROM, STEAL, SWAP,
)  # fmt: skip

REACH = 30  # points that one round may well bring
NOTHING = -1e9


# ---- giving: the receiver for whom the card is worst


@register_jitable
def give_away(s, seat, words, card):
    """Give a modifier, Flip Four or Just One More to the opponent for whom it is worst; ``seat`` keeps it only if they must."""
    leader = find_leader(s, seat, card)
    best = NOTHING
    action = SEATS_FROM + ACTION_GIVE
    for distance in range(1, s.players):
        option = SEATS_FROM + distance * PER_SEAT + ACTION_GIVE
        if is_legal(words, option):
            gain = appraise_gift(s, seat, leader, (seat + distance) % s.players, card)
            if gain > best:
                best = gain
                action = option
    return action


@register_jitable
def give_to_act(s, seat, words, card):
    """Keep a Steal, Swap or Discard, since its receiver chooses; if it could only hurt ``seat``, give it to the hindmost."""
    own = SEATS_FROM + ACTION_GIVE
    if is_legal(words, own) and (card != STEAL or pick_steal(s, seat)[1] >= 0.0):
        return own
    action = own
    lowest = -NO_POINTS
    for distance in range(1, s.players):
        option = SEATS_FROM + distance * PER_SEAT + ACTION_GIVE
        points = project_total(s, (seat + distance) % s.players)
        if is_legal(words, option) and points < lowest:
            lowest = points
            action = option
    return action


# ---- picking


@register_jitable
def index_pick(s, seat, other, card):
    return SEATS_FROM + (other - seat) % s.players * PER_SEAT + ACTION_PICK + card


@register_jitable
def pick_steal(s, seat):
    """``(action, gain)``: the card that brings ``seat`` and costs its owner most; a double would bust."""
    leader = find_leader(s, seat, STEAL)
    best = NOTHING
    action = 0
    for distance in range(1, s.players):
        other = (seat + distance) % s.players
        if s.status[other] != BUSTED:
            for i in range(s.void[other], s.length[other]):
                card = s.cards[other, i]
                gain = appraise_steal(s, seat, leader, other, card)
                if gain > best:
                    best = gain
                    action = index_pick(s, seat, other, card)
    return action, best


@register_jitable
def pick_discard(s, seat):
    """The card whose loss helps ``seat`` most: an opponent's, or their own Zero or minus card."""
    leader = find_leader(s, seat, DISCARD)
    best = NOTHING
    action = 0
    for distance in range(s.players):
        other = (seat + distance) % s.players
        for i in range(s.void[other], s.length[other]):
            card = s.cards[other, i]
            gain = appraise_discard(s, seat, leader, other, card)
            if gain > best:
                best = gain
                action = index_pick(s, seat, other, card)
    return action


@register_jitable
def pick_swap(s, seat):
    """The first pick of the best pair of cards; the second once the first is picked."""
    leader = find_leader(s, seat, SWAP)
    fixed = s.picked_seat
    best = NOTHING
    action = 0
    for i in range(s.players):
        first = (seat + i) % s.players
        if s.status[first] == BUSTED or (fixed != NOBODY and first != fixed):
            continue
        for j in range(0 if fixed != NOBODY else i + 1, s.players):
            second = (seat + j) % s.players
            if s.status[second] == BUSTED or second == first:
                continue
            for m in range(s.void[first], s.length[first]):
                card = s.cards[first, m]
                if fixed != NOBODY and card != s.picked_card:
                    continue
                for n in range(s.void[second], s.length[second]):
                    other = s.cards[second, n]
                    gain = appraise_exchange(s, seat, leader, first, card, other)
                    gain += appraise_exchange(s, seat, leader, second, other, card)
                    if gain > best:
                        best = gain
                        action = index_pick(s, seat, first, card)
                        if fixed != NOBODY:
                            action = index_pick(s, seat, second, other)
    return action


# ---- the 15 of a Flip 7 (Brutal)


@register_jitable
def share_win(players, winners):
    """What each of so many winners is paid (``reward="win"``)."""
    return (players - winners) / (winners * (players - 1.0))


@register_jitable
def is_last_round(s):
    return s.single_deal or s.deal >= s.max_rounds


@register_jitable
def appraise_bonus(s, seat, leader, option):
    """What it brings ``seat`` that the 15 go to ``option``: what the match pays if it ends, else a little for the right one."""
    mine = project_total(s, seat)
    own = mine + (BONUS_POINTS if option == seat else 0)
    top = NO_POINTS
    winners = 1
    for d in range(1, s.players):
        other = (seat + d) % s.players
        points = project_total(s, other) - (BONUS_POINTS if other == option else 0)
        winners = 1 if points > top else winners + (points == top)
        top = max(top, points)
    if is_last_round(s) or max(own, top) >= s.target:
        if own > top:
            return 1.0
        return share_win(s.players, winners + 1) if own == top else -1.0
    ahead = mine + BONUS_POINTS >= project_total(s, leader)
    near = s.players == 2 or project_total(s, leader) + REACH >= s.target
    return 0.01 if option == (leader if near and not ahead else seat) else 0.0


@register_jitable
def choose_bonus(s, seat):
    """F43: what wins the match now or keeps another from it; otherwise +15 when ahead, and -15 to a leader within reach."""
    leader = find_leader(s, seat, 0)
    best = NOTHING
    action = 0
    for distance in range(s.players):
        gain = appraise_bonus(s, seat, leader, (seat + distance) % s.players)
        if gain > best:
            best = gain
            action = SEATS_FROM + distance * PER_SEAT + ACTION_BONUS
    return action


# ---- all of these decisions


@register_jitable
def choose_target(s, seat, words):
    """Every decision but draw or stay."""
    if s.phase == BONUS:
        return choose_bonus(s, seat)
    card = s.agenda[s.depth - 1, 2]
    if s.phase == GIVE:
        if card == STEAL or card == SWAP or card == DISCARD:
            return give_to_act(s, seat, words, card)
        return give_away(s, seat, words, card)
    if card == STEAL:
        return pick_steal(s, seat)[0]
    if card == SWAP:
        return pick_swap(s, seat)
    return pick_discard(s, seat)
