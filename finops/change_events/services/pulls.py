"""Change events pulled from a vendor: a month of a source is replaced by what the vendor has now.

An event is identified by its event id, so a month that is read twice counts once, and changes of an event (such as
the status of a deployment) are stored. Events that the vendor no longer has are deleted, also from the meter:
otherwise events of a repository that was removed from the settings, or of a mistaken release, would stay candidates
forever. Each event is validated alone, by the rules of pushed ones.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, date, datetime
from itertools import islice
from pathlib import Path
from typing import Final

from django.db import transaction
from django.db.models import F

from accounts.scoping import account_scope
from finops.change_events.event_rules import NewEvent
from finops.change_events.models import ChangeEvent, EventMonth, EventSource
from finops.change_events.parsing import check_events
from finops.change_events.services.accept import count_events
from finops.change_events.services.keys import lock_source
from finops.lib import clock
from finops.lib.advisory_lock import lock_until_commit
from finops.lib.periods import add_months, month_start
from ingestion.events import MAX_EVENTS
from ingestion.parsing import Rejection

_FIELDS: Final = ("occurred_at", "kind", "title", "actor", "url", "scope")


@dataclasses.dataclass(frozen=True, slots=True)
class PulledMonth:
    """The result for a month of a source. `error` is the first reason for which an event was rejected."""

    events: int
    rejected: int = 0
    error: str = ""


@transaction.atomic
def store_event_month(
    *,
    source: EventSource,
    month: date,
    path: Path | None,
    checkpoint: Callable[[], None] = lambda: None,
) -> PulledMonth:
    """Replace a month (UTC) of a pull source by the events of a file: one JSON object a line, like a pushed event,
    with an event id. Without a file the month becomes empty. All or nothing.

    `checkpoint` is called every thousand events and may raise, which leaves the month unchanged. Raises UserError for
    a deleted source.
    """
    lock_until_commit(f"change events of source {source.pk}")
    lock_source(source)
    with account_scope(source.account):
        store = _MonthStore(source, month)
        for lines in _chunks(path):
            checkpoint()
            batch = check_events(b'{"events":[%b]}' % b",".join(lines))
            store.reject(batch.rejected)
            store.put(batch.events)
        checkpoint()
        return store.end()


class _MonthStore:
    """Stores the events of a month. The account is in scope, in a transaction that holds the source."""

    def __init__(self, source: EventSource, month: date) -> None:
        self._source, self._now = source, clock.now()
        self._start, self._end = _midnight(month), _midnight(add_months(month, 1))
        rows = ChangeEvent.objects.filter(
            source=source, occurred_at__gte=self._start, occurred_at__lt=self._end
        )
        self._vanished = dict(rows.values_list("external_id", "pk"))
        self._ids: set[str] = set()
        self._created = self._rejected = 0
        self._error = ""

    def reject(self, rejected: Sequence[Rejection]) -> None:
        self._rejected += len(rejected)
        self._error = self._error or next((each.error for each in rejected), "")

    def put(self, events: Iterable[NewEvent]) -> None:
        """Store an event. An event that occurs twice in the file counts once: vendors' lists can shift while they are
        read."""
        new = {event.event_id: event for event in events if event.event_id not in self._ids}
        self._ids.update(new)
        rows = {
            row.external_id: row
            for row in ChangeEvent.objects.filter(source=self._source, external_id__in=new)
        }
        changed = [row for id_, row in rows.items() if self._change(row, new[id_])]
        ChangeEvent.objects.bulk_update(changed, _FIELDS)
        created = [self._new(event) for id_, event in new.items() if id_ not in rows]
        ChangeEvent.objects.bulk_create(created)
        self._created += len(created)
        for id_ in rows:
            self._vanished.pop(id_, None)

    def end(self) -> PulledMonth:
        self._remove()
        if self._created:
            count_events(account=self._source.account, source_id=self._source.pk, stored=self._created)
        return PulledMonth(len(self._ids), self._rejected, self._error)

    def _new(self, event: NewEvent) -> ChangeEvent:
        row = ChangeEvent(
            account=self._source.account,
            source=self._source,
            external_id=event.event_id,
            received_at=self._now,
        )
        self._change(row, event)
        return row

    def _change(self, row: ChangeEvent, event: NewEvent) -> bool:
        """Whether the event differs from the stored one. Raises ValueError for an event outside the month, since our
        own connectors write the file."""
        if (
            not event.event_id
            or event.occurred_at is None
            or not self._start <= event.occurred_at < self._end
        ):
            raise ValueError("A pulled event has no event id, or is of another month.")
        before = [getattr(row, name) for name in _FIELDS]
        for name in _FIELDS:
            setattr(row, name, getattr(event, name))
        return before != [getattr(row, name) for name in _FIELDS]

    def _remove(self) -> None:
        rows = ChangeEvent.objects.filter(source=self._source, pk__in=self._vanished.values())
        months = Counter(month_start(at.date()) for at in rows.values_list("received_at", flat=True))
        rows.delete()
        for month, events in months.items():
            meters = EventMonth.objects.filter(source=self._source, month=month)
            meters.update(events=F("events") - events)


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def _chunks(path: Path | None) -> Iterator[list[bytes]]:
    """Chunks of a thousand lines."""
    if path is None:
        return
    with path.open("rb") as file:
        while lines := list(islice(file, MAX_EVENTS)):
            yield lines
