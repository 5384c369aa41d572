"""Spread charges of several days, such as tax, support and seats, evenly over the days of their charge period.

A line's amount over n days is amount ÷ n a day, truncated after 18 places; its last day has the rest, so that its
days add up to the line to the last digit, however they are grouped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import ROUND_DOWN, Context, Decimal
from functools import reduce
from operator import and_
from typing import Any, Final, NamedTuple

import ibis

from accounts.models import Account
from finops.costs.answers import MoneyAmount
from finops.costs.dated_names import with_date_prefix
from finops.costs.filters import all_of
from finops.costs.queries.spend_lake import COST_COLUMNS, NO_CURRENCY, SpendPlan, SpendSum, part_of
from finops.lake.engine import engine
from finops.lake.schema import Kind
from finops.lake.storage.manifest import Manifest
from finops.lib.errors import UserError
from finops.lib.money import MONEY_SCALE, exact_difference, exact_sum
from finops.lib.periods import DateRange, bucket_start, next_bucket

MAX_DAYS: Final = 366
"""The maximum of days. A longer charge, such as a three-year upfront fee, is not spread: amortized cost does that."""

MAX_LINES: Final = 20_000
LONG_HOURS: Final = 36
"""The length in hours above which a charge covers several days; a day of 25 hours is one day."""

_STEP: Final = Decimal(1).scaleb(-MONEY_SCALE)
_WIDE: Final = Context(prec=60, rounding=ROUND_DOWN)
_EXACT: Final = Context(prec=60)
_NOTHING: Final = Decimal(0)


@dataclass(frozen=True)
class ChargeSpread:
    """`moves` are added to a plan's sums: each long charge leaves its day and goes to the days of its period.
    `change` is the effect on the plan's total in each currency."""

    moves: list[SpendSum] = field(default_factory=list)
    change: list[MoneyAmount] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


NOTHING_LONG = (
    "spread had no effect: no charge of these days covers more than one day, or ChargePeriodEnd is "
    "missing (import older bills again)."
)
TOO_LONG = "Charges of more than 366 days stay on their charge day; basis amortized spreads them."


def spread_of(
    account: Account, plan: SpendPlan, deadline: float | None, manifest: Manifest | None
) -> ChargeSpread:
    """Return what spreading changes in a plan of all groups. Cost: one lake query over its days and the year before,
    of the lines' own files, as summaries have no charge periods. Raises UserError when there are very many long
    charges."""
    first = min(days.start for days in plan.ranges) - timedelta(days=MAX_DAYS)
    last = max(days.end for days in plan.ranges)
    table = engine.run(
        account,
        Kind.COST,
        first,
        last,
        _LongBuild(plan.dimensions, plan.filters, plan.basis),
        tag_keys=plan.tag_keys,
        manifest=manifest,
        deadline=deadline,
    )
    if table.num_rows > MAX_LINES:
        raise UserError(
            f"{table.num_rows:,} charges of several days exceed the maximum of {MAX_LINES:,} for "
            "spread. Filter, or use fewer days.",
            field="spread",
        )
    lines = [_read_line(row, len(plan.dimensions)) for row in table.to_pylist()]
    possible = [line for line in lines if 1 < line.days <= MAX_DAYS]
    moves = [move for line in possible for move in _moves(plan, line)]
    warnings = [] if moves else [NOTHING_LONG]
    if len(possible) < len(lines):
        warnings.append(TOO_LONG)
    return ChargeSpread(moves, _change(plan, moves), warnings)


@dataclass(frozen=True)
class _LongBuild:
    """Charges of several days by group, day, period and amount, with the number of each. Equal charges are spread
    equally, so the days of each add up to it."""

    dimensions: tuple[Any, ...]
    filters: tuple[Any, ...]
    basis: str

    def __call__(self, table: Any) -> Any:
        long = table.charge_period_end >= table.charge_period_start + ibis.interval(hours=LONG_HOURS)
        lines = table.filter(reduce(and_, [long.fill_null(False), *all_of(table, self.filters)]))
        amount = lines[COST_COLUMNS[self.basis]]
        labels = {
            f"label{at}": with_date_prefix(lines, each.label(lines))
            for at, each in enumerate(self.dimensions)
            if each.label is not None
        }
        rows = lines.select(
            "charge_date",
            "charge_period_start",
            "charge_period_end",
            "charge_category",
            "source",
            currency=lines.currency.coalesce(NO_CURRENCY),
            part=part_of(lines, amount),
            amount=amount.coalesce(ibis.literal(Decimal(0), type="decimal(38, 18)")),
            **{
                f"key{at}": each.value(lines).coalesce(each.absent) for at, each in enumerate(self.dimensions)
            },
            **labels,
        )
        rows = rows.filter(rows.amount != 0)
        keys = [name for name in rows.columns if not name.startswith("label")]
        return rows.group_by(keys).aggregate(
            lines=rows.count(), **{name: rows[name].max() for name in labels}
        )


