"""What all environments share: spaces, checks of arguments, rendering."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import gymnasium.logger
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from card_envs.engine.game import unknown
from card_envs.engine.matches import Matches
from card_envs.engine.picture import Picture
from card_envs.engine.table import Table
from card_envs.render.svg import to_rgb, to_svg


def make_observation_box(matches: Matches) -> spaces.Box:
    """Return the space of the flat observation, with the bounds of its fields."""
    low, high = np.empty((2, matches.observation_size), np.float32)
    for field in matches.game.observation_fields(matches.options).values():
        low[field.slice], high[field.slice] = field.low, field.high
    return spaces.Box(low, high, dtype=np.float32)


def make_feature_box(matches: Matches) -> spaces.Box:
    """Return the space of the action features of a decision, [A, F], with the bounds of their fields and the zeros."""
    low, high = np.zeros((2, matches.game.action_feature_size), np.float32)
    for field in matches.game.action_fields(matches.options).values():
        low[field.slice], high[field.slice] = min(field.low, 0.0), max(field.high, 0.0)
    shape = (matches.num_actions, 1)
    return spaces.Box(np.tile(low, shape), np.tile(high, shape), dtype=np.float32)


def compute_legal_features(matches: Matches) -> NDArray[np.float32]:
    """Return the features of every legal action and zeros for the others, in a new array, float32 [size, A, F]."""
    actions = np.where(matches.action_mask != 0, np.arange(matches.num_actions), -1)
    return matches.write_action_features(matches.rows, actions)


DRAW: dict[str, Callable[[Picture], Any]] = {"ansi": str, "human": print, "svg": to_svg, "rgb_array": to_rgb}
PLAIN = ("ansi", "human")  # render modes that need no extra
RENDER_EXTRA = ("drawsvg", "resvg_py", "PIL", "font_lato")


def list_render_modes() -> list[str]:
    """Return the render modes that work with what is installed."""
    complete = all(importlib.util.find_spec(name) for name in RENDER_EXTRA)
    return list(DRAW if complete else PLAIN)


def check_render_mode(mode: str | None) -> str | None:
    """Return ``mode`` if it works with what is installed.

    Raises:
        ValueError: The mode is unknown, or the message says what has to be installed.
    """
    if mode is not None and mode not in list_render_modes():
        if mode in DRAW:
            raise ValueError(f"render_mode {mode!r} needs the extra: pip install 'card-envs[render]'")
        raise unknown("render_mode", mode, list_render_modes())
    return mode


def draw(matches: Matches, row: int, mode: str | None) -> Any:
    """Draw the table of a row: a str (``"ansi"``, ``"svg"``), uint8 [H, W, 3] (``"rgb_array"``), or printed (``"human"``)."""
    if mode is None:
        gymnasium.logger.warn("render() does nothing, since no render_mode was given when the environment was made")
        return None
    return DRAW[mode](Table.from_row(matches, row).picture())
