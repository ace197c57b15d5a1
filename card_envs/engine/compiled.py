"""Loops, compiled by numba and cached on disk, or interpreted.

numba's cache does not notice an edit in another module, and it keeps all loops that one factory makes in a single index file,
which it writes without a lock: two games could run each other's machine code. Therefore each loop's name holds the game and a
digest of the code that it compiles, so that every version of a game's rules has an index of its own.

Machine code from the cache is linked by the names of its functions: module, qualified name, and a number that starts anew in
every process. Functions made by one factory (``player.<locals>.choose``) share a name, so that those compiled in different
processes could be mistaken for each other. They too get a digest of their code into their names.
"""

from __future__ import annotations

import sys
import threading
import types
import warnings
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from typing import Any, cast

import numba
import numpy as np
from numba.core import event

from card_envs.engine import loops
from card_envs.engine.game import Game, Policy
from card_envs.engine.loops import Arrays, Loop
from card_envs.engine.rows import Rows

config: Any = numba.config  # its attributes are made at run time
NAMING = 3  # how functions are named: raise it, and nothing that was compiled before is used
OPT_LEVEL = 2  # compiles faster than numba's 3, and on these rules runs faster too


def _is_ours(value: Any) -> bool:
    return isinstance(value, types.ModuleType) and value.__name__.startswith("card_envs")


def collect_functions(roots: tuple[Any, ...]) -> list[types.FunctionType]:
    """Return these functions and, recursively, all functions that they name or close over."""
    return _walk(roots)[0]


def hash_code(roots: tuple[Any, ...]) -> str:
    """Hash the code of these functions and, recursively, of all functions, arrays and constants that they name."""
    return _walk(roots)[1]


def tell_apart(roots: tuple[Any, ...]) -> None:
    """Give every function that a factory made, among those that ``roots`` run, a name of its own."""
    for function in collect_functions(roots):
        if function.__qualname__.endswith(f".<locals>.{function.__name__}"):  # not yet renamed
            function.__qualname__ += f".{hash_code((function,))}"


def _walk(roots: tuple[Any, ...]) -> tuple[list[types.FunctionType], str]:
    """Return all functions that these lead to, and the hash of their code and constants."""
    state = sha256(repr((NAMING, numba.__version__, config.BOUNDSCHECK, OPT_LEVEL)).encode())
    functions: dict[int, types.FunctionType] = {}

    def add(value: Any) -> None:
        if isinstance(value, types.FunctionType):
            if id(value) in functions:
                return
            functions[id(value)] = value
            add(value.__code__)
            names = value.__code__.co_names
            for name in names:
                if name in value.__globals__:
                    state.update(name.encode())
                    held = value.__globals__[name]
                    add([vars(held).get(inner) for inner in names] if _is_ours(held) else held)
            for cell in value.__closure__ or ():
                add(cell.cell_contents)
        elif isinstance(value, types.CodeType):
            state.update(value.co_code + repr((value.co_names, value.co_varnames)).encode())
            for constant in value.co_consts:
                add(constant)
        elif isinstance(value, list | tuple):
            for item in (*getattr(value, "_fields", ()), *value):  # code names the fields of a named tuple, not their places
                add(item)
        elif isinstance(value, frozenset):
            add(sorted(value, key=repr))
        elif isinstance(value, np.ndarray):
            state.update(value.tobytes() + repr(value.dtype).encode())
        elif isinstance(value, int | float | complex | str | bytes | None | np.generic | np.dtype):
            state.update(repr(value).encode())

    for root in roots:
        add(root)
    return list(functions.values()), state.hexdigest()[:12]


class _Announcer(event.Listener):
    """Tells the user once for each loop that it is being compiled, since a cold start takes seconds."""

    def __init__(self, what: str) -> None:
        self.what = what

    def on_start(self, event: event.Event) -> None:
        if self.what:
            print(f"card_envs: compiling {self.what} (once; the result is cached) …", file=sys.stderr, flush=True)
            self.what = ""

    def on_end(self, event: event.Event) -> None:
        pass


