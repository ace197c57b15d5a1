"""Arrays as bytes, and states as rows of plain Python integers for interpreted runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

States = NDArray[np.void]


def view_bytes(array: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the memory of a contiguous array as one row of bytes."""
    return array.view(np.uint8).reshape(-1)


def copy_rows(states: States, rows: Any = slice(None)) -> States:
    """Return a copy of the rows. Opaque records are copied ten times faster than records field by field."""
    opaque = states.view(f"V{states.dtype.itemsize}")
    return cast(States, opaque[rows].copy().view(states.dtype))


def copy_bytes(arrays: Iterable[NDArray[Any]]) -> list[bytes]:
    """Return the bytes of each array, for :func:`restore_bytes`."""
    return [array.tobytes() for array in arrays]


def restore_bytes(arrays: Sequence[NDArray[Any]], data: Sequence[bytes]) -> None:
    """Write what :func:`copy_bytes` returned back into the arrays.

    Raises:
        ValueError: The bytes are those of other arrays.
    """
    if [len(part) for part in data] != [array.nbytes for array in arrays]:
        raise ValueError("the saved state belongs to another game, size or version")
    for array, part in zip(arrays, data, strict=True):
        view_bytes(array)[:] = np.frombuffer(part, np.uint8)


def from_bytes(data: bytes, dtype: np.dtype[np.void]) -> States:
    """Return the states in these bytes. Their memory is writable, as numba would compile again for a read-only array."""
    if len(data) % dtype.itemsize:
        raise ValueError(f"{len(data)} bytes are not a whole number of states of {dtype.itemsize} bytes")
    return np.frombuffer(bytearray(data), dtype)


class Row:
    """One state as plain Python integers. :func:`make_row_class` makes the subclass of a game.

    Unlike in compiled code, a value out of the range of its field raises ``ValueError``, and an index out of bounds raises
    ``IndexError``.
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
    """An array of states whose items are :class:`Row` objects, as interpreted loops need them."""

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
    """Return one state as a :class:`Row` that reads and writes the memory of ``states``."""
    return make_row_class(states.dtype)(states, index)  # type: ignore[call-arg]
