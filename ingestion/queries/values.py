"""What a filter's field suggests: customers, and the values of a dimension."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ibis
from django.db.models import Q

from accounts.models import Account
from finops.lake import ranking
from finops.lake.engine import engine
from finops.lake.schema import Kind, dimension_column
from finops.lib.periods import DateRange
from ingestion.models import Customer
from ingestion.queries.metrics import EVER
from ingestion.queries.resolution import EventDimensions, find_key
from ingestion.queries.usage_lake import NONE
from ingestion.usage_query import CUSTOMER


@dataclass(frozen=True)
class Suggestion:
    value: str
    hint: str = ""


def suggest_values(account: Account, dimension: str, *, search: str, limit: int) -> list[Suggestion]:
    """Customers by id or name, or a dimension's values on most events, that hold the text. One query, or one lake query."""
    text = search.replace("\x00", "").strip()
    if dimension == CUSTOMER:
        rows = Customer.objects.filter(account=account).order_by("customer_id")
        matching_rows = (
            rows.filter(Q(customer_id__icontains=text) | Q(name__icontains=text)) if text else rows
        )
        return [Suggestion(row.customer_id, row.name) for row in matching_rows[:limit]]
    key = find_key(EventDimensions(account), dimension).value
    table = engine.run(account, Kind.USAGE, *EVER, _Values(key, text, limit), tag_keys=[key])
    return [Suggestion(row["value"]) for row in sorted(table.to_pylist(), key=lambda row: row["place"])]


@dataclass(frozen=True)
class _Values:
    key: str
    search: str
    limit: int

    def __call__(self, table: Any) -> Any:
        value = table[dimension_column(self.key)]
        condition = (
            value.lower().contains(ibis.literal(self.search).lower()) if self.search else value.notnull()
        )
        events = table.filter(condition)
        counts = events.group_by(value=value).aggregate(events=events.count())
        return ranking.top_n(counts, self.limit, size=counts.events, keys=["value"]).select("value", "place")


MAX_METRIC_VALUES = 5_000


def metric_values(
    account: Account, metric: str, days: DateRange, names: Sequence[str], *, deadline: float | None = None
) -> dict[str, list[str]]:
    """The values that a metric's events of these days have in each dimension, or of `customer`; `(none)` for those
    without one. One more than MAX_METRIC_VALUES says that there are too many. One lake query."""
    keys = [name for name in names if name != CUSTOMER]
    table = engine.run(
        account,
        Kind.USAGE,
        days.start,
        days.end,
        _MetricValues(metric, tuple(names)),
        tag_keys=keys,
        deadline=deadline,
    )
    values_by_name: dict[str, list[str]] = {name: [] for name in names}
    for row in table.to_pylist():
        values_by_name[names[row["place"]]].append(row["value"])
    return {name: sorted(values) for name, values in values_by_name.items()}


@dataclass(frozen=True)
class _MetricValues:
    metric: str
    names: tuple[str, ...]

    def __call__(self, table: Any) -> Any:
        events = table.filter(table.metric == self.metric)
        each = [self._of(events, place, name) for place, name in enumerate(self.names)]
        return ibis.union(*each) if len(each) > 1 else each[0]

    def _of(self, events: Any, place: int, name: str) -> Any:
        value = events.customer_id if name == CUSTOMER else events[dimension_column(name)].coalesce(NONE)
        values = events.select(value=value).distinct()
        shown = values.select(place=ibis.literal(place, "int64"), value=values["value"])
        return shown.order_by("value").limit(MAX_METRIC_VALUES + 1)
