"""What is said about illegal actions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from card_envs.engine.match_arrays import Rows
from card_envs.engine.matches import Matches


def explain_illegal(matches: Matches, rows: Rows, actions: NDArray[np.int64] | None = None) -> str:
    """Return an error message for rows whose ``actions`` are illegal, by default those that the matches would carry out.

    It lists what is legal in the first of them.
    """
    row = int(rows[0])
    seat, index = int(matches.to_move[row]), int(matches.actions[row] if actions is None else actions[0])
    legal = [matches.game.action_string(int(a), seat, matches.players) for a in np.flatnonzero(matches.action_mask[row])]
    name = matches.game.action_string(index, seat, matches.players) if 0 <= index < matches.num_actions else "no action"
    listed = ", ".join(str(i) for i in rows[:10]) + (" …" if len(rows) > 10 else "")
    return (
        f"illegal action in row{'s' * (len(rows) > 1)} {listed}: in row {row} seat {seat} is to move, {index} is"
        f" {name!r}; legal are {', '.join(legal)}"
    )


def find_illegal_candidates(matches: Matches, rows: Rows, candidates: NDArray[np.int64]) -> tuple[Rows, NDArray[np.int64]]:
    """Return those of the rows with an illegal action among their ``candidates`` [n, C], and the first such action of each.

    A negative candidate stands for no action, so it is not illegal.
    """
    legal = matches.mask[rows[:, None], candidates % matches.num_actions] != 0
    illegal = (candidates >= 0) & ~(legal & (candidates < matches.num_actions))
    wrong = np.flatnonzero(illegal.any(axis=1))
    return rows[wrong], candidates[wrong, illegal[wrong].argmax(axis=1)]
