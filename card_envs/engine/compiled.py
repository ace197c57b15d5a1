"""Loops, compiled by numba and cached on disk, or interpreted.

numba's cache does not notice an edit in another module. It also keeps all loops made by one factory in a single index file,
which it writes without a lock, so two games could run each other's machine code. Therefore the name of each loop contains the
game and a digest of the compiled code, which gives every version of a game's rules an index of its own.

numba links machine code from the cache by the names of its functions: the module, the qualified name, and a number that starts
anew in every process. Functions made by one factory (``player.<locals>.choose``) share a name, so those compiled in different
processes could be mistaken for each other. They get a digest of their code into their names as well.
"""

from __future__ import annotations

import gc
import sys
import threading
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from hashlib import sha256
from itertools import zip_longest
from typing import Any, cast

import numba
import numpy as np
from numba.core import errors, event

from card_envs.engine import code_cache, helper
from card_envs.engine.code_cache import compile_cached
from card_envs.engine.game import Game, Policy
from card_envs.engine.loops import Arrays, Loop, make_step_loop
from card_envs.engine.rows import Rows

config: Any = numba.config  # its attributes are made at run time
typeof: Any = numba.typeof
NAMING = 6  # the version of the naming scheme; raising it invalidates everything compiled before
OPT_LEVEL = 2  # compiles faster than numba's default of 3, and these rules even run faster

# Loops let other threads run. A loop that allocates nothing does not need numba's reference counts. Without them each view of a
# row (``mask[r]``) is spared two locked instructions, which is a tenth of a step's time. The flag is private to numba: where it
# is unknown, or where a rule allocates, the loop is compiled with the counts.
COUNTED: dict[str, Any] = {"nogil": True}
UNCOUNTED: dict[str, Any] = {"nogil": True, "_nrt": False}
UNCOUNTABLE = (errors.NumbaError, LookupError)  # what numba raises where the counts are needed or cannot be turned off

# Rules that several loops run are compiled once and linked to each of them, just as numba links any function to another that
# calls it. So two processes can compile them at the same time, and a loop that comes later does not compile them again.
RULES = ("init", "step", "action_mask", "observe")  # attributes of a game
# They are called by compiled code only. numba compiles what two functions call anew if they have other flags, so these must be
# those of `register_jitable`.
LINKED: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def _is_ours(value: Any) -> bool:
    return isinstance(value, types.ModuleType) and value.__name__.startswith("card_envs")


def collect_functions(roots: tuple[Any, ...]) -> list[types.FunctionType]:
    """Return these functions and, recursively, all functions that they name or close over."""
    return _walk(roots)[0]


def hash_code(roots: tuple[Any, ...]) -> str:
    """Hash the code of these functions and, recursively, of all functions, arrays and constants that they name."""
    return _walk(roots)[1]


def name_code(name: str, roots: tuple[Any, ...], flags: Mapping[str, Any]) -> str:
    """Return a name for what is compiled from ``roots`` with these flags, and from nothing else."""
    return f"{name}.{hash_code((*roots, sorted(flags.items())))}"


def tell_apart(roots: tuple[Any, ...]) -> None:
    """Give a name of its own to every function that a factory has made, among those that ``roots`` run."""
    for function in collect_functions(roots):
        if function.__qualname__.endswith(f".<locals>.{function.__name__}"):  # not yet renamed
            function.__qualname__ += f".{hash_code((function,))}"


def _walk(roots: tuple[Any, ...]) -> tuple[list[types.FunctionType], str]:
    """Return what :func:`collect_functions` and :func:`hash_code` return."""
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
            for item in (*getattr(value, "_fields", ()), *value):  # code refers to the fields of a named tuple by name
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
    """Tells the user once that a loop is being compiled, since a cold start takes seconds."""

    def __init__(self, what: str, cached: bool) -> None:
        self.what = what
        self.remark = " (once; the result is cached)" if cached else ""

    def on_start(self, event: event.Event) -> None:
        if self.what:
            print(f"card_envs: compiling {self.what}{self.remark} …", file=sys.stderr, flush=True)
            self.what = ""

    def on_end(self, event: event.Event) -> None:
        pass


def start_loop(game: Game, loop: Loop, flags: Mapping[str, Any]) -> tuple[Any, bool]:
    """Return numba's dispatcher of a loop, under a name of its own, and whether it is cached."""
    tell_apart(loop.rules)
    copy = _copy(cast(types.FunctionType, loop.function))
    if code_cache.is_supported():  # else numba would not find again what is linked to compiled functions
        linked = {id(getattr(game, rule)): partial(link_rule, game, rule, tuple(flags.items())) for rule in RULES}
        linked |= {id(other.function): partial(_start_other, game, other, flags) for other in loop.calls}
        found = [linked.get(id(cell.cell_contents)) for cell in copy.__closure__ or ()]
        copy = _copy(copy, [link() if link else None for link in found])
    copy.__qualname__ = name_code(f"{game.name}.{loop.name}", (loop.function, *loop.rules), flags)
    return compile_cached(copy, flags, partial(helper.wait_for_helper, f"{game.module} {loop.name}"))


def _start_other(game: Game, loop: Loop, flags: Mapping[str, Any]) -> Any:
    return start_loop(game, loop, flags)[0]


def find_cache(game: Game) -> str | None:
    """Return the folder in which the compiled loops of a game are kept; ``None`` if none can be written to."""
    dispatcher, cached = start_loop(game, make_step_loop(game), UNCOUNTED)
    return (config.CACHE_DIR or code_cache.find_folder(dispatcher)) if cached else None


