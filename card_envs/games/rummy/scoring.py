"""What a deal of Rummy scores, from the points that were laid and those that were left in the hands."""

from card_envs.engine.jitable import register_jitable
from card_envs.games.rummy.state import EACH, LAID, NEGATIVE


@register_jitable
def score_deal(s):
    """R22–R28: the scores of the deal that has just ended."""
    if s.scoring == LAID:  # R22, R23
        for seat in range(s.players):
            s.scores[seat] = s.last_laid[seat] - s.last_caught[seat]
    elif s.scoring == NEGATIVE:  # R28
        for seat in range(s.players):
            s.scores[seat] = s.last_caught[seat]
    else:
        score_positive(s)


@register_jitable
def score_positive(s):
    """R24–R26: the lowest hands share the others' hands, less their own; R24 is the case of an empty hand."""
    lowest = s.last_caught[0]
    for seat in range(1, s.players):
        lowest = min(lowest, s.last_caught[seat])
    pool = 0
    winners = 0
    for seat in range(s.players):
        points = s.last_caught[seat]
        if points == lowest:
            winners += 1
        elif s.settle == EACH:
            pool += points - lowest
        else:
            pool += points
    if winners == s.players:
        pool = 0
    elif s.settle != EACH:
        pool -= lowest
    for seat in range(s.players):
        s.scores[seat] = pool // winners if s.last_caught[seat] == lowest else 0
