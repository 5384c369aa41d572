"""The fence of jobs that workers run: only the attempt that owns a job changes its row.

The process that runs a job holds a PostgreSQL lock (`finops.lib.advisory_lock`), which is released when the process dies, so that
another one can take over. If only the connection of the lock breaks, both processes continue; then `attempts`, which each
attempt increments, is the fencing token.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from django.db.models import QuerySet

from finops.lib.jobs import JobCancellation


class JobRow(Protocol):
    """A row with `status` ("running"), `attempts` and `cancel_requested_at`."""

    @property
    def pk(self) -> Any: ...
    @property
    def attempts(self) -> int: ...


class AttemptFence:
    """Updates of the rows of one kind of job. `takeover` is raised for an attempt that no longer owns its job, `cancellation` once
    a person canceled the job."""

    def __init__(
        self,
        rows: Callable[[], QuerySet[Any]],
        *,
        takeover: type[Exception],
        cancellation: type[Exception] = JobCancellation,
    ) -> None:
        self._rows, self._takeover, self._cancellation = rows, takeover, cancellation

    def row(self, job: JobRow) -> QuerySet[Any]:
        """Return the row while this attempt runs the job; no row once the job was taken over, deleted or ended."""
        return self._rows().filter(pk=job.pk, status="running", attempts=job.attempts)

    def update(self, job: JobRow, **values: object) -> None:
        """Update the row. Raises `takeover` unless this attempt owns it."""
        if not self.row(job).update(**values):
            raise self._takeover(f"{type(job).__name__} {job.pk} is no longer run by attempt {job.attempts}")

    def update_running(self, job: JobRow, **values: object) -> None:
        """Update the row. Raises `takeover` as `update` does, and `cancellation`."""
        if not self.row(job).filter(cancel_requested_at=None).update(**values):
            self.update(job, **values)
            raise self._cancellation

    def lock(self, job: JobRow) -> None:
        """Lock the row until the end of the transaction. Raises `takeover` unless this attempt owns it."""
        if not list(self.row(job).select_for_update().values_list("pk", flat=True)):
            raise self._takeover(f"{type(job).__name__} {job.pk} is no longer run by attempt {job.attempts}")
