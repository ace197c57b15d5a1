"""Figures that the features of several games show alike."""

from card_envs.engine.jitable import register_jitable


@register_jitable
def write_few(f, first, size):
    """Two flags: ``size`` is 1, ``size`` is 2."""
    f[first] = 1.0 if size == 1 else 0.0
    f[first + 1] = 1.0 if size == 2 else 0.0


@register_jitable
def copy_first(features, source, target, size):
    """Copy what the features of all actions of a decision begin with."""
    for i in range(size):
        features[target, i] = features[source, i]
