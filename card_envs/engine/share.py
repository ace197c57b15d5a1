"""The loop by which threads share the rows of a step: see :mod:`card_envs.engine.threads`."""

from __future__ import annotations

from card_envs.engine.game import Game
from card_envs.engine.jitable import register_jitable
from card_envs.engine.loops import Loop, make_step_loop
from card_envs.engine.posts import (
    AUTO_RESET,
    CARRIES_OUT,
    CHECKS,
    COUNT,
    ILLEGAL,
    READY,
    REFUSED,
    SERVES,
    TASK,
    UNFINISHED,
    UNTRIED,
    WRITE_OBSERVATIONS,
    ask_all,
    await_all,
    stand_by,
    sum_illegal,
    write_state,
)  # fmt: skip


@register_jitable
def count_illegal(m, rows):
    """How many of the rows have an action, which may be any integer, that is not legal."""
    illegal = 0
    for n in range(len(rows)):
        r = rows[n]
        action = m.actions[r]
        illegal += not (0 <= action < m.mask.shape[1] and m.mask[r, action] != 0)
    return illegal


def make_share_loop(game: Game) -> Loop:
    """Make the loop by which threads share the rows of a step: see :mod:`card_envs.engine.posts`.

    The caller asks for shares of its ``task`` at the posts ``which`` and does the rest. The loop returns how many rows it has
    carried out, or UNFINISHED, REFUSED or UNTRIED if others do not do what they were asked for within so many looks. A worker
    does what it is asked for at its post, ``which[0]``, until nobody has asked for so many looks.

    Both are one loop, because the step that is compiled into it is long.
    """
    whole = make_step_loop(game)
    step = whole.function

    def share(m, rows, posts, copied, which, task, looks, auto_reset, write_observations, reward, scale):
        leads = task != SERVES
        if task == CHECKS:
            count = ask_all(posts, rows, copied, which, CHECKS, 0, 0)
            illegal = count_illegal(m, rows[:count])
            if not await_all(posts, which, looks):
                return UNTRIED
            if illegal + sum_illegal(posts, which) > 0:
                return REFUSED
        count = ask_all(posts, rows, copied, which, CARRIES_OUT, auto_reset, write_observations) if leads else 0
        mine = rows if leads else copied[which[0]]
        post = posts[which[0]]
        while leads or stand_by(post, looks):
            if not leads:
                count = post[COUNT]
                auto_reset = post[AUTO_RESET]
                write_observations = post[WRITE_OBSERVATIONS]
            if not leads and post[TASK] == CHECKS:
                post[ILLEGAL] = count_illegal(m, mine[:count])
            else:
                step(m, mine[:count], auto_reset, write_observations, reward, scale)
            if leads:
                return count if await_all(posts, which, looks) else UNFINISHED
            write_state(post, READY)
        return 0

    return Loop("share", share, (ask_all, stand_by, await_all, sum_illegal, count_illegal, *whole.rules), calls=(whole,))
