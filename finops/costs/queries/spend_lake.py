"""The one expression behind `query_spend`, and reading its result. Pure: only the engine runs it.

Cost lines are first summed by everything that the answer tells apart (groups, bucket, currency, charge category,
part). From those sums, which are few, come two things in one statement: the listed groups with the rest folded into
one, and the parts of each currency's total.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import reduce
from operator import and_, or_
from typing import Any

import ibis
import pyarrow as pa

from finops.costs.dimensions import Dimension
from finops.costs.filters import ResolvedFilter, all_of
from finops.lib.periods import DateRange

NO_CURRENCY = "(none)"
"""What a line without a currency is counted in; imports refuse such lines."""

COST_COLUMNS = {"billed": "billed_cost", "amortized": "effective_cost"}
TRUNCATIONS = {"day": "D", "week": "W", "month": "M"}

CREDITS, REFUNDS, TAX, ONE_TIME_FEES = "credits", "refunds", "tax", "one_time_fees"
PARTS = (CREDITS, REFUNDS, TAX, ONE_TIME_FEES)

_ROWS, _PARTS = "rows", "parts"
_MEASURES = ("amount", "compared", "previous")


@dataclass(frozen=True)
class SpendPlan:
    """Everything that decides the expression. `categories` empty: all count."""

    days: DateRange
    dimensions: tuple[Dimension, ...]
    filters: tuple[ResolvedFilter, ...]
    basis: str
    categories: tuple[str, ...]
    granularity: str
    top: int
    compared: DateRange | None = None
    previous: DateRange | None = None

    @property
    def ranges(self) -> list[DateRange]:
        return [self.days] if self.previous is None else [self.previous, self.days]

    @property
    def tag_keys(self) -> list[str]:
        used = [*self.dimensions, *(item.dimension for item in self.filters)]
        return list(dict.fromkeys(key for dimension in used for key in dimension.tag_keys))


def part_of(table: Any, amount: Any) -> Any:
    """Which part of a total a line is, the first that fits; null for plain usage and recurring charges.

    A refund is a negative line that corrects an earlier bill (ChargeClass Correction) or adjusts this one.
    """
    correcting = (table.charge_category == "Adjustment") | (table.charge_class == "Correction")
    return ibis.cases(
        (table.charge_category == "Credit", CREDITS),
        (table.charge_category == "Tax", TAX),
        (correcting & (amount < 0), REFUNDS),
        (table.charge_frequency == "One-Time", ONE_TIME_FEES),
        else_=ibis.null("string"),
    )


def counts(table: Any, categories: Sequence[str]) -> Any:
    """Whether a line counts in the view."""
    if not categories:
        return ibis.literal(True)
    return table.charge_category.isin(list(categories)).fill_null(False)


def within(table: Any, days: DateRange) -> Any:
    return table.charge_date.between(ibis.literal(days.start), ibis.literal(days.end))


def spend_expression(plan: SpendPlan, table: Any) -> Any:
    """Rows of two kinds (column `kind`): sums of listed groups by bucket, and parts of totals."""
    sums = _sums(plan, table)
    return ibis.union(_group_rows(plan, sums), _part_rows(plan, sums))


def _sums(plan: SpendPlan, table: Any) -> Any:
    lines = _lines(plan, table)
    keys = [*_key_names(plan), "currency", "bucket", "charge_category", "part"]
    labels = {name: lines[name].max() for name in lines.columns if name.startswith("label")}
    return lines.group_by(keys).aggregate(**_measures(plan, lines), **labels)


def _lines(plan: SpendPlan, table: Any) -> Any:
    """The lines of the asked days that pass the filters, with only the columns that the sums need."""
    chosen = reduce(or_, [within(table, days) for days in plan.ranges])
    lines = table.filter(reduce(and_, all_of(table, plan.filters), chosen))
    amount = lines[COST_COLUMNS[plan.basis]]
    return lines.select(
        "charge_date",
        "charge_category",
        currency=lines.currency.coalesce(NO_CURRENCY),
        bucket=_bucket(plan, lines),
        part=part_of(lines, amount),
        amount=amount.coalesce(_zero()),
        **_group_keys(plan, lines),
        **_labels(plan, lines),
    )


def _group_keys(plan: SpendPlan, lines: Any) -> dict[str, Any]:
    return {
        f"key{index}": dimension.value(lines).coalesce(dimension.absent)
        for index, dimension in enumerate(plan.dimensions)
    }


def _key_names(plan: SpendPlan) -> list[str]:
    return [f"key{index}" for index in range(len(plan.dimensions))]


def _labels(plan: SpendPlan, lines: Any) -> dict[str, Any]:
    return {
        f"label{index}": dimension.label(lines)
        for index, dimension in enumerate(plan.dimensions)
        if dimension.label is not None
    }


def _bucket(plan: SpendPlan, lines: Any) -> Any:
    if plan.granularity == "none":
        return ibis.null("date")
    start = lines.charge_date.truncate(TRUNCATIONS[plan.granularity])
    if plan.previous is None:
        return start
    return ibis.ifelse(within(lines, plan.days), start, ibis.null("date"))


def _measures(plan: SpendPlan, lines: Any) -> dict[str, Any]:
    if plan.compared is None or plan.previous is None:
        return {"amount": lines.amount.sum(), "compared": _zero(), "previous": _zero()}
    ranges = zip(_MEASURES, (plan.days, plan.compared, plan.previous), strict=True)
    return {name: lines.amount.sum(where=within(lines, days)).coalesce(_zero()) for name, days in ranges}


def _zero() -> Any:
    return ibis.literal(Decimal(0), type="decimal(38, 18)")


def _group_rows(plan: SpendPlan, sums: Any) -> Any:
    counted = sums.filter(counts(sums, plan.categories))
    if not plan.dimensions:
        return _shaped(counted.mutate(place=ibis.literal(0, "int64"), ranks=ibis.literal(0, "int64")), plan)
    ranked = _ranked(plan, counted)
    keys = [*_key_names(plan), "currency"]
    joined = counted.inner_join(ranked, keys)
    listed = joined.place < plan.top
    folded = {name: ibis.ifelse(listed, joined[name], ibis.null("string")) for name in _key_names(plan)}
    place = ibis.ifelse(listed, joined.place, ibis.literal(plan.top, "int64"))
    return _shaped(joined.mutate(ranks=joined.place, place=place, **folded), plan)


def _ranked(plan: SpendPlan, counted: Any) -> Any:
    """Each group's place in its currency, by the larger of its amounts whatever the sign; ties by name."""
    totals = counted.group_by([*_key_names(plan), "currency"]).aggregate(
        size=ibis.greatest(counted.amount.sum().abs(), counted.previous.sum().abs())
    )
    order = [totals["size"].desc(), *(totals[name] for name in _key_names(plan))]
    window = ibis.window(group_by=totals.currency, order_by=order)
    return totals.select(*_key_names(plan), "currency", place=ibis.row_number().over(window))


