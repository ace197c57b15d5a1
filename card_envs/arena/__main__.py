"""``python -m card_envs.arena GAME``: the built-in players of a game, each among each other's, as Markdown tables."""

from __future__ import annotations

import argparse

from card_envs.arena.duel import duel
from card_envs.engine.game import Game
from card_envs.games import game_of, games


def built_ins(game: Game) -> list[str]:
    """The game's policies, in its order, by the alias that they are known under where there is one."""
    alias = {spec.split("(")[0]: name for name, spec in game.aliases.items()}
    return [alias.get(policy.name, policy.name) for policy in game.policies]


def ranking(game: Game, players: int, matches: int, seed: int = 0) -> str:
    """A Markdown table: the share of one of each row's player among ``players - 1`` of each column's, with 95 % intervals."""
    specs = built_ins(game)
    lines = [f"| one ↓ among {players - 1} → | {' | '.join(specs)} |", "|---" * (len(specs) + 1) + "|"]
    for one in specs:
        cells = [_cell(game, one, others, players, matches, seed) for others in specs]
        lines.append(f"| **{one}** | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(game: Game, one: str, others: str, players: int, matches: int, seed: int) -> str:
    if one == others:
        return "–"
    share = duel(game, one, others, matches=matches, seed=seed, players=players).share
    return f"{share.mean:.3f} ± {share.high - share.mean:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m card_envs.arena", description=__doc__)
    parser.add_argument("game", choices=games())
    parser.add_argument("--players", default="2,4", help="numbers of players (default %(default)s)")
    parser.add_argument("--matches", type=int, default=20_000, help="of each line-up (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the deals (default %(default)s)")
    arguments = parser.parse_args()
    for players in map(int, arguments.players.split(",")):
        print(f"{players} players, a fair share is {1 / players:.3f}; {arguments.matches:,} matches a cell\n")
        print(ranking(game_of(arguments.game), players, arguments.matches, arguments.seed), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
