"""The health of usage sources, from their ledger."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from accounts.models import Account
from finops.costs.queries.sources import FAILING, HEALTHY, NO_DATA, STALE
from finops.insights.connection_health import IRREGULAR, ConnectionHealth, next_delivery
from finops.lib.sentences import quote
from ingestion.models import UsageSource
from ingestion.queries.activity import LEDGER_DAYS, UsageDeliveries, source_remarks

FAILING_SHARE: Final = 0.5
"""Share of rejected events from which a usage source is failing; a smaller share concerns single events."""


def remark_sentences(account: Account) -> list[str]:
    """Return what senders of usage should check in the events of the last days, once for each source. One statement, two with remarks."""
    remarks = source_remarks(account.pk)
    if not remarks:
        return []
    sources = UsageSource.objects.filter(account=account, pk__in=remarks).order_by("name")
    return [
        f"Usage source {quote(source.name)}: {warning}"
        for source in sources
        for warning in remarks[source.pk].warnings
    ]


def usage_connection(source: UsageDeliveries, now: datetime) -> ConnectionHealth:
    """Return the health of a usage source."""
    last_day = None
    if source.days:
        # From the end of its last day: events come all day long.
        last_day = datetime.combine(source.days[-1] + timedelta(days=1), datetime.min.time(), UTC)
    due, overdue = next_delivery(source.days, last_day, now)
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
        key = "Create an API key and push usage."
        advice = key if source.lacks_key else "Push the first events from your backend."
        return NO_DATA, f"No event has been accepted in the last {LEDGER_DAYS} days.", advice
    if total and source.rejected >= total * FAILING_SHARE:
        reason = f"{source.rejected:,} of its newest {total:,} events were rejected."
        return FAILING, reason, "Its page lists rejected events with reasons."
    when = f"{source.last_event_at:%Y-%m-%d %H:%M} UTC"
    if source.lacks_key:
        reason = f"It has no API key; its last event was at {when}."
        return STALE, reason, "Create an API key to continue."
    if overdue:
        reason = f"Its last event was at {when}, earlier than usual."
        return STALE, reason, "Check that your backend still pushes events."
    return HEALTHY, f"Its last event was at {when}.", ""
