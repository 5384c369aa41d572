"""What an assistant or page should know about an account's cost data before it asks."""

from __future__ import annotations

from accounts.credentials import Credential
from accounts.models import Account
from finops.costs.answers import ContextAnswer


def account_context(
    account: Account, credential: Credential | None = None, *, deadline: float | None = None
) -> ContextAnswer:
    """Account, access, cost view, currencies, sources, dimensions and tag keys. One lake query."""
    raise NotImplementedError
