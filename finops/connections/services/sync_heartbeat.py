"""Progress of a sync, written to its row a few times a second at most, and checks whether it may continue."""

from __future__ import annotations

import time
from typing import Final

from finops.connections.connector import BillMonth, SyncCancellation
from finops.connections.models import CostSync
from finops.connections.services import sync_claims
from finops.costs.models import CostImport
from finops.costs.services import ask_to_cancel
from finops.lib import clock
from finops.lib.jobs import JobDeadline

UPDATE_SECONDS: Final = 0.4
"""Seconds between two updates of a sync's row."""


class SyncTimeout(SyncCancellation):
    """The sync exceeded the time limit of a job."""


class SyncHeartbeat:
    """Reports progress. Raises SyncCancellation once the sync was canceled, SyncTimeout once it took too long, and SyncTakeover if
    this process no longer owns it.

    The listed bytes of a month count half when they are fetched and fully when they are imported, which gives the remaining time.
    """

    def __init__(self, sync: CostSync) -> None:
        self._sync = sync
        self._deadline = JobDeadline()
        self._last = 0.0
        self._before = 0
        self._month_bytes = self._fetched = 0
        self.stop: SyncCancellation | None = None
        """Why the running import was asked to stop."""

    @property
    def deadline(self) -> float:
        """Deadline of the sync, in `time.monotonic()`."""
        return self._deadline.end

    def stage(self, stage: str) -> None:
        self._sync.stage = stage
        self._keep()

    def begin_month(self, month: BillMonth) -> None:
        self._month_bytes, self._fetched = month.bytes, 0
        self._sync.bytes_done = self._before
        self.stage(f"fetching {month.month:%Y-%m}")

    def fetch(self, count: int) -> None:
        """Count `count` more fetched bytes."""
        self._fetched += count
        self._sync.bytes_done = self._before + min(self._fetched, self._month_bytes) // 2
        self._save_periodically()

    def importing(self, job: CostImport) -> None:
        """Report the progress of the month's import; stop the import if the sync must end."""
        share = job.bytes_done / job.bytes_total if job.bytes_total else 0
        half = self._month_bytes // 2
        self._sync.bytes_done = self._before + half + int(half * min(share, 1))
        try:
            self._save_periodically()
        except sync_claims.SyncTakeover:
            raise
        except SyncCancellation as stop:
            self.stop = stop
            ask_to_cancel(job)

    def end_month(self) -> None:
        self._before += self._month_bytes
        self._sync.bytes_done = self._before

    def fail_month(self) -> int:
        """Count the fetched bytes of a failed month as read."""
        self._before += self._fetched
        self._sync.bytes_done = self._before
        return self._fetched

    def check(self) -> None:
        self._keep()

    def check_sometimes(self) -> None:
        """Run `check` at most once per interval, for frequent callers."""
        self._save_periodically()

    def _save_periodically(self) -> None:
        if time.monotonic() - self._last >= UPDATE_SECONDS:
            self._keep()

    def _keep(self) -> None:
        self._last = time.monotonic()
        if self._last > self._deadline.end:
            raise SyncTimeout
        sync_claims.fence.update_running(
            self._sync, stage=self._sync.stage, bytes_done=self._sync.bytes_done, heartbeat_at=clock.now()
        )
