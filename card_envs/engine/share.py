"""The loop by which threads share the rows of a step: see :mod:`card_envs.engine.threads`."""

from __future__ import annotations

from card_envs.engine.game import Game
from card_envs.engine.jitable import register_jitable
from card_envs.engine.loops import Loop, allows, make_choose_loop, make_step_loop
from card_envs.engine.posts import (
    AUTO_RESET,
    CARRIES_OUT,
    CHECKS,
    COUNT,
    READY,
    REFUSALS,
    REFUSED,
    SAMPLES,
    SERVES,
    TASK,
    UNFINISHED,
    UNTRIED,
    WRITE_OBSERVATIONS,
    ask_all,
    await_all,
    stand_by,
    sum_refusals,
    write_state,
)


@register_jitable
def count_illegal(m, rows):
    """How many of the rows have an action that is not legal."""
    illegal = 0
    for n in range(len(rows)):
        illegal += not allows(m, rows[n])
    return illegal


def make_share_loop(game: Game) -> Loop:
    """Make the loop by which threads share the rows of a step: see :mod:`card_envs.engine.posts`.

    The caller asks for shares of its ``task`` at the posts ``which`` and does the rest. The loop returns how many rows it has
    carried out, or UNFINISHED, REFUSED or UNTRIED if others do not do what they were asked for within so many looks. A worker
    does what it is asked for at its post, ``which[0]``, until nobody has asked for so many looks.

    It is one loop, because the step that is compiled into it is long. Random actions are written into ``sampled``, for the
    players ``who``, all 0, and with ``parameters``, of which a random player has none.
    """
    whole, chosen = make_step_loop(game), make_choose_loop(game, game.policy("random"))
    step, choose = whole.function, chosen.function

    def share(
        m, rows, posts, copied, which, task, looks, auto_reset, write_observations, reward, scale, who, parameters, sampled
    ):
        leads = task != SERVES
        refusals = 0
        if task == CHECKS:
            count = ask_all(posts, rows, copied, which, CHECKS, 0, 0)
            refusals = count_illegal(m, rows[:count])
            if not await_all(posts, which, looks):
                return UNTRIED
            if refusals + sum_refusals(posts, which) > 0:
                return REFUSED
            task = CARRIES_OUT
        count = ask_all(posts, rows, copied, which, task, auto_reset, write_observations) if leads else 0
        mine = rows if leads else copied[which[0]]
        post = posts[which[0]]
        while leads or stand_by(post, looks):
            if not leads:
                count = post[COUNT]
                task = post[TASK]
                auto_reset = post[AUTO_RESET]
                write_observations = post[WRITE_OBSERVATIONS]
            if task == CHECKS:
                refusals = count_illegal(m, mine[:count])
            elif task == SAMPLES:
                refusals = choose(m, mine[:count], who, 0, parameters, sampled)
            else:
                step(m, mine[:count], auto_reset, write_observations, reward, scale)
            if leads:
                if not await_all(posts, which, looks):
                    return UNFINISHED
                return REFUSED if task == SAMPLES and refusals + sum_refusals(posts, which) > 0 else count
            post[REFUSALS] = refusals
            write_state(post, READY)
        return 0

    rules = (ask_all, stand_by, await_all, sum_refusals, count_illegal, *whole.rules, *chosen.rules)
    return Loop("share", share, rules, calls=(whole, chosen))
