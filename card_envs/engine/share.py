"""The loop by which threads share the rows of a step: see :mod:`card_envs.engine.threads`."""

from __future__ import annotations

from card_envs.engine.game import Game
from card_envs.engine.jitable import register_jitable
from card_envs.engine.loops import Loop, make_step_loop
from card_envs.engine.posts import (
    AUTO_RESET,
    CHECKS,
    COUNT,
    ILLEGAL,
    READY,
    SERVES,
    TASK,
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
    carried out, or how many illegal actions all have found, or -1 if shares of others are still to be awaited after so many
    looks. A worker does what it is asked for at its post, ``which[0]``, until nobody has asked for so many looks.

    Both are one loop, because the step that is compiled into it is long.
    """
    whole = make_step_loop(game)
    step = whole.function

    def share(m, rows, posts, copied, which, task, looks, auto_reset, write_observations, reward, scale):
        leads = task != SERVES
        count = ask_all(posts, rows, copied, which, task, auto_reset, write_observations) if leads else 0
        mine = rows if leads else copied[which[0]]
        post = posts[which[0]]
        while leads or stand_by(post, looks):
            if not leads:
                count = post[COUNT]
                task = post[TASK]
                auto_reset = post[AUTO_RESET]
                write_observations = post[WRITE_OBSERVATIONS]
            illegal = 0
            if task == CHECKS:
                illegal = count_illegal(m, mine[:count])
            else:
                step(m, mine[:count], auto_reset, write_observations, reward, scale)
            if leads:
                if not await_all(posts, which, looks):
                    return -1
                return illegal + sum_illegal(posts, which) if task == CHECKS else count
            post[ILLEGAL] = illegal
            write_state(post, READY)
        return 0

    return Loop("share", share, (ask_all, stand_by, await_all, sum_illegal, count_illegal, *whole.rules), calls=(whole,))
