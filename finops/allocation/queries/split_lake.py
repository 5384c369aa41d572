"""The two expressions behind splits: cost of sources day by day, and what targets weigh. Pure: only the engine runs them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date
from functools import reduce
from operator import and_, or_
from typing import Any

import ibis
import pyarrow as pa

from finops.allocation.splits import Cell, SplitDimension, scaled
from finops.costs.dimensions import Dimension
from finops.costs.filters import all_of
from finops.costs.queries.spend_lake import COST_COLUMNS, NO_CURRENCY, SpendPlan, counts, part_of, within
from finops.lib.periods import DateRange

_ANY_DAYS = DateRange(date.min, date.max)

Labels = dict[tuple[int, str], str]
"""The readable name of a group's value, by the place of the group."""


@dataclass(frozen=True)
class CellsBuild:
    """Sums by day of lines that a split may move, by all that the plan tells apart.

    The plan's filters on other dimensions are applied; those on a dimension with splits are told apart, because cost
    may move into what they choose. Equal for equal questions, so that the lake compiles each shape once.
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
        of_sources = reduce(or_, [_has(table, each.dimension, each.sources) for each in self.dimensions])
        days = [reduce(or_, [within(table, days) for days in plan.ranges])] if plan.previous else []
        held = {item for each in self.dimensions for item in each.filters}
        return [of_sources, *days, *all_of(table, [item for item in plan.filters if item not in held])]

    def _lines(self, lines: Any) -> Any:
        amount = lines[COST_COLUMNS[self.plan.basis]]
        columns: dict[str, Any] = {}
        for place, dimension in enumerate(self.plan.dimensions):
            columns[f"key{place}"] = dimension.value(lines).coalesce(dimension.absent)
            if dimension.label is not None:
                columns[f"label{place}"] = dimension.label(lines)
        for index, each in enumerate(self.dimensions):
            if each.filters:
                columns[f"passes{index}"] = reduce(and_, all_of(lines, each.filters)).fill_null(False)
            if not each.places:
                columns[f"held{index}"] = _only(lines, each)
        return lines.select(
            "charge_category",
            day=lines.charge_date,
            currency=lines.currency.coalesce(NO_CURRENCY),
            part=part_of(lines, amount),
            amount=amount.coalesce(_zero()),
            **columns,
        )


def read_cells(build: CellsBuild, table: pa.Table) -> tuple[list[Cell], Labels]:
    """The result of `CellsBuild` typed, and the labels of the groups."""
    places = range(len(build.plan.dimensions))
    cells, labels = [], Labels()
    for row in table.to_pylist():
        keys = tuple(row[f"key{place}"] for place in places)
        for place in places:
            label = row.get(f"label{place}")
            if label:
                labels[place, keys[place]] = max(label, labels.get((place, keys[place]), ""))
        indexes = range(len(build.dimensions))
        cells.append(
            Cell(
                keys=keys,
                values=tuple(row.get(f"held{index}") for index in indexes),
                passes=tuple(row.get(f"passes{index}", True) for index in indexes),
                day=row["day"],
                currency=row["currency"],
                other=(row["charge_category"], row["part"]),
                amount=scaled(row["amount"]),
            )
        )
    return cells, labels


@dataclass(frozen=True)
class WeightsBuild:
    """What values of a dimension cost by day and currency as the view counts, whatever the question filters."""

    dimension: Dimension
    values: tuple[str, ...]
    basis: str
    categories: tuple[str, ...]

    def __call__(self, table: Any) -> Any:
        lines = table.filter(_has(table, self.dimension, self.values) & counts(table, self.categories))
        label = self.dimension.label(lines) if self.dimension.label is not None else ibis.null("string")
        rows = lines.select(
            day=lines.charge_date,
            currency=lines.currency.coalesce(NO_CURRENCY),
            value=self.dimension.value(lines).coalesce(self.dimension.absent),
            label=label,
            amount=lines[COST_COLUMNS[self.basis]].coalesce(_zero()),
        )
        return rows.group_by(["day", "currency", "value"]).aggregate(
            amount=rows.amount.sum(), label=rows.label.max()
        )


def _has(table: Any, dimension: Dimension, values: Iterable[str]) -> Any:
    """Whether a line's value is one of these, exactly; the name for none is a line without a value."""
    wanted = sorted(values)
    value = dimension.value(table)
    # Coalescing only where it matters keeps the condition one that the lake's files can be skipped by.
    shown = value.coalesce(dimension.absent) if dimension.absent in wanted else value
    return shown.isin(wanted).fill_null(False)


def _only(lines: Any, each: SplitDimension) -> Any:
    """The value where it is a source, else null."""
    value = each.dimension.value(lines).coalesce(each.dimension.absent)
    return ibis.ifelse(_has(lines, each.dimension, each.sources), value, ibis.null("string"))


def _zero() -> Any:
    return ibis.literal(0, type="decimal(38, 18)")
