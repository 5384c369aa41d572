"""What stands on charts of cost besides amounts: things that happened, which apps above register."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Final

from finops.costs.spend_query import Filter
from finops.lib.charts import SeriesTable, bucket_label
from finops.lib.periods import DateRange
from finops.lib.registry import Registry

MAX_MARKERS: Final = 200
MAX_TITLES: Final = 5


@dataclass(frozen=True)
class Marker:
    """Something that happened. `kind` and `source` are names for people."""

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
    """A chart's days, and the filters of its question."""

    days: DateRange
    filters: Sequence[Filter] = ()


chart_markers: Registry[Callable[[MarkerQuestion], list[Marker]]] = Registry("chart markers")


def markers_of(question: MarkerQuestion) -> list[Marker]:
    """All of them, the newest first; at most MAX_MARKERS."""
    markers = [marker for finder in chart_markers.values() for marker in finder(question)]
    return sorted(markers, key=lambda each: each.at, reverse=True)[:MAX_MARKERS]


def with_markers(
    tables: Sequence[SeriesTable], markers: Sequence[Marker], starts: Sequence[date], granularity: str
) -> list[SeriesTable]:
    """The charts with a marker at each bucket in which something happened; `starts` are the buckets' first days."""
    titles: dict[str, list[str]] = {}
    for marker in reversed(markers):
        start = max((day for day in starts if day <= marker.day), default=None)
        if start is not None:
            label = bucket_label(start.isoformat(), granularity)
            titles.setdefault(label, []).append(f"{marker.kind}: {marker.title}")
    if not titles:
        return list(tables)
    spec = [
        {"label": label, "titles": each[:MAX_TITLES], "more": len(each[MAX_TITLES:])}
        for label, each in titles.items()
    ]
    return [dataclasses.replace(table, chart={**table.chart, "markers": spec}) for table in tables]
