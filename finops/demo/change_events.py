"""Change events of Lumenly: deployments on weekdays, purchases of commitments, and the cause of each anomaly of the scenario.
Incidents and purchases are validated like pushed events, by a source with a key; the others are pulled (`finops.demo.replays`)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final

import msgspec

from accounts.audit import Actor
from accounts.models import Account
from finops.change_events.models import ChangeEvent, EventKey, EventSource
from finops.change_events.parsing import check_events
from finops.change_events.services.accept import accept_events
from finops.change_events.services.keys import EventCredential, generate_event_key
from finops.change_events.services.sources import create_event_source
from finops.demo.commitments import COMMITMENTS
from finops.demo.company import SOURCES, SUB_ACCOUNTS, digest, person
from finops.demo.scenario import anomalies
from finops.lib.periods import DateRange, each_day
from ingestion.events import MAX_EVENTS

SOURCE_NAME: Final = "Delivery pipeline"
PULLED_KINDS: Final = ("deployment", "change")
"""Kinds of events in the replay of GitHub (`finops.demo.replays`)."""

BEHIND: Final[dict[str, tuple[str, str, str, str]]] = {
    "nat-loop": ("deployment", "exporter 2.3: retry uploads until they succeed", "maya.okafor", "prod"),
    "debug-logs": ("incident", "payments: time-outs, debug logging on", "sofia.rossi", "prod"),
    "agent-loop": ("change", "research agent runs overnight", "omar.haddad", "ws-research"),
    "full-scan": ("change", "revenue report scheduled without partition filter", "omar.haddad", "analytics"),
    "forgotten-gpu": ("change", "GPU machine started for a test", "sofia.rossi", "sandbox"),
    "cosmos-outage": ("incident", "EU search is down", "maya.okafor", "eu-prod"),
}
"""Anomaly of the scenario -> kind, title, person, account of its event."""

_SERVICES: Final = (
    ("checkout", "Amazon Elastic Compute Cloud", "prod"),
    ("payments-api", "Amazon Relational Database Service", "prod"),
    ("exporter", "Amazon Simple Storage Service", "prod"),
    ("search", "Azure Cosmos DB", "eu-prod"),
    ("warehouse", "BigQuery", "analytics"),
    ("assistant", "Claude API", "ws-product"),
    ("gateway", "Amazon Virtual Private Cloud", "staging"),
    ("audit-trail", "Amazon CloudWatch", "shared"),
)
"""Deployed component, the service it runs on, the account it runs in."""


def ensure_change_events(account: Account, actor: Actor, first: date, last: date) -> int:
    """Push the incidents and purchases of missing days into the account in scope and return how many. Does nothing if the source was
    deleted or its key revoked. A demo that was loaded before the replays existed gets events of every kind."""
    credential = _credential(account, actor)
    if credential is None:
        return 0
    own = ChangeEvent.objects.filter(source_id=credential.source_id)
    newest, has_all = own.first(), own.filter(kind__in=PULLED_KINDS).exists()
    missing_from = newest.occurred_at.date() + timedelta(days=1) if newest else first
    missing = events_on(DateRange(missing_from, last)) if missing_from <= last else ()
    events = [event for event in missing if has_all or event["kind"] not in PULLED_KINDS]
    for start in range(0, len(events), MAX_EVENTS):
        body = msgspec.json.encode({"events": events[start : start + MAX_EVENTS]})
        accept_events(credential=credential, batch=check_events(body))
    return len(events)


def events_on(days: DateRange) -> Iterator[dict[str, Any]]:
    """Return the events of a day as a pipeline sends them; the same at every call."""
    for anomaly in anomalies(days.start, days.end):
        if days.start <= anomaly.start <= days.end:
            kind, title, who, where = BEHIND[anomaly.name]
            scope = {"service": anomaly.service, "account": SUB_ACCOUNTS[where].id}
            yield _event(anomaly.name, anomaly.start, 8, kind, title, who, scope)
    for day in each_day(days):
        for each in COMMITMENTS:
            if (each.month, each.day) == (day.month, day.day):
                scope = {"source": SOURCES[each.source].name, "commitment": each.name}
                title = f"Renewed {each.name}"
                yield _event(each.key, day, 0, "purchase", title, "maya.okafor", scope)
        if day.weekday() < 5:
            yield from _deployments(day)


def _deployments(day: date) -> Iterator[dict[str, Any]]:
    """Two deployments a weekday."""
    for hour in (10, 15):
        place = int(digest("deployment", str(day), hour, length=8), 16)
        name, service, where = _SERVICES[place % len(_SERVICES)]
        scope = {"service": service, "account": SUB_ACCOUNTS[where].id}
        yield _event(name, day, hour, "deployment", f"{name} v{day.toordinal() - 739_000}", "ci", scope)


def _event(
    name: str, day: date, hour: int, kind: str, title: str, who: str, scope: dict[str, str]
) -> dict[str, Any]:
    return {
        "event_id": f"{name}-{day}-{hour}",
        "occurred_at": datetime.combine(day, time(hour), UTC).isoformat(),
        "kind": kind,
        "title": title,
        "actor": who if who == "ci" else person(who),
        "scope": scope,
    }


def _credential(account: Account, actor: Actor) -> EventCredential | None:
    source = EventSource.objects.filter(name=SOURCE_NAME).first()
    if source is None and EventSource.objects.filter(kind=EventSource.Kind.PUSH).exists():
        return None
    if source is None:
        source = create_event_source(account=account, actor=actor, name=SOURCE_NAME)
        generate_event_key(source=source, actor=actor)
    key = EventKey.objects.filter(source=source, revoked_at=None).first()
    if key is None:
        return None
    return EventCredential(key_id=key.pk, source_id=source.pk, account=account, lookup=key.lookup)
