"""A player that searches: it tries its actions in many worlds that it thinks possible, and plays the one that does best."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.engine import search as engine
from card_envs.engine.checks import check_choice, check_count
from card_envs.engine.game import Game, OptionValue, Policy
from card_envs.engine.matches import Matches
from card_envs.engine.messages import shorten
from card_envs.engine.parameters import LARGEST_PARAMETER, Parameters
from card_envs.engine.search import ADVANTAGE, VALUE, Searches, Settings, count_rounds, estimate
from card_envs.engine.searching import SearchRun
from card_envs.players.player import Bindable, Decisions, Particular
from card_envs.players.spec import resolve_bindable

ROLLOUTS = 400  # the default budget
CAUTION = 1.0
NO_WIDTH = 2**31 - 1  # of a search that tries all legal actions
DEFAULTS = {
    "rollouts": None, "milliseconds": None, "policy": None, "until": "deal", "value": None, "width": None, "caution": CAUTION,
    "beliefs": True,
}  # fmt: skip
MOST_ROLLOUTS = 10**9  # for a decision
MOST_ROWS = 1024  # that are searched at once, so that memory stays small
GROWTH = 4  # how many times as many worlds are sampled next as have been, at most, before the clock is looked at again


@dataclass(frozen=True)
class Analysis:
    """What a search has found at one decision.

    The values are in what a play-out pays (see :class:`Search`). A figure is NaN where nothing was tried, and a standard error
    infinite where there are too few worlds to tell.

    Attributes:
        actions: The legal actions, int64 [C].
        values: What each of them is worth, the mean over the worlds, float64 [C].
        errors: The standard errors of the values, float64 [C].
        advantages: How much better than the usual action each of them is, in the same worlds, float64 [C].
        advantage_errors: The standard errors of the advantages, float64 [C].
        rollouts: How often each was played, int64 [C].
        usual: The action that the playing policy would choose.
        chosen: The action that the search chooses.
        worlds: The number of worlds.
        effective_worlds: How many worlds of equal weight tell as much: the effective sample size. It is NaN if nothing was
            searched, because only one action is legal.
    """

    actions: NDArray[np.int64]
    values: NDArray[np.float64]
    errors: NDArray[np.float64]
    advantages: NDArray[np.float64]
    advantage_errors: NDArray[np.float64]
    rollouts: NDArray[np.int64]
    usual: int
    chosen: int
    worlds: int
    effective_worlds: float


class Search(Particular):
    """A player that tries its legal actions in worlds that it thinks possible, and plays on by a fast policy.

    A *world* deals anew what the player cannot know. The same worlds, decks and random choices serve all actions, so that luck
    hardly influences the comparison. In some games worlds count more the better they explain what the others have done. The
    budget is spent by sequential halving, and the best action is played if it is clearly better than what the policy itself
    would choose.

    Args:
        rollouts: The number of play-outs for a decision, about; by default 400. Each round of the halving plays at least two
            worlds. The choice depends on nothing but the row and its key.
        milliseconds: Instead of ``rollouts``, the time for a decision. The choice then depends on the machine and its load.
        policy: The player that plays on in all seats: the spec of a built-in player, the path of a checkpoint, or such a
            player. By default it is the default opponent of the game.
        until: Whether to play on to the end of the ``"deal"`` or of the ``"match"``.
        value: What the end of a deal is worth: the ``"margin"`` of its scores, or what the ``"match"`` is expected to pay from
            there on, which not every game knows. By default the latter where the game knows it.
        width: How many actions are tried at most: those to which ``policy``, which must be a network, gives the highest scores.
            By default all legal ones.
        caution: By how many standard errors an action must be better than the one that the policy would choose.
        beliefs: Whether to weight worlds by the likelihood of what the others have done, where the game knows it.

    Raises:
        ValueError: An argument is not allowed.
    """

    stateless = True

    def __init__(
        self,
        rollouts: int | None = None,
        *,
        milliseconds: float | None = None,
        policy: str | Bindable | None = None,
        until: str = "deal",
        value: str | None = None,
        width: int | None = None,
        caution: float = CAUTION,
        beliefs: bool = True,
    ) -> None:
        if rollouts is not None and milliseconds is not None:
            raise ValueError("rollouts and milliseconds: only one of them can be given")
        self.milliseconds = None if milliseconds is None else _check_number("milliseconds", milliseconds)
        if self.milliseconds == 0.0:
            raise ValueError("milliseconds = 0: allowed is a number above 0")
        self.rollouts = ROLLOUTS if rollouts is None else check_count("rollouts", rollouts)
        if self.rollouts > MOST_ROLLOUTS:
            raise ValueError(f"rollouts = {shorten(rollouts)}: allowed is a whole number up to {MOST_ROLLOUTS}")
        if policy is not None and not isinstance(policy, str | Bindable):
            raise ValueError(f"policy = {shorten(policy)}: a built-in player or a network is expected")
        self.policy = policy
        self.until = check_choice("until", until, ("deal", "match"))
        self.value = None if value is None else check_choice("value", value, ("margin", "match"))
        self.width = NO_WIDTH if width is None else min(check_count("width", width, least=2), NO_WIDTH)
        self.caution = _check_number("caution", caution)
        if not isinstance(beliefs, bool):
            raise ValueError(f"beliefs = {shorten(beliefs)}: allowed is True or False")
        self.beliefs = beliefs
        given = {
            "rollouts": rollouts, "milliseconds": milliseconds, "policy": policy, "until": until, "value": value,
            "width": width, "caution": caution, "beliefs": beliefs,
        }  # fmt: skip
        differing = [f"{name}={given[name]!r}" for name, usual in DEFAULTS.items() if given[name] != usual]
        self.name = f"search({', '.join(differing)})" if differing else "search"
        self._forget_players()

    def _forget_players(self) -> None:
        self._players: dict[tuple[str, str], Bindable] = {}  # by the game and its options
        self._lock = threading.Lock()  # a network may be bound for one game at a time

    @property
    def batch_invariant(self) -> bool:
        """Whether choices do not depend on which other rows are asked for."""
        return self.milliseconds is None

    def check(self, game: Game, options: Mapping[str, OptionValue]) -> None:
        """Raise ``ValueError`` unless this search is possible in this game with these options."""
        self._bind(game, options)

    def _bind(self, game: Game, options: Mapping[str, OptionValue]) -> tuple[Policy, Parameters, Settings]:
        key = game.id, repr(dict(options))
        with self._lock:
            if key not in self._players:
                self._players[key] = resolve_bindable(self.policy or game.default_opponent, game, options)
            policy, parameters = self._players[key].bind(game, options)
        if self.width != NO_WIDTH and not policy.form:
            raise ValueError(f"width = {self.width}: {policy.name} gives actions no scores; a network is expected as policy")
        if self.value == "match" and game.match_value is None:
            raise ValueError(f"value = 'match': {game.name} does not know what a match is worth between two deals")
        worth = engine.WIN
        if self.until == "deal":
            worth = engine.MARGIN if self.value == "margin" or game.match_value is None else engine.MATCH_VALUE
        weighted = self.beliefs and game.likelihood is not None
        return policy, parameters, Settings(self.width, worth, weighted, self.caution, game.score_scale(options))

    def act(self, decisions: Decisions) -> NDArray[np.int64]:
        """Choose an action for every decision, by search if there is more than one."""
        actions: NDArray[np.int64] = decisions.action_mask.argmax(axis=1)
        for which, searches in self._search(decisions):
            actions[which] = searches.candidates[searches.rows, searches.chosen]
        return actions

    def analyse(self, decisions: Decisions) -> list[Analysis]:
        """Return what the search finds at every decision. It is the same search by which :meth:`act` chooses."""
        found = [_analyse_forced(int(mask.argmax())) for mask in decisions.action_mask]
        for which, searches in self._search(decisions):
            for n, decision in enumerate(which.tolist()):
                found[decision] = _analyse(searches, n)
        return found

    def _search(self, decisions: Decisions) -> list[tuple[NDArray[np.int64], Searches]]:
        """Return the searches of all decisions with several legal actions, each with the numbers of its decisions."""
        policy, parameters, settings = self._bind(decisions.game, decisions.options)
        searched = np.flatnonzero(decisions.action_mask.sum(axis=1) > 1)
        parts = [searched[first : first + MOST_ROWS] for first in range(0, len(searched), MOST_ROWS)]
        return [(part, self._run(decisions.copies(part), decisions.key[part], policy, parameters, settings)) for part in parts]

    def _run(
        self, copies: Matches, keys: NDArray[np.uint64], policy: Policy, parameters: Parameters, settings: Settings
    ) -> Searches:
        run = SearchRun(copies, keys, policy, parameters, settings)
        if self.milliseconds is None:
            run.run_all(engine.WHOLE, self.rollouts)
        else:
            for n in range(len(keys)):
                run_by_clock(run, slice(n, n + 1), self.milliseconds / 1000.0)
        return run.searches

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_players", "_lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget_players()

    def __repr__(self) -> str:
        return f"<player {self.name}>"


def run_by_clock(run: SearchRun, part: slice, seconds: float) -> None:
    """Search one decision, and give each round of the halving the same share of the time."""
    run.run(engine.BEGIN, 0, part)  # this also compiles the loop, if need be, before the clock is started
    rounds = count_rounds(int(run.searches.left[part].sum()))
    start = now = perf_counter()
    for number in range(rounds):
        if number > 0:
            run.run(engine.HALVE, 0, part)
        end = start + seconds * (number + 1) / rounds
        began, done, worlds = now, 0, engine.FEWEST
        while worlds > 0:
            run.run(engine.SAMPLE, worlds, part)
            now = perf_counter()
            done += worlds
            worlds = min(GROWTH * done, int((end - now) * done / (now - began))) if now > began else worlds
    run.run(engine.DECIDE, 0, part)


def _analyse(searches: Searches, n: int) -> Analysis:
    actions = searches.candidates[n]
    actions = actions[actions >= 0]
    sums = searches.sums[n, : len(actions)]
    usual = searches.usual[n]
    tried = sums[:, engine.COUNT] > 0
    figures = np.full((4, len(actions)), np.nan)
    for c in np.flatnonzero(tried):
        figures[:, c] = *estimate(sums[c], VALUE), *estimate(sums[c], ADVANTAGE)
    figures[2:, usual] = 0.0
    values, errors, advantages, advantage_errors = figures
    return Analysis(
        actions=actions,
        values=values,
        errors=errors,
        advantages=advantages,
        advantage_errors=advantage_errors,
        rollouts=sums[:, engine.COUNT].astype(np.int64),
        usual=int(actions[usual]),
        chosen=int(actions[searches.chosen[n]]),
        worlds=int(searches.worlds[n]),
        effective_worlds=float(sums[usual, engine.WEIGHT] ** 2 / sums[usual, engine.SQUARES]),
    )


def _analyse_forced(action: int) -> Analysis:
    """The analysis of a decision with one legal action, which is not searched."""
    nothing = np.full(1, np.nan)
    return Analysis(np.array([action]), nothing, nothing, nothing, nothing, np.zeros(1, np.int64), action, action, 0, np.nan)


def _check_number(what: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LARGEST_PARAMETER:
        raise ValueError(f"{what} = {shorten(value)}: allowed is a number from 0 to 1e9")
    return float(value)
