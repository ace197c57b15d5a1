"""Every observation, decoded field by field, says what ``state()`` says; views and pictures hide what they have to hide."""

from __future__ import annotations

import random
import xml.etree.ElementTree as ET
from itertools import chain

import pytest

import card_envs
from card_envs.engine.picture import WIDTH
from card_envs.render import to_rgb, to_svg
from tests import games
from tests.helpers import GAMES, Options, all_options, check_observation, label, play_on, short, some_options

ALL_SETS = [(name, options) for name in GAMES for options in all_options(name)]
SETS = [(name, options) for name in GAMES for options in some_options(name)]
HAND_SETS = [(name, options) for name, options in SETS if "hands" in card_envs.table(name, seed=0).state()]

every_set = pytest.mark.parametrize(("name", "options"), SETS, ids=label)
every_hand_set = pytest.mark.parametrize(("name", "options"), HAND_SETS, ids=label)


@pytest.mark.parametrize(("name", "options"), ALL_SETS, ids=label)
def test_the_observation_says_what_the_state_says(name: str, options: Options, seed: int) -> None:
    data, rng = games.load(name), random.Random(f"{seed} {options}")
    table = card_envs.table(name, seed=seed, **short(name, options))
    history: list[tuple[int, int, str]] = []
    for decision, action in enumerate(play_on(table, rng, eager=0.7)):
        if decision % data.CHECK_EVERY == 0:
            story = f"identity {table.identity}, {options}, decision {decision}"
            check_observation(table, rng.randrange(table.players), history, story)
        assert table.to_move is not None
        history.append((len(table.deals) + 1, table.to_move, action))
    for seat in range(table.players):
        check_observation(table, seat, history, f"identity {table.identity}, {options}, the end")
    assert {action.split()[0] for _, _, action in history} >= data.VERBS, f"seed {seed}, {options}"


@every_set
def test_a_view_hides_the_deck_and_the_other_hands_and_nothing_else(name: str, options: Options, seed: int) -> None:
    """P29, R30; Flip 7 has no hands."""
    table = card_envs.table(name, seed=(seed, 1, 0), **short(name, options))
    for decision, _ in enumerate(play_on(table, random.Random(seed), eager=0.5)):
        if decision % 4 == 0:
            state = table.state()
            for seat in range(table.players):
                expected = state | {"deck": len(state["deck"])}
                if "hands" in state:
                    expected["hands"] = [hand if s == seat else len(hand) for s, hand in enumerate(state["hands"])]
                assert table.view(seat) == expected, f"identity {table.identity}, {options}, decision {decision}"
    assert all(table.view(seat) == table.state() for seat in range(table.players))


@pytest.mark.parametrize(("name", "options"), ALL_SETS, ids=label)
def test_a_picture_holds_the_whole_table_and_a_view_s_what_the_seat_sees(name: str, options: Options, seed: int) -> None:
    data, rng = games.load(name), random.Random(f"{seed} {options}")
    table = card_envs.table(name, seed=seed, **short(name, options))
    for decision, _ in enumerate(chain(play_on(table, rng, eager=0.6), [""])):
        if decision % data.CHECK_EVERY and not table.is_over:
            continue
        state, where = table.state(), f"seed {seed} after {table.actions}"
        seat = rng.randrange(table.players)
        whole, seen = table.picture(), table.picture(seat)
        for picture in (whole, seen):
            assert (picture.zones[0].size, picture.zones[0].cards, picture.zones[0].top) == (len(state["deck"]), (), None), (
                where
            )
            assert [one.total for one in picture.seats] == state["totals"], where
            assert [n for n, one in enumerate(picture.seats) if one.marked] == (state["winners"] or [state["to_move"]]), where
            assert [n for n, one in enumerate(picture.seats) if "dealer" in str(one.badges)] == [state["dealer"]], where
            assert f"phase {state['phase']}" in picture.facts, where
            assert state["over"] or picture.decision.startswith(f"seat {state['to_move']} to move: "), where
            assert max(map(len, str(picture).split("\n"))) <= WIDTH, where
            data.check_picture(picture, state, where)
        for number, hand in enumerate(state.get("hands", ())):
            assert [card.name for card in whole.seats[number].cards] == hand, where
            shown = [(card.name, card.count) for card in seen.seats[number].cards]
            if number == seat or table.is_over:
                assert [card for card, _ in shown] == hand, where
            else:
                known = state["known"][number] if "known" in state else []
                hidden = len(hand) - len(known)
                assert [card for card, _ in shown] == known + ["?"] * (hidden > 0), where
                assert shown[len(known) :] == [("?", hidden)] * (hidden > 0), where


@every_hand_set
def test_the_drawing_of_a_view_names_no_hidden_card(name: str, options: Options, seed: int) -> None:
    table = card_envs.table(name, seed=seed, **short(name, options))
    for decision, _ in enumerate(play_on(table, random.Random(seed), eager=0.6)):
        if decision % 8 == 0:
            state, where = table.state(), f"seed {seed} after {table.actions}"
            drawn = to_svg(table.picture(0))
            titles = {element.text for element in ET.fromstring(drawn.encode()).iter("{http://www.w3.org/2000/svg}title")}
            hidden = {*state["deck"], *chain(*state["hands"][1:])} - {*chain(*state.get("known", ()))}
            assert {*state["hands"][0], *state["pile"]} <= titles, where
            assert not titles & hidden, where
    assert to_rgb(table.picture(0)).shape[1:] == (800, 3)
