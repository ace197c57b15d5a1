"""Flip 7: With a Vengeance."""

from card_envs.engine.game import Game
from card_envs.games.flip7 import actions, check, metrics, observation, policies, rules, state, text

GAME = Game(
    module=__name__,
    name="flip7",
    title="Flip 7: With a Vengeance",
    version=0,
    summary="Press your luck for 200 points; everything but the deck's order is public.",
    options=state.OPTIONS,
    cards=state.CARDS,
    copies=state.COPIES,
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
    score_scale=lambda options: 1.0 / int(options["target"]),
    presets={},
    policies=policies.POLICIES,
    aliases=policies.ALIASES,
    default_opponent="ev",
    bounds=state.BOUNDS,
    check=check.check,
    picture=text.picture,
)
