"""What players of Rummy are measured by, beside who wins."""

from card_envs.engine.game import Metric
from card_envs.engine.jitable import register_jitable
from card_envs.games.rummy.state import ACTION_DISCARD, ACTION_TAKE

COUNTS = ("deals", "laid", "caught", "outs", "takes", "taken")
DEALS, LAID, CAUGHT, OUTS, TAKES, TAKEN = range(6)

METRICS = (
    Metric("goes out %", "deals that the player ended by an empty hand (R17)", lambda c: 100 * c["outs"] / c["deals"]),
    Metric("laid/deal", "points laid in a deal", lambda c: c["laid"] / c["deals"]),
    Metric("caught/deal", "points left in hand at the end of a deal", lambda c: c["caught"] / c["deals"]),
    Metric("takes/deal", "times that the player took from the pile in a deal (R6, R8)", lambda c: c["takes"] / c["deals"]),
    Metric("cards/take", "cards that the player took each time", lambda c: c["taken"] / c["takes"]),
)


@register_jitable
def count_action(s, action, counts):
    """The seat to move is about to play ``action``; ``counts`` [players, len(COUNTS)] are by seat."""
    if ACTION_TAKE <= action < ACTION_DISCARD:
        counts[s.to_move, TAKES] += 1
        for i in range(s.pile_size - 1, -1, -1):
            counts[s.to_move, TAKEN] += 1
            if s.discards[i] == action - ACTION_TAKE:
                break


@register_jitable
def count_deal(s, counts):
    """A deal has just ended; the next may have been dealt."""
    for seat in range(s.players):
        counts[seat, DEALS] += 1
        counts[seat, LAID] += s.last_laid[seat]
        counts[seat, CAUGHT] += s.last_caught[seat]
        counts[seat, OUTS] += s.last_caught[seat] == 0
