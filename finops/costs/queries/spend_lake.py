"""The one expression behind `query_spend`, and the reading of its result. Pure: only the engine runs it.

Cost lines are summed by every key of the answer (groups, bucket, currency, charge category, part), with the groups
that are not listed folded into one. Few groups are ranked after a first sum; a dimension with very many values is
ranked first, by a separate scan, so that only listed groups are split by bucket and part (measured on 3 million lines
by resource and day: 1.3 s of processor time instead of 3.0; by service and month 0.8 instead of 0.6).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from functools import reduce
from itertools import repeat
from operator import and_, or_
from typing import Any, NamedTuple

import ibis
import pyarrow as pa

from finops.costs.comparison import SourceOverride
from finops.costs.dated_names import with_date_prefix
from finops.costs.dimensions import Dimension
from finops.costs.filters import ResolvedFilter, all_of
from finops.lake import ranking
from finops.lib.periods import DateRange, whole_months

NO_CURRENCY = "(none)"
"""The currency of lines without one; imports refuse such lines."""

COST_COLUMNS = {"billed": "billed_cost", "amortized": "effective_cost"}
UNITS = {"consumed_quantity": "consumed_unit", "pricing_quantity": "pricing_unit"}
NO_UNIT = "(no unit)"
TRUNCATIONS = {"day": "D", "week": "W", "month": "M"}

CREDITS, REFUNDS, TAX, ONE_TIME_FEES = "credits", "refunds", "tax", "one_time_fees"
PARTS = (CREDITS, REFUNDS, TAX, ONE_TIME_FEES)

ALL_GROUPS = 0
"""A `limit` that lists every group, unordered: `place` and `groups` of the sums have no meaning then."""

_NOTHING = Decimal(0)
_MEASURES = ("amount", "compared", "previous", "incomplete")
_PLACES = ("place", "groups")


@dataclass(frozen=True)
class SpendPlan:
    """All inputs of the expression. `categories` empty: all count. `basis` may also be a measure without a basis,
    list_cost or consumed_quantity: lines without it are left out, and a unit replaces the currency."""

    days: DateRange
    dimensions: tuple[Dimension, ...]
    filters: tuple[ResolvedFilter, ...]
    basis: str
    categories: tuple[str, ...]
    granularity: str
    limit: int
    order_by: str = "amount"
    """The order that decides which groups are listed; `change` needs a comparison."""
    compared: DateRange | None = None
    previous: DateRange | None = None
    source_overrides: tuple[SourceOverride, ...] = ()
    """Sources that pair other days of the comparison."""
    incomplete: tuple[tuple[int, date], ...] = ()
    """Sources with their first incomplete day."""
    ends: tuple[tuple[date, tuple[int, ...]], ...] = ()
    """Sources by their last complete day, where the sums distinguish them."""

    def counts(self, charge_category: str | None) -> bool:
        return not self.categories or charge_category in self.categories

    @property
    def ranges(self) -> list[DateRange]:
        if self.previous is None:
            return [self.days]
        earlier = [self.previous, *(each.previous for each in self.source_overrides if each.previous)]
        return [
            DateRange(min(each.start for each in earlier), max(each.end for each in earlier)),
            self.days,
        ]

    @property
    def compares_parts(self) -> bool:
        """Return whether a side of the comparison has partial months and so may miss monthly charges."""
        sides = [self.compared, self.previous]
        return any(side is not None and not whole_months(side) for side in sides)

    @property
    def ranks_first(self) -> bool:
        """Return whether there may be too many groups to split each by bucket and part."""
        return len(self.dimensions) > 1 or any(dimension.has_many_values for dimension in self.dimensions)

    @property
    def tag_keys(self) -> list[str]:
        dimensions = [*self.dimensions, *(item.dimension for item in self.filters)]
        return list(dict.fromkeys(key for dimension in dimensions for key in dimension.tag_keys))


def part_of(table: Any, amount: Any) -> Any:
    """Return the part of a total that a line belongs to, the first match; null for plain usage and recurring charges.

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


def is_counted(table: Any, categories: Sequence[str]) -> Any:
    """Whether a line counts in the view."""
    if not categories:
        return ibis.literal(True)
    return table.charge_category.isin(list(categories)).fill_null(False)


def is_in_range(table: Any, days: DateRange) -> Any:
    return table.charge_date.between(ibis.literal(days.start), ibis.literal(days.end))


@dataclass(frozen=True)
class SpendBuild:
    """`spend_expression` of a plan. Equal for equal questions, so that the lake compiles each shape once.

    Without a comparison the days are not included: the engine restricts them.
    """

    plan: SpendPlan

    @classmethod
    def of(cls, plan: SpendPlan) -> SpendBuild:
        return cls(plan if plan.previous else replace(plan, days=_ANY_DAYS))

    def __call__(self, table: Any) -> Any:
        return spend_expression(self.plan, table)


_ANY_DAYS = DateRange(date.min, date.max)


