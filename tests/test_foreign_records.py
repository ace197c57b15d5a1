"""Records from a stranger: a match is played again, or one line says what is wrong."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import numpy as np
import pytest

import card_envs
from card_envs import Table
from tests import games
from tests.batches import every_game
from tests.helpers import play_on, replay_changed, through_json


def refusal(record: Any) -> str:
    """The one line by which a record is refused."""
    with pytest.raises(ValueError) as caught:
        card_envs.replay(record)
    text = str(caught.value)
    assert "\n" not in text
    assert len(text) < 800
    return text


def redealt(game: str, steps: int = 0, **options: Any) -> dict[str, Any]:
    """The record of a table that was redealt in a turn, after some steps of random play."""
    table = card_envs.table(game, seed=5, **options)
    for _ in zip(range(steps), play_on(table, random.Random(5))):
        pass
    while table.state()["phase"] == "give":
        table.play(table.legal_actions()[0])
    table.redeal(0, 7)
    return through_json(table.record())


@every_game
def test_a_record_has_its_own_keys_alone(game: str) -> None:
    """Issue 11, item 7."""
    record = through_json(card_envs.table(game, seed=1).record())
    for name in ("seed", "deck", "game", "self", "threads", "reward", "episode", "interpreted", "size", "", "__class__"):
        for value in (1, None, [], "x"):
            assert f"unknown option of {game}" in refusal({**record, "options": {**record["options"], name: value}})
    for name in ("seed", "self", "threads", "Start", "", "options.players"):
        assert "unknown key of a record" in refusal({**record, name: 1})
    for variant in ([], {}, None, 3, ["basic"], True, "x" * 5000):
        assert "variant" in refusal({**record, "options": {"variant": variant}})
    assert "unknown key of a record 'deck'" in refusal({**redealt(game), "deck": record["deck"]})
    start = redealt(game)["start"]
    assert "start is not an object" in refusal({**redealt(game), "start": {**start, "key": 1}})
    assert "unknown key" in refusal({**record, 3: 4})


@every_game
def test_values_of_a_record_of_wrong_kinds(game: str) -> None:
    """Issue 11, item 7: a deck that mixes cards and numbers, and whatever else JSON can hold in the place of a value."""
    record = through_json(card_envs.table(game, seed=1).record())
    card = record["deck"][0]
    for deck in (
        [card, 3],
        [card, [card]],
        [[card], 3],
        [[card], None],
        [3],
        [[3]],
        [[[card]]],
        "deck",
        3,
        {},
        {"a": 1},
        [{}],
        [True],
    ):
        assert refusal({**record, "deck": deck}).startswith("deck"), deck
    for key in ("format", "version"):
        assert refusal({**record, key: True})
        assert refusal({**record, key: 10**5000})
    for actions in ([3], [None], [["draw"]], [True], "draw", {"draw": 1}):
        assert "action" in refusal({**record, "actions": actions})
    assert "illegal action" in refusal({**record, "actions": ["x" * 10**6]})
    for identity in (
        [1, 2],
        [1, 2, 3, 4],
        [True, 0, 0],
        [1.5, 0, 0],
        [2**300, 0, 0],
        [0, 2**63, 0],
        [0, 0, 2**63],
        ["1", 0, 0],
        [[1], 0, 0],
    ):
        refusal({**record, "identity": identity})
    for players in (10**5000, 1e400, [], "2", None, True):
        assert "option players" in refusal({**record, "options": {"players": players}})


@every_game
def test_counters_are_bounded(game: str) -> None:
    """Issue 11, item 5: what would wrap, or end a match never, is refused."""
    record = redealt(game)
    for decisions in (2**63, 2**63 - 1, 2**64, -1, True, 1.0, None, "3"):
        assert "decisions" in refusal({**record, "start": {**record["start"], "decisions": decisions}})
    cap = {"flip7": "max_rounds", "pis_yedili": "deals", "rummy": "max_deals"}[game]
    last = 3
    record = redealt(game, **{cap: last})
    sound = replay_changed(record, finished=2, deal=3, dealer=1)
    assert not sound.is_over
    for finished, deal in ((3, 4), (4, 5), (2**31 - 2, 2**31 - 1), (2, 2), (2, 4), (-1, 0), (0, 2)):
        dealer = (deal - 2) % sound.players
        with pytest.raises(ValueError, match="start is not a state"):
            replay_changed(record, finished=finished, deal=deal, dealer=dealer)
    with pytest.raises(ValueError, match="the deal has not come to this dealer"):
        replay_changed(record, finished=2, deal=3, dealer=0)
    for total in (2**31 - 1, -(2**31), 2**31 - 100, 10**6):
        totals = np.zeros(card_envs.load_game(game).players[-1], int)
        totals[0] = total
        with pytest.raises(ValueError, match="start is not a state"):
            replay_changed(record, finished=2, deal=3, dealer=1, totals=totals)
        with pytest.raises(ValueError, match="start is not a state"):
            replay_changed(record, totals=totals)
    for wrong in (
        [[0] * sound.players],
        [[1e400] * sound.players],
        [["0"] * sound.players],
        [[]],
        {},
        None,
        [[10**30] * sound.players],
    ):
        assert "deals" in refusal({**record, "start": {**record["start"], "deals": wrong, "endings": ["x"]}})


def test_endings_are_lines_of_text() -> None:
    """They are printed, so that what a terminal would take as a command has no place in them."""
    table = card_envs.table("pis_yedili", seed=3, deals=2)
    rng = random.Random(3)
    for _ in play_on(table, rng):
        if table.deals:
            break
    while not table.deals:
        table.play(rng.choice(table.legal_actions()))
    table.redeal(0, 1)
    record = through_json(table.record())
    assert card_envs.replay(record).endings == table.endings
    for ending in ("\x1b[2J", "one\ntwo", 3, None, ["x"]):
        assert "endings" in refusal({**record, "start": {**record["start"], "endings": [ending]}})
    for scores in ([0] * 4, [*record["start"]["deals"][0][:-1], True], [[]]):
        assert "deals" in refusal({**record, "start": {**record["start"], "deals": [scores]}})


# ---- states that wrote out of bounds, or could not be shown


def flip7_state(**options: Any) -> tuple[dict[str, Any], Table]:
    record = redealt("flip7", steps=1, **options)
    return record, card_envs.replay(record)


def test_a_line_of_fourteen_cards_is_refused() -> None:
    """Issue 11, item 4: a void and a live line that fill their place; the next card drawn went beyond it."""
    record, table = flip7_state(players=2, brutal=True)
    s = table.matches.states[0].copy()
    deck = [int(card) for card in s["deck"][s["drawn"] : s["deck_size"]]]
    pool = np.bincount(deck, minlength=27) + s["discard"]
    seat = 1 - int(s["to_move"])
    cards = [13, 12, 11, 10, 9, 8, 7, 6, 16, 17, 18, 19, 20, 21]
    lines = s["cards"].copy()
    lines[seat] = cards
    for card in [*cards]:
        pool[card] -= 1
    for other in range(2):
        for i in range(s["length"][other] if other == seat else 0):
            pool[s["cards"][other, i]] += 1
    order = np.repeat(np.arange(27), np.maximum(pool, 0))
    deck_field = s["deck"].copy()
    deck_field[: len(order)] = order
    length, void, status = s["length"].copy(), s["void"].copy(), s["status"].copy()
    length[seat], void[seat], status[seat] = 14, 14, 2
    held, numbers, minus = s["held"].copy(), s["numbers"].copy(), s["minus"].copy()
    held[seat] = numbers[seat] = minus[seat] = 0
    with pytest.raises(ValueError, match=f"the line of seat {seat} is none"):
        replay_changed(
            record, cards=lines, length=length, void=void, status=status, held=held, numbers=numbers, minus=minus,
            deck=deck_field, drawn=0, deck_size=len(order), unseen=pool, discard=np.zeros(27, int),
        )  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "card"), [(8, 22), (8, 23), (8, 21), (8, 0), (7, 0), (7, 15), (6, 22), (5, 0), (2, 0), (4, 3)]
)
def test_tasks_that_the_rules_do_not_push_are_refused(kind: int, card: int) -> None:
    """Issue 11, item 4: such as a PICK of Just One More or Flip Four, after which nothing stood where it was read."""
    for game_seed in range(200):
        table = card_envs.table("flip7", seed=game_seed, players=3)
        for _ in zip(range(30), play_on(table, random.Random(game_seed))):
            if table.state()["phase"] == "pick":
                break
        if table.state()["phase"] == "pick":
            break
    table.redeal(0, 3)
    record = through_json(table.record())
    s = table.matches.states[0]
    top = int(s["depth"]) - 1
    agenda = s["agenda"].copy()
    old = int(agenda[top, 2])
    agenda[top, 0], agenda[top, 2] = kind, card
    deck, unseen = s["deck"].copy(), s["unseen"].copy()
    at = [i for i in range(s["drawn"], s["deck_size"]) if deck[i] == card]
    if at:  # the cards stay complete
        deck[at[0]] = old
        unseen[card] -= 1
        unseen[old] += 1
    with pytest.raises(ValueError, match="start is not a state of flip7_v0"):
        replay_changed(record, agenda=agenda, deck=deck, unseen=unseen)


def test_a_card_that_nobody_can_be_given_is_refused() -> None:
    """Issue 11, item 4: a Steal is to be given although no line has a card."""
    for game_seed in range(2000):
        table = card_envs.table("flip7", seed=game_seed, players=2)
        state = table.state()
        if state["phase"] == "give" and not any(state["lines"]):
            break
    table.redeal(0, 3)
    record = through_json(table.record())
    s = table.matches.states[0]
    agenda, deck, unseen = s["agenda"].copy(), s["deck"].copy(), s["unseen"].copy()
    old = int(agenda[s["depth"] - 1, 2])
    for card in (24, 25, 26):  # discard, steal, swap
        changed, cards, counts = agenda.copy(), deck.copy(), unseen.copy()
        changed[s["depth"] - 1, 2] = card
        cards[next(i for i in range(s["drawn"], s["deck_size"]) if deck[i] == card)] = old
        counts[card] -= 1
        counts[old] += 1
        with pytest.raises(ValueError, match="nobody can carry out the card"):
            replay_changed(record, agenda=changed, deck=cards, unseen=counts)


def test_a_lead_with_a_suit_and_no_pile_is_refused() -> None:
    """Issue 11, item 6: it could not be shown."""
    record = redealt("pis_yedili")
    assert str(card_envs.replay(record))
    for suit in range(4):
        with pytest.raises(ValueError, match="the suit to follow is not that of the top card"):
            replay_changed(record, suit=suit)


# ---- fuzz

VALUES = [None, True, False, -1, 0, 1, 3, 2**31, 2**63, 1e400, 0.5, "", "x", "draw", [], [[]], [1], ["x"], {}, {"x": 1}]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all values in a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(one for key, part in inner for one in places(part, (*path, key)))]


def change(record: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """The record with one to three values changed, removed, doubled or added."""
    record = copy.deepcopy(record)
    for _ in range(rng.choice([1, 1, 2, 3])):
        *path, key = rng.choice(places(record)[1:])
        holder: Any = record
        for step in path:
            holder = holder[step]
        kind = rng.randrange(6)
        if kind < 3:
            holder[key] = copy.deepcopy(rng.choice(VALUES))
        elif kind == 3 and isinstance(holder[key], int) and not isinstance(holder[key], bool):
            holder[key] += rng.choice([-1, 1, 2**31, 2**63])
        elif kind == 4:
            del holder[key]
        elif isinstance(holder, dict):
            holder[rng.choice(["seed", "deck", "start", "self", "x"])] = copy.deepcopy(rng.choice(VALUES))
        else:
            holder.insert(key, copy.deepcopy(rng.choice([holder[key], *VALUES])))
    return record


@every_game
def test_mutated_records(game: str, seed: int, request: pytest.FixtureRequest) -> None:
    """Each is refused by one ``ValueError``, or replays to a match that its own record replays to as well."""
    rng = random.Random(f"{seed} {game}")
    pool = []
    for number in range(12):
        table = card_envs.table(game, seed=number, **games.load(game).draw_options(rng))
        for _ in zip(range(rng.choice([2, 20, 60])), play_on(table, rng)):
            pass
        if number % 2:
            table.redeal(0, number)
        for _ in zip(range(5), play_on(table, rng)):
            pass
        pool.append(through_json(table.record()))
    messages, accepted = set(), 0
    for number in range(30_000 if request.config.getoption("--long") else 1_500):
        record = change(rng.choice(pool), rng)
        try:
            table = card_envs.replay(record)
        except ValueError as refused:
            messages.add(str(refused))
            continue
        except Exception as error:
            raise AssertionError(f"seed {seed}, record {number}: {json.dumps(record)}") from error
        accepted += 1
        assert card_envs.replay(through_json(table.record())).state() == table.state(), (seed, number)
    assert not [message for message in messages if "\n" in message or len(message) > 5000]
    assert accepted > 20
    assert len(messages) > 50
