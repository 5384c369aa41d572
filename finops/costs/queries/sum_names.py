"""Sums with the readable names of their values that a higher room knows."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from finops.costs.queries.spend_lake import SpendPlan, SpendSum


def with_names(plan: SpendPlan, sums: list[SpendSum]) -> list[SpendSum]:
    """The sums, their listed values with the names that a higher room knows. A query for each such dimension."""
    for place, dimension in enumerate(plan.dimensions):
        if dimension.names is None:
            continue
        listed = {key for part in sums if (key := part.keys[place]) is not None}
        names = dimension.names.names(listed) if listed else {}
        sums = [_with_label(part, place, names) for part in sums]
    return sums


def _with_label(part: SpendSum, place: int, names: Mapping[str, str]) -> SpendSum:
    name = names.get(part.keys[place] or "")
    if not name:
        return part
    dated_name = f"{date.max}{name}"  # labels stand after the day that they are of
    return part._replace(labels=(*part.labels[:place], dated_name, *part.labels[place + 1 :]))
