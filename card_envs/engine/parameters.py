"""Checks of policies and their parameters, before compiled code relies on them."""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from card_envs.engine.game import Policy
from card_envs.engine.match_arrays import MatchArrays
from card_envs.engine.messages import shorten
from card_envs.engine.networks import FORMS, SCORER, NetworkParameters, fits_network

Parameters = NDArray[np.float64] | NetworkParameters  # as compiled code takes them
AnyParameters = ArrayLike | NetworkParameters | None  # as users give them
LARGEST_PARAMETER = 1e9


def check_parameters(policy: Policy, values: ArrayLike | None) -> NDArray[np.float64]:
    """Return a copy of a policy's parameters, float64; ``None`` stands for the defaults.

    Compiled code relies on their number and on their range, in which no value of an action overflows.
    """
    defaults = policy.defaults
    try:
        array = np.array([*defaults.values()] if values is None else values, np.float64, order="C")
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{policy.name}: parameters {shorten(values)} are not numbers") from None
    if array.shape != (len(defaults),):
        names = f" ({', '.join(defaults)})" if defaults else ""
        raise ValueError(f"{policy.name} takes {len(defaults)} parameters{names}, an array of shape {array.shape} is given")
    for name, value in zip(defaults, array.tolist(), strict=True):
        if not abs(value) <= LARGEST_PARAMETER:
            raise ValueError(f"{policy.name}: {name} = {value} is not a number from -1e9 to 1e9")
    return array


def check_policy(matches: MatchArrays, policy: str | Policy, values: AnyParameters) -> tuple[Policy, Parameters]:
    """Return a policy that can choose in these matches, and its checked parameters.

    Compiled code relies on the sizes of a network and on the parameters of its teacher, so they are checked; its weights may be
    any numbers.
    """
    found = matches.game.policy(policy)
    if not found.form:
        return found, check_parameters(found, cast(ArrayLike, values))
    if found.form not in FORMS:
        raise ValueError(f"{found.name}: two policies can choose only in Matches.fork_values")
    is_scorer = found.form == SCORER
    inputs = matches.game.action_feature_size + 1 if is_scorer else matches.observation_size
    if not isinstance(values, NetworkParameters) or not fits_network(values, found.form, inputs, matches.num_actions):
        raise ValueError(
            f"{found.name}: the parameters of a network with {inputs} inputs for {matches.num_actions} actions are expected"
        )
    check_parameters(found, values.teacher)
    return found, values
