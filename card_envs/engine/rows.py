"""States as bytes, and as plain Python rows for interpreted runs."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

States = NDArray[np.void]


def raw(states: States) -> NDArray[np.void]:
    """The same memory as opaque bytes: copying, gathering and comparing this is 10 times faster than field by field."""
    return states.view(f"V{states.dtype.itemsize}")


def copy(states: States, rows: Any = slice(None)) -> States:
    """A copy of the rows, byte for byte."""
    return cast(States, raw(states)[rows].copy().view(states.dtype))


def from_bytes(data: bytes, dtype: np.dtype[np.void]) -> States:
    """States from their bytes, writable (a read-only array is another type to numba: it would compile again)."""
    if len(data) % dtype.itemsize:
        raise ValueError(f"{len(data)} bytes are no whole number of states of {dtype.itemsize} bytes")
    return np.frombuffer(bytearray(data), dtype)


class Row:
    """One state as plain Python integers; subclasses are made by :func:`row_class`.

    A write out of a field's range raises ``ValueError``, an index out of bounds ``IndexError``; compiled code does neither.
    """

    __slots__ = ("bytes",)
    bytes: memoryview


def row_class(dtype: np.dtype[np.void]) -> type[Row]:
    """A class whose instances read and write one state of ``dtype`` through memoryviews."""
    names = dtype.names or ()
    namespace: dict[str, Any] = {"__slots__": tuple(f"_{name}" for name in names)}

    def scalar(slot: str) -> property:
        def get(self: Row) -> int:
            return cast(int, getattr(self, slot)[0])

        def put(self: Row, value: int) -> None:
            getattr(self, slot)[0] = value

        return property(get, put)

    def array(slot: str) -> property:
        return property(lambda self: getattr(self, slot))

    for name in names:
        namespace[name] = array(f"_{name}") if dtype[name].shape else scalar(f"_{name}")

    def init(self: Row, states: States, index: int) -> None:
        one = states[index : index + 1]
        self.bytes = one.view(np.uint8).data
        for name in names:
            view = one[name]
            setattr(self, f"_{name}", (view[0] if dtype[name].shape else view).data)

    namespace["__init__"] = init
    return type("StateRow", (Row,), namespace)


class Rows:
    """An array of states that hands out :class:`Row` objects: what the loops run over when interpreted."""

    def __init__(self, states: States) -> None:
        self.states = states
        self._class = row_class(states.dtype)
        self._rows: dict[int, Row] = {}

    def __len__(self) -> int:
        return len(self.states)

    def __getitem__(self, index: int) -> Row:
        index = int(index)
        if index not in self._rows:
            self._rows[index] = self._class(self.states, index)  # type: ignore[call-arg]
        return self._rows[index]

    def __setitem__(self, index: int, row: Row) -> None:
        self[index].bytes[:] = row.bytes
