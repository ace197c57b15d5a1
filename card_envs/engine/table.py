"""One match in progress, for people, tests, search and tools."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from card_envs.engine.batch import Batch, make_matches
from card_envs.engine.checks import check_seat
from card_envs.engine.game import Deck, Game, IllegalAction
from card_envs.engine.identity import Identity, Seed, check_seed, parse_identity
from card_envs.engine.keys import POLICIES
from card_envs.engine.loops import STREAM
from card_envs.engine.matches import Matches
from card_envs.engine.picture import Picture
from card_envs.engine.record import Record, Start
from card_envs.engine.rows import from_bytes, open_row, view_bytes


class Table:
    """One match of a game.

    Attributes:
        game, options, players: what is played.
        matches: the match itself as :class:`~card_envs.engine.matches.Matches` of one row, unchecked.
        actions: the actions played since the start, as strings.
        order: the order of the first deal's deck, next card first; it means nothing if ``start`` is given.
        later_orders: the given orders of later deals' decks.
        start: what ``actions`` start from, if that is not the deal of :attr:`identity`.

    Args:
        game: a game, as from :func:`card_envs.load_game`.
        seed: an int, or the match's identity (seed, row, match); ``None`` draws a seed from the operating system.
        deck: card names, the next card first: the order of the first deck or of its top. In a game that deals every deal from
            a new deck it may also be a list of such orders, one for each deal.
        interpreted: whether to run the rules in plain Python.
        **options: the game's options.

    Raises:
        ValueError: an unknown option, a value out of range, or a card too many.
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
        identity = parse_identity(seed)
        matches = make_matches(game, 1, interpreted=interpreted, auto_reset=False, **options)
        orders = game.deck_orders(deck)
        matches.deal_ordered(identity, orders)
        self._open(matches)
        self.later_orders += [[game.cards[card] for card in order] for order in orders[1:]]

    @classmethod
    def from_row(cls, matches: Matches, row: int, redeal: tuple[int, int] | None = None) -> Table:
        """Return a table that goes on from one row of many matches.

        Args:
            matches: they are not changed.
            row: the number of the row.
            redeal: (seat, seed): redeal what the seat cannot know before anything is seen, and hide the true identity.
        """
        table = object.__new__(cls)
        table._open(matches.gather(np.array([row]), auto_reset=False, write_observations=True))
        if redeal is not None:
            seat, seed = redeal
            # whoever has the true identity or the players' true key knows the true deck and what the others will choose
            table.matches.identify(table.matches.rows, seed, 0, 0)
            table.matches.keys[:, STREAM] = table.matches.derive(POLICIES, table.matches.rows, np.zeros(1, np.int64))
            table.redeal(seat, seed)
        else:
            table._mark_start()
        return table

    @classmethod
    def from_record(cls, record: Record) -> Table:
        """Return the table at which a record's match was played again.

        Raises:
            ValueError: the record's deck is none of the game.
            IllegalAction: names the first action that is not legal.
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
        # the first deal needs no second deck: its order is still there, including the cards that were drawn
        self.order: list[str] = [self.game.cards[self._row.deck[i]] for i in range(sum(self.game.copies))]
        self.later_orders: list[list[str]] = []
        self.start: Start | None = None
        self._deals: list[list[int]] = []
        self._endings: list[str] = []

    # -- looking

    @property
    def to_move(self) -> int | None:
        """The seat to move; ``None`` when the match is over."""
        return None if self.is_over else self._row.to_move

    @property
    def is_over(self) -> bool:
        return bool(self._row.over)

    @property
    def rewards(self) -> NDArray[np.float64]:
        """What the last action paid each seat, float64 [players]: zeros before the end of the match."""
        return np.array(self.matches.rewards[0])

    @property
    def scores(self) -> list[int]:
        """The totals per seat, in points."""
        return [self._row.totals[seat] for seat in range(self.players)]

    @property
    def deals(self) -> list[list[int]]:
        """The scores per seat of every finished deal."""
        return copy.deepcopy(self._deals)

    @property
    def endings(self) -> list[str]:
        """How each of the :attr:`deals` ended, in words."""
        return list(self._endings)

    @property
    def batch(self) -> Batch:
        """The table's match as a batch of one, which shares its memory."""
        return Batch.wrap(self.matches)

    @property
    def identity(self) -> Identity:
        """(seed, row, match)."""
        return self.matches.read_identity(0)

    def action_mask(self) -> NDArray[np.int8]:
        """Return int8 [A], 1 where an action is legal for the seat to move; all zeros when the match is over."""
        return np.array(self.matches.action_mask[0])

    def legal_actions(self) -> list[str]:
        """Return the legal actions as strings, in the order of their indices."""
        return [self.action_string(int(index)) for index in np.flatnonzero(self.matches.action_mask[0])]

    def action_string(self, index: int) -> str:
        """Return the string of an action index of the seat to move."""
        return self.game.action_string(index, self._row.to_move, self.players)

    def action_index(self, action: str) -> int | None:
        """Return the index of an action string for the seat to move, ``None`` if it is no action of this table."""
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
        """Return the table as a picture for :mod:`card_envs.render`; with ``seat`` only what that seat sees."""
        return self.game.picture(self.state() if seat is None else self.view(seat))

    def __str__(self) -> str:
        return str(self.picture())

    def __repr__(self) -> str:
        return f"<Table {self.game.id}, {self.players} players, {'over' if self.is_over else f'seat {self.to_move} to move'}>"

    # -- playing

    def play(self, action: str | int) -> None:
        """Play an action for the seat to move.

        Args:
            action: its string or its index.

        Raises:
            IllegalAction: names the action, the mover and the legal ones. Nothing has changed.
        """
        index = self.action_index(action) if isinstance(action, str) else action
        matches = self.matches
        if not isinstance(index, int | np.integer) or isinstance(index, bool):
            index = None
        if index is None or not 0 <= index < matches.num_actions or not matches.mask[0, index]:
            if self.is_over:
                raise IllegalAction(f"illegal action {action!r}: the match is over")
            raise IllegalAction(
                f"illegal action {action!r}: seat {self.to_move} is to move, legal are {', '.join(self.legal_actions())}"
            )
        self.actions.append(self.action_string(int(index)))
        finished = self._row.finished
        matches.actions[0] = index
        matches.run(matches.rows)
        if self._row.finished != finished:
            self._deals.append([self._row.scores[seat] for seat in range(self.players)])
            self._endings.append(self.game.ending(self._row))

    def clone(self) -> Table:
        """Return an independent copy with the same future."""
        other = copy.copy(self)
        other.matches = self.matches.gather(self.matches.rows)
        other._row = open_row(other.matches.states)
        other.actions = list(self.actions)
        other._deals, other._endings = self.deals, self.endings
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> Table:
        return self.clone()

    def redeal(self, seat: int, seed: int) -> None:
        """Resample all that ``seat`` cannot know (hidden cards, the order of the deck, future shuffles) and nothing else."""
        self.matches.redeal(np.array([check_seat(seat, self.players)]), check_seed(seed))
        self._mark_start()

    def restart(self, start: Start) -> None:
        """Go on from another state of this game, which was checked when it was read."""
        view_bytes(self.matches.states)[:] = view_bytes(from_bytes(start.state, self.game.state_dtype))
        self.matches.decisions[0] = start.decisions
        self.matches.refresh()
        self._deals, self._endings = copy.deepcopy(start.deals), list(start.endings)
        self._mark_start()

    def _mark_start(self) -> None:
        self.start = Start(self.matches.states.tobytes(), int(self.matches.decisions[0]), self.deals, self.endings)
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