def spend_expression(plan: SpendPlan, table: Any) -> Any:
    """Return sums by listed group (null keys for the others), currency, bucket, charge category and part."""
    lines = _lines(plan, table)
    if not plan.dimensions or plan.limit == ALL_GROUPS:
        return _sums(plan, lines)
    if plan.ranks_first:
        return _sums(plan, _fold_rest(plan, lines))
    return _sums(plan, _fold_rest(plan, _sums(plan, lines)))


def _lines(plan: SpendPlan, table: Any) -> Any:
    """Return the lines of the requested days that pass the filters, with only the columns that the sums need."""
    # The engine already restricts the days to one range; only two ranges have a gap to exclude.
    conditions = [reduce(or_, [is_in_range(table, days) for days in plan.ranges])] if plan.previous else []
    conditions += all_of(table, plan.filters)
    column = COST_COLUMNS.get(plan.basis, plan.basis)
    if plan.basis not in COST_COLUMNS:
        conditions.append(table[column].notnull())
    lines = table.filter(reduce(and_, conditions)) if conditions else table
    amount = lines[column]
    return lines.select(
        "charge_category",
        currency=_unit(plan, lines),
        bucket=_bucket(plan, lines),
        part=part_of(lines, amount),
        **_end(plan, lines),
        **_lump(plan, lines),
        **_measures(plan, lines, amount.coalesce(_zero())),
        **_group_keys(plan, lines),
        **_labels(plan, lines),
    )


def _lump(plan: SpendPlan, lines: Any) -> dict[str, Any]:
    """The service of a charge that is not daily usage, for a comparison of partial months."""
    return {"lump": lump_service(lines)} if plan.compares_parts else {}


def lump_service(table: Any) -> Any:
    """Return the service of a charge that occurs once or monthly: tax, fees, subscriptions, seats; null for others. A
    daily fee is on both sides of a comparison, so it decides none."""
    regular = (table.charge_category == "Purchase") & (table.charge_frequency == "Recurring")
    once = table.charge_frequency == "One-Time"
    lump = (
        (table.charge_category == "Tax").fill_null(False) | regular.fill_null(False) | once.fill_null(False)
    )
    return ibis.ifelse(lump, table.service.coalesce(""), ibis.null("string"))


def _unit(plan: SpendPlan, lines: Any) -> Any:
    if plan.basis in UNITS:
        return lines[UNITS[plan.basis]].coalesce(NO_UNIT)
    return lines.currency.coalesce(NO_CURRENCY)


def _measures(plan: SpendPlan, lines: Any, amount: Any) -> dict[str, Any]:
    """Return the line's amount on each side of the comparison that includes its day (both are possible), and its
    amount on incomplete days."""
    measures = {"amount": amount}
    if plan.compared is not None and plan.previous is not None:
        sides = {
            "amount": is_in_range(lines, plan.days),
            "compared": is_on_side(
                lines, plan.compared, {each.source_id: each.current for each in plan.source_overrides}
            ),
            "previous": is_on_side(
                lines, plan.previous, {each.source_id: each.previous for each in plan.source_overrides}
            ),
        }
        measures = {name: ibis.ifelse(here, amount, _zero()) for name, here in sides.items()}
    if plan.incomplete:
        measures["incomplete"] = ibis.ifelse(
            is_incomplete(lines, plan.incomplete), measures["amount"], _zero()
        )
    return measures


def _end(plan: SpendPlan, lines: Any) -> dict[str, Any]:
    """Return the index of the plan's end for a line's source."""
    return {"end": end_of(lines, plan.ends)} if plan.ends else {}


def end_of(lines: Any, ends: Sequence[tuple[date, tuple[int, ...]]]) -> Any:
    """Return the index of the end for a line's source, -1 without one."""
    places = [
        (lines.source.isin([str(source) for source in sources]), place)
        for place, (_, sources) in enumerate(ends)
    ]
    return ibis.cases(*places, else_=-1)


def is_on_side(lines: Any, days: DateRange, source_overrides: Mapping[int, DateRange | None]) -> Any:
    """Return whether a line is on a side of a comparison: within its source's own days, else within `days`."""
    if not source_overrides:
        return is_in_range(lines, days)
    cases = [
        (lines.source == str(source), is_in_range(lines, own) if own else ibis.literal(False))
        for source, own in source_overrides.items()
    ]
    return ibis.cases(*cases, else_=is_in_range(lines, days))


def is_incomplete(lines: Any, incomplete: Sequence[tuple[int, date]]) -> Any:
    """Return whether a line is on an incomplete day of its source."""
    by_first: dict[date, list[str]] = {}
    for source, first in incomplete:
        by_first.setdefault(first, []).append(str(source))
    late = [
        lines.source.isin(sources) & (lines.charge_date >= ibis.literal(first))
        for first, sources in by_first.items()
    ]
    return reduce(or_, late).fill_null(False)


def _group_keys(plan: SpendPlan, lines: Any) -> dict[str, Any]:
    return {
        f"key{index}": dimension.value(lines).coalesce(dimension.absent)
        for index, dimension in enumerate(plan.dimensions)
    }


def _key_names(plan: SpendPlan) -> list[str]:
    return [f"key{index}" for index in range(len(plan.dimensions))]


