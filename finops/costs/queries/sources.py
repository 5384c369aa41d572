"""The account's cost sources: what data each brought, and whether it is well."""

from __future__ import annotations

from accounts.models import Account
from finops.costs.answers import SourceHealth


def source_health(account: Account) -> list[SourceHealth]:
    """Every cost source, by name."""
    raise NotImplementedError
