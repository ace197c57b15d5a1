"""Playthroughs: readable transcripts of matches, one file per game and variant.

A change in one is a change in what the environment does: rules, strings, observations, masks, shuffles, random streams.
``python -m tests.playthroughs`` writes them anew.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import card_envs
from card_envs import Table
from tests import games
from tests.helpers import GAMES, Options, play_on

FOLDER = Path(__file__).parent
SHOWN = 28  # decisions from the beginning that are shown in full; of later ones only the actions are shown
LAST = 4  # decisions at the end that are shown in full


@dataclass(frozen=True)
class Playthrough:
    """A match to write down; ``eager`` is the probability of a busy action (see ``play_on``)."""

    file: str
    game: str
    options: Options
    seed: int
    eager: float


PLAYTHROUGHS = [
    Playthrough(f"{game}_{name}.txt", game, options, seed, eager)
    for game in GAMES
    for name, (options, seed, eager) in games.load(game).PLAYTHROUGHS.items()
]


def transcript(playthrough: Playthrough) -> str:
    """The match in words: changes of the state, what views hide, observations by field, legal actions."""
    game = card_envs.load_game(playthrough.game)
    table = card_envs.table(playthrough.game, seed=playthrough.seed, **playthrough.options)
    match = playthrough.options | {"seed": playthrough.seed}
    lines = [f"{game.id}: {json.dumps(match)}", "", f"actions {game.num_actions(table.players)}"]
    lines += [f"observation {game.observation_size(table.options)}"]
    for name, field in game.observation_fields(table.options).items():
        place = f"{field.slice.start}:{field.slice.stop}, shape {list(field.shape)}"
        lines.append(f"  {name} {place}, scale {field.scale:g}, in [{field.low:g}, {field.high:g}]")
    decisions = [(table.clone(), action) for action in play_on(table, random.Random(playthrough.seed), playthrough.eager)]
    shown: dict[str, Any] = {}  # the state that was shown last
    for number, (before, action) in enumerate(decisions):
        if number < SHOWN or number >= len(decisions) - LAST:
            lines += ["", f"[{number + 1}] seat {before.to_move}", *describe(before, shown), f"  play {action}"]
            shown = before.state()
        elif number == SHOWN:
            between = [action for _, action in decisions[SHOWN:-LAST]]
            lines += ["", f"[{SHOWN + 1} … {len(decisions) - LAST}] {', '.join(between)}"]
    lines += ["", "over", *describe(table, shown)]
    lines += [f"  rewards {np.round(table.rewards, 6).tolist()}", f"  deals {table.deals}"]
    return "\n".join(lines) + "\n"


def describe(table: Table, before: dict[str, Any]) -> list[str]:
    """The table as it lies now, as far as it differs from the state ``before``."""
    state = table.state()
    changed = {key: value for key, value in state.items() if before.get(key, ...) != value}
    lines = [f"  {key}: {difference(before.get(key), value)}" for key, value in changed.items()]
    for seat in range(table.players):
        view = table.view(seat)
        hidden = {key: value for key, value in view.items() if value != state[key]}
        lines.append(f"  view {seat}: {json.dumps(hidden)}")
    if len({line.split(":", 1)[1] for line in lines[-table.players :]}) == 1:  # nobody knows more than another
        lines[-table.players :] = [f"  every view:{lines[-1].split(':', 1)[1]}"]
    seat = table.to_move if table.to_move is not None else 0
    observation = table.observation(seat)
    shown = []
    for name, field in table.game.observation_fields(table.options).items():
        figures = observation[field.slice].astype(float) * field.scale
        if figures.any():
            shown.append(f"{name} " + " ".join(f"{i}:{figures[i]:.4g}" for i in np.flatnonzero(figures)))
    lines.append(f"  seat {seat} observes: " + "; ".join(shown))
    if table.to_move is not None:
        lines.append(f"  legal: {', '.join(table.legal_actions())}")
    return lines


def difference(old: Any, new: Any) -> str:
    """A value in JSON. Of a list that lost its front or grew at its end, only that change."""
    if isinstance(old, list) and isinstance(new, list):
        gone = len(old) - len(new)
        if 0 < gone < len(old) and old[gone:] == new:
            return f"{json.dumps(old[:gone])} taken, {len(new)} left"
        if old and new[: len(old)] == old:
            return f"+ {json.dumps(new[len(old) :])}"
    return json.dumps(new)


def write() -> None:
    for file in FOLDER.glob("*.txt"):
        file.unlink()
    for playthrough in PLAYTHROUGHS:
        (FOLDER / playthrough.file).write_text(transcript(playthrough), "utf-8")
        print(FOLDER / playthrough.file)
