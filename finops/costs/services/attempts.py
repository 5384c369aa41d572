"""One attempt at a claimed import, in this process or in a child process with limited memory (ADR 0028). Between
batches, a few times a second, it updates its progress and checks whether to continue."""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Final

import msgspec
import pyarrow as pa
from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.scoping import account_scope
from finops.costs.focus.errors import UnknownFormat
from finops.costs.focus.formats import FormatChoice
from finops.costs.focus.normalise import FocusFile, NormalisedBill, normalise
from finops.costs.focus.report import COLUMNS_REVIEW, ImportReport, Review
from finops.costs.focus.spool import MonthRows
from finops.costs.mapping.document import MappingDocument
from finops.costs.models import DEFAULT_ACTOR_TAG_KEYS, ColumnMapping, CostImport, CostView
from finops.costs.services import claims, files
from finops.costs.services.completeness import refresh_completeness
from finops.costs.services.files import check_distinct, hash_in_background
from finops.costs.services.import_commit import commit_import, decision_of
from finops.costs.services.overlaps import find_overlaps
from finops.lake.schema import Kind
from finops.lake.storage import segments
from finops.lake.storage.segments import NewSegment
from finops.lib import child_process, clock, disk
from finops.lib.errors import UserError
from finops.lib.jobs import JobCancellation, JobDeadline, failure_in_child, internal_error, too_much_memory
from finops.notifications.models import Notification
from finops.notifications.services import notify, page_path

UPDATE_SECONDS: Final = 0.4
"""Between two updates of an import's progress."""

ProgressCallback = Callable[[CostImport], None]


