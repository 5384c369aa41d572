"""The last event of each event source, and its events of this month."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Exists, OuterRef, Subquery

from accounts.models import Account
from accounts.scoping import account_scope
from finops.change_events.models import EventKey, EventMonth, EventSource
from finops.change_events.queries.visible import visible_events, visible_sources
from finops.lib import clock
from finops.lib.cost_access import sees_whole_account
from finops.lib.periods import month_start


@dataclass(frozen=True)
class EventSourceActivity:
    """An event source with its newest event and the numbers of events stored and rejected in the current month (of
    receipt): 0 for a reader with limited cost access."""

    source_id: int
    name: str
    kind: str
    has_key: bool
    newest_at: datetime | None
    """The time at which the newest event happened."""
    received_at: datetime | None
    """The time at which that event was received."""
    stored: int
    rejected: int

    @property
    def lacks_key(self) -> bool:
        """Whether a push source has no key and so can receive no events. A pull source needs no key."""
        return self.kind == EventSource.Kind.PUSH and not self.has_key


def event_source_activity(account: Account) -> list[EventSourceActivity]:
    """Return the activity of every source that the reader may see, by name. One query: four index probes a source."""
    whole = sees_whole_account()
    with account_scope(account):
        events = visible_events().filter(source=OuterRef("pk")).order_by("-occurred_at")
        months = EventMonth.objects.filter(source=OuterRef("pk"), month=month_start(clock.today()))
        rows = visible_sources().annotate(
            has_key=Exists(EventKey.objects.filter(source=OuterRef("pk"), revoked_at=None)),
            newest_at=Subquery(events.values("occurred_at")[:1]),
            received_at=Subquery(events.values("received_at")[:1]),
            stored=Subquery(months.values("events")[:1]),
            rejected=Subquery(months.values("rejected")[:1]),
        )
        return [
            EventSourceActivity(
                source_id=row.pk,
                name=row.name,
                kind=row.kind,
                has_key=row.has_key,
                newest_at=row.newest_at,
                received_at=row.received_at,
                stored=(row.stored or 0) if whole else 0,
                rejected=(row.rejected or 0) if whole else 0,
            )
            for row in rows.order_by("name")
        ]
