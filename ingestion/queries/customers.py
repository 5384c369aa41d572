"""End customers of the account and their usage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

from accounts.models import Account
from finops.lib.money import ratio
from finops.lib.periods import DateRange
from ingestion.models import Customer, UsageMetric
from ingestion.queries.usage_lake import AVERAGE, EVER, LAST, MAX, latest, usage_rows


@dataclass(frozen=True)
class CustomerUsage:
    """A customer, its first and last event, and its exact usage of each metric on the queried days."""

    pk: int
    customer_id: str
    name: str
    first_event: datetime | None
    last_event: datetime | None
    used: Mapping[str, Decimal] = field(default_factory=dict)


@dataclass(frozen=True)
class CustomerMetric:
    """One metric of one customer, all days."""

    metric: str
    events: int
    first_event: datetime
    last_event: datetime


def list_customers(
    account: Account, days: DateRange, metrics: Sequence[UsageMetric], *, deadline: float | None = None
) -> list[CustomerUsage]:
    """Return every customer by id, with its usage of these metrics on these days. One query, two lake queries."""
    ever = usage_rows(account, EVER, _FirstAndLast(), deadline=deadline)
    event_spans = {row["customer_id"]: row for row in ever}
    used = _usage_by_customer(account, days, metrics, deadline)
    rows = Customer.objects.filter(account=account).order_by("customer_id")
    return [
        CustomerUsage(
            pk=pk,
            customer_id=customer_id,
            name=name if name.strip() else "",
            first_event=event_spans.get(customer_id, {}).get("first"),
            last_event=event_spans.get(customer_id, {}).get("last"),
            used=used.get(customer_id, {}),
        )
        for pk, customer_id, name in rows.values_list("pk", "customer_id", "name")
    ]


def metric_units(account: Account, days: DateRange, *, deadline: float | None = None) -> dict[str, list[str]]:
    """Return the units of each metric's events on these days: the first and the last by name, if there are several;
    none for events without a unit. One lake query."""
    rows = usage_rows(account, days, _UnitsOfMetrics(), deadline=deadline)
    return {row["metric"]: sorted({row["first"], row["last"]}) for row in rows}


def customer_metrics(
    account: Account, customer_id: str, *, deadline: float | None = None
) -> list[CustomerMetric]:
    """Return the metrics that a customer has events of, the one with most events first. One lake query."""
    rows = usage_rows(account, EVER, _OfCustomer(customer_id), deadline=deadline)
    rows.sort(key=lambda row: (-row["events"], row["metric"]))
    return [CustomerMetric(row["metric"], row["events"], row["first"], row["last"]) for row in rows]


@dataclass(frozen=True)
class _FirstAndLast:
    def __call__(self, table: Any) -> Any:
        return table.group_by("customer_id").aggregate(
            first=table.event_time.min(), last=table.event_time.max()
        )


@dataclass(frozen=True)
class _UnitsOfMetrics:
    def __call__(self, table: Any) -> Any:
        with_unit = table.filter(table.unit.notnull())
        return with_unit.group_by("metric").aggregate(first=with_unit.unit.min(), last=with_unit.unit.max())


@dataclass(frozen=True)
class _OfCustomer:
    customer_id: str

    def __call__(self, table: Any) -> Any:
        rows = table.filter(table.customer_id == self.customer_id)
        return rows.group_by("metric").aggregate(
            events=rows.count(), first=rows.event_time.min(), last=rows.event_time.max()
        )


@dataclass(frozen=True)
class _UsageTotals:
    """Sum, largest and last quantity of each customer and metric; and the number of days with events of the metric."""

    def __call__(self, table: Any) -> Any:
        keys = ["customer_id", "metric"]
        sums = table.group_by(keys).aggregate(
            added=table.quantity.sum(), largest=table.quantity.max(), latest=latest(table).max()
        )
        days = table.group_by("metric").aggregate(days=table.day.nunique())
        last = sums.mutate(last=sums.latest["quantity"])
        return last.inner_join(days, "metric").select(*keys, "added", "largest", "last", "days")


def _usage_by_customer(
    account: Account, days: DateRange, metrics: Sequence[UsageMetric], deadline: float | None
) -> dict[str, dict[str, Decimal]]:
    aggregations = {metric.name: metric.aggregation for metric in metrics}
    used_by_customer: dict[str, dict[str, Decimal]] = {}
    for row in usage_rows(account, days, _UsageTotals(), deadline=deadline):
        if row["metric"] in aggregations:
            quantity = _by_aggregation(aggregations[row["metric"]], row)
            used_by_customer.setdefault(row["customer_id"], {})[row["metric"]] = quantity
    return used_by_customer


def _by_aggregation(aggregation: str, row: Mapping[str, Any]) -> Decimal:
    added: Decimal = row["added"]
    if aggregation == AVERAGE:
        return ratio(added, Decimal(row["days"])) or Decimal(0)
    value: Decimal = {LAST: row["last"], MAX: row["largest"]}.get(aggregation, added)
    return value
