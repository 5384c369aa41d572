"""Which budgets use a dimension that allocation gives."""

from __future__ import annotations

from accounts.models import Account
from finops.allocation.cost_tags import uses
from finops.budgets.models import Budget


@uses.register("budgets")
def _budgets(account: Account, dimension: str) -> list[str]:
    family, _, key = dimension.partition(":")
    if family != "cost_tag":
        return []
    rows = Budget.objects.filter(account=account, cost_tag__key__iexact=key)
    return [f"budget {name}" for name in rows.values_list("name", flat=True)]
