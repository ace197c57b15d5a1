"""The native vector environment of Gymnasium: one learner in each of many matches, stepped together."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from card_envs.envs.common import check_arguments, check_render_mode, draw, list_render_modes, make_observation_box
from card_envs.envs.gym import LEARNER_ARGUMENTS
from card_envs.envs.single_agent import Opponents, Outcome, SingleAgentBatch
from card_envs.games import load_game

MODES = {mode.value: mode for mode in (AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP)}


class SingleAgentVectorEnv(VectorEnv[NDArray[np.float32], NDArray[np.int64], NDArray[Any]]):
    """One learner against other players in ``num_envs`` matches at once.

    The spaces, rewards and arguments are those of the single environment (``gymnasium.make(id)``). ``infos["action_mask"]``
    is the mask of the next decisions, int8 [num_envs, A]; ``action_masks()`` returns the same.

    Args:
        game: The name of the game.
        num_envs: The number of matches.
        autoreset_mode: With ``AutoresetMode.SAME_STEP`` (or its value), the step that ends a match returns the first
            observation of the next one, and ``infos["final_obs"]`` has the last of the old one where ``infos["_final_obs"]``
            is true. With ``NEXT_STEP``, the step that ends a match returns its last observation. The next action of the row is
            ignored, and its step returns the first observation of the next match with reward 0.
        threads: How many threads share the rows of a step.
    """

    def __init__(
        self,
        game: str,
        num_envs: int = 1,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
        threads: int = 1,
        opponents: Opponents = None,
        seat: int | None = None,
        auto_forced: bool = False,
        reward: str = "win",
        episode: str = "match",
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        self.game = load_game(game)
        check_arguments(self.game, options, (*LEARNER_ARGUMENTS, "threads", "autoreset_mode", "render_mode"))
        if autoreset_mode not in (*MODES, *MODES.values()):
            raise ValueError(f"autoreset_mode = {autoreset_mode!r}: allowed is {' or '.join(MODES)}")
        mode = autoreset_mode if isinstance(autoreset_mode, AutoresetMode) else MODES[autoreset_mode]
        self.render_mode = check_render_mode(render_mode)
        self.metadata = {"render_modes": list_render_modes(), "render_fps": 2, "autoreset_mode": mode}
        self.num_envs = num_envs
        self._learner = SingleAgentBatch(
            self.game, num_envs, opponents=opponents, seat=seat, auto_forced=auto_forced, threads=threads,
            reward=reward, episode=episode, **options,
        )  # fmt: skip
        self.single_observation_space = make_observation_box(self._learner.matches)
        self.single_action_space = spaces.Discrete(self._learner.matches.num_actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = cast(spaces.MultiDiscrete, batch_space(self.single_action_space, num_envs))
        self._waits = np.zeros(num_envs, np.bool_)  # NEXT_STEP: the next action is ignored

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Deal a match in every row: that of ``seed + i`` (or ``seed[i]``) in row i, or the next one of the row."""
        super().reset(seed=None)
        numbers: ArrayLike | None = None
        if isinstance(seed, int | np.integer):
            numbers = int(seed) + np.arange(self.num_envs)
        elif seed is not None:
            numbers = np.asarray(seed)
        outcome = self._learner.reset(numbers)
        self._waits[:] = False
        return self._learner.observation(), self._infos(outcome)

    def step(self, actions: ArrayLike) -> tuple[NDArray[np.float32], NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Play an action in every row, then those of the other players until every learner is to move again."""
        outcome = self._learner.step(actions, np.flatnonzero(~self._waits))
        observation, infos = self._learner.observation(), self._infos(outcome)
        ended = outcome.terminated | outcome.truncated
        if self.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP:
            self._waits = ended
            observation[ended] = outcome.final_observation[ended]
            infos["action_mask"][ended] = 0
        elif ended.any():
            final = np.full(self.num_envs, None, dtype=object)
            for row in np.flatnonzero(ended):
                final[row] = outcome.final_observation[row]
            infos |= {"final_obs": final, "_final_obs": ended}
        return observation, outcome.rewards, outcome.terminated, outcome.truncated, infos

    def action_masks(self) -> NDArray[np.int8]:
        """Return 1 where an action is legal in the next decision of a row, int8 [num_envs, A]."""
        masks = self._learner.action_mask()
        masks[self._waits] = 0
        return masks

    def _infos(self, outcome: Outcome) -> dict[str, Any]:
        everywhere = np.ones(self.num_envs, np.bool_)
        infos = {"action_mask": self._learner.action_mask(), "_action_mask": everywhere}
        infos |= {"seat": self._learner.learner_seat, "_seat": everywhere}
        if outcome.illegal.any():
            infos |= {"illegal_action": outcome.illegal, "_illegal_action": outcome.illegal}
        if outcome.skipped.any():
            some = outcome.skipped > 0
            infos |= {"skipped": outcome.skipped, "_skipped": some}
            infos |= {"skipped_reward": outcome.skipped_rewards, "_skipped_reward": some}
        return infos

    def render(self) -> tuple[Any, ...] | None:
        """Draw the tables of all rows in the ``render_mode``."""
        if self.render_mode is None:
            return cast(None, draw(self._learner.matches, 0, None))  # one warning instead of one for each row
        return tuple(draw(self._learner.matches, row, self.render_mode) for row in range(self.num_envs))


def make(game: str, num_envs: int = 1, **arguments: Any) -> SingleAgentVectorEnv:
    """Make an environment: the entry point of the registered ids."""
    return SingleAgentVectorEnv(game, num_envs, **arguments)
