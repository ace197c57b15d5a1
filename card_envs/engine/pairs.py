"""Two policies at one table, so that a rollout can go on as a match would: one seat plays by one, all others by another."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from card_envs.engine.game import Policy
from card_envs.engine.jitable import register_jitable
from card_envs.engine.networks import copy_parameters
from card_envs.engine.parameters import Parameters

PAIR = "pair"


class PairParameters(NamedTuple):
    """The parameters of a pair.

    Attributes:
        own: Those of the policy of one seat.
        others: Those of the policy of all other seats.
        seat: The one seat, int64 [1]. Loops that fork matches write the seat to move into it.
    """

    own: Parameters
    others: Parameters
    seat: NDArray[np.int64]


@cache
def make_pair(own: Policy, others: Policy) -> Policy:
    """Make the policy that chooses as ``own`` in one seat, and as ``others`` in the rest."""
    choose_own, choose_others = own.choose, others.choose

    @register_jitable
    def choose(s: Any, seat: Any, words: Any, key: Any, p: Any) -> Any:
        if seat == p.seat[0]:
            return choose_own(s, seat, words, key, p.own)
        return choose_others(s, seat, words, key, p.others)

    meaning = f"plays as {own.name} in one seat, and as {others.name} in the rest"
    reads_mask = own.reads_mask or others.reads_mask
    return Policy(f"pair_{own.name}_{others.name}", choose, meaning, reads_mask=reads_mask, form=PAIR)


@register_jitable
def take_seat(p: Any, seat: Any) -> None:
    """Say in which seat the first policy of a pair is to choose."""
    p.seat[0] = seat


@register_jitable
def take_no_seat(p: Any, seat: Any) -> None:
    """A policy that is no pair chooses in every seat."""


def pair_parameters(own: Parameters, others: Parameters) -> PairParameters:
    """Put the parameters of two policies together."""
    return PairParameters(own, others, np.zeros(1, np.int64))


def copy_any_parameters(parameters: Any) -> Any:
    """Return parameters of any policy that another thread can use: see :func:`card_envs.engine.networks.copy_parameters`."""
    if isinstance(parameters, PairParameters):
        return PairParameters(copy_parameters(parameters.own), copy_parameters(parameters.others), parameters.seat.copy())
    return copy_parameters(parameters)
