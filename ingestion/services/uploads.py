"""Backfill by file: a request queues an upload, and a worker stores it chunk by chunk, each event once.

A chunk of a thousand lines is one transaction, which also stores the progress: after kill -9 at any moment the next
worker continues with the line after the last stored one. All chunks are one batch, so an upload is voided as one. A
file, identified by its SHA-256, is accepted once in an account, until its events are voided; a file without stored
events is accepted again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

from django.core.files.uploadedfile import UploadedFile
from django.db import IntegrityError, connection, transaction
from django.db.models import Q, QuerySet

from accounts import audit
from accounts.audit import Actor
from accounts.limits import limit_of
from accounts.models import Account
from finops.lib import child_process, clock, disk
from finops.lib.advisory_lock import advisory_lock
from finops.lib.child_process import ChildOutcome
from finops.lib.errors import UserError
from finops.lib.jobs import (
    CANCEL_GRACE_PERIOD,
    AttemptFence,
    JobCancellation,
    JobDeadline,
    check_job_limit,
    count_outcome,
    failure_in_child,
    too_much_memory,
)
from finops.lib.telemetry import metrics
from finops.notifications.models import Notification
from finops.notifications.services import notify, page_path
from finops.worker.broker import publish
from ingestion import csvfile
from ingestion.models import UsageBatch, UsageSource, UsageUpload
from ingestion.services import upload_files
from ingestion.services.chunks import SupersededAttemptError, check_cancellation, store_chunk
from ingestion.services.upload_files import UploadFile

logger = logging.getLogger(__name__)

RUN_TASK: Final = "ingestion.run_upload"
MAX_ATTEMPTS: Final = 10
"""Maximum number of attempts of an upload that kills its worker."""
MAX_DEATHS: Final = 3
"""Maximum number of child processes that die without storing a chunk."""

Status = UsageUpload.Status

# Unscoped: a worker names the row itself.
_fence: Final = AttemptFence(UsageUpload.objects.unscoped, takeover=SupersededAttemptError)


def queue_upload(*, source: UsageSource, upload: UploadedFile[Any], actor: Actor) -> UsageUpload:
    """Store a CSV file and queue it for a worker, which stores its events in `source`.

    A file whose upload failed continues where that stopped; one without stored events starts again. Raises UserError
    for a pull source, a header with a missing or unknown column, a file that was already uploaded, and if too many
    uploads of the account are queued and running; LowDisk without space for the file.
    """
    if source.kind != UsageSource.Kind.PUSH:
        raise UserError("This source pulls usage itself. Upload to a push source.", field="upload")
    disk.check_disk()
    stored_file = upload_files.store(upload)
    try:
        with stored_file.path.open("rb") as file:
            csvfile.check_header(file, event_id_field=source.event_id_field)
        job = _create_or_resume(source, stored_file, actor)
    except BaseException:
        upload_files.remove(str(stored_file.path))
        raise
    account_id, pk = job.account_id, job.pk
    transaction.on_commit(lambda: publish(RUN_TASK, account_id, pk, expires=3600))
    return job


@transaction.atomic
def cancel_upload(*, job: UsageUpload, actor: Actor) -> UsageUpload:
    """Cancel an upload: a queued one at once, a running one after its current chunk. Stored events count until they
    are voided, and the same file continues there. Idempotent. Raises UserError if it has ended."""
    rows = UsageUpload.objects.select_for_update(of=("self",)).select_related("source", "account")
    row = rows.get(pk=job.pk)
    if not row.is_unfinished:
        raise UserError(f"This upload is {Status(row.status).label.lower()} and cannot be canceled.")
    if row.cancel_requested_at is not None:
        return row
    row.cancel_requested_at = clock.now()
    if row.status == Status.QUEUED:
        row.status, row.finished_at = Status.CANCELED, row.cancel_requested_at
        transaction.on_commit(lambda: upload_files.remove(row.path))
    row.save(update_fields=["status", "finished_at", "cancel_requested_at"])
    _record(row, actor, "cancel", {"rows": row.rows})
    return row


def run_upload(upload_id: int, *, in_child: bool = False) -> bool:
    """Store the rest of an upload. Returns False if it has ended, another process runs it, or disk space is low. Safe
    to call twice, also concurrently. With `in_child` the file is read in a child process."""
    if disk.low_disk():
        return False
    with _claim_upload(upload_id) as job:
        if job is None:
            return False
        # Unscoped: the queue names the row.
        with count_outcome(metrics.USAGE_UPLOADS, UsageUpload.objects.unscoped().filter(pk=job.pk)):
            # A child process does not see what an open transaction has written.
            _attempt(job, in_child=in_child and not connection.in_atomic_block)
    return True


def due_uploads() -> list[tuple[int, int]]:
    """Return account and id of uploads for workers: queued ones, and running ones whose process may have died; oldest
    first."""
    return list(_unfinished_uploads().order_by("pk").values_list("account_id", "pk"))


def _unfinished_uploads() -> QuerySet[UsageUpload]:
    # Unscoped: the queue serves every account.
    return UsageUpload.objects.unscoped().filter(status__in=[Status.QUEUED, Status.RUNNING])


def _create_or_resume(source: UsageSource, stored_file: UploadFile, actor: Actor) -> UsageUpload:
    message = f"“{stored_file.name}” is already being uploaded."
    try:
        with transaction.atomic():
            # Locked, so that the count stays correct until the commit.
            account = Account.objects.select_for_update(no_key=True).get(pk=source.account_id)
            uploads = UsageUpload.objects.unscoped().select_for_update().exclude(status=Status.VOIDED)
            previous = uploads.filter(account=source.account, digest=stored_file.digest).first()
            if previous is None or not previous.is_unfinished:
                count = _unfinished_uploads().filter(account=account).count()
                limit = limit_of(account, "JOBS_PER_ACCOUNT")
                check_job_limit(count, "upload", limit=limit, field="upload")
            return (
                _resume(previous, source, stored_file, actor)
                if previous
                else _create(source, stored_file, actor)
            )
    except IntegrityError:
        raise UserError(message, field="upload") from None


def _create(source: UsageSource, stored_file: UploadFile, actor: Actor) -> UsageUpload:
    job = UsageUpload(
        account=source.account,
        source=source,
        file_name=stored_file.name,
        path=str(stored_file.path),
        digest=stored_file.digest,
        bytes_total=stored_file.bytes,
        actor_label=actor.label[:254],
        actor_user=actor.user,
    )
    job.save(force_insert=True)
    _record(job, actor, "queue", {"bytes": job.bytes_total})
    return job


def _resume(job: UsageUpload, source: UsageSource, stored_file: UploadFile, actor: Actor) -> UsageUpload:
    if job.is_unfinished:
        raise UserError(f"This file is already being uploaded as “{job.file_name}”.", field="upload")
    if not job.stored_count and (job.status == Status.DONE or job.source_id != source.pk):
        # No stored event counts, so nothing can be voided; its event IDs may be free by now.
        job.status = Status.VOIDED
        job.save(update_fields=["status"])
        return _create(source, stored_file, actor)
    if job.status == Status.DONE:
        raise UserError(_duplicate_file_message(job), field="upload")
    if job.source_id != source.pk:
        raise UserError(
            f"The upload of this file to {job.source.name} is incomplete. Upload it there to "
            "continue, or void it.",
            field="upload",
        )
    if UsageBatch.objects.unscoped().filter(pk=job.batch, void_asked_at__isnull=False).exists():
        raise UserError("This file's events are being voided. Upload it again afterwards.", field="upload")
    job.path, job.status, job.error, job.attempts = str(stored_file.path), Status.QUEUED, "", 0
    job.finished_at = job.cancel_requested_at = None
    job.save()
    _record(job, actor, "resume", {"rows": job.rows})
    return job


def _duplicate_file_message(job: UsageUpload) -> str:
    # Unscoped: the upload names its account.
    in_ledger = UsageBatch.objects.unscoped().filter(pk=job.batch).exists()
    then = (
        "To upload it again, void that upload first."
        if in_ledger
        else "It is too old to be voided. Send corrections (negative quantities) instead."
    )
    when = f"{job.created_at:%Y-%m-%d}"
    return f"This file was already uploaded as “{job.file_name}” on {when}. {then}"


def _attempt(job: UsageUpload, *, in_child: bool) -> None:
    try:
        if job.attempts > MAX_ATTEMPTS:
            _fail(job, "The upload was interrupted ten times.")
        elif in_child:
            _store_in_child(job)
        else:
            _store_or_fail(job)
    except SupersededAttemptError:
        logger.warning("ingestion: upload %s is gone with its source, or run by another process now", job.pk)


def _store_in_child(job: UsageUpload) -> None:
    """Store the file in child processes, each of which continues where the previous one died."""
    limit, deaths = JobDeadline(), 0
    while True:
        before = job.rows
        ending = child_process.run(
            f"{__name__}.attempt",
            job.pk,
            job.attempts,
            name=f"usage upload {job.pk}",
            deadline=limit.end,
            should_continue=partial(_should_continue, job),
        )
        row: UsageUpload | None = _fence.row(job).select_related("account", "source").first()
        if row is None or ending.end is ChildOutcome.DONE:
            return
        job = row
        deaths = deaths + 1 if job.rows == before else 1
        if job.cancel_requested_at is not None:
            _end(job, status=Status.CANCELED, error="")
            return
        is_last = deaths >= MAX_DEATHS
        if failure := failure_in_child(ending, "upload", place=_place(job), is_last=is_last):
            _fail(job, failure)
        if failure or ending.end is not ChildOutcome.DIED:
            return


def _place(job: UsageUpload) -> str:
    return f"after event {job.rows:,} of the file"


def attempt(upload_id: int, attempt_number: int) -> None:
    """Entry point of the child process: the attempt that its parent has claimed."""
    # Unscoped: the parent names the row.
    rows = UsageUpload.objects.unscoped().select_related("account", "source")
    job = rows.filter(pk=upload_id, attempts=attempt_number, status=Status.RUNNING).first()
    if job is not None:
        _attempt(job, in_child=False)


def _should_continue(job: UsageUpload) -> bool:
    """Return whether the child continues; also if it has just ended and its file is being removed."""
    # Unscoped: a worker names the row itself.
    rows = UsageUpload.objects.unscoped().filter(pk=job.pk, attempts=job.attempts)
    late = Q(status=Status.RUNNING, cancel_requested_at__lt=clock.now() - CANCEL_GRACE_PERIOD)
    return rows.exclude(late).exists()


def _store_or_fail(job: UsageUpload) -> None:
    try:
        _store_file(job)
        _finish(job)
    except SupersededAttemptError:
        raise
    except JobCancellation:
        _end(job, status=Status.CANCELED, error="")
    except disk.LowDisk:
        # The next attempt continues with the line after the last stored one.
        logger.warning("ingestion: upload %s waits for disk space", job.pk)
    except UserError as error:
        _fail(job, error.message)
    except FileNotFoundError:
        _fail(job, "The file is no longer on this server.")
    except MemoryError:
        _fail(job, too_much_memory("upload", _place(job)))
    except Exception:
        _fail(job, "Server error. See the server log.")
        raise


def _store_file(job: UsageUpload) -> None:
    path, limit = Path(job.path), JobDeadline()

    def checkpoint() -> None:
        limit.check("upload")
        check_cancellation(job)

    checkpoint()
    if not job.rows:
        with path.open("rb") as file:
            csvfile.check_lines(file, event_id_field=job.source.event_id_field, checkpoint=checkpoint)
    with path.open("rb") as file:
        for chunk in csvfile.chunks(file, skip=job.rows, event_id_field=job.source.event_id_field):
            limit.check("upload")
            disk.check_disk()
            store_chunk(job=job, chunk=chunk)


@transaction.atomic
def _finish(job: UsageUpload) -> None:
    _end(job, status=Status.DONE, error="")
    detail = {"accepted": job.accepted, "duplicates": job.duplicates, "rejected": job.rejected}
    _record(job, Actor(label=job.actor_label, user=job.actor_user), "finish", detail)


@transaction.atomic
def _fail(job: UsageUpload, message: str) -> None:
    if job.stored_count:
        message += (
            f" {job.stored_count:,} events before that are counted. Upload the same file again "
            "to continue, or void them."
        )
    _end(job, status=Status.FAILED, error=message)
    _record(job, Actor(label=job.actor_label, user=job.actor_user), "fail", {"error": message[:1_000]})
    notify(
        account=job.account,
        kind=Notification.Kind.UPLOAD,
        title=f"Upload of {job.file_name} to {job.source.name} failed",
        text=message,
        path=page_path(job.account, "usage_upload", usage_upload_id=job.pk),
        key=str(job.pk),
    )


def _end(job: UsageUpload, **values: object) -> None:
    _fence.update(job, finished_at=clock.now(), **values)
    transaction.on_commit(lambda: upload_files.remove(job.path))


def _record(job: UsageUpload, actor: Actor, action: str, detail: dict[str, Any]) -> None:
    target = f"{job.source.name}: {job.file_name}"
    audit.record(
        account=job.account, actor=actor, action=f"usage_upload.{action}", target=target, detail=detail
    )


@contextmanager
def _claim_upload(upload_id: int) -> Iterator[UsageUpload | None]:
    """Return the upload, marked as running by this process; see the claims of cost imports."""
    with advisory_lock(f"usage upload {upload_id}") as has_lock:
        yield _begin(upload_id) if has_lock else None


@transaction.atomic
def _begin(upload_id: int) -> UsageUpload | None:
    # Unscoped: a worker names the row itself.
    rows = UsageUpload.objects.unscoped().select_related("account", "source")
    job = rows.select_for_update(of=("self",)).filter(pk=upload_id).first()
    if job is None or not job.is_unfinished:
        return None
    job.status, job.attempts = Status.RUNNING, job.attempts + 1
    job.started_at = job.started_at or clock.now()
    job.save(update_fields=["status", "attempts", "started_at"])
    return job
