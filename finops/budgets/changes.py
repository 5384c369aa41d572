"""Who is to know that a budget was changed. Higher rooms register when they start.

@changes.register("alerts")
def _alerts(budget: Budget) -> None: …
"""

from __future__ import annotations

from collections.abc import Callable

from finops.budgets.models import Budget

Listener = Callable[[Budget], None]
"""Called in the transaction of the change, with the account in scope: effects wait for the commit."""

_listeners: dict[str, Listener] = {}


def register(name: str) -> Callable[[Listener], Listener]:
    """Add a listener; ValueError when the name is taken."""

    def add(listener: Listener) -> Listener:
        if name in _listeners:
            raise ValueError(f"Changes of budgets are registered twice for {name!r}.")
        _listeners[name] = listener
        return listener

    return add


def notify(budget: Budget) -> None:
    """The budget has another amount, period or scope, as saved by now."""
    for listener in _listeners.values():
        listener(budget)
