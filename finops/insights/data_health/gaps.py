"""Which days and months a cost source has left out, and which months it brought again. Pure, but for one lake query."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Final

from accounts.models import Account
from finops.costs.queries.sources import Delivery
from finops.lake.engine import engine
from finops.lake.schema import Kind
from finops.lake.storage.manifest import Manifest
from finops.lib.periods import DateRange, month_end

LOOKED_AT_DAYS: Final = 92
DAILY_SHARE: Final = 0.8
"""A source with lines on fewer of its days than this does not deliver by the day, so a day without is no gap."""


class _DaysOfSources:
    """Which source has lines on which day."""

    def __call__(self, table: Any) -> Any:
        return table.group_by(["source", "charge_date"]).aggregate(lines=table.count())


_DAYS = _DaysOfSources()


def days_of_sources(
    account: Account, days: DateRange, manifest: Manifest, *, deadline: float | None = None
) -> Mapping[int, set[date]]:
    """The days that have cost lines, by source. One lake query over two columns."""
    table = engine.run(account, Kind.COST, days.start, days.end, _DAYS, manifest=manifest, deadline=deadline)
    by_source: dict[int, set[date]] = defaultdict(set)
    for row in table.to_pylist():
        # A line without a source is of no connection.
        if row["source"] is not None:
            by_source[int(row["source"])].add(row["charge_date"])
    return by_source


def gaps_between(present: Collection[date], start: date, end: date) -> list[DateRange]:
    """Runs of days of `start` to `end` (inclusive) without lines; none for what does not deliver by the day."""
    every = [start + timedelta(days=offset) for offset in range((end - start).days + 1)]
    missing = [day for day in every if day not in present]
    if not every or len(missing) > len(every) * (1 - DAILY_SHARE):
        return []
    return list(_runs(missing))


def _runs(days: Sequence[date]) -> Iterable[DateRange]:
    start: date | None = None
    for index, day in enumerate(days):
        start = start or day
        if index + 1 == len(days) or days[index + 1] != day + timedelta(days=1):
            yield DateRange(start, day)
            start = None


def missing_months(months: Collection[date]) -> list[date]:
    """Billing months between the first and the last that a source has nothing of."""
    if not months:
        return []
    missing, month = [], min(months)
    while month < max(months):
        if month not in months:
            missing.append(month)
        month = month_end(month) + timedelta(days=1)
    return missing


@dataclass(frozen=True)
class Restatement:
    """A month that was brought again after it was over and had been brought whole; `last` is the day of the newest."""

    month: date
    times: int
    last: date


def restatements(deliveries: Sequence[Delivery]) -> list[Restatement]:
    """Months whose figures may have changed after they looked final, the newest month first."""
    days: dict[date, list[date]] = defaultdict(list)
    for delivery in deliveries:
        for month in delivery.months:
            if delivery.at.date() > month_end(month):
                days[month].append(delivery.at.date())
    again = {month: arrivals for month, arrivals in days.items() if len(arrivals) > 1}
    return [
        Restatement(month, len(arrivals) - 1, max(arrivals))
        for month, arrivals in sorted(again.items(), reverse=True)
    ]
