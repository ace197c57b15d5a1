"""The settings of training by rollouts, from ``rollouts.toml`` and the command line."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from card_envs.engine.game import Game
from train.settings import read_changes

FILE = Path(__file__).with_name("rollouts.toml")

_WORDS = {"episode": ("deal", "match"), "value": ("margin", "match")}
_RANGES = {  # of whole numbers and of others
    "shards": (1, 4096), "shard_deals": (1, 1 << 20), "decks": (0, 4096), "candidates": (0, 4096), "batch_size": (2, 1 << 20),
    "labelled": (1e-6, 1.0), "teacher_share": (0.0, 1.0), "random_share": (0.0, 1.0), "passes": (1e-6, 100.0),
    "learning_rate": (1e-12, 1.0), "weight_decay": (0.0, 1.0), "average": (0.0, 1.0),
}  # fmt: skip
MOST_LAYERS, WIDEST = 8, 4096


@dataclass(frozen=True)
class RolloutSettings:
    """The settings of a run, which ``rollouts.toml`` explains.

    Raises:
        ValueError: A value is out of range.
    """

    shards: int
    shard_deals: int
    episode: str
    value: str
    decks: int
    labelled: float
    candidates: int
    teacher_share: float
    random_share: float
    hidden: list[int]
    passes: float
    batch_size: int
    learning_rate: float
    weight_decay: float
    average: float

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            allowed = _describe_allowed(field.name, str(field.type), value)
            if allowed:
                raise ValueError(f"setting {field.name} = {value!r}: allowed is {allowed}")
        if self.teacher_share + self.random_share > 1.0:
            raise ValueError(
                f"settings teacher_share = {self.teacher_share} and random_share = {self.random_share} are more than 1 together"
            )

    @property
    def round_deals(self) -> int:
        """The deals of a round."""
        return self.shards * self.shard_deals


def _describe_allowed(name: str, kind: str, value: Any) -> str:
    """Return what is allowed as this setting if ``value`` is not, or an empty string if it is."""
    if name in _WORDS:
        return "" if value in _WORDS[name] else " or ".join(_WORDS[name])
    if name == "hidden":
        widths = isinstance(value, list) and 0 < len(value) <= MOST_LAYERS
        if widths and all(type(width) is int and 1 <= width <= WIDEST for width in value):
            return ""
        return f"a list of up to {MOST_LAYERS} whole numbers from 1 to {WIDEST}, such as [96, 96]"
    low, high = _RANGES[name]
    whole = kind == "int"
    right = type(value) is int if whole else isinstance(value, int | float) and not isinstance(value, bool)
    return "" if right and low <= value <= high else f"a {'whole ' if whole else ''}number from {low} to {high}"


def load_rollout_settings(game: Game, changes: Iterable[str] = ()) -> RolloutSettings:
    """Load the settings for a game, and apply changes such as ``"learning_rate=1e-4"``.

    Raises:
        ValueError: A change is not of this form, or its value is not allowed.
    """
    table = tomllib.loads(FILE.read_text())
    known = [field.name for field in fields(RolloutSettings)]
    return RolloutSettings(**table["default"] | table.get(game.name, {}) | read_changes(changes, known))
