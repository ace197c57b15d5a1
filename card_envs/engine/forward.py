"""Multilayer perceptrons in compiled code, so that trained networks can choose in every loop in which a built-in policy can.

A network is a policy whose parameters are :class:`~card_envs.engine.networks.NetworkParameters`.
"""

import math
from functools import cache

import numpy as np

from card_envs.engine.bits import count_legal, list_legal, nth_legal
from card_envs.engine.game import Game, Policy, Rule
from card_envs.engine.jitable import register_jitable
from card_envs.engine.loops import STREAM, Loop, decision_key
from card_envs.engine.networks import ACTIVATION, DRAWS, MAP, RELU, SCORER
from card_envs.engine.random import stream, unit


@register_jitable
def add_scaled(weights, row, x, y, width):
    """Add ``x`` times the weights of one input, which begin at ``row``, to ``y``."""
    one = weights[row : row + width]
    for j in range(width):
        y[j] += one[j] * x


@register_jitable
def start_layer(weights, bias, y, width):
    """Set ``y`` to the biases of a layer."""
    of = weights[bias : bias + width]
    for j in range(width):
        y[j] = of[j]


@register_jitable
def activate(y, width, activation):
    """Apply the activation to the outputs of a layer."""
    for j in range(width):
        if activation == RELU:
            y[j] = max(y[j], np.float32(0.0))
        else:
            y[j] = math.tanh(y[j])


@register_jitable
def add_input_layer(weights, x, y, width):
    """Add the first layer's products with the inputs ``x`` to ``y``. Many inputs are zero, and they cost nothing."""
    for k in range(len(x)):
        if x[k] != 0.0:
            add_scaled(weights, k * width, x[k], y, width)


@register_jitable
def add_input_changes(weights, x, old, y, width):
    """Add to ``y`` what the first layer makes of the differences between the inputs ``x`` and ``old``."""
    for k in range(len(x)):
        if x[k] != old[k]:
            add_scaled(weights, k * width, x[k] - old[k], y, width)


@register_jitable
def run_layers(p):
    """Run the layers after the first, whose outputs before the activation are in ``p.hidden[0]``.

    Returns:
        The row of ``p.hidden`` in which the outputs of the network are.
    """
    layers = len(p.sizes) - 1
    at = (p.sizes[0] + 1) * p.sizes[1]
    here = 0
    for layer in range(1, layers):
        inputs, width = p.sizes[layer], p.sizes[layer + 1]
        x, y = p.hidden[here], p.hidden[1 - here]
        activate(x, inputs, p.settings[ACTIVATION])
        start_layer(p.weights, at + inputs * width, y, width)
        for k in range(inputs):
            if x[k] != 0.0:
                add_scaled(p.weights, at + k * width, x[k], y, width)
        at += (inputs + 1) * width
        here = 1 - here
    return here


@register_jitable
def write_scores(p, found):
    """Score the actions whose inputs are in the first ``found`` rows of ``p.inputs``.

    The actions of one decision have most inputs in common, so the first layer is computed for the first action, and for the
    others from what differs.
    """
    width = p.sizes[1]
    bias = p.sizes[0] * width
    start_layer(p.weights, bias, p.first, width)
    add_input_layer(p.weights, p.inputs[0], p.first, width)
    for n in range(found):
        for j in range(width):
            p.hidden[0, j] = p.first[j]
        if n > 0:
            add_input_changes(p.weights, p.inputs[n], p.inputs[0], p.hidden[0], width)
        score = p.hidden[run_layers(p), 0]
        for k in range(len(p.skip)):
            score += p.skip[k] * p.inputs[n, k]
        p.scores[n] = score