def _labels(plan: SpendPlan, lines: Any) -> dict[str, Any]:
    return {
        f"label{index}": with_date_prefix(lines, dimension.label(lines))
        for index, dimension in enumerate(plan.dimensions)
        if dimension.label is not None
    }


def _bucket(plan: SpendPlan, lines: Any) -> Any:
    if plan.granularity == "none":
        return ibis.null("date")
    start = lines.charge_date.truncate(TRUNCATIONS[plan.granularity])
    if plan.previous is None:
        return start
    return ibis.ifelse(is_in_range(lines, plan.days), start, ibis.null("date"))


def _zero() -> Any:
    return ibis.literal(Decimal(0), type="decimal(38, 18)")


def _sums(plan: SpendPlan, rows: Any) -> Any:
    keys = [*_key_names(plan), "currency", "bucket", "charge_category", "part", "end", "lump"]
    return rows.group_by([name for name in [*keys, *_PLACES] if name in rows.columns]).aggregate(
        **_sum_measures(rows)
    )


def _sum_measures(rows: Any) -> dict[str, Any]:
    """Return the summed measures and the newest labels."""
    sums = {name: rows[name].sum() for name in _MEASURES if name in rows.columns}
    return {**sums, **{name: rows[name].max() for name in rows.columns if name.startswith("label")}}


def _fold_rest(plan: SpendPlan, rows: Any) -> Any:
    """Remove the keys of groups that are not listed; rows have the rank of their group."""
    listed = _largest_groups(plan, rows.filter(is_counted(rows, plan.categories)))
    return ranking.fold_rest(rows, listed, keys=_key_names(plan), within="currency")


def _largest_groups(plan: SpendPlan, rows: Any) -> Any:
    """Return the listed groups of each currency, by the larger of their absolute amounts (or by change)."""
    sizes = [rows[name].sum().abs() for name in ("amount", "previous") if name in rows.columns]
    size = ibis.greatest(*sizes)
    if plan.order_by == "change" and "previous" in rows.columns:
        size = (rows.compared.sum() - rows.previous.sum()).abs()
    totals = rows.group_by([*_key_names(plan), "currency"]).aggregate(size=size)
    return ranking.top_n(totals, plan.limit, size=totals["size"], keys=_key_names(plan), within="currency")


@dataclass(frozen=True)
class MissingMeasureBuild:
    """The cost of lines without a measure, by currency, in the plan's days and filters; the current days of a
    comparison only. Equal for equal questions."""

    measure: str
    filters: tuple[ResolvedFilter, ...]
    categories: tuple[str, ...]

    def __call__(self, table: Any) -> Any:
        conditions = [*all_of(table, self.filters), is_counted(table, self.categories)]
        lines = table.filter(reduce(and_, conditions) & table[self.measure].isnull())
        return lines.group_by(currency=lines.currency.coalesce(NO_CURRENCY)).aggregate(
            billed=lines.billed_cost.sum(), amortized=lines.effective_cost.sum()
        )


class SpendSum(NamedTuple):
    """The sum of the lines of one listed group, or of the rest (`keys` all None), in one currency, bucket, charge
    category and part. `labels` are names of ids prefixed with their day (`dated_names`). `place` is the group's rank
    from 0; `groups` the number in its currency, 0 for the rest.

    A tuple, because there can be 200,000: a frozen dataclass takes five times as long to create.
    """

    keys: tuple[str | None, ...]
    labels: tuple[str | None, ...]
    place: int
    groups: int
    currency: str
    bucket: date | None
    charge_category: str | None
    part: str | None
    amount: Decimal
    compared: Decimal
    previous: Decimal
    allocated: Decimal = _NOTHING
    """The part of the amount that a shared-cost split moved here."""
    incomplete: Decimal = _NOTHING
    """The part of the amount on incomplete days."""
    end: int = -1
    """The index of the sources' end in the plan."""
    lump: str | None = None
    """The service of charges that occur once or monthly, in a comparison of partial months."""


def read_sums(plan: SpendPlan, table: pa.Table) -> list[SpendSum]:
    """Return `spend_expression`'s result as typed rows. By column: a dictionary per row takes three times as long."""
    count, names = table.num_rows, set(table.column_names)

    def column(name: str, default: Any = None) -> list[Any]:
        return table[name].to_pylist() if name in names else list(repeat(default, count))

    def tuples(prefix: str) -> Iterable[tuple[Any, ...]]:
        columns = [column(f"{prefix}{index}") for index in range(len(plan.dimensions))]
        return zip(*columns, strict=True) if columns else repeat((), count)

    groups = [number or 0 for number in column("groups", 0)]
    places = [place if number else plan.limit for place, number in zip(column("place"), groups, strict=True)]
    rows = zip(
        tuples("key"),
        tuples("label"),
        places,
        groups,
        *(table[name].to_pylist() for name in ("currency", "bucket", "charge_category", "part", "amount")),
        column("compared", _NOTHING),
        column("previous", _NOTHING),
        repeat(_NOTHING, count),
        column("incomplete", _NOTHING),
        column("end", -1),
        column("lump"),
        strict=True,
    )
    return list(map(SpendSum._make, rows))
