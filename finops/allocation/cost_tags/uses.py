"""Uses of a dimension, checked before it is deleted. Higher apps register theirs in `dimension_uses`."""

from __future__ import annotations

from collections.abc import Callable

from accounts.models import Account
from finops.lib.registry import Registry

dimension_uses: Registry[Callable[[Account, str], list[str]]] = Registry("uses of a dimension")
"""Functions that return the uses of a dimension such as `cost_tag:env`, each in words: `split NAT gateways`."""


def uses_of(account: Account, dimension: str) -> list[str]:
    """Return all uses of the dimension. The account must be in scope. One or two queries per app."""
    return [use for uses in dimension_uses.values() for use in uses(account, dimension)]
