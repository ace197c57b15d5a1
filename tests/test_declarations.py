"""What a game declares, and what the engine makes of it: the state, the offsets of observation fields, the pieces of a game."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import card_envs
from card_envs.engine.deals import CUT_OFF, DECIDED, GOES_ON, compose_rules
from card_envs.engine.game import OPTIONAL_PIECES, PIECES, Game, Option
from card_envs.engine.observation import FieldSpec, locate_fields
from card_envs.engine.rows import Row, from_bytes, open_row
from card_envs.engine.state import COMMON_FIELDS, StateField, StateLayout, lay_out_state
from tests.helpers import GAMES, play_on, short, some_options

OPTIONS = (
    Option("players", 2, "seats", 2, 5),
    Option("flag", False, "a flag"),
    Option("choice", "b", "a choice", choices=("a", "b", "c")),
    Option("target", 100, "points", 1, 1_000_000),
    Option("few", 3, "a small number", 1, 9),
)
PHASES = ("turn", "over")


def lay_out(*fields: StateField, copies: tuple[int, ...] = (1,) * 52, deck_for_each_deal: bool = False) -> StateLayout:
    return lay_out_state(OPTIONS, PHASES, copies, fields, scores=(0, 1), deck_for_each_deal=deck_for_each_deal)


# ---- the state


def test_a_state_has_the_common_fields_the_options_and_the_games_own() -> None:
    layout = lay_out(StateField("hands", np.uint64, 5, (0, 7)), StateField("grid", np.int16, (2, 3)))
    fields = layout.dtype.fields or {}
    assert {*COMMON_FIELDS, "players", "flag", "choice", "target", "few", "hands", "grid"} == {*fields} - {"padding"}
    shapes = {name: layout.dtype[name].shape for name in fields}
    assert (shapes["totals"], shapes["scores"], shapes["deck"], shapes["hands"]) == ((5,), (5,), (52,), (5,))
    assert (shapes["grid"], shapes["to_move"]) == ((2, 3), ())
    types = {name: layout.dtype[name].base for name in fields}
    assert (types["flag"], types["choice"], types["few"], types["target"]) == (np.int8, np.int8, np.int8, np.int32)


@pytest.mark.parametrize("extra", range(9))
def test_a_state_is_sorted_by_item_size_and_padded_to_whole_words(extra: int) -> None:
    own = [StateField(f"byte{n}", np.int8) for n in range(extra)]
    dtype = lay_out(*own, StateField("key2", np.uint64), StateField("halves", np.int16, 3)).dtype
    sizes = [dtype[name].base.itemsize for name in dtype.names or ()]
    assert sizes == sorted(sizes, reverse=True)
    assert sum(dtype[name].itemsize for name in dtype.names or ()) == dtype.itemsize
    assert dtype.itemsize % 8 == 0
    assert dtype.isalignedstruct
    padding = dtype["padding"].itemsize if "padding" in (dtype.names or ()) else 0
    assert padding < 8


def test_totals_cannot_overflow() -> None:
    """Issue 11, item 5: the most deals that a match can have, each with the most points, fit in a total."""
    with pytest.raises(TypeError, match="totals of 1000000 deals"):
        lay_out_state(OPTIONS, PHASES, (1,), (), scores=(-2148, 0), deck_for_each_deal=True)


def test_bounds_come_with_the_fields() -> None:
    bounds = lay_out(StateField("own", np.int8, (), (-1, 4)), StateField("free", np.int32)).bounds
    assert (bounds["own"], bounds["players"], bounds["choice"], bounds["flag"]) == ((-1, 4), (2, 5), (0, 2), (0, 1))
    assert (bounds["to_move"], bounds["dealer"], bounds["phase"], bounds["deal_over"]) == ((-1, 4), (0, 4), (0, 1), (0, 0))
    assert (bounds["deck"], bounds["drawn"]) == ((0, 51), (0, 52))
    assert bounds["scores"] == (0, 1)
    assert not {"free", "key", "totals", "padding"} & {*bounds}


def test_a_deck_for_each_deal_can_be_ordered_apart() -> None:
    layout = lay_out(copies=(2,) * 20, deck_for_each_deal=True)
    assert layout.dtype["order"].shape == layout.dtype["deck"].shape == (40,)
    assert layout.bounds["order"] == (0, 19)
    assert "order" not in (lay_out().dtype.names or ())


def test_a_deck_that_does_not_fit_is_refused() -> None:
    with pytest.raises(TypeError, match="128 cards"):
        lay_out(copies=(2,) * 64)


@pytest.mark.parametrize("game", GAMES)
def test_every_field_of_a_real_state_keeps_its_bounds(game: str) -> None:
    rules, rng = card_envs.load_game(game), random.Random(game)
    for options in some_options(game):
        table = card_envs.table(game, seed=4, **short(game, options))
        for decision, _ in enumerate(play_on(table, rng, eager=0.5)):
            if decision % 10 == 0:
                start = table.clone()
                start.redeal(0, decision)
                assert start.start is not None
                state = from_bytes(start.start.state, rules.state_dtype)
                for name, (low, high) in rules.bounds.items():
                    assert low <= state[name].min(), (name, options)
                    assert state[name].max() <= high, (name, options)


# ---- from deal to deal


def rules_of_three_deals(totals: list[list[int]], verdict: Any) -> tuple[Any, Any, Row]:
    """A game without cards: a step ends a deal with the next scores of ``totals``; the second deal ends while it is dealt."""
    states = np.zeros(1, lay_out(StateField("began", np.int8)).dtype)
    s: Any = open_row(states)
    s.players = 3
    deals = iter(totals)

    def score(s: Any) -> None:
        for seat, points in enumerate(next(deals)):
            s.scores[seat] = points
        s.deal_over = 1

    def begin_deal(s: Any) -> None:
        s.began += 1
        s.to_move = (s.dealer + 1) % 3
        if s.deal == 2:
            score(s)

    init, step = compose_rules(begin_deal, lambda s, action: score(s), verdict, over=1)
    return init, step, s


def test_deals_follow_each_other_until_the_match_is_decided() -> None:
    init, step, s = rules_of_three_deals(
        [[1, 2, 3], [10, 0, -5], [100, 0, 0]], lambda s: DECIDED if s.totals[0] > 100 else GOES_ON
    )
    init(s)
    assert (s.deal, s.dealer, s.to_move, s.finished, s.began, s.over) == (1, 2, 0, 0, 1, 0)
    step(s, 0)  # the second deal ends while it is dealt
    assert (s.deal, s.dealer, s.to_move, s.finished, s.began, s.over, s.deal_over) == (3, 1, 2, 2, 3, 0, 0)
    assert ([*s.totals][:3], [*s.scores][:3]) == ([11, 2, -2], [10, 0, -5])
    step(s, 0)
    assert (s.deal, s.dealer, s.to_move, s.finished, s.over, s.truncated, s.phase) == (3, 1, -1, 3, 1, 0, 1)
    assert [*s.totals][:3] == [111, 2, -2]


@pytest.mark.parametrize("single", [0, 1])
@pytest.mark.parametrize("verdict", [GOES_ON, DECIDED, CUT_OFF])
def test_a_cap_truncates_a_match_but_not_a_single_deal(verdict: int, single: int) -> None:
    init, step, s = rules_of_three_deals([[1, 2, 3], [4, 5, 6]], lambda s: verdict)
    s.single_deal = single
    init(s)
    step(s, 0)
    assert s.over == (verdict != GOES_ON or single)
    assert s.truncated == (verdict == CUT_OFF and not single)


# ---- the offsets of an observation


@pytest.mark.parametrize("game", GAMES)
def test_offsets_are_those_of_the_fields(game: str) -> None:
    rules = card_envs.load_game(game)
    first, per_player = locate_fields(rules.observation_specs)
    for options in some_options(game):
        players = int(options["players"])
        for name, field in rules.observation_fields(options).items():
            assert getattr(first, name) + getattr(per_player, name) * players == field.slice.start, (name, options)


def test_a_field_grows_with_the_players_only() -> None:
    fields = (
        FieldSpec("a", (3,), ""),
        FieldSpec("b", ("players", 2), ""),
        FieldSpec("c", (4,), ""),
        FieldSpec("d", ("players",), ""),
        FieldSpec("e", ("others", 5), ""),
        FieldSpec("f", (), ""),
    )
    first, per_player = locate_fields(fields)
    assert [*first] == [0, 3, 3, 7, 7, 2]
    assert [*per_player] == [0, 0, 2, 2, 3, 8]
    with pytest.raises(TypeError, match=r"field e: .* 'players' or 'others' once"):
        locate_fields([FieldSpec("e", ("players", "players"), "")])
    with pytest.raises(TypeError, match="it names target"):
        locate_fields([FieldSpec("e", ("target",), "")])


# ---- a game is made of its modules


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The modules of a game ``toy``, each of which takes its pieces from Pis Yedili."""
    folder = tmp_path / "toy"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    for module in {*PIECES, *OPTIONAL_PIECES} - {"race"}:
        (folder / f"{module}.py").write_text(f"from card_envs.games.pis_yedili.{module} import *\n")
    (folder / "race.py").write_text("match_value = lambda state, seat: 0.0\n")  # which Pis Yedili lacks
    monkeypatch.syspath_prepend(str(tmp_path))
    yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] == "toy"]:
        del sys.modules[name]


