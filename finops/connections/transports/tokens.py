"""Credentials that may expire during a fetch."""

from __future__ import annotations

from collections.abc import Callable


class RenewableToken:
    """A token that may expire during a fetch. `ask` requests one; it raises the errors of a request."""

    def __init__(self, ask: Callable[[], str]) -> None:
        self._ask = ask
        self._text = ""
        self._was_accepted = False

    @property
    def header(self) -> str:
        """Return the Authorization header. Requests the token at the first call."""
        self._text = self._text or self._ask()
        return f"Bearer {self._text}"

    def accept(self) -> None:
        """Record that the vendor accepted the token."""
        self._was_accepted = True

    def renew(self) -> bool:
        """Return whether to retry with a new token: only one that was accepted before can have expired."""
        was_accepted, self._was_accepted, self._text = self._was_accepted, False, ""
        return was_accepted
