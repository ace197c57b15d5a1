"""The fields of the flat observation: how a game declares them, and where they are."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Field:
    """A named part of the flat observation.

    ``observation[slice].reshape(shape) * scale`` are the original numbers, except that ``observation`` is clipped to
    ``low`` … ``high``.
    """

    slice: slice
    shape: tuple[int, ...]
    scale: float
    low: float
    high: float
    meaning: str


@dataclass(frozen=True)
class FieldSpec:
    """A field as a game declares it, for any number of players and any options."""

    name: str
    shape: tuple[int | str, ...]  # "players" stands for the number of players, "others" for one less
    meaning: str
    scale: float | str = 1.0  # a number, or the name of the option that is the scale
    low: float = 0.0
    high: float = 1.0


def lay_out_fields(specs: Iterable[FieldSpec], options: Mapping[str, bool | int | str]) -> dict[str, Field]:
    """Return the fields of an observation for these options, by name and one after the other."""
    fields: dict[str, Field] = {}
    lengths = {**options, "others": int(options["players"]) - 1}
    start = 0
    for spec in specs:
        shape = tuple(int(lengths[n]) if isinstance(n, str) else n for n in spec.shape)
        scale = float(options[spec.scale]) if isinstance(spec.scale, str) else spec.scale
        size = int(np.prod(shape, dtype=int))
        fields[spec.name] = Field(slice(start, start + size), shape, scale, spec.low, spec.high, spec.meaning)
        start += size
    return fields


def locate_fields(specs: Iterable[FieldSpec]) -> tuple[Any, Any]:
    """Return where each field begins, for functions that write an observation.

    Returns:
        Two named tuples of ints, ``first`` and ``per_player``, with the names of the fields. Field ``name`` begins at
        ``first.name + per_player.name * players``. Fields up to the first that grows with the number of players have
        ``per_player`` 0, so they begin at ``first.name``. The compiler treats both as constants and can therefore vectorise
        loops over a field.

    Raises:
        TypeError: A field grows with anything but the number of players.
    """
    names, first, per_player = [], [], []
    constant, multiple = 0, 0
    for spec in specs:
        symbols = [n for n in spec.shape if isinstance(n, str)]
        if symbols not in ([], ["players"], ["others"]):
            raise TypeError(f"field {spec.name}: its shape may name 'players' or 'others' once, it names {', '.join(symbols)}")
        names.append(spec.name)
        first.append(constant)
        per_player.append(multiple)
        size = int(np.prod([n for n in spec.shape if isinstance(n, int)], dtype=int))
        if symbols:
            multiple += size
        if symbols == ["others"]:
            constant -= size
        elif not symbols:
            constant += size
    offsets = namedtuple("offsets", names)  # type: ignore[misc]
    return offsets(*first), offsets(*per_player)