def make_toy() -> Game:
    return Game.from_package(
        "toy", name="toy", title="Toy", version=3, summary="", default_opponent="random", score_scale=lambda options: 1.0
    )


def test_a_game_is_made_of_its_modules(package: Path) -> None:
    toy, pis = make_toy(), card_envs.load_game("pis_yedili")
    assert (toy.id, toy.module) == ("toy_v3", "toy")
    assert (toy.cards, toy.options, toy.state_dtype, toy.bounds) == (pis.cards, pis.options, pis.state_dtype, pis.bounds)
    assert (toy.observe, toy.redeal, toy.picture) == (pis.observe, pis.redeal, pis.picture)
    table, other = card_envs.Table(toy, seed=1, interpreted=True), card_envs.table("pis_yedili", seed=1)
    assert table.legal_actions() == other.legal_actions()


@pytest.mark.parametrize(
    ("module", "piece"),
    [(module, piece) for module, names in (PIECES | OPTIONAL_PIECES).items() for piece in names.values()],
)
def test_a_missing_piece_is_named(package: Path, module: str, piece: str) -> None:
    with (package / f"{module}.py").open("a") as file:
        file.write(f"del {piece}\n")
    with pytest.raises(TypeError, match=rf"toy: toy\.{module} has no {piece}\b"):
        make_toy()


