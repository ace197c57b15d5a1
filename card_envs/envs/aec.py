"""The PettingZoo environment: any game as an agent-environment cycle of one match at a time."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from operator import index as as_index
from typing import Any, ClassVar

import numpy as np
import pettingzoo
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo.utils.env import AECEnv, AECIterable, AECIterator
from pettingzoo.utils.env_logger import EnvLogger

from card_envs.engine.batch import make_matches
from card_envs.engine.checks import check_features
from card_envs.engine.game import Game, IllegalAction, OptionValue, check_keywords, unknown
from card_envs.engine.identity import Identity, Seed, follow_identity, parse_identity
from card_envs.envs.common import (
    check_render_mode,
    compute_legal_features,
    draw,
    list_render_modes,
    make_feature_box,
    make_observation_box,
)
from card_envs.envs.pages import build_aec_page
from card_envs.games import available_games, load_game

Observation = dict[str, NDArray[Any]]


class _AfterReset:
    """Stands for an attribute until the first ``reset()`` sets it, and raises an ``AttributeError``."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, env: object, owner: type) -> Any:
        raise AttributeError(f"{self.name} cannot be accessed before reset")


_after_reset: Any = _AfterReset
_ONLY_ROW = np.zeros(1, np.int64)


def _read_index(action: object) -> int:
    if isinstance(action, bool | np.bool_):  # these would count as 0 and 1
        raise TypeError
    return as_index(action)  # type: ignore[arg-type]  # a TypeError for anything else


# views of the buffers of the match, which every copy opens anew
_WINDOWS = frozenset(("_play", "_action", "_legal", "_to_move", "_finished", "_seen", "_mask"))


