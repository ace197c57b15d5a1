"""The French deck of the references: the names of the 52 cards and their order."""

RANKS, SUITS = "A23456789TJQK", "cdhs"
CARDS = [rank + suit for suit in SUITS for rank in RANKS]  # the canonical order, in which hands are sorted too


def canonical(cards: list[str]) -> list[str]:
    """The cards, sorted by suit, then rank."""
    return sorted(cards, key=CARDS.index)
