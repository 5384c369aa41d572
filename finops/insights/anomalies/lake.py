"""Cost in which anomalies are detected: amortized, without taxes, credits, refunds, one-time fees and commitment
purchases, by day, source and one dimension; the causes of an anomaly, and its part within filters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from functools import cached_property, reduce
from operator import and_
from typing import Any

import ibis

from finops.costs.dated_names import strip_date_prefix, with_date_prefix
from finops.costs.dimensions import Dimension, registry
from finops.costs.filters import ResolvedFilter, all_of
from finops.costs.queries.spend_lake import NO_CURRENCY, TAX, is_in_range, part_of
from finops.insights.anomalies.causes import Causes, ValueSides, causes_of, excess_over_mean
from finops.insights.anomalies.detector import Detection
from finops.insights.cost_scope import CostReader, dimension_columns
from finops.insights.models import SERVICE, Anomaly
from finops.lake.engine.conversion import currency_scope
from finops.lib.answers import group_by
from finops.lib.errors import UserError
from finops.lib.money import exact_sum, ratio
from finops.lib.periods import DateRange

BASELINE = timedelta(days=28)
CAUSE_DIMENSIONS = ("usage_type", "resource", "account", "region", "actor")

MAX_OVERLAPS = 50
"""Number of values of a monitored dimension, the largest, whose part of an anomaly is stored."""

MIN_SHARE = Decimal("0.1")
"""An anomaly matches filters if the filtered cost moved in the same direction, by at least this share of its impact.
"""


@dataclass(frozen=True)
class ScopeKey:
    """Identifies a series."""

    source_id: int
    value: str
    currency: str


@dataclass
class DailyCost:
    """Exact cost of one scope on the days that have lines."""

    days: dict[date, Decimal] = field(default_factory=dict)
    label: str = ""

    def between(self, first: date, last: date) -> Decimal:
        return exact_sum(amount for day, amount in self.days.items() if first <= day <= last)


def is_ordinary(table: Any) -> Any:
    """Return whether a line is usage, or a monthly purchase."""
    bought = (table.charge_category == "Purchase") & table.commitment_id.notnull()
    part = part_of(table, table.effective_cost)
    return part.isnull() & ~bought.fill_null(False) & (table.charge_category != TAX).fill_null(True)


@dataclass(frozen=True)
class AnomalyBuild:
    """Sums by source, value, currency and day. Equal for equal queries, so that the lake compiles each once."""

    dimension: Dimension
    filters: tuple[ResolvedFilter, ...] = ()
    values: tuple[str, str | None] | None = None
    """Of the dimension those from the first up to but not the second alone."""

    def __call__(self, table: Any) -> Any:
        conditions = [is_ordinary(table), *all_of(table, self.filters), *self._in_range(table)]
        lines = table.filter(reduce(and_, conditions))
        label = {}
        if self.dimension.label is not None:
            label["label"] = with_date_prefix(lines, self.dimension.label(lines))
        selected = lines.select(
            source=lines.source,
            value=self.dimension.value(lines).coalesce(self.dimension.absent),
            currency=lines.currency.coalesce(NO_CURRENCY),
            day=lines.charge_date,
            amount=lines.effective_cost,
            **label,
        )
        return selected.group_by(["source", "value", "currency", "day"]).aggregate(
            amount=selected.amount.sum(), **{name: selected[name].max() for name in label}
        )

    def _in_range(self, table: Any) -> list[Any]:
        if self.values is None:
            return []
        value, (first, until) = self.dimension.value(table).coalesce(self.dimension.absent), self.values
        return [value >= first, *([] if until is None else [value < until])]


def daily_costs(
    reader: CostReader,
    dimension: Dimension,
    days: DateRange,
    filters: tuple[ResolvedFilter, ...] = (),
    values: tuple[str, str | None] | None = None,
) -> dict[ScopeKey, DailyCost]:
    """Return every scope of the account on these days, of the lines that match the filters and whose value is in the range of
    `values`. One lake query."""
    used = [dimension, *(item.dimension for item in filters)]
    table = reader.run(
        days, AnomalyBuild(dimension, filters, values), [key for each in used for key in each.tag_keys]
    )
    result: dict[ScopeKey, DailyCost] = defaultdict(DailyCost)
    for row in table.to_pylist():
        cost = result[ScopeKey(int(row["source"]), row["value"], row["currency"])]
        cost.days[row["day"]] = row["amount"] or Decimal(0)
        cost.label = max(cost.label, row.get("label") or "")
    for cost in result.values():
        cost.label = strip_date_prefix(cost.label)
    return result


@dataclass(frozen=True)
class CausesBuild:
    """Cost of one scope by several dimensions at once, in the days of an anomaly and in the days before."""

    scope: Dimension
    key: ScopeKey
    days: DateRange
    dimensions: tuple[Dimension, ...]

    def __call__(self, table: Any) -> Any:
        conditions = [
            is_ordinary(table),
            table.source == str(self.key.source_id),
            self.scope.value(table).coalesce(self.scope.absent) == self.key.value,
            table.currency.coalesce(NO_CURRENCY) == self.key.currency,
        ]
        lines = table.filter(reduce(and_, conditions))
        keys, labels = dimension_columns(lines, self.dimensions)
        zero = ibis.literal(Decimal(0), type="decimal(38, 18)")
        inside = is_in_range(lines, self.days)
        cost = lines.effective_cost.coalesce(zero)
        selected = lines.select(
            **keys, **labels, actual=ibis.ifelse(inside, cost, zero), before=ibis.ifelse(inside, zero, cost)
        )
        sums = {name: selected[name].sum() for name in ("actual", "before")}
        return selected.group_by(list(keys)).aggregate(
            **sums, **{name: selected[name].max() for name in labels}
        )


@dataclass(frozen=True)
class Explanation:
    """Root causes of an anomaly; `overlaps`: excess by each other monitored dimension and value, as text."""

    causes: list[Causes]
    overlaps: dict[str, dict[str, str]]


class Explainer:
    """Queries the causes of anomalies of one monitored dimension; its dimensions are resolved once. `monitored`: all
    monitored dimensions, whose anomalies may include the same cost."""

    def __init__(self, reader: CostReader, name: str, monitored: Sequence[str] = ()) -> None:
        self.reader, self.name = reader, name
        self.others = tuple(each for each in monitored if each != name)

    @cached_property
    def scope(self) -> Dimension:
        """The monitored dimension. Raises UserError if it no longer exists."""
        return registry.resolve(self.reader.context, self.name, field="watches")

    @cached_property
    def cause_names(self) -> tuple[str, ...]:
        return CAUSE_DIMENSIONS if self.name == SERVICE else (SERVICE, *CAUSE_DIMENSIONS)

    @cached_property
    def dimensions(self) -> tuple[Dimension, ...]:
        """Dimensions of the causes, then the other monitored ones."""
        names = dict.fromkeys([*self.cause_names, *self.others])
        return tuple(registry.resolve(self.reader.context, name) for name in names)

    def explain(self, key: ScopeKey, detection: Detection, expected: Decimal) -> Explanation:
        """Return the causes by dimension, without dimensions that no line has a value of. One lake query."""
        build = CausesBuild(self.scope, key, DateRange(detection.first, detection.last), self.dimensions)
        tag_keys = [name for each in (self.scope, *self.dimensions) for name in each.tag_keys]
        days = DateRange(detection.first - BASELINE, detection.last)
        rows = self.reader.run(days, build, tag_keys).to_pylist()
        sides = [(each, _sides_by_value(rows, place)) for place, each in enumerate(self.dimensions)]
        return Explanation(
            causes=[
                causes_of(each.name, each.title, by_value, expected)
                for each, by_value in sides
                if each.name in self.cause_names and set(by_value) - {each.absent}
            ],
            overlaps={
                each.name: {
                    row.value: f"{row.excess:f}"
                    for row in causes_of(each.name, each.title, by_value, expected, shown=MAX_OVERLAPS).rows
                }
                for each, by_value in sides
                if each.name in self.others
            },
        )


def _sides_by_value(rows: Sequence[dict[str, Any]], place: int) -> dict[str, ValueSides]:
    sides: dict[str, ValueSides] = defaultdict(ValueSides)
    for row in rows:
        side = sides[row[f"key{place}"]]
        side.actual = exact_sum([side.actual, row["actual"]])
        side.before = exact_sum([side.before, row["before"]])
        side.label = max(side.label, row.get(f"label{place}") or "")
    for side in sides.values():
        side.label = strip_date_prefix(side.label)
    return sides


def impacts_in_scope(
    reader: CostReader, rows: Sequence[Anomaly], filters: tuple[ResolvedFilter, ...]
) -> dict[int, Decimal]:
    """Return by primary key of the anomaly how much the filtered cost changed in its days against the 28 days before,
    in the currency of the bill. Anomalies that it had no part in are left out. One lake query for each dimension of
    the rows."""
    impacts: dict[int, Decimal] = {}
    for name, own_rows in group_by(rows, lambda row: row.dimension).items():
        with currency_scope(None):
            costs = _costs_around(reader, name, own_rows, filters)
        for row in own_rows:
            cost = costs.get(ScopeKey(row.source_id, row.value, row.currency), DailyCost())
            impacts[row.pk] = _impact_in_scope(row, cost, reader.sources.coverage.first_day)
    return {
        row.pk: impacts[row.pk]
        for row in rows
        if (ratio(impacts[row.pk], row.impact) or Decimal(0)) >= MIN_SHARE
    }


def _costs_around(
    reader: CostReader, name: str, rows: Sequence[Anomaly], filters: tuple[ResolvedFilter, ...]
) -> dict[ScopeKey, DailyCost]:
    try:
        dimension = registry.resolve(reader.context, name)
    except UserError:
        return {}  # a cost tag that was deleted since
    days = DateRange(min(row.first_day for row in rows) - BASELINE, max(row.last_day for row in rows))
    return daily_costs(reader, dimension, days, filters)


def _impact_in_scope(row: Anomaly, cost: DailyCost, data_from: date | None) -> Decimal:
    start = max(row.first_day - BASELINE, data_from or date.min)
    earlier = cost.between(start, row.first_day - timedelta(days=1))
    now, days = cost.between(row.first_day, row.last_day), (row.last_day - row.first_day).days + 1
    return excess_over_mean(now, days, earlier, (row.first_day - start).days)
