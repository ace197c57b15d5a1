"""Rummy in words: the game's part of ``Table.state()``, what is wrong with a state from outside, and the picture."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from card_envs.engine.game import Options
from card_envs.engine.picture import Badge, Picture, Seat, Zone, result
from card_envs.games.deck import CARDS, DECK_SIZE, IN_SUIT, KING, NO_CARD, draw_face, draw_row, name_cards
from card_envs.games.melds import HIGH_ACE
from card_envs.games.rummy.rules import LOW_ACE, action_mask, count_points, find_fits
from card_envs.games.rummy.state import CHOICES, DRAW, IDLE_TURNS, PLAY, RUN, SET, SPREAD, UNIVERSAL, num_actions


def details(s: Any, options: Options) -> dict[str, Any]:
    """The game's own keys of ``Table.state()``."""
    seats = range(s.players)
    return {
        "hands": [name_cards(s.hands[seat]) for seat in seats],
        "pile": [CARDS[s.discards[i]] for i in range(s.pile_size)],
        "melds": [_meld(s, i) for i in range(s.melds)],
        "laid": [name_cards(s.laid[seat]) for seat in seats],
        "known": [name_cards(s.known[seat]) for seat in seats],
        "past": [{name: _chosen(s, seat, choice) for choice, name in enumerate(CHOICES)} for seat in seats],
        "taken": None if s.taken == NO_CARD else CARDS[s.taken],
        "must": None if s.must == NO_CARD else CARDS[s.must],
        "melded": bool(s.melded),
        "idle": s.idle,
    }


def ending(s: Any) -> str:
    """How the deal finished last has ended."""
    out = [seat for seat in range(s.players) if s.last_caught[seat] == 0]
    return f"seat {out[0]} goes out" if out else "nobody goes out"


def _meld(s: Any, i: int) -> dict[str, Any]:
    of, low, high = s.meld_of[i], s.meld_low[i], s.meld_high[i]
    if s.meld_kind[i] == SET:
        return {"kind": "set", "cards": [CARDS[IN_SUIT * suit + of] for suit in range(4) if low >> suit & 1]}
    return {"kind": "run", "cards": [CARDS[IN_SUIT * of + rank % IN_SUIT] for rank in range(low, high + 1)]}


def _chosen(s: Any, seat: int, choice: int) -> list[str]:
    """The cards about which this was the latest choice of a seat in this deal, oldest first."""
    cards = (card for card in range(DECK_SIZE) if s.past[seat, choice] >> card & 1)
    return [CARDS[card] for card in sorted(cards, key=lambda card: s.past_number[seat, card])]


def check(s: Any) -> str | None:
    """What is wrong with a state from outside whose common fields are sound; ``None`` if nothing is."""
    if s.drawn > s.deck_size or s.deck_size != DECK_SIZE:
        return "the stock is out of its bounds"
    if s.phase == DRAW and (s.pile_size == 0 or s.melded):
        return "the phase does not fit"
    if s.idle > IDLE_TURNS * s.players - (s.phase == DRAW):
        return "the idle turns do not fit"
    checks = (_check_melds, _check_hands, _check_taken, _check_cards, _check_choices, _check_points, _check_moves)
    return next((fault for check in checks if (fault := check(s)) is not None), None)


def _check_melds(s: Any) -> str | None:
    highest = HIGH_ACE if s.aces == UNIVERSAL else KING
    for i in range(s.melds):
        if s.meld_kind[i] == SET and (s.meld_low[i].bit_count() < 3 or s.meld_high[i] != 0):
            return f"meld {i} is no set"
        if s.meld_kind[i] == RUN and (
            s.meld_of[i] > 3 or s.meld_high[i] > highest or s.meld_high[i] - s.meld_low[i] not in range(2, IN_SUIT)
        ):
            return f"meld {i} is no run"
    return None


def _check_hands(s: Any) -> str | None:
    for seat in range(s.players):
        if not s.over and not s.hands[seat]:
            return "a hand is empty"
        if s.known[seat] & ~s.hands[seat]:
            return "a card known to be in a hand is not there"
        laid = s.laid[seat].bit_count()
        if laid < 3 if s.has_melded[seat] else laid > 0 and s.limit:
            return f"seat {seat} has melded, or it has not"
    if s.melded and not s.over and not s.has_melded[s.to_move]:
        return "the seat to move has melded, or it has not"
    return None


def _check_taken(s: Any) -> str | None:
    """R6, R8: the card that was taken lies in the hand, and everybody knows it."""
    if (s.taken != NO_CARD or s.must != NO_CARD) and s.phase != PLAY:
        return "a card was taken before the turn, or after it"
    if s.must != NO_CARD and (s.taken != NO_CARD or s.pile != SPREAD or s.melded):
        return "a card that was taken need not be played now"
    if any(card != NO_CARD and not s.known[s.to_move] >> card & 1 for card in (s.taken, s.must)):
        return "the card that was taken is not in the hand"
    return None


def _check_points(s: Any) -> str | None:
    """R20–R22: the points of the cards laid, of which an ace at the low end of a run may count less."""
    low_aces = sum(1 << IN_SUIT * s.meld_of[i] for i in range(s.melds) if s.meld_kind[i] == RUN and s.meld_low[i] == 0)
    for seat in range(s.players):
        cards = np.uint64(s.laid[seat])
        with np.errstate(over="ignore"):  # uint64 arithmetic wraps on purpose
            points = count_points(s, cards)
        if s.aces == UNIVERSAL:
            points -= LOW_ACE * (s.laid[seat] & low_aces).bit_count()
        if s.points[seat] != points:
            return f"the points of the cards that seat {seat} has laid are wrong"
    return None


