"""The forecast of the current month, provided by a higher app through `spend_forecasts`."""

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
"""The expected cost of a whole bucket, by currency and the bucket's first day."""


@dataclass(frozen=True)
class ForecastQuestion:
    """A question about spend in its cost view."""

    account: Account
    query: SpendQuery
    view: AppliedCostView
    sources: Sources


@dataclass(frozen=True)
class SpendForecast:
    """A forecast. `expected` has the buckets of this month with days to come; empty without a forecast. `template` is
    the tile of the overview, whose context has this as `forecast`."""

    expected: Expected
    template: str
    context: Mapping[str, Any]


spend_forecasts: Registry[Callable[[ForecastQuestion], SpendForecast]] = Registry("spend forecast")
"""Functions that return a forecast. The account is in scope."""


def forecasts_of(question: ForecastQuestion) -> list[SpendForecast]:
    """Return the forecast of every entry. One lake query each."""
    return [forecast(question) for forecast in spend_forecasts.values()]


def expected_cost(forecasts: Iterable[SpendForecast]) -> Expected:
    """Return the expected cost of all forecasts."""
    return {key: amount for each in forecasts for key, amount in each.expected.items()}
