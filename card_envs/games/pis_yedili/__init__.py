"""Pis Yedili, the Turkish crazy eights."""

from card_envs.engine.game import Game
from card_envs.games import french_deck
from card_envs.games.pis_yedili import actions, check, metrics, observation, policies, rules, state, text

GAME = Game(
    module=__name__,
    name="pis_yedili",
    title="Pis Yedili",
    version=0,
    summary="The Turkish crazy eights: shed your hand; jacks name a suit, sevens punish. Hands are hidden.",
    options=state.OPTIONS,
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
    score_scale=lambda options: -0.01,
    presets={},
    policies=policies.POLICIES,
    aliases=policies.ALIASES,
    default_opponent="best",
    bounds=state.BOUNDS,
    check=check.check,
    picture=text.picture,
)
