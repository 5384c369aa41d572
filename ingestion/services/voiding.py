"""Voids a batch: its events leave every answer and the meter; the ledger keeps its row."""

from __future__ import annotations

from typing import Final
from uuid import UUID, uuid5

from django.db import connection, transaction
from django.db.models import QuerySet

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account
from finops.lake.storage import locks
from finops.lake.usage import usage_removal
from finops.lib import clock, time_limit
from finops.lib.errors import UserError
from finops.worker.broker import publish
from ingestion.models import UsageBatch, UsageUpload

VOID_TASK: Final = "ingestion.void_asked"
AT_ONCE: Final = 2_000_000
"""Maximum number of rows that are rewritten while the person waits: about two seconds. A worker voids larger batches.
"""


@transaction.atomic
def void_usage_batch(*, batch: UsageBatch, actor: Actor) -> UsageBatch:
    """Remove a batch's events from all answers and the meter; its event ids may be sent again.

    Returns the updated batch: voided, or being voided by a worker if many rows must be read. Idempotent. Raises
    UserError for an upload in progress. Person and time are stored in the batch and the audit log.
    """
    at_once = _rows_to_scan(batch) <= AT_ONCE
    if at_once:
        # Locked before any row, as when a source or the account is deleted.
        locks.lock_usage(batch.account)
    # Unscoped: the batch names its account. The upload's row comes first, as when a chunk of it is stored.
    upload = _upload_of(batch.pk)
    rows = UsageBatch.objects.unscoped().select_for_update(of=("self",)).select_related("account")
    row = rows.filter(pk=batch.pk).first()
    if row is None:
        raise UserError("This batch was deleted with its account.")
    if row.voided_at or row.void_asked_at:
        return row
    if upload is not None and upload.is_unfinished:
        raise UserError("This upload is still in progress. Void it when it has finished.")
    events = row.stored_count
    row.void_asked_at, row.voided_by_label = clock.now(), actor.label[:254]
    row.save(update_fields=["void_asked_at", "voided_by_label"])
    if at_once:
        _void(row, upload)
    else:
        account_id = row.account_id
        transaction.on_commit(lambda: publish(VOID_TASK, account_id, expires=3600))
    source = row.source
    audit.record(
        account=row.account,
        actor=actor,
        action="usage_batch.void",
        target=source.name if source else "",
        detail={"batch": str(row.pk), "received_at": row.received_at.isoformat(), "events": events},
    )
    return row


def accounts_with_requested_voids() -> list[int]:
    """Return the ids of accounts with batches that wait to be voided."""
    # Unscoped: the queue serves every account.
    return list(_requested_voids().order_by("account").values_list("account", flat=True).distinct())


def void_requested_batches(*, account: Account) -> int:
    """Void the waiting batches of an account, a transaction each; returns their number. A batch voided by another
    process is skipped.

    Raises the error of `time_limit.check` when the task's time is over; batches voided so far stay voided.
    """
    voided_count = 0
    for pk in list(_requested_voids().filter(account=account).values_list("pk", flat=True)):
        time_limit.check()
        with transaction.atomic():
            locks.lock_usage(account)
            upload = _upload_of(pk)
            rows = (
                _requested_voids().select_for_update(of=("self",), skip_locked=True).select_related("account")
            )
            row = rows.filter(pk=pk).first()
            if row is not None:
                _void(row, upload)
                voided_count += 1
    return voided_count


def _requested_voids() -> QuerySet[UsageBatch]:
    # Unscoped: a worker names the account itself.
    return UsageBatch.objects.unscoped().filter(void_asked_at__isnull=False, voided_at__isnull=True)


def _rows_to_scan(row: UsageBatch) -> int:
    if row.first_day is None or row.last_day is None or row.source_id is None:
        return 0
    return usage_removal.rows_to_scan(
        account=row.account, source_id=row.source_id, first_day=row.first_day, last_day=row.last_day
    )


def _upload_of(batch: UUID) -> UsageUpload | None:
    return UsageUpload.objects.unscoped().select_for_update().filter(batch=batch).first()


def _void(row: UsageBatch, upload: UsageUpload | None) -> None:
    """Void in the caller's transaction, which locks both rows."""
    if row.first_day is not None and row.last_day is not None and row.source_id is not None:
        usage_removal.void_batch(
            account=row.account,
            source_id=row.source_id,
            batch=row.pk,
            first_day=row.first_day,
            last_day=row.last_day,
        )
    _forget_ids(row.account_id, [row.pk] if upload is None else chunk_ids(upload.batch, upload.chunks))
    if upload is not None:
        upload.status = UsageUpload.Status.VOIDED
        upload.save(update_fields=["status"])
    row.voided_at = clock.now()
    row.save(update_fields=["voided_at"])


def chunk_ids(batch: UUID, chunks: int) -> list[UUID]:
    """Return the ids under which event ids of an upload are stored: one for each of its chunks.

    Not the batch's own id for all: a repeated id in a file must be recognized as another chunk's.
    """
    return [uuid5(batch, str(number)) for number in range(chunks)]


def _forget_ids(account_id: int, batches: list[UUID]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM ingestion_usageeventid WHERE account_id = %s AND batch = ANY(%s)",
            [account_id, batches],
        )
