"""Stores a month of usage, fetched by a connector, in the inbox of usage day by day (`ingestion.services.pulls`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path

from finops.change_events.models import EventSource
from finops.connections.schemas import StoredMonth
from finops.connections.transports.json_lines import day_of_file
from finops.costs.focus.normalise import FocusFile
from finops.costs.models import CostSource
from finops.lib.periods import month_end
from ingestion.models import UsageSource
from ingestion.services.pulls import store_usage_day, stored_events, usage_days


def store_month(
    *,
    source: UsageSource | CostSource | EventSource,
    month: date,
    files: Sequence[FocusFile],
    gauges: frozenset[str],
    checkpoint: Callable[[], None],
) -> StoredMonth:
    """Replace the month of a usage source by its files, one for each day; days without a file are empty. Each day is
    atomic: after an error or kill -9 the next attempt finds stored days unchanged."""
    if not isinstance(source, UsageSource):
        raise TypeError("Usage is stored in usage sources alone.")
    paths: dict[date, Path | None] = dict.fromkeys(
        usage_days(source=source, first=month, last=month_end(month))
    )
    paths |= {day_of_file(file.name): file.path for file in files}
    rejected, error = 0, ""
    for day, path in sorted(paths.items()):
        checkpoint()
        total = store_usage_day(source=source, day=day, path=path, gauges=gauges, checkpoint=checkpoint)
        rejected, error = rejected + total.rejected, error or total.error
    rows = stored_events(source=source, first=month, last=month_end(month))
    notes = [f"{rejected:,} rows were rejected. First reason: {error}."] if rejected else []
    return StoredMonth(rows, notes)
