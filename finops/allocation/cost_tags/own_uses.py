"""What of allocation and costs uses a cost tag."""

from __future__ import annotations

from accounts.models import Account
from finops.allocation.cost_tags import uses
from finops.allocation.models import CostTag, SharedCostSplit
from finops.allocation.rules import dimensions_of, read_rules
from finops.costs.models import CostView


@uses.register("cost tags")
def _cost_tags(account: Account, dimension: str) -> list[str]:
    return [
        f"cost tag {row.key}"
        for row in CostTag.objects.filter(account=account)
        if dimension.casefold() in [name.strip().casefold() for name in dimensions_of(read_rules(row.rules))]
    ]


@uses.register("splits")
def _splits(account: Account, dimension: str) -> list[str]:
    rows = SharedCostSplit.objects.filter(account=account, dimension__iexact=dimension)
    return [f"split {name}" for name in rows.values_list("name", flat=True)]


@uses.register("product key")
def _product_key(account: Account, dimension: str) -> list[str]:
    exists = CostView.objects.filter(account=account, product_key__iexact=dimension).exists()
    return ["the product key of the cost view"] if exists else []
