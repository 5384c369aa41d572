"""End customers of the account and their usage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Final, Literal

import ibis
from django.db.models import Q, QuerySet

from accounts.models import Account
from finops.lib.money import ratio
from finops.lib.periods import DateRange
from ingestion.models import Customer, UsageMetric
from ingestion.queries.usage_lake import AVERAGE, EVER, LAST, MAX, latest, usage_result, usage_rows

CustomerOrder = UsageMetric | Literal["customer_id", "name", "first", "last"]
FEW: Final = 1_000
"""At most so many customers are named in a query; more are read among all."""


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


def customer_ids(
    account: Account,
    days: DateRange,
    order: CustomerOrder = "customer_id",
    *,
    search: str = "",
    reverse: bool = False,
    deadline: float | None = None,
) -> QuerySet[Customer, str] | list[str]:
    """Return the ids of the customers whose id or name contains every word of the search, ordered by a column of their
    table, or by their usage of a metric on these days or the time of an event, where customers without are the lowest.

    A column's order is a query that is not run yet, so that a page reads its rows only. Any other order is one query and
    one lake query of all customers.
    """
    rows = Customer.objects.filter(account=account).order_by("customer_id")
    for word in search.replace("\0", "").split():
        rows = rows.filter(Q(customer_id__icontains=word) | Q(name__icontains=word))
    ids = rows.values_list("customer_id", flat=True)
    if isinstance(order, UsageMetric):
        column = {LAST: "last", MAX: "largest"}.get(order.aggregation, "added")
        table = usage_result(
            account, days, _Ranks(_UsageTotals(metric=order.name), column), deadline=deadline
        )
    elif order in ("first", "last"):
        table = usage_result(account, EVER, _Ranks(_FirstAndLast(), order), deadline=deadline)
    else:
        columns = dict.fromkeys([order, "customer_id"])
        return ids.order_by(*(f"-{name}" if reverse else name for name in columns))
    ranks = dict(zip(table["customer_id"].to_pylist(), table["rank"].to_pylist(), strict=True))
    return sorted(ids, key=lambda each: ranks.get(each, -1), reverse=reverse)


def list_customers(
    account: Account,
    ids: Sequence[str],
    days: DateRange,
    metrics: Sequence[UsageMetric],
    *,
    deadline: float | None = None,
) -> list[CustomerUsage]:
    """Return the customers with these ids, in this order, with their usage of these metrics on these days. One query, two
    lake queries."""
    few = tuple(ids) if len(ids) <= FEW else ()
    ever = usage_rows(account, EVER, _FirstAndLast(few), deadline=deadline)
    event_spans = {row["customer_id"]: row for row in ever}
    used = _usage_by_customer(account, days, metrics, _UsageTotals(few), deadline)
    rows = Customer.objects.filter(account=account)
    if few:
        rows = rows.filter(customer_id__in=few)
    by_id = {row[1]: row for row in rows.values_list("pk", "customer_id", "name")}
    return [
        CustomerUsage(
            pk=pk,
            customer_id=customer_id,
            name=name if name.strip() else "",
            first_event=event_spans.get(customer_id, {}).get("first"),
            last_event=event_spans.get(customer_id, {}).get("last"),
            used=used.get(customer_id, {}),
        )
        for pk, customer_id, name in (by_id[each] for each in ids if each in by_id)
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
    """The first and last event of each of these customers; of all without."""

    customers: tuple[str, ...] = ()

    def __call__(self, table: Any) -> Any:
        rows = table.filter(table.customer_id.isin(self.customers)) if self.customers else table
        return rows.group_by("customer_id").aggregate(first=rows.event_time.min(), last=rows.event_time.max())


@dataclass(frozen=True)
class _Ranks:
    """The rank of each customer in the order of a column of another expression, from 0; equal values have one rank. Ranks
    of 100,000 customers are read faster than their times and quantities."""

    rows: _FirstAndLast | _UsageTotals
    column: str

    def __call__(self, table: Any) -> Any:
        rows = self.rows(table)
        rank = ibis.dense_rank().over(order_by=rows[self.column])
        return rows.select("customer_id", rank=rank)


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
    """Sum, largest and last quantity of each of these customers and this metric, of all without; and the number of days on
    which any customer has events of the metric."""

    customers: tuple[str, ...] = ()
    metric: str = ""

    def __call__(self, table: Any) -> Any:
        keys = ["customer_id", "metric"]
        if self.metric:
            table = table.filter(table.metric == self.metric)
        rows = table.filter(table.customer_id.isin(self.customers)) if self.customers else table
        sums = rows.group_by(keys).aggregate(
            added=rows.quantity.sum(), largest=rows.quantity.max(), latest=latest(rows).max()
        )
        days = table.group_by("metric").aggregate(days=table.day.nunique())
        last = sums.mutate(last=sums.latest["quantity"])
        return last.inner_join(days, "metric").select(*keys, "added", "largest", "last", "days")


def _usage_by_customer(
    account: Account,
    days: DateRange,
    metrics: Sequence[UsageMetric],
    totals: _UsageTotals,
    deadline: float | None,
) -> dict[str, dict[str, Decimal]]:
    aggregations = {metric.name: metric.aggregation for metric in metrics}
    used_by_customer: dict[str, dict[str, Decimal]] = {}
    for row in usage_rows(account, days, totals, deadline=deadline):
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
