"""The native vector environment of Gymnasium: one learner in each of many matches, stepped together."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from card_envs.engine.checks import check_features
from card_envs.engine.game import check_keywords
from card_envs.engine.identity import check_seed
from card_envs.envs.common import check_render_mode, compute_legal_features, draw, list_render_modes, make_observation_box
from card_envs.envs.gym import LEARNER_ARGUMENTS
from card_envs.envs.single_agent import Opponents, Outcome, SingleAgentBatch
from card_envs.games import load_game

MODES = {mode.value: mode for mode in AutoresetMode}


class SingleAgentVectorEnv(VectorEnv[NDArray[np.float32], NDArray[np.int64], NDArray[Any]]):
    """One learner against other players in ``num_envs`` matches at once.

    The spaces, rewards and arguments are those of the single environment (``gymnasium.make(id)``). ``infos["action_mask"]``
    is the mask of the next decisions, int8 [num_envs, A]; ``action_masks()`` returns the same. ``infos["action_features"]``, if
    asked for, are float32 [num_envs, A, F], zero in a row whose match is over.

    Args:
        game: The name of the game.
        num_envs: The number of matches.
        autoreset_mode: With ``AutoresetMode.SAME_STEP`` (or its value), the step that ends a match returns the first
            observation of the next one, and ``infos["final_obs"]`` has the last of the old one where ``infos["_final_obs"]``
            is true. With ``NEXT_STEP``, the step that ends a match returns its last observation. The next action of the row is
            ignored, and its step returns the first observation of the next match with reward 0. With ``DISABLED``, the row has
            to be reset by ``reset(options={"reset_mask": …})`` before the next step. In the last two modes the mask of a row
            whose match is over allows action 0 and nothing else, since the probabilities of a policy without any legal action
            would be NaN.
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
        action_features: bool = False,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        self.game = load_game(game)
        known = [*self.game.option_names, *LEARNER_ARGUMENTS, "action_features", "threads", "autoreset_mode", "render_mode"]
        check_keywords(type(self).__name__, options, known)
        if autoreset_mode not in (*MODES, *MODES.values()):
            raise ValueError(f"autoreset_mode = {autoreset_mode!r}: allowed is {' or '.join(MODES)}")
        mode = autoreset_mode if isinstance(autoreset_mode, AutoresetMode) else MODES[autoreset_mode]
        self.render_mode = check_render_mode(render_mode)
        self._describes = check_features(self.game, action_features)
        self.metadata = {"render_modes": list_render_modes(), "render_fps": 2, "autoreset_mode": mode}
        self.num_envs = num_envs
        self._learner = SingleAgentBatch(
            self.game, num_envs, opponents=opponents, seat=seat, auto_forced=auto_forced, threads=threads,
            auto_next=mode is AutoresetMode.SAME_STEP, reward=reward, episode=episode, **options,
        )  # fmt: skip
        self.single_observation_space = make_observation_box(self._learner.matches)
        self.single_action_space = spaces.Discrete(self._learner.matches.num_actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = cast(spaces.MultiDiscrete, batch_space(self.single_action_space, num_envs))
        self._begun = np.zeros(num_envs, np.bool_)  # the row has a match, which may be over
        self._ended = np.zeros(num_envs, np.bool_)  # the match of the row is over, and its next one has not been dealt
        self._some_ended = False
        self._stuck = True  # a row has to be reset before the next step

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Deal a match in every row.

        Args:
            seed: Row i is dealt the match of ``seed + i``, or of ``seed[i]``. Without a seed, or where a list holds ``None``,
                it goes on to its next match.
            options: ``{"deck": […]}`` names the first cards of the deck, the same in every row. ``{"reset_mask": mask}`` deals
                only in the rows where the mask, bool [num_envs], is true. The others stay as they are; their observations and
                masks are returned, too. Other keys are ignored.

        Raises:
            TypeError, ValueError: A seed, deck or mask is not allowed. Nothing has changed.
        """
        options = options or {}
        rows = self._read_reset_mask(options)
        seeds: list[int | None] | None = None
        if isinstance(seed, int | np.integer):
            seeds = [check_seed(check_seed(seed) + int(row)) for row in rows]
        elif seed is not None:
            if len(seed) != self.num_envs:
                raise ValueError(f"seed: {self.num_envs} numbers are expected, one for each row, but {len(seed)} are given")
            seeds = [None if seed[row] is None else check_seed(seed[row]) for row in rows]
        deck = options.get("deck")
        outcome = self._learner.reset(seeds, None if deck is None else [deck] * len(rows), rows)
        self._begun[rows] = True
        self._end_matches(self._ended & ~np.isin(np.arange(self.num_envs), rows))
        return self._learner.observation(), self._infos(outcome)

    def _read_reset_mask(self, options: dict[str, Any]) -> NDArray[np.int64]:
        """Return the rows to reset. The mask stays in ``options``, since the wrappers of Gymnasium read it after the reset."""
        mask = options.get("reset_mask", np.ones(self.num_envs, np.bool_))
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
            raise TypeError(f"reset_mask = {mask!r}: a NumPy array of booleans is expected")
        if mask.shape != (self.num_envs,) or not mask.any():
            raise ValueError(f"reset_mask: shape ({self.num_envs},) is expected, with a row to reset, got {mask!r}")
        return np.flatnonzero(mask)

    def _end_matches(self, ended: NDArray[np.bool_]) -> None:
        self._ended = ended
        self._some_ended = bool(ended.any())
        waits = self._some_ended and self.metadata["autoreset_mode"] is AutoresetMode.DISABLED
        self._stuck = waits or not self._begun.all()

    def step(self, actions: ArrayLike) -> tuple[NDArray[np.float32], NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Play an action in every row, then those of the other players until every learner is to move again."""
        if self._stuck:
            row = np.argmax(~self._begun | self._ended)
            raise ResetNeeded(f"the match is over, or none has begun: call reset() (row {row})")
        if self._some_ended:
            outcome = self._learner.step(actions, np.flatnonzero(~self._ended), np.flatnonzero(self._ended))
        else:
            outcome = self._learner.step(actions)
        ended = outcome.terminated | outcome.truncated
        final: dict[str, Any] = {}
        if self.metadata["autoreset_mode"] is not AutoresetMode.SAME_STEP:
            self._end_matches(ended)
        elif ended.any():
            kept = np.full(self.num_envs, None, dtype=object)
            for row in np.flatnonzero(ended):
                kept[row] = outcome.final_observation[row]
            final = {"final_obs": kept, "_final_obs": ended}
        infos = self._infos(outcome) | final
        return self._learner.observation(), outcome.rewards, outcome.terminated, outcome.truncated, infos

    def action_masks(self) -> NDArray[np.int8]:
        """Return 1 where an action is legal in the next decision of a row, int8 [num_envs, A]."""
        masks = self._learner.action_mask()
        if self._some_ended:
            masks[self._ended] = 0
            masks[self._ended, 0] = 1
        return masks

    def _infos(self, outcome: Outcome) -> dict[str, Any]:
        everywhere = np.ones(self.num_envs, np.bool_)
        infos = {"action_mask": self.action_masks(), "_action_mask": everywhere}
        infos |= {"seat": self._learner.learner_seat, "_seat": everywhere}
        if self._describes:
            features = compute_legal_features(self._learner.matches)
            features[self._ended] = 0.0
            infos |= {"action_features": features, "_action_features": everywhere}
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
