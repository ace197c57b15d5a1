"""An environment's page, written from the game itself so that it cannot drift from it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from card_envs.engine.game import Game


def table(header: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join(f"| {' | '.join(str(cell) for cell in row)} |" for row in rows)


def options_table(game: Game) -> str:
    """The game's options: name, default, what is allowed, meaning."""
    rows = [(f"`{o.name}`", f"`{o.default!r}`", o.allowed, o.meaning) for o in game.options]
    return table(("Option", "Default", "Allowed", "Meaning"), rows)


def observation_table(game: Game) -> str:
    """The named fields of the flat observation, with the default options: where they lie, how they are scaled."""
    rows = []
    for spec, field in zip(game.observation_specs, game.observation_fields().values(), strict=True):
        shape = " × ".join(str(n) for n in spec.shape)
        scale = spec.scale if isinstance(spec.scale, str) else f"{spec.scale:g}"
        first, last = field.slice.start, field.slice.stop - 1
        where = f"{first} … {last}" if last > first else first
        rows.append((where, f"`{spec.name}`", shape, scale, f"{spec.low:g} … {spec.high:g}", spec.meaning))
    return table(("Index", "Field", "Shape", "Divided by", "Range", "Meaning"), rows)


def actions_table(game: Game) -> str:
    """Ranges of action indices and their strings, for the player with seat 0 and the default number of players."""
    players = int(game.resolve({})["players"])
    strings = [game.action_string(index, 0, players) for index in range(game.num_actions(players))]
    rows = []
    for _, group in groupby(enumerate(strings), lambda pair: pair[1].split()[0]):
        (first, low), *rest = group
        last, high = rest[-1] if rest else (first, low)
        rows.append((f"{first} … {last}" if rest else first, f"`{low}` … `{high}`" if rest else f"`{low}`"))
    return table(("Index", "Action"), rows)


REWARDS_AND_EPISODES = """\
* `reward="win"`: nothing until the match is over; then, of n players, k winners share: (n - k) / (k (n - 1)) each, the
  others get -1 / (n - 1); nobody gets anything if all tie. Sums to zero.
* `reward="score"`: each deal's score as it falls, times {scale:.4g} (with the default options).
* `reward="margin"`: the same, less the mean of the other players'. Sums to zero.

The {best} total wins. With `episode="deal"` the match is over after one deal, from a new deck, ranked by its scores."""


def rewards_text(game: Game) -> str:
    """What ``reward`` and ``episode`` choose."""
    scale = game.score_scale(game.resolve({}))
    return REWARDS_AND_EPISODES.format(scale=scale, best="highest" if scale > 0 else "lowest")


AEC_PAGE = """\
{title}, for {low} to {high} players, as a PettingZoo AEC environment.

# Description

{summary}

The full rules: `card-envs rules {name}`. {checks}

# Observation Space

For each agent a `Dict`. `observation`, a `Box` of float32 ({size} values with the default options), is what a player
with perfect memory may know, his own seat first, then clockwise. `action_mask` is described below. `observe(agent)`
is right for every agent at any time, and returns new arrays.

Every field is divided by a constant and clipped to its range; `card_envs.load_game("{name}").observation_fields(options)`
tells where they lie. With the default options:

{observation}

# Action Space

`Discrete(A)`: A is {sizes} players. Indices count seats from the player to move (0 is
himself, then clockwise); strings name seats absolutely, and `card_envs.load_game("{name}").action_string(index, seat,
players)` translates. For seat 0 of {players}:

{actions}

# Legal Actions Mask

int8, 1 where an action is legal. The mask of an agent that is not to move is all zero; when the match is over, that of
every agent.

{illegal}

# Rewards

{rewards}

# Episode End

When the match is over, `terminations` are true for all agents at once, and each takes its last `step(None)`. A player
who is out of a round is skipped until then. A match that a technical cap cuts off is ranked as it stands; then
`truncations` are true instead.

# Arguments

`{module}.env(**options)` or, after `import card_envs`, `pettingzoo.make("aec", "{id}", **options)`.

{options}
| `reward` | `'win'` | win or score or margin | see Rewards |
| `episode` | `'match'` | match or deal | see Rewards |
| `render_mode` | `None` | {modes} | what `render()` does; `human` also prints after each step |

`reset(seed=s)` deals the match with the identity (s, 0, 0), that of `card_envs.table("{name}", seed=s)`. `reset()`
goes on to the next match of the seed, or to one from system entropy if there was none. `reset(options={{"deck":
[...]}})` gives the first cards of the deck, by name (where every deal has a new deck also a list of such
lists); other keys are ignored.

# Version History

* v{version}: {history}.
"""

