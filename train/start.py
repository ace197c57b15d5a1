"""How an agent begins: from nothing, as a built-in player, with the weights of a checkpoint, or by imitation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from card_envs.engine.game import Game
from card_envs.engine.networks import MAP
from card_envs.players import Player
from card_envs.players.network import Network
from card_envs.players.player import Bindable, BuiltIn


@dataclass(frozen=True)
class Start:
    """How an agent begins.

    Attributes:
        player: The player as which it begins; ``None`` if it begins with random weights.
        teacher: The built-in player on which its network is residual, if there is one.
        network: The network whose weights it takes over, if there is one.
    """

    player: Player | None = None
    teacher: BuiltIn | None = None
    network: Network | None = None

    @property
    def imitates(self) -> bool:
        """Whether it begins by imitating the player, since it can neither be residual on them nor take over weights."""
        return self.player is not None and self.teacher is None and self.network is None


def find_start(player: Player, game: Game, *, imitate: bool = False) -> Start:
    """Return how an agent begins as a player of the game: as exactly as it can, or by imitation, which every player allows."""
    if imitate:
        return Start(player)
    if not isinstance(player, Network):
        return Start(player, teacher=cast(BuiltIn, player) if isinstance(player, Bindable) else None)
    if player.form != MAP:
        return Start(player)
    return Start(player, teacher=player.find_teacher(game), network=player)
