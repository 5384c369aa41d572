"""The time buckets of a series. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from finops.costs.coverage import Coverage
from finops.lib import periods
from finops.lib.periods import DateRange, bucket_start, next_bucket


@dataclass(frozen=True)
class Bucket:
    """A day, a week from Monday or a calendar month, also where the asked days cut it. Both ends inside."""

    start: date
    end: date
    has_data: bool


def buckets_of(granularity: str, days: DateRange, coverage: Coverage) -> list[Bucket]:
    """Every bucket that the days touch; none for granularity none."""
    if granularity == "none":
        return []
    buckets, start = [], bucket_start(granularity, days.start)
    while start <= days.end:
        following = next_bucket(granularity, start)
        end = following - timedelta(days=1)
        has_data = coverage.has_data(max(start, days.start), min(end, days.end))
        buckets.append(Bucket(start, end, has_data))
        start = following
    return buckets


def partial_bucket_warnings(granularity: str, days: DateRange, buckets: Sequence[Bucket]) -> list[str]:
    """A sentence when the first or last bucket is only partly inside the days."""
    return periods.partial_bucket_warnings(granularity, days) if buckets else []
