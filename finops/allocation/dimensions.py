"""The dimensions that allocation adds to cost."""

from __future__ import annotations

from finops.allocation.cost_tags.resolution import resolve_cost_tag
from finops.allocation.models import CostTag
from finops.costs.dimensions import DimensionKind, registry


def _keys() -> list[str]:
    return list(CostTag.objects.values_list("key", flat=True))


registry.register(
    DimensionKind(
        "cost_tag:",
        "Cost tag",
        "A tag by the account's own rules: cost_tag:customer.",
        resolve_cost_tag,
        own_keys=_keys,
    )
)
