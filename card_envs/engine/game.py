"""The contract between a game and the engine.

A game is a folder under ``card_envs/games/`` whose ``__init__.py`` holds a :class:`Game`. Its rules are plain functions of one
*state*, a row of a structured NumPy dtype. They are decorated with :func:`~card_envs.engine.jitable.register_jitable`, so that
the engine can run the same functions interpreted, or compiled over many rows.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np

from card_envs.engine.actions import index_actions
from card_envs.engine.deals import CUT_OFF, DECIDED, GOES_ON, Rule, compose_rules
from card_envs.engine.messages import shorten
from card_envs.engine.observation import Field, FieldSpec, lay_out_fields, locate_fields
from card_envs.engine.options import Option, Options, OptionValue
from card_envs.engine.picture import Picture
from card_envs.engine.state import COMMON_FIELDS, MOST_DEALS, NOBODY, StateField, lay_out_state

# A game imports from the engine only what stands here, in ``random`` (randomness and sets of bits) and in ``picture``.
__all__ = [
    "CUT_OFF", "DECIDED", "GOES_ON", "MOST_DEALS", "NOBODY", "Deck", "Field", "FieldSpec", "Game", "IllegalAction", "Metric",
    "Option", "OptionValue", "Options", "Policy", "Rule", "StateField", "UnexpectedKeyword", "check_keywords", "index_actions",
    "lay_out_state", "locate_fields", "unknown",
]  # fmt: skip

Deck = Sequence[str] | Sequence[Sequence[str]] | None  # the given order of a deck, or one for each deal


class IllegalAction(ValueError):  # noqa: N818 (the name is public)
    """An action that the rules do not allow now. Nothing has changed."""


class UnexpectedKeyword(TypeError, ValueError):  # noqa: N818 (it is named after Python's own message)
    """A keyword that a function does not have.

    It is a ``TypeError`` in Python's words, since libraries try keywords that an environment may have and look for these words,
    and a ``ValueError``, as for every other wrong argument.
    """


def unknown(what: str, name: object, known: Iterable[str]) -> ValueError:
    """Return an error for a name that is not in ``known``. Its message suggests the nearest name and lists all of them."""
    return ValueError(f"unknown {what} {shorten(name)}{_suggest(name, list(known))}")


def check_keywords(function: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raise :class:`UnexpectedKeyword` for a keyword that is not in ``known``. The message names the function like Python."""
    names = list(known)
    for name in given:
        if name not in names:
            raise UnexpectedKeyword(f"{function}() got an unexpected keyword argument {shorten(name)}{_suggest(name, names)}")


def _suggest(name: object, names: list[str]) -> str:
    near = difflib.get_close_matches(name[:100] if isinstance(name, str) else "", names, n=1, cutoff=0.5)
    hint = f" – did you mean {near[0]!r}?" if near else ""
    return f"{hint} (known: {', '.join(names)})"


@dataclass(frozen=True, eq=False)
class Policy:
    """A compiled player.

    Args:
        name: The name of the player in specs.
        choose: ``choose(state, seat, words, key, parameters) -> action``. ``words`` is the action mask viewed as uint64,
            ``key`` (uint64) the random stream of this decision, and ``parameters`` a float64 array, or for a network
            :class:`~card_envs.engine.networks.NetworkParameters`. It may use only what the seat may know.
        meaning: How the player plays, in words.
        defaults: The names of the parameters, in order, and their default values; of a network, those of its teacher.
        reads_mask: Whether ``choose`` looks at ``words``. If it does not, playouts make no masks.
        form: What a network computes, ``"scorer"`` or ``"map"``; empty for a built-in policy.
        score: Of a network: ``score(state, seat, words, key, parameters) -> count``, which writes the legal actions and their
            scores into the parameters.
    """

    name: str
    choose: Rule
    meaning: str
    defaults: Mapping[str, float] = field(default_factory=dict)
    reads_mask: bool = True
    form: str = ""
    score: Rule | None = None


@dataclass(frozen=True)
class Metric:
    """A figure that describes the play of a game's players.

    Args:
        name: The name of the metric, which is the heading of its column.
        meaning: What it is, in words.
        value: Computes it from sums of the game's counts, float64 arrays of one shape by name. The result is NaN where nothing
            was counted.
    """

    name: str
    meaning: str
    value: Callable[[Mapping[str, Any]], Any]


