"""What of unit costs uses a dimension that allocation gives."""

from __future__ import annotations

from accounts.models import Account
from finops.allocation.cost_tags import uses
from finops.unitcosts.models import CustomerKey, UnitMetric


@uses.register("customer key")
def _customer_key(account: Account, dimension: str) -> list[str]:
    exists = CustomerKey.objects.filter(account=account, dimension__iexact=dimension).exists()
    return ["the customer key"] if exists else []


@uses.register("unit metrics")
def _unit_metrics(account: Account, dimension: str) -> list[str]:
    rows = UnitMetric.objects.filter(account=account)
    return [
        f"unit metric {row.name}"
        for row in rows
        if any(str(item.get("dimension", "")).casefold() == dimension.casefold() for item in row.filters)
    ]
