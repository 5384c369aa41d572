"""The cost that shared-cost splits move in the sums of a question: the splitter of `finops.costs.split_registry`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa

from finops.allocation.models import SharedCostSplit
from finops.allocation.queries.split_effects import effects_of, unallocated_warnings
from finops.allocation.queries.split_lake import CellsBuild, Labels, WeightsBuild, read_cells
from finops.allocation.queries.split_rules import split_of
from finops.allocation.splits import (
    AllocationResult,
    Split,
    SplitDimension,
    Weights,
    allocate_cells,
    from_units,
    to_units,
)
from finops.allocation.splits.rules import USAGE
from finops.costs.dated_names import strip_date_prefix
from finops.costs.dimensions import Dimension, registry
from finops.costs.queries.spend import MAX_SUMS
from finops.costs.queries.spend_lake import SpendPlan, SpendSum
from finops.costs.split_registry import SplitQuestion, SplitResult
from finops.lake.engine import engine
from finops.lake.schema import Kind
from finops.lib.errors import UserError
from finops.lib.periods import DateRange
from finops.lib.sentences import join_with_and
from ingestion.queries import MetricQuery, metrics_of
from ingestion.queries.usage import read_daily_usage

_NOTHING = Decimal(0)

PRODUCT = "product"
"""The one dimension that is an alias of another; splits of either apply to both."""

NO_SPLITS = "No shared-cost splits, so cost after splits equals cost before."


def split_moves(question: SplitQuestion) -> SplitResult:
    """Return what every split of the account moves in these sums. See `moves_of`; one more PostgreSQL query."""
    splits = [split_of(row) for row in SharedCostSplit.objects.filter(account=question.account)]
    if not splits:
        return SplitResult(warnings=[NO_SPLITS])
    return moves_of(question, splits)


def moves_of(question: SplitQuestion, splits: Sequence[Split]) -> SplitResult:
    """Return what these splits move in these sums, exact to the last digit.

    Cost: nothing where no split is on a dimension of the question. Otherwise a lake query over the lines of the
    sources (by day where the weights change daily), one over the targets of proportional splits, and for each usage
    metric one of usage and one of PostgreSQL. Raises UserError when there are too many sums by day for memory.
    """
    dimensions = _dimensions(question, splits)
    if not dimensions:
        split_dimensions = sorted({split.dimension for split in splits})
        return SplitResult(
            warnings=[
                (
                    "No shared-cost split applies to the dimensions of this query; splits are on "
                    f"{join_with_and(split_dimensions)}."
                )
            ]
        )
    build = CellsBuild.of(question.plan, dimensions)
    tag_keys = [*question.plan.tag_keys, *(key for each in dimensions for key in each.dimension.tag_keys)]
    table = _run(question, build, list(dict.fromkeys(tag_keys)))
    if table.num_rows > MAX_SUMS:
        raise _too_many(table.num_rows)
    cells, labels = read_cells(question.plan, dimensions, table)
    if not cells:
        return SplitResult(effects=effects_of(dimensions, question.plan, AllocationResult()))
    weights, names = _weights(question, dimensions)
    result = allocate_cells(
        cells, dimensions, weights, {key: strip_date_prefix(name) for key, name in names.items()}
    )
    effects = effects_of(dimensions, question.plan, result)
    return SplitResult(
        moves=_sums(question.plan, dimensions, result, labels, names),
        effects=effects,
        warnings=unallocated_warnings(effects),
        receiving_values=_receiving_values(dimensions, result),
    )


def _receiving_values(dimensions: Sequence[SplitDimension], result: AllocationResult) -> dict[str, set[str]]:
    """Return the targets that received cost, by the dimension's name in each filter of the question."""
    by_split: dict[int, set[str]] = {}
    for split, _lot, received in result.received:
        by_split.setdefault(split.id, set()).update(received)
    return {
        item.dimension.name: {value for split in each.splits for value in by_split.get(split.id, ())}
        for each in dimensions
        for item in each.filters
    }


def _too_many(rows: int) -> UserError:
    return UserError(
        f"After splits there are {rows:,} totals by day and group; the maximum is {MAX_SUMS:,}. Use "
        "fewer days, a coarser group, or splits before."
    )


def _dimensions(question: SplitQuestion, splits: Sequence[Split]) -> tuple[SplitDimension, ...]:
    """Return the question's dimensions that have splits, each once."""
    plan, split_dimensions = question.plan, []
    used = [*plan.dimensions, *(item.dimension for item in plan.filters)]
    remaining = list(splits)
    for dimension in {each.value: each for each in reversed(used)}.values():
        # A split moves cost once, also where the question uses both the customer and the customer key.
        own_splits = tuple(split for split in remaining if _is_on(question, split, dimension))
        remaining = [split for split in remaining if split not in own_splits]
        if own_splits:
            split_dimensions.append(
                SplitDimension(
                    dimension=dimension,
                    splits=own_splits,
                    places=tuple(
                        place for place, each in enumerate(plan.dimensions) if each.value == dimension.value
                    ),
                    filters=tuple(item for item in plan.filters if item.dimension.value == dimension.value),
                )
            )
    # Group dimensions come first, in order, so that a figure does not depend on the order of the filters.
    return tuple(
        sorted(
            split_dimensions, key=lambda each: (each.places or (len(plan.dimensions),), each.dimension.name)
        )
    )


def _is_on(question: SplitQuestion, split: Split, dimension: Dimension) -> bool:
    if split.dimension in (dimension.name, dimension.stands_for):
        return True
    if PRODUCT not in (split.dimension, dimension.name):
        return False
    try:
        return registry.resolve(question.context, split.dimension).value == dimension.value
    except UserError:
        # The cost tag was deleted since.
        return False


