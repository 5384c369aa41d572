"""The meter of change events: events received and stored, by month of receipt."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from django.db.models import Sum

from accounts.models import Account
from accounts.scoping import account_scope
from finops.change_events.models import EventMonth
from finops.lib import clock
from finops.lib.periods import month_start
from ingestion.queries.billing import SourceMonth


def metered_by_month(account: Account) -> Mapping[date, int]:
    """Events received and stored, by month of receipt."""
    with account_scope(account):
        rows = EventMonth.objects.values_list("month").annotate(events=Sum("events")).order_by("month")
        return {month: events for month, events in rows if events}


def month_by_event_source(account: Account) -> list[SourceMonth]:
    """The current month by source; a row without a name belongs to a deleted source."""
    with account_scope(account):
        rows = EventMonth.objects.filter(month=month_start(clock.today())).select_related("source")
        return [
            SourceMonth(
                source_id=row.source_id,
                name=row.source.name if row.source else "",
                events=row.events,
                duplicates=row.duplicates,
                rejected=row.rejected,
                voided=0,
                url_name="event_source",
            )
            for row in rows
        ]
