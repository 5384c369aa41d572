"""The forecast of buckets that are not over, which a higher app has. It adds its own to `spend_forecasts`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from accounts.models import Account
from finops.costs.answers import AppliedCostView
from finops.costs.queries.sources import Sources
from finops.costs.spend_query import SpendQuery
from finops.lib.registry import Registry

Expected = Mapping[tuple[str, date], Decimal]
"""What a whole bucket will have cost, by currency and the bucket's first day."""


@dataclass(frozen=True)
class ForecastQuestion:
    """A question about spend in its cost view."""

    account: Account
    query: SpendQuery
    view: AppliedCostView
    sources: Sources


spend_forecasts: Registry[Callable[[ForecastQuestion], Expected]] = Registry("spend forecast")
"""Of the buckets of this month that have days to come; empty where there is no forecast. The account is in scope."""


def expected_cost(question: ForecastQuestion) -> Expected:
    """Of every entry."""
    return {key: amount for each in spend_forecasts.values() for key, amount in each(question).items()}
