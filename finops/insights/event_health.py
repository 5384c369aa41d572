"""The health of sources of change events. Events have no schedule, so only what is pulled can be late."""

from __future__ import annotations

from typing import Final

from finops.change_events.models import EventSource
from finops.change_events.queries import EventSourceActivity
from finops.costs.queries.sources import FAILING, HEALTHY, NO_DATA, STALE
from finops.insights.connection_health import ConnectionHealth

NO_SCHEDULE: Final = "Change events have no schedule."


def event_connection(source: EventSourceActivity) -> ConnectionHealth:
    """Return the health of an event source; what its syncs add is `sync_health`."""
    status, reason, advice = _event_state(source)
    return ConnectionHealth(
        name=source.name,
        kind="events",
        status=status,
        reason=reason,
        what_to_do=advice,
        data_from=None,
        data_through=source.newest_at.date() if source.newest_at else None,
        last_success_at=source.received_at,
        expected_by=None,
        expected_reason=NO_SCHEDULE,
        overdue=False,
        gaps=[],
        missing_months=[],
        restated_months=[],
        last_error="",
        page=f"connections/events/{source.source_id}/",
    )


def _event_state(source: EventSourceActivity) -> tuple[str, str, str]:
    if source.rejected and not source.stored:
        count = "The only event" if source.rejected == 1 else f"All {source.rejected:,} events"
        verb = "was" if source.rejected == 1 else "were"
        reason = f"{count} received this month {verb} rejected."
        where = "the answers to your pushes" if source.kind == EventSource.Kind.PUSH else "its newest sync"
        return FAILING, reason, f"Read the reasons in {where}."
    if source.newest_at is None:
        key = "Create an API key and push events."
        return NO_DATA, "It has no events yet.", key if source.lacks_key else "Push the first event."
    newest = f"its last event was at {source.newest_at:%Y-%m-%d %H:%M} UTC."
    if source.lacks_key:
        return STALE, f"It has no API key; {newest}", "Create an API key to continue."
    if source.rejected:
        total = source.stored + source.rejected
        newest = f"{newest} {source.rejected:,} of the {total:,} events received this month were rejected."
    return HEALTHY, newest[0].upper() + newest[1:], ""
