"""How well given hands agree with what players have discarded, declined and taken: what a search weighs its redealt worlds by.

The *mates* of a card in a hand are the other cards of its rank, and those of its suit that are one or two ranks away: with each
of them and one more card it makes a meld. A player seldom parts with a card that has mates in their hand, seldom declines one,
and takes the cards that make melds. So each card about which a player has made a choice has a factor from ``FACTORS``, by what
the card finds in the hand: no mate, one, several, or a whole meld.

The factors were fitted to play of `best` with two and four players. At each of 3,900 decisions of every variant the true hands
stood among 64 redealt ones, and a conditional logistic regression on the numbers of cards of each kind told which they were. It
gave, where only the top card can be taken, factors of 0.38, 0.09 and 0.02 for a discarded card with one mate, several, and a
meld. ``FACTORS`` are their powers with the exponent 0.6, with which 64 redealt worlds are worth about 20 equally likely ones or
more in the median. More than four fifths of what the choices tell of the hands is kept. No factor is below 0.1, since other
players than `best` may choose otherwise.
"""

import numpy as np

from card_envs.engine.bits import popcount
from card_envs.engine.jitable import register_jitable
from card_envs.games.deck import ACES, FULL, IN_SUIT
from card_envs.games.melds import above, below, in_melds, outs
from card_envs.games.rummy.history import sort_choices
from card_envs.games.rummy.state import DECLINED, DISCARDED, TAKEN, UNIVERSAL

ONE_MATE, SEVERAL_MATES, WHOLE_MELD = 1, 2, 3  # the places of the factors after that for no mate

# By what may be taken from the pile, and by choice. If any card can be taken, a discarded card is not lost, and a card with
# mates can wait in the pile.
FACTORS = np.array(
    [
        [[1.0, 0.56, 0.23, 0.10], [1.0, 0.67, 0.62, 0.38], [0.10, 0.10, 0.10, 1.0]],
        [[1.0, 0.84, 0.76, 0.25], [1.0, 1.00, 1.00, 0.46], [0.39, 0.46, 0.55, 1.0]],
    ]
)


@register_jitable
def sort_by_mates(hand, universal):
    """All cards but those without a mate in a hand, as three sets: with one mate, with several, and in melds with the hand."""
    melds = in_melds(hand, universal) | outs(hand, universal)
    up, down = above(hand, universal), below(hand, universal)
    one = up
    several = up & down
    one |= down
    for second in (above(up & ~ACES, universal), below(down & ~ACES, universal)):  # no run goes around the corner
        several |= one & second
        one |= second
    for suits in range(1, 4):
        same_rank = ((hand << np.uint64(IN_SUIT * suits)) | (hand >> np.uint64(IN_SUIT * (4 - suits)))) & FULL
        several |= one & same_rank
        one |= same_rank
    return one & ~several & ~melds, several & ~melds, melds


@register_jitable
def weigh_choices(cards, one, several, melds, factors):
    """The product of the factors of ``cards`` about which one kind of choice was made."""
    product = 1.0
    for _ in range(popcount(cards & ~(one | several | melds))):  # not a power: that would be rounded differently when compiled
        product *= factors[0]
    for _ in range(popcount(cards & one)):
        product *= factors[ONE_MATE]
    for _ in range(popcount(cards & several)):
        product *= factors[SEVERAL_MATES]
    for _ in range(popcount(cards & melds)):
        product *= factors[WHOLE_MELD]
    return product


@register_jitable
def likelihood(s, seat):
    """How likely everybody's choices but those of ``seat`` are, if the hands are those of ``s``.

    It is the product of ``FACTORS[s.pile, choice, mates]`` over the other seats, their choices, and the cards that each seat
    last discarded or declined, or took and still holds. ``mates`` says what the card finds in the hand of that seat. The
    product is at most 1 and never 0: for all 52 cards and three seats it is at least 1e-156.
    """
    product = 1.0
    for other in range(s.players):
        if other != seat:
            one, several, melds = sort_by_mates(np.uint64(s.hands[other]), s.aces == UNIVERSAL)
            discarded, declined, _ = sort_choices(s, other)
            product *= weigh_choices(discarded, one, several, melds, FACTORS[s.pile, DISCARDED])
            product *= weigh_choices(declined, one, several, melds, FACTORS[s.pile, DECLINED])
            product *= weigh_choices(np.uint64(s.known[other]), one, several, melds, FACTORS[s.pile, TAKEN])
    return product
