"""What fields that choose a dimension of usage offer."""

from __future__ import annotations

from collections.abc import Iterable

from accounts.models import Account
from finops.lake import queries as lake_queries
from ingestion.queries.asked import CUSTOMER_NAMES, PREFIX
from ingestion.usage_query import CUSTOMER


def field_value(dimension: str) -> str:
    """A dimension as the fields have it: `customer`, or `dimension:` and its key."""
    if dimension.strip().casefold() in CUSTOMER_NAMES:
        return CUSTOMER
    return dimension if dimension.startswith(PREFIX) else f"{PREFIX}{dimension}"


def dimension_choices(account: Account, used: Iterable[str]) -> list[tuple[str, str]]:
    """Customer, every dimension key of the account's events, and what the URL names beyond them. One query."""
    keys = lake_queries.dimension_keys(account)
    choices = [(CUSTOMER, "Customer"), *((f"{PREFIX}{key}", key) for key in keys)]
    known = {name for name, _title in choices}
    return [*choices, *((name, name) for name in dict.fromkeys(used) if name and name not in known)]
