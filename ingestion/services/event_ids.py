"""Event ids: the same event sent again to its source is stored once.

An id is stored for at least 35 days, by the first 128 bits of the SHA-256 of source and id, with a hash of the event's
content: about 150 bytes a row with its index, and a third of a push's speed (docs/ingestion-api.md has the figures).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc
import xxhash
from django.db import connection, transaction

from finops.lake.usage.columns import EventColumns
from finops.lib import clock, prepared_statements
from finops.lib.prepared_statements import UuidArray
from ingestion.events import OTHER_CONTENT
from ingestion.parsing import Batch, Rejection

DAYS = 35


@dataclass(frozen=True, slots=True)
class DedupResult:
    """A batch after deduplication: its new events with their names, and the rest.

    `rounded` counts the events, new or duplicate, whose quantity was rounded.
    """

    events: EventColumns
    names: Sequence[str | None]
    duplicates: int
    rejected: Sequence[Rejection]
    rounded: int


def new_ids_of(batch: Batch, source_id: int) -> dict[bytes, bytes] | None:
    """Return the digests of a batch's ids in their order in the database, each with the content of its event. None if
    an id is in the batch twice."""
    if not any(batch.event_ids):
        return {}
    claims = zip(_digests_of(batch, source_id), contents_of(batch), strict=True)
    with_id = sorted((digest, content) for digest, content in claims if digest is not None)
    contents = dict(with_id)
    return contents if len(contents) == len(with_id) else None


def _digests_of(batch: Batch, source_id: int) -> list[bytes | None]:
    source = b"%d " % source_id
    return [
        None if name is None else sha256(source + name.encode()).digest()[:16] for name in batch.event_ids
    ]


def deduplicate(
    *, account_id: int, source_id: int, batch: Batch, batch_id: UUID | None, is_repeated: bool = False
) -> DedupResult:
    """Separate new events from stored ones, and store the new ids with `batch_id`. `is_repeated`: some are stored.

    Locks the ids until the caller's transaction ends: another push with one of them waits. Without a batch id nothing
    is stored or locked. Cost: one statement, a second if an id exists; none for a batch without ids.
    """
    if not any(batch.event_ids):
        return DedupResult(batch.events, batch.names, 0, batch.rejected, len(batch.rounded))
    digests = _digests_of(batch, source_id)
    contents = contents_of(batch)
    claims = [
        (digest, content) for digest, content in zip(digests, contents, strict=True) if digest is not None
    ]
    first_contents = dict(reversed(claims))
    if batch_id is None:
        stored_contents = _fetch_contents(account_id, first_contents)
    else:
        stored_contents = _remember(
            account_id, batch_id, first_contents, _STORE_SOME if is_repeated else _STORE
        )
    if not stored_contents and len(first_contents) == len(claims):
        return DedupResult(batch.events, batch.names, 0, batch.rejected, len(batch.rounded))
    return _partition(batch, digests, contents, {**first_contents, **stored_contents}, stored_contents)


def contents_of(batch: Batch) -> list[bytes]:
    """Return a value of each event that is equal for events with equal content. A customer's name is not part of the
    event, nor is the time of receipt.

    The texts have no NUL, so that they stay apart. A hash without cryptography: an account that forged two events
    with one value would lose its own event.
    """
    events = batch.events
    texts = (events.customer_ids, events.metrics, events.units, events.dimensions)
    times = events.times.view(pa.int64()).view(pa.binary(8)).cast(pa.binary())
    if batch.untimed:
        times = pc.if_else(pa.array([at in batch.untimed for at in events.positions]), None, times)
    joined = pc.binary_join_element_wise(
        *[pa.array(column, pa.binary()) for column in texts],
        times,
        events.quantities.view(pa.binary(16)).cast(pa.binary()),
        b"\0",
        null_handling="replace",
        null_replacement=b"",
    )
    return list(map(xxhash.xxh3_128_digest, joined.to_pylist()))


def _partition(
    batch: Batch,
    digests: Sequence[bytes | None],
    contents: Sequence[bytes],
    known_contents: Mapping[bytes, bytes],
    stored_digests: Iterable[bytes],
) -> DedupResult:
    known = set(stored_digests)
    new_positions: list[int] = []
    rejected: list[Rejection] = []
    positions = batch.events.positions
    for at, (digest, content) in enumerate(zip(digests, contents, strict=True)):
        if digest is not None and known_contents[digest] != content:
            error = OTHER_CONTENT.replace("event_id", batch.event_id_field, 1)
            rejected.append(Rejection(positions[at], error))
        elif digest not in known:
            new_positions.append(at)
            if digest is not None:
                known.add(digest)
    return DedupResult(
        events=batch.events.take(new_positions),
        names=[batch.names[at] for at in new_positions],
        duplicates=len(batch.events) - len(new_positions) - len(rejected),
        rejected=sorted([*batch.rejected, *rejected], key=lambda rejection: rejection.index),
        rounded=len(set(batch.rounded).difference(rejection.index for rejection in rejected)),
    )


# Migration 0014 has the function, with its reasons.
_STORE = "SELECT ingestion_store_event_ids(%(account)s, %(digests)s, %(contents)s, %(batch)s, %(today)s)"

# The same without the attempt that fails on a known id.
_STORE_SOME = """
WITH stored AS (
    INSERT INTO ingestion_usageeventid (account_id, digest, content, batch, received_on)
    SELECT %(account)s, given.digest, given.content, %(batch)s, %(today)s
      FROM unnest(%(digests)s, %(contents)s) AS given(digest, content)
    ON CONFLICT DO NOTHING RETURNING 1
)
SELECT count(*) FROM stored
"""

_SELECT = """
SELECT uuid_send(digest), uuid_send(content)
  FROM ingestion_usageeventid
 WHERE account_id = %(account)s AND digest = ANY(%(digests)s::uuid[]) AND batch IS DISTINCT FROM %(batch)s
"""


def _remember(
    account_id: int, batch_id: UUID, contents: Mapping[bytes, bytes], statement: str
) -> dict[bytes, bytes]:
    """Store ids; returns those that another batch has already, with their content."""
    digests = sorted(contents)
    params = {
        "account": account_id,
        "digests": UuidArray(digests),
        "contents": UuidArray([contents[digest] for digest in digests]),
        "batch": batch_id,
        "today": clock.today(),
    }
    remembered = 0
    while True:
        [(count,)] = prepared_statements.fetch(statement, params)
        remembered += count
        if remembered == len(digests):
            return {}
        stored_contents = _fetch_contents(account_id, digests, batch_id)
        # An ID that conflicted and was deleted meanwhile (voided or expired) is inserted in the next round.
        if remembered + len(stored_contents) >= len(digests):
            return stored_contents


def _fetch_contents(
    account_id: int, digests: Iterable[bytes], batch_id: UUID | None = None
) -> dict[bytes, bytes]:
    # Not prepared: a plan of an empty table would read the whole table later.
    text = "{" + ",".join(digest.hex() for digest in digests) + "}"
    with connection.cursor() as cursor:
        cursor.execute(_SELECT, {"account": account_id, "digests": text, "batch": batch_id})
        return {bytes(digest): bytes(content) for digest, content in cursor}


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
