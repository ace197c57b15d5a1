"""The Stable-Baselines3 environment: a native ``VecEnv``, without a loop over environments in Python."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from gymnasium import Wrapper, spaces
from gymnasium.error import ResetNeeded
from numpy.typing import ArrayLike, NDArray
from stable_baselines3.common.vec_env import VecEnv

from card_envs.engine.game import check_keywords
from card_envs.envs.common import check_render_mode, draw, make_observation_box
from card_envs.envs.gym import LEARNER_ARGUMENTS, describe_outcome
from card_envs.envs.single_agent import Opponents, Outcome, SingleAgentBatch
from card_envs.games import load_game

Indices = None | int | Iterable[int]


class CardVecEnv(VecEnv):
    """One learner against other players in ``num_envs`` matches at once, for Stable-Baselines3 and sb3-contrib.

    Observations are the flat float32 Box and actions are Discrete. ``env_method("action_masks")`` returns the masks that
    ``MaskablePPO`` asks for. When a match ends, ``infos[i]["terminal_observation"]`` is its last observation, and the returned
    observation is the first of the next match. A match that a technical cap has cut off gets ``infos[i]["truncated"]`` instead
    of ``TimeLimit.truncated``, because its ranking has been paid. ``seed()`` takes effect at the next ``reset()``, and so does
    ``set_options({"deck": […]})``, which names the first cards of the deck in every row (or in each, with a list of such
    dictionaries).

    The arguments are those of :class:`card_envs.envs.vector.SingleAgentVectorEnv`.
    """

    def __init__(
        self,
        game: str,
        num_envs: int = 64,
        *,
        threads: int = 1,
        opponents: Opponents = None,
        seat: int | None = None,
        auto_forced: bool = False,
        reward: str = "win",
        episode: str = "match",
        seed: int | None = None,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        self.game = load_game(game)
        known = [*self.game.option_names, *LEARNER_ARGUMENTS, "threads", "seed", "render_mode"]
        check_keywords(type(self).__name__, options, known)
        self._render_mode = check_render_mode(render_mode)
        self.learner = SingleAgentBatch(
            self.game, num_envs, opponents=opponents, seat=seat, auto_forced=auto_forced, threads=threads,
            reward=reward, episode=episode, **options,
        )  # fmt: skip
        matches = self.learner.matches
        super().__init__(matches.size, make_observation_box(matches), spaces.Discrete(matches.num_actions))
        self._actions: NDArray[np.int64] = np.zeros(matches.size, np.int64)
        self._begun = False
        if seed is not None:
            self.seed(seed)

    def reset(self) -> NDArray[np.float32]:
        """Deal a match in every row: that of the seed given to ``seed()``, or the next one of the row."""
        seeds = None if self._seeds[0] is None else list(self._seeds)
        outcome = self.learner.reset(seeds, [options.get("deck") for options in self._options])
        self._begun = True
        self._reset_seeds()
        self._reset_options()
        self.reset_infos = self._infos(outcome)
        return self.learner.observation()

    def restore(self, data: Sequence[bytes]) -> None:
        """Go on from what ``learner.save()`` returned for an environment that was made with the same arguments."""
        self.learner.restore(data)
        self._begun = True

    def step_async(self, actions: ArrayLike) -> None:
        self._actions = np.array(actions)

    def step_wait(self) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        if not self._begun:
            raise ResetNeeded("no match has begun: call reset()")
        outcome = self.learner.step(self._actions)
        ended = outcome.terminated | outcome.truncated
        infos = self._infos(outcome)
        for row in np.flatnonzero(ended).tolist():
            infos[row]["terminal_observation"] = outcome.final_observation[row].copy()
            if outcome.truncated[row]:
                infos[row]["truncated"] = True
        return self.learner.observation(), outcome.rewards.astype(np.float32), ended, infos

    def _infos(self, outcome: Outcome) -> list[dict[str, Any]]:
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for row in np.flatnonzero(outcome.illegal | (outcome.skipped > 0)).tolist():
            infos[row] |= describe_outcome(outcome, row)
        return infos

    def action_masks(self) -> NDArray[np.int8]:
        """Return 1 where an action is legal for a learner, int8 [num_envs, A]."""
        return self.learner.action_mask()

    def close(self) -> None:
        """Do nothing: there is nothing to release."""

    def has_attr(self, attr_name: str) -> bool:
        return attr_name == "action_masks" or attr_name in self._attributes()

    def get_attr(self, attr_name: str, indices: Indices = None) -> list[Any]:
        attributes = self._attributes()
        if attr_name == "action_masks":
            masks = self.learner.action_mask()
            return [masks[row].copy for row in self._get_indices(indices)]
        if attr_name not in attributes:
            raise AttributeError(f"{type(self).__name__} has no attribute {attr_name!r} (known: {', '.join(attributes)})")
        return [attributes[attr_name]] * len(list(self._get_indices(indices)))

    def _attributes(self) -> dict[str, Any]:
        matches = self.learner.matches
        return {
            "render_mode": self._render_mode,
            "spec": None,
            "game": self.game.name,
            "options": dict(matches.options),
            "observation_space": self.observation_space,
            "action_space": self.action_space,
        }

    def set_attr(self, attr_name: str, value: Any, indices: Indices = None) -> None:
        raise AttributeError(f"{type(self).__name__} has no attribute that can be set; make a new one instead")

    def env_method(self, method_name: str, *method_args: Any, indices: Indices = None, **method_kwargs: Any) -> list[Any]:
        rows = self._get_indices(indices)
        if method_name == "action_masks":
            masks = self.learner.action_mask()
            return list(masks) if indices is None else [masks[row] for row in rows]
        if method_name == "render":
            return [draw(self.learner.matches, row, self._render_mode) for row in rows]
        raise AttributeError(f"{type(self).__name__} has no method {method_name!r} (known: action_masks, render)")

    def env_is_wrapped(self, wrapper_class: type[Wrapper[Any, Any, Any, Any]], indices: Indices = None) -> list[bool]:
        return [False for _ in self._get_indices(indices)]

    def get_images(self) -> Sequence[NDArray[np.uint8] | None]:
        return [draw(self.learner.matches, row, self._render_mode) for row in range(self.num_envs)]