@register_jitable
def pick_action(p, found, key):
    """The action with the highest score, the first of several; or, where actions are drawn, one by its probability.

    The highest score plus noise of Gumbel's distribution is a draw by the probabilities exp(score) / sum of exp(scores).
    """
    best = 0
    highest = -np.inf
    for n in range(found):
        score = float(p.scores[n])
        if p.settings[DRAWS] != 0:
            score -= math.log(-math.log(unit(stream(key, p.actions[n]))))
        if score > highest:
            highest = score
            best = n
    return p.actions[best]


@cache
def make_scorer(game: Game, teacher: Policy) -> Policy:
    """Make the policy of a scorer: it plays the action with the highest score.

    Its inputs are the action features of the game, and 1 for the action that the teacher would choose.
    """
    action_features, teach = game.action_features, teacher.choose
    flag = game.action_feature_size
    if action_features is None:
        raise ValueError(f"{game.name} has no action features, so a network cannot score its actions")

    @register_jitable
    def score(s, seat, words, key, p):
        found = list_legal(words, p.actions)
        actions, inputs = p.actions[:found], p.inputs[:found]
        for n in range(found):
            for k in range(flag + 1):
                inputs[n, k] = 0.0
        action_features(s, seat, words, actions, inputs)
        choice = teach(s, seat, words, key, p.teacher)
        for n in range(found):
            if actions[n] == choice:
                inputs[n, flag] = 1.0
        write_scores(p, found)
        return found

    meaning = f"plays the action with the highest score of a network that starts from {teacher.name}"
    return Policy(f"scorer_{teacher.name}", make_choose(score), meaning, teacher.defaults, form=SCORER, score=score)


@cache
def make_map(game: Game, teacher: Policy) -> Policy:
    """Make the policy of a map: it plays the legal action with the highest logit."""
    observe, teach = game.observe, teacher.choose

    @register_jitable
    def score(s, seat, words, key, p):
        found = list_legal(words, p.actions)
        observe(s, seat, p.inputs[0])
        width = p.sizes[1]
        start_layer(p.weights, p.sizes[0] * width, p.hidden[0], width)
        add_input_layer(p.weights, p.inputs[0], p.hidden[0], width)
        logits = p.hidden[run_layers(p)]
        choice = teach(s, seat, words, key, p.teacher) if p.skip[0] != 0.0 else -1
        for n in range(found):
            p.scores[n] = logits[p.actions[n]] + (p.skip[0] if p.actions[n] == choice else np.float32(0.0))
        return found

    meaning = f"plays the action with the highest logit of a network that starts from {teacher.name}"
    return Policy(f"map_{teacher.name}", make_choose(score), meaning, teacher.defaults, form=MAP, score=score)


def make_choose(score: Rule) -> Rule:
    """Make the ``choose`` of a policy from the function that scores its legal actions. A single one needs no score."""

    @register_jitable
    def choose(s, seat, words, key, p):
        if count_legal(words) == 1:
            return nth_legal(words, 0)
        return pick_action(p, score(s, seat, words, key, p), key)

    return choose


def make_score_loop(game: Game, policy: Policy) -> Loop:
    """Make the loop that scores the legal actions of the seat to move in each of ``rows``, one decision after the other.

    It writes their number into ``counts[n]``, and for each action its index and score into ``actions`` and ``scores``. Where
    ``inputs`` has rows, they get the inputs of a scorer.
    """
    score = policy.score
    assert score is not None

    def write(m, rows, parameters, counts, actions, scores, inputs):
        at = 0
        for n in range(len(rows)):
            r = rows[n]
            s = m.states[r]
            key = decision_key(m.keys[r, STREAM], m.decisions[r], s.to_move)
            found = score(s, s.to_move, m.words[r], key, parameters)
            counts[n] = found
            for i in range(found):
                actions[at] = parameters.actions[i]
                scores[at] = parameters.scores[i]
                if len(inputs) > 0:
                    for k in range(inputs.shape[1]):
                        inputs[at, k] = parameters.inputs[i, k]
                at += 1
        return at

    return Loop(f"score_{policy.name}", write, (score, decision_key))
