"""The query of a forecast: the arguments of the tool `forecastSpend` and the URL of the page Forecast, one type."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from finops.costs.spend_query import MAX_FILTERS, BasisName, CostFilter, Splits
from finops.lib.periods import Granularity
from finops.lib.url_query import UrlQuery

ForecastPeriod = Literal["month", "quarter", "year", "next_days"]

MAX_DAYS = 365
MAX_DAYS_BY_DAY = 100
DEFAULT_TOP = 10
MAX_TOP = 25
MAX_GROUPS = 1


# A question about spend to come. Days are UTC; a period is the current one, to its end.
class ForecastQuery(UrlQuery, frozen=True, kw_only=True):
    __doc__ = None
    filters: Annotated[list[CostFilter], Meta(description="As in querySpend.", max_length=MAX_FILTERS)] = []
    period: Annotated[
        ForecastPeriod,
        Meta(description=("Current month, quarter or year to its end, or next_days from today.")),
    ] = "month"
    days: Annotated[int, Meta(description="Only with next_days.", ge=1, le=MAX_DAYS)] = 30
    granularity: Annotated[Granularity, Meta(description="Also returns the totals as a series.")] = "none"
    group_by: Annotated[list[str], Meta(description="One dimension.", max_length=MAX_GROUPS)] = []
    basis: Annotated[BasisName | None, Meta(description="Default: the account's planning basis.")] = None
    charge_categories: Annotated[list[str], Meta(description="Default: the cost view.")] = []
    splits: Splits = "before"
    limit: Annotated[int, Meta(description="Maximum groups.", ge=1, le=MAX_TOP)] = DEFAULT_TOP
