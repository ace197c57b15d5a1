"""The Gymnasium environment: one learner against other players in one match at a time."""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar, cast

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from card_envs.engine.checks import check_features
from card_envs.engine.game import Game, OptionValue, check_keywords
from card_envs.envs.common import check_render_mode, compute_legal_features, draw, list_render_modes, make_observation_box
from card_envs.envs.pages import build_gym_page
from card_envs.envs.single_agent import Opponents, Outcome, SingleAgentBatch
from card_envs.games import available_games, load_game

LEARNER_ARGUMENTS = ("opponents", "seat", "auto_forced", "reward", "episode")


def build_gym_id(game: Game) -> str:
    """Return the id of a game in Gymnasium's registry, such as ``card_envs/PisYedili-v0``."""
    return f"card_envs/{''.join(part.capitalize() for part in game.name.split('_'))}-v{game.version}"


def describe_outcome(outcome: Outcome, row: int) -> dict[str, Any]:
    """Return the info about a row of an outcome: an illegal action, and skipped matches."""
    info: dict[str, Any] = {}
    if outcome.illegal[row]:
        info["illegal_action"] = True
    if outcome.skipped[row]:
        info["skipped"] = int(outcome.skipped[row])
        info["skipped_reward"] = float(outcome.skipped_rewards[row])
    return info


class SingleAgentEnv(gymnasium.Env[NDArray[np.float32], np.int64]):
    """The environment of a game. :func:`make_class` makes its class, whose docstring describes it."""

    game: ClassVar[Game]
    metadata: dict[str, Any] = {"render_modes": list_render_modes(), "render_fps": 2}  # noqa: RUF012 (Gymnasium's own type)

    def __init__(
        self,
        *,
        opponents: Opponents = None,
        seat: int | None = None,
        auto_forced: bool = False,
        reward: str = "win",
        episode: str = "match",
        action_features: bool = False,
        render_mode: str | None = None,
        **options: OptionValue,
    ) -> None:
        known = [*self.game.option_names, *LEARNER_ARGUMENTS, "action_features", "render_mode"]
        check_keywords(type(self).__name__, options, known)
        self.render_mode = check_render_mode(render_mode)
        self._describes = check_features(self.game, action_features)
        self._learner = SingleAgentBatch(
            self.game, 1, opponents=opponents, seat=seat, auto_forced=auto_forced, auto_next=False,
            reward=reward, episode=episode, **options,
        )  # fmt: skip
        self.observation_space = cast(spaces.Space[NDArray[np.float32]], make_observation_box(self._learner.matches))
        self.action_space: spaces.Discrete = spaces.Discrete(self._learner.matches.num_actions)
        self._over = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Deal the match of ``seed``, or the next one. ``options["deck"]`` names the first cards of the deck."""
        super().reset(seed=seed)
        outcome = self._learner.reset(seed, [(options or {}).get("deck")])
        self._over = False
        if self.render_mode == "human":
            self.render()
        return self._learner.observation()[0], self._info() | describe_outcome(outcome, 0)

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Play ``action``, then the others until the learner is to move again or the match is over."""
        if self._over:
            raise gymnasium.error.ResetNeeded("the match is over, or none has begun: call reset()")
        outcome = self._learner.step(np.asarray(action).reshape(1))
        terminated, truncated = bool(outcome.terminated[0]), bool(outcome.truncated[0])
        self._over = terminated or truncated
        if self.render_mode == "human":
            self.render()
        seen, reward = self._learner.observation()[0], float(outcome.rewards[0])
        return seen, reward, terminated, truncated, self._info() | describe_outcome(outcome, 0)

    def action_masks(self) -> NDArray[np.int8]:
        """Return 1 where an action is legal, int8 [A], as sb3-contrib asks for it."""
        mask = self._learner.action_mask()[0]
        return np.zeros_like(mask) if self._over else mask

    def _info(self) -> dict[str, Any]:
        info = {"action_mask": self.action_masks(), "seat": int(self._learner.learner_seat[0])}
        if self._describes:
            features = compute_legal_features(self._learner.matches)[0]
            info["action_features"] = np.zeros_like(features) if self._over else features
        return info

    def render(self) -> Any:
        """Draw the table in the ``render_mode``."""
        return draw(self._learner.matches, 0, self.render_mode)


@cache
def make_class(name: str) -> type[SingleAgentEnv]:
    """Return the class of a game's Gymnasium environment."""
    game = load_game(name)
    page = build_gym_page(game, build_gym_id(game), list_render_modes())
    return type(f"{game.name}_env", (SingleAgentEnv,), {"game": game, "__module__": __name__, "__doc__": page})


def __getattr__(name: str) -> type[SingleAgentEnv]:
    """Return a class of :func:`make_class` by its name, which is how pickle finds it."""
    game = name.removesuffix("_env")
    if game not in available_games():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return make_class(game)


def make(game: str, **arguments: Any) -> SingleAgentEnv:
    """Make an environment: the entry point of the registered ids."""
    return make_class(game)(**arguments)


def register() -> None:
    """Make every game known to ``gymnasium.make`` and ``make_vec``."""
    for name in available_games():
        game = load_game(name)
        if build_gym_id(game) not in gymnasium.registry:
            gymnasium.register(
                build_gym_id(game),
                entry_point="card_envs.envs.gym:make",
                vector_entry_point="card_envs.envs.vector:make",
                kwargs={"game": name},
            )
