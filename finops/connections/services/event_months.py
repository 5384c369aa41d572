"""A month of change events that a connector fetched, put into its event source (`finops.change_events.services.pulls`)."""

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
    """Make the month of an event source what its file says; without one it is empty. Whole or not at all, so what kill -9 left is
    found as it was the next time."""
    if not isinstance(source, EventSource):
        raise TypeError("Change events are stored in event sources alone.")
    path = files[0].path if files else None
    total = store_event_month(source=source, month=month, path=path, checkpoint=checkpoint)
    reason = f"{total.rejected:,} events were rejected. First reason: {total.error}."
    return StoredMonth(total.events, [reason] if total.rejected else [])
