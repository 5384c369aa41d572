"""Convert stored splits to the `Split` type of the allocation algorithm."""

from __future__ import annotations

from decimal import Decimal

from finops.allocation.models import SharedCostSplit
from finops.allocation.splits import Split
from finops.allocation.splits.rules import FIXED


def split_of(row: SharedCostSplit) -> Split:
    """Return the rules of a split, saved or unsaved."""
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