@cache
def link_rule(game: Game, rule: str, flags: tuple[tuple[str, Any], ...]) -> Any:
    """Return numba's dispatcher of one of :data:`RULES`, to be linked to loops that are compiled with these flags."""
    function: types.FunctionType = getattr(game, rule)
    tell_apart((function,))
    copy = _copy(function)
    kept = LINKED | {name: value for name, value in flags if name != "nogil"}
    copy.__qualname__ = name_code(f"{game.name}.{rule}", (function,), kept)
    return compile_cached(copy, kept, partial(helper.wait_for_helper, f"{game.module} rule.{rule}"))[0]


def compile_rules(game: Game, rules: Iterable[str]) -> None:
    """Compile some of :data:`RULES` for the types with which the loops call them, or find them in the cache."""
    with _settings():
        for rule in rules:
            try:
                link_rule(game, rule, tuple(UNCOUNTED.items())).compile(_type_rule(game, rule))
            except UNCOUNTABLE:
                link_rule(game, rule, tuple(COUNTED.items())).compile(_type_rule(game, rule))


def _type_rule(game: Game, rule: str) -> tuple[Any, ...]:
    state = typeof(np.zeros(1, game.state_dtype)[0])
    flags, floats = numba.types.int8[::1], numba.types.float32[::1]
    rest = {"step": (numba.int64,), "init": (), "action_mask": (flags,), "observe": (numba.int64, floats)}
    return (state, *rest[rule])


def _copy(function: types.FunctionType, closure: Sequence[Any] = ()) -> types.FunctionType:
    """Return a copy of a function, which closes over other objects where ``closure`` has some."""
    cells = function.__closure__ or ()
    cells = tuple(types.CellType(other) if other else cell for cell, other in zip_longest(cells, closure))
    copy = types.FunctionType(function.__code__, function.__globals__, function.__name__, None, cells)
    copy.__module__, copy.__doc__ = function.__module__, function.__doc__
    return copy


def _call_first(game: Game, loop: Loop, arguments: tuple[Any, ...], flags: Mapping[str, Any]) -> tuple[Any, Any]:
    """Compile a loop for the types of its arguments and call it: return the dispatcher and the result."""
    dispatcher, cached = start_loop(game, loop, flags)
    if cached and loop.beside and not code_cache.is_compiled(dispatcher):
        helper.start_helper([f"{game.module} {name}" for name in loop.beside])
    with event.install_listener("numba:compile", _Announcer(f"{game.name}.{loop.name}", cached)):
        return dispatcher, dispatcher(*arguments)


@contextmanager
def _settings() -> Iterator[None]:
    """Compile with numba settings of our own, and without looking for garbage: that takes long, and there is little of it."""
    level, collects = config.OPT, gc.isenabled()
    config.OPT = type(level)(OPT_LEVEL)
    gc.disable()
    try:
        yield
    finally:
        config.OPT = level
        if collects:
            gc.enable()


def compile_loop(game: Game, loop: Loop) -> Callable[..., Any]:
    """Return the loop. It compiles at its first call, for the types of that call and no others."""
    lock = threading.Lock()
    dispatcher: Any = None

    def call(*arguments: Any) -> Any:
        nonlocal dispatcher
        if dispatcher is not None:
            return dispatcher(*arguments)
        with lock, _settings():
            try:
                ready, result = _call_first(game, loop, arguments, UNCOUNTED)
            except UNCOUNTABLE:
                ready, result = _call_first(game, loop, arguments, COUNTED)
            except BaseException:  # such as Ctrl-C
                helper.stop_helpers()
                raise
            ready.disable_compile()  # another type raises a TypeError instead of compiling silently for seconds
            dispatcher = ready
            return result

    def entry() -> Callable[..., Any] | None:
        return None if dispatcher is None else next(iter(dispatcher.overloads.values())).entry_point

    call.entry = entry  # type: ignore[attr-defined]
    return call


def unwrap(loop: Callable[..., Any]) -> Callable[..., Any]:
    """Return the machine code of a loop without numba's dispatch on types, which takes longer than a step.

    It must be called with arguments of exactly the types that the loop was called with before. A loop that has not been called
    yet or that is interpreted is returned as it is.
    """
    return getattr(loop, "entry", lambda: None)() or loop


def interpret_loop(loop: Loop) -> Callable[..., Any]:
    """Return the loop in plain Python over rows of Python integers, which is slow, checked, and easy to step through."""
    function = loop.function

    def open_rows(argument: Any) -> Any:
        if not isinstance(argument, Arrays):
            return argument
        return argument._replace(states=cast(Any, Rows(argument.states)), template=cast(Any, Rows(argument.template)))

    def interpreted(*arguments: Any) -> Any:
        with np.errstate(over="ignore"):  # the random streams rely on wrapping
            return function(*map(open_rows, arguments))

    return interpreted


@cache
def load_loop(game: Game, interpreted: bool, make: Callable[..., Loop], policy: Policy | None = None) -> Callable[..., Any]:
    """Return a loop of a game, which is compiled when it is first called.

    Args:
        game: The game.
        interpreted: Whether to run the loop in plain Python instead.
        make: One of the factories of :mod:`card_envs.engine.loops` or :mod:`card_envs.engine.rollouts`.
        policy: The policy, for loops in which one chooses.
    """
    loop = make(game) if policy is None else make(game, policy)
    return interpret_loop(loop) if interpreted else compile_loop(game, loop)