class _Line(NamedTuple):
    """A number of equal charges of `amount` each, over `days` days from `start`."""

    keys: tuple[str | None, ...]
    labels: tuple[str | None, ...]
    currency: str
    charge_category: str | None
    part: str | None
    source: str
    start: date
    days: int
    amount: Decimal
    lines: int


def _read_line(row: dict[str, Any], width: int) -> _Line:
    return _Line(
        keys=tuple(row[f"key{at}"] for at in range(width)),
        labels=tuple(row.get(f"label{at}") for at in range(width)),
        currency=row["currency"],
        charge_category=row["charge_category"],
        part=row["part"],
        source=row["source"],
        start=row["charge_date"],
        days=days_between(row["charge_period_start"], row["charge_period_end"]),
        amount=row["amount"],
        lines=row["lines"],
    )


def days_between(start: datetime, end: datetime) -> int:
    """Return the whole days of a charge period; a daylight saving change makes no difference."""
    return max(1, (end - start + timedelta(hours=12)).days)


def amount_in_range(line_amount: Decimal, start: date, days: int, period: DateRange) -> Decimal:
    """Return the part of a charge over `days` days from `start` that is within the requested days. Exact."""
    last = start + timedelta(days=days - 1)
    first_inside, last_inside = max(start, period.start), min(last, period.end)
    inside = (last_inside - first_inside).days + 1
    if inside <= 0:
        return _NOTHING
    daily = _WIDE.divide(line_amount, Decimal(days)).quantize(_STEP, context=_WIDE)
    if last_inside < last:
        return _WIDE.multiply(daily, Decimal(inside))
    return exact_difference(line_amount, _WIDE.multiply(daily, Decimal(days - inside)))


def _moves(plan: SpendPlan, line: _Line) -> Iterator[SpendSum]:
    """Return the moves: the charge leaves its own day, and each bucket and side gets its share."""
    period = DateRange(line.start, line.start + timedelta(days=line.days - 1))
    if not any(_common(period, days) for days in plan.ranges):
        return
    sides = _sides(plan, line.source)
    for bucket, here in _buckets(plan, period):
        amounts = {
            name: _moved_amount(line, _common(days, here)) if days else _NOTHING
            for name, days in sides.items()
        }
        if any(amounts.values()):
            yield SpendSum(
                keys=line.keys,
                labels=line.labels,
                place=0,
                groups=0,
                currency=line.currency,
                bucket=bucket,
                charge_category=line.charge_category,
                part=line.part,
                amount=amounts["amount"],
                compared=amounts["compared"],
                previous=amounts["previous"],
                incomplete=amounts["incomplete"],
            )


def _moved_amount(line: _Line, days: DateRange | None) -> Decimal:
    """Return the share of these days, minus the original charge if its own day is one of them."""
    if days is None:
        return _NOTHING
    share = amount_in_range(line.amount, line.start, line.days, days)
    charged = line.amount if days.start <= line.start <= days.end else _NOTHING
    return _EXACT.multiply(exact_difference(share, charged), Decimal(line.lines))


def _common(one: DateRange, other: DateRange) -> DateRange | None:
    start, end = max(one.start, other.start), min(one.end, other.end)
    return DateRange(start, end) if start <= end else None


def _sides(plan: SpendPlan, source: str) -> dict[str, DateRange | None]:
    """Return the days of each measure of a sum: the plan's, both sides of the source's comparison, incomplete ones."""
    own = next((each for each in plan.source_overrides if str(each.source_id) == source), None)
    late = next((first for source_id, first in plan.incomplete if str(source_id) == source), None)
    incomplete = (
        DateRange(max(late, plan.days.start), plan.days.end) if late and late <= plan.days.end else None
    )
    return {
        "amount": plan.days,
        "compared": own.current if own else plan.compared,
        "previous": own.previous if own else plan.previous,
        "incomplete": incomplete,
    }


def _buckets(plan: SpendPlan, period: DateRange) -> Iterator[tuple[date | None, DateRange]]:
    """Return the buckets that overlap the period; None for days outside of all buckets."""
    if plan.granularity == "none":
        yield None, DateRange(date.min, date.max)
        return
    inside = _common(plan.days, period)
    if inside is not None:
        start = bucket_start(plan.granularity, inside.start)
        while start <= inside.end:
            following = next_bucket(plan.granularity, start)
            yield (
                start,
                DateRange(max(start, plan.days.start), min(following - timedelta(days=1), plan.days.end)),
            )
            start = following
    if plan.previous is not None:
        if period.start < plan.days.start:
            yield None, DateRange(date.min, plan.days.start - timedelta(days=1))
        if period.end > plan.days.end:
            yield None, DateRange(plan.days.end + timedelta(days=1), date.max)


def _change(plan: SpendPlan, moves: Sequence[SpendSum]) -> list[MoneyAmount]:
    counted = [move for move in moves if plan.counts(move.charge_category)]
    currencies = sorted({move.currency for move in counted})
    return [
        MoneyAmount(
            amount=exact_sum(move.amount for move in counted if move.currency == currency), currency=currency
        )
        for currency in currencies
    ]
