"""The Stable-Baselines3 environment: a native ``VecEnv``, without a loop over environments in Python."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from gymnasium import Wrapper, spaces
from gymnasium.error import ResetNeeded
from numpy.typing import ArrayLike, NDArray
from stable_baselines3.common.vec_env import VecEnv

from card_envs.engine.checks import check_features
from card_envs.engine.game import IllegalAction, check_keywords
from card_envs.engine.legality import explain_illegal
from card_envs.envs.common import check_render_mode, compute_legal_features, draw, make_feature_box, make_observation_box
from card_envs.envs.gym import LEARNER_ARGUMENTS, describe_outcome
from card_envs.envs.single_agent import Opponents, Outcome, SingleAgentBatch
from card_envs.games import load_game
from card_envs.players import Decisions, Player, resolve
from card_envs.players.player import check_answer

OBSERVATION, FEATURES = "observation", "action_features"

Indices = None | int | Iterable[int]
Observation = NDArray[np.float32] | dict[str, NDArray[np.float32]]


class CardVecEnv(VecEnv):
    """One learner against other players in ``num_envs`` matches at once, for Stable-Baselines3 and sb3-contrib.

    Observations are the flat float32 Box, and actions are Discrete. ``env_method("action_masks")`` returns the masks that
    ``MaskablePPO`` asks for. When a match ends, ``infos[i]["terminal_observation"]`` is its last observation, and the returned
    observation is the first of the next match. A match that a technical cap has cut off gets ``infos[i]["truncated"]`` instead
    of ``TimeLimit.truncated``, because its ranking has been paid. ``seed()`` takes effect at the next ``reset()``, and so does
    ``set_options({"deck": […]})``, which names the first cards of the deck in every row (or in each, with a list of such
    dictionaries).

    The arguments are those of :class:`card_envs.envs.vector.SingleAgentVectorEnv`, and:

    Args:
        teacher: A player, or the spec of one, who says at every decision what they would do in the place of the learner. Each
            observation then ends with A more inputs: 1 at the action of the teacher and 0 elsewhere. In the last observation
            of a match they are all 0. A policy can start from this advice instead of having to learn it.
        action_features: Whether observations are dictionaries, for ``MultiInputPolicy``: ``"observation"`` as else, and
            ``"action_features"``, float32 [A, F], which are 0 for illegal actions. A rollout buffer stores them all.
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
        teacher: str | Player | None = None,
        action_features: bool = False,
        seed: int | None = None,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        self.game = load_game(game)
        known = [*self.game.option_names, *LEARNER_ARGUMENTS, "teacher", "action_features", "threads", "seed", "render_mode"]
        check_keywords(type(self).__name__, options, known)
        self._render_mode = check_render_mode(render_mode)
        self.learner = SingleAgentBatch(
            self.game, num_envs, opponents=opponents, seat=seat, auto_forced=auto_forced, threads=threads,
            reward=reward, episode=episode, **options,
        )  # fmt: skip
        matches = self.learner.matches
        self._teacher = None if teacher is None else resolve(teacher, self.game, matches.options)
        self._describes = check_features(self.game, action_features)
        super().__init__(matches.size, self._make_space(), spaces.Discrete(matches.num_actions))
        self._actions: NDArray[np.int64] = np.zeros(matches.size, np.int64)
        self._begun = False
        if seed is not None:
            self.seed(seed)

    def _make_space(self) -> spaces.Space[Any]:
        matches = self.learner.matches
        box = make_observation_box(matches)
        if self._teacher is not None:
            low, high = np.zeros((2, matches.num_actions), np.float32)
            box = spaces.Box(np.concatenate([box.low, low]), np.concatenate([box.high, high + 1]), dtype=np.float32)
        return spaces.Dict({OBSERVATION: box, FEATURES: make_feature_box(matches)}) if self._describes else box

    def observation(self) -> Observation:
        """Return what the learners know, in new arrays: float32 [num_envs, D], or [num_envs, D + A] with a teacher."""
        matches = self.learner.matches
        observation = self.learner.observation()
        if self._teacher is not None:
            observation = np.concatenate([observation, self._ask(self._teacher)], axis=1)
        return {OBSERVATION: observation, FEATURES: compute_legal_features(matches)} if self._describes else observation

    def _ask(self, teacher: Player) -> NDArray[np.float32]:
        """Return 1 at the action that the teacher would choose, and 0 elsewhere, float32 [num_envs, A]."""
        matches = self.learner.matches
        matches.actions[:] = check_answer(teacher.act(Decisions(matches, matches.rows)), matches.size, teacher)
        illegal = matches.find_illegal(matches.rows)
        if len(illegal):
            raise IllegalAction(f"{teacher!r}: {explain_illegal(matches, illegal)}")
        advice = np.zeros((matches.size, matches.num_actions), np.float32)
        advice[matches.rows, matches.actions] = 1.0
        return advice

    def _end_observation(self, known: NDArray[np.float32]) -> Observation:
        """Return the last observation of a match, in which nobody has a choice, from what the learner knows, float32 [D]."""
        matches = self.learner.matches
        last = known.copy()
        if self._teacher is not None:
            last = np.concatenate([last, np.zeros(matches.num_actions, np.float32)])
        nothing = np.zeros((matches.num_actions, self.game.action_feature_size), np.float32)
        return {OBSERVATION: last, FEATURES: nothing} if self._describes else last

    def reset(self) -> Observation:
        """Deal a match in every row: that of the seed given to ``seed()``, or the next one of the row."""
        seeds = None if self._seeds[0] is None else list(self._seeds)
        outcome = self.learner.reset(seeds, [options.get("deck") for options in self._options])
        self._begun = True
        self._reset_seeds()
        self._reset_options()
        self.reset_infos = self._infos(outcome)
        return self.observation()

    def restore(self, data: Sequence[bytes]) -> None:
        """Go on from what ``learner.save()`` returned for an environment that was made with the same arguments."""
        self.learner.restore(data)
        self._begun = True

    def step_async(self, actions: ArrayLike) -> None:
        self._actions = np.array(actions)

    def step_wait(self) -> tuple[Observation, NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        if not self._begun:
            raise ResetNeeded("no match has begun: call reset()")
        outcome = self.learner.step(self._actions)
        ended = outcome.terminated | outcome.truncated
        infos = self._infos(outcome)
        for row in np.flatnonzero(ended).tolist():
            infos[row]["terminal_observation"] = self._end_observation(outcome.final_observation[row])
            if outcome.truncated[row]:
                infos[row]["truncated"] = True
        return self.observation(), outcome.rewards.astype(np.float32), ended, infos

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
