"""Reads an import's files, or a part of them, into finished segments that no manifest names yet."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final, Protocol

import pyarrow as pa

from finops.costs.focus.formats import FormatChoice
from finops.costs.focus.normalise import FocusFile, NormalisedBill, normalise
from finops.costs.focus.open_files import ALL_FILES, PartOfFiles
from finops.costs.focus.spool import MonthRows
from finops.costs.mapping.document import MappingDocument
from finops.costs.models import DEFAULT_ACTOR_TAG_KEYS, ColumnMapping, CostImport, CostView
from finops.costs.services import claims
from finops.costs.services.files import hash_in_background
from finops.costs.services.import_commit import decision_of
from finops.lake.schema import Kind
from finops.lake.storage import segments
from finops.lake.storage.segments import NewSegment
from finops.lib import clock, disk
from finops.lib.jobs import JobDeadline

UPDATE_SECONDS: Final = 0.4
"""Seconds between two updates of an import's progress."""

ProgressCallback = Callable[[CostImport], None]


class ReadingProgress(Protocol):
    """Callbacks while files are read and written; they may raise to stop the reading."""

    def read(self, bytes_done: int, rows: int) -> None: ...
    def stage(self, stage: str) -> None: ...
    def alive(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]: ...


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
        self.check()

    def stage(self, stage: str) -> None:
        self._job.stage = stage
        self._keep()

    def alive(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch
            del batch  # a row group is 60 MB
            self.check()

    def check(self) -> None:
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
        claims.fence.update_running(
            job, stage=job.stage, bytes_done=job.bytes_done, rows=job.rows, heartbeat_at=clock.now()
        )
        self.report()


@dataclass(frozen=True)
class ReadingOptions:
    """Options that decide how an import's files are read."""

    defaults: dict[str, str]
    formats: FormatChoice
    mapping: MappingDocument | None
    actor_tag_keys: Sequence[str]
    only_month: date | None
    allow_empty: bool


@dataclass(frozen=True)
class ReadFiles:
    """Files that were read: the bill, its segments, and the digest of each file's content."""

    bill: NormalisedBill
    new_segments: list[NewSegment]
    contents: list[str]


def options_of(job: CostImport) -> ReadingOptions:
    """Return the current options of an import. Two queries."""
    decision = decision_of(job)
    view = CostView.objects.first()
    mapping = ColumnMapping.objects.filter(source_id=job.source_id).first()
    return ReadingOptions(
        defaults=job.defaults,
        formats=FormatChoice.of(job.number_format, job.date_order),
        mapping=mapping.document if mapping else None,
        actor_tag_keys=view.actor_tag_keys if view else DEFAULT_ACTOR_TAG_KEYS,
        only_month=decision.only_month if decision else None,
        allow_empty=job.origin == CostImport.Origin.SYNC,
    )


def read_files(
    job: CostImport,
    files: Sequence[dict[str, Any]],
    folder: Path,
    progress: ReadingProgress,
    part: PartOfFiles = ALL_FILES,
) -> ReadFiles:
    """Read files of the import and write a segment for each month; `part` as for `normalise`. Raises the errors of
    `normalise` and `progress`; all segments are removed then."""
    options = options_of(job)
    paths = [Path(file["path"]) for file in files]
    with hash_in_background(paths) as hashes:
        bill = normalise(
            [FocusFile(path, file["name"]) for path, file in zip(paths, files, strict=True)],
            folder=folder,
            source_id=str(job.source_id),
            defaults=options.defaults,
            actor_tag_keys=options.actor_tag_keys,
            choice=options.formats,
            progress=progress.read,
            allow_empty=options.allow_empty,
            only_month=options.only_month,
            mapping=options.mapping,
            part=part,
        )
        new_segments: list[NewSegment] = []
        try:
            for month in bill.months:
                progress.stage(f"writing {month.month:%Y-%m}")
                if segment := _write(job, month, progress):
                    new_segments.append(segment)
            pa.default_memory_pool().release_unused()  # frees memory for the lake queries that follow
            contents = [text or content for text, content in zip(bill.text_hashes, hashes, strict=True)]
        except BaseException:
            segments.discard(new_segments)
            raise
    return ReadFiles(bill, new_segments, contents)


def _write(job: CostImport, month: MonthRows, progress: ReadingProgress) -> NewSegment | None:
    """Write the lines of a month; None without lines, such as those of a file with only negations."""
    batches = progress.alive(month.batches())
    first = list(islice(batches, 1))
    if not first:
        return None
    return segments.write_segment(
        account_id=job.account_id,
        kind=Kind.COST,
        source_id=job.source_id,
        month=month.month,
        batches=chain(_drain(first), batches),
        schema=month.schema,
    )


def _drain(batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the batches and keep none: one may have 60 MB."""
    while batches:
        yield batches.pop(0)
