"""Words for error messages."""

from __future__ import annotations

import reprlib

_shortened = reprlib.Repr()
_shortened.maxstring = _shortened.maxother = _shortened.maxlong = 100


def shorten(value: object) -> str:
    """Return ``repr(value)`` on one line, cut short in its middle if it is long: a message quotes what it refuses."""
    try:
        return " ".join(_shortened.repr(value).split("\n"))
    except (ValueError, RecursionError):  # an integer of thousands of digits
        return f"<{type(value).__name__}>"
