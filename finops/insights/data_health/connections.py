"""The health of one connection, of what was read about it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Final

from finops.costs.answers import SourceHealth
from finops.costs.coverage import Coverage
from finops.costs.queries.sources import FAILING, HEALTHY, IMPORTING, NO_DATA, PARTIAL, STALE, Delivery
from finops.insights.data_health.answers import ConnectionHealth, Gap, RestatedMonth
from finops.insights.data_health.gaps import gaps_between, missing_months, restatements
from finops.insights.data_health.rhythm import FEWEST, Rhythm, rhythm_of
from finops.lib.periods import DateRange
from ingestion.queries.deliveries import LEDGER_DAYS, UsageDeliveries

SHOWN: Final = 12
"""Gaps and months of one connection that an answer has."""
FAILING_SHARE: Final = 0.5
"""From this share of rejected events on, a usage source fails; any smaller one is a matter of single events."""

IRREGULAR = f"Fewer than {FEWEST} deliveries on different days, so there is no rhythm to expect the next by."

_COST_ADVICE = {
    FAILING: "Open the connection, read what the import says, and import the corrected file.",
    STALE: "Import the newest export file, or check that the provider still writes it.",
    NO_DATA: "Import a first FOCUS file.",
    PARTIAL: "Import the days again when the provider has completed them; until then they count as not final.",
}


def cost_connection(
    source_id: int,
    health: SourceHealth,
    coverage: Coverage,
    months: Collection[date],
    deliveries: Sequence[Delivery],
    present: Collection[date],
    days: DateRange | None,
    now: datetime,
) -> ConnectionHealth:
    """Of a cost source. `present` are its days with lines among `days`, those looked at."""
    rhythm = rhythm_of([delivery.at.date() for delivery in deliveries])
    last = deliveries[-1].at if deliveries else None
    due, overdue = _due(rhythm, last, now)
    span = coverage.sources.get(source_id)
    gaps = (
        _gaps(present, max(days.start, span.first_day), min(days.end, span.last_day)) if days and span else []
    )
    advice = _COST_ADVICE.get(health.status, "")
    late = f" A delivery was expected by {due:%Y-%m-%d %H:%M} UTC." if due and overdue else ""
    return ConnectionHealth(
        name=health.name,
        kind="cost",
        status=health.status,
        reason=health.reason + late,
        what_to_do=advice or (_COST_ADVICE[STALE] if overdue else ""),
        data_from=health.first_day,
        data_through=health.last_day,
        last_success_at=last,
        expected_by=due,
        expected_reason="" if due else IRREGULAR,
        overdue=overdue,
        gaps=gaps[-SHOWN:],
        missing_months=[f"{month:%Y-%m}" for month in missing_months(months)][-SHOWN:],
        restated_months=[
            RestatedMonth(month=f"{each.month:%Y-%m}", times=each.times, last_day=each.last)
            for each in restatements(deliveries)[:SHOWN]
        ],
        last_error=health.last_error,
        page=f"connections/{source_id}/",
    )


def _gaps(present: Collection[date], start: date, end: date) -> list[Gap]:
    return [Gap(start_date=each.start, end_date=each.end) for each in gaps_between(present, start, end)]


def _due(rhythm: Rhythm | None, last: datetime | None, now: datetime) -> tuple[datetime | None, bool]:
    if rhythm is None or last is None:
        return None, False
    due = rhythm.next_by(last)
    return due, due < now


def usage_connection(source: UsageDeliveries, now: datetime) -> ConnectionHealth:
    """Of a usage source."""
    rhythm = rhythm_of(source.days)
    # From the end of its last day: events come all day long.
    last_day = (
        datetime.combine(source.days[-1] + timedelta(days=1), datetime.min.time(), UTC)
        if source.days
        else None
    )
    due, overdue = _due(rhythm, last_day, now)
    status, reason, advice = _usage_state(source, overdue)
    return ConnectionHealth(
        name=source.name,
        kind="usage",
        status=status,
        reason=reason,
        what_to_do=advice,
        data_from=None,
        data_through=source.last_event_at.date() if source.last_event_at else None,
        last_success_at=source.last_event_at,
        expected_by=due,
        expected_reason="" if due else IRREGULAR,
        overdue=overdue,
        gaps=[],
        missing_months=[],
        restated_months=[],
        last_error="",
        page=f"connections/usage/{source.source_id}/",
    )


def _usage_state(source: UsageDeliveries, overdue: bool) -> tuple[str, str, str]:
    total = source.accepted + source.rejected
    if source.last_event_at is None:
        advice = (
            "Generate its API key and push."
            if source.lacks_key
            else "Let your backend push its first events."
        )
        return NO_DATA, f"No event has been accepted in the last {LEDGER_DAYS} days.", advice
    if total and source.rejected >= total * FAILING_SHARE:
        reason = f"{source.rejected:,} of its newest {total:,} events were rejected."
        return FAILING, reason, "Its page lists the rejected events with their reasons."
    when = f"{source.last_event_at:%Y-%m-%d %H:%M} UTC"
    if source.lacks_key:
        return (
            STALE,
            f"It has no API key; its last event came at {when}.",
            "Generate an API key if it should go on.",
        )
    if overdue:
        return (
            STALE,
            f"Its last event came at {when}, earlier than usual.",
            "Check that your backend still pushes.",
        )
    return HEALTHY, f"Its last event came at {when}.", ""


WORST_FIRST: Final = (FAILING, STALE, PARTIAL, NO_DATA, IMPORTING, HEALTHY)


def by_need(each: ConnectionHealth) -> tuple[int, bool, str]:
    """Sorts what needs somebody first."""
    return WORST_FIRST.index(each.status), not each.overdue, each.name


def needs_attention(each: ConnectionHealth) -> bool:
    return each.overdue or each.status not in (HEALTHY, IMPORTING)
