"""A small account with a customer key, cost and usage of March 2026, small enough to calculate by hand."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

from accounts.models import Account
from finops.unitcosts.models import CustomerKey
from finops.unitcosts.queries import query_unit_cost
from finops.unitcosts.unit_cost_query import UnitCostQuery
from ingestion.models import Customer
from tests.factories.costs import Line, add_source, cost
from tests.factories.usage import Event, add_usage, event

MARCH = {"start_date": date(2026, 3, 1), "end_date": date(2026, 3, 10)}


def day(number: int) -> date:
    return date(2026, 3, number)


def cost_line(number: int, amount: str | int, customer: str | None = None, /, **columns: Any) -> Line:
    tags = {} if customer is None else {"customer": customer}
    return cost(day(number), amount, tags=tags, **columns)


def usage_event(number: int, customer: str, quantity: str | int, **fields: Any) -> Event:
    return event(day(number), customer, quantity, **fields)


def add_data(
    account: Account, lines: Sequence[Line], events: Sequence[Event] = (), **aggregations: str
) -> None:
    """Store these lines and events as the account's only data; customers are identified by tag:customer."""
    add_source(account, [*lines, cost_line(10, 0, "-", currency="USD")])
    if events:
        add_usage(account, events, **aggregations)
    CustomerKey.objects.create(account=account, dimension="tag:customer")


def name_customer(account: Account, customer_id: str, name: str) -> None:
    Customer.objects.update_or_create(account=account, customer_id=customer_id, defaults={"name": name})


def march_query(metric: str = "requests", **fields: Any) -> UnitCostQuery:
    return UnitCostQuery(usage_metric=metric, **{**({} if "period" in fields else MARCH), **fields})


def by_customer(metric: str = "requests", **fields: Any) -> UnitCostQuery:
    return march_query(metric, mode="per_customer", **fields)


def cost_per_unit(account: Account, query: UnitCostQuery) -> Any:
    """Return the answer, untyped so that figures compare with plain numbers."""
    return query_unit_cost(account, query)
