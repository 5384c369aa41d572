"""Reads parts of an import: in the worker that runs the import, until all are read, and in helpers' child processes."""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pyarrow as pa
from django.db import connection

from accounts.scoping import account_scope
from finops.costs.focus.bill_parts import bill_part
from finops.costs.focus.months import Sums
from finops.costs.models import CostImport
from finops.costs.services import claims, files, import_parts
from finops.costs.services.import_parts import ImportPart, PartPlan, PartsDiffer, ReadParts
from finops.costs.services.import_reading import Progress, ReadFiles, ReadingProgress, read_files
from finops.lake.storage import segments
from finops.lake.storage.segment_totals import totals_of
from finops.lib import child_process, disk
from finops.lib.errors import UserError
from finops.lib.jobs import JobCancellation, JobDeadline, failure_in_child, internal_error, too_much_memory

logger = logging.getLogger(__name__)

CHECK_SECONDS: Final = 1.0
"""Seconds between two checks by a helper whether its import still runs. Each check is a query."""

_UNCHANGED: Final = "Nothing was changed."


def read_in_parts(job: CostImport, folder: Path, progress: Progress) -> ReadParts | None:
    """Read a claimed import in parts, with the help of other workers, and return them together; None for an import
    that is read in one piece. The caller commits the parts or removes their segments. Raises the errors of reading in
    one piece, and the error of a failed part; all segments are removed then, unless another process has taken over
    the import and continues it."""
    plan = import_parts.plan(job)
    if plan is None:
        return None
    if not connection.in_atomic_block:  # other processes cannot read the rows of an open transaction
        import_parts.ask_for_help(job.account_id, job.pk, len(plan.open_parts) - 1)
    try:
        _read_all(job, plan, folder, progress)
        current = _current(job, plan.key)
        parts = None if current.needs_one_piece else import_parts.combine_parts(current.parts)
        if parts is None or parts.bill.has_too_many_keys:
            import_parts.close(job)
            return None
    except claims.ClaimLost:
        raise
    except BaseException:
        import_parts.close(job)
        raise
    return parts


def _read_all(job: CostImport, plan: PartPlan, folder: Path, progress: Progress) -> None:
    while open_parts := (plan := _current(job, plan.key)).open_parts:
        if plan.error:
            raise UserError(plan.error)
        done = [part for part in plan.parts if part.is_done]
        if plan.needs_one_piece:
            return
        progress.stage(f"reading, {len(done)} of {len(plan.parts)} parts done")
        own = _OwnProgress(
            progress, sum(part.bytes for part in done), sum(part.bill.rows for part in done if part.bill)
        )
        own.read(0, 0)
        if not any(_read_if_free(job, plan, number, folder, own) for number in open_parts):
            import_parts.wait_for_others(progress)


def _current(job: CostImport, key: str) -> PartPlan:
    current = import_parts.stored_plan(job.pk)
    if current is None or current.key != key or not claims.fence.row(job).exists():
        raise claims.ClaimLost(f"import {job.pk} is no longer read by attempt {job.attempts}")
    return current


def _read_if_free(
    job: CostImport, plan: PartPlan, number: int, folder: Path, progress: ReadingProgress
) -> bool:
    """Read a part unless another process reads it; return whether this process did."""
    with import_parts.part_lock(job.pk, number) as is_free:
        part = import_parts.begin_part(job.pk, plan.key, number) if is_free else None
        if part is None:
            return False
        read_part(job, plan, number, part, folder, progress)
        return True


def read_part(
    job: CostImport,
    plan: PartPlan,
    number: int,
    part: ImportPart,
    folder: Path,
    progress: ReadingProgress,
) -> None:
    """Read the files of a part that this process has locked, write and check its segments, and store the result.
    Raises the errors of reading, PartsDiffer, and ClaimLost if no import waits for the part; its segments are removed
    then."""
    inside = folder / f"part-{number}"
    inside.mkdir()
    try:
        read = read_files(
            job, job.files[part.first : part.until], inside, progress, plan.part_of_files(number)
        )
    finally:
        shutil.rmtree(inside, ignore_errors=True)
    try:
        _check(job, read)
    except BaseException:
        segments.discard(read.new_segments)
        raise
    done = ImportPart(
        first=part.first,
        until=part.until,
        bytes=part.bytes,
        attempts=part.attempts,
        bill=bill_part(read.bill),
        new_segments=read.new_segments,
        contents=read.contents,
    )
    if not import_parts.finish_part(job.pk, plan.key, number, done):
        raise claims.ClaimLost(f"nobody waits for part {number} of import {job.pk} any more")


