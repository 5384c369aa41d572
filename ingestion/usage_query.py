"""Queries of usage: the arguments of `queryUsage` and `listUsageEvents`, and the URLs of their pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from itertools import chain
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from accounts.models import Account
from finops.lib import clock
from finops.lib.periods import DEFAULT_PERIOD, EVERY_YEAR, DateRange, Granularity, Period, resolve_range
from finops.lib.url_query import UrlQuery

CompareTo = Literal["none", "previous_period", "previous_year"]

CUSTOMER = "customer"
DEFAULT_TOP = 10
MAX_TOP = 50
MAX_FILTERS = 10
MAX_CUSTOMERS = 100
DEFAULT_EVENTS = 50
MAX_EVENTS = 200


class UsageFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Events with any of the values, in any case."""

    dimension: Annotated[str, Meta(description="Key, such as region.")]
    values: Annotated[list[str], Meta(description="(none): without one.", min_length=1)]


# Days are UTC, both ends inside; without any dates, the last 30 days.
class UsageQuery(UrlQuery, frozen=True, kw_only=True):
    __doc__ = None
    usage_metric: Annotated[str, Meta(description="See getAccountContext. Default: the first metric.")] = ""
    start_date: date | None = None
    end_date: date | None = None
    period: Annotated[
        Period | None,
        Meta(description="Relative period instead of dates."),
    ] = None
    granularity: Annotated[Granularity, Meta(description="Time buckets; weeks begin on Monday.")] = "none"
    group_by: Annotated[list[str], Meta(description="customer, or dimension:<key>.", max_length=1)] = []
    customers: Annotated[
        list[str],
        Meta(description="Only these customers (IDs or names).", max_length=MAX_CUSTOMERS),
    ] = []
    filters: Annotated[list[UsageFilter], Meta(description="Combined with AND.", max_length=MAX_FILTERS)] = []
    limit: Annotated[int, Meta(description="Maximum groups; the rest is in other.", ge=1, le=MAX_TOP)] = (
        DEFAULT_TOP
    )
    compare_to: Annotated[CompareTo, Meta(description="Adds change to totals and rows.")] = "none"

    @classmethod
    def raw_fields(cls, params: Mapping[str, Sequence[str]]) -> dict[str, Any]:
        """Move filters on `customer` to `customers`. Filters without a value are unfinished and are dropped."""
        raw = super().raw_fields(params)
        filters = [item for item in raw["filters"] if item["values"]]
        raw["filters"] = [item for item in filters if item["dimension"] != CUSTOMER]
        of_customers = [item["values"] for item in filters if item["dimension"] == CUSTOMER]
        raw["customers"] = list(dict.fromkeys(chain(raw.get("customers", []), *of_customers)))
        return raw

    @property
    def group(self) -> str:
        """What the usage is grouped by; empty for nothing."""
        return self.group_by[0] if self.group_by else ""

    @property
    def names_days(self) -> bool:
        return bool(self.period or self.start_date or self.end_date)


# Which events; without days, of any day.
class EventsQuery(msgspec.Struct, frozen=True, kw_only=True):
    __doc__ = None
    usage_metric: Annotated[str, Meta(description="Only this metric.")] = ""
    customers: Annotated[
        list[str],
        Meta(description="Only these customers (IDs or names).", max_length=MAX_CUSTOMERS),
    ] = []
    start_date: date | None = None
    end_date: date | None = None
    period: Annotated[Period | None, Meta(description="Relative period instead of dates.")] = None
    limit: Annotated[int, Meta(ge=1, le=MAX_EVENTS)] = DEFAULT_EVENTS
    cursor: Annotated[str, Meta(description="Cursor of the previous page, for older events.")] = ""


def query_days(account: Account, query: UsageQuery) -> DateRange:
    """Return the days of a query; the last 30 if it names none, as in queries of cost. Raises UserError."""
    return _resolve_days(account, query)


def events_days(account: Account, query: EventsQuery) -> DateRange | None:
    """Return the days of a query; None for all days. Raises UserError."""
    if not (query.period or query.start_date or query.end_date):
        return None
    return _resolve_days(account, query)


def _resolve_days(account: Account, query: UsageQuery | EventsQuery) -> DateRange:
    return resolve_range(
        start=query.start_date,
        end=query.end_date,
        period=query.period,
        default=DEFAULT_PERIOD,
        today=clock.today(),
        fiscal_start_month=account.fiscal_start_month,
        years=EVERY_YEAR,
    )
