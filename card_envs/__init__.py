"""Card games as fast reinforcement-learning environments with hidden information."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version as _version
from typing import Any

from numpy.typing import ArrayLike

from card_envs.engine.batch import Batch
from card_envs.engine.game import Deck, Game, IllegalAction, OptionValue
from card_envs.engine.identity import Seed
from card_envs.engine.measures import register_appraiser as _register_appraiser
from card_envs.engine.record import Record
from card_envs.engine.table import Table
from card_envs.envs import aec as _aec
from card_envs.envs import gym as _gym
from card_envs.games import available_games, load_game
from card_envs.players import Search, load_player, register_player

__version__ = _version("card-envs")
__all__ = [
    "Batch", "Game", "IllegalAction", "Search", "Table", "__version__", "available_games", "batch", "load_game", "load_player",
    "replay", "table",
]  # fmt: skip

_aec.register()
_gym.register()
# players and measures of higher layers, which are imported only when they are asked for
for _name, _meaning in {
    "exact": "draws or stays for the most points of the round, as the solver computes from the cards still to come; else as ev",
    "racer": "stays at the threshold of the race to the target (floor=27, live=False); else as ev",
}.items():
    register_player("flip7", _name, f"card_envs.risk.players:{_name}", _meaning)
for _game in available_games():
    register_player(
        _game,
        "search",
        "card_envs.players.search:Search",
        "tries its actions in worlds that it thinks possible, by play-outs of a fast player (rollouts=400 or milliseconds=…)",
    )
_register_appraiser("flip7", "card_envs.risk.loss:APPRAISER")


def table(
    name: str,
    *,
    seed: Seed = None,
    deck: Deck = None,
    interpreted: bool = False,
    **options: OptionValue,
) -> Table:
    """Make a table for one match of the game ``name``: see :class:`card_envs.Table`."""
    return Table(load_game(name), seed=seed, deck=deck, interpreted=interpreted, **options)


def batch(
    name: str,
    size: int,
    *,
    seed: int | ArrayLike | None = None,
    threads: int = 1,
    reward: str = "win",
    episode: str = "match",
    action_features: bool = False,
    interpreted: bool = False,
    **options: OptionValue,
) -> Batch:
    """Make a batch of many matches of the game ``name``: see :class:`card_envs.Batch`."""
    settings: dict[str, Any] = {"reward": reward, "episode": episode, "action_features": action_features, **options}
    return Batch(load_game(name), size, seed=seed, threads=threads, interpreted=interpreted, **settings)


def replay(record: Mapping[str, Any]) -> Table:
    """Play the match of a record again.

    Args:
        record: What ``Table.record()`` returned.

    Returns:
        The table after the last action of the record.

    Raises:
        ValueError: The message says what is wrong with the record.
    """
    return Table.from_record(Record.from_json(record, load_game))
