"""The cost that anomalies are looked for in: amortized, without taxes, credits, refunds, one-time fees and commitment
purchases, by day, source and one dimension."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from functools import reduce
from operator import and_
from typing import Any

import ibis

from accounts.models import Account
from finops.costs.dated_names import strip_date_prefix, with_date_prefix
from finops.costs.dimensions import Dimension
from finops.costs.filters import ResolvedFilter, all_of
from finops.costs.queries.spend_lake import NO_CURRENCY, TAX, is_in_range, part_of
from finops.insights.anomalies.causes import ValueSides
from finops.lake.engine import engine
from finops.lake.schema import Kind
from finops.lake.storage.manifest import Manifest
from finops.lib.money import exact_sum
from finops.lib.periods import DateRange


@dataclass(frozen=True)
class ScopeKey:
    """What a series is of."""

    source_id: int
    value: str
    currency: str


@dataclass
class DailyCost:
    """The exact cost of one scope on the days that have lines."""

    days: dict[date, Decimal] = field(default_factory=dict)
    label: str = ""


def is_ordinary(table: Any) -> Any:
    """Whether a line is of what was used, or bought month by month."""
    bought = (table.charge_category == "Purchase") & table.commitment_id.notnull()
    part = part_of(table, table.effective_cost)
    return part.isnull() & ~bought.fill_null(False) & (table.charge_category != TAX).fill_null(True)


@dataclass(frozen=True)
class DailyBuild:
    """Sums by source, value, currency and day. Equal for equal questions, so that the lake compiles each once."""

    dimension: Dimension
    filters: tuple[ResolvedFilter, ...] = ()

    def __call__(self, table: Any) -> Any:
        lines = table.filter(reduce(and_, [is_ordinary(table), *all_of(table, self.filters)]))
        label = (
            {}
            if self.dimension.label is None
            else {"label": with_date_prefix(lines, self.dimension.label(lines))}
        )
        selected = lines.select(
            source=lines.source,
            value=self.dimension.value(lines).coalesce(self.dimension.absent),
            currency=lines.currency.coalesce(NO_CURRENCY),
            day=lines.charge_date,
            amount=lines.effective_cost,
            **label,
        )
        sums = {"amount": selected.amount.sum(), **({"label": selected.label.max()} if label else {})}
        return selected.group_by(["source", "value", "currency", "day"]).aggregate(**sums)


def daily_costs(
    account: Account,
    dimension: Dimension,
    days: DateRange,
    *,
    manifest: Manifest,
    deadline: float | None,
    filters: tuple[ResolvedFilter, ...] = (),
) -> dict[ScopeKey, DailyCost]:
    """Every scope of the account over these days, of the lines that pass the filters. One lake query."""
    used = [dimension, *(item.dimension for item in filters)]
    table = engine.run(
        account,
        Kind.COST,
        days.start,
        days.end,
        DailyBuild(dimension, filters),
        tag_keys=list(dict.fromkeys(key for each in used for key in each.tag_keys)),
        allow_rollups=True,
        manifest=manifest,
        deadline=deadline,
    )
    result: dict[ScopeKey, DailyCost] = {}
    for row in table.to_pylist():
        cost = result.setdefault(ScopeKey(int(row["source"]), row["value"], row["currency"]), DailyCost())
        cost.days[row["day"]] = row["amount"] or Decimal(0)
        cost.label = max(cost.label, row.get("label") or "")
    for cost in result.values():
        cost.label = strip_date_prefix(cost.label)
    return result


@dataclass(frozen=True)
class CausesBuild:
    """What one scope cost by several dimensions at once, in the days of an anomaly and in those before it."""

    scope: Dimension
    source_id: int
    value: str
    currency: str
    days: DateRange
    dimensions: tuple[Dimension, ...]

    def __call__(self, table: Any) -> Any:
        value = self.scope.value(table).coalesce(self.scope.absent)
        lines = table.filter(
            reduce(
                and_,
                [
                    is_ordinary(table),
                    table.source == str(self.source_id),
                    value == self.value,
                    table.currency.coalesce(NO_CURRENCY) == self.currency,
                ],
            )
        )
        keys = {
            f"key{at}": each.value(lines).coalesce(each.absent) for at, each in enumerate(self.dimensions)
        }
        labels = {
            f"label{at}": with_date_prefix(lines, each.label(lines))
            for at, each in enumerate(self.dimensions)
            if each.label is not None
        }
        zero = ibis.literal(Decimal(0), type="decimal(38, 18)")
        inside = is_in_range(lines, self.days)
        cost = lines.effective_cost.coalesce(zero)
        selected = lines.select(
            **keys,
            **labels,
            actual=ibis.ifelse(inside, cost, zero),
            before=ibis.ifelse(inside, zero, cost),
        )
        sums = {name: selected[name].sum() for name in ("actual", "before")}
        return selected.group_by(list(keys)).aggregate(
            **sums, **{name: selected[name].max() for name in labels}
        )


def cause_sides(
    account: Account, build: CausesBuild, before: DateRange, *, manifest: Manifest, deadline: float
) -> list[dict[str, ValueSides]]:
    """For each dimension, what its values cost during and before. One lake query."""
    keys = dict.fromkeys(key for each in (build.scope, *build.dimensions) for key in each.tag_keys)
    table = engine.run(
        account,
        Kind.COST,
        before.start,
        build.days.end,
        build,
        tag_keys=list(keys),
        allow_rollups=True,
        manifest=manifest,
        deadline=deadline,
    )
    rows = table.to_pylist()
    return [_sides_by_value(rows, place) for place in range(len(build.dimensions))]


def _sides_by_value(rows: Sequence[Mapping[str, Any]], place: int) -> dict[str, ValueSides]:
    sides: dict[str, ValueSides] = {}
    for row in rows:
        side = sides.setdefault(row[f"key{place}"], ValueSides())
        side.actual = exact_sum([side.actual, row["actual"]])
        side.before = exact_sum([side.before, row["before"]])
        side.label = max(side.label, row.get(f"label{place}") or "")
    for side in sides.values():
        side.label = strip_date_prefix(side.label)
    return sides