def test_a_misspelt_piece_is_named_with_its_misspelling(package: Path) -> None:
    with (package / "rules.py").open("a") as file:
        file.write("judge_mach = judge_match\ndel judge_match\n")
    with pytest.raises(TypeError, match=r"toy\.rules has no judge_match; is judge_mach meant to be it\?"):
        make_toy()


def test_a_game_may_lack_action_features(package: Path) -> None:
    assert make_toy().action_features is card_envs.load_game("pis_yedili").action_features
    sys.modules.pop("toy.features")
    (package / "features.py").unlink()
    assert (make_toy().action_features, make_toy().action_fields()) == (None, {})


def test_action_features_have_the_same_shape_at_every_table(package: Path) -> None:
    with (package / "features.py").open("a") as file:
        file.write("from card_envs.engine.game import FieldSpec\nACTION_FIELDS += (FieldSpec('hands', ('players',), ''),)\n")
    with pytest.raises(TypeError, match="the action feature hands must have the same shape with any options"):
        make_toy()


def test_a_missing_module_is_named(package: Path) -> None:
    (package / "metrics.py").unlink()
    with pytest.raises(ModuleNotFoundError, match=r"toy\.metrics"):
        make_toy()


def test_the_last_phase_is_over(package: Path) -> None:
    with (package / "state.py").open("a") as file:
        file.write("PHASES = ('over', *PHASES[:-1])\n")
    with pytest.raises(TypeError, match="the last phase"):
        make_toy()
