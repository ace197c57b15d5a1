"""The settings of training, from ``settings.toml`` and the command line."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from card_envs.engine.game import Game, unknown
from card_envs.engine.matches import EPISODES, REWARDS
from card_envs.engine.networks import ACTIVATIONS

FILE = Path(__file__).with_name("settings.toml")


@dataclass(frozen=True)
class Settings:
    """The settings of a run, which ``settings.toml`` explains.

    Raises:
        ValueError: A value is out of range.
    """

    n_envs: int
    n_steps: int
    batch_size: int
    n_epochs: int
    learning_rate: float
    clip_range: float
    ent_coef: float
    ent_coef_end: float
    gamma: float
    gae_lambda: float
    vf_coef: float
    max_grad_norm: float
    hidden: list[int]
    activation: str
    reward: str
    episode: str
    pool: int
    pool_every: int
    teacher_probability: float
    warm_start_decisions: int
    warm_start_value_decisions: int
    warm_start_epochs: int
    warm_start_batch_size: int
    warm_start_learning_rate: float

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            allowed = _describe_allowed(name, value)
            if allowed:
                raise ValueError(f"setting {name} = {value!r}: allowed is {allowed}")
        for name in ("warm_start_decisions", "warm_start_value_decisions"):  # one is held out
            if getattr(self, name) < 2:
                raise ValueError(f"setting {name} = {getattr(self, name)}: allowed is a whole number from 2")
        if self.batch_size < 2 or self.rollout % self.batch_size:
            raise ValueError(
                f"setting batch_size = {self.batch_size}: allowed is a divisor over 1 of n_envs * n_steps = {self.rollout}"
            )

    @property
    def rollout(self) -> int:
        """The number of decisions in a rollout."""
        return self.n_envs * self.n_steps


_WORDS: dict[str, Iterable[str]] = {"activation": ACTIVATIONS, "reward": REWARDS, "episode": EPISODES}
_TYPES = {field.name: str(field.type) for field in fields(Settings)}
_POSITIVE = ("learning_rate", "clip_range", "max_grad_norm", "warm_start_learning_rate")
_SHARES = ("gamma", "gae_lambda", "clip_range")
MOST_SELVES = 100  # of a pool, which are held in memory


def _describe_allowed(name: str, value: Any) -> str:
    """Return what is allowed as this setting if ``value`` is not, or an empty string if it is."""
    if name in _WORDS:
        return "" if value in _WORDS[name] else " or ".join(_WORDS[name])
    if name == "hidden":
        widths = isinstance(value, list) and all(type(width) is int and width >= 1 for width in value)
        return "" if widths else "a list of whole numbers from 1, such as [128, 128]"
    if name == "pool":
        return "" if type(value) is int and 0 <= value <= MOST_SELVES else f"a whole number from 0 to {MOST_SELVES}"
    if _TYPES[name] == "int":
        return "" if type(value) is int and value >= 1 else "a whole number from 1"
    if name == "teacher_probability":  # at 1 the policy could not leave its teacher
        return "" if isinstance(value, int | float) and 0.5 <= value <= 0.999 else "a number from 0.5 to 0.999"
    low, high = (1e-12 if name in _POSITIVE else 0.0), (1.0 if name in _SHARES else 1e6)
    number = isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high
    return "" if number else f"a number {'over' if name in _POSITIVE else 'from'} 0" + (" to 1" if name in _SHARES else "")


def load_settings(game: Game, changes: Iterable[str] = (), *, warm_start: bool = False) -> Settings:
    """Load the settings for a game, with or without a warm start, and apply changes such as ``"learning_rate=1e-4"``."""
    table = tomllib.loads(FILE.read_text())
    values: dict[str, Any] = table["default"] | table.get(game.name, {})
    own = values.pop("warm_start", {})
    if warm_start:
        values |= table["warm_start"] | own
    return Settings(**values | read_changes(changes, _TYPES))


def read_changes(changes: Iterable[str], known: Collection[str]) -> dict[str, Any]:
    """Read changes of settings such as ``"learning_rate=1e-4"``. A value that is no literal is a word.

    Raises:
        ValueError: One is not of this form, or there is no such setting.
    """
    values: dict[str, Any] = {}
    for change in changes:
        name, equals, text = change.partition("=")
        if not equals:
            raise ValueError(f"--set {change!r}: NAME=VALUE is expected, as in {next(iter(known))}=32")
        if name not in known:
            raise unknown("setting", name, known)
        try:
            values[name] = ast.literal_eval(text)
        except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
            values[name] = text
    return values
