"""How searches are run over the rows of many matches."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.engine.compiled import load_loop
from card_envs.engine.game import Policy
from card_envs.engine.matches import Matches
from card_envs.engine.networks import copy_parameters
from card_envs.engine.parameters import Parameters
from card_envs.engine.pool import share
from card_envs.engine.search import Searches, Settings, make_conceal_loop, make_search_loop, prepare_searches

PLAY_OUTS_PER_THREAD = 64  # with fewer, waking a thread costs more than it saves


def conceal(matches: Matches) -> None:
    """Resample what the seat to move cannot know in every row, from the root key of the row, and forget given decks."""
    load_loop(matches.game, matches.interpreted, make_conceal_loop)(matches.arrays)
    matches.later_orders.forget()
    matches.refresh()


class SearchRun:
    """One search at a decision in every row of some matches.

    Attributes:
        searches: The decisions and what has been seen of their candidates.

    Args:
        matches: Matches in which what the seats to move cannot know has been dealt anew: see :func:`conceal`.
        keys: The random stream of each row, uint64 [size].
        policy: The policy that plays on in all seats.
        parameters: The parameters of the policy.
        settings: How the search is made.
    """

    def __init__(
        self, matches: Matches, keys: NDArray[np.uint64], policy: Policy, parameters: Parameters, settings: Settings
    ) -> None:
        self.searches: Searches = prepare_searches(keys, matches.list_legal(matches.rows))
        self._matches = matches
        self._parameters = copy_parameters(parameters)
        self._settings = settings
        self._loop: Any = load_loop(matches.game, matches.interpreted, make_search_loop, policy)
        self._orders = matches.later_orders.to_arrays()
        self._scratch = matches.gather(matches.rows[:1]).arrays

    def run(self, task: int, amount: int = 0, part: slice = slice(None)) -> None:
        """Carry out a task of :func:`card_envs.engine.search.make_search_loop` for some of the decisions."""
        self._run(task, amount, part, self._scratch, self._parameters)

    def run_all(self, task: int, amount: int) -> None:
        """Carry out a task for all decisions, which the threads of the matches share."""
        matches = self._matches
        threads = (
            1 if matches.interpreted else min(matches.threads, matches.size, matches.size * amount // PLAY_OUTS_PER_THREAD)
        )

        def work(part: slice) -> None:
            scratch = matches.gather(matches.rows[:1]).arrays
            self._run(task, amount, part, scratch, copy_parameters(self._parameters))

        share(work, matches.size, 1 if matches.interpreted else threads)

    def _run(self, task: int, amount: int, part: slice, scratch: Any, parameters: Parameters) -> None:
        self._loop(
            self._matches.arrays, scratch, self.searches.select(part), task, amount, self._settings, parameters, self._orders
        )
