"""How far an import is, and whether it may go on: between two batches, a few times a second."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Final

import pyarrow as pa

from finops.costs.models import CostImport
from finops.costs.services import claims
from finops.lib import clock, disk
from finops.lib.jobs import JobDeadline

UPDATE_SECONDS: Final = 0.4
"""Between two updates of an import's progress."""

ProgressCallback = Callable[[CostImport], None]


class Progress:
    """Writes how far an import is into its row, a few times a second at most, and looks whether it may go on.

    Raises Canceled, LowDisk, and UserError once the import has taken longer than it may.
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
