"""The arrays of many matches: their identities, and how they are made, copied and saved."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from card_envs.engine import loops
from card_envs.engine.compiled import load_loop
from card_envs.engine.features import LegalFeatures
from card_envs.engine.game import Game, OptionValue
from card_envs.engine.keys import SEED_WORDS, derive_roots, join_seed, split_seeds
from card_envs.engine.loops import LONG_SEED, MATCH, ROW, SEED, STREAM, UNSEEDED, Arrays
from card_envs.engine.orders import LaterOrders
from card_envs.engine.rows import States, copy_bytes, copy_rows, restore_bytes

Rows = NDArray[np.int64]
Flags = NDArray[np.bool_]


class MatchArrays:
    """``size`` matches of one game, whose arrays are public. Row ``r`` of every array belongs to match ``r``.

    Arguments are trusted: an illegal action, a row or seat out of range, or an array of another dtype corrupts memory.

    Attributes:
        states: The state of each match, structured [size].
        template: The state with which every match begins, which holds the options, structured [1].
        identity: The identity (seed, row, match) of each match, int64 [size, 3]. In place of a seed that needs more than 63
            bits stands ``LONG_SEED``, and ``UNSEEDED`` if there is none yet. :meth:`identify` writes identities, and
            :meth:`read_identity` reads one with the whole seed.
        seeds: The whole seed of each row, lowest word first, uint64 [size, 4].
        decisions: How many decisions have been made in each match, int64 [size].
        keys: The root key of each row's seed in two words, and the key from which the compiled policies of its match draw,
            uint64 [size, 3].
        actions: What ``Matches.run`` carries out, int64 [size]: an action, or ``RESET`` or ``REFRESH`` of ``loops``.
        mask: 1 where an action is legal for the seat to move, int8 [size, A rounded up to a multiple of 8].
        action_mask: The same memory without the padding, int8 [size, A].
        words: The same memory as ``mask`` with eight flags in each word, uint64 [size, …].
        observation: What the seat to move knows, float32 [size, D].
        to_move: The seat to move, or -1 when the match is over, int8 [size].
        rewards: What the last action of the row paid each seat, float64 [size, players].
        terminated, truncated: Whether that action ended the match, by the rules or by a technical cap, bool [size].
        final_observation: With ``auto_reset``, the end of a match as its last mover sees it, float32 [size, D].
        arrays: All of these in one bundle, as the loops take them.
        rows: The numbers of all rows, int64 [size].
        legal_features: The features of the legal actions, which ``Matches.run`` writes; ``None`` without ``action_features``.
        auto_reset: Whether ``Matches.run`` deals the next match of a row when one ends.
        write_observations: Whether ``Matches.run`` writes ``observation``.
        scale: The factor of ``reward="score"``, negative if the lowest total wins.
        later_orders: The given orders of later decks.

    Args:
        game: The game.
        size: The number of matches.
        options: The values of all options of the game.
        reward: ``"win"``, ``"score"`` or ``"margin"``.
        episode: ``"match"`` or ``"deal"``.
        threads: How many threads share the rows.
        interpreted: Whether to run the rules in plain Python.
        auto_reset, write_observations: See the attributes.
        action_features: Whether to keep ``legal_features``.
    """

    def __init__(
        self,
        game: Game,
        size: int,
        options: Mapping[str, OptionValue],
        *,
        reward: str = "win",
        episode: str = "match",
        threads: int = 1,
        interpreted: bool = False,
        auto_reset: bool = True,
        write_observations: bool = True,
        action_features: bool = False,
    ) -> None:
        self.game = game
        self.options = dict(options)
        self.players = int(options["players"])
        self.reward = reward
        self.episode = episode
        self.threads = threads
        self.interpreted = interpreted
        self.auto_reset = auto_reset
        self.write_observations = write_observations
        self.action_features = action_features
        self.scale = game.score_scale(options)
        self.num_actions = game.num_actions(self.players)
        self.observation_size = game.observation_size(options)
        self.later_orders = LaterOrders("order" if game.shuffles_every_deal else "deck", sum(game.copies))
        template = np.zeros(1, game.state_dtype)
        for option in game.options:
            template[option.name] = option.encode(options[option.name])
        template["single_deal"] = episode == "deal"
        self._load_loop: Callable[..., Callable[..., Any]] = partial(load_loop, game, interpreted)
        self._allocate(np.zeros(size, game.state_dtype), template)
        self.identity[:] = UNSEEDED

    def _allocate(self, states: States, template: States) -> None:
        n = self.size = len(states)
        self.rows: Rows = np.arange(n)
        self.states = states
        self.template = template
        self.identity: NDArray[np.int64] = np.zeros((n, loops.IDENTITY), np.int64)
        self.decisions: NDArray[np.int64] = np.zeros(n, np.int64)
        self.seeds: NDArray[np.uint64] = np.zeros((n, SEED_WORDS), np.uint64)
        self.keys: NDArray[np.uint64] = np.zeros((n, loops.KEYS), np.uint64)
        self.actions: NDArray[np.int64] = np.zeros(n, np.int64)
        self.words: NDArray[np.uint64] = np.zeros((n, -(-self.num_actions // 8)), np.uint64)
        self.mask: NDArray[np.int8] = self.words.view(np.int8)
        self.action_mask: NDArray[np.int8] = self.mask[:, : self.num_actions]
        self.observation: NDArray[np.float32] = np.zeros((n, self.observation_size), np.float32)
        self.to_move: NDArray[np.int8] = np.zeros(n, np.int8)
        self.rewards: NDArray[np.float64] = np.zeros((n, self.players))
        self.terminated: Flags = np.zeros(n, np.bool_)
        self.truncated: Flags = np.zeros(n, np.bool_)
        self.final_observation: NDArray[np.float32] = np.zeros_like(self.observation)
        self.arrays = Arrays(
            states=self.states, template=self.template, identity=self.identity, decisions=self.decisions, keys=self.keys,
            actions=self.actions, mask=self.mask, words=self.words, observation=self.observation, to_move=self.to_move,
            rewards=self.rewards, terminated=self.terminated, truncated=self.truncated,
            final_observation=self.final_observation,
        )  # fmt: skip
        self.legal_features: LegalFeatures | None = None
        if self.action_features:
            self.legal_features = LegalFeatures(self.game, self.arrays, self.num_actions, self._load_loop)

    # -- identities

    def identify(
        self, rows: Rows, seed: int | Sequence[int], row: int | NDArray[np.int64], match: int | NDArray[np.int64]
    ) -> None:
        """Give these rows the identity (seed, row, match). Nothing is dealt yet.

        Args:
            rows: The rows.
            seed: A seed for all of them, or one for each.
            row, match: Likewise; for each in an array, int64 [len(rows)].
        """
        seeds = [seed] if isinstance(seed, int) else seed
        where: Any = slice(rows[0], rows[0] + 1) if len(rows) == 1 else rows  # a single match is reset often: this is faster
        self.seeds[where] = split_seeds(seeds)
        self.keys[where, :STREAM] = derive_roots(seeds)
        self.identity[where, SEED] = [number if number < 2**63 else LONG_SEED for number in seeds]
        self.identity[where, ROW] = row
        self.identity[where, MATCH] = match

    def read_identity(self, row: int) -> tuple[int, int, int]:
        """Return the identity of a row's match, with the whole seed."""
        _, number, match = self.identity[row].tolist()
        return join_seed(self.seeds[row]), number, match

    # -- copying

    def gather(
        self, rows: NDArray[np.integer[Any]], *, auto_reset: bool | None = None, write_observations: bool | None = None
    ) -> Self:
        """Return new matches that are copies of these rows, in this order and with the same future. A row may be repeated.

        Flags that are not given stay as they are.
        """
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.later_orders = self.later_orders.gather(rows)
        other._allocate(copy_rows(self.states, rows), copy_rows(self.template))
        copied = ("identity", "seeds", "decisions", "keys", "words", "observation", "to_move", "rewards", "terminated",
                  "truncated", "final_observation")  # fmt: skip
        for name in copied:
            np.take(getattr(self, name), rows, axis=0, out=getattr(other, name))
        if auto_reset is not None:
            other.auto_reset = auto_reset
        if write_observations is not None:
            other.write_observations = write_observations
        if other.legal_features is not None:
            other.legal_features.write(other.rows)
        return other

    def list_arrays_to_save(self) -> list[NDArray[Any]]:
        """Return the arrays on which the future of the matches depends, for :func:`copy_bytes` and :func:`restore_bytes`."""
        return [self.seeds, *(array for array in self.arrays if array is not self.mask and array is not self.actions)]

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.gather(self.rows)

    def __getstate__(self) -> dict[str, Any]:
        names = (
            "game", "size", "options", "reward", "episode", "threads", "interpreted", "auto_reset", "write_observations",
            "action_features",
        )  # fmt: skip
        return {
            "arguments": {name: getattr(self, name) for name in names},
            "orders": self.later_orders,
            "data": copy_bytes(self.list_arrays_to_save()),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state["arguments"])  # type: ignore[misc]
        self.later_orders = state["orders"]
        restore_bytes(self.list_arrays_to_save(), state["data"])
        if self.legal_features is not None:
            self.legal_features.write(self.rows)
