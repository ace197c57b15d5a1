"""``python -m card_envs.arena GAME``: the built-in players of a game, each among each other's, as Markdown tables."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from card_envs.arena.duel import duel, list_seed
from card_envs.engine import loops
from card_envs.engine.batch import Batch
from card_envs.engine.game import Game
from card_envs.games import available_games, load_game
from card_envs.players import resolve
from card_envs.players.player import seat_players


def built_ins(game: Game) -> list[str]:
    """The game's policies, in its order, by the alias that they are known under where there is one."""
    alias = {spec.split("(")[0]: name for name, spec in game.aliases.items()}
    return [alias.get(policy.name, policy.name) for policy in game.policies]


def ranking(game: Game, matches: int, seed: int = 0, **options: Any) -> str:
    """A Markdown table: the share of one of each row's player among ``players - 1`` of each column's, with 95 % intervals."""
    specs = built_ins(game)
    sheds = "hands" in (game.state_dtype.names or ())
    head = [f"one ↓ among {int(game.resolve(options)['players']) - 1} →", *specs, *(["goes out"] if sheds else [])]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for one in specs:
        cells = [_cell(game, one, others, matches, seed, options) for others in specs]
        cells += [f"{going_out(game, one, seed=seed, **options):.2f}"] if sheds else []
        lines.append(f"| `{one}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def going_out(game: Game, spec: str, *, deals: int = 1000, seed: int = 0, **options: Any) -> float:
    """How often a deal of this player among his like ends by an empty hand, in games of shedding; else the stock ran out."""
    batch = Batch(game, deals, seed=list_seed("report", seed), episode="deal", **options)
    batch._settings[loops.AUTO_RESET] = False
    player = resolve(spec, game, batch.options)
    rows, who = np.arange(deals), np.zeros(deals, np.int8)
    while len(rows):
        seat_players(batch, rows, who, [player], batch._actions)
        batch._run(rows)
        rows = rows[batch._to_move[rows] >= 0]
    return float((batch._states["hands"][:, : batch.players] == 0).any(axis=1).mean())


def _cell(game: Game, one: str, others: str, matches: int, seed: int, options: dict[str, Any]) -> str:
    if one == others:
        return "–"
    share = duel(game, one, others, matches=matches, seed=seed, **options).share
    return f"{share.mean:.3f} ± {share.high - share.mean:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m card_envs.arena", description=__doc__)
    parser.add_argument("game", choices=available_games())
    parser.add_argument("--players", default="2,4", help="numbers of players (default %(default)s)")
    parser.add_argument("--matches", type=int, default=20_000, help="of each line-up (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the deals (default %(default)s)")
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="an option of the game")
    arguments = parser.parse_args()
    game = load_game(arguments.game)
    for players in map(int, arguments.players.split(",")):
        print(f"{players} players, a fair share is {1 / players:.3f}; {arguments.matches:,} matches a cell\n")
        options = game.read_options(arguments.option, players)
        print(ranking(game, arguments.matches, arguments.seed, **options), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