_SHAPE = {
    "kind": "string",
    "key0": "string",
    "key1": "string",
    "label0": "string",
    "label1": "string",
    "place": "int64",
    "groups": "int64",
    "currency": "string",
    "bucket": "date",
    "charge_category": "string",
    "part": "string",
    **dict.fromkeys(_MEASURES, "decimal(38, 18)"),
}


def _shaped(rows: Any, plan: SpendPlan) -> Any:
    keys = [*_key_names(plan), "place", "currency", "bucket"]
    labels = {name: rows[name].max() for name in rows.columns if name.startswith("label")}
    summed = rows.group_by(keys).aggregate(
        groups=rows.ranks.max() + 1, **labels, **{name: rows[name].sum() for name in _MEASURES}
    )
    return _aligned(summed, _ROWS)


def _part_rows(plan: SpendPlan, sums: Any) -> Any:
    parts = sums.group_by(["currency", "charge_category", "part"]).aggregate(
        **{name: sums[name].sum() for name in _MEASURES}
    )
    return _aligned(parts, _PARTS)


def _aligned(rows: Any, kind: str) -> Any:
    """The same columns in the same order for both kinds, so that they fit one result."""
    columns = {
        name: rows[name].cast(dtype) if name in rows.columns else ibis.null(dtype)
        for name, dtype in _SHAPE.items()
        if name != "kind"
    }
    return rows.select(kind=ibis.literal(kind), **columns)


@dataclass(frozen=True)
class GroupSum:
    """A listed group, or the rest (`keys` all None), in one bucket and currency."""

    keys: tuple[str | None, ...]
    labels: tuple[str | None, ...]
    place: int
    groups: int
    currency: str
    bucket: date | None
    amount: Decimal
    compared: Decimal
    previous: Decimal


@dataclass(frozen=True)
class PartSum:
    """What one charge category and part add up to in one currency."""

    currency: str
    charge_category: str | None
    part: str | None
    amount: Decimal


@dataclass(frozen=True)
class SpendSums:
    groups: list[GroupSum]
    parts: list[PartSum]


def read_sums(plan: SpendPlan, table: pa.Table) -> SpendSums:
    """The result of `spend_expression` as typed rows."""
    width = len(plan.dimensions)
    groups, parts = [], []
    for row in table.to_pylist():
        if row["kind"] == _PARTS:
            parts.append(
                PartSum(row["currency"], row["charge_category"], row["part"], row["amount"] or Decimal(0))
            )
        else:
            groups.append(_group_sum(row, width))
    return SpendSums(groups, parts)


def _group_sum(row: dict[str, Any], width: int) -> GroupSum:
    return GroupSum(
        keys=tuple(row[f"key{index}"] for index in range(width)),
        labels=tuple(row[f"label{index}"] for index in range(width)),
        place=row["place"],
        groups=row["groups"],
        currency=row["currency"],
        bucket=row["bucket"],
        amount=row["amount"] or Decimal(0),
        compared=row["compared"] or Decimal(0),
        previous=row["previous"] or Decimal(0),
    )
