"""Stores a chunk of an uploaded file in one transaction: its events, its rejected lines, and the progress."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from django.db import connection, transaction
from msgspec import structs

from finops.lib import clock
from finops.lib.jobs import JobCancellation
from ingestion.csvfile import Chunk
from ingestion.models import RejectedLine, UsageUpload
from ingestion.parsing import Batch, Rejection, check_batch
from ingestion.remarks import unlikely_times
from ingestion.services import dimension_keys, event_ids
from ingestion.services.accept import store_events
from ingestion.services.event_ids import DedupResult
from ingestion.services.ledger import EXCERPT
from ingestion.services.voiding import chunk_ids

MAX_REJECTED_LINES: Final = 10_000
"""Maximum number of rejected lines listed in the report of an upload."""

MAX_REASONS: Final = 50
OTHER_REASONS: Final = "other reasons"


class SupersededAttemptError(Exception):
    """Another process claimed this upload; this process must write nothing."""


@transaction.atomic
def store_chunk(*, job: UsageUpload, chunk: Chunk) -> None:
    """Store a chunk by the rules of a push; `job` has the new progress of the upload.

    Raises SupersededAttemptError if this attempt no longer owns the upload, JobCancellation if a person canceled it.
    Locks: the upload's row, then as a push does.
    """
    _fence(job)
    batch = check_batch(chunk.body)
    excerpts = _excerpts(batch, chunk)
    by_line = Batch(
        events=structs.replace(batch.events, positions=[chunk.lines[at] for at in batch.events.positions]),
        names=batch.names,
        event_ids=batch.event_ids,
        rejected=[Rejection(chunk.lines[rejection.index], rejection.error) for rejection in batch.rejected],
        rounded=[chunk.lines[at] for at in batch.rounded],
    )
    by_line = dimension_keys.admit(account_id=job.account_id, source_id=job.source_id, batch=by_line)
    chunk_id = chunk_ids(job.batch, job.chunks + 1)[-1]
    dedup_result = event_ids.deduplicate(
        account_id=job.account_id, source_id=job.source_id, batch=by_line, batch_id=chunk_id
    )
    rejections = sorted(
        [*((rejection.index, rejection.error) for rejection in dedup_result.rejected), *chunk.rejections]
    )
    store_events(
        account=job.account,
        source_id=job.source_id,
        batch=job.batch,
        received_at=clock.now(),
        dedup_result=dedup_result,
    )
    _write_ledger(job, dedup_result, len(rejections))
    _keep_lines(job, rejections, excerpts)
    _move_on(job, chunk, dedup_result, rejections)


def _fence(job: UsageUpload) -> None:
    # Unscoped: a worker names the row itself.
    rows = UsageUpload.objects.unscoped().select_for_update()
    attempt = rows.filter(pk=job.pk, status=UsageUpload.Status.RUNNING, attempts=job.attempts, rows=job.rows)
    row = attempt.values_list("cancel_requested_at").first()
    if row is None:
        raise SupersededAttemptError
    if row != (None,):
        raise JobCancellation


def check_cancellation(job: UsageUpload) -> None:
    """Store nothing. Raises JobCancellation as `store_chunk` does."""
    # Unscoped: a worker names the row itself.
    if UsageUpload.objects.unscoped().filter(pk=job.pk).exclude(cancel_requested_at=None).exists():
        raise JobCancellation


def _excerpts(batch: Batch, chunk: Chunk) -> dict[int, str]:
    """Return excerpts by line; also of events whose id may turn out to belong to another event."""
    pairs = zip(batch.events.positions, batch.event_ids, strict=True)
    with_ids = {position for position, name in pairs if name is not None}
    places = sorted({rejection.index for rejection in batch.rejected} | with_ids)
    return dict(zip((chunk.lines[at] for at in places), batch.excerpts(places, EXCERPT), strict=True))


_LEDGER = """
INSERT INTO ingestion_usagebatch AS was
       (id, account_id, source_id, origin, received_at, accepted, rejected, duplicates, first_day, last_day,
        unlikely_times, voided_by_label)
VALUES (%s, %s, %s, 'upload', %s, %s, %s, %s, %s, %s, %s, '')
ON CONFLICT (id) DO UPDATE SET
       accepted = was.accepted + EXCLUDED.accepted,
       rejected = was.rejected + EXCLUDED.rejected,
       duplicates = was.duplicates + EXCLUDED.duplicates,
       first_day = least(was.first_day, EXCLUDED.first_day),
       last_day = greatest(was.last_day, EXCLUDED.last_day),
       unlikely_times = was.unlikely_times + EXCLUDED.unlikely_times
"""


def _write_ledger(job: UsageUpload, dedup_result: DedupResult, rejected: int) -> None:
    """Update the upload's ledger row. Its month is that of the file's receipt, however long the upload runs."""
    accepted = len(dedup_result.events) + dedup_result.duplicates
    values = (
        *(job.batch, job.account_id, job.source_id, job.created_at),
        *(accepted, rejected, dedup_result.duplicates),
        *(dedup_result.events.days() or (None, None)),
        unlikely_times(dedup_result.events, job.created_at),
    )
    with connection.cursor() as cursor:
        cursor.execute(_LEDGER, values)


def _keep_lines(job: UsageUpload, rejections: Sequence[tuple[int, str]], excerpts: dict[int, str]) -> None:
    room = max(0, MAX_REJECTED_LINES - job.rejected)
    RejectedLine.objects.unscoped().bulk_create(
        RejectedLine(account=job.account, upload=job, line=line, error=error, excerpt=excerpts.get(line, ""))
        for line, error in rejections[:room]
    )


def _move_on(
    job: UsageUpload, chunk: Chunk, dedup_result: DedupResult, rejections: Sequence[tuple[int, str]]
) -> None:
    job.rows += chunk.rows
    job.chunks += 1
    job.bytes_done = min(chunk.bytes_done, job.bytes_total)
    job.accepted += len(dedup_result.events) + dedup_result.duplicates
    job.duplicates += dedup_result.duplicates
    job.rejected += len(rejections)
    job.rounded += dedup_result.rounded
    job.reasons = _count_reasons(job.reasons, rejections)
    counts = ("rows", "chunks", "bytes_done", "accepted", "duplicates", "rejected", "rounded", "reasons")
    job.save(update_fields=counts)


def _count_reasons(reasons: dict[str, int], rejections: Sequence[tuple[int, str]]) -> dict[str, int]:
    counts = Counter(reasons)
    for _line, error in rejections:
        has_room = error in counts or len(counts) < MAX_REASONS
        counts[error if has_room else OTHER_REASONS] += 1
    return dict(counts)
