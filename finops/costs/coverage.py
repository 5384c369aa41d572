"""The days with cost data and the complete days, by source; from the manifest and the imports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from functools import cached_property

from finops.costs.completeness import SourceDays
from finops.lake.storage.manifest import Manifest
from finops.lib import periods
from finops.lib.periods import DateRange, bucket_start, month_end, next_bucket

LAGGING_DAYS = 7
"""A source this far behind the newest one has stopped and no longer limits which days are complete."""

RECENT_DAYS = 62
"""A source that stopped longer before the requested days has ended and is not reported."""


@dataclass(frozen=True)
class SourceSpan:
    """The days and rows of one source."""

    source_id: int
    first_day: date
    last_day: date
    rows: int


Segment = tuple[int, date, date, date, int]


@dataclass(frozen=True)
class Coverage:
    """The days that have data. `spans` are the days of each live segment's lines; `covered` the days that it covers.

    A billing month that is not its source's newest is complete: its days without lines cost nothing. So a source with
    one line a month, on the first, covers every day of its past months.
    """

    spans: tuple[SourceSpan, ...]
    covered: tuple[DateRange, ...]
    today: date
    days_of: Mapping[int, SourceDays] = field(default_factory=dict)
    """The imports' data on each source's days; without it, a source reaches to its newest line."""

    @cached_property
    def sources(self) -> dict[int, SourceSpan]:
        """Sources by id, so that sentences name them in one order, whatever the names of their files."""
        by_source: dict[int, SourceSpan] = {}
        for span in self.spans:
            current = by_source.get(span.source_id, span)
            by_source[span.source_id] = SourceSpan(
                span.source_id,
                min(current.first_day, span.first_day),
                max(current.last_day, span.last_day),
                span.rows + (current.rows if current is not span else 0),
            )
        return dict(sorted(by_source.items()))

    @property
    def first_day(self) -> date | None:
        return min((span.first_day for span in self.spans), default=None)

    @property
    def last_day(self) -> date | None:
        return max((span.last_day for span in self.spans), default=None)

    def recent_days(self, count: int) -> DateRange:
        """Return the last `count` days with data; without data, up to today."""
        last = self.last_day or self.today
        return DateRange(last - timedelta(days=count - 1), last)

    @cached_property
    def last_complete_days(self) -> dict[int, date]:
        """The last complete day of each source that has one; never today, which is not over."""
        yesterday = self.today - timedelta(days=1)
        last_days = {}
        for source, span in self.sources.items():
            days = self.days_of.get(source)
            through = days.through(self.today) if days else None
            last = through or min(span.last_day, yesterday)
            if last >= span.first_day:
                last_days[source] = last
        return last_days

    @cached_property
    def active_sources(self) -> dict[int, date]:
        """The last complete day of each source that has not stopped."""
        newest = max(self.last_complete_days.values(), default=date.min)
        return {
            source: last
            for source, last in self.last_complete_days.items()
            if (newest - last).days <= LAGGING_DAYS
        }

    @cached_property
    def complete_through(self) -> date | None:
        """The last day that is complete for every delivering source."""
        return min(self.active_sources.values(), default=None)

    @cached_property
    def complete_through_for_most(self) -> date | None:
        """The last day that is complete for most delivering sources with daily usage; of two such days, the later. If
        no source has daily usage, of the sources that bill by the month."""
        daily = [end for source, end in self.active_sources.items() if not self.is_billed_monthly(source)]
        counts = Counter(daily or self.active_sources.values())
        return max(counts, key=lambda end: (counts[end], end), default=None)

    def is_billed_monthly(self, source: int) -> bool:
        days = self.days_of.get(source)
        return days is not None and days.is_billed_monthly

    @cached_property
    def ends(self) -> tuple[tuple[date, tuple[int, ...]], ...]:
        """The distinct last complete days, each with its sources."""
        sources_by_end: dict[date, list[int]] = {}
        for source, last in self.last_complete_days.items():
            sources_by_end.setdefault(last, []).append(source)
        return tuple((last, tuple(sorted(sources_by_end[last]))) for last in sorted(sources_by_end))

    def incomplete_from(self, days: DateRange) -> dict[int, date]:
        """Return, for each source that is not complete for these days, the first incomplete one."""
        first_days = {}
        for source, span in self.sources.items():
            last = self.last_complete_days.get(source)
            if last is None:
                first_days[source] = max(days.start, span.first_day)
            elif last < days.end and (
                source in self.active_sources or (days.start - last).days <= RECENT_DAYS
            ):
                first_days[source] = max(last + timedelta(days=1), days.start)
        return {source: first for source, first in first_days.items() if first <= days.end}

    def stopped_sources(self, days: DateRange) -> list[int]:
        """Return sources that stopped shortly before or within these days."""
        return [
            source
            for source, last in self.last_complete_days.items()
            if source not in self.active_sources
            and days.start - timedelta(days=RECENT_DAYS) <= last < days.end
        ]

    def of_sources(self, sources: Iterable[int], *, today: date | None = None) -> Coverage:
        """Return the coverage of these sources alone, as of a day."""
        source_ids = set(sources)
        pairs = [
            pair for pair in zip(self.spans, self.covered, strict=True) if pair[0].source_id in source_ids
        ]
        return replace(
            self,
            spans=tuple(span for span, _ in pairs),
            covered=tuple(days for _, days in pairs),
            today=today or self.today,
        )

    def has_data(self, start: date, end: date) -> bool:
        """Whether any of these days (inclusive) is covered."""
        return any(span.start <= end and span.end >= start for span in self.covered)

    def days_with_data(self, days: DateRange) -> int:
        """Return how many of these days are covered."""
        return sum(
            max(0, (min(each.end, days.end) - max(each.start, days.start)).days + 1)
            for each in self._stretches
        )

    @cached_property
    def _stretches(self) -> list[DateRange]:
        """The covered days without overlaps, in order: of an account's hundred files mostly one range."""
        stretches: list[DateRange] = []
        for span in sorted(self.covered, key=lambda span: span.start):
            last = stretches[-1] if stretches else None
            if last and span.start <= last.end + timedelta(days=1):
                stretches[-1] = DateRange(last.start, max(last.end, span.end))
            else:
                stretches.append(span)
        return stretches


