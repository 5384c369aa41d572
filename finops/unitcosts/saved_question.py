"""A saved unit metric and its question. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import msgspec
from msgspec.structs import replace

from finops.costs.spend_query import BasisName, CostFilter, Splits
from finops.lib.sentences import join_with_and, truncate
from finops.unitcosts.models import UnitMetric
from finops.unitcosts.unit_cost_query import Mode, UnitCostQuery, UsedFilter

SAVED_FIELDS = (
    "usage_metric",
    "filters",
    "usage_filters",
    "basis",
    "charge_categories",
    "splits",
    "per",
    "mode",
)
"""The fields of a question that a unit metric stores. Days, granularity, comparison and customers are not."""


def question_of(metric: UnitMetric) -> UnitCostQuery:
    """Return the saved question, without days."""
    return UnitCostQuery(
        usage_metric=metric.usage_metric,
        mode=cast(Mode, metric.mode),
        filters=msgspec.convert(metric.filters, list[CostFilter]),
        usage_filters=msgspec.convert(metric.usage_filters, list[UsedFilter]),
        basis=cast(BasisName, metric.basis) if metric.basis else None,
        charge_categories=list(metric.charge_categories),
        splits=cast(Splits, metric.splits),
        per=metric.per,
    )


def saved_fields(question: UnitCostQuery) -> dict[str, Any]:
    """Return the fields of a unit metric from this question."""
    return {
        "usage_metric": question.usage_metric.strip(),
        "filters": msgspec.to_builtins(list(question.filters)),
        "usage_filters": msgspec.to_builtins(list(question.usage_filters)),
        "basis": question.basis or "",
        "charge_categories": list(question.charge_categories),
        "splits": question.splits or UnitMetric.Splits.BEFORE.value,
        "per": question.units,
        "mode": question.mode or UnitMetric.Mode.TOTAL.value,
    }


def is_changed(metric: UnitMetric, question: UnitCostQuery) -> bool:
    """Return whether the question differs from the metric's."""
    return any(getattr(metric, name) != value for name, value in saved_fields(question).items())


def merge_question(metric: UnitMetric, overrides: UnitCostQuery) -> tuple[UnitCostQuery, str]:
    """Return the saved question with the other given fields, and a sentence about these, or "".

    Given fields win. A filter replaces the saved ones on its dimension; on any other dimension it narrows the cost.
    """
    saved = question_of(metric)
    dimensions = {_dimension_key(item) for item in overrides.filters}
    saved_filters = [item for item in saved.filters if _dimension_key(item) not in dimensions]
    merged = replace(
        overrides,
        unit_metric="",
        filters=[*saved_filters, *overrides.filters],
        **{
            name: getattr(overrides, name) or getattr(saved, name)
            for name in SAVED_FIELDS
            if name != "filters"
        },
    )
    changed = [
        *_changed_filters(overrides.filters, saved.filters),
        *(
            name
            for name in SAVED_FIELDS
            if name != "filters" and getattr(merged, name) != getattr(saved, name)
        ),
    ]
    if not changed:
        return merged, ""
    subject = f"Overrides the saved arguments of unit metric {truncate(metric.name, 60)!r}"
    return merged, f"{subject}: {join_with_and(changed)}."


def _dimension_key(item: CostFilter) -> str:
    return item.dimension.strip().casefold()


def _changed_filters(filters: Sequence[CostFilter], saved: Sequence[CostFilter]) -> list[str]:
    by_dimension = {_dimension_key(item): item for item in saved}
    changed = [item.dimension for item in filters if by_dimension.get(_dimension_key(item)) != item]
    return [f"filters on {truncate(join_with_and(changed), 100)}"] if changed else []
