"""What players of Pis Yedili are measured by, beside who wins."""

from card_envs.engine.game import NOBODY, Metric
from card_envs.engine.jitable import register_jitable
from card_envs.games.deck import IN_SUIT, JACK, SEVEN
from card_envs.games.pis_yedili.rules import PENALTY
from card_envs.games.pis_yedili.state import ACTION_DRAW, ACTION_TAKE

COUNTS = ("deals", "points", "drawn", "penalty", "outs", "sevens", "jacks", "stock_outs")
DEALS, POINTS, DRAWN, PENALTIES, OUTS, SEVENS, JACKS, STOCK_OUTS = range(8)

METRICS = (
    Metric("points/deal", "penalty points of a deal (P25)", lambda c: c["points"] / c["deals"]),
    Metric("goes out %", "deals that the player ended by an empty hand", lambda c: 100 * c["outs"] / c["deals"]),
    Metric("with a 7 %", "deals that the player ended with a 7: points × 3 (P23)", lambda c: 100 * c["sevens"] / c["deals"]),
    Metric("with a J %", "deals that the player ended with a jack: points × 2 (P23)", lambda c: 100 * c["jacks"] / c["deals"]),
    Metric("stock out %", "deals that ended with the stock (P24)", lambda c: 100 * c["stock_outs"] / c["deals"]),
    Metric("drawn/deal", "cards drawn in a deal, not counting those of the sevens", lambda c: c["drawn"] / c["deals"]),
    Metric("penalty cards/deal", "cards taken for sevens in a deal (P14)", lambda c: c["penalty"] / c["deals"]),
)  # fmt: skip


@register_jitable
def count_action(s, action, counts):
    """The seat to move is about to play ``action``; ``counts`` [players, len(COUNTS)] are by seat."""
    if action == ACTION_DRAW:
        counts[s.to_move, DRAWN] += 1
    elif action == ACTION_TAKE:
        counts[s.to_move, PENALTIES] += min(PENALTY * s.sevens, s.deck_size - s.drawn)  # P17


@register_jitable
def count_deal(s, counts):
    """A deal has just ended; the next may have been dealt."""
    for seat in range(s.players):
        counts[seat, DEALS] += 1
        counts[seat, POINTS] += s.scores[seat]
        counts[seat, STOCK_OUTS] += s.last_out == NOBODY
        if s.last_out == seat:
            rank = s.last_card % IN_SUIT
            counts[seat, OUTS] += 1
            counts[seat, SEVENS] += rank == SEVEN
            counts[seat, JACKS] += rank == JACK