def continuous_from(coverage: Coverage, last: date) -> date:
    """Return the first day of the covered days that reach to `last` without a gap; `last` itself if none does."""
    first = last
    for span in sorted(coverage.covered, key=lambda span: span.end, reverse=True):
        if span.end >= first - timedelta(days=1):
            first = min(first, span.start)
    return first


def complete_data_words(coverage: Coverage) -> str:
    """Return a clause on the last complete day, also for data without a complete day."""
    if coverage.complete_through:
        return f"cost data is complete through {coverage.complete_through}"
    return "no day of cost data is complete yet" if coverage.spans else "there is no cost data yet"


def coverage_of(
    segments: Iterable[Segment], *, today: date, days_of: Mapping[int, SourceDays] | None = None
) -> Coverage:
    """Return the coverage of live segments: (source id, month, first day, last day, rows)."""
    segments = list(segments)
    source_days = days_of or {}
    months: dict[int, list[date]] = {}
    for source_id, month, *_ in segments:
        months.setdefault(source_id, []).append(month)
    spans = tuple(SourceSpan(source, first, last, rows) for source, _, first, last, rows in segments)
    covered = tuple(
        _covered_days(segment, months[segment[0]], _end(source_days.get(segment[0]), today))
        for segment in segments
    )
    return Coverage(spans, covered, today, source_days)


def _end(days: SourceDays | None, today: date) -> date | None:
    """Return the end of a source's newest month: its newest usage, or its last billed day."""
    if days is None:
        return None
    if days.usage_through is not None:
        return days.usage_through
    return min(days.billed_through, today - timedelta(days=1)) if days.billed_through else None


def _covered_days(segment: Segment, months: list[date], end: date | None) -> DateRange:
    """Return the days that a segment covers: those of its billing month, or of its lines if none is in that month.

    A line dated before the month, such as a correction, does not extend the covered days. `end` is the end of the
    newest month if known: a purchase dated ahead does not extend them either.
    """
    _, month, first, last, _ = segment
    start = month if last >= month else first
    if month == min(months):
        start = max(start, first)
    if month != max(months):
        return DateRange(start, max(last, month_end(month)))
    return DateRange(start, max(start, end) if end is not None else last)


def coverage_of_days(manifest: Manifest, today: date, days_of: Mapping[int, SourceDays]) -> Coverage:
    """Return the coverage from the manifest and the imports. No query."""
    segments = [
        (each.source_id, each.month, each.first_day, each.last_day, each.rows) for each in manifest.months
    ]
    return coverage_of(segments, today=today, days_of=days_of)


@dataclass(frozen=True)
class Bucket:
    """A day, a week from Monday or a calendar month, uncut by the requested days. Both ends are inclusive."""

    start: date
    end: date
    has_data: bool


def buckets_of(granularity: str, days: DateRange, coverage: Coverage) -> list[Bucket]:
    """Return every bucket that overlaps the days; none for granularity none."""
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
    """Warn when the first or last bucket is only partly within the days."""
    return periods.partial_bucket_warnings(granularity, days) if buckets else []
