"""Events on charts over time, registered by the app that has them."""

from __future__ import annotations

import dataclasses
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Final, Protocol

from finops.lib.charts import SeriesTable
from finops.lib.periods import DateRange
from finops.lib.registry import Registry

MAX_MARKERS: Final = 2_000
"""The maximum of events on a chart, the newest."""
MAX_LISTED: Final = 100
"""The maximum of events in the list beside a chart."""
MAX_TITLES: Final = 5
"""The maximum of titles per kind and bucket; the others are counted."""


@dataclass(frozen=True)
class Marker:
    """An event. `kind` and `source` are display names, `actor` is a person or a program."""

    at: datetime
    kind: str
    title: str
    source: str
    url: str = ""
    actor: str = ""

    @property
    def day(self) -> date:
        return self.at.astimezone(UTC).date()

    @property
    def text(self) -> str:
        """The title with the actor, as tips show it."""
        return f"{self.title} ({self.actor})" if self.actor else self.title


class DimensionFilter(Protocol):
    """A filter on a dimension of cost."""

    @property
    def dimension(self) -> str: ...

    @property
    def op(self) -> str: ...

    @property
    def values(self) -> Sequence[str]: ...


@dataclass(frozen=True)
class MarkerQuestion:
    """The days of a chart, and the filters of its question."""

    days: DateRange
    filters: Sequence[DimensionFilter] = ()


chart_markers: Registry[Callable[[MarkerQuestion], list[Marker]]] = Registry("chart markers")


def markers_of(question: MarkerQuestion) -> list[Marker]:
    """Return all markers, newest first; of more than MAX_MARKERS these and one more, which says so and is not drawn."""
    markers = [marker for finder in chart_markers.values() for marker in finder(question)]
    return sorted(markers, key=lambda each: each.at, reverse=True)[: MAX_MARKERS + 1]


def kind_counts(markers: Sequence[Marker]) -> list[tuple[str, int]]:
    """Return the kinds by name, with the number of markers of each."""
    return sorted(Counter(marker.kind for marker in markers[:MAX_MARKERS]).items())


def markers_between(markers: Sequence[Marker], days: DateRange) -> list[Marker]:
    """Return those on these days, in their order."""
    return [marker for marker in markers if days.start <= marker.day <= days.end]


def with_markers(tables: Sequence[SeriesTable], markers: Sequence[Marker]) -> list[SeriesTable]:
    """Return the charts with markers, as `marked_chart`."""
    return [dataclasses.replace(table, chart=marked_chart(table.chart, markers)) for table in tables]


def marked_chart(chart: dict[str, Any], markers: Sequence[Marker]) -> dict[str, Any]:
    """Return a chart whose labels are days or months, with markers at the buckets that have events."""
    buckets = [
        {
            "label": label,
            "events": [
                {
                    "kind": kind,
                    "titles": [each.text for each in events[:MAX_TITLES]],
                    "count": len(events),
                }
                for kind, events in kinds.items()
            ],
        }
        for label, kinds in markers_by_label(chart["labels"], markers).items()
    ]
    return {**chart, "markers": buckets} if buckets else chart


def bucket_texts(kinds: Mapping[str, Sequence[Marker]]) -> list[str]:
    """Return a line for each of the first MAX_TITLES events of a bucket, and the number of others."""
    texts = [f"{kind}: {each.text}" for kind, events in kinds.items() for each in events]
    more = len(texts) - MAX_TITLES
    return [*texts[:MAX_TITLES], *([f"… and {more} more"] if more > 0 else [])]


def markers_by_label(labels: Sequence[str], markers: Sequence[Marker]) -> dict[str, dict[str, list[Marker]]]:
    """Return the events of each bucket by kind, oldest first. A label is the bucket's first day, 2026-10-12, or its month,
    2026-10, in order; events before the first one are left out."""
    buckets: dict[str, dict[str, list[Marker]]] = {}
    for marker in reversed(markers[:MAX_MARKERS]):
        day = marker.day.isoformat()
        # As texts: a month is less than each of its days.
        place = bisect_right(labels, day)
        if place:
            buckets.setdefault(labels[place - 1], {}).setdefault(marker.kind, []).append(marker)
    return buckets
