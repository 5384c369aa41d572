"""The values that a dimension has."""

from __future__ import annotations

from accounts.models import Account
from finops.costs.answers import DimensionValuesAnswer
from finops.lib.periods import DateRange


def list_dimension_values(
    account: Account,
    dimension: str,
    *,
    search: str = "",
    days: DateRange | None = None,
    limit: int = 50,
    cursor: str = "",
    deadline: float | None = None,
) -> DimensionValuesAnswer:
    """Values of a dimension that have cost in these days (else the last 365 with data), the largest first."""
    raise NotImplementedError
