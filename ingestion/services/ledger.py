"""The ledger: one row for each push, in the transaction that stores its events. The sum of its rows is the meter.

Rows older than LEDGER_DAYS are added to their month and deleted. Of rejected events a source's newest are kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from uuid import UUID

import msgspec
from django.db import connection

from finops.lake.usage.columns import EventColumns
from finops.lib import clock
from finops.lib.prepared_statements import Statement
from ingestion.models import UsageBatch, UsageSource
from ingestion.parsing import Batch, Rejection
from ingestion.remarks import unlikely_times
from ingestion.services.keys import PushCredential

LEDGER_DAYS = 35
REJECTED_OF_A_PUSH = 10
REJECTED_OF_A_SOURCE = 100
EXCERPT = 500
ERROR = 200

_BATCH = """
INSERT INTO ingestion_usagebatch
       (id, account_id, source_id, origin, received_at, accepted, rejected, duplicates, first_day, last_day,
        unlikely_times, ignored_fields, voided_by_label)
SELECT %s::uuid, %s::bigint, %s::bigint, %s::text, %s::timestamptz, %s::int, %s::int, %s::int, %s::date, %s::date,
       %s::int, %s::jsonb, ''
"""


def insert_of(
    *,
    batch_id: UUID,
    credential: PushCredential,
    received_at: datetime,
    stored: EventColumns,
    duplicates: int,
    rejected: int,
    ignored_fields: Mapping[str, int],
) -> Statement:
    """Return the statement that stores the row of a push."""
    first, last = stored.days() or (None, None)
    values = (
        *(batch_id, credential.account.pk, credential.source_id, UsageBatch.Origin.PUSH.value, received_at),
        *(len(stored) + duplicates, rejected, duplicates, first, last),
        *(unlikely_times(stored, received_at), _as_json(ignored_fields) if len(stored) else None),
    )
    return Statement(_BATCH, values)


def _as_json(ignored_fields: Mapping[str, int]) -> str | None:
    return msgspec.json.encode(ignored_fields).decode() if ignored_fields else None


def write_day_batch(
    *, batch_id: UUID, source: UsageSource, received_at: datetime, day: date, stored: int, rejected: int
) -> None:
    """Write the batch of a day of a pull source."""
    UsageBatch.objects.unscoped().create(
        id=batch_id,
        account_id=source.account_id,
        source=source,
        origin=UsageBatch.Origin.PULL,
        received_at=received_at,
        accepted=stored,
        rejected=rejected,
        first_day=day if stored else None,
        last_day=day if stored else None,
    )


_REJECTED = """
INSERT INTO ingestion_rejectedevent (account_id, source_id, batch, received_at, position, error, excerpt)
SELECT %s, %s, %s, %s, * FROM unnest(%s::int[], %s::text[], %s::text[])
"""


def write_rejected_events(
    *,
    batch_id: UUID,
    account_id: int,
    source_id: int,
    received_at: datetime,
    batch: Batch,
    rejected: Sequence[Rejection],
    offset: int = 0,
) -> None:
    """Store the first few rejected events of a push, `offset` events into the request. No statement if there are
    none."""
    some = rejected[:REJECTED_OF_A_PUSH]
    if not some:
        return
    indexes = [rejection.index for rejection in some]
    excerpts = batch.excerpts(indexes, EXCERPT)
    errors = [rejection.error[:ERROR] for rejection in some]
    values = (
        *(account_id, source_id, batch_id, received_at),
        *([offset + index for index in indexes], errors, excerpts),
    )
    with connection.cursor() as cursor:
        cursor.execute(_REJECTED, values)


# One statement, so that a reader of the meter finds a batch either in the ledger or in the sum. A batch that waits to be
# voided stays in the ledger until then.
_ROLL_UP = """
WITH gone AS (
    DELETE FROM ingestion_usagebatch WHERE id IN (
        SELECT id FROM ingestion_usagebatch WHERE account_id = %(account)s AND received_at < %(before)s
           AND (void_asked_at IS NULL OR voided_at IS NOT NULL)
         ORDER BY received_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED)
    RETURNING received_at, accepted - duplicates AS events, voided_at
), summed AS (
    INSERT INTO ingestion_usagemeter AS meter (account_id, month, events)
    SELECT %(account)s, date_trunc('month', received_at AT TIME ZONE 'UTC')::date, sum(events) FILTER (WHERE voided_at IS NULL)
      FROM gone GROUP BY 2 HAVING count(*) FILTER (WHERE voided_at IS NULL) > 0 ORDER BY 2
    ON CONFLICT (account_id, month) DO UPDATE SET events = meter.events + EXCLUDED.events
)
SELECT count(*) FROM gone
"""
_DUE = """
SELECT id FROM accounts_account a
 WHERE EXISTS (SELECT FROM ingestion_usagebatch b WHERE b.account_id = a.id AND b.received_at < %s)
"""


def roll_up(*, limit: int = 5_000) -> int:
    """Move batches older than LEDGER_DAYS from the ledger to the months' sums; returns their number. A transaction
    every `limit`."""
    before, moved_count = clock.now() - timedelta(days=LEDGER_DAYS), 0
    with connection.cursor() as cursor:
        cursor.execute(_DUE, [before])
        due = [row[0] for row in cursor.fetchall()]
        for account_id in due:
            while True:
                cursor.execute(_ROLL_UP, {"account": account_id, "before": before, "limit": limit})
                some = int((cursor.fetchone() or (0,))[0])
                moved_count += some
                if some < limit:
                    break
    return moved_count


_TOO_MANY = """
DELETE FROM ingestion_rejectedevent WHERE id IN (
    SELECT id FROM (
        SELECT id, row_number() OVER (PARTITION BY source_id ORDER BY received_at DESC, id DESC) AS place
          FROM ingestion_rejectedevent
    ) AS placed WHERE place > %s)
"""


def prune_rejected_events() -> int:
    """Keep only each source's newest rejected events; returns the number of deleted ones."""
    with connection.cursor() as cursor:
        cursor.execute(_TOO_MANY, [REJECTED_OF_A_SOURCE])
        return int(cursor.rowcount)