class Progress:
    """Saves an import's progress in its row, a few times a second at most, and checks whether to continue.

    Raises JobCancellation, LowDisk, and UserError once the import exceeds its time limit.
    """

    def __init__(self, job: CostImport, on_progress: ProgressCallback | None) -> None:
        self._clock = JobDeadline()
        self._job = job
        self._on_progress = on_progress
        self._last = time.monotonic()

    def read(self, bytes_done: int, rows: int) -> None:
        self._job.bytes_done, self._job.rows = min(bytes_done, self._job.bytes_total), rows
        if time.monotonic() - self._last >= UPDATE_SECONDS:
            self._keep()

    def stage(self, stage: str) -> None:
        self._job.stage = stage
        self._keep()

    def alive(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch
            del batch  # a row group is 60 MB
            if time.monotonic() - self._last >= UPDATE_SECONDS:
                self._keep()

    def report(self) -> None:
        if self._on_progress:
            self._on_progress(self._job)

    def _keep(self) -> None:
        self._last = time.monotonic()
        job = self._job
        self._clock.check("import")
        disk.check_disk()
        claims.update_running(
            job, stage=job.stage, bytes_done=job.bytes_done, rows=job.rows, heartbeat_at=clock.now()
        )
        self.report()


logger = logging.getLogger(__name__)

_UNCHANGED: Final = "Nothing was changed."


def run_attempt(job: CostImport, on_progress: ProgressCallback | None, *, in_child: bool) -> None:
    """Import the files of a claimed job; `in_child`, in a separate process, which may end in any way. A failure is
    stored in the row. `on_progress` is called during the import."""
    if _attempts_of(job) > claims.MAX_ATTEMPTS:
        fail(job, f"The import was interrupted three times, the last time while {job.stage or 'reading'}.")
    elif job.cancel_requested_at is not None:  # while nobody ran it
        _cancel(job)
    elif in_child:
        _run_in_child(job, on_progress)
    else:
        _run(job, on_progress)


def _run_in_child(job: CostImport, on_progress: ProgressCallback | None) -> None:
    def is_wanted() -> bool:
        if on_progress:
            job.refresh_from_db(fields=["stage", "bytes_done", "rows"])
            on_progress(job)
        return claims.is_wanted(job)

    ending = child_process.run(
        f"{__name__}.attempt",
        job.pk,
        job.attempts,
        name=f"cost import {job.pk}",
        deadline=JobDeadline().end,
        is_wanted=is_wanted,
    )
    _remove_work(job)
    if not claims.is_ours(job):
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
    # Unscoped: the parent names the row.
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
    except MemoryError:  # pyarrow's too
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
        # As if it had not begun; what somebody waits for at a terminal fails instead.
        claims.update(job, status=CostImport.Status.QUEUED, stage="", attempts=job.attempts - 1)
    elif is_upload and isinstance(error, UnknownFormat):
        _wait_for_mapping(job, error)
    else:
        fail(job, error.message)


@transaction.atomic
def _wait_for_mapping(job: CostImport, error: UnknownFormat) -> None:
    """Keep the files until a person has mapped their columns (`services.save_column_mapping`)."""
    reviews = [Review(kind=COLUMNS_REVIEW, reason=error.message)]
    report = msgspec.to_builtins(ImportReport(reviews=reviews), builtin_types=())
    claims.update(job, status=CostImport.Status.WAITING, stage="", report=report, decision={}, error="")
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
    claims.update(job, files=job.files, bytes_total=job.bytes_total)
    files.remove([file for file in before if file not in parts])


def _import(job: CostImport, folder: Path, progress: Progress) -> None:
    _unpack(job, progress)
    paths, names = [Path(file["path"]) for file in job.files], [file["name"] for file in job.files]
    decision = decision_of(job)
    with hash_in_background(paths) as hashes:
        bill = normalise(
            [FocusFile(path, name) for path, name in zip(paths, names, strict=True)],
            folder=folder,
            source_id=str(job.source_id),
            defaults=job.defaults,
            actor_tag_keys=_actor_tag_keys(),
            chosen=FormatChoice.of(job.number_format, job.date_order),
            progress=progress.read,
            allow_empty=job.origin == CostImport.Origin.SYNC,
            only_month=decision.only_month if decision else None,
            mapping=_mapping_of(job),
        )
        written: list[NewSegment] = []
        try:
            for month in bill.months:
                progress.stage(f"writing {month.month:%Y-%m}")
                written.append(_write(job, month, progress))
            pa.default_memory_pool().release_unused()  # queries of the lake follow, with memory of their own
            contents = [text or content for text, content in zip(bill.text_hashes, hashes, strict=True)]
            check_distinct(*_with_rows(bill, names, contents))
            settled = commit_import(job, bill, written, contents)
        except BaseException:
            segments.discard(written)
            raise
    if settled:
        refresh_completeness(
            job.source,
            first_day=min((each.first_day for each in written), default=date.max),
            last_day=max((each.last_day for each in written), default=date.max),
        )
        find_overlaps(job.source)
    else:
        segments.discard(written)
    progress.report()


def _mapping_of(job: CostImport) -> MappingDocument | None:
    row = ColumnMapping.objects.filter(source_id=job.source_id).first()
    return row.document if row else None


def _with_rows(
    bill: NormalisedBill, names: Sequence[str], contents: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Return names and digests of the files with rows: many may have a header only."""
    rows = zip(bill.report.files, names, contents, strict=True)
    kept = [(name, content) for report, name, content in rows if report.rows]
    return [name for name, _ in kept], [content for _, content in kept]


def _write(job: CostImport, month: MonthRows, progress: Progress) -> NewSegment:
    return segments.write_segment(
        account_id=job.account_id,
        kind=Kind.COST,
        source_id=job.source_id,
        month=month.month,
        batches=progress.alive(month.batches()),
        schema=month.schema,
    )


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
    # A failed sync is notified of as a whole.
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
    return bool(unfinished.update(finished_at=clock.now(), **values))


def _actor_tag_keys() -> Sequence[str]:
    view = CostView.objects.first()
    return view.actor_tag_keys if view else DEFAULT_ACTOR_TAG_KEYS
