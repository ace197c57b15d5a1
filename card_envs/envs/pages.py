"""The docstrings of the environments, written from the game itself so that they always agree with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from card_envs.engine.game import Field, FieldSpec, Game


def format_table(header: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table."""
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join(f"| {' | '.join(str(cell) for cell in row)} |" for row in rows)


def describe_options(game: Game) -> str:
    """Return a table of the game's options with their defaults, allowed values and meanings."""
    rows = [(f"`{o.name}`", f"`{o.default!r}`", o.allowed, o.meaning) for o in game.options]
    return format_table(("Option", "Default", "Allowed", "Meaning"), rows)


def describe_observation(game: Game) -> str:
    """Return a table of the fields of the flat observation with the default options: where they are and how they are scaled."""
    return _describe_fields(game.observation_specs, game.observation_fields())


def describe_action_features(game: Game) -> str:
    """Return a table of the features of an action: where they are and how they are scaled."""
    return _describe_fields(game.action_feature_specs, game.action_fields())


def _describe_fields(specs: Iterable[FieldSpec], fields: Mapping[str, Field]) -> str:
    rows = []
    for spec, field in zip(specs, fields.values(), strict=True):
        shape = " × ".join(str(n) for n in spec.shape)
        scale = spec.scale if isinstance(spec.scale, str) else f"{spec.scale:g}"
        first, last = field.slice.start, field.slice.stop - 1
        where = f"{first} … {last}" if last > first else first
        rows.append((where, f"`{spec.name}`", shape, scale, f"{spec.low:g} … {spec.high:g}", spec.meaning))
    return format_table(("Index", "Field", "Shape", "Divided by", "Range", "Meaning"), rows)


def describe_actions(game: Game) -> str:
    """Return a table of action indices and strings, for seat 0 and the default number of players."""
    players = int(game.resolve({})["players"])
    strings = [game.action_string(index, 0, players) for index in range(game.num_actions(players))]
    rows = []
    for _, group in groupby(enumerate(strings), lambda pair: pair[1].split()[0]):
        (first, low), *rest = group
        last, high = rest[-1] if rest else (first, low)
        rows.append((f"{first} … {last}" if rest else first, f"`{low}` … `{high}`" if rest else f"`{low}`"))
    return format_table(("Index", "Action"), rows)


REWARDS_AND_EPISODES = """\
* `reward="win"`: nothing until the match is over. Then each of k winners among n players gets (n - k) / (k (n - 1)) and
  each of the others gets -1 / (n - 1). Nobody gets anything if all tie. The rewards sum to zero.
* `reward="score"`: the score of each deal when it ends, times {scale:.4g} (with the default options).
* `reward="margin"`: the same, minus the mean of the other players' scores. The rewards sum to zero.

The {best} total wins. With `episode="deal"` the match is one deal from a new deck, ranked by its scores."""

OBSERVATION = """\
Every field is divided by a constant and clipped to its range. These are the fields with the default options; for others
see `card_envs.load_game("{name}").observation_fields(options)`.

{observation}"""

ACTIONS = """\
`Discrete(A)`, where A is {sizes} players. Indices count seats clockwise from the player to move, who is 0, whereas
strings give the numbers of seats. `card_envs.load_game("{name}").action_string(index, seat, players)` translates. These are
the actions of seat 0 among {players} players:

{actions}"""

FEATURES = """\
# Action Features

With `action_features=True`, {where} what each legal action does: float32 [A, F], a row
of {size} figures for each action, all zeros if it is illegal. They are made from what the player to move knows and do not
depend on the numbers of seats, so that a network can score every action by itself, with the same weights at any table.

{table}

"""

ARGUMENTS = """\
| `reward` | `'win'` | win or score or margin | see Rewards |
| `episode` | `'match'` | match or deal | see Rewards |
| `render_mode` | `None` | {modes} | what `render()` returns; `human` prints after each step instead |"""
FEATURES_ARGUMENT = "\n| `action_features` | `False` | true or false | see Action Features |"

AEC_PAGE = """\
{title}, for {low} to {high} players, as a PettingZoo AEC environment.

# Description

{summary}

`card-envs rules {name}` shows the full rules. {checks}

# Observation Space

A `Dict` for each agent. `observation`, a `Box` of float32 ({size} values with the default options), is what a player
with perfect memory may know, their own seat first, then clockwise. `action_mask` is described below. `observe(agent)` is
right for every agent at any time, and returns new arrays.

{observation_text}

# Action Space

{actions_text}

# Legal Actions Mask

int8, 1 where an action is legal. The mask of an agent that is not to move is all zeros; so is every agent's mask when the
match is over.

{illegal}

{features}# Rewards

{rewards}

# Episode End

When the match is over, `terminations` are true for all agents at once, and each takes its last `step(None)`. Until then a
player who is out of a round is skipped. When a technical cap cuts a match off, it is ranked as it stands, and `truncations`
are true instead.

# Arguments

`{module}.env(**options)` or, after `import card_envs`, `pettingzoo.make("aec", "{id}", **options)`.

{options}
{arguments}

`reset(seed=s)` deals the match with the identity (s, 0, 0), which is that of `card_envs.table("{name}", seed=s)`. `reset()`
goes on to the next match of the seed, or draws a seed from the operating system if there was none. `reset(options={{"deck":
[...]}})` names the first cards of the deck (or of the deck of each deal, as a list of lists, in games with a new deck for
every deal). Other keys are ignored.

# Version History

* v{version}: {history}.
"""

