"""The contract between a game and the engine: what a game gives, and the words that both use.

A game is a folder under ``card_envs/games/`` whose ``__init__.py`` holds one :class:`Game`. Its rules are plain functions
over one *state*, a row of a structured NumPy dtype, decorated with :func:`numba.extending.register_jitable`: the engine
runs the same functions interpreted, or compiled over many rows.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from card_envs.engine.actions import index_actions
from card_envs.engine.deals import CUT_OFF, DECIDED, GOES_ON, Rule, compose_rules
from card_envs.engine.messages import shorten
from card_envs.engine.observation import Field, FieldSpec, lay_out_fields, locate_fields
from card_envs.engine.options import Option, Options, OptionValue
from card_envs.engine.picture import Picture
from card_envs.engine.state import COMMON_FIELDS, MOST_DEALS, NOBODY, StateField, lay_out_state

# All that a game imports of the engine stands here, in ``random`` (randomness and sets of bits) and in ``picture``.
__all__ = [
    "CUT_OFF", "DECIDED", "GOES_ON", "MOST_DEALS", "NOBODY", "Deck", "Field", "FieldSpec", "Game", "IllegalAction", "Metric",
    "Option", "OptionValue", "Options", "Policy", "Rule", "StateField", "index_actions", "lay_out_state", "locate_fields",
    "unknown",
]  # fmt: skip

Deck = Sequence[str] | Sequence[Sequence[str]] | None  # a given order, or one for each deal


class IllegalAction(ValueError):  # noqa: N818 (the name is public)
    """An action that the rules do not allow now. Nothing has changed."""


def unknown(what: str, name: object, known: Iterable[str]) -> ValueError:
    """The error for a name that is not in ``known``: it names the nearest one, and all that are allowed."""
    names = list(known)
    near = difflib.get_close_matches(str(name), names, n=1, cutoff=0.5)
    hint = f" – did you mean {near[0]!r}?" if near else ""
    return ValueError(f"unknown {what} {shorten(name)}{hint} (known: {', '.join(names)})")


@dataclass(frozen=True)
class Policy:
    """A compiled built-in player.

    Args:
        name: The name by which it is asked for.
        choose: ``choose(state, seat, words, key, parameters) -> action``. ``words`` is the action mask viewed as uint64,
            ``key`` (uint64) the stream of this decision, ``parameters`` a float64 array. It may use only what the
            seat may know.
        meaning: How it plays, in words.
        defaults: The names of the parameters, in order, and their default values.
        reads_mask: Whether it looks at ``words``. If not, playouts make no masks.
    """

    name: str
    choose: Rule
    meaning: str
    defaults: Mapping[str, float] = field(default_factory=dict)
    reads_mask: bool = True


@dataclass(frozen=True)
class Metric:
    """A figure that players of a game are measured by, beside who wins.

    Args:
        name: The name of its column.
        meaning: What it is, in words.
        value: Makes it of sums of the game's counts, which are float64 arrays of any one shape by name; NaN where nothing
            was counted.
    """

    name: str
    meaning: str
    value: Callable[[Mapping[str, Any]], Any]


# Where Game.from_package finds what a game gives: in which of the game's modules, and by what name.
PIECES = {
    "state": {
        "options": "OPTIONS", "presets": "PRESETS", "cards": "CARDS", "copies": "COPIES", "phases": "PHASES", "layout": "STATE",
        "num_actions": "num_actions", "action_string": "action_string", "action_index": "action_index",
    },
    "rules": {
        "begin_deal": "begin_deal", "step": "step", "judge_match": "judge_match", "action_mask": "action_mask",
        "redeal": "redeal",
    },
    "observation": {"observation_specs": "FIELDS", "observe": "observe"},
    "metrics": {"count_names": "COUNTS", "metrics": "METRICS", "count_action": "count_action", "count_deal": "count_deal"},
    "policies": {"policies": "POLICIES", "aliases": "ALIASES"},
    "text": {"details": "details", "ending": "ending", "picture": "picture", "check": "check"},
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Game:
    """Everything that a game gives to the engine. :meth:`from_package` makes it of the modules of the game's folder.

    The rules are functions over one state. ``init(state)`` deals; options, ``key`` and a given order are already in the state.
    ``step(state, action)`` plays a legal action up to the next decision. ``action_mask(state, mask)`` sets the bytes of the
    legal actions in a cleared mask. ``observe(state, seat, observation)`` writes every value of what ``seat`` knows.
    ``redeal(state, seat, key)`` resamples what ``seat`` cannot know and replaces the state's key. For :attr:`metrics`,
    ``count_action(state, action, counts)`` adds to ``counts`` [players, len(count_names)] what the seat to move is about to
    do, and ``count_deal(state, counts)`` what there is to count of a deal that has just ended.
    """

    module: str  # the game's package, which holds this object as GAME
    name: str
    title: str
    version: int
    summary: str
    options: tuple[Option, ...]
    cards: tuple[str, ...]  # names by index
    copies: tuple[int, ...]  # of each card in the full deck
    phases: tuple[str, ...]
    state_dtype: np.dtype[np.void]
    init: Rule
    step: Rule
    judge_match: Rule
    action_mask: Rule
    observe: Rule
    redeal: Rule
    count_action: Rule
    count_deal: Rule
    count_names: tuple[str, ...]
    metrics: tuple[Metric, ...]
    num_actions: Callable[[int], int]  # of the number of players
    observation_specs: tuple[FieldSpec, ...]
    action_string: Callable[[int, int, int], str]  # (index, seat, players)
    action_index: Callable[[str, int, int], int | None]  # (string, seat, players); None if it is not an action
    details: Callable[[Any, Options], dict[str, Any]]  # the game's own keys of Table.state()
    ending: Callable[[Any], str]  # how the deal that was finished last ended, in words
    score_scale: Callable[[Options], float]  # of reward="score"; negative where the lowest total wins
    presets: Mapping[str, Options]  # option ``variant`` -> values of other options; empty where there are none
    policies: tuple[Policy, ...]
    aliases: Mapping[str, str]  # spec -> spec, as "risk24" -> "risk(.24)"
    default_opponent: str
    bounds: Mapping[str, tuple[int, int]]  # least and greatest value of state fields: a state from outside must keep them
    check: Callable[[Any], str | None]  # what is wrong with a state from outside that keeps the bounds, if anything
    picture: Callable[[dict[str, Any]], Picture]  # of Table.state() or Table.view(seat)

    @classmethod
    def from_package(
        cls,
        package: str,
        *,
        name: str,
        title: str,
        version: int,
        summary: str,
        default_opponent: str,
        score_scale: Callable[[Options], float],
    ) -> Game:
        """The game of a package: its functions and tables are collected from its modules by their names (:data:`PIECES`).

        Args:
            package: The game's ``__name__``.
            name, title, version, summary: What the game is called, and its one line in the list of games.
            default_opponent: The built-in policy that a learner meets by default.
            score_scale: The scale of ``reward="score"`` for given options; negative where the lowest total wins.

        Raises:
            ModuleNotFoundError: A module is missing.
            TypeError: A function or table is missing; the message names it, and a name that may be a misspelling of it.
        """
        pieces: dict[str, Any] = {}
        for module_name, names in PIECES.items():
            module = importlib.import_module(f"{package}.{module_name}")
            for attribute, piece in names.items():
                if not hasattr(module, piece):
                    near = difflib.get_close_matches(piece, vars(module), n=1)
                    hint = f"; is {near[0]} meant to be it?" if near else ""
                    raise TypeError(f"{name}: {module.__name__} has no {piece}{hint}")
                pieces[attribute] = getattr(module, piece)
        layout = pieces.pop("layout")
        begin_deal, step = pieces.pop("begin_deal"), pieces.pop("step")
        init, play = compose_rules(begin_deal, step, pieces["judge_match"], over=len(pieces["phases"]) - 1)
        return cls(
            module=package,
            name=name,
            title=title,
            version=version,
            summary=summary,
            default_opponent=default_opponent,
            score_scale=score_scale,
            state_dtype=layout.dtype,
            bounds=layout.bounds,
            init=init,
            step=play,
            **pieces,
        )

    def __post_init__(self) -> None:
        names = self.state_dtype.names or ()
        missing = [name for name in [*COMMON_FIELDS, *(o.name for o in self.options)] if name not in names]
        if missing:
            raise TypeError(f"{self.name}: the state lacks {', '.join(missing)}")
        # NumPy does not copy the padding of structured arrays, so a state with gaps would be more than its fields
        if sum(self.state_dtype[name].itemsize for name in names) != self.state_dtype.itemsize:
            raise TypeError(f"{self.name}: the state's dtype has gaps; order its fields by item size and pad the end")
        if self.options[0].name != "players":
            raise TypeError(f"{self.name}: the first option must be players")
        if self.phases[-1] != "over":
            raise TypeError(f"{self.name}: the last phase must be over")

    def __reduce__(self) -> tuple[Any, ...]:
        return _import_game, (self.module,)  # rules are not pickled: the game is imported again by its name

    @property
    def id(self) -> str:
        """The versioned name, as ``flip7_v0``."""
        return f"{self.name}_v{self.version}"

    @property
    def players(self) -> range:
        """The numbers of players that can sit at a table."""
        return range(self.options[0].low, self.options[0].high + 1)

    def policy(self, name: str) -> Policy:
        """The built-in policy of this name.

        Raises:
            ValueError: There is none; the message names those that there are.
        """
        for policy in self.policies:
            if policy.name == name:
                return policy
        raise unknown(f"policy of {self.name}", name, [policy.name for policy in self.policies])

    def resolve(self, options: Options) -> dict[str, OptionValue]:
        """Return all options with their values, of those given and the defaults; ``variant`` names a preset.

        Raises:
            ValueError: An option is unknown, or its value is not allowed.
        """
        table = {option.name: option for option in self.options}
        given = dict(options)
        preset: Options = {}
        if self.presets and "variant" in given:
            variant = given.pop("variant")
            if not isinstance(variant, str) or variant not in self.presets:
                raise unknown(f"variant of {self.name}", variant, self.presets)
            preset = self.presets[variant]
        for name in given:
            if name not in table:
                raise unknown(f"option of {self.name}", name, self.option_names)
        values = {**preset, **given}
        return {name: option.check(values.get(name, option.default)) for name, option in table.items()}

    def read_options(self, words: Iterable[str], players: int | None = None) -> dict[str, Any]:
        """Options from words such as ``brutal=true`` (→ ``{"brutal": True}``), checked.

        Raises:
            ValueError: A word is not an option; the message names what is wrong and what is allowed.
        """
        table = {option.name: option for option in self.options}
        options: dict[str, Any] = {} if players is None else {"players": players}
        for word in words:
            name, equals, value = word.partition("=")
            if not equals:
                raise ValueError(
                    f"option {word!r}: expected is NAME=VALUE, as {self.options[-1].name}={self.options[-1].default}"
                )
            if name not in self.option_names:
                raise unknown(f"option of {self.name}", name, self.option_names)
            if name in options:
                raise ValueError(f"option {name} is given twice")
            options[name] = table[name].read(value) if name in table else value
        self.resolve(options)
        return options

    @property
    def option_names(self) -> list[str]:
        """The keywords that :meth:`resolve` knows."""
        return [*(option.name for option in self.options), *(["variant"] if self.presets else [])]

    def observation_fields(self, options: Options | None = None) -> dict[str, Field]:
        """The fields of the flat observation for these options, by name."""
        return lay_out_fields(self.observation_specs, self.resolve(options or {}))

    def observation_size(self, options: Options | None = None) -> int:
        """The number of values of an observation for these options."""
        return int(max(field.slice.stop for field in self.observation_fields(options).values()))

    @property
    def shuffles_every_deal(self) -> bool:
        """Whether each deal is dealt from a new deck. Then an order can be given for each, in the state's field ``order``."""
        return "order" in (self.state_dtype.names or ())

    def deck_orders(self, deck: Deck) -> list[list[int]]:
        """The orders that are given for a match's decks, as indices of the named cards; empty if ``deck`` is ``None``.

        Raises:
            ValueError: A card is unknown, or is named more often than the deck holds it.
        """
        if deck is None:
            return []
        if isinstance(deck, str) or not isinstance(deck, Sequence):
            raise ValueError(f"deck = {deck!r}: a list of card names is expected")
        if not any(isinstance(part, Sequence) and not isinstance(part, str) for part in deck):
            return [self._order(deck)]
        if not self.shuffles_every_deal:
            raise ValueError(f"deck: {self.name} has one deck for all deals; one list of card names is expected")
        return [self._order(part) for part in deck]

    def _order(self, names: object) -> list[int]:
        if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
            raise ValueError(f"deck: {shorten(names)} stands where a list of card names is expected")
        left = dict(zip(self.cards, self.copies, strict=True))
        order = []
        for name in names:
            if name not in left:
                raise unknown("card", name, self.cards)
            if left[name] == 0:
                count = self.copies[self.cards.index(name)]
                raise ValueError(f"deck: {name!r} is named more than {count} time{'s' * (count != 1)}; the deck holds no more")
            left[name] -= 1
            order.append(self.cards.index(name))
        return order


def _import_game(module: str) -> Game:
    game = importlib.import_module(module).GAME
    if not isinstance(game, Game):
        raise TypeError(f"{module}.GAME is no Game")
    return game
