"""What uses a dimension, read before it is deleted. Higher apps add theirs to `dimension_uses`."""

from __future__ import annotations

from collections.abc import Callable

from accounts.models import Account
from finops.lib.registry import Registry

dimension_uses: Registry[Callable[[Account, str], list[str]]] = Registry("uses of a dimension")
"""Each returns, for a dimension such as `cost_tag:env`, what uses it, as a sentence names it: `split NAT gateways`."""


def uses_of(account: Account, dimension: str) -> list[str]:
    """Everything that uses the dimension. The account must be in scope. A query or two for each app."""
    return [use for uses in dimension_uses.values() for use in uses(account, dimension)]