RAW_CHECKS = "`env` is the same, and checks the order of calls."
ENV_CHECKS = "Calls before `reset()`, and an `agent_iter()` without steps, are refused as PettingZoo's wrappers do."
RAW_ILLEGAL = "Any other action raises `card_envs.IllegalAction`, which names the legal ones, and nothing changes."
ENV_ILLEGAL = """\
Any other action ends the match: `terminations` are true, `infos[agent]["illegal_action"]` tells every agent what
was wrong, and the mover is paid -1. With `reward="win"` the others get 1 / (n - 1) each, else 0 beside what was
paid before."""


def aec_page(game: Game, module: str, id: str, modes: Sequence[str], checked: bool) -> str:
    """The page of a game's ``env`` (``checked``) or ``raw_env``."""
    players = int(game.resolve({})["players"])
    sizes = sorted({game.players[0], players, game.players[-1]})
    return AEC_PAGE.format(
        title=game.title,
        name=game.name,
        summary=game.summary,
        low=game.players[0],
        high=game.players[-1],
        checks=ENV_CHECKS if checked else RAW_CHECKS,
        size=game.observation_size(),
        observation=observation_table(game),
        sizes=", ".join(f"{game.num_actions(n)} with {n}" for n in sizes),
        players=players,
        actions=actions_table(game),
        illegal=ENV_ILLEGAL if checked else RAW_ILLEGAL,
        rewards=rewards_text(game),
        module=module,
        id=id,
        options=options_table(game),
        modes=" or ".join(modes),
        version=game.version,
        history="the first version" if game.version == 0 else "see the changelog",
    )


GYM_PAGE = """\
{title}, for {low} to {high} players, as a Gymnasium environment: one learner against other players.

# Description

{summary}

The full rules: `card-envs rules {name}`. After the learner's action the others play until he is to move again or the
match is over.

# Observation Space

The flat `Box` of float32 ({size} values with the default options): what a player with perfect memory may know, his own
seat first, then clockwise. Every field is divided by a constant and clipped to its range;
`card_envs.load_game("{name}").observation_fields(options)` tells where they lie. With the default options:

{observation}

# Action Space

`Discrete(A)`, with A = {sizes} players. Indices count seats from the learner (0 is himself, then clockwise);
`card_envs.load_game("{name}").action_string(index, seat, players)` translates. For seat 0 of {players}:

{actions}

# Legal Actions Mask

`info["action_mask"]`, int8, 1 where an action is legal; `action_masks()` returns the same. Any other action ends the
match: the learner is paid -1, `terminated` is true, and `info["illegal_action"]` is set.

# Rewards

The sum of what the learner is paid from his action until he is to move again, or to the end of the match. What falls
before his first decision is added to his first step.

{rewards}

# Episode End

`terminated` when the match is over; `truncated` when a technical cap cuts it off (it is ranked as it stands). A match
that ends before the learner's first decision is skipped, and the next one dealt: `info["skipped"]` counts them,
`info["skipped_reward"]` is what they paid.

# Arguments

`gymnasium.make("{id}", **arguments)`, or `gymnasium.make_vec("{id}", num_envs=…, **arguments)` for the native vector
environment (`autoreset_mode`: same step by default, with `final_obs`; or next step).

{options}
| `opponents` | `None` | a spec, a list of n - 1, or `{{spec: weight}}` | who plays against him (`{opponent}`); see below |
| `seat` | `None` | 0 … n - 1 | the learner's seat; by default the seats take turns from match to match |
| `auto_forced` | `False` | true or false | play the learner's choices of one for him |
| `reward` | `'win'` | win or score or margin | see Rewards |
| `episode` | `'match'` | match or deal | see Rewards |
| `render_mode` | `None` | {modes} | what `render()` does; `human` also prints after each step |

A list of `opponents` goes clockwise from the learner; with weights they are drawn for each seat of each match.
`info["seat"]` is the learner's seat. `reset(seed=s)` deals the match with the identity (s, 0, 0); `reset()` goes on to
the next one. `reset(options={{"deck": [...]}})` gives the first cards of the deck, by name.

# Version History

* v{version}: {history}.
"""


def gym_page(game: Game, id: str, modes: Sequence[str]) -> str:
    """The page of a game's Gymnasium environment."""
    return GYM_PAGE.format(id=id, opponent=game.default_opponent, modes=" or ".join(modes), **_facts(game))


def _facts(game: Game) -> dict[str, object]:
    players = int(game.resolve({})["players"])
    sizes = sorted({game.players[0], players, game.players[-1]})
    return {
        "title": game.title, "name": game.name, "summary": game.summary, "low": game.players[0], "high": game.players[-1],
        "size": game.observation_size(), "observation": observation_table(game), "players": players,
        "sizes": ", ".join(f"{game.num_actions(n)} with {n}" for n in sizes), "actions": actions_table(game),
        "rewards": rewards_text(game), "options": options_table(game), "version": game.version,
        "history": "the first version" if game.version == 0 else "see the changelog",
    }  # fmt: skip
