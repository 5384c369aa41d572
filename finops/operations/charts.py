"""The charts of the start page: calls of assistants, pushed events and deliveries, by hour of a day or by day of 30."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

from finops.lib import clock
from finops.lib.charts import Line, SeriesTable, chart_spec
from finops.operations.queries import activity_counts

TITLES: Final = {
    "calls": ("MCP calls", "calls"),
    "events": ("Pushed events", "events"),
    "deliveries": ("Alert deliveries", "deliveries"),
}
TONES: Final = {"incident": "limit", "failed": "limit", "rejected": "limit", "error": "warning"}


@dataclass(frozen=True)
class ChartRange:
    """A range of `buckets` of `unit` (hour or day, UTC), the last of which is unfinished."""

    name: str
    label: str
    unit: str
    step: timedelta
    buckets: int

    def starts(self) -> list[datetime]:
        now = clock.now()
        last = now.replace(minute=0, second=0, microsecond=0)
        last = last if self.unit == "hour" else last.replace(hour=0)
        return [last - self.step * back for back in range(self.buckets - 1, -1, -1)]

    def bucket_label(self, start: datetime) -> str:
        return f"{start:%H:%M}" if self.unit == "hour" else f"{start:%Y-%m-%d}"


RANGES: Final = {
    "24h": ChartRange("24h", "24 hours", "hour", timedelta(hours=1), 24),
    "30d": ChartRange("30d", "30 days", "day", timedelta(days=1), 30),
}


def activity_charts(chart_range: ChartRange) -> list[tuple[str, str, SeriesTable]]:
    """Return name, title and chart of each, in one statement."""
    starts = chart_range.starts()
    counts: dict[str, dict[str, dict[datetime, int]]] = defaultdict(lambda: defaultdict(dict))
    for chart, series, start, count in activity_counts(chart_range.unit, starts[0]):
        counts[chart][series][start] = count
    labels = [chart_range.bucket_label(start) for start in starts]
    return [
        (name, title, _chart(unit, labels, starts, counts[name])) for name, (title, unit) in TITLES.items()
    ]


def _series_label(name: str) -> str:
    return "OK" if name == "ok" else name.capitalize()


def _chart(
    unit: str, labels: list[str], starts: list[datetime], series: dict[str, dict[datetime, int]]
) -> SeriesTable:
    values = {
        name: [Decimal(by_start.get(start, 0)) for start in starts]
        for name, by_start in sorted(series.items())
    }
    lines = [Line(_series_label(name), counts, tone=TONES.get(name, "")) for name, counts in values.items()]
    chart = chart_spec(unit=unit, labels=labels, lines=lines, line=False, stacked=True, places=0)
    rows = [(_series_label(name), list(counts), sum(counts, Decimal())) for name, counts in values.items()]
    totals = [sum(column, Decimal()) for column in zip(*values.values(), strict=True)]
    return SeriesTable(unit, labels, rows, list(totals), sum(totals, Decimal()), chart)  # type: ignore[arg-type]
