"""One attempt at a claimed import, in this process or in a child process with limited memory (ADR 0028). Between
batches, a few times a second, it updates its progress and checks whether to continue."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Final

import msgspec
from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.scoping import account_scope
from finops.costs.focus.errors import UnknownFormat
from finops.costs.focus.report import COLUMNS_REVIEW, ImportReport, Review
from finops.costs.models import CostImport
from finops.costs.services import claims, files
from finops.costs.services.completeness import refresh_completeness
from finops.costs.services.files import check_distinct
from finops.costs.services.import_commit import Bill, commit_import, decision_of
from finops.costs.services.import_reading import Progress, ProgressCallback, read_files
from finops.costs.services.overlaps import find_overlaps
from finops.costs.services.part_attempts import read_in_parts
from finops.lake.storage import segments
from finops.lake.storage.segments import NewSegment
from finops.lib import child_process, clock, disk
from finops.lib.errors import UserError
from finops.lib.jobs import JobCancellation, JobDeadline, failure_in_child, internal_error, too_much_memory
from finops.notifications.models import Notification
from finops.notifications.services import notify, page_path

logger = logging.getLogger(__name__)

_UNCHANGED: Final = "Nothing was changed."


def run_attempt(job: CostImport, on_progress: ProgressCallback | None, *, in_child: bool) -> None:
    """Import the files of a claimed job; with `in_child` in a separate process, whose end by any cause is handled. A
    failure is stored in the row. `on_progress` is called during the import."""
    if _attempts_of(job) > claims.MAX_ATTEMPTS:
        fail(job, f"The import was interrupted three times, the last time while {job.stage or 'reading'}.")
    elif job.cancel_requested_at is not None:  # canceled before an attempt ran
        _cancel(job)
    elif in_child:
        _run_in_child(job, on_progress)
    else:
        _run(job, on_progress)


def _run_in_child(job: CostImport, on_progress: ProgressCallback | None) -> None:
    def should_continue() -> bool:
        if on_progress:
            job.refresh_from_db(fields=["stage", "bytes_done", "rows"])
            on_progress(job)
        return claims.should_continue(job)

    ending = child_process.run(
        f"{__name__}.attempt",
        job.pk,
        job.attempts,
        name=f"cost import {job.pk}",
        deadline=JobDeadline().end,
        should_continue=should_continue,
    )
    _remove_work(job)
    if not claims.fence.row(job).exists():
        return
    job.refresh_from_db(fields=["stage", "cancel_requested_at"])
    if job.cancel_requested_at is not None:
        _cancel(job)
        return
    is_last = _attempts_of(job) >= claims.MAX_ATTEMPTS
    if failure := failure_in_child(ending, "import", place=f"while {job.stage}", is_last=is_last):
        fail(job, f"{failure} {_UNCHANGED}")


def attempt(import_id: int, attempt_number: int) -> None:
    """Return, in a child, the attempt that its parent has claimed."""
    # Unscoped: by the primary key from the parent process.
    rows = CostImport.objects.unscoped().select_related("account", "source")
    job = rows.filter(pk=import_id, attempts=attempt_number, status=CostImport.Status.RUNNING).first()
    if job is not None:
        with account_scope(job.account):
            _run(job, None)


def _attempts_of(job: CostImport) -> int:
    """Return the number of attempts since the last decision."""
    decision = decision_of(job)
    return job.attempts - (decision.attempts if decision else 0)


def _run(job: CostImport, on_progress: ProgressCallback | None) -> None:
    _remove_work(job)
    folder = files.work() / f"{job.pk}-{job.attempts}"
    folder.mkdir()
    try:
        _import(job, folder, Progress(job, on_progress))
    except JobCancellation:
        _cancel(job)
    except claims.ClaimLost:
        logger.warning("costs: import %s is run by another process now", job.pk)
    except UserError as error:
        _wait_or_fail(job, error)
    except MemoryError:  # also pyarrow's
        fail(job, f"{too_much_memory('import', f'while {job.stage}')} {_UNCHANGED}")
    except Exception:
        fail(job, internal_error("import", "nothing was changed"))
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_work(job: CostImport) -> None:
    """Remove the files that a killed attempt left."""
    for path in files.work().glob(f"{job.pk}-*"):
        shutil.rmtree(path, ignore_errors=True)


def _wait_or_fail(job: CostImport, error: UserError) -> None:
    is_upload = job.origin == CostImport.Origin.UPLOAD
    if is_upload and isinstance(error, disk.LowDisk):
        # Back to the queue; an import from a terminal fails instead, because a person waits for it.
        claims.fence.update(job, status=CostImport.Status.QUEUED, stage="", attempts=job.attempts - 1)
    elif is_upload and isinstance(error, UnknownFormat):
        _wait_for_mapping(job, error)
    else:
        fail(job, error.message)


@transaction.atomic
def _wait_for_mapping(job: CostImport, error: UnknownFormat) -> None:
    """Keep the files until a person has mapped their columns (`services.save_column_mapping`)."""
    reviews = [Review(kind=COLUMNS_REVIEW, reason=error.message)]
    report = msgspec.to_builtins(ImportReport(reviews=reviews), builtin_types=())
    claims.fence.update(job, status=CostImport.Status.WAITING, stage="", report=report, decision={}, error="")
    audit.record(
        account=job.account,
        actor=Actor(label=job.actor_label, user=job.actor_user),
        action="cost_import.wait",
        target=f"{job.source.name}: {job.file_name}",
        detail={"reviews": [error.message[:1_000]]},
    )


def _unpack(job: CostImport, progress: Progress) -> None:
    """Replace archives by their files, also for pages about a waiting import. A sync unpacks when it fetches."""
    before = job.files
    if job.origin == CostImport.Origin.SYNC:
        return
    parts = files.unpack_archives(before)
    if parts == before:
        return
    job.files, job.bytes_total = parts, sum(file["bytes"] for file in parts)
    progress.stage("unpacking")
    claims.fence.update(job, files=job.files, bytes_total=job.bytes_total)
    files.remove([file for file in before if file not in parts])


def _import(job: CostImport, folder: Path, progress: Progress) -> None:
    _unpack(job, progress)
    parts = read_in_parts(job, folder, progress)
    if parts is not None:
        _commit(job, parts.bill, parts.new_segments, parts.contents)
    else:
        whole = read_files(job, job.files, folder, progress)
        _commit(job, whole.bill, whole.new_segments, whole.contents)
    progress.report()


def _commit(job: CostImport, bill: Bill, new_segments: Sequence[NewSegment], contents: Sequence[str]) -> None:
    try:
        names = [file["name"] for file in job.files]
        check_distinct(*_with_rows(bill, names, contents))
        settled = commit_import(job, bill, new_segments, contents)
    except BaseException:
        segments.discard(new_segments)
        raise
    if settled:
        refresh_completeness(
            job.source,
            first_day=min((each.first_day for each in new_segments), default=date.max),
            last_day=max((each.last_day for each in new_segments), default=date.max),
        )
        find_overlaps(job.source)
    else:
        segments.discard(new_segments)


def _with_rows(bill: Bill, names: Sequence[str], contents: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return names and digests of the files with rows: many may have a header only."""
    rows = zip(bill.report.files, names, contents, strict=True)
    named_files = [(name, content) for report, name, content in rows if report.rows]
    return [name for name, _ in named_files], [content for _, content in named_files]


