"""The loop by which threads share the rows of a step: see :mod:`card_envs.engine.threads`."""

from __future__ import annotations

from card_envs.engine.game import Game
from card_envs.engine.loops import Loop, make_step_loop
from card_envs.engine.posts import AUTO_RESET, COUNT, READY, WRITE_OBSERVATIONS, ask_all, await_all, stand_by, write_state


def make_share_loop(game: Game) -> Loop:
    """Make the loop by which threads share the rows of a step: see :mod:`card_envs.engine.posts`.

    The caller (``leads``) asks for shares at the posts ``which`` and carries out the rows that are left. The loop returns how
    many these were, or -1 if shares of others are still to be awaited after so many looks. A worker carries out what it is
    asked for at its post, ``which[0]``, until nobody has asked for so many looks.

    Both are one loop, because the step that is compiled into it is long.
    """
    whole = make_step_loop(game)
    step = whole.function

    def share(m, rows, posts, copied, which, leads, looks, auto_reset, write_observations, reward, scale):
        count = ask_all(posts, rows, copied, which, auto_reset, write_observations) if leads else 0
        mine = rows if leads else copied[which[0]]
        post = posts[which[0]]
        while leads or stand_by(post, looks):
            if not leads:
                count = post[COUNT]
                auto_reset = post[AUTO_RESET]
                write_observations = post[WRITE_OBSERVATIONS]
            step(m, mine[:count], auto_reset, write_observations, reward, scale)
            if leads:
                return count if await_all(posts, which, looks) else -1
            write_state(post, READY)
        return 0

    return Loop("share", share, (ask_all, stand_by, await_all, *whole.rules), calls=(whole,))