def _check_cards(s: Any) -> str | None:
    """Every card of the deck is somewhere, once."""
    state = details(s, {})
    laid = Counter(name for meld in state["melds"] for name in meld["cards"])
    if laid != Counter(name for cards in state["laid"] for name in cards):
        return "the cards laid are not those of the melds"
    cards = laid + Counter(state["pile"]) + Counter(CARDS[s.deck[i]] for i in range(s.drawn, s.deck_size))
    if cards + Counter(name for hand in state["hands"] for name in hand) != Counter(CARDS):
        return f"the {DECK_SIZE} cards of the deck are not all there once"
    order = [s.order[i] for i in range(s.ordered)]
    return "the given order names a card twice" if len(set(order)) != len(order) else None


def _check_choices(s: Any) -> str | None:
    """What was discarded or declined lies where everybody sees it, and what was taken, too, with the player who took it."""
    pile = sum(1 << s.discards[i] for i in range(s.pile_size))
    dropped = 0
    for seat in range(s.players):
        discarded, declined, taken = (s.past[seat, choice] for choice in range(len(CHOICES)))
        cards = discarded | declined | taken
        numbers = {s.past_number[seat, card] for card in range(DECK_SIZE) if cards >> card & 1}
        if discarded + declined + taken != cards or len(numbers) != cards.bit_count():
            return f"two choices of seat {seat} are about the same card, or have the same number"
        if numbers and max(numbers) >= s.past_size[seat]:
            return f"the choices of seat {seat} are not numbered from 0 on"
        elsewhere = sum(s.known[other] | s.laid[other] for other in range(s.players) if other != seat)
        if s.known[seat] & ~taken or taken & ~(s.known[seat] | s.laid[seat]) or (discarded | declined) & ~(pile | elsewhere):
            return f"the choices of seat {seat} do not fit the cards that everybody sees"
        dropped |= discarded
    lying = pile & ~dropped
    if lying and lying != 1 << s.discards[0]:  # R3
        return "a card of the pile was discarded by nobody"
    return None


def _check_moves(s: Any) -> str | None:
    fitting = (s.fits_set, s.fits_below, s.fits_above)
    mask = np.zeros(num_actions(s.players), np.int8)
    with np.errstate(over="ignore"):  # uint64 arithmetic wraps on purpose
        find_fits(s)
        if fitting != (s.fits_set, s.fits_below, s.fits_above):
            return "the cards that fit are not those that fit the melds"
        if not s.over:
            action_mask(s, mask)
    return None if s.over or mask.any() else "the seat to move has no move"


# ---- the picture


TITLE = "Rummy"


def picture(state: dict[str, Any]) -> Picture:
    """A table as everybody or a seat sees it, from ``Table.state()`` or ``Table.view(seat)``."""
    options = state["options"]
    stock = state["deck"] if isinstance(state["deck"], int) else len(state["deck"])
    pile = state["pile"]
    top = draw_face(pile[-1], marked=state["phase"] == "draw") if pile else None
    melds = [Zone(meld["kind"], draw_row(meld["cards"])) for meld in state["melds"]]
    facts = [f"deal {state['deal']}", f"seat {state['dealer']} deals", f"phase {state['phase']}"]
    facts += [f"{options['scoring']} scoring", f"to {options['target']} points"]
    return Picture(
        title=TITLE,
        facts=tuple(facts),
        seats=tuple(_seat(state, seat) for seat in range(state["players"])),
        zones=(Zone("stock", size=stock), Zone("pile", draw_row(reversed(pile[:-1])), size=len(pile), top=top), *melds),
        decision=_decision(state),
        target=int(options["target"]),
    )


def _seat(state: dict[str, Any], seat: int) -> Seat:
    hand, known = state["hands"][seat], state["known"][seat]
    size = hand if isinstance(hand, int) else len(hand)
    badges = ((seat in state["winners"], Badge("winner", "mark")), (seat == state["dealer"], Badge("dealer")))
    cards = draw_row(hand)
    if isinstance(hand, int):  # what everybody has seen the player take, and backs for the others
        cards = (*draw_row(known), *draw_row(hand - len(known)))
    elif seat == state["to_move"]:
        cards = tuple(draw_face(name, marked=name in (state["taken"], state["must"])) for name in hand)
    return Seat(
        name=f"seat {seat}",
        badges=tuple(badge for applies, badge in badges if applies),
        cards=cards,
        note=f"{size} card{'s' * (size != 1)}, {len(state['laid'][seat])} laid",
        total=state["totals"][seat],
        marked=seat == state["to_move"] or seat in state["winners"],
    )


def _decision(state: dict[str, Any]) -> str:
    if state["over"]:
        return result(state)
    if state["phase"] == "draw":
        stock = state["deck"]
        question = "draw, or take from the pile" if stock else "take from the pile, or end the deal"
    elif state["must"]:
        question = f"play the {state['must']} that was taken"
    else:
        barred = f" (not the {state['taken']})" if state["taken"] else ""
        question = f"meld, lay off, discard{barred}"
    return f"seat {state['to_move']} to move: {question}"
