"""What one unit cost in the demo, against sums of the files themselves: no query, engine or division of ours."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from msgspec.structs import replace

from accounts.models import Account
from accounts.scoping import account_scope
from finops.lake.models import LakeSegment
from finops.lib import clock
from finops.unitcosts.models import CustomerAlias
from finops.unitcosts.queries import query_unit_cost
from finops.unitcosts.unit_cost_query import UnitCostQuery
from ingestion.models import Customer, UsageMetric
from tests.finops.demo.test_load_demo import TODAY

ORDER = ("event_time", "received_at", "batch", "position")
MONTHS = {
    "october": (date(2026, 10, 1), date(2026, 10, 31)),
    "november": (date(2026, 11, 1), date(2026, 11, 19)),
}
"""A whole month, and one that is under way."""


def rows_of(var: Path, account: Account, kind: str) -> Iterator[dict[str, Any]]:
    columns = {
        "cost": ["charge_date", "billed_cost", "currency", "charge_category", "tag:customer"],
        "usage": ["day", "metric", "customer_id", "quantity", *ORDER],
    }[kind]
    for segment in LakeSegment.objects.unscoped().filter(account=account, kind=kind, retired_at=None):
        file = pq.ParquetFile(var / "lake" / segment.path)
        yield from file.read(
            columns=[name for name in columns if name in file.schema_arrow.names]
        ).to_pylist()


def costs_of(var: Path, account: Account, days: tuple[date, date]) -> dict[tuple[str, str], Fraction]:
    """Billed cost of usage by currency and value of the tag; "" without one."""
    costs: dict[tuple[str, str], Fraction] = defaultdict(Fraction)
    for line in rows_of(var, account, "cost"):
        if days[0] <= line["charge_date"] <= days[1] and line["charge_category"] == "Usage":
            costs[line["currency"], line.get("tag:customer") or ""] += Fraction(line["billed_cost"])
    return costs


def usage_of(
    var: Path, account: Account, metric: UsageMetric, days: tuple[date, date]
) -> dict[str, Fraction]:
    """By customer, as docs/how-we-count.md says of each aggregation."""
    quantities: dict[str, Fraction] = defaultdict(Fraction)
    days_read: set[date] = set()
    events = [row for row in rows_of(var, account, "usage") if row["metric"] == metric.name]
    for event in sorted(events, key=lambda row: tuple(row[name] for name in ORDER)):
        if days[0] <= event["day"] <= days[1]:
            before = Fraction() if metric.aggregation == "last" else quantities[event["customer_id"]]
            quantities[event["customer_id"]] = before + Fraction(event["quantity"])
            days_read.add(event["day"])
    assert metric.aggregation in ("sum", "average_of_days", "last")
    parts = len(days_read) if metric.aggregation == "average_of_days" else 1
    return {customer: total / parts for customer, total in quantities.items()}


def near(answer: Decimal | None, exact: Fraction) -> bool:
    """To the last of 30 digits."""
    return answer is not None and abs(Fraction(answer) - exact) <= abs(exact) / 10**30


def is_other_money(metric: UsageMetric, currency: str) -> bool:
    """Whether the metric is revenue, which the demo has in USD, and the cost is in another currency."""
    return metric.name == "revenue" and currency != "USD"


def check_unit_costs(var: Path) -> None:
    """In a `var/` with both months. Raises AssertionError where an answer differs."""
    account = Account.objects.get(slug="lumenly")
    with account_scope(account), clock.frozen(TODAY):
        aliases = dict(CustomerAlias.objects.values_list("value", "customer_id"))
        customers = set(Customer.objects.values_list("customer_id", flat=True))
        metrics = list(UsageMetric.objects.all())
        assert {metric.aggregation for metric in metrics} >= {"sum", "average_of_days"}
        for days in MONTHS.values():
            costs = costs_of(var, account, days)
            for metric in metrics:
                _check(account, metric, days, costs, usage_of(var, account, metric, days), aliases, customers)


def _check(
    account: Account,
    metric: UsageMetric,
    days: tuple[date, date],
    costs: dict[tuple[str, str], Fraction],
    usage: dict[str, Fraction],
    aliases: dict[str, str],
    customers: set[str],
) -> None:
    query = UnitCostQuery(
        usage_metric=metric.name,
        start_date=days[0],
        end_date=days[1],
        basis="billed",
        charge_categories=["Usage"],
        limit=100,
    )
    whole = query_unit_cost(account, query)
    used = sum(usage.values(), Fraction())
    assert {total.currency for total in whole.totals} == {currency for currency, _value in costs}
    for total in whole.totals:
        cost = sum(
            (amount for (currency, _), amount in costs.items() if currency == total.currency), Fraction()
        )
        assert Fraction(total.cost) == cost
        if is_other_money(metric, total.currency):
            assert (total.usage, total.unit_cost) == (None, None)
            assert "USD" in total.reason
            continue
        assert near(total.usage, used)
        assert near(total.unit_cost, cost / used)

    owned: dict[tuple[str, str], Fraction] = defaultdict(Fraction)
    for (currency, value), cost in costs.items():
        customer = aliases.get(value, value)
        owned[currency, customer if customer in customers else ""] += cost
    split = query_unit_cost(account, replace(query, mode="per_customer"))
    listing: dict[tuple[str, str], Fraction] = defaultdict(Fraction)
    for row in split.rows:
        listing[row.currency, row.customer_id or ""] += Fraction(row.cost)
        if row.status == "matched" and not is_other_money(metric, row.currency):
            assert row.customer_id is not None
            assert near(row.usage, usage[row.customer_id])
            assert near(row.unit_cost, owned[row.currency, row.customer_id] / usage[row.customer_id])
    assert {key: cost for key, cost in listing.items() if cost} == {
        key: cost for key, cost in owned.items() if cost
    }
    assert sum(row.status == "matched" for row in split.rows) > 10
