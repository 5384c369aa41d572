"""Registrations of unit costs with lower apps: the dimension `customer`, the names of its values, and uses of a
dimension."""

from __future__ import annotations

from accounts.models import Account
from finops.allocation.cost_tags.uses import dimension_uses
from finops.costs.dimensions import DimensionKind, registry
from finops.costs.value_names import value_namers
from finops.unitcosts.customer_dimension import NAME, customer_key_names, resolve_customer
from finops.unitcosts.models import CustomerKey, UnitMetric

value_namers.add("customers", customer_key_names)
registry.register(
    DimensionKind(
        NAME,
        "Customer",
        "Customer by the customer key, with aliases; IDs or names.",
        resolve_customer,
    )
)


@dimension_uses.register("customer key")
def customer_key_of_dimension(account: Account, dimension: str) -> list[str]:
    exists = CustomerKey.objects.filter(account=account, dimension__iexact=dimension).exists()
    return ["the customer key"] if exists else []


@dimension_uses.register("unit metrics")
def unit_metrics_of_dimension(account: Account, dimension: str) -> list[str]:
    rows = UnitMetric.objects.filter(account=account)
    return [
        f"unit metric {row.name}"
        for row in rows
        if any(str(item.get("dimension", "")).casefold() == dimension.casefold() for item in row.filters)
    ]
