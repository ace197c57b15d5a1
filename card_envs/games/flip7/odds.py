"""Exact odds of the next card, from what everybody sees."""

from numba.extending import register_jitable

from card_envs.games.flip7.state import BUSTED, FIRST_MODIFIER, KINDS, SEVEN, THIRTEEN, UNLUCKY_7


@register_jitable
def count_next(s, kind):
    """How many cards of ``kind`` the next card is drawn from: the deck, or the discard pile when that is empty (F7)."""
    return s.unseen[kind] if s.drawn < s.deck_size else s.discard[kind]


@register_jitable
def count_cards(s):
    """How many cards the next one is drawn from."""
    cards = s.deck_size - s.drawn
    if cards == 0:
        for kind in range(KINDS):
            cards += s.discard[kind]
    return cards


@register_jitable
def count_numbers(s):
    """How many number cards the next card is drawn from."""
    numbers = 0
    for kind in range(FIRST_MODIFIER):
        numbers += count_next(s, kind)
    return numbers


@register_jitable
def count_busting(s, seat):
    """How many of the cards to come would bust ``seat`` as its next card (F22, F28, F30); 0 for a busted player."""
    if s.status[seat] == BUSTED:
        return 0
    busting = 0
    for i in range(s.void[seat], s.length[seat]):
        card = s.cards[seat, i]
        if card <= THIRTEEN:  # Lucky 13 alone allows another 13; modifiers never bust
            busting += count_next(s, card)
        elif card == UNLUCKY_7:
            busting += count_next(s, SEVEN)
    return busting
