"""Derived change events: computed from cost and settings, and stored so that lists and charts treat them like all
others."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from datetime import UTC, date, datetime, time
from decimal import Decimal
from hashlib import sha256
from typing import Final

from django.db import transaction

from accounts.models import Account
from accounts.scoping import account_scope
from finops.change_events.models import MAX_ACTOR, MAX_TITLE, ChangeEvent
from finops.lib.advisory_lock import lock_until_commit
from finops.lib.sentences import truncate

NOON: Final = time(12, tzinfo=UTC)
_FIELDS: Final = ("occurred_at", "kind", "title", "actor", "url", "scope")


@dataclasses.dataclass(frozen=True, kw_only=True)
class DerivedEvent:
    """A derived event. `key` identifies it, and `weight` decides which are kept if there are too many. An event of a
    day is at noon (UTC); `at` is its time, if known."""

    key: tuple[str, ...]
    day: date
    kind: str
    title: str
    at: datetime | None = None
    actor: str = ""
    url: str = ""
    scope: dict[str, list[str]] = dataclasses.field(default_factory=dict)
    weight: Decimal = Decimal(0)

    @property
    def event_id(self) -> str:
        text = "\0".join((*self.key, str(self.day)))
        return f"derived/{sha256(text.encode()).hexdigest()}"

    @property
    def occurred_at(self) -> datetime:
        return self.at or datetime.combine(self.day, NOON)


@transaction.atomic
def store_derived_events(*, account: Account, since: date, events: Collection[DerivedEvent]) -> int:
    """Replace the account's derived events since a day by these, and return the number of new ones. Events that are
    no longer derived are deleted, changed ones are updated, older ones stay. Idempotent."""
    lock_until_commit(f"derived change events of account {account.pk}")
    first = datetime.combine(since, time.min, UTC)
    with account_scope(account):
        derived = ChangeEvent.objects.filter(origin=ChangeEvent.Origin.DERIVED)
        events_by_id = {event.event_id: event for event in events if event.day >= since}
        rows = {
            row.external_id: row
            for row in [
                *derived.filter(occurred_at__gte=first),
                *derived.filter(external_id__in=events_by_id),
            ]
        }
        derived.filter(pk__in=[row.pk for id_, row in rows.items() if id_ not in events_by_id]).delete()
        changed = [
            row for id_, row in rows.items() if id_ in events_by_id and _change(row, events_by_id[id_])
        ]
        ChangeEvent.objects.bulk_update(changed, _FIELDS)
        new = [_new(account, event) for id_, event in events_by_id.items() if id_ not in rows]
        ChangeEvent.objects.bulk_create(new)
    return len(new)


def _new(account: Account, event: DerivedEvent) -> ChangeEvent:
    row = ChangeEvent(account=account, origin=ChangeEvent.Origin.DERIVED, external_id=event.event_id)
    _change(row, event)
    return row


def _change(row: ChangeEvent, event: DerivedEvent) -> bool:
    before = [getattr(row, name) for name in _FIELDS]
    row.occurred_at, row.kind, row.url = event.occurred_at, event.kind, event.url
    row.title, row.actor = truncate(event.title, MAX_TITLE), truncate(event.actor, MAX_ACTOR)
    row.scope = event.scope
    return before != [getattr(row, name) for name in _FIELDS]
