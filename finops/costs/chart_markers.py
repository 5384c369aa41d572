"""Events on charts of cost, registered by higher apps."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Final

from finops.costs.spend_query import Filter
from finops.lib.charts import SeriesTable, bucket_label
from finops.lib.periods import DateRange
from finops.lib.registry import Registry

MAX_MARKERS: Final = 200
MAX_TITLES: Final = 5
"""The maximum of titles per kind and bucket; the others are counted."""


@dataclass(frozen=True)
class Marker:
    """An event. `kind` and `source` are display names."""

    at: datetime
    kind: str
    title: str
    source: str
    url: str = ""

    @property
    def day(self) -> date:
        return self.at.astimezone(UTC).date()


@dataclass(frozen=True)
class MarkerQuestion:
    """The days of a chart, and the filters of its question."""

    days: DateRange
    filters: Sequence[Filter] = ()


chart_markers: Registry[Callable[[MarkerQuestion], list[Marker]]] = Registry("chart markers")


def markers_of(question: MarkerQuestion) -> list[Marker]:
    """Return all markers, newest first; at most MAX_MARKERS."""
    markers = [marker for finder in chart_markers.values() for marker in finder(question)]
    return sorted(markers, key=lambda each: each.at, reverse=True)[:MAX_MARKERS]


def kind_counts(markers: Sequence[Marker]) -> list[tuple[str, int]]:
    """Return the kinds by name, with the number of markers of each."""
    return sorted(Counter(marker.kind for marker in markers).items())


def with_markers(
    tables: Sequence[SeriesTable], markers: Sequence[Marker], starts: Sequence[date], granularity: str
) -> list[SeriesTable]:
    """Return the charts with markers at the buckets that have events. `starts` are the buckets' first days."""
    return [
        dataclasses.replace(table, chart=marked_chart(table.chart, markers, starts, granularity))
        for table in tables
    ]


def marked_chart(
    chart: dict[str, Any], markers: Sequence[Marker], starts: Sequence[date], granularity: str
) -> dict[str, Any]:
    """Return one chart with markers, as `with_markers`."""
    spec = _spec(markers, starts, granularity)
    return {**chart, "markers": spec} if spec else chart


def _spec(markers: Sequence[Marker], starts: Sequence[date], granularity: str) -> list[dict[str, Any]]:
    """Return by bucket the titles of each kind, oldest first, and their number."""
    buckets: dict[str, dict[str, list[str]]] = {}
    for marker in reversed(markers):
        start = max((day for day in starts if day <= marker.day), default=None)
        if start is not None:
            kinds = buckets.setdefault(bucket_label(start.isoformat(), granularity), {})
            kinds.setdefault(marker.kind, []).append(marker.title)
    return [
        {
            "label": label,
            "events": [
                {"kind": kind, "titles": titles[:MAX_TITLES], "count": len(titles)}
                for kind, titles in kinds.items()
            ],
        }
        for label, kinds in buckets.items()
    ]
