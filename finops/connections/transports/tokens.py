"""Credentials that end before a fetch does."""

from __future__ import annotations

from collections.abc import Callable


class RenewableToken:
    """A token that lives shorter than a fetch may last. `ask` gives one; it raises what a request does."""

    def __init__(self, ask: Callable[[], str]) -> None:
        self._ask = ask
        self._text = ""
        self._was_accepted = False

    @property
    def header(self) -> str:
        """Of Authorization. Asks for the token the first time."""
        self._text = self._text or self._ask()
        return f"Bearer {self._text}"

    def accept(self) -> None:
        """The other side has taken it."""
        self._was_accepted = True

    def renew(self) -> bool:
        """Whether another one is worth a try: only one that was accepted before can have expired."""
        was_accepted, self._was_accepted, self._text = self._was_accepted, False, ""
        return was_accepted