@transaction.atomic
def fail(job: CostImport, message: str) -> None:
    """Mark the import as failed with this message, unless it has ended."""
    if not _end_import(job, status=CostImport.Status.FAILED, error=message):
        return
    audit.record(
        account=job.account,
        actor=Actor(label=job.actor_label, user=job.actor_user),
        action="cost_import.fail",
        target=f"{job.source.name}: {job.file_name}",
        detail={"error": message[:1_000]},
    )
    # A failed sync sends one notification for all its imports.
    if job.origin != CostImport.Origin.SYNC:
        notify(
            account=job.account,
            kind=Notification.Kind.IMPORT,
            title=f"Import of {job.file_name} into {job.source.name} failed",
            text=message,
            path=page_path(job.account, "cost_import", import_id=job.pk),
            key=f"{job.pk}/failed",
        )


def _cancel(job: CostImport) -> None:
    """End the canceled import. The audit log already has who canceled it."""
    _end_import(job, status=CostImport.Status.CANCELED)


def _end_import(job: CostImport, **values: object) -> bool:
    # Unscoped: a worker names the row itself.
    rows = CostImport.objects.unscoped().filter(pk=job.pk, attempts=job.attempts)
    unfinished = rows.filter(status__in=[CostImport.Status.QUEUED, CostImport.Status.RUNNING])
    return bool(unfinished.update(finished_at=clock.now(), parts=None, **values))
