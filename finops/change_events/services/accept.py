"""Accepts pushed events: a request is stored whole or not at all, and only with a key that is active until the
commit.

Every push takes its locks in one order: the key, the Idempotency-Key, the source's event ids.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import msgspec
from django.db import transaction
from django.db.models import F

from accounts.models import Account
from accounts.scoping import account_scope
from finops.change_events.event_rules import OTHER_CONTENT, NewEvent
from finops.change_events.models import ChangeEvent, EventMonth
from finops.change_events.parsing import EventBatch
from finops.change_events.services.keys import EventCredential, lock_active_key
from finops.lib import clock
from finops.lib.advisory_lock import lock_until_commit
from finops.lib.periods import month_start
from ingestion.parsing import Rejection
from ingestion.remarks import (
    AHEAD,
    FIRST_LIKELY,
    ignored_fields_sentence,
    most_frequent,
    unlikely_times_sentence,
)
from ingestion.services import RevokedKeyError, idempotency
from ingestion.services.idempotency import Receipt, Result, Retry


@dataclasses.dataclass(frozen=True)
class Partition:
    """A batch by its event ids: new events, and events that are stored already."""

    events: Sequence[NewEvent]
    duplicates: int
    rejected: Sequence[Rejection]


@transaction.atomic
def accept_events(
    *, credential: EventCredential, batch: EventBatch, retry: Retry | None = None, dry_run: bool = False
) -> Receipt:
    """Store the new events of a batch. A retry of a stored batch returns its original response; a dry run returns the
    response it would get, and stores nothing.

    Raises RevokedKeyError if the key is no longer active, and IdempotencyKeyConflict.
    """
    if not lock_active_key(credential.key_id):
        raise RevokedKeyError
    account = credential.account
    if retry is not None:
        ask = idempotency.find if dry_run else idempotency.claim
        if stored := ask(account_id=account.pk, retry=retry):
            return stored
    if not dry_run:
        lock_until_commit(f"change events of source {credential.source_id}")
    with account_scope(account):
        partition = _partition(batch, _contents_by_event_id(credential.source_id, batch.events))
        if not dry_run:
            _store(credential, partition)
    receipt = _receipt(batch, partition, dry_run=dry_run)
    if retry is not None and not dry_run:
        idempotency.store_answer(account_id=account.pk, retry=retry, receipt=receipt)
    return receipt


def _contents_by_event_id(source_id: int, events: Iterable[NewEvent]) -> dict[str, tuple[Any, ...]]:
    """The stored contents of the source's events with these ids, by id."""
    ids = {event.event_id for event in events if event.event_id}
    if not ids:
        return {}
    rows = ChangeEvent.objects.filter(source_id=source_id, external_id__in=ids)
    return {row.external_id: _content(row.occurred_at, row) for row in rows}


def _content(occurred_at: datetime | None, event: ChangeEvent | NewEvent) -> tuple[Any, ...]:
    return occurred_at, event.kind, event.title, event.actor, event.url, event.scope


def _partition(batch: EventBatch, contents: dict[str, tuple[Any, ...]]) -> Partition:
    new: list[NewEvent] = []
    rejected = [*batch.rejected]
    duplicates = 0
    for event in batch.events:
        content = _content(event.occurred_at, event)
        stored = contents.get(event.event_id) if event.event_id else None
        if stored is None:
            new.append(event)
            contents.setdefault(event.event_id, content)
        elif content[1:] == stored[1:] and (None in (content[0], stored[0]) or content[0] == stored[0]):
            duplicates += 1
        else:
            rejected.append(Rejection(event.position, OTHER_CONTENT))
    return Partition(new, duplicates, sorted(rejected, key=lambda each: each.index))


def _store(credential: EventCredential, partition: Partition) -> None:
    now = clock.now()
    ChangeEvent.objects.bulk_create(
        ChangeEvent(
            account=credential.account,
            source_id=credential.source_id,
            external_id=event.event_id,
            occurred_at=event.occurred_at or now,
            kind=event.kind,
            title=event.title,
            actor=event.actor,
            url=event.url,
            scope=event.scope,
            received_at=now,
        )
        for event in partition.events
    )
    count_events(
        account=credential.account,
        source_id=credential.source_id,
        stored=len(partition.events),
        duplicates=partition.duplicates,
        rejected=len(partition.rejected),
    )


def count_events(
    *, account: Account, source_id: int, stored: int, duplicates: int = 0, rejected: int = 0
) -> None:
    """Add to the meter of the account in scope, in the caller's transaction."""
    month = month_start(clock.today())
    row, _is_new = EventMonth.objects.get_or_create(account=account, source_id=source_id, month=month)
    EventMonth.objects.filter(pk=row.pk).update(
        events=F("events") + stored,
        duplicates=F("duplicates") + duplicates,
        rejected=F("rejected") + rejected,
    )


def _receipt(batch: EventBatch, partition: Partition, *, dry_run: bool) -> Receipt:
    accepted, rejected = len(partition.events) + partition.duplicates, partition.rejected
    latest = clock.now() + AHEAD
    times = [event.occurred_at for event in batch.events if event.occurred_at is not None]
    unlikely_times = sum(not FIRST_LIKELY <= moment <= latest for moment in times)
    headers = {
        "Events-Rejected": str(len(rejected)),
        "Events-Duplicates": str(partition.duplicates),
        "Events-Unlikely-Times": str(unlikely_times),
        "Events-Ignored-Fields": str(batch.ignored.count),
    }
    fields = most_frequent(batch.ignored.names)
    warnings = [unlikely_times_sentence(unlikely_times)] if unlikely_times else []
    warnings += [ignored_fields_sentence(fields, choice="")] if fields else []
    return Receipt(
        msgspec.json.encode(Result(accepted, len(rejected), rejected, (warnings if dry_run else []) or ())),
        headers,
    )
