"""Storing a piece of an uploaded file: its events, its refused lines, and that it is done, in one transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from django.db import connection, transaction
from msgspec import structs

from finops.lib import clock
from finops.lib.jobs import Canceled
from ingestion.csvfile import Piece
from ingestion.models import RejectedLine, UsageUpload
from ingestion.parsing import Batch, Rejection, check_batch
from ingestion.services import dimension_keys, event_ids
from ingestion.services.accept import store_events
from ingestion.services.event_ids import Judged
from ingestion.services.ledger import EXCERPT
from ingestion.services.voiding import piece_ids

LINES_KEPT: Final = 10_000
"""Refused lines of an upload that its report has one by one."""

REASONS_KEPT: Final = 50
OTHER_REASONS: Final = "other reasons"


class Lost(Exception):
    """Another process has taken this upload up; this one must leave no effect."""


@transaction.atomic
def store_piece(*, job: UsageUpload, piece: Piece) -> None:
    """Store a piece under the rules of a push; `job` says afterwards how far the upload is.

    Raises Lost when the upload is not this attempt's any more, Canceled when a person canceled it. Locks: the upload's row, then as a push does.
    """
    _fence(job)
    batch = check_batch(piece.body)
    excerpts = _excerpts(batch, piece)
    by_line = Batch(
        events=[structs.replace(event, position=piece.lines[event.position]) for event in batch.events],
        names=batch.names,
        event_ids=batch.event_ids,
        rejected=[Rejection(piece.lines[one.index], one.error) for one in batch.rejected],
        rounded=[piece.lines[at] for at in batch.rounded],
    )
    by_line, _keys = dimension_keys.admit(account_id=job.account_id, source_id=job.source_id, batch=by_line)
    under = piece_ids(job.batch, job.pieces + 1)[-1]
    judged = event_ids.judge(account_id=job.account_id, batch=by_line, batch_id=under)
    refused = sorted([*((one.index, one.error) for one in judged.rejected), *piece.refused])
    store_events(
        account=job.account,
        source_id=job.source_id,
        batch=job.batch,
        received_at=clock.now(),
        judged=judged,
    )
    _write_ledger(job, judged, len(refused))
    _keep_lines(job, refused, excerpts)
    _move_on(job, piece, judged, refused)


def _fence(job: UsageUpload) -> None:
    # Unscoped: a worker names the row itself.
    rows = UsageUpload.objects.unscoped().select_for_update()
    mine = rows.filter(pk=job.pk, status=UsageUpload.Status.RUNNING, attempts=job.attempts, rows=job.rows)
    found = mine.values_list("cancel_requested_at").first()
    if found is None:
        raise Lost
    if found != (None,):
        raise Canceled


def check_not_canceled(job: UsageUpload) -> None:
    """Raise Canceled as `store_piece` does, without storing anything."""
    # Unscoped: a worker names the row itself.
    if UsageUpload.objects.unscoped().filter(pk=job.pk).exclude(cancel_requested_at=None).exists():
        raise Canceled


def _excerpts(batch: Batch, piece: Piece) -> dict[int, str]:
    """By line; also of events whose id may turn out to be another's."""
    places = sorted({one.index for one in batch.rejected} | _with_ids(batch))
    return dict(zip((piece.lines[at] for at in places), batch.excerpts(places, EXCERPT), strict=True))


def _with_ids(batch: Batch) -> set[int]:
    named = zip(batch.events, batch.event_ids, strict=True)
    return {event.position for event, name in named if name is not None}


_LEDGER = """
INSERT INTO ingestion_usagebatch AS was
       (id, account_id, source_id, origin, received_at, accepted, rejected, duplicates, first_day, last_day, voided_by_label)
VALUES (%s, %s, %s, 'upload', %s, %s, %s, %s, %s, %s, '')
ON CONFLICT (id) DO UPDATE SET
       accepted = was.accepted + EXCLUDED.accepted,
       rejected = was.rejected + EXCLUDED.rejected,
       duplicates = was.duplicates + EXCLUDED.duplicates,
       first_day = least(was.first_day, EXCLUDED.first_day),
       last_day = greatest(was.last_day, EXCLUDED.last_day)
"""


def _write_ledger(job: UsageUpload, judged: Judged, rejected: int) -> None:
    """The upload's one row grows. It is of the month in which the file was received, however long it runs."""
    days = [event.event_time.date() for event in judged.events]
    accepted = len(judged.events) + judged.duplicates
    values = (
        *(job.batch, job.account_id, job.source_id, job.created_at, accepted, rejected, judged.duplicates),
        *((min(days), max(days)) if days else (None, None)),
    )
    with connection.cursor() as cursor:
        cursor.execute(_LEDGER, values)


def _keep_lines(job: UsageUpload, refused: Sequence[tuple[int, str]], excerpts: dict[int, str]) -> None:
    room = max(0, LINES_KEPT - job.rejected)
    RejectedLine.objects.unscoped().bulk_create(
        RejectedLine(account=job.account, upload=job, line=line, error=error, excerpt=excerpts.get(line, ""))
        for line, error in refused[:room]
    )


def _move_on(job: UsageUpload, piece: Piece, judged: Judged, refused: Sequence[tuple[int, str]]) -> None:
    job.rows += piece.rows
    job.pieces += 1
    job.bytes_done = min(piece.bytes_done, job.bytes_total)
    job.accepted += len(judged.events) + judged.duplicates
    job.duplicates += judged.duplicates
    job.rejected += len(refused)
    job.rounded += judged.rounded
    job.reasons = _added_up(job.reasons, refused)
    job.save(
        update_fields=[
            *("rows", "pieces", "bytes_done", "accepted", "duplicates", "rejected", "rounded", "reasons"),
        ]
    )


def _added_up(reasons: dict[str, int], refused: Sequence[tuple[int, str]]) -> dict[str, int]:
    found = Counter(reasons)
    for _line, error in refused:
        known = error in found or len(found) < REASONS_KEPT
        found[error if known else OTHER_REASONS] += 1
    return dict(found)
