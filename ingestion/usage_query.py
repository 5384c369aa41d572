"""What is asked about usage: the arguments of `queryUsage` and `listUsageEvents`, and the URLs of their pages."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date
from itertools import chain
from typing import Annotated, Any, Literal, Self

import msgspec
from msgspec import Meta

from accounts.models import Account
from finops.lib import clock
from finops.lib.params import from_text
from finops.lib.periods import DateRange, Granularity, Period, resolve_range

CompareTo = Literal["none", "previous_period", "previous_year"]

CUSTOMER = "customer"
DEFAULT_PERIOD: Period = "last_30_days"
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


class UsageQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Days are UTC, both ends inside; without any dates, the last 30 days."""

    metric: Annotated[str, Meta(description="getAccountContext lists them. Left out: the first.")] = ""
    start_date: Annotated[date | None, Meta(description="First day, with end_date.")] = None
    end_date: Annotated[date | None, Meta(description="Last day, inclusive.")] = None
    period: Annotated[
        Period | None,
        Meta(description="Instead of dates; last_N_days end yesterday."),
    ] = None
    granularity: Annotated[Granularity, Meta(description="Time buckets; weeks begin on Monday.")] = "none"
    group_by: Annotated[str, Meta(description="customer, or dimension:<key>.")] = ""
    customers: Annotated[
        list[str],
        Meta(description="Only these: ids or names.", max_length=MAX_CUSTOMERS),
    ] = []
    filters: Annotated[list[UsageFilter], Meta(description="Joined by and.", max_length=MAX_FILTERS)] = []
    top: Annotated[int, Meta(description="Groups listed; the rest is in row other.", ge=1, le=MAX_TOP)] = (
        DEFAULT_TOP
    )
    compare_to: Annotated[CompareTo, Meta(description="Adds change.")] = "none"

    @classmethod
    def from_params(cls, params: Mapping[str, Sequence[str]]) -> Self:
        """The query that a URL says: `dict(request.GET.lists())`. Names it does not know and empty values are ignored.

        Filters are f0, f0v, f1 …: dimension (or customer), values. Raises UserError that names the parameter.
        """
        raw = _plain_fields(cls, params)
        filters = _filters_from(params)
        raw["filters"] = [item for item in filters if item["dimension"] != CUSTOMER]
        of_customers = [item["values"] for item in filters if item["dimension"] == CUSTOMER]
        raw["customers"] = list(dict.fromkeys(chain(raw.get("customers", []), *of_customers)))
        return from_text(raw, cls)

    def to_params(self) -> dict[str, list[str]]:
        """The URL parameters of this query; `from_params` gives an equal query. Defaults are left out."""
        params = _plain_params(self)
        for index, item in enumerate(self.filters):
            params[f"f{index}"] = [item.dimension]
            params[f"f{index}v"] = list(item.values)
        return params

    @property
    def names_days(self) -> bool:
        return bool(self.period or self.start_date or self.end_date)


class EventsQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which events; without days, of any day."""

    metric: Annotated[str, Meta(description="Only this metric.")] = ""
    customer: Annotated[str, Meta(description="Only this customer: its id or name.")] = ""
    start_date: Annotated[date | None, Meta(description="First day, with end_date.")] = None
    end_date: Annotated[date | None, Meta(description="Last day, inclusive.")] = None
    period: Annotated[Period | None, Meta(description="Instead of dates.")] = None
    limit: Annotated[int, Meta(ge=1, le=MAX_EVENTS)] = DEFAULT_EVENTS
    cursor: Annotated[str, Meta(description="From the answer before, for older events.")] = ""


def query_days(account: Account, query: UsageQuery) -> DateRange:
    """The days that a query means; the last 30 when it says none, as in questions about cost. Raises UserError."""
    return _resolve_days(account, query)


def events_days(account: Account, query: EventsQuery) -> DateRange | None:
    """The days that a query means, None for all. Raises UserError."""
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
    )


_LISTS = ("customers",)
_FILTER_NAME = re.compile(r"f(\d{1,3})")


def _plain_fields(kind: type[UsageQuery], params: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    raw_fields: dict[str, Any] = {}
    for field in msgspec.structs.fields(kind):
        values = [value for value in params.get(field.name, ()) if value != ""]
        if field.name != "filters" and values:
            raw_fields[field.name] = values if field.name in _LISTS else values[-1]
    return raw_fields


def _filters_from(params: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
    """In the order of their numbers; one without a value is unfinished and asks nothing."""
    numbered_filters = []
    for name in params:
        match = _FILTER_NAME.fullmatch(name)
        dimensions = [value for value in params[name] if value]
        values = [value for value in params.get(f"{name}v", ()) if value]
        if match and dimensions and values:
            numbered_filters.append((int(match[1]), {"dimension": dimensions[-1], "values": values}))
    return [item for _number, item in sorted(numbered_filters, key=lambda pair: pair[0])]


def _plain_params(query: UsageQuery) -> dict[str, list[str]]:
    params: dict[str, list[str]] = {}
    for field in msgspec.structs.fields(type(query)):
        value = getattr(query, field.name)
        if field.name == "filters" or value in (None, [], field.default):
            continue
        params[field.name] = [str(item) for item in value] if isinstance(value, list) else [str(value)]
    return params
