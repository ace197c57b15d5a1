"""Pictures of a table as data, text, SVG and pixels, mostly with tables of Flip 7."""

from __future__ import annotations

import random
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import card_envs
from card_envs import Table
from card_envs.engine.picture import BACK, WIDTH, Card, Picture, Seat, Zone
from card_envs.games.deck import RED
from card_envs.render import svg, to_rgb, to_svg
from tests.helpers import GAMES
from tests.pictures import FOLDER, table_in_picture

SVG = "{http://www.w3.org/2000/svg}"
TABLES = [(players, brutal) for players in range(2, 13) for brutal in (False, True)]


def play(seed: int, deals: int = 3, **options: Any) -> Iterator[Table]:
    """Yield a table at every decision of the first deals of a random match in which cards are drawn often."""
    rng = random.Random(seed)
    table = card_envs.table("flip7", seed=seed, **options)
    while not table.is_over and table.state()["deal"] <= deals:
        yield table
        legal = table.legal_actions()
        table.play("draw" if legal[0] == "draw" and rng.random() < 0.7 else rng.choice(legal))
    yield table


def texts(document: str) -> list[str]:
    """All texts and titles of an SVG document."""
    root = ET.fromstring(document.encode())
    return [element.text or "" for element in root.iter() if element.tag in (SVG + "text", SVG + "title")]


# ---- the data


@pytest.mark.parametrize("brutal", [False, True])
def test_the_note_is_what_the_line_would_score_f39_f31_f41(brutal: bool) -> None:
    """It is compared with a field of the observation, which the compiled rules fill."""
    for seed in range(8):
        for table in play(seed, players=5, brutal=brutal):
            if table.is_over:
                continue
            field = table.game.observation_fields(table.options)["line_score"]
            scores = np.rint(table.observation(0)[field.slice] * field.scale)
            notes = [seat.note for seat in table.game.picture(table.state()).seats]
            assert notes == [f"= {score:.0f}" for score in scores], f"seed {seed} after {table.actions}"


@pytest.mark.parametrize("brutal", [False, True])
def test_a_view_draws_the_same_picture_and_no_picture_shows_the_order_of_the_deck(brutal: bool) -> None:
    for table in play(11, players=3, brutal=brutal):
        picture = table.game.picture(table.state())
        assert picture == table.game.picture(table.view(1))
        hidden = table.clone()
        hidden.redeal(0, 5)
        assert picture == table.game.picture(hidden.state())
        assert picture.zones[0].cards == ()


def test_the_end_names_the_winners() -> None:
    *_, table = play(3, deals=200, players=3, target=30)
    state = table.state()
    assert table.is_over
    picture = table.game.picture(state)
    assert str(max(state["totals"])) in picture.decision
    assert [n for n, seat in enumerate(picture.seats) if "winner" in str(seat.badges)] == state["winners"]


def test_the_end_by_the_cap_names_all_who_share_the_win() -> None:
    table = card_envs.table("flip7", players=3, max_rounds=1, deck=["5", "5", "5"])
    for action in ("stay", "stay", "stay"):
        table.play(action)
    assert table.game.picture(table.state()).decision == (
        "over: cut off after round 1: seats 0, 1 and 2 share the win with 5 points"
    )


def test_a_zero_says_that_its_player_must_draw_f31() -> None:
    table = card_envs.table("flip7", players=2, deck=["0", "5"])
    assert "must draw" in str(table)
    assert "draw or stay" not in str(table)


def test_a_swap_marks_the_card_picked_first_f25() -> None:
    table = card_envs.table("flip7", players=2, deck=["8", "5", "swap"])
    for action in ("draw", "give 1", "pick 0 8"):
        table.play(action)
    assert "[8]" in str(table)
    assert "swap for the 8 of seat 0" in str(table)


# ---- the text


@pytest.mark.parametrize(("players", "brutal"), TABLES)
def test_the_text_is_narrow_and_names_everything(players: int, brutal: bool) -> None:
    seed = 1000 * players + brutal
    for table in play(seed, players=players, brutal=brutal):
        state, where = table.state(), f"seed {seed} after {table.actions}"
        lines = str(table).split("\n")
        assert max(map(len, lines)) <= WIDTH, where
        assert all(line == line.rstrip() for line in lines), where
        assert f"phase {state['phase']}" in lines[0], where
        rows = [line for line in lines if " total " in line]
        assert [int(row.rsplit(" ", 1)[1]) for row in rows] == state["totals"], where
        assert [n for n, row in enumerate(rows) if row[0] == ">"] == (state["winners"] or [state["to_move"]]), where
        for row, line in zip(rows, state["lines"]):
            assert len(line) > 8 or not Counter(line) - Counter(row.replace("[", " ").replace("]", " ").split()), where


