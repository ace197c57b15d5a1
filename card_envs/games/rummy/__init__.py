"""Rummy and Rummy 500."""

from card_envs.engine.game import Game, Options
from card_envs.games import french_deck
from card_envs.games.rummy import actions, check, metrics, observation, policies, rules, state, text


def score_scale(options: Options) -> float:
    """Of ``reward="score"``: points count by the target; penalty points against one, by the hundred."""
    return -0.01 if options["scoring"] == "negative" else 1.0 / int(options["target"])


GAME = Game(
    module=__name__,
    name="rummy",
    title="Rummy",
    version=0,
    summary="Draw, meld, discard: basic rummy and Rummy 500 (variant='rummy500'). Hands are hidden.",
    options=state.OPTIONS,
    presets=state.PRESETS,
    cards=french_deck.CARDS,
    copies=french_deck.COPIES,
    phases=state.PHASES,
    state_dtype=state.STATE,
    init=rules.init,
    step=rules.step,
    action_mask=rules.action_mask,
    observe=observation.observe,
    redeal=rules.redeal,
    count_action=metrics.count_action,
    count_deal=metrics.count_deal,
    count_names=metrics.COUNTS,
    metrics=metrics.METRICS,
    num_actions=actions.num_actions,
    observation_specs=observation.FIELDS,
    action_string=actions.action_string,
    action_index=actions.action_index,
    details=text.details,
    ending=text.ending,
    score_scale=score_scale,
    policies=policies.POLICIES,
    aliases=policies.ALIASES,
    default_opponent="best",
    bounds=state.BOUNDS,
    check=check.check,
    picture=text.picture,
)