def _run(question: SplitQuestion, build: CellsBuild | WeightsBuild, tag_keys: Sequence[str]) -> pa.Table:
    span = _span(question.plan)
    return engine.run(
        question.account,
        Kind.COST,
        span.start,
        span.end,
        build,
        tag_keys=tag_keys,
        allow_rollups=True,
        manifest=question.manifest,
        deadline=question.deadline,
    )


def _span(plan: SpendPlan) -> DateRange:
    return DateRange(min(days.start for days in plan.ranges), max(days.end for days in plan.ranges))


Names = dict[tuple[str, str], str]
"""Display names of targets by (dimension, value), with the day that each name is from."""


def _weights(question: SplitQuestion, dimensions: Sequence[SplitDimension]) -> tuple[Weights, Names]:
    costs: dict[tuple[str, date, str], dict[str, int]] = {}
    names: Names = {}
    for each in dimensions:
        # A dimension of ids has display names, which groups show and filters match.
        values = each.proportional_targets if each.dimension.label is None else each.targets
        for row in _costs(question, each, values) if values else ():
            key = (each.dimension.name, row["day"], row["currency"])
            costs.setdefault(key, {})[row["value"]] = to_units(row["amount"])
            if row["label"]:
                named = (each.dimension.name, row["value"])
                names[named] = max(row["label"], names.get(named, ""))
    return Weights(costs, _usage(question, dimensions)), names


def _costs(question: SplitQuestion, each: SplitDimension, values: tuple[str, ...]) -> list[dict[str, Any]]:
    plan = question.plan
    build = WeightsBuild(each.dimension, values, plan.basis, plan.categories)
    table = _run(question, build, each.dimension.tag_keys)
    if table.num_rows > MAX_SUMS:
        raise _too_many(table.num_rows)
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def _usage(
    question: SplitQuestion, dimensions: Sequence[SplitDimension]
) -> dict[tuple[str, date], Mapping[str, int]]:
    splits = [split for each in dimensions for split in each.splits if split.method == USAGE]
    if not splits:
        return {}
    metrics = {metric.name: metric for metric in metrics_of(question.account)}
    usage: dict[tuple[str, date], Mapping[str, int]] = {}
    for name in sorted({split.usage_metric for split in splits} & metrics.keys()):
        request = MetricQuery(name, _span(question.plan), "day", "customer", _customers(name, splits))
        by_day: dict[date, dict[str, int]] = defaultdict(dict)
        rows = read_daily_usage(question.account, metrics[name], request, deadline=question.deadline)
        for customer, day, quantity in rows:
            by_day[day][customer or ""] = quantity
        usage |= {(name, day): quantities for day, quantities in by_day.items()}
    return usage


def _customers(metric: str, splits: Sequence[Split]) -> tuple[str, ...]:
    """Return the customers whose usage is a weight; empty means all customers."""
    own_splits = [split for split in splits if split.usage_metric == metric]
    if any(split.every_customer for split in own_splits):
        return ()
    return tuple(sorted({target for split in own_splits for target in split.targets}))


@dataclass(slots=True)
class _SideSums:
    """Amounts on each side of a comparison, in smallest units."""

    amount: int = 0
    compared: int = 0
    previous: int = 0
    allocated: int = 0
    incomplete: int = 0


def _sums(
    plan: SpendPlan,
    dimensions: Sequence[SplitDimension],
    result: AllocationResult,
    labels: Labels,
    names: Names,
) -> list[SpendSum]:
    sums: dict[tuple[tuple[str, ...], str, date | None, tuple[str | None, ...], int], _SideSums] = {}
    for lot, keys, amount, allocated in result.moves:
        key = (keys, lot.currency, lot.when.bucket, lot.other, lot.when.end)
        side = sums.get(key)
        if side is None:
            side = sums[key] = _SideSums()
        if lot.when.inside:
            side.amount += amount
            side.allocated += amount if allocated else 0
            side.incomplete += amount if lot.when.incomplete else 0
        if lot.when.compared:
            side.compared += amount
        if lot.when.previous:
            side.previous += amount
    if len(sums) > MAX_SUMS:
        raise _too_many(len(sums))
    labels_of = _label_lookup(plan, dimensions, labels, names)
    return [
        SpendSum(
            keys=keys,
            labels=labels_of(keys),
            place=plan.limit,
            groups=0,
            currency=currency,
            bucket=bucket,
            charge_category=other[0],
            part=other[1],
            amount=from_units(side.amount),
            compared=from_units(side.compared) if side.compared else _NOTHING,
            previous=from_units(side.previous) if side.previous else _NOTHING,
            allocated=from_units(side.allocated) if side.allocated else _NOTHING,
            incomplete=from_units(side.incomplete) if side.incomplete else _NOTHING,
            end=end,
        )
        for (keys, currency, bucket, other, end), side in sums.items()
    ]


def _label_lookup(
    plan: SpendPlan, dimensions: Sequence[SplitDimension], labels: Labels, names: Names
) -> Callable[[tuple[str, ...]], tuple[str | None, ...]]:
    """Return a function that gives the display names of a group's values."""
    nameless = (None,) * len(plan.dimensions)
    if not labels and not names:
        return lambda _keys: nameless
    place_names = {place: each.dimension.name for each in dimensions for place in each.places}
    return lambda keys: tuple(
        labels.get((place, value)) or names.get((place_names.get(place, ""), value))
        for place, value in enumerate(keys)
    )