RAW_CHECKS = "`env` is the same environment, but checks the order of calls."
ENV_CHECKS = "It checks the order of calls as PettingZoo's wrappers do: `reset()` comes first, and `step()` in `agent_iter()`."
RAW_ILLEGAL = "Any other action raises `card_envs.IllegalAction`, which names the legal ones, and nothing changes."
ENV_ILLEGAL = """\
Any other action ends the match: `terminations` are true, `infos[agent]["illegal_action"]` tells every agent what was
wrong, and the player to move gets -1. With `reward="win"` each of the others gets 1 / (n - 1)."""


def build_aec_page(game: Game, module: str, id: str, modes: Sequence[str], checked: bool) -> str:
    """Return the page of a game's ``env`` (``checked``) or ``raw_env``."""
    return AEC_PAGE.format(
        checks=ENV_CHECKS if checked else RAW_CHECKS,
        illegal=ENV_ILLEGAL if checked else RAW_ILLEGAL,
        module=module,
        id=id,
        **_collect_facts(game, modes, '`observation["action_features"]` says'),
    )


GYM_PAGE = """\
{title}, for {low} to {high} players, as a Gymnasium environment: one learner against other players.

# Description

{summary}

`card-envs rules {name}` shows the full rules. After the learner's action the others play until the learner is to move again or
the match is over.

# Observation Space

The flat `Box` of float32 ({size} values with the default options): what a player with perfect memory may know, their own
seat first, then clockwise.

{observation_text}

# Action Space

{actions_text}

# Legal Actions Mask

`info["action_mask"]`, int8, 1 where an action is legal; `action_masks()` returns the same. Any other action ends the
match: the learner gets -1, `terminated` is true, and `info["illegal_action"]` is set.

{features}# Rewards

The sum of what the learner is paid from their action until they are to move again, or until the match is over. What is paid
before their first decision is added to their first step.

{rewards}

# Episode End

`terminated` is true when the match is over, and `truncated` when a technical cap has cut it off (it is then ranked as it
stands). A match that ends before the learner's first decision is skipped, and the next one is dealt: `info["skipped"]` counts
such matches, and `info["skipped_reward"]` is what they paid.

# Arguments

`gymnasium.make("{id}", **arguments)`, or `gymnasium.make_vec("{id}", num_envs=…, **arguments)` for the native vector
environment, whose `autoreset_mode` is `SAME_STEP` (with `final_obs`) by default, `NEXT_STEP` or `DISABLED`. In the last two
the mask of a row whose match is over allows action 0 and nothing else. With `NEXT_STEP` that action is ignored; with
`DISABLED` the row has to be reset first.

{options}
| `opponents` | `None` | a spec, a list of n - 1, or `{{spec: weight}}` | the other players; `{opponent}` by default |
| `seat` | `None` | 0 … n - 1 | the learner's seat; by default it changes from match to match |
| `auto_forced` | `False` | true or false | whether decisions with only one legal action are made for the learner |
{arguments}

A list of `opponents` goes clockwise from the learner. With weights, they are drawn for each seat of each match.
`info["seat"]` is the learner's seat. `reset(seed=s)` deals the match with the identity (s, 0, 0), and `reset()` goes on to
the next one. `reset(options={{"deck": [...]}})` names the first cards of the deck. In the vector environment it is the same
deck in every row, `seed` may also be a list with a number or `None` for each row, and `options={{"reset_mask": mask}}` resets
only the rows where the mask, bool [num_envs], is true. Other keys are ignored.

# Version History

* v{version}: {history}.
"""


def build_gym_page(game: Game, id: str, modes: Sequence[str]) -> str:
    """Return the page of a game's Gymnasium environment."""
    return GYM_PAGE.format(
        id=id, opponent=game.default_opponent, **_collect_facts(game, modes, '`info["action_features"]` says')
    )


def _collect_facts(game: Game, modes: Sequence[str], where: str) -> dict[str, object]:
    """Return what a page says about a game, by the names of its placeholders; ``where`` says where action features are."""
    features = FEATURES.format(where=where, size=game.action_feature_size, table=describe_action_features(game))
    has_features = game.action_features is not None
    players = int(game.resolve({})["players"])
    numbers = sorted({game.players[0], players, game.players[-1]})
    sizes = ", ".join(f"{game.num_actions(n)} with {n}" for n in numbers)
    scale = game.score_scale(game.resolve({}))
    return {
        "title": game.title,
        "name": game.name,
        "summary": game.summary,
        "low": game.players[0],
        "high": game.players[-1],
        "size": game.observation_size(),
        "observation_text": OBSERVATION.format(name=game.name, observation=describe_observation(game)),
        "actions_text": ACTIONS.format(name=game.name, sizes=sizes, players=players, actions=describe_actions(game)),
        "rewards": REWARDS_AND_EPISODES.format(scale=scale, best="highest" if scale > 0 else "lowest"),
        "options": describe_options(game),
        "arguments": ARGUMENTS.format(modes=" or ".join(modes)) + (FEATURES_ARGUMENT if has_features else ""),
        "features": features if has_features else "",
        "version": game.version,
        "history": "the first version" if game.version == 0 else "see the changelog",
    }
