"""How rules are handed to numba."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import extending

Rule = TypeVar("Rule", bound=Callable[..., Any])


def register_jitable(function: Rule) -> Rule:
    """Let compiled code call a function, which stays a plain one for everybody else.

    numba's own decorator also compiles an entry for callers in C, which no rule has. That would be a tenth of the time that
    compiling takes.
    """
    registered: Rule = extending.register_jitable(no_cfunc_wrapper=True)(function)
    return registered