class AEC(AECEnv[str, Observation, int]):  # type: ignore[misc]  # PettingZoo has no types
    """The environment of a game. :func:`make_classes` makes its classes ``env`` and ``raw_env`` and writes their docstrings."""

    game: ClassVar[Game]
    metadata: ClassVar[dict[str, Any]]

    # descriptors, since a __getattr__ would slow down every attribute
    agents: list[str] = _after_reset()
    agent_selection: str = _after_reset()
    rewards: dict[str, float] = _after_reset()
    terminations: dict[str, bool] = _after_reset()
    truncations: dict[str, bool] = _after_reset()
    infos: dict[str, dict[str, Any]] = _after_reset()

    def __init__(
        self,
        *,
        reward: str = "win",
        episode: str = "match",
        action_features: bool = False,
        render_mode: str | None = None,
        **options: OptionValue,
    ) -> None:
        game = self.game
        known = [*game.option_names, "reward", "episode", "action_features", "render_mode"]
        check_keywords(f"{game.id}.{type(self).__name__}", options, known)
        self.render_mode = check_render_mode(render_mode)
        self._describes = check_features(game, action_features)
        settings: dict[str, Any] = {"reward": reward, "episode": episode, **options}
        self._matches = make_matches(game, 1, auto_reset=False, **settings)
        self._identity: Identity | None = None
        self._over = True  # there is no match yet
        players = self._matches.players
        self.possible_agents = [f"player_{seat}" for seat in range(players)]
        self._seats = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        # each agent has a space of its own, since spaces are seeded one by one
        self.observation_spaces = {agent: self._make_space() for agent in self.possible_agents}
        self.action_spaces = {agent: spaces.Discrete(self._matches.num_actions) for agent in self.possible_agents}
        self._open_windows()

    def _make_space(self) -> spaces.Dict:
        parts: dict[str, spaces.Space[Any]] = {
            "observation": make_observation_box(self._matches),
            "action_mask": spaces.Box(0, 1, (self._matches.num_actions,), np.int8),
        }
        if self._describes:
            parts["action_features"] = make_feature_box(self._matches)
        return spaces.Dict(parts)

    def _open_windows(self) -> None:
        matches = self._matches
        self._play = matches.bind_run()
        # memoryviews take and return plain integers several times faster than arrays
        self._action = matches.actions.data
        self._legal = matches.action_mask[0].data
        self._to_move = matches.to_move.data
        self._finished = matches.states["finished"].data
        self._seen = matches.observation[0]
        self._mask = matches.action_mask[0]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in _WINDOWS}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._open_windows()

    # -- looking

    def observation_space(self, agent: str) -> spaces.Dict:
        """Return the space of ``observe(agent)``, which is always the same object for an agent."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Discrete:
        """Return the space of the actions of ``agent``, which is always the same object for an agent."""
        return self.action_spaces[agent]

    def observe(self, agent: str) -> Observation:
        """Return what ``agent`` knows, in new arrays: ``observation`` float32 [D], ``action_mask`` int8 [A].

        With ``action_features`` these are in it as well, float32 [A, F].
        """
        if agent == self.agent_selection and not self._over:
            seen = {"observation": self._seen.copy(), "action_mask": self._mask.copy()}
            if self._describes:
                seen["action_features"] = compute_legal_features(self._matches)[0]
            return seen
        if agent not in self._seats:
            raise unknown("agent", agent, self.possible_agents)
        seen = {
            "observation": self._matches.observe(_ONLY_ROW, np.array([self._seats[agent]]))[0],
            "action_mask": np.zeros_like(self._mask),
        }
        if self._describes:
            seen["action_features"] = np.zeros((len(self._mask), self.game.action_feature_size), np.float32)
        return seen

    def last(self, observe: bool = True) -> tuple[Observation | None, float, bool, bool, dict[str, Any]]:
        """Return (observation, reward since its last step, terminated, truncated, info) of the selected agent."""
        agent = self.agent_selection
        if observe and not self._over and not self._describes:  # the same as below, without the call
            seen: Observation | None = {"observation": self._seen.copy(), "action_mask": self._mask.copy()}
        else:
            seen = self.observe(agent) if observe else None
        reward = self._cumulative_rewards[agent]
        return seen, reward, self.terminations[agent], self.truncations[agent], self.infos[agent]

    def render(self) -> Any:
        """Draw the table in the ``render_mode``: see :func:`card_envs.envs.common.draw`."""
        return draw(self._matches, 0, self.render_mode)

    def close(self) -> None:
        """Do nothing: there is nothing to release."""

    # -- playing

    def reset(self, seed: Seed = None, options: Mapping[str, Any] | None = None) -> None:
        """Deal a match.

        Args:
            seed: An int s, which stands for the identity (s, 0, 0), or an identity (seed, row, match). ``None`` goes on to the
                next match.
            options: ``{"deck": …}`` names the first cards of the deck. Other keys are ignored.

        Raises:
            ValueError: The seed is out of range, or the deck has an unknown card or too many of one. Nothing has changed.
        """
        deck = (options or {}).get("deck")
        orders = self.game.read_deck(deck)
        former = self._identity if seed is None else None
        identity = parse_identity(seed) if former is None else follow_identity(former)
        self._identity = identity
        self._matches.deal_ordered(identity, orders)
        self._play = self._matches.bind_run()
        self.agents = self.possible_agents.copy()
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = {agent: {} for agent in self.agents}
        self._skip_agent_selection = None
        self._over = False
        self._stepped = True  # since agent_iter() last selected an agent
        self._paid = False
        self._deals = 0
        self.agent_selection = self.possible_agents[self._to_move[0]]
        if self.render_mode == "human":
            self.render()

    def step(self, action: int | None) -> None:
        """Play ``action`` for the selected agent, or ``None`` when the match is over."""
        if self._over:
            self._leave(action)
            return
        agent = self.agent_selection
        self._stepped = True
        try:
            index = action if type(action) is int else _read_index(action)
            legal = index >= 0 and self._legal[index]
        except (TypeError, IndexError):
            legal = False
        if not legal:
            self._refuse(agent, action)
            return
        self._action[0] = index
        self._play()
        self._cumulative_rewards[agent] = 0.0
        self.infos[agent] = {}  # the caller may have written into the last one
        if self._paid:
            self._paid = False
            self._clear_rewards()
        seat = self._to_move[0]
        if seat < 0:
            matches = self._matches
            self._pay(matches.rewards[0].tolist())
            self._end(matches.terminated.item(), matches.truncated.item(), [{} for _ in self.agents])
        else:
            if self._finished[0] != self._deals:
                self._deals = self._finished[0]
                self._pay(self._matches.rewards[0].tolist())
            self.agent_selection = self.possible_agents[seat]
        if self.render_mode == "human":
            self.render()

    def _pay(self, rewards: list[float]) -> None:
        self._paid = True
        self.rewards = dict(zip(self.agents, rewards, strict=True))
        self._accumulate_rewards()

    def _end(self, terminated: bool, truncated: bool, infos: list[dict[str, Any]]) -> None:
        # new dictionaries, since the caller may keep the old ones
        self._over = True
        self.terminations = dict.fromkeys(self.agents, terminated)
        self.truncations = dict.fromkeys(self.agents, truncated)
        self.infos = dict(zip(self.agents, infos, strict=True))
        self.agent_selection = self.agents[0]

    def _clear_rewards(self) -> None:
        self.rewards = dict.fromkeys(self.agents, 0.0)

    def _leave(self, action: object) -> None:
        """Take the last step of an agent, who then leaves."""
        if not self.agents:
            raise ValueError("the match is over and all agents have left; reset() deals the next match")
        self._stepped = True
        self._was_dead_step(action)

    def _refuse(self, agent: str, action: object) -> None:
        raise IllegalAction(self._explain(agent, action))

    def _explain(self, agent: str, action: object) -> str:
        seat, players = self._seats[agent], self._matches.players
        legal = [f"{i} ({self.game.action_string(i, seat, players)})" for i in np.flatnonzero(self._mask).tolist()]
        return f"illegal action {reprlib.repr(action)}: {agent} is to move, legal are {', '.join(legal)}"


class CheckedAEC(AEC):
    """:class:`AEC` with the checks of PettingZoo's OrderEnforcing, AssertOutOfBounds and TerminateIllegal wrappers."""

    def observe(self, agent: str) -> Observation:
        if self._identity is None:
            EnvLogger.error_observe_before_reset()
        return super().observe(agent)

    def render(self) -> Any:
        if self._identity is None:
            EnvLogger.error_render_before_reset()
        return super().render()

    def agent_iter(self, max_iter: int = 2**63) -> AECIterable[str, Observation, int]:
        """Yield the selected agent until all have left, at most ``max_iter`` times. A ``step()`` must follow each time."""
        if self._identity is None:
            EnvLogger.error_agent_iter_before_reset()
        return _CheckedIterable(self, max_iter)

    def _leave(self, action: object) -> None:
        if self._identity is None:
            EnvLogger.error_step_before_reset()
        elif self.agents:
            super()._leave(action)
        else:
            EnvLogger.warn_step_after_terminated_truncated()

    def _refuse(self, agent: str, action: object) -> None:
        EnvLogger.warn_on_illegal_move()
        others = 1.0 / (len(self.agents) - 1) if self._matches.reward == "win" else 0.0
        self._cumulative_rewards[agent] = 0.0
        self._pay([-1.0 if other == agent else others for other in self.agents])
        why = self._explain(agent, action)
        self._end(True, False, [{"illegal_action": why} for _ in self.agents])


