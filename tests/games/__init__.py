"""What the tests know of each game, one module a game; :func:`load` finds it by the game's name.

A module holds

* ``SHORT``: options that keep matches short which would last long in random play,
* ``QUICK``: options of very short matches, and ``LONG``: of matches with at least four deals,
* ``FORCED``: options with which a seat sometimes has a single legal action,
* ``RULES``: the letter of the rule numbers and the last of them,
* ``OPPONENTS``: two players for a person at the terminal,
* ``busy(legal, rng)``: an action that keeps a match busy, of the legal ones,
* ``all_cards(state)``: every card on the table, wherever it lies, as a ``Counter``,
* ``facts(state, seat, history)``: what every field of the seat's observation has to say, in plain figures, from ``state()``
  and the (deal, seat, action) of every action so far,
* ``CHECK_EVERY``: decisions from one costly check of a match to the next, and ``VERBS``: first words of actions that happen in
  every match checked so,
* ``check_picture(picture, state, where)``: assertions on what a picture shows in this game only,
* ``question(game, state)``: in a word or two what a row of a batch's states asks its mover, and ``QUESTIONS``: what has to
  be asked when all built-in players play each other,
* ``RANKED_PLAYERS``, ``RANKED_MATCHES``: numbers of players, and matches, by which the default opponent is compared with the
  other built-in players,
* ``draw_options(rng)``: options for a random match beside the reference, and ``MATCHES``: how many of these are played,
* ``PICTURE``: options, seed and decisions played of the table in ``.github/<game>.svg``,
* ``PLAYTHROUGHS``: the name of each transcript in ``tests/playthroughs/`` → its options, its seed and how often a busy
  action is chosen.

The reference of the game is ``tests/reference/<game>.py`` with a function ``start(identity, orders, options)``; its scenarios
lie in ``tests/cases/``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def load(name: str) -> Any:
    """The test data of the game ``name``."""
    return import_module(f"{__name__}.{name}")
