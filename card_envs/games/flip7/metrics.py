"""What players of Flip 7 are measured by, beside who wins."""

from card_envs.engine.game import Metric
from card_envs.engine.jitable import register_jitable
from card_envs.games.flip7.state import ACTION_DRAW, BUSTED, FLIPPED

COUNTS = ("rounds", "points", "squares", "busts", "flips", "draws", "reached", "rounds_to_target")
ROUNDS, POINTS, SQUARES, BUSTS, FLIPS, DRAWS, REACHED, ROUNDS_TO_TARGET = range(8)

METRICS = (
    Metric("bust %", "rounds that ended in a bust", lambda c: 100 * c["busts"] / c["rounds"]),
    Metric("flip 7 %", "rounds that the player ended by a Flip 7", lambda c: 100 * c["flips"] / c["rounds"]),
    Metric("round mean", "points of a round", lambda c: c["points"] / c["rounds"]),
    Metric(
        "round sd", "standard deviation of the points of a round",
        lambda c: (c["squares"] / c["rounds"] - (c["points"] / c["rounds"]) ** 2) ** 0.5,
    ),
    Metric("draws/round", "draws on their own turns in a round", lambda c: c["draws"] / c["rounds"]),
    Metric(
        "rounds to target", "rounds of the matches in which the player reached the target",
        lambda c: c["rounds_to_target"] / c["reached"],
    ),
)  # fmt: skip


@register_jitable
def count_action(s, action, counts):
    """The seat to move is about to play ``action``; ``counts`` [players, len(COUNTS)] are by seat."""
    counts[s.to_move, DRAWS] += action == ACTION_DRAW


@register_jitable
def count_deal(s, counts):
    """A round has just ended; the next may have been dealt."""
    for seat in range(s.players):
        points = s.scores[seat]
        counts[seat, ROUNDS] += 1
        counts[seat, POINTS] += points
        counts[seat, SQUARES] += points * points
        counts[seat, BUSTS] += s.last_status[seat] == BUSTED
        counts[seat, FLIPS] += s.last_status[seat] == FLIPPED
        if s.over and s.totals[seat] >= s.target:
            counts[seat, REACHED] += 1
            counts[seat, ROUNDS_TO_TARGET] += s.finished
