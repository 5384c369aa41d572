"""Event ids: the same event sent again is stored once.

An id is stored for at least 35 days, by the first 128 bits of its SHA-256 and of the event's content: about 150 bytes
a row with its index, and half of a push's speed (docs/ingestion-api.md has the figures).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Context
from hashlib import sha256
from uuid import UUID

import msgspec
from django.db import connection, transaction

from finops.lake.usage.payload import InboxEvent
from finops.lib import clock, prepared_statements
from ingestion.events import OTHER_CONTENT
from ingestion.parsing import Batch, Rejection

DAYS = 35

_WIDE = Context(prec=60)
_pack = msgspec.msgpack.Encoder().encode


@dataclass(frozen=True, slots=True)
class DedupResult:
    """A batch after deduplication: its new events with their names, and the rest.

    `rounded` counts the events, new or duplicate, whose quantity was rounded.
    """

    events: Sequence[InboxEvent]
    names: Sequence[str | None]
    duplicates: int
    rejected: Sequence[Rejection]
    rounded: int


def deduplicate(*, account_id: int, batch: Batch, batch_id: UUID | None) -> DedupResult:
    """Separate new events from stored ones, and store the new ids with `batch_id`.

    Locks the ids until the caller's transaction ends: another push with one of them waits. Without a batch id nothing
    is stored or locked. Cost: one statement, a second if an id exists; none for a batch without ids.
    """
    # By index of the event: the hashes of its ID and of its content.
    claims = {
        at: (_digest(name.encode()), content_of(batch.events[at]))
        for at, name in enumerate(batch.event_ids)
        if name is not None
    }
    if not claims:
        return DedupResult(batch.events, batch.names, 0, batch.rejected, len(batch.rounded))
    digests = dict(reversed(claims.values()))  # from the last, so that the first of each id counts
    if batch_id is None:
        stored_contents = _fetch_contents(account_id, digests)
    else:
        stored_contents = _remember(account_id, batch_id, digests)
    return _partition(batch, claims, {**digests, **stored_contents}, stored_contents)


def content_of(event: InboxEvent) -> str:
    """Return a value that is equal for events with equal content. A customer's name is not part of the event."""
    quantity = str(event.quantity.normalize(_WIDE))
    return _digest(
        _pack((event.customer_id, event.metric, event.unit, quantity, event.dimensions, event.event_time))
    )


def _digest(value: bytes) -> str:
    return sha256(value).hexdigest()[:32]


def _partition(
    batch: Batch,
    claims: Mapping[int, tuple[str, str]],
    contents: Mapping[str, str],
    stored_digests: Iterable[str],
) -> DedupResult:
    digests = set(stored_digests)
    new_positions: list[int] = []
    rejected: list[Rejection] = []
    for at, event in enumerate(batch.events):
        digest, content = claims.get(at, ("", ""))
        if digest and contents[digest] != content:
            rejected.append(Rejection(event.position, OTHER_CONTENT))
        elif digest not in digests:
            new_positions.append(at)
            if digest:
                digests.add(digest)
    return DedupResult(
        events=[batch.events[at] for at in new_positions],
        names=[batch.names[at] for at in new_positions],
        duplicates=len(batch.events) - len(new_positions) - len(rejected),
        rejected=sorted([*batch.rejected, *rejected], key=lambda one: one.index),
        rounded=len(set(batch.rounded).difference(one.index for one in rejected)),
    )


# In the order of the IDs, so that two pushes with the same IDs do not deadlock.
_INSERT = """
INSERT INTO ingestion_usageeventid (account_id, digest, content, batch, received_on)
SELECT %(account)s, asked.digest, asked.content, %(batch)s, %(today)s
  FROM unnest(%(digests)s::uuid[], %(contents)s::uuid[]) AS asked(digest, content)
 ORDER BY asked.digest
ON CONFLICT DO NOTHING
"""

_SELECT = """
SELECT replace(digest::text, '-', ''), replace(content::text, '-', '')
  FROM ingestion_usageeventid
 WHERE account_id = %(account)s AND digest = ANY(%(digests)s::uuid[]) AND batch IS DISTINCT FROM %(batch)s
"""


def _remember(account_id: int, batch_id: UUID, digests: Mapping[str, str]) -> dict[str, str]:
    """Store ids; returns those that another batch has already, with their content."""
    params: dict[str, int | str | date | UUID] = {
        "account": account_id,
        "batch": batch_id,
        "today": clock.today(),
        "digests": _array(digests),
        "contents": _array(digests.values()),
    }
    remembered = 0
    while True:
        remembered += prepared_statements.execute(_INSERT, params)
        if remembered == len(digests):
            return {}
        stored_contents = _fetch_contents(account_id, digests, batch_id)
        # An ID that conflicted and was deleted meanwhile (voided or expired) is inserted in the next round.
        if remembered + len(stored_contents) >= len(digests):
            return stored_contents


def _fetch_contents(account_id: int, digests: Iterable[str], batch_id: UUID | None = None) -> dict[str, str]:
    with connection.cursor() as cursor:
        cursor.execute(_SELECT, {"account": account_id, "digests": _array(digests), "batch": batch_id})
        return dict(cursor.fetchall())


def _array(hashes: Iterable[str]) -> str:
    """Return PostgreSQL's text of an array: one string costs a tenth of a thousand parameters."""
    return "{" + ",".join(hashes) + "}"


PAGES_AT_ONCE = 4_096


def expire(before: date, *, pages: int = PAGES_AT_ONCE) -> int:
    """Delete the ids received before a day; returns their number. Reads the table once, with a transaction every 32
    MB of it."""
    deleted_count, at, end = 0, 0, _pages()
    while at < end:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(
                "DELETE FROM ingestion_usageeventid WHERE ctid >= %s::tid AND ctid < %s::tid AND received_on < %s",
                [f"({at},0)", f"({at + pages},0)", before],
            )
            deleted_count += cursor.rowcount
        at += pages
    return deleted_count


def _pages() -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_relation_size('ingestion_usageeventid') / current_setting('block_size')::int"
        )
        row = cursor.fetchone()
    return int(row[0]) if row else 0