class _CheckedIterable(AECIterable[str, Observation, int]):  # type: ignore[misc]
    def __iter__(self) -> AECIterator[str, Observation, int]:
        return _CheckedIterator(self.env, self.max_iter)


class _CheckedIterator(AECIterator[str, Observation, int]):  # type: ignore[misc]
    def __next__(self) -> str:
        env: AEC = self.env
        if not env.agents or self.iters_til_term <= 0:
            raise StopIteration
        if not env._stepped:
            raise AssertionError("need to call step() or reset() in a loop over `agent_iter`")
        self.iters_til_term -= 1
        env._stepped = False
        return env.agent_selection


def build_aec_id(game: Game) -> str:
    """Return the id of a game's environment in PettingZoo's registry, such as ``card_envs/flip7-v0``."""
    return f"card_envs/{game.name}-v{game.version}"


def make_classes(name: str, module: str) -> tuple[type[CheckedAEC], type[AEC]]:
    """Return the classes ``env`` and ``raw_env`` of a game, for the module whose name carries the version."""
    game = load_game(name)
    modes = list_render_modes()
    metadata = {"name": game.id, "render_modes": modes, "is_parallelizable": False, "render_fps": 2}
    shared = {"__module__": module, "game": game, "metadata": metadata}

    def make(base: type[Any], kind: str, checked: bool) -> type[Any]:
        page = build_aec_page(game, module, build_aec_id(game), modes, checked)
        return type(kind, (base,), {**shared, "__qualname__": kind, "__doc__": page})

    return make(CheckedAEC, "env", True), make(AEC, "raw_env", False)


def register() -> None:
    """Make every game known to ``pettingzoo.make("aec", "card_envs/…")``."""
    for name in available_games():
        game = load_game(name)
        if build_aec_id(game) not in pettingzoo.aec_registry:
            pettingzoo.register("aec", build_aec_id(game), f"card_envs.{game.id}:env")
