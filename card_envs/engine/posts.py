"""How a thread asks another for a share of its rows without waking it: both look at one word of memory while they wait.

A *post* is an array of int64 that a thread stands by at. Its word STATE says whether it does:

* ASLEEP: nobody stands by; who stands by is to go.
* READY: a thread stands by and looks at the word again and again.
* ASKED: the thread is to carry out the rows of the post, or is doing so. Then it is READY again.

Waking a thread that sleeps takes ten times as long as asking one that stands by, and longer than a step of many matches.
"""

from __future__ import annotations

from typing import Any

from numba.core import cgutils, types
from numba.extending import intrinsic

from card_envs.engine.jitable import register_jitable

# words of a post; what changes often stands apart
STATE, COUNT, TASK, AUTO_RESET, WRITE_OBSERVATIONS, REFUSALS, WORDS = 0, 8, 9, 10, 11, 16, 24
ASLEEP, READY, ASKED = range(3)
# What a thread is to do: serve others, carry out the actions of rows with their help, check first whether all are legal, or
# draw random ones. Those who serve count the rows for which that cannot be done in the word REFUSALS of their post.
SERVES, CARRIES_OUT, CHECKS, SAMPLES = range(4)
# What comes of it besides the number of rows that the caller has done: shares of others are still to be awaited; there are
# rows for which it cannot be done, and nothing was carried out; or nothing was tried, since nobody could help.
UNFINISHED, REFUSED, UNTRIED = -1, -2, -3


def _point(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    return cgutils.get_item_pointer(context, builder, signature.args[0], array, [context.get_constant(types.intp, STATE)])


@intrinsic
def read_state(typing_context, post):
    """The state of a post, and with it all that was written before it."""

    def generate(context, builder, signature, arguments):
        return builder.load_atomic(_point(context, builder, signature, arguments), "acquire", 8)

    return types.int64(post), generate


@intrinsic
def write_state(typing_context, post, state):
    """Set the state of a post, after all that was written before."""

    def generate(context, builder, signature, arguments):
        builder.store_atomic(arguments[1], _point(context, builder, signature, arguments), "release", 8)
        return context.get_dummy_value()

    return types.void(post, types.int64), generate


@intrinsic
def change_state(typing_context, post, old, new):
    """Set the state of a post if it is ``old``; return whether it was."""

    def generate(context, builder, signature, arguments):
        place = _point(context, builder, signature, arguments)
        found = builder.cmpxchg(place, arguments[1], arguments[2], "acq_rel", "acquire")
        return builder.extract_value(found, 1)

    return types.boolean(post, types.int64, types.int64), generate


@register_jitable
def ask(post, rows, first, end, copied, task, auto_reset, write_observations):
    """Ask for ``rows[first:end]``, which are copied; return whether a thread stands by to carry them out."""
    if read_state(post) != READY:
        return False
    same = True  # as nearly always; then the other processor need not fetch them again
    for n in range(first, end):
        same &= copied[n - first] == rows[n]
    if not same:
        for n in range(first, end):
            copied[n - first] = rows[n]
    post[COUNT] = end - first
    post[TASK] = task
    post[AUTO_RESET] = auto_reset
    post[WRITE_OBSERVATIONS] = write_observations
    return change_state(post, READY, ASKED)


@register_jitable
def ask_all(posts, rows, copied, which, task, auto_reset, write_observations):
    """Ask at all posts of ``which`` for equal shares of the rows, the last ones first; return how many the caller keeps."""
    left = len(rows)
    each = left // (len(which) + 1)
    for n in range(len(which)):
        post = posts[which[n]]
        post[REFUSALS] = 0
        if ask(post, rows, left - each, left, copied[which[n]], task, auto_reset, write_observations):
            left -= each
    return left


@register_jitable
def stand_by(post, looks):
    """Wait until rows are asked for; return whether that happens within so many looks, and nobody sends us away."""
    for _ in range(looks):
        state = read_state(post)
        if state != READY:
            return state == ASKED
    return not change_state(post, READY, ASLEEP) and read_state(post) == ASKED


@register_jitable
def await_all(posts, which, looks):
    """Wait until all rows that were asked for have been carried out; return whether that happens within so many looks."""
    for n in range(len(which)):
        post = posts[which[n]]
        while read_state(post) == ASKED:
            looks -= 1
            if looks <= 0:
                return False
    return True


@register_jitable
def sum_refusals(posts, which):
    """For how many rows those who were asked could not do it."""
    refusals = 0
    for n in range(len(which)):
        refusals += posts[which[n], REFUSALS]
    return refusals
