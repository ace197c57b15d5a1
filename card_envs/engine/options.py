"""The options of a game."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from card_envs.engine.messages import shorten

OptionValue = bool | int | str
Options = Mapping[str, OptionValue]


@dataclass(frozen=True)
class Option:
    """One row of a game's option table. The state has a field of the same name that holds its value.

    An option is a flag (``default`` is a bool), a number from ``low`` to ``high`` (``default`` is an int), or one of
    ``choices`` (``default`` is a str, and the state holds its index).
    """

    name: str
    default: OptionValue
    meaning: str
    low: int = 0
    high: int = 0
    choices: tuple[str, ...] = ()

    @property
    def allowed(self) -> str:
        """The allowed values, in words."""
        if isinstance(self.default, bool):
            return "true or false"
        if self.choices:
            return " or ".join(self.choices)
        return f"{self.low} … {self.high}"

    @property
    def bounds(self) -> tuple[int, int]:
        """The least and the greatest value that the state holds."""
        if isinstance(self.default, bool):
            return 0, 1
        return (0, len(self.choices) - 1) if self.choices else (self.low, self.high)

    @property
    def dtype(self) -> type[np.integer[Any]]:
        """The type of the state's field."""
        return np.int8 if self.bounds[1] <= np.iinfo(np.int8).max else np.int32

    def check(self, value: object) -> OptionValue:
        """Return ``value`` as the type of this option.

        Raises:
            ValueError: The value is not allowed. The message names the option and the allowed values.
        """
        if isinstance(self.default, bool):
            if isinstance(value, bool | np.bool_):
                return bool(value)
        elif self.choices:
            if isinstance(value, str) and value in self.choices:
                return value
        elif isinstance(value, int | np.integer) and not isinstance(value, bool) and self.low <= value <= self.high:
            return int(value)
        raise ValueError(f"option {self.name} = {shorten(value)}: allowed is {self.allowed}")

    def read(self, text: str) -> OptionValue:
        """Return the text as the type of this option. Text that cannot be read stays as it is, and :meth:`check` refuses it."""
        if isinstance(self.default, bool):
            return {"true": True, "false": False}.get(text.lower(), text)
        if isinstance(self.default, int):
            try:
                return int(text)
            except ValueError:
                return text
        return text

    def encode(self, value: OptionValue) -> int:
        """Return the number that stands for ``value`` in the state."""
        return self.choices.index(str(value)) if self.choices else int(value)

    def decode(self, stored: int) -> OptionValue:
        """Return the value that a number in the state stands for."""
        if self.choices:
            return self.choices[stored]
        return bool(stored) if isinstance(self.default, bool) else int(stored)
