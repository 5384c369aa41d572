"""Derived change events, made of figures. Pure. docs/change-events.md has the rules; each keeps noise out by an amount."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Final

from finops.change_events.services.derivation import DerivedEvent
from finops.costs.focus.report import MonthChange
from finops.insights.derived_events.lake import CommitmentDays, DayCosts, PriceDays, ValueKey
from finops.lib.answers import group_by
from finops.lib.money import exact_difference, exact_sum, ratio
from finops.lib.periods import DateRange
from finops.lib.sentences import money, truncate

LEARNING_DAYS: Final = 28
"""A source's first days: what begins in them may have been there before."""
LATE_DAYS: Final = 3
"""A commitment whose last line is so near to the source's last complete day may go on."""
COST_DAYS: Final = 30
SHARE: Final = Decimal("0.001")
LEAST: Final = Decimal(1)
"""Noise: less than SHARE of what the account cost in the same 30 days, or than one unit of the currency."""
RESTATED_SHARE: Final = Decimal("0.001")
MAX_A_MONTH: Final = 10
"""Of a kind in a month, the largest."""
_NAME: Final = 80


@dataclass(frozen=True)
class SourcePeriod:
    """What is known of a source: its name, first day, and last complete one."""

    name: str
    first_day: date
    complete_through: date


Sources = Mapping[int, SourcePeriod]


def new_values(
    dimension: str,
    firsts: Mapping[ValueKey, date],
    sources: Sources,
    costs: Mapping[ValueKey, DayCosts],
    whole: DayCosts,
) -> list[DerivedEvent]:
    """New services or regions: the first day with cost of a source that had other cost for LEARNING_DAYS before."""
    events = []
    for key, day in firsts.items():
        source = sources.get(key.source_id)
        if source is None or day < source.first_day + timedelta(days=LEARNING_DAYS):
            continue
        amount, currency = _largest(costs.get(key, {}), day)
        if not _matters(amount, _sum_since(whole.get(currency, {}), day)):
            continue
        days = min((source.complete_through - day).days + 1, COST_DAYS)
        span = f"first {days} days" if days > 1 else "first day"
        events.append(
            DerivedEvent(
                key=("new", dimension, source.name, key.value),
                day=day,
                kind="change",
                title=f"New {dimension}: {truncate(key.value, _NAME)}, {money(amount, currency)} in the {span}",
                scope={dimension: [key.value], "source": [source.name]},
                weight=amount.copy_abs(),
            )
        )
    return _largest_of_month(events)


def new_value_days(firsts: Mapping[ValueKey, date], sources: Sources) -> list[ValueKey]:
    """Those that may be new, the last first: their cost is still to be read."""
    keys = [
        key
        for key, day in firsts.items()
        if (source := sources.get(key.source_id)) and day >= source.first_day + timedelta(days=LEARNING_DAYS)
    ]
    return sorted(keys, key=lambda key: (firsts[key], key.value, key.source_id), reverse=True)


def commitment_events(
    rows: Sequence[CommitmentDays], sources: Sources, days: DateRange
) -> list[DerivedEvent]:
    """Begins: its first line, after the source's first days; ends: its last, before the source's last complete day."""
    events = []
    for (source_id, name), own in group_by(rows, lambda row: (row.source_id, row.commitment)).items():
        source = sources.get(source_id)
        if source is None:
            continue
        first, last = min(row.first_day for row in own), max(row.last_day for row in own)
        # A commitment of several currencies has a row of each.
        weight = max(row.cost.copy_abs() for row in own)
        newest = max(own, key=lambda row: (row.name != name, row.last_day, row.name))
        label = truncate(newest.name, _NAME)
        scope = {"commitment": [name], "source": [source.name]}
        if first > max(source.first_day, days.start):
            events.append(
                DerivedEvent(
                    key=("commitment begins", source.name, name),
                    day=first,
                    kind="purchase",
                    title=f"Commitment begins: {label}",
                    scope=scope,
                    weight=weight,
                )
            )
        if last < source.complete_through - timedelta(days=LATE_DAYS):
            events.append(
                DerivedEvent(
                    key=("commitment ends", source.name, name),
                    day=last,
                    kind="change",
                    title=f"Commitment ends: {label}",
                    scope=scope,
                    weight=weight,
                )
            )
    return _largest_of_month(events)


