"""The forecast of the month under way, which a higher app has. It adds its own to `spend_forecasts`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

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


@dataclass(frozen=True)
class SpendForecast:
    """`expected` has the buckets of this month that have days to come; it is empty where there is no forecast. `template`
    is the tile of the overview; it gets `forecast`, the context of this tile."""

    expected: Expected
    template: str
    context: Mapping[str, Any]


spend_forecasts: Registry[Callable[[ForecastQuestion], SpendForecast]] = Registry("spend forecast")
"""The account is in scope."""


def forecasts_of(question: ForecastQuestion) -> list[SpendForecast]:
    """Of every entry. One lake query each."""
    return [forecast(question) for forecast in spend_forecasts.values()]


def expected_cost(forecasts: Iterable[SpendForecast]) -> Expected:
    """Of all of them."""
    return {key: amount for each in forecasts for key, amount in each.expected.items()}
