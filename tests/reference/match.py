"""What the references share: a match is a coroutine that stops wherever somebody has to decide."""

from collections.abc import Generator

Decisions = Generator[None, str, None]  # a part of the game that may ask for decisions


class Match:
    """One match of any game.

    A subclass sets up its fields, then calls :meth:`begin` with the coroutine of the whole match. Wherever a seat has to
    decide, that coroutine yields from :meth:`ask`, and it goes on with the action that :meth:`play` sends in.
    """

    def begin(self, match: Decisions) -> None:
        """Run the match up to its first decision."""
        self.coroutine = match
        next(match)

    def legal_actions(self) -> list[str]:
        """The legal action strings, sorted; none when the match is over."""
        return list(self.legal)

    def play(self, action: str) -> None:
        """Carry out an action; raise ValueError, changing nothing, if it is not legal."""
        if action not in self.legal:
            raise ValueError(f"illegal action {action!r}")
        self.coroutine.send(action)

    def ask(self, phase: str, seat: int, legal: list[str]) -> Generator[None, str, str]:
        """Wait for a decision of a seat."""
        self.phase: str = phase
        self.to_move: int | None = seat
        self.legal: list[str] = sorted(set(legal))
        action = yield
        return action

    def finish(self) -> Decisions:
        """End the match: nothing is legal any more, and everything else stays as it lay at the end."""
        self.phase, self.to_move, self.legal = "over", None, []
        yield
