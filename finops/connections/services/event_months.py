"""Stores a month of change events, fetched by a connector, in its event source (`finops.change_events.services.pulls`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date

from finops.change_events.models import EventSource
from finops.change_events.services.pulls import store_event_month
from finops.connections.schemas import StoredMonth
from finops.costs.focus.normalise import FocusFile
from finops.costs.models import CostSource
from ingestion.models import UsageSource


def store_month(
    *,
    source: EventSource | UsageSource | CostSource,
    month: date,
    files: Sequence[FocusFile],
    checkpoint: Callable[[], None],
) -> StoredMonth:
    """Replace the month of an event source by the events of its file; without a file it is empty. Atomic: after kill
    -9 the next attempt finds the previous state."""
    if not isinstance(source, EventSource):
        raise TypeError("Change events are stored in event sources alone.")
    path = files[0].path if files else None
    total = store_event_month(source=source, month=month, path=path, checkpoint=checkpoint)
    reason = f"{total.rejected:,} events were rejected. First reason: {total.error}."
    return StoredMonth(total.events, [reason] if total.rejected else [])
