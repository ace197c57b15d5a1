"""What the choices of a player show of their hand, to everybody (P29).

Two sets of cards are kept for each seat. When they were noted, the rules left no doubt that the hand held none of the *proved*
cards. The *suggested* ones would have fitted when the player drew, passed or took without having to. With each set goes the
number of cards drawn since: all cards of the hand but that many lie outside the set.

What fits is always made of whole ranks and suits, so a set is kept as the groups of which it consists: 17 bits, one for each
rank and one for the cards of each suit that are no jacks. (Who draws in the lead has no jack of clubs either: it is not kept.)
"""

import numpy as np

from card_envs.engine.bits import popcount
from card_envs.engine.jitable import register_jitable
from card_envs.games.deck import DECK_SIZE, EMPTY, IN_SUIT, JACK, RANK, SEVEN, SUIT, bit, of_suit
from card_envs.games.pis_yedili.state import PROVED, SUGGESTED

# the weight of a card that a player would have had to leave unplayed, and of a jack or seven, which players keep for later
DOUBT, DOUBT_KEPT = 0.05, 0.6
LEAST = 1e-9
KEPT = RANK << np.uint64(JACK) | RANK << np.uint64(SEVEN)
NOT_JACKS = ~(RANK << np.uint64(JACK))
_RANKS = np.uint64((1 << IN_SUIT) - 1)
_13, _26, _39 = np.uint64(IN_SUIT), np.uint64(2 * IN_SUIT), np.uint64(3 * IN_SUIT)
_SPREAD = np.uint64(1 | 1 << 12 | 1 << 24 | 1 << 36)  # moves bits 0 … 3 to where the suits begin: 0, 13, 26, 39

# by card, the groups in which it is
GROUPS_OF = np.array(
    [1 << card % IN_SUIT | (card % IN_SUIT != JACK) << IN_SUIT + card // IN_SUIT for card in range(DECK_SIZE)], np.uint32
)


@register_jitable
def find_groups(cards):
    """The groups of which a set holds all cards."""
    groups = cards & (cards >> _13) & (cards >> _26) & (cards >> _39) & _RANKS
    for suit in range(4):
        if ~cards & of_suit(suit) & NOT_JACKS == EMPTY:
            groups |= bit(IN_SUIT + suit)
    return groups


@register_jitable
def join_groups(groups):
    """All cards of some groups."""
    groups = np.uint64(groups)
    ranks = (groups & _RANKS) * RANK
    suits = (((groups >> _13) * _SPREAD) & RANK) * SUIT
    return ranks | (suits & NOT_JACKS)


@register_jitable
def forget(s):
    """Nothing is known of the hands of a new deal."""
    for seat in range(s.players):
        for kind in (PROVED, SUGGESTED):
            s.lacks[kind, seat] = 0
            s.drawn_since[kind, seat] = 0


@register_jitable
def note_lack(s, kind, seat, cards):
    """The player's choice proves or suggests that they hold none of ``cards``.

    All cards of the hand then lie outside ``cards``, and all but those drawn since outside the union with the former set. The
    one of these two statements is kept that excludes more: the more cards, and for the more cards of the hand.
    """
    unseen = ~np.uint64(s.seen)
    groups = find_groups(cards)
    both = groups | np.uint64(s.lacks[kind, seat])
    size = popcount(np.uint64(s.hands[seat]))
    drawn = s.drawn_since[kind, seat]
    joined = popcount(join_groups(both) & unseen) * (size - drawn) > popcount(join_groups(groups) & unseen) * size
    s.lacks[kind, seat] = both if joined else groups
    s.drawn_since[kind, seat] = drawn if joined else 0


@register_jitable
def count_drawn(s, seat):
    """The player has drawn a card."""
    for kind in (PROVED, SUGGESTED):
        s.drawn_since[kind, seat] += s.lacks[kind, seat] != 0


@register_jitable
def count_played(s, seat, card):
    """The player has played ``card``. If it lies in a set, it was one of those drawn since."""
    for kind in (PROVED, SUGGESTED):
        drawn = s.drawn_since[kind, seat]
        s.drawn_since[kind, seat] = drawn - ((s.lacks[kind, seat] & GROUPS_OF[card] != 0) & (drawn > 0))


@register_jitable
def find_lacks(s, kind, seat):
    """The set of a seat, without the cards of the pile."""
    return join_groups(s.lacks[kind, seat]) & ~np.uint64(s.seen)


@register_jitable
def weigh(s, seat, unseen):
    """How likely a seat holds each of the ``unseen`` cards, compared with one that is in neither of its sets.

    A card that the seat cannot have held when the set was noted is among those drawn since or not there, so its weight is their
    share of the hand. A suggested card counts at least ``DOUBT``, a jack or seven ``DOUBT_KEPT``, which agrees with the play of
    `best` at two and four players. A card in both sets has the lower of both weights.

    Returns:
        Three sets without a card in common, each with what a card of it weighs less than 1, and the weight of all unseen cards.
    """
    size = float(max(1, popcount(np.uint64(s.hands[seat]))))
    proved = join_groups(s.lacks[PROVED, seat])
    suggested = join_groups(s.lacks[SUGGESTED, seat])
    plain, kept = suggested & ~KEPT, suggested & KEPT
    less = 1.0 - min(1.0, s.drawn_since[PROVED, seat] / size)
    old = 1.0 - min(1.0, s.drawn_since[SUGGESTED, seat] / size)
    less_plain, less_kept = (1.0 - DOUBT) * old, (1.0 - DOUBT_KEPT) * old
    lower = (plain if less < less_plain else EMPTY) | (kept if less < less_kept else EMPTY)
    proved &= ~lower
    plain &= ~proved
    kept &= ~proved
    total = sum_weights(unseen, (proved, less, plain, less_plain, kept, less_kept, 0.0))
    return proved, less, plain, less_plain, kept, less_kept, total


@register_jitable
def sum_weights(cards, weights):
    """The weights of some unseen cards, by what `weigh` returns."""
    first, less_first, second, less_second, third, less_third, _ = weights
    return (
        popcount(cards)
        - less_first * popcount(cards & first)
        - less_second * popcount(cards & second)
        - less_third * popcount(cards & third)
    )


@register_jitable
def weighted_chance(cards, weights, size):
    """About how likely a hand of ``size`` unseen cards holds one of ``cards``, which are unseen, by what `weigh` returns."""
    miss = 1.0 - sum_weights(cards, weights) / max(LEAST, weights[6])
    none = 1.0
    for _ in range(size):  # not a power: that would be rounded differently when compiled
        none *= miss
    return 1.0 - none
