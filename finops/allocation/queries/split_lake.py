"""The two lake expressions of splits: cost of sources and weights of targets. Pure: only the engine runs them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import cache, reduce
from itertools import repeat
from operator import and_, or_
from typing import Any

import ibis
import pyarrow as pa

from finops.allocation.splits import Cell, CostGroup, SplitDimension, TimePosition, to_units
from finops.costs.dated_names import with_date_prefix
from finops.costs.dimensions import Dimension
from finops.costs.filters import all_of
from finops.costs.queries.spend_lake import (
    COST_COLUMNS,
    NO_CURRENCY,
    TRUNCATIONS,
    SpendPlan,
    is_counted,
    is_in_range,
    part_of,
)
from finops.lib.periods import DateRange, bucket_start

_ANY_DAYS = DateRange(date.min, date.max)

Labels = dict[tuple[int, str], str]
"""The display name of a group's value, by the index of the group."""


@dataclass(frozen=True)
class CellsBuild:
    """Sums of the lines that a split may move, by every key of the plan, and by day where weights change daily.

    Where weights do not change, `day` is the first of a range of days that the plan and the splits treat the same.

    The plan's filters on other dimensions are applied. A filter on a dimension with splits becomes a key instead,
    because cost may move into the values that it selects. Equal for equal questions, so that the lake compiles each
    shape once.
    """

    plan: SpendPlan
    dimensions: tuple[SplitDimension, ...]

    @classmethod
    def of(cls, plan: SpendPlan, dimensions: tuple[SplitDimension, ...]) -> CellsBuild:
        return cls(plan if plan.previous else replace(plan, days=_ANY_DAYS), dimensions)

    def __call__(self, table: Any) -> Any:
        rows = self._lines(table.filter(reduce(and_, self._conditions(table))))
        labels = [name for name in rows.columns if name.startswith("label")]
        keys = [name for name in rows.columns if name not in ("amount", *labels)]
        named = {name: rows[name].max() for name in labels}
        return rows.group_by(keys).aggregate(amount=rows.amount.sum(), **named)

    def _conditions(self, table: Any) -> list[Any]:
        plan = self.plan
        of_sources = reduce(
            or_, [_has_value(table, each.dimension, each.sources) for each in self.dimensions]
        )
        days = [reduce(or_, [is_in_range(table, days) for days in plan.ranges])] if plan.previous else []
        held = {item for each in self.dimensions for item in each.filters}
        return [of_sources, *days, *all_of(table, [item for item in plan.filters if item not in held])]

    def _lines(self, lines: Any) -> Any:
        amount = lines[COST_COLUMNS[self.plan.basis]]
        columns: dict[str, Any] = {}
        for place, dimension in enumerate(self.plan.dimensions):
            columns[f"key{place}"] = dimension.value(lines).coalesce(dimension.absent)
            if dimension.label is not None:
                columns[f"label{place}"] = with_date_prefix(lines, dimension.label(lines))
        for index, each in enumerate(self.dimensions):
            if each.filters:
                columns[f"passes{index}"] = reduce(and_, all_of(lines, each.filters)).fill_null(False)
            if not each.places:
                columns[f"held{index}"] = _source_value(lines, each)
        return lines.select(
            "charge_category",
            day=self._day(lines),
            currency=lines.currency.coalesce(NO_CURRENCY),
            part=part_of(lines, amount),
            amount=amount.coalesce(_zero()),
            bill=_bill(self.plan, lines),
            **columns,
        )

    def _day(self, lines: Any) -> Any:
        plan, day = self.plan, lines.charge_date
        if plan.granularity == "day":
            return day
        bucketed = plan.granularity != "none"
        start = day.truncate(TRUNCATIONS[plan.granularity]) if bucketed else ibis.literal(date.min)
        edges = sorted(self._edges(), reverse=True)
        if edges:
            passed = [(day >= ibis.literal(edge), ibis.literal(edge)) for edge in edges]
            start = ibis.greatest(start, ibis.cases(*passed, else_=ibis.literal(date.min)))
        daily = [
            _has_value(lines, each.dimension, each.daily_sources)
            for each in self.dimensions
            if each.daily_sources
        ]
        return ibis.ifelse(reduce(or_, daily), day, start) if daily else start

    def _edges(self) -> set[date]:
        """The days on which a split or a side of the comparison starts, and the days after one ends."""
        plan = self.plan
        sides = [side for side in (plan.days, plan.compared, plan.previous) if side] if plan.previous else []
        sides += [side for each in plan.source_overrides for side in (each.current, each.previous) if side]
        splits = [split for each in self.dimensions for split in each.splits]
        first = [*(side.start for side in sides), *(split.valid_from for split in splits)]
        first += [day for _, day in plan.incomplete]
        last = [*(side.end for side in sides), *(split.valid_to for split in splits)]
        return {day for day in first if day} | {
            day + timedelta(days=1) for day in last if day and day < date.max
        }


