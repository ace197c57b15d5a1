"""What all environments share: spaces, strict arguments, rendering."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from card_envs.engine.game import Game, unknown
from card_envs.engine.matches import Matches


def observation_box(matches: Matches) -> spaces.Box:
    """Return the space of the flat observation, with the bounds of its fields."""
    low, high = np.empty((2, matches.observation_size), np.float32)
    for field in matches.game.observation_fields(matches.options).values():
        low[field.slice], high[field.slice] = field.low, field.high
    return spaces.Box(low, high, dtype=np.float32)


def mask_box(matches: Matches) -> spaces.Box:
    """Return the space of the action mask: int8, 0 or 1."""
    return spaces.Box(0, 1, (matches.num_actions,), np.int8)


def check_arguments(game: Game, given: Iterable[str], known: Iterable[str]) -> None:
    """Raise ``ValueError`` for a keyword that is neither an option of the game nor an argument of the environment."""
    names = [*game.option_names, *known]
    for name in given:
        if name not in names:
            raise unknown(f"argument of {game.id}", name, names)


def _svg(picture: Any) -> str:
    from card_envs.render.svg import to_svg

    return to_svg(picture)


def _rgb(picture: Any) -> NDArray[np.uint8]:
    from card_envs.render.svg import to_rgb

    return to_rgb(picture)


DRAW: Mapping[str, Callable[[Any], Any]] = {"ansi": str, "human": print, "svg": _svg, "rgb_array": _rgb}
PLAIN = ("ansi", "human")  # render modes that need no extra
RENDER_EXTRA = ("drawsvg", "resvg_py", "PIL", "font_lato")


def render_modes() -> list[str]:
    """Return the render modes that work with what is installed."""
    complete = all(importlib.util.find_spec(name) for name in RENDER_EXTRA)
    return list(DRAW if complete else PLAIN)


def check_render_mode(mode: str | None) -> str | None:
    """Return ``mode`` if it can be drawn here; raise ``ValueError``, which says what is missing, if it cannot."""
    if mode is not None and mode not in render_modes():
        if mode in DRAW:
            raise ValueError(f"render_mode {mode!r} needs the extra: pip install 'card-envs[render]'")
        raise unknown("render_mode", mode, render_modes())
    return mode
