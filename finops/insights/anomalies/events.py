"""Changes around an anomaly that may have caused it. Apps that have changes add theirs to `change_event_finders`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

import msgspec

from accounts.models import Account, AuditEntry
from finops.lib.registry import Registry

MOST = 20
BEFORE, AFTER = timedelta(days=3), timedelta(days=1)
"""How long before the first day and after the last a change may be and still matter."""


class ChangeEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something that changed."""

    at: datetime
    what: str
    who: str = ""


@dataclass(frozen=True)
class EventFacts:
    """What may be looked at."""

    account: Account
    first: date
    last: date
    source_id: int
    source_name: str
    dimension: str
    value: str

    @property
    def start(self) -> datetime:
        return datetime.combine(self.first, time.min, UTC) - BEFORE

    @property
    def end(self) -> datetime:
        return datetime.combine(self.last, time.max, UTC) + AFTER


change_event_finders: Registry[Callable[[EventFacts], list[ChangeEvent]]] = Registry("change events")


def events_around(facts: EventFacts) -> list[ChangeEvent]:
    """Every known change, the oldest first; at most MOST."""
    events = [event for finder in change_event_finders.values() for event in finder(facts)]
    return sorted(events, key=lambda event: event.at)[:MOST]


_EVENT_TEXTS = {
    "cost_source.create": "The cost source {target} was connected.",
    "cost_tag.create": "The cost tag {target} was made.",
    "cost_tag.change": "The rules of cost tag {target} were changed.",
    "team_key.set": "The team key was changed to {target}.",
    "team.change": "The team {target} was changed.",
    "team_value.own": "What teams own was changed: {target}.",
    "team_value.release": "What teams own was changed: {target}.",
}
IMPORTED = "cost_import.finish"
LATE = 3
"""From this day of a month on, an import that brings the month before replaces what was complete."""


@change_event_finders.register("audit log")
def _audit_events(facts: EventFacts) -> list[ChangeEvent]:
    """What people changed about the anomaly's scope in these days, and imports that replaced complete months."""
    rows = AuditEntry.objects.filter(
        at__gte=facts.start, at__lte=facts.end, action__in=[*_EVENT_TEXTS, IMPORTED]
    )
    events = [_event(row, facts) for row in rows.order_by("at")[:500]]
    return [event for event in events if event is not None]


def _event(row: AuditEntry, facts: EventFacts) -> ChangeEvent | None:
    if row.action == IMPORTED:
        return _restatement_event(row, facts)
    about = {
        "cost_source": row.target == facts.source_name,
        "cost_tag": facts.dimension == f"cost_tag:{row.target}",
    }
    if not about.get(row.action.partition(".")[0], facts.dimension == "team"):
        return None
    return ChangeEvent(
        at=row.at, what=_EVENT_TEXTS[row.action].format(target=row.target), who=row.actor_label
    )


def _restatement_event(row: AuditEntry, facts: EventFacts) -> ChangeEvent | None:
    earlier = [month for month in row.detail.get("months", ()) if month < f"{row.at:%Y-%m}"]
    if not earlier or row.at.day < LATE or not row.target.startswith(f"{facts.source_name}: "):
        return None
    return ChangeEvent(
        at=row.at, what=f"An import replaced {min(earlier)} of {facts.source_name}.", who=row.actor_label
    )
