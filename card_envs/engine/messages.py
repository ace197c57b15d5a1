"""Words for error messages."""

from __future__ import annotations

import reprlib

_shortened = reprlib.Repr()
_shortened.maxstring = _shortened.maxother = _shortened.maxlong = 100


def join_lines(text: object) -> str:
    """Return a text, such as the message of another library's error, on one line of at most 300 characters."""
    line = " ".join(str(text).split())
    return line if len(line) <= 300 else f"{line[:299]}…"


def name_file(path: object) -> str:
    """Return a path as it is, or quoted and shortened if it would break the line or fill it."""
    text = str(path)
    return text if text.isprintable() and len(text) <= 300 else shorten(text)


def shorten(value: object) -> str:
    """Return ``repr(value)`` on one line, cut short in its middle if it is long: a message quotes what it refuses."""
    try:
        return " ".join(_shortened.repr(value).split("\n"))
    except (ValueError, RecursionError):  # an integer of thousands of digits
        return f"<{type(value).__name__}>"
