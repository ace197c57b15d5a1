"""How rules are handed to numba."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from llvmlite import ir
from numba import extending, types
from numba.np import arrayobj
from numpy.typing import NDArray

Rule = TypeVar("Rule", bound=Callable[..., Any])
lower_builtin: Callable[..., Callable[[Rule], Rule]] = extending.lower_builtin
numpy_arrays: Any = arrayobj


def register_jitable(function: Rule) -> Rule:
    """Let compiled code call a function, which stays a plain one for everybody else.

    numba's own decorator also compiles an entry for callers in C, which no rule has. That would be a tenth of the time that
    compiling takes.
    """
    registered: Rule = extending.register_jitable(no_cfunc_wrapper=True)(function)
    return registered


def make_scratch(size: int) -> NDArray[np.float64]:
    """Return ``size`` zeros for a rule to reckon with. ``size`` must be a constant.

    Compiled code takes them from the stack, since it allocates nothing. They are gone when the function that calls this one
    returns, so they may be handed down but not back.
    """
    return np.zeros(size)


@extending.type_callable(make_scratch)
def _type_make_scratch(context: Any) -> Any:
    def type_call(size: Any) -> Any:
        return types.Array(types.float64, 1, "C") if isinstance(size, types.IntegerLiteral) else None

    return type_call


@lower_builtin(make_scratch, types.IntegerLiteral)
def _compile_make_scratch(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    size = signature.args[0].literal_value
    numbers = ir.ArrayType(ir.DoubleType(), size)
    with builder.goto_entry_block():
        memory = builder.alloca(numbers)
    builder.store(ir.Constant(numbers, None), memory)
    array = numpy_arrays.make_array(signature.return_type)(context, builder)
    numpy_arrays.populate_array(
        array, builder.bitcast(memory, array.data.type), shape=[ir.Constant(ir.IntType(64), size)],
        strides=[ir.Constant(ir.IntType(64), 8)], itemsize=ir.Constant(ir.IntType(64), 8), meminfo=None,
    )  # fmt: skip
    return array._getvalue()