# The module of a game and the name in it from which Game.from_package takes each attribute.
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
# Modules that a game may lack.
OPTIONAL_PIECES = {
    "features": {"action_feature_specs": "ACTION_FIELDS", "action_features": "action_features"},
    "beliefs": {"likelihood": "likelihood"},
    "race": {"match_value": "match_value"},
}


@dataclass(frozen=True, eq=False)
class Game:
    """Everything that a game gives to the engine. :meth:`from_package` makes it from the modules of the game's folder.

    The rules are functions of one state. ``init(state)`` deals; the options, ``key`` and any given order are in the state.
    ``step(state, action)`` plays a legal action up to the next decision. ``action_mask(state, mask)`` sets the bytes of the
    legal actions in a cleared mask. ``observe(state, seat, observation)`` writes every value of what ``seat`` knows.
    ``redeal(state, seat, key)`` resamples what ``seat`` cannot know and replaces the key of the state. For :attr:`metrics`,
    ``count_action(state, action, counts)`` adds the action that the seat to move is about to play to ``counts``
    [players, len(count_names)], and ``count_deal(state, counts)`` adds a deal that has just ended.

    A game may have features of actions. ``action_features(state, seat, words, actions, features)`` writes what ``actions[n]``
    does if ``seat``, which is to move, plays it, into ``features[n]``, which is all zero. An action below 0 leaves the zeros.
    ``words`` is the action mask viewed as uint64, as a :class:`Policy` gets it. Like ``observe``, it uses only what the seat
    knows.

    A game may say how far hands agree with what is known of everybody's choices. ``likelihood(state, seat)`` is a number above
    0, in proportion to how likely the choices of all seats but ``seat`` are, given the hands in ``state``.

    A game may say what a match is worth between two deals. ``match_value(state, seat)`` is what the match is expected to pay
    ``seat`` with ``reward="win"``, just after a deal has begun. It may use only what was known when the last one ended.
    """

    module: str  # the package of the game, which holds this object as GAME
    name: str
    title: str
    version: int
    summary: str
    options: tuple[Option, ...]
    cards: tuple[str, ...]  # the names of the cards by index
    copies: tuple[int, ...]  # how often each card is in the full deck
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
    num_actions: Callable[[int], int]  # (players)
    observation_specs: tuple[FieldSpec, ...]
    action_string: Callable[[int, int, int], str]  # (index, seat, players)
    action_index: Callable[[str, int, int], int | None]  # (string, seat, players); None if it is not an action
    details: Callable[[Any, Options], dict[str, Any]]  # the keys that only this game has in Table.state()
    ending: Callable[[Any], str]  # how the last finished deal ended, in words
    score_scale: Callable[[Options], float]  # the factor of reward="score", negative if the lowest total wins
    presets: Mapping[str, Options]  # the values of other options for each ``variant``
    policies: tuple[Policy, ...]
    aliases: Mapping[str, str]  # short specs and what they stand for, as "risk24" -> "risk(.24)"
    default_opponent: str
    bounds: Mapping[str, tuple[int, int]]  # the range of each state field in a record
    check: Callable[[Any], str | None]  # what else is wrong with a state from a record
    picture: Callable[[dict[str, Any]], Picture]  # made from Table.state() or Table.view(seat)
    action_feature_specs: tuple[FieldSpec, ...] = ()
    action_features: Rule | None = None
    likelihood: Rule | None = None
    match_value: Rule | None = None

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
        """Make the game of a package. Its functions and tables are collected from its modules by name (:data:`PIECES`).

        Args:
            package: The ``__name__`` of the package.
            name: The name of the game in Python, specs and ids.
            title: The name of the game for people.
            version: The version in the ids of its environments.
            summary: What the list of games says about it in one line.
            default_opponent: The built-in policy that a learner meets by default.
            score_scale: Returns the factor of ``reward="score"`` for given options, negative if the lowest total wins.

        Raises:
            ModuleNotFoundError: A module is missing.
            TypeError: A function or table is missing. The message names it, and a name that may be a misspelling of it.
        """
        pieces: dict[str, Any] = {}
        optional = {name: names for name, names in OPTIONAL_PIECES.items() if find_spec(f"{package}.{name}")}
        for module_name, names in (PIECES | optional).items():
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
        # NumPy does not copy the gaps of structured arrays, but states are compared and stored as bytes
        if sum(self.state_dtype[name].itemsize for name in names) != self.state_dtype.itemsize:
            raise TypeError(f"{self.name}: the state's dtype has gaps; order its fields by item size and pad the end")
        if self.options[0].name != "players":
            raise TypeError(f"{self.name}: the first option must be players")
        if self.phases[-1] != "over":
            raise TypeError(f"{self.name}: the last phase must be over")
        for spec in self.action_feature_specs:
            if any(isinstance(size, str) for size in spec.shape):
                raise TypeError(f"{self.name}: the action feature {spec.name} must have the same shape with any options")

    def __reduce__(self) -> tuple[Any, ...]:
        return _import_game, (self.module,)  # the rules cannot be pickled, so the game is imported again

    @property
    def id(self) -> str:
        """The versioned name, such as ``flip7_v0``."""
        return f"{self.name}_v{self.version}"

    @property
    def players(self) -> range:
        """The numbers of players that can sit at a table."""
        return range(self.options[0].low, self.options[0].high + 1)

    def policy(self, name: str | Policy) -> Policy:
        """Return the built-in policy of this name, or the policy itself.

        Raises:
            ValueError: There is none. The message lists the policies of the game.
        """
        if isinstance(name, Policy):
            return name
        for policy in self.policies:
            if policy.name == name:
                return policy
        raise unknown(f"policy of {self.name}", name, [policy.name for policy in self.policies])

    def resolve(self, options: Options) -> dict[str, OptionValue]:
        """Return the values of all options, from the given ones and the defaults. ``variant`` names a preset.

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
        """Read and check options from words: ``brutal=true`` becomes ``{"brutal": True}``.

        Raises:
            ValueError: A word is not an option. The message says what is wrong and what is allowed.
        """
        table = {option.name: option for option in self.options}
        options: dict[str, Any] = {} if players is None else {"players": players}
        for word in words:
            name, equals, value = word.partition("=")
            if not equals:
                raise ValueError(
                    f"option {word!r}: NAME=VALUE is expected, as in {self.options[-1].name}={self.options[-1].default}"
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
        """Return the fields of the flat observation for these options, by name."""
        return lay_out_fields(self.observation_specs, self.resolve(options or {}))

    def observation_size(self, options: Options | None = None) -> int:
        """Return the number of values in an observation for these options."""
        return int(max(field.slice.stop for field in self.observation_fields(options).values()))

    def action_fields(self, options: Options | None = None) -> dict[str, Field]:
        """Return the fields of an action's features, by name. Only their scales may depend on the options."""
        return lay_out_fields(self.action_feature_specs, self.resolve(options or {}))

    @property
    def action_feature_size(self) -> int:
        """The number of features of an action, 0 if the game has none."""
        return sum(field.slice.stop - field.slice.start for field in self.action_fields().values())

    @property
    def shuffles_every_deal(self) -> bool:
        """Whether each deal has a new deck. Then an order can be given for each deal, in the state field ``order``."""
        return "order" in (self.state_dtype.names or ())

    def read_deck(self, deck: Deck) -> list[list[int]]:
        """Return the given orders of a match's decks as indices of the named cards, or no orders if ``deck`` is ``None``.

        Raises:
            ValueError: A card is unknown, or is named more often than it is in the deck.
        """
        if deck is None:
            return []
        if isinstance(deck, str) or not isinstance(deck, Sequence):
            raise ValueError(f"deck = {deck!r}: a list of card names is expected")
        if not any(isinstance(part, Sequence) and not isinstance(part, str) for part in deck):
            return [self._read_order(deck)]
        if not self.shuffles_every_deal:
            raise ValueError(f"deck: {self.name} has one deck for all deals; one list of card names is expected")
        return [self._read_order(part) for part in deck]

    def _read_order(self, names: object) -> list[int]:
        if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
            raise ValueError(f"deck: a list of card names is expected instead of {shorten(names)}")
        left = dict(zip(self.cards, self.copies, strict=True))
        order = []
        for name in names:
            if name not in left:
                raise unknown("card", name, self.cards)
            if left[name] == 0:
                count = self.copies[self.cards.index(name)]
                raise ValueError(
                    f"deck: {name!r} is named more than {count} time{'s' * (count != 1)}, but the deck holds no more"
                )
            left[name] -= 1
            order.append(self.cards.index(name))
        return order


def _import_game(module: str) -> Game:
    game = importlib.import_module(module).GAME
    if not isinstance(game, Game):
        raise TypeError(f"{module}.GAME is not a Game")
    return game
