"""The contract between a game and the engine: what a game gives, and the words both use.

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

from card_envs.engine.picture import Picture

Rule = Callable[..., Any]
OptionValue = bool | int | str
Options = Mapping[str, OptionValue]
Deck = Sequence[str] | Sequence[Sequence[str]] | None  # a given order, or one for each deal


class IllegalAction(ValueError):  # noqa: N818 (the name is public)
    """An action that the rules do not allow now. Nothing has changed."""


def unknown(what: str, name: object, known: Iterable[str]) -> ValueError:
    """The error for a name that is not in ``known``: it names the nearest one, and all that are allowed."""
    names = list(known)
    near = difflib.get_close_matches(str(name), names, n=1, cutoff=0.5)
    hint = f" – did you mean {near[0]!r}?" if near else ""
    return ValueError(f"unknown {what} {name!r}{hint} (known: {', '.join(names)})")


@dataclass(frozen=True)
class Option:
    """One row of a game's option table. It is stored in the state's field of the same name.

    An option is a flag (``default`` a bool), a number from ``low`` to ``high`` (``default`` an int), or one of ``choices``
    (``default`` a str; the state holds its index).
    """

    name: str
    default: OptionValue
    meaning: str
    low: int = 0
    high: int = 0
    choices: tuple[str, ...] = ()

    @property
    def allowed(self) -> str:
        if isinstance(self.default, bool):
            return "true or false"
        if self.choices:
            return " or ".join(self.choices)
        return f"{self.low} … {self.high}"

    def check(self, value: object) -> OptionValue:
        """``value`` as this option's type; ``ValueError`` that names the option and what is allowed."""
        if isinstance(self.default, bool):
            if isinstance(value, bool | np.bool_):
                return bool(value)
        elif self.choices:
            if isinstance(value, str) and value in self.choices:
                return value
        elif isinstance(value, int | np.integer) and not isinstance(value, bool) and self.low <= value <= self.high:
            return int(value)
        raise ValueError(f"option {self.name} = {value!r}: allowed is {self.allowed}")

    def read(self, text: str) -> OptionValue:
        """The text as this option's type where it can be read so; :meth:`check` refuses the rest."""
        if isinstance(self.default, bool):
            return {"true": True, "false": False}.get(text.lower(), text)
        if isinstance(self.default, int):
            try:
                return int(text)
            except ValueError:
                return text
        return text

    def encode(self, value: OptionValue) -> int:
        return self.choices.index(str(value)) if self.choices else int(value)

    def decode(self, stored: int) -> OptionValue:
        if self.choices:
            return self.choices[stored]
        return bool(stored) if isinstance(self.default, bool) else int(stored)


@dataclass(frozen=True)
class Field:
    """A named part of the flat observation: ``observation[slice].reshape(shape) * scale`` are the plain figures.

    ``low`` and ``high`` bound the scaled values, which are clipped to them.
    """

    slice: slice
    shape: tuple[int, ...]
    scale: float
    low: float
    high: float
    meaning: str


@dataclass(frozen=True)
class FieldSpec:
    """How a game declares an observation field; ``scale`` may be the name of an option."""

    name: str
    shape: tuple[int | str, ...]  # "players" stands for their number
    meaning: str
    scale: float | str = 1.0
    low: float = 0.0
    high: float = 1.0


def layout(specs: Iterable[FieldSpec], options: Options) -> dict[str, Field]:
    """The fields of an observation, laid one after the other."""
    fields: dict[str, Field] = {}
    start = 0
    for spec in specs:
        shape = tuple(int(options[n]) if isinstance(n, str) else n for n in spec.shape)
        scale = float(options[spec.scale]) if isinstance(spec.scale, str) else spec.scale
        size = int(np.prod(shape, dtype=int))
        fields[spec.name] = Field(slice(start, start + size), shape, scale, spec.low, spec.high, spec.meaning)
        start += size
    return fields


@dataclass(frozen=True)
class Policy:
    """A compiled built-in player.

    ``choose(state, seat, words, key, parameters) -> action``: ``words`` is the action mask viewed as uint64, ``key`` the
    stream of this decision, ``parameters`` a float64 array. It may use only what the seat may know. ``defaults`` names the
    parameters and gives their defaults. A policy that does not look at ``words`` says so: playouts then make no masks.
    """

    name: str
    choose: Rule
    meaning: str
    defaults: Mapping[str, float] = field(default_factory=dict)
    reads_mask: bool = True


@dataclass(frozen=True)
class Metric:
    """A figure that players of a game are measured by, beside who wins.

    ``value`` makes it of sums of the game's counts, by name, float64 arrays of any one shape; NaN where nothing was counted.
    """

    name: str
    meaning: str
    value: Callable[[Mapping[str, Any]], Any]


# Fields that every state has; the engine reads and writes no others, but for the options.
COMMON_FIELDS = {
    "key": "the key of this match's shuffles",
    "to_move": "the seat to move, -1 when over",
    "phase": "index into Game.phases",
    "over": "0 or 1",
    "truncated": "1 if cut off by a technical cap (then over too)",
    "single_deal": "1 if the match is over after its first deal (episode='deal')",
    "deal": "number of the deal, from 1",
    "dealer": "seat of the dealer",
    "finished": "deals finished",
    "totals": "per seat",
    "scores": "per seat, of the deal finished last",
    "deck": "the cards' indices; deck[drawn:deck_size] are still to come",
    "drawn": "index of the next card",
    "deck_size": "end of the deck",
    "ordered": "cards given for the top of the next deck: in `deck`, or, of a game that shuffles for every deal, in `order`",
}