def _check(job: CostImport, read: ReadFiles) -> None:
    """Compare the written lines and exact sums with those that were read. Cost: 0.1 s per million lines."""
    totals = totals_of(job.account, read.new_segments)
    for segment in read.new_segments:
        month = read.bill.file_months[segment.month]
        stored = totals.get(segment.path)
        sums = {currency: Sums(*each) for currency, each in stored.sums.items()} if stored else {}
        if sums != month.sums:
            raise PartsDiffer(f"{segment.path}: read {month.sums}, written {sums}")


class _OwnProgress:
    """Progress of a part that the worker of the import reads: bytes and rows in addition to those of finished parts."""

    def __init__(self, progress: Progress, bytes_done: int, rows: int) -> None:
        self._progress, self._bytes, self._rows = progress, bytes_done, rows

    def read(self, bytes_done: int, rows: int) -> None:
        self._progress.read(self._bytes + bytes_done, self._rows + rows)

    def stage(self, stage: str) -> None:
        self._progress.check()

    def alive(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return self._progress.alive(batches)


class _HelpersProgress:
    """Checks once a second whether a helper's part is still needed. Raises JobCancellation, LowDisk and UserError as
    `Progress`."""

    def __init__(self, import_id: int) -> None:
        self._import_id = import_id
        self._clock = JobDeadline()
        self._last = time.monotonic()

    def read(self, bytes_done: int, rows: int) -> None:
        self._check()

    def stage(self, stage: str) -> None:
        self._check()

    def alive(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch
            del batch  # a row group is 60 MB
            self._check()

    def _check(self) -> None:
        if time.monotonic() - self._last < CHECK_SECONDS:
            return
        self._last = time.monotonic()
        self._clock.check("import")
        disk.check_disk()
        if not import_parts.is_running(self._import_id):
            raise JobCancellation


def help_import(import_id: int) -> bool:
    """Read one free part of an import that another worker runs, in a child process; return whether there was one.

    Safe to call repeatedly, concurrently, and after kill -9 at any moment. A part whose files this machine does not
    have, and every part while disk space is low, is left to other workers.
    """
    plan = import_parts.stored_plan(import_id)
    if plan is None or plan.error or disk.low_disk() or not import_parts.is_running(import_id):
        return False
    # Unscoped: the queue names the row.
    stored = CostImport.objects.unscoped().values_list("files", flat=True).get(pk=import_id)
    for number in plan.open_parts:
        part = plan.parts[number]
        if not all(Path(file["path"]).is_file() for file in stored[part.first : part.until]):
            continue
        with import_parts.part_lock(import_id, number) as is_free:
            if is_free and import_parts.begin_part(import_id, plan.key, number) is not None:
                _read_in_child(import_id, plan.key, number)
                return True
    return False


def _read_in_child(import_id: int, key: str, number: int) -> None:
    folder = _helpers_folder(import_id, number)
    shutil.rmtree(folder, ignore_errors=True)  # left by a killed process
    ending = child_process.run(
        f"{__name__}.read_part_in_child",
        import_id,
        key,
        number,
        name=f"cost import {import_id} part {number}",
        deadline=JobDeadline().end,
        should_continue=lambda: import_parts.is_running(import_id),
    )
    shutil.rmtree(folder, ignore_errors=True)
    if failure := failure_in_child(ending, "import", place=f"while reading part {number + 1}", is_last=False):
        import_parts.fail_parts(import_id, key, f"{failure} {_UNCHANGED}")


def _helpers_folder(import_id: int, number: int) -> Path:
    """Return the helper's folder, which the start of the import's main worker does not remove: its name differs."""
    return files.work() / f"part-{import_id}-{number}"


def read_part_in_child(import_id: int, key: str, number: int) -> None:
    """Read, in a child, the part whose lock its parent holds. Errors of the files are stored in the plan."""
    # Unscoped: by the primary key from the parent process.
    job = CostImport.objects.unscoped().select_related("account", "source").get(pk=import_id)
    plan = import_parts.stored_plan(import_id)
    if plan is None or plan.key != key or number not in plan.open_parts:
        return
    folder = _helpers_folder(import_id, number)
    folder.mkdir()
    try:
        with account_scope(job.account):
            read_part(job, plan, number, plan.parts[number], folder, _HelpersProgress(import_id))
    except (JobCancellation, claims.ClaimLost, disk.LowDisk):
        logger.warning("costs: part %s of import %s was left", number, import_id)
    except UserError as error:
        import_parts.fail_parts(import_id, key, error.message)
    except MemoryError:  # also pyarrow's
        text = too_much_memory("import", f"while reading part {number + 1}")
        import_parts.fail_parts(import_id, key, f"{text} {_UNCHANGED}")
    except Exception:
        import_parts.fail_parts(import_id, key, internal_error("import", "nothing was changed"))
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)