def _jit(function: Callable[..., Any]) -> Any:
    try:
        return numba.njit(cache=True, nogil=True)(function)
    except RuntimeError as error:  # nowhere to write a cache (a read-only container without a home)
        warnings.warn(f"card_envs cannot cache its compiled code ({error}); every process compiles anew", stacklevel=4)
        return numba.njit(nogil=True)(function)


def compile_loop(game: Game, loop: Loop) -> Callable[..., Any]:
    """Return the loop, which compiles at its first call, for that call's types and no others."""
    function = loop.function
    tell_apart(loop.rules)
    function.__qualname__ = f"{game.name}.{loop.name}.{hash_code((function, *loop.rules))}"
    dispatcher = _jit(function)

    lock = threading.Lock()
    ready = False

    def call(*arguments: Any) -> Any:
        nonlocal ready
        if ready:
            return dispatcher(*arguments)
        with lock:
            level = config.OPT
            config.OPT = type(level)(OPT_LEVEL)
            try:
                with event.install_listener("numba:compile", _Announcer(f"{game.name}.{loop.name}")):
                    result = dispatcher(*arguments)
            finally:
                config.OPT = level
            dispatcher.disable_compile()  # another type would compile for seconds, silently: a TypeError instead
            ready = True
            return result

    def entry() -> Callable[..., Any] | None:
        return next(iter(dispatcher.overloads.values())).entry_point if ready else None

    call.entry = entry  # type: ignore[attr-defined]
    return call


def unwrap(loop: Callable[..., Any]) -> Callable[..., Any]:
    """Return the machine code of a loop, without numba's dispatch on types, which costs more than a step.

    It is to be called with arguments of exactly the types that the loop has had before. A loop that has not been called yet,
    or has no machine code, is returned as it is.
    """
    return getattr(loop, "entry", lambda: None)() or loop


def interpret_loop(loop: Loop) -> Callable[..., Any]:
    """Return the same function in plain Python, over rows of Python integers: slow, checked, easy to step through."""
    function = loop.function

    def interpreted(arrays: Arrays, *arguments: Any) -> Any:
        rows = arrays._replace(states=cast(Any, Rows(arrays.states)), template=cast(Any, Rows(arrays.template)))
        with np.errstate(over="ignore"):  # uint64 arithmetic wraps around on purpose
            return function(rows, *arguments)

    return interpreted


class Loops:
    """A game's loops, each compiled when it is first called; :func:`load_loops` makes one object for each game and mode."""

    def __init__(self, game: Game, compiled: bool) -> None:
        self._game = game
        self._make = (lambda loop: compile_loop(game, loop)) if compiled else interpret_loop
        self.step = self._make(loops.step_loop(game))
        self.observe = self._make(loops.observe_loop(game))
        self.derive = self._make(loops.derive_loop())
        self.redeal = self._make(loops.redeal_loop(game))
        self.count = self._make(loops.count_loop(game))
        self.sort = self._make(loops.sort_loop(game))
        self._by_policy: dict[tuple[Any, str], Callable[..., Any]] = {}

    def _make_for(self, factory: Callable[[Game, Policy], Loop], policy: str) -> Callable[..., Any]:
        key = factory, policy
        if key not in self._by_policy:
            self._by_policy[key] = self._make(factory(self._game, self._game.policy(policy)))
        return self._by_policy[key]

    def choose(self, policy: str) -> Callable[..., Any]:
        return self._make_for(loops.choose_loop, policy)

    def playout(self, policy: str) -> Callable[..., Any]:
        return self._make_for(loops.playout_loop, policy)

    def rollout(self, policy: str) -> Callable[..., Any]:
        return self._make_for(loops.rollout_loop, policy)


@cache
def load_loops(game: Game, compiled: bool = True) -> Loops:
    """Return the game's loops, compiled or interpreted."""
    return Loops(game, compiled)