@dataclass(frozen=True, eq=False)
class Game:
    """Everything that a game gives to the engine.

    The rule functions, all over one state: ``init(state)`` deals (options, ``key`` and a given order are already in it),
    ``step(state, action)`` plays a legal action up to the next decision, ``action_mask(state, mask)`` sets the bytes of the
    legal actions in a cleared mask, ``observe(state, seat, observation)`` writes what ``seat`` knows, every value of it,
    ``redeal(state, seat, key)`` resamples what ``seat`` cannot know and replaces the state's key. For :attr:`metrics`,
    ``count_action(state, action, counts)`` adds to ``counts`` [players, len(count_names)] what the seat to move is about to
    do, and ``count_deal(state, counts)`` what is to be said of a deal that has just ended.
    """

    module: str  # the game's package, where it stands as GAME
    name: str
    title: str
    version: int
    summary: str
    options: tuple[Option, ...]
    cards: tuple[str, ...]  # names by index
    copies: tuple[int, ...]  # of each in the full deck
    phases: tuple[str, ...]
    state_dtype: np.dtype[np.void]
    init: Rule
    step: Rule
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
    action_index: Callable[[str, int, int], int | None]  # (string, seat, players); None if it is no action at all
    details: Callable[[Any, Options], dict[str, Any]]  # the game's own keys of Table.state()
    ending: Callable[[Any], str]  # in words, how the deal finished last has ended
    score_scale: Callable[[Options], float]  # of reward="score"; negative where the lowest total wins
    presets: Mapping[str, Options]  # option ``variant`` -> values of other options; empty where there are none
    policies: tuple[Policy, ...]
    aliases: Mapping[str, str]  # spec -> spec, as "risk24" -> "risk(.24)"
    default_opponent: str
    bounds: Mapping[str, tuple[int, int]]  # of each state field: what a foreign state must keep to be safe
    check: Callable[[Any], str | None]  # what is wrong with a foreign state within the bounds, if anything
    picture: Callable[[dict[str, Any]], Picture]  # of Table.state() or view()

    def __post_init__(self) -> None:
        names = self.state_dtype.names or ()
        missing = [name for name in [*COMMON_FIELDS, *(o.name for o in self.options)] if name not in names]
        if missing:
            raise TypeError(f"{self.name}: the state lacks {', '.join(missing)}")
        # copies of structured arrays skip padding, so a state with gaps would not be its bytes
        if sum(self.state_dtype[name].itemsize for name in names) != self.state_dtype.itemsize:
            raise TypeError(f"{self.name}: the state's dtype has gaps; order its fields by item size and pad the end")
        if self.options[0].name != "players":
            raise TypeError(f"{self.name}: the first option must be players")

    def __reduce__(self) -> tuple[Any, ...]:
        return _import_game, (self.module,)  # functions of rules are not pickled: the game is found again by its name

    @property
    def id(self) -> str:
        """The versioned name, as ``flip7_v0``."""
        return f"{self.name}_v{self.version}"

    @property
    def players(self) -> range:
        """The numbers of players that can sit at a table."""
        return range(self.options[0].low, self.options[0].high + 1)

    def policy(self, name: str) -> Policy:
        """The built-in policy of this name; ``ValueError`` names those that there are."""
        for policy in self.policies:
            if policy.name == name:
                return policy
        raise unknown(f"policy of {self.name}", name, [policy.name for policy in self.policies])

    def resolve(self, options: Options) -> dict[str, OptionValue]:
        """All options with their values; ``variant`` names a preset. ``ValueError`` for one that is unknown or out of range."""
        table = {option.name: option for option in self.options}
        given = dict(options)
        preset: Options = {}
        if self.presets and "variant" in given:
            variant = given.pop("variant")
            if variant not in self.presets:
                raise unknown(f"variant of {self.name}", variant, self.presets)
            preset = self.presets[str(variant)]
        for name in given:
            if name not in table:
                raise unknown(f"option of {self.name}", name, self.option_names)
        values = {**preset, **given}
        return {name: option.check(values.get(name, option.default)) for name, option in table.items()}

    def read_options(self, words: Iterable[str], players: int | None = None) -> dict[str, Any]:
        """``["brutal=true"]`` → ``{"brutal": True}``, checked; ``ValueError`` names what is wrong and what is allowed."""
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
        """name → :class:`Field` of the flat observation for these options."""
        return layout(self.observation_specs, self.resolve(options or {}))

    def observation_size(self, options: Options | None = None) -> int:
        return int(max(field.slice.stop for field in self.observation_fields(options).values()))

    @property
    def shuffles_every_deal(self) -> bool:
        """Whether each deal has a deck of its own: then an order can be given for each, in the state's field ``order``."""
        return "order" in (self.state_dtype.names or ())

    def deck_orders(self, deck: Deck) -> list[list[int]]:
        """The given orders of a match's decks, checked: indices of the named cards, none if ``deck`` is ``None``.

        ``ValueError`` names a card too many or unknown.
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

    def _order(self, names: Sequence[Any]) -> list[int]:
        if isinstance(names, str) or not all(isinstance(name, str) for name in names):
            raise ValueError(f"deck: {names!r} stands where a list of card names is expected")
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
