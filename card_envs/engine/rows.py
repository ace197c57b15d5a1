"""States as bytes, and as rows of plain Python integers for interpreted runs."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

States = NDArray[np.void]


def view_bytes(array: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the memory of a contiguous array as one row of bytes."""
    return array.view(np.uint8).reshape(-1)


def copy_rows(states: States, rows: Any = slice(None)) -> States:
    """Return a copy of the rows, byte for byte: as opaque records they are copied ten times faster than field by field."""
    opaque = states.view(f"V{states.dtype.itemsize}")
    return cast(States, opaque[rows].copy().view(states.dtype))


def from_bytes(data: bytes, dtype: np.dtype[np.void]) -> States:
    """Return the states that these bytes hold, in writable memory: numba would compile again for a read-only array."""
    if len(data) % dtype.itemsize:
        raise ValueError(f"{len(data)} bytes are no whole number of states of {dtype.itemsize} bytes")
    return np.frombuffer(bytearray(data), dtype)


class Row:
    """One state as plain Python integers; :func:`make_row_class` makes the subclass of a game.

    Writing a value out of a field's range raises ``ValueError`` and an index out of bounds ``IndexError``, unlike in compiled
    code.
    """

    __slots__ = ("bytes",)
    bytes: memoryview


def make_row_class(dtype: np.dtype[np.void]) -> type[Row]:
    """Return a class whose instances read and write one state of ``dtype`` through memoryviews."""
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
    """An array of states that hands out :class:`Row` objects: what the loops run over when they are interpreted."""

    def __init__(self, states: States) -> None:
        self.states = states
        self._class = make_row_class(states.dtype)
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


def open_row(states: States, index: int = 0) -> Any:
    """Return one state as a :class:`Row`, which reads and writes the memory of ``states``."""
    return make_row_class(states.dtype)(states, index)  # type: ignore[call-arg]
