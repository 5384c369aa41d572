"""Splits as the mathematics knows them."""

from __future__ import annotations

from decimal import Decimal

from finops.allocation.models import SharedCostSplit
from finops.allocation.splits import Split
from finops.allocation.splits.rules import FIXED


def split_of(row: SharedCostSplit) -> Split:
    """What a stored (or not yet stored) split says."""
    return Split(
        id=row.pk or 0,
        name=row.name,
        dimension=row.dimension,
        source=row.source_value,
        method=row.method,
        targets=tuple(target["value"] for target in row.targets),
        percents=tuple(Decimal(target["percent"]) for target in row.targets) if row.method == FIXED else (),
        usage_metric=row.usage_metric,
        valid_from=row.valid_from,
        valid_to=row.valid_to,
    )
