"""Which days the account has cost data for, by source; from the manifest alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property, lru_cache

from accounts.models import Account
from finops.lake.manifest import Manifest, cost_manifest
from finops.lib import clock
from finops.lib.periods import DateRange, month_end

LAGGING_DAYS = 7
"""A source this far behind the newest one has stopped; it no longer holds back what counts as complete."""


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
    """Which days have data. `spans` are the days of each live segment's lines; `covered` the days it speaks for.

    A billing month that is not its source's newest is complete: its days without lines cost nothing. So a source
    with one line a month, on the first, covers every day of its past months.
    """

    spans: tuple[SourceSpan, ...]
    covered: tuple[DateRange, ...]
    today: date

    @cached_property
    def sources(self) -> dict[int, SourceSpan]:
        found: dict[int, SourceSpan] = {}
        for span in self.spans:
            known = found.get(span.source_id, span)
            found[span.source_id] = SourceSpan(
                span.source_id,
                min(known.first_day, span.first_day),
                max(known.last_day, span.last_day),
                span.rows + (known.rows if known is not span else 0),
            )
        return found

    @property
    def first_day(self) -> date | None:
        return min((span.first_day for span in self.spans), default=None)

    @property
    def last_day(self) -> date | None:
        return max((span.last_day for span in self.spans), default=None)

    @cached_property
    def complete_through(self) -> date | None:
        """The last day on which every source that still delivers has data; never today, which is not over."""
        ends = [min(span.last_day, self.today - timedelta(days=1)) for span in self.sources.values()]
        if not ends:
            return None
        through = min(end for end in ends if end >= max(ends) - timedelta(days=LAGGING_DAYS))
        return through if self.first_day and through >= self.first_day else None

    def lagging(self, days: DateRange) -> list[int]:
        """Sources that stopped before the others did, but late enough to matter for these days."""
        newest = self.complete_through
        if newest is None:
            return []
        behind = newest - timedelta(days=LAGGING_DAYS)
        recent = days.start - timedelta(days=62)
        return [
            span.source_id
            for span in self.sources.values()
            if span.last_day < behind and recent <= span.last_day < days.end
        ]

    def has_data(self, start: date, end: date) -> bool:
        """Whether any of these days (inclusive) is covered."""
        return any(span.start <= end and span.end >= start for span in self.covered)

    def days_with_data(self, days: DateRange) -> int:
        """How many of these days are covered."""
        found, done = 0, days.start
        for span in sorted(self.covered, key=lambda span: span.start):
            first, last = max(span.start, done), min(span.end, days.end)
            if first <= last:
                found += (last - first).days + 1
                done = last + timedelta(days=1)
        return found


def coverage_of(segments: Iterable[Segment], *, today: date) -> Coverage:
    """The coverage that live segments give: (source id, month, first day, last day, rows)."""
    segments = list(segments)
    months: dict[int, list[date]] = {}
    for source_id, month, *_ in segments:
        months.setdefault(source_id, []).append(month)
    spans = tuple(SourceSpan(source, first, last, rows) for source, _, first, last, rows in segments)
    covered = tuple(_covered(segment, months[segment[0]]) for segment in segments)
    return Coverage(spans, covered, today)


def _covered(segment: Segment, months: list[date]) -> DateRange:
    """The days that a segment speaks for: those of its billing month, or of its lines where it has none of them.

    A line dated before the month, such as a correction, does not make the days before look covered.
    """
    _, month, first, last, _ = segment
    start = month if last >= month else first
    if month == min(months):
        start = max(start, first)
    return DateRange(start, last if month == max(months) else max(last, month_end(month)))


def coverage(account: Account) -> Coverage:
    """One query."""
    return coverage_of_manifest(cost_manifest(account), clock.today())


@lru_cache(maxsize=256)
def coverage_of_manifest(manifest: Manifest, today: date) -> Coverage:
    """No query, and kept while manifest and day are the same."""
    rows = [
        (each.source_id, each.month, each.first_day, each.last_day, each.rows) for each in manifest.segments
    ]
    return coverage_of(rows, today=today)