def price_events(rows: Sequence[PriceDays], sources: Sources, whole: DayCosts) -> list[DerivedEvent]:
    """From one list price to the next on days that do not overlap: tiers have several prices at once, and are none."""
    events = []
    for own in group_by(rows, lambda row: row.key).values():
        ordered = sorted(own, key=lambda row: row.first_day)
        if any(before.last_day >= after.first_day for before, after in pairwise(ordered)):
            continue
        for before, after in pairwise(ordered):
            source = sources.get(after.source_id)
            share = ratio(exact_difference(after.price, before.price), before.price)
            if source is None or share is None:
                continue
            if not _matters(after.cost, _sum_since(whole.get(after.currency, {}), after.first_day)):
                continue
            prices = f"{before.price.normalize():f} → {after.price.normalize():f} {after.currency}"
            unit = f" per {after.unit}" if after.unit else ""
            events.append(
                DerivedEvent(
                    key=("price", *map(str, after.key), str(after.price.normalize())),
                    day=after.first_day,
                    kind="change",
                    title=f"Price {share * 100:+.1f}%: {truncate(after.service, 60)} {truncate(after.sku, 40)}, {prices}{unit}",
                    scope={"sku": [after.sku], "service": [after.service], "source": [source.name]},
                    weight=after.cost.copy_abs(),
                )
            )
    return _largest_of_month(events)


@dataclass(frozen=True)
class ImportedMonths:
    """What an import that is done changed of months."""

    import_id: int
    source: str
    day: date
    actor: str
    changes: Sequence[MonthChange]


def restated_months(imports: Iterable[ImportedMonths]) -> list[DerivedEvent]:
    """Months before that of the import whose billed or amortized cost an import changed by RESTATED_SHARE or more, and by one
    unit of the currency. What is the first import of a month, or of the month under way, restates nothing."""
    events = []
    for each in imports:
        for change in each.changes:
            if change.month >= f"{each.day:%Y-%m}" or not change.rows_before or each.day.day < 3:
                continue
            billed = exact_difference(change.billed_after, change.billed_before)
            amortized = exact_difference(change.effective_after, change.effective_before)
            moved, before, words = (
                (billed, change.billed_before, "billed")
                if billed.copy_abs() >= amortized.copy_abs()
                else (amortized, change.effective_before, "amortized")
            )
            if moved.copy_abs() < max(LEAST, before.copy_abs() * RESTATED_SHARE):
                continue
            sign = "+" if moved > 0 else "−"
            events.append(
                DerivedEvent(
                    key=("restated", str(each.import_id), change.month, change.currency),
                    day=each.day,
                    kind="change",
                    title=(
                        f"{change.month} restated: {truncate(each.source, _NAME)}, "
                        f"{sign}{money(moved.copy_abs(), change.currency)} {words}"
                    ),
                    actor=each.actor,
                    scope={"source": [each.source]},
                    weight=moved.copy_abs(),
                )
            )
    return _largest_of_month(events)


def _largest(costs: DayCosts, first: date) -> tuple[Decimal, str]:
    """The currency with most cost in the COST_DAYS from the first day on, and that."""
    sums = [(_sum_since(days, first), currency) for currency, days in costs.items()]
    return max(sums, key=lambda pair: (pair[0].copy_abs(), pair[1]), default=(Decimal(0), ""))


def _sum_since(days: Mapping[date, Decimal], first: date) -> Decimal:
    end = first + timedelta(days=COST_DAYS)
    return exact_sum(amount for day, amount in days.items() if first <= day < end)


def _matters(amount: Decimal, whole: Decimal) -> bool:
    return amount.copy_abs() >= max(LEAST, whole.copy_abs() * SHARE)


def _largest_of_month(events: Collection[DerivedEvent]) -> list[DerivedEvent]:
    by_month: dict[tuple[str, int, int], list[DerivedEvent]] = defaultdict(list)
    for event in events:
        by_month[(event.key[0], event.day.year, event.day.month)].append(event)
    return [
        event
        for own in by_month.values()
        for event in sorted(own, key=lambda each: (-each.weight, each.key))[:MAX_A_MONTH]
    ]
