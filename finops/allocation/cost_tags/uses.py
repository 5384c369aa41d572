"""What else uses a dimension that allocation gives: asked before it is deleted. Higher rooms register theirs.

@uses.register("customer key")
def _customer_key(account: Account, dimension: str) -> list[str]:
    return ["the customer key"] if … else []
"""

from __future__ import annotations

from collections.abc import Callable

from accounts.models import Account

Finder = Callable[[Account, str], list[str]]
"""From a dimension such as `cost_tag:env` to what uses it, each as a sentence names it: `split NAT gateways`."""

_finders: dict[str, Finder] = {}


def register(name: str) -> Callable[[Finder], Finder]:
    """Add a finder; ValueError when the name is taken."""

    def add(finder: Finder) -> Finder:
        if name in _finders:
            raise ValueError(f"Uses of dimensions by {name!r} are registered twice.")
        _finders[name] = finder
        return finder

    return add


def uses_of(account: Account, dimension: str) -> list[str]:
    """Everything that uses the dimension. The account must be in scope. A query or two for each room."""
    return [use for finder in _finders.values() for use in finder(account, dimension)]
