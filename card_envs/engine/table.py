"""One match in progress, for people, tests, search and tools."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.engine.batch import Batch, make_matches
from card_envs.engine.checks import check_seat
from card_envs.engine.game import Deck, Game, IllegalAction, check_keywords
from card_envs.engine.identity import Identity, Seed, check_seed, parse_identity
from card_envs.engine.keys import POLICIES
from card_envs.engine.loops import STREAM
from card_envs.engine.matches import Matches
from card_envs.engine.messages import shorten
from card_envs.engine.picture import Picture
from card_envs.engine.record import Record, Start
from card_envs.engine.rows import from_bytes, open_row, view_bytes


class Table:
    """One match of a game.

    Attributes:
        game, options, players: What is played.
        matches: The match as unchecked :class:`~card_envs.engine.matches.Matches` of one row.
        actions: The actions played since the start, as strings.
        deals: The scores by seat of every finished deal.
        endings: How each of these deals ended, in words.
        order: The order of the first deal's deck, next card first. It is empty if there is a ``start``.
        later_orders: The given orders of the decks of later deals.
        start: The state before the first of ``actions``, if that is not the deal of :attr:`identity`.

    Args:
        game: The game, as from :func:`card_envs.load_game`.
        seed: An int, or the identity of the match (seed, row, match). ``None`` draws a seed from the operating system.
        deck: Card names, the next card first: the order of the first deck or of its top. In a game with a new deck for every
            deal, it may also be a list of such orders, one for each deal.
        interpreted: Whether to run the rules in plain Python.
        **options: The options of the game.

    Raises:
        UnexpectedKeyword: A keyword is unknown. This is a ``TypeError`` and a ``ValueError``.
        ValueError: A value is out of range, a card is unknown, or a card is named too often.
    """

    def __init__(
        self,
        game: Game,
        *,
        seed: Seed = None,
        deck: Deck = None,
        interpreted: bool = False,
        **options: Any,
    ) -> None:
        check_keywords("Table", options, [*game.option_names, "seed", "deck", "interpreted"])
        identity = parse_identity(seed)
        matches = make_matches(game, 1, interpreted=interpreted, auto_reset=False, **options)
        orders = game.read_deck(deck)
        matches.deal_ordered(identity, orders)
        self._open(matches)
        self.later_orders += [[game.cards[card] for card in order] for order in orders[1:]]

    @classmethod
    def from_row(cls, matches: Matches, row: int, redeal: tuple[int, int] | None = None) -> Table:
        """Return a table that goes on from one row of many matches.

        Args:
            matches: The matches, which are not changed.
            row: The number of the row.
            redeal: (seat, seed). If it is given, what the seat cannot know is dealt anew, and the true identity is hidden.
        """
        table = object.__new__(cls)
        table._open(matches.gather(np.array([row]), auto_reset=False, write_observations=True))
        if redeal is not None:
            seat, seed = redeal
            # the true identity and keys would reveal the true deck and what the other players will choose
            table.matches.identify(table.matches.rows, seed, 0, 0)
            table.matches.keys[:, STREAM] = table.matches.derive(POLICIES, table.matches.rows, np.zeros(1, np.int64))
            table.redeal(seat, seed)
        else:
            table._mark_start()
        return table

    @classmethod
    def from_record(cls, record: Record) -> Table:
        """Return the table after the match of a record was played again.

        Raises:
            ValueError: The deck of the record is not one of the game.
            IllegalAction: An action is not legal. The message names the first such action.
        """
        options: dict[str, Any] = dict(record.options)
        table = cls(record.game, seed=record.identity, deck=record.deck, **options)
        if record.start is not None:
            table.restart(record.start)
        for number, action in enumerate(record.actions, 1):
            try:
                table.play(action)
            except IllegalAction as error:
                raise IllegalAction(f"record: action {number}: {error}") from None
        return table

    def _open(self, matches: Matches) -> None:
        self.matches = matches
        self.game, self.options, self.players = matches.game, matches.options, matches.players
        self._row = open_row(matches.states)
        self.actions: list[str] = []
        # the deck keeps the cards that were drawn, so the order of the first deal is still there
        self.order: list[str] = [self.game.cards[self._row.deck[i]] for i in range(sum(self.game.copies))]
        self.later_orders: list[list[str]] = []
        self.start: Start | None = None
        self.deals: list[list[int]] = []
        self.endings: list[str] = []

    # -- looking

    @property
    def to_move(self) -> int | None:
        """The seat to move, or ``None`` when the match is over."""
        return None if self.is_over else self._row.to_move

    @property
    def is_over(self) -> bool:
        """Whether the match is over."""
        return bool(self._row.over)

    @property
    def rewards(self) -> NDArray[np.float64]:
        """What the last action paid each seat, float64 [players]: zeros before the end of the match."""
        return np.array(self.matches.rewards[0])

    @property
    def scores(self) -> list[int]:
        """The totals by seat, in points."""
        return [self._row.totals[seat] for seat in range(self.players)]

    @property
    def batch(self) -> Batch:
        """The table's match as a batch of one, which shares its memory."""
        return Batch.wrap(self.matches)

    @property
    def identity(self) -> Identity:
        """The identity of the match: (seed, row, match)."""
        return self.matches.read_identity(0)

    def action_mask(self) -> NDArray[np.int8]:
        """Return 1 where an action is legal for the seat to move, int8 [A]; all zeros when the match is over."""
        return np.array(self.matches.action_mask[0])

    def legal_actions(self) -> list[str]:
        """Return the legal actions as strings, in the order of their indices."""
        return [self.action_string(int(index)) for index in np.flatnonzero(self.matches.action_mask[0])]

    def action_string(self, index: int) -> str:
        """Return the string of an action index of the seat to move."""
        return self.game.action_string(index, self._row.to_move, self.players)

    def action_index(self, action: str) -> int | None:
        """Return the index of an action string for the seat to move, or ``None`` if this table has no such action."""
        return self.game.action_index(action, self._row.to_move, self.players)

    def observation(self, seat: int) -> NDArray[np.float32]:
        """Return what ``seat`` knows, float32 [D]."""
        observation: NDArray[np.float32] = self.matches.observe(self.matches.rows, np.array([check_seat(seat, self.players)]))
        return observation.reshape(-1)

    def state(self) -> dict[str, Any]:
        """Return everything about the match, as JSON-able values."""
        row = self._row
        totals = self.scores
        best = max(totals) if self.matches.scale > 0 else min(totals)
        common = {
            "game": self.game.name,
            "players": self.players,
            "options": dict(self.options),
            "deal": row.deal,
            "dealer": row.dealer,
            "to_move": self.to_move,
            "phase": self.game.phases[row.phase],
            "totals": totals,
            "deck": [self.game.cards[row.deck[i]] for i in range(row.drawn, row.deck_size)],
            "over": self.is_over,
            "winners": [seat for seat in range(self.players) if totals[seat] == best] if self.is_over else [],
            "truncated": bool(row.truncated),
        }
        return common | self.game.details(row, self.options)

    def view(self, seat: int) -> dict[str, Any]:
        """Return :meth:`state` with the deck and the other seats' hands replaced by their sizes, until the match is over."""
        seat = check_seat(seat, self.players)
        state = self.state()
        if not self.is_over:
            state["deck"] = len(state["deck"])
            if "hands" in state:
                state["hands"] = [hand if other == seat else len(hand) for other, hand in enumerate(state["hands"])]
        return state

    def picture(self, seat: int | None = None) -> Picture:
        """Return the table as a picture for :mod:`card_envs.render`, or with ``seat`` what that seat sees of it."""
        return self.game.picture(self.state() if seat is None else self.view(seat))

    def __str__(self) -> str:
        return str(self.picture())

    def __repr__(self) -> str:
        return f"<Table {self.game.id}, {self.players} players, {'over' if self.is_over else f'seat {self.to_move} to move'}>"

    # -- playing

    def play(self, action: str | int) -> None:
        """Play an action for the seat to move.

        Args:
            action: The string or the index of the action.

        Raises:
            IllegalAction: The action is not legal. The message names the mover and the legal actions. Nothing has changed.
        """
        index = self.action_index(action) if isinstance(action, str) else action
        matches = self.matches
        if not isinstance(index, int | np.integer) or isinstance(index, bool):
            index = None
        if index is None or not 0 <= index < matches.num_actions or not matches.mask[0, index]:
            if self.is_over:
                raise IllegalAction(f"illegal action {shorten(action)}: the match is over")
            raise IllegalAction(
                f"illegal action {shorten(action)}: seat {self.to_move} is to move, legal are {', '.join(self.legal_actions())}"
            )
        self.actions.append(self.action_string(int(index)))
        finished = self._row.finished
        matches.actions[0] = index
        matches.run(matches.rows)
        if self._row.finished != finished:
            self.deals.append([self._row.scores[seat] for seat in range(self.players)])
            self.endings.append(self.game.ending(self._row))

    def clone(self) -> Table:
        """Return an independent copy with the same future."""
        other = copy.copy(self)
        other.matches = self.matches.gather(self.matches.rows)
        other._row = open_row(other.matches.states)
        other.actions = list(self.actions)
        other.deals, other.endings = copy.deepcopy(self.deals), list(self.endings)
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> Table:
        return self.clone()

    def redeal(self, seat: int, seed: int) -> None:
        """Resample everything that ``seat`` cannot know: hidden cards, the order of the deck and future shuffles."""
        self.matches.redeal(np.array([check_seat(seat, self.players)]), check_seed(seed))
        self._mark_start()

    def restart(self, start: Start) -> None:
        """Go on from another state of this game, which must have been checked."""
        view_bytes(self.matches.states)[:] = view_bytes(from_bytes(start.state, self.game.state_dtype))
        self.matches.decisions[0] = start.decisions
        self.matches.refresh()
        self.deals, self.endings = copy.deepcopy(start.deals), list(start.endings)
        self._mark_start()

    def _mark_start(self) -> None:
        deals, endings = copy.deepcopy(self.deals), list(self.endings)
        self.start = Start(self.matches.states.tobytes(), int(self.matches.decisions[0]), deals, endings)
        self.order, self.later_orders = [], []
        self.actions = []

    def record(self) -> dict[str, Any]:
        """Return the match so far as JSON-able values, which :func:`card_envs.replay` plays again."""
        deck = None
        if self.start is None:
            deck = [self.order, *self.later_orders] if self.later_orders else list(self.order)
        return Record(self.game, self.options, self.identity, deck, self.start, tuple(self.actions)).to_json()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_row"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._row = open_row(self.matches.states)