def _bill(plan: SpendPlan, lines: Any) -> Any:
    """The source of a line, where the plan treats the days of sources differently; else null."""
    source_ids = {str(each.source_id) for each in plan.source_overrides} | {
        str(source) for source, _ in plan.incomplete
    }
    source_ids |= {str(source) for _, sources in plan.ends for source in sources}
    if not source_ids:
        return ibis.null("string")
    return ibis.ifelse(lines.source.isin(sorted(source_ids)), lines.source, ibis.null("string"))


def read_cells(
    plan: SpendPlan, dimensions: tuple[SplitDimension, ...], table: pa.Table
) -> tuple[list[Cell], Labels]:
    """Return the typed result of `CellsBuild`, and the labels of the groups."""
    places = range(len(plan.dimensions))
    labels = Labels()
    for place in places:
        if f"label{place}" in table.column_names:
            _name(labels, place, table)
    columns = {name: table[name].to_pylist() for name in table.column_names}
    held = [
        f"key{each.places[0]}" if each.places else f"held{index}" for index, each in enumerate(dimensions)
    ]
    passes = [
        columns.get(f"passes{index}", list(repeat(True, table.num_rows))) for index in range(len(dimensions))
    ]
    when = cache(lambda day, bill: time_position(plan, day, int(bill) if bill else None))
    rows = zip(
        zip(*(columns[f"key{place}"] for place in places), strict=True)
        if places
        else repeat((), table.num_rows),
        zip(*(columns[name] for name in held), strict=True),
        zip(*passes, strict=True),
        columns["day"],
        columns["bill"],
        columns["currency"],
        zip(columns["charge_category"], columns["part"], strict=True),
        columns["amount"],
        strict=True,
    )
    return [
        Cell(CostGroup(keys, values, passing, when(day, bill), currency, other), day, to_units(amount))
        for keys, values, passing, day, bill, currency, other, amount in rows
    ], labels


def _name(labels: Labels, place: int, table: pa.Table) -> None:
    for value, label in zip(
        table[f"key{place}"].to_pylist(), table[f"label{place}"].to_pylist(), strict=True
    ):
        if label:
            labels[place, value] = max(label, labels.get((place, value), ""))


def time_position(plan: SpendPlan, day: date, source: int | None = None) -> TimePosition:
    """Return the position of a source's day in the plan: its bucket and its sides of the comparison."""
    own = next((each for each in plan.source_overrides if each.source_id == source), None)
    incomplete = next((first for each, first in plan.incomplete if each == source), None)
    inside = plan.previous is None or _is_in(plan.days, day)
    bucketed = inside and plan.granularity != "none"
    return TimePosition(
        bucket=bucket_start(plan.granularity, day) if bucketed else None,
        inside=inside,
        compared=_is_in(own.current if own else plan.compared, day),
        previous=_is_in(own.previous if own else plan.previous, day),
        incomplete=incomplete is not None and day >= incomplete,
        end=next((place for place, (_, sources) in enumerate(plan.ends) if source in sources), -1),
    )


def _is_in(days: DateRange | None, day: date) -> bool:
    return days is not None and days.start <= day <= days.end


@dataclass(frozen=True)
class WeightsBuild:
    """Cost of a dimension's values by day and currency as the cost view counts, without the question's filters."""

    dimension: Dimension
    values: tuple[str, ...]
    basis: str
    categories: tuple[str, ...]

    def __call__(self, table: Any) -> Any:
        lines = table.filter(
            _has_value(table, self.dimension, self.values) & is_counted(table, self.categories)
        )
        label = self.dimension.label(lines) if self.dimension.label is not None else ibis.null("string")
        rows = lines.select(
            day=lines.charge_date,
            currency=lines.currency.coalesce(NO_CURRENCY),
            value=self.dimension.value(lines).coalesce(self.dimension.absent),
            label=with_date_prefix(lines, label),
            amount=lines[COST_COLUMNS[self.basis]].coalesce(_zero()),
        )
        return rows.group_by(["day", "currency", "value"]).aggregate(
            amount=rows.amount.sum(), label=rows.label.max()
        )


def _has_value(table: Any, dimension: Dimension, values: Iterable[str]) -> Any:
    """Whether a line's value is exactly one of these. The absent name matches lines without a value."""
    sorted_values = sorted(values)
    value = dimension.value(table)
    # Without needless coalescing, the lake can use the condition to skip files.
    column = value.coalesce(dimension.absent) if dimension.absent in sorted_values else value
    return column.isin(sorted_values).fill_null(False)


def _source_value(lines: Any, each: SplitDimension) -> Any:
    """The line's value if it is a source, else null."""
    value = each.dimension.value(lines).coalesce(each.dimension.absent)
    return ibis.ifelse(_has_value(lines, each.dimension, each.sources), value, ibis.null("string"))


def _zero() -> Any:
    return ibis.literal(0, type="decimal(38, 18)")