def test_long_rows_and_long_zones_go_on_below() -> None:
    state = card_envs.table("flip7", players=12, brutal=True, seed=1).state()
    line = ["0", "1", "2", "3", "4", "5", "lucky13", "13", "-2", "-4", "-6", "-8", "-10", "/2"]
    state["lines"][11] = line
    state["void"][11] = ["12", "8", "11", "10", "9", "7", "8"]
    state["discard"] = list(card_envs.load_game("flip7").cards) * 2
    state["totals"] = [-1234] * 12
    text = str(card_envs.load_game("flip7").picture(state))
    assert max(map(len, text.split("\n"))) <= WIDTH
    words = text.replace("(", " ").replace(")", " ").split()
    assert not Counter([*line, *state["void"][11]]) - Counter(words)
    assert not {f"{name}×2" for name in card_envs.load_game("flip7").cards} - set(words)


# ---- SVG and pixels


@pytest.mark.parametrize(("players", "brutal"), [(2, False), (4, True), (12, True)])
def test_svg_says_what_the_picture_says(players: int, brutal: bool) -> None:
    for step, table in enumerate(play(7, deals=2, players=players, brutal=brutal)):
        if step % 5:
            continue
        picture = table.game.picture(table.state())
        said = Counter(texts(to_svg(picture)))
        wanted = Counter(card.name for seat in picture.seats for card in seat.cards)
        wanted += Counter(card.name for zone in picture.zones for card in zone.cards)
        wanted += Counter(str(seat.total).replace("-", "−") for seat in picture.seats if abs(seat.total) > 13)
        wanted += Counter(badge.text for seat in picture.seats for badge in seat.badges)
        wanted += Counter([picture.title, " · ".join(picture.facts), f"{picture.title}: {picture.decision}"])
        assert not wanted - said, f"after {table.actions}"


def test_every_phase_draws_and_its_words_stay_inside() -> None:
    phases = set()
    for seed in range(40):
        for table in play(seed, deals=2, players=4, brutal=True, target=60):
            phase = table.state()["phase"]
            if phase not in phases:
                phases.add(phase)
                root = ET.fromstring(to_svg(table.game.picture(table.state())).encode())
                for text in root.iter(SVG + "text"):
                    assert 0 <= float(text.get("x", "-1")) <= svg.WIDTH
    assert phases == {"turn", "give", "pick", "bonus", "over"}


@pytest.mark.parametrize("players", [2, 3, 12])
def test_pixels_have_one_shape_through_a_match_and_show_each_change(players: int) -> None:
    tables = play(5, deals=1, players=players, target=1)
    frames = [to_rgb(table.game.picture(table.state())) for _, table in zip(range(12), tables)]
    for frame, following in pairwise(frames):
        assert frame.dtype == np.uint8
        assert frame.shape == frames[0].shape
        assert (frame != following).any()
    height, width, channels = frames[0].shape
    assert (width, channels) == (svg.WIDTH, 3)
    assert height % 2 == 0  # video encoders need an even height


def test_pixels_show_text_without_any_font_of_the_machine() -> None:
    """Two pictures that differ in a single word differ in their pixels, and no font of the system is used."""
    seat = Seat("seat 0", (), (), "", 0)
    one, other = (Picture("title", (), (seat,), (), decision) for decision in ("it is decided", "it is not decided"))
    assert (to_rgb(one) != to_rgb(other)).sum() > 100


def test_a_french_card_shows_rank_and_suit_and_a_pile_its_top() -> None:
    queen = Card("Qh", RED, "Q\n♥")
    seat = Seat("seat 0", (), (queen, Card("?", BACK, " ")), "2 cards", 0)
    pile = Zone("pile", size=3, top=queen)
    root = ET.fromstring(to_svg(Picture("cards", (), (seat,), (pile,), "")).encode())
    assert [path.get("fill") for path in root.iter(SVG + "path")] == ["#b9281f"] * 2
    assert "♥" not in [text.text for text in root.iter(SVG + "text")]  # few fonts have this character
    assert "3 cards, top Qh" in str(Picture("cards", (), (seat,), (pile,), ""))


def test_a_missing_library_is_named_with_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "drawsvg", None)
    with pytest.raises(ModuleNotFoundError, match=r"drawsvg.*card-envs\[render\]"):
        to_svg(Picture("title", (), (Seat("seat 0", (), (), "", 0),), (), ""))


@pytest.mark.parametrize("game", GAMES)
def test_the_picture_in_the_readme_is_up_to_date(game: str) -> None:
    drawn = (FOLDER / f"{game}.svg").read_text(encoding="utf-8")
    assert texts(drawn) == texts(to_svg(table_in_picture(game).picture())), "python -m tests.pictures"
